//! A whole family.

use crate::contract::manifest::About;
use crate::jobs::Jobs;
use crate::text::Text;

/// A whole family: its manifest and the two halves of the contract.
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

    /// The manifest. The SDK fills in what the two halves declare: `offers`, `state_version`, `reads_state`.
    fn about() -> About;
}
