//! The constants, structures and functions of `<pinfold/pinfold.h>` under their C names; the header
//! says what they do.

#[rustfmt::skip]
mod declarations;
pub use declarations::*;
