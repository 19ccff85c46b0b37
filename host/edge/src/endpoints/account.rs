//! `/account`: a page for customers, and the one read that only it needs, `GET /v1/key`.
//!
//! The page is files of this binary and nothing else: its script asks the public API with the key that its person types, as any
//! client does. The key stays in the tab; no cookie is set and none is read. Style, charts and their library are the console's.

use std::collections::BTreeMap;

use gatehouse_model::{ChatFormat, Key, KeyId, Limits, UnixMs};
use http::Response;
use serde::Serialize;

use crate::endpoints::documentation::static_file;
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::quoted;
use crate::response::{self, ResponseBody};

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const PAGE: &str = include_str!("../../account/account.html");

/// Name, type and content of each file of the page.
const FILES: [(&str, &str, &[u8]); 9] = [
    ("account.css", CSS, include_bytes!("../../account/account.css")),
    ("account.js", JS, include_bytes!("../../account/account.js")),
    ("api.js", JS, include_bytes!("../../account/api.js")),
    ("tasks.js", JS, include_bytes!("../../account/tasks.js")),
    ("webhooks.js", JS, include_bytes!("../../account/webhooks.js")),
    ("console.css", CSS, include_bytes!("../../../console/assets/console.css")),
    ("chart.js", JS, include_bytes!("../../../console/assets/chart.js")),
    ("uPlot.iife.min.js", JS, include_bytes!("../../../console/assets/vendor/uPlot.iife.min.js")),
    ("uPlot.min.css", CSS, include_bytes!("../../../console/assets/vendor/uPlot.min.css")),
];

/// A key as its holder may know it. Moments in Unix seconds.
#[derive(Serialize)]
struct KeyView<'k> {
    id: &'k KeyId,
    name: &'k str,
    created: u64,
    expires: Option<u64>,
    /// Empty: all.
    models: &'k [String],
    /// Empty: from everywhere.
    networks: Vec<String>,
    chat_format: ChatFormat,
    limits: Limits,
    model_limits: &'k BTreeMap<String, Limits>,
}

/// The page.
pub(super) fn page(request: &EndpointRequest<'_>) -> Outcome {
    check_on(request.context)?;
    Ok(static_file(request, "text/html; charset=utf-8", PAGE.as_bytes()))
}

/// A file of the page.
pub(super) fn file(request: &EndpointRequest<'_>) -> Outcome {
    check_on(request.context)?;
    let found = FILES.iter().find(|(name, ..)| *name == request.param);
    let (_, mime, bytes) = found.ok_or_else(|| {
        Refusal::new(Kind::NotFound, format!("the account page has no file {}", quoted(request.param)))
    })?;
    Ok(static_file(request, mime, bytes))
}

/// What the key of the request may do.
pub(super) fn key(key: &Key) -> Response<ResponseBody> {
    let data = KeyView {
        id: &key.id,
        name: &key.name,
        created: key.created.seconds(),
        expires: key.expires.map(UnixMs::seconds),
        models: &key.models,
        networks: key.networks.iter().map(ToString::to_string).collect(),
        chat_format: key.chat_format,
        limits: key.limits,
        model_limits: &key.model_limits,
    };
    response::wrapped(data)
}

fn check_on(context: &EdgeContext) -> Result<(), Refusal> {
    match context.config.account_page {
        true => Ok(()),
        false => Err(Refusal::new(Kind::UnknownPath, "this gateway has no page for customers")),
    }
}
