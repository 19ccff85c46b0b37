//! Empty: cargo counts build dependencies of a crate only where it has a build script.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
