//! The macro that makes a component of a family, and the component type of each interface, as the linker wants it: bytes
//! of the build script. Hidden: only the macro uses them.

/// Exports a [`Family`](crate::Family) as a component, with the interfaces of the contract that it names: `jobs`,
/// `text`, `dialect`, `direct`, `views`, `bulk`. For each the family implements the trait of that name.
///
/// Call it once in the crate's `lib.rs`. It expands to nothing unless the crate is built for wasm, so `cargo test` runs
/// the family natively.
///
/// ```text
/// gatehouse_sdk::export_family!(Painter: jobs, views);
/// ```
#[macro_export]
macro_rules! export_family {
    ($family:ty: $($interface:ident),+ $(,)?) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code)]
        const _: () = {
            type Exported = $crate::adapter::Adapter<$family>;
            $crate::export_interface!(Exported manifest);
            $($crate::export_interface!(Exported $interface);)+
        };
    };
}

/// One interface of a family. Hidden: only `export_family!` uses it.
#[doc(hidden)]
#[macro_export]
macro_rules! export_interface {
    ($ty:ident manifest) => {
        $crate::export_interface!(
            $ty manifest MANIFEST __export_gatehouse_family_manifest_1_0_0_cabi "manifest"
        );
    };
    ($ty:ident jobs) => {
        $crate::export_interface!($ty jobs JOBS __export_gatehouse_family_jobs_1_0_0_cabi "jobs");
    };
    ($ty:ident views) => {
        $crate::export_interface!($ty views VIEWS __export_gatehouse_family_views_1_0_0_cabi "views");
    };
    ($ty:ident bulk) => {
        $crate::export_interface!($ty bulk BULK __export_gatehouse_family_bulk_1_0_0_cabi "bulk");
    };
    ($ty:ident direct) => {
        $crate::export_interface!($ty direct DIRECT __export_gatehouse_family_direct_1_0_0_cabi "direct");
    };
    ($ty:ident dialect) => {
        $crate::export_interface!(
            $ty dialect DIALECT __export_gatehouse_family_dialect_1_0_0_cabi "dialect"
        );
    };
    ($ty:ident text) => {
        $crate::export_interface!($ty text TEXT __export_gatehouse_family_text_1_0_0_cabi "text");
    };
    ($ty:ident $interface:ident $world:ident $cabi:ident $name:literal) => {
        $crate::bindings::exports::gatehouse::family::$interface::$cabi!(
            $ty with_types_in $crate::bindings::exports::gatehouse::family::$interface
        );
        const _: () = {
            #[unsafe(link_section = concat!("component-type:gatehouse:", $name))]
            #[used]
            static WORLD: [u8; $crate::export::$world.len()] =
                $crate::export::array($crate::export::$world);
        };
    };
}

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
