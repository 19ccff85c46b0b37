//! The macro that makes a component of a family.

/// Exports a [`Family`](crate::Family) as a component. Call it once in the crate's `lib.rs`. It expands to
/// nothing unless the crate is built for wasm, so `cargo test` runs the family natively.
#[macro_export]
macro_rules! export_family {
    ($family:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code)]
        const _: () = {
            type Exported = $crate::adapter::Adapter<$family>;
    $crate::bindings::export_bindings!(Exported with_types_in $crate::bindings);
        };
    };
}
