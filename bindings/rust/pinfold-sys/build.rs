//! Finds libpinfold: in PINFOLD_LIB_DIR, or else with pkg-config.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=PINFOLD_LIB_DIR");
    println!("cargo:rustc-link-lib=dylib=pinfold");
    if let Ok(directory) = env::var("PINFOLD_LIB_DIR") {
        println!("cargo:rustc-link-search=native={directory}");
        return;
    }
    let output = Command::new("pkg-config")
        .args(["--libs-only-L", "pinfold"])
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output.stdout,
        _ => panic!("libpinfold was not found: expected a pkg-config that knows 'pinfold', or PINFOLD_LIB_DIR"),
    };
    for option in String::from_utf8_lossy(&output).split_whitespace() {
        if let Some(directory) = option.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        }
    }
}
