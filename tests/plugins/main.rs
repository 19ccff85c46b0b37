//! The families as the host meets them: natively through the SDK's own entry points, and as built components under the
//! host's limits, which must agree to the byte. One module a family; `cargo test -p gatehouse-plugin-tests chat::` runs one.
//!
//! One binary for all of them: wasmtime is linked once.

mod allocations;
mod chat;
mod clip;
mod closed_streams;
mod context_image;
mod generatecontent;
mod imagine;
mod journey;
mod known;
mod media_names;
mod messages;
mod motion;
mod mutants;
mod scene;
mod unknown_fields;

/// The family's component, built once a run.
fn component(family: &str) -> gatehouse_play::Component {
    gatehouse_play::Component::build(&format!("{}/../../plugins/{family}", env!("CARGO_MANIFEST_DIR")))
}

/// Counts with those that have names of their own among them: all that a client reads, and a host charges.
fn together(
    usage: Option<gatehouse_sdk::Usage>,
    counters: &[gatehouse_sdk::Counter],
) -> Option<gatehouse_sdk::Usage> {
    let of = |tokens: &str| {
        counters.iter().filter(|(name, _)| name.starts_with(tokens)).map(|it| it.1).sum::<u64>()
    };
    usage.map(|all| gatehouse_sdk::Usage {
        input: all.input + of("input-"),
        output: all.output + of("output-"),
        ..all
    })
}
