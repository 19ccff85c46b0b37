//! The traits a family implements: one for each interface of the contract, with [`Family`] below all of them. No types,
//! no behaviour.

pub(crate) mod dialect;
pub(crate) mod direct;
pub(crate) mod jobs;
pub(crate) mod text;

use crate::contract::manifest::About;

/// What every family has: its manifest, and the versions of the states it writes and reads. A family also implements
/// [`Jobs`](crate::Jobs) or [`Text`](crate::Text), and names in [`export_family!`](crate::export_family) what it
/// exports.
///
/// ```
/// use gatehouse_sdk::{About, Family};
///
/// struct Painter;
///
/// impl Family for Painter {
///     fn about() -> About {
///         About::new("painter", "0.1.0")
///     }
/// }
/// ```
pub trait Family: 'static {
    /// The version of every state this version of the plugin writes.
    const STATE_VERSION: u32 = 1;
    /// Older versions that [`Jobs::migrate`](crate::Jobs::migrate) accepts.
    const READS_STATE: &'static [u32] = &[];

    /// The manifest. The SDK fills in `state_version` and `reads_state`.
    fn about() -> About;
}
