//! The macro that makes a component of a family.

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
            static WORLD: [u8; $crate::worlds::$world.len()] =
                $crate::worlds::array($crate::worlds::$world);
        };
    };
}
