#pragma once

namespace pinfold::harness {

/// What a power cut does to writes that the disk acknowledged but did not flush. Host and guest
/// agent exchange the numeric values.
enum class WriteLoss {
  kNone,  ///< all reached the disk
  kAll,   ///< none reached the disk
  kSome,  ///< a random subset is lost
  kTorn,  ///< a random subset is lost, and one write reaches the disk only in part
};

}  // namespace pinfold::harness
