//! `GET /v1/models` and `GET /v1/models/{id}` in the shape OpenAI clients read.

use std::borrow::Cow;

use gatehouse_driver::ModelListing;
use gatehouse_model::Key;
use http::Response;
use percent_encoding::percent_decode_str;
use serde::Serialize;

use crate::backend::Backend;
use crate::errors::{Kind, Problem};
use crate::http::context::{EdgeContext as Front, EndpointRequest as Visit};
use crate::http::query::quoted;
use crate::http::response::{self as answer, ResponseBody as Content};

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
pub(super) fn list<B: Backend>(front: &Front<B>, key: &Key) -> Response<Content> {
    let data = front.backend.models(key).into_iter().map(Model::from).collect();
    answer::json(&Models { object: "list", data })
}

/// One of them.
pub(super) fn read<B: Backend>(
    front: &Front<B>,
    visit: &Visit<'_>,
    key: &Key,
) -> Result<Response<Content>, Problem> {
    // Clients escape what they put into a path; an id that is not UTF-8 is simply not one of ours.
    let id = percent_decode_str(visit.open).decode_utf8().unwrap_or(Cow::Borrowed(visit.open));
    let found = front.backend.models(key).into_iter().find(|listing| listing.id == id);
    match found {
        Some(listing) => Ok(answer::json(&Model::from(listing))),
        None => Err(Problem::new(Kind::ModelNotFound, format!("unknown model {}", quoted(&id)))),
    }
}
