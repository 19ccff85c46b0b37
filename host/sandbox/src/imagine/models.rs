//! The models: names, prices, and the list of them.

use serde_json::{Value, json};

/// A model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: &'static str,
    /// Other names; a retired model is redirected to its successor.
    aliases: &'static [&'static str],
    /// For one image, 10^10 ticks a dollar.
    pub(super) ticks: u64,
    /// It has `quality`, and the sizes and ratios that came with it.
    pub(super) is_newest: bool,
}

const MODELS: [Model; 3] = [
    Model {
        id: "grok-imagine-image",
        aliases: &["grok-imagine-image-latest"],
        ticks: 200_000_000,
        is_newest: false,
    },
    Model {
        id: "grok-imagine-image-quality",
        aliases: &["grok-imagine-image-quality-latest", "grok-imagine-image-pro"],
        ticks: 500_000_000,
        is_newest: false,
    },
    Model { id: "grok-imagine-image-2.0", aliases: &[], ticks: 400_000_000, is_newest: true },
];

/// The model of that name; without a name the first.
pub(super) fn find(name: Option<&str>) -> Option<&'static Model> {
    let Some(name) = name else { return MODELS.first() };
    MODELS.iter().find(|model| model.id == name || model.aliases.contains(&name))
}

/// The body of `GET /v1/image-generation-models`.
pub(super) fn list() -> Value {
    let rows = MODELS.iter().map(|model| {
        json!({
            "id": model.id, "aliases": model.aliases, "object": "model", "owned_by": "xai",
            "image_price": model.ticks, "input_modalities": ["text", "image"], "output_modalities": ["image"],
        })
    });
    json!({ "models": rows.collect::<Vec<_>>() })
}
