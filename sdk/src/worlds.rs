//! The component type of each interface, as the linker wants it: bytes of the build script. Hidden: only
//! `export_family!` uses them.

/// The world that exports `manifest`.
pub const MANIFEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/manifest"));
/// The world that exports `jobs`.
pub const JOBS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/jobs"));
/// The world that exports `views`.
pub const VIEWS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/views"));
/// The world that exports `bulk`.
pub const BULK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bulk"));
/// The world that exports `text`.
pub const TEXT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/text"));
/// The world that exports `direct`.
pub const DIRECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/direct"));
/// The world that exports `dialect`.
pub const DIALECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dialect"));

/// The bytes as an array, which a section of its own needs.
///
/// # Panics
/// At compile time, when `N` is not the length.
#[must_use]
pub const fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    let mut at = 0;
    while at < N {
        array[at] = bytes[at];
        at += 1;
    }
    array
}
