//! A whole family, and the macro that makes a component of it.

use crate::{About, Jobs, Text};

/// A whole family: what it says of itself, and the two halves of the contract.
///
/// ```
/// use gatehouse_sdk::{About, Family};
///
/// struct Nothing;
///
/// impl Family for Nothing {
///     type Jobs = ();
///     type Text = ();
///
///     fn about() -> About {
///         About::new("nothing", "0.1.0")
///     }
/// }
///
/// gatehouse_sdk::export_family!(Nothing);
/// ```
pub trait Family: 'static {
    /// Long jobs, or `()`.
    type Jobs: Jobs;
    /// Text, or `()`.
    type Text: Text;

    /// The manifest.
    fn about() -> About;
}

/// Exports a [`Family`] as a component. Call it once in the crate's `lib.rs`; it expands to nothing
/// unless the crate is built for wasm, so that plain `cargo test` runs the family natively.
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
