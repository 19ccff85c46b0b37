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
mod tasks;
mod unknown_fields;

use std::fmt::Display;

use gatehouse_sdk::{Counter, Extra, Protocol, Route, Sse, TextRequest, Usage};
use serde_json::{Value, json};

/// The family's component, built once a run.
fn component(family: &str) -> gatehouse_play::Component {
    gatehouse_play::Component::build(&format!("{}/../../plugins/{family}", env!("CARGO_MANIFEST_DIR")))
}

/// An object with `fields` over it.
fn over(mut object: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("expected an object of fields, got {fields}") };
    object.as_object_mut().expect("an object").extend(fields);
    object
}

/// A route to a model that a provider of that protocol serves under the name `upstream`.
fn route(model: &str, upstream: &str, protocol: Protocol, rules: Value) -> Route {
    Route {
        model: model.into(),
        upstream: upstream.into(),
        provider: "p".into(),
        protocol,
        rules,
        extra: Extra::new(),
    }
}

/// A request for a text, without headers and files.
fn text_request(surface: &str, body: &dyn Display, route: Route) -> TextRequest {
    TextRequest {
        surface: surface.into(),
        body: body.to_string(),
        headers: vec![],
        blobs: vec![],
        route,
        extra: Extra::new(),
    }
}

/// An event under the name of its type, if it has one.
fn named(data: &Value) -> Sse {
    Sse { event: data["type"].as_str().map(str::to_owned), data: data.to_string() }
}

/// A text as JSON; where it is `escaped`, each of its characters is.
fn quoted(text: &str, escaped: bool) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    if escaped { format!("\"{}\"", units.collect::<String>()) } else { json!(text).to_string() }
}

/// Counts with those that have names of their own among them: all that a client reads, and a host charges.
fn together(usage: Option<Usage>, counters: &[Counter]) -> Option<Usage> {
    let of = |tokens: &str| {
        counters.iter().filter(|(name, _)| name.starts_with(tokens)).map(|it| it.1).sum::<u64>()
    };
    usage.map(|all| Usage { input: all.input + of("input-"), output: all.output + of("output-"), ..all })
}
