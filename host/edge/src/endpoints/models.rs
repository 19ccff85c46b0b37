//! `GET /v1/models` and `GET /v1/models/{id}`, in the shape the asking client reads: Anthropic's send their version
//! header, all others read OpenAI's. Both say what kind of model each is, and what it makes. Lists only what the key may use.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use gatehouse_driver::{ListedPrice, Modality, ModelFacts, ModelListing};
use gatehouse_model::{Key, view};
use percent_encoding::percent_decode_str;
use serde::Serialize;

use crate::backend::store_refusal;
use crate::endpoints::usage::Amount;
use crate::errors::{Form, Kind, Outcome, Refusal};
use crate::http::context::EndpointRequest;
use crate::http::query::{Query, quoted};
use crate::response;

/// The header every client of the Messages API sends.
const ANTHROPIC: &str = "anthropic-version";
/// What `limit` of a page may be.
const LIMITS: RangeInclusive<usize> = 1..=1000;

/// OpenAI's list.
#[derive(Serialize)]
struct Models {
    object: &'static str,
    data: Vec<Model>,
}

view! {
    /// OpenAI's model.
    #[derive(Serialize)]
    struct Model of (listing: ModelListing) where {
        let kind = kind(&listing.surfaces);
    } {
        id: String = listing.id,
        object: &'static str = "model",
        created: u64 = listing.since.seconds(),
        owned_by: String = listing.family,
        kind: &'static str = kind,
        modality: String = listing.modality.unwrap_or_else(|| kind.to_owned()),
        #[serde(flatten)]
        facts: Facts = (listing.facts, listing.surfaces, kind).into(),
    }
}

view! {
    /// What both shapes say of a model, where it is known.
    #[derive(Serialize)]
    struct Facts of ((facts, surfaces, kind): (ModelFacts, Vec<String>, &'static str)) {
        surfaces: Vec<String> = surfaces,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_length: Option<u32> = facts.context_tokens,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_output_tokens: Option<u64> = facts.max_output_tokens,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        input_modalities: Vec<Modality> = facts.inputs,
        output_modalities: [&'static str; 1] = [kind],
        prices: Vec<Price> = facts.prices.into_iter().map(Price::from).collect(),
    }
}

view! {
    #[derive(Serialize)]
    struct Price of (price: ListedPrice) {
        price_key: String = price.key,
        unit: &'static str = price.unit,
        unit_price: Amount = Amount(price.price),
    }
}

/// A page of Anthropic's list.
#[derive(Serialize)]
struct Page {
    data: Vec<PageModel>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

view! {
    /// Anthropic's model.
    #[derive(Serialize)]
    struct PageModel of (listing: ModelListing) where {
        let kind = kind(&listing.surfaces);
        let facts = Facts::from((listing.facts, listing.surfaces, kind));
    } {
        #[serde(rename = "type")]
        object: &'static str = "model",
        id: String = listing.id.clone(),
        display_name: String = listing.id,
        created_at: String = listing.since.to_string(),
        kind: &'static str = kind,
        modality: String = listing.modality.unwrap_or_else(|| kind.to_owned()),
        /// The same limits in Anthropic's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_input_tokens: Option<u32> = facts.context_length,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64> = facts.max_output_tokens,
        #[serde(flatten)]
        facts: Facts = facts,
    }
}

/// What a model makes, by the surfaces it serves.
fn kind(surfaces: &[String]) -> &'static str {
    match surfaces.first().map_or("", |surface| surface.split('.').next().unwrap_or_default()) {
        "videos" => "video",
        "images" | "journey" => "image",
        "audio" | "voices" => "audio",
        "avatars" => "avatar",
        "embeddings" => "embedding",
        _ => "text",
    }
}

/// Every model the key may use.
pub(super) async fn list(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let listings = request.context.backend.models(key).await.map_err(store_refusal)?;
    if request.parts.headers.contains_key(ANTHROPIC) {
        return page(listings, request.parts.uri.query()).map(|page| response::json(&page));
    }
    let data = listings.into_iter().map(Model::from).collect();
    Ok(response::json(&Models { object: "list", data }))
}

/// One page: the `limit` models right after `after_id`, or right before `before_id`. Without a limit all of them: a client that
/// reads one page alone has then read everything.
fn page(listings: Vec<ModelListing>, asked: Option<&str>) -> Result<Page, Refusal> {
    let asked = Query::parse(asked);
    let limit =
        asked.read("limit", "1 to 1000", |text| text.parse().ok().filter(|limit| LIMITS.contains(limit)))?;
    let position = |id: &str| listings.iter().position(|listing| listing.id == id);
    let from = asked.one("after_id")?.and_then(position).map_or(0, |at| at + 1);
    let before = asked.one("before_id")?.and_then(position);
    let within = &listings[from..before.unwrap_or(listings.len()).max(from)];
    let most = limit.unwrap_or(usize::MAX);
    // A client that goes back reads on from the first model that it has.
    let left_out = before.map_or(0, |_| within.len().saturating_sub(most));
    let data: Vec<PageModel> =
        within.iter().skip(left_out).take(most).cloned().map(PageModel::from).collect();
    let id = |model: Option<&PageModel>| model.map(|model| model.id.clone());
    let (first_id, last_id) = (id(data.first()), id(data.last()));
    Ok(Page { has_more: data.len() < within.len(), data, first_id, last_id })
}

/// One of them.
pub(super) async fn read(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    // Clients escape path segments; an id that is not UTF-8 is unknown.
    let id = percent_decode_str(request.param).decode_utf8().unwrap_or(Cow::Borrowed(request.param));
    let listings = request.context.backend.models(key).await.map_err(store_refusal)?;
    let found = listings.into_iter().find(|listing| listing.id == id);
    let unknown = || Refusal::new(Kind::ModelNotFound, format!("unknown model {}", quoted(&id)));
    match (found, request.parts.headers.contains_key(ANTHROPIC)) {
        (Some(listing), true) => Ok(response::json(&PageModel::from(listing))),
        (Some(listing), false) => Ok(response::json(&Model::from(listing))),
        (None, true) => Err(unknown().in_form(Form::Messages)),
        (None, false) => Err(unknown()),
    }
}
