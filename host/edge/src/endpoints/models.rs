//! `GET /v1/models` and `GET /v1/models/{id}` in the shape OpenAI clients read. Lists only what the key may
//! use.

use std::borrow::Cow;

use gatehouse_driver::ModelListing;
use gatehouse_model::Key;
use http::Response;
use percent_encoding::percent_decode_str;
use serde::Serialize;

use crate::errors::{Kind, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::quoted;
use crate::http::response::{self, ResponseBody};

#[derive(Serialize)]
struct Models {
    object: &'static str,
    data: Vec<Model>,
}

#[derive(Serialize)]
struct Model {
    id: String,
    object: &'static str,
    created: u64,
    owned_by: String,
}

impl From<ModelListing> for Model {
    fn from(listing: ModelListing) -> Self {
        let created = listing.since.seconds();
        Self { id: listing.id, object: "model", created, owned_by: listing.family }
    }
}

/// Every model the key may use.
pub(super) fn list(context: &EdgeContext, key: &Key) -> Response<ResponseBody> {
    let data = context.backend.models(key).into_iter().map(Model::from).collect();
    response::json(&Models { object: "list", data })
}

/// One of them.
pub(super) fn read(
    context: &EdgeContext,
    request: &EndpointRequest<'_>,
    key: &Key,
) -> Result<Response<ResponseBody>, Refusal> {
    // Clients escape path segments; an id that is not UTF-8 is unknown.
    let id = percent_decode_str(request.param).decode_utf8().unwrap_or(Cow::Borrowed(request.param));
    let found = context.backend.models(key).into_iter().find(|listing| listing.id == id);
    match found {
        Some(listing) => Ok(response::json(&Model::from(listing))),
        None => Err(Refusal::new(Kind::ModelNotFound, format!("unknown model {}", quoted(&id)))),
    }
}
