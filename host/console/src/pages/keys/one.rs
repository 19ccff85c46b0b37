//! One key: what it may do, what it used, and its end.

use gatehouse_admin::{KeyView, ResponseBody};
use gatehouse_model::KeyId;
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::super::{customers, statements};
use super::{policy, rotate, state};
use crate::context::PageContext;
use crate::error::PageError;
use crate::format::moment;
use crate::parts::elements::{Confirm, quota};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET /keys/<id>`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let key = pages.service.show_key(&KeyId::from(request.id.as_str()))?;
    let title = format!("Key {}", key.name);
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/keys", &title);
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/keys" { "Keys" } }
            div.title { h1 { bdi { (key.name) } } (state(&key, request.now)) }
            (facts(&key, request))
            p {
                a href={ "/usage?by=model&key=" (key.id) } { "Its usage" } " "
                a href=(statements::address("key", &key.id.0)) { "Its statement" }
            }
            @if request.is_operator() && key.revoked.is_none() {
                div.buttons {
                    a.button.primary href={ "/keys/" (key.id) "/edit" } data-edit { "Edit key" }
                    @if key.rotated_to.is_none() { (rotate::button(&key, request)) }
                    (revocation(&key))
                }
            }
        },
    ))
}

fn facts(key: &KeyView, request: &PageRequest) -> Markup {
    let list = |words: Vec<String>, all: &str| {
        html! {
            @if words.is_empty() { (all) } @else { ul.plain { @for word in &words { li { code { (word) } } } } }
        }
    };
    html! {
        dl.facts {
            dt { "Key" } dd { code { "sk-" (key.id) "…" } }
            dt { "Customer" } dd { a href=(customers::address(&key.customer)) { bdi { (key.customer) } } }
            dt { "Quota, credits" } dd { (quota(key.used, key.quota_use(request.now))) }
            dt { "Models" } dd { (list(key.models.clone(), "all")) }
            dt { "Networks" } dd { (list(key.networks.iter().map(ToString::to_string).collect(), "from everywhere")) }
            @for (name, value) in policy::limits_in_words(&key.limits, &key.model_limits) { dt { (name) } dd { (value) } }
            @if !key.open.is_empty() { dt { "Open now" } dd { (key.open.values().sum::<u32>()) ", tasks and text requests together" } }
            @if let Some(old) = &key.rotated_from { dt { "Replaced" } dd { a href={ "/keys/" (old) } { code { "sk-" (old) "…" } } } }
            @if let Some(new) = &key.rotated_to { dt { "Replaced by" } dd { a href={ "/keys/" (new) } { code { "sk-" (new) "…" } } } }
            dt { "Chat completions" } dd { (key.chat_format.as_str()) }
            dt { "Created" } dd { (moment(key.created, request.now)) }
            dt { "Expires" } dd { @if let Some(at) = key.expires { (moment(at, request.now)) } @else { "never" } }
            @if let Some(at) = key.revoked { dt { "Revoked" } dd { (moment(at, request.now)) } }
        }
    }
}

fn revocation(key: &KeyView) -> Markup {
    let (title, action) = (format!("Revoke key {}", key.name), format!("/keys/{}/revoke", key.id));
    Confirm {
        id: "revoke",
        button: "Revoke key",
        title: &title,
        consequence: "Every request with this key is refused from now on, at once and for good. Tasks it has started finish.",
        action: &action,
        danger: true,
    }
    .show()
}

/// `POST /keys/<id>/revoke`.
pub(crate) async fn revoke(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let key = pages.service.revoke_key(&KeyId::from(request.id.as_str())).await?;
    Ok(redirect(&format!("/keys?revoked=1&marked={}&done=revoked", key.id)))
}
