//! A key is replaced by a successor with the same policy; the old one goes on working for a while.

use std::time::Duration;

use gatehouse_admin::{KeyView, ResponseBody};
use gatehouse_model::KeyId;
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::new;
use crate::context::PageContext;
use crate::error::PageError;
use crate::once;
use crate::parts::elements::Confirm;
use crate::parts::fields::select;
use crate::request::PageRequest;

/// How long the old key goes on working: value of the field, words, seconds.
const OVERLAPS: &[(&str, &str, u64)] = &[
    ("24h", "24 hours", 86_400),
    ("1h", "1 hour", 3600),
    ("7d", "7 days", 7 * 86_400),
    ("0", "not at all: it ends at once", 0),
];

/// The button on a key's page.
pub(super) fn button(key: &KeyView, request: &PageRequest) -> Markup {
    let (title, action) = (format!("Rotate key {}", key.name), format!("/keys/{}/rotate", key.id));
    let overlaps: Vec<(&str, &str)> = OVERLAPS.iter().map(|(value, words, _)| (*value, *words)).collect();
    Confirm {
        id: "rotate",
        button: "Rotate key",
        title: &title,
        consequence: "A new key is made that may do the same and spends the same quota. It is shown once. The old key works \
                      for as long as you choose here.",
        action: &action,
        danger: false,
    }
    .with(&html! {
        (once::field(request.number))
        (select("overlap", "The old key works for", &overlaps, OVERLAPS[0].0))
    })
}

/// `POST /keys/<id>/rotate`.
pub(crate) async fn rotate(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let form = request.form();
    let chosen = OVERLAPS.iter().find(|(value, ..)| *value == form.text("overlap"));
    let (.., seconds) = chosen.ok_or_else(|| {
        let message = format!("overlap: expected one of those of the form, got {:?}", form.text("overlap"));
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    })?;
    let old = KeyId::from(request.id.as_str());
    let (key, secret) = pages.service.rotate_key(old, Duration::from_secs(*seconds)).await?;
    Ok(new::created(pages, request, &key, &secret))
}
