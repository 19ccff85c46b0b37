//! The families as the host meets them: natively through the SDK's own entry points, and as built components under the
//! host's limits, which must agree to the byte. One module a family; `cargo test -p gatehouse-plugin-tests chat::` runs one.
//!
//! One binary for all of them: wasmtime is linked once.

mod chat;
mod clip;
mod context_image;
mod generatecontent;
mod imagine;
mod journey;
mod known;
mod media_names;
mod messages;
mod motion;
mod scene;

/// The family's component, built once a run.
fn component(family: &str) -> gatehouse_play::Component {
    gatehouse_play::Component::build(&format!("{}/../../plugins/{family}", env!("CARGO_MANIFEST_DIR")))
}
