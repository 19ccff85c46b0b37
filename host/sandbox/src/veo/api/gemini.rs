//! The listener of the Gemini API: submissions, polls, and files behind one redirect, all with the API key.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

use crate::common::server::{Handler, HandlerResult, reply, with};
use crate::veo::api::{answer, files, submit};
use crate::veo::provider::Provider;
use crate::veo::record::Dialect;
use crate::veo::refusal::Refusal;

/// The version, as in the address of the provider.
pub(in crate::veo) const BASE: &str = "/v1beta";
const DOWNLOAD: &str = "/download/v1beta/files/";

/// The API listener.
pub(in crate::veo) struct GeminiEndpoint(pub(in crate::veo) Arc<Provider>);

impl Handler for GeminiEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let inside = path.strip_prefix(BASE).unwrap_or_default();
        if let (&Method::POST, Some((model, "predictLongRunning"))) =
            (&head.method, inside.strip_prefix("/models/").and_then(|rest| rest.split_once(':')))
        {
            let parent = format!("models/{model}");
            return submit::submit(&self.0, Dialect::Gemini, (model, &parent), &head.headers, body).await;
        }
        let account = match self.0.account(Dialect::Gemini, &head.headers) {
            Ok(account) => account,
            Err(refusal) => return Ok(refusal.response()),
        };
        let is_media = head.uri.query() == Some("alt=media");
        let file =
            |path: Option<&str>| path.and_then(|path| path.strip_suffix(":download")).map(str::to_owned);
        if let (&Method::GET, Some(file), true) =
            (&head.method, file(inside.strip_prefix("/files/")), is_media)
        {
            let origin = self.0.addresses.gemini.trim_end_matches(BASE);
            let location = format!("{origin}{DOWNLOAD}{file}:download?alt=media");
            return Ok(with(reply(302, "text/plain", ""), "location", &location));
        }
        if let (&Method::GET, Some(file), true) = (&head.method, file(path.strip_prefix(DOWNLOAD)), is_media)
        {
            return files::send(&self.0, Dialect::Gemini, account, &file).await;
        }
        let name = inside.trim_start_matches('/');
        if head.method == Method::GET && name.contains("/operations/") {
            return Ok(answer::answer(&self.0, Dialect::Gemini, account, name).await);
        }
        Ok(Refusal::not_found("The requested URL was not found on this server.").response())
    }
}
