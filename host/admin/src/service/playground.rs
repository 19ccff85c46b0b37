//! Requests that an operator sends as a key, without its secret: what the key may do and what it costs are real, its
//! networks alone do not count; each leaves a line in the audit record. And their inputs: files that they give, results that
//! go on as inputs, and pictures that are embedded where nobody outside could read their link.
//!
//! A file is a medium of the gateway with a signed link; nothing else knows of it, and it goes when its link ends.
//! Owns nothing; asks the running gateway, and leaves lines by [`Commands`].

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use gatehouse_driver::SubmitError;
use gatehouse_model::{FamilyListing, Key, KeyId, TaskId};
use gatehouse_net::ServedBody;
use gatehouse_tasks::FieldChange;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response};
use serde_json::Value;

use super::commands::Commands;
use super::gateway::PublicEndpoint;
use crate::access::Caller;
use crate::api::error::OperationError;
use crate::audit::told;

/// Bytes of pictures that one request gets embedded, at most; what is beyond stays a link.
const MAX_EMBEDDED: usize = 48 << 20;
/// Why media need a running gateway.
const MEDIA: &str = "only a running gateway keeps media; start it";
/// What the type of a picture begins with.
const PICTURE: &str = "image/";

/// A result of a task as an input of another request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultInput {
    /// Its signed link.
    pub link: String,
    /// Its type.
    pub mime: String,
    /// The key of its task.
    pub key: KeyId,
}

/// Sends requests as a key, and keeps what they need.
pub struct Playground {
    pub(super) commands: Commands,
}

impl Playground {
    /// Keeps a file for a day (`media.link_hours`) and leaves a line; its signed link, which begins with `base`.
    ///
    /// # Errors
    /// [`OperationError::Invalid`] for a file that is empty, too large, or no picture, film or sound by its own bytes;
    /// [`OperationError::Busy`] on a full disk; [`OperationError::Refused`] without a running gateway.
    pub async fn keep_input(
        &self,
        caller: &Caller,
        bytes: &Bytes,
        base: &str,
    ) -> Result<String, OperationError> {
        let driver = self.commands.gateway.running(MEDIA)?;
        let kept = driver.files.keep_input(bytes).await.map_err(|error| match error {
            SubmitError::Invalid { message, .. } => OperationError::Invalid(message),
            full @ (SubmitError::DiskFull(_) | SubmitError::MediaUnavailable) => {
                OperationError::Busy(full.to_string())
            }
            other => OperationError::Failed(other.to_string()),
        });
        let (object, changes) = match &kept {
            Ok(media) => {
                let changes = vec![told("type", media.mime.as_str()), told("bytes", media.bytes)];
                (format!("media/{}", media.id), changes)
            }
            Err(_) => ("media".to_owned(), Vec::new()),
        };
        // It is kept, or refused, already.
        if let Err(error) =
            self.commands.note(caller, "keepInput", object, kept.as_ref().err(), changes).await
        {
            tracing::error!(%error, "an operation could not be recorded");
        }
        Ok(driver.files.media_link(base, &kept?))
    }

    /// A task's result, the first one being 0, as an input of another request.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] without such a task or result, and once its link has ended.
    pub async fn result_input(
        &self,
        id: TaskId,
        at: usize,
        base: &str,
    ) -> Result<ResultInput, OperationError> {
        let driver = self.commands.gateway.running(MEDIA)?;
        let task = self.commands.store.task(id).await?;
        let none = || OperationError::NotFound(format!("task {id} has no result {at}"));
        let task = task.ok_or_else(none)?;
        let media = task.media.get(at).ok_or_else(none)?;
        if media.expires <= self.commands.clock.now() {
            return Err(OperationError::NotFound(format!("result {at} of task {id} is not kept any more")));
        }
        Ok(ResultInput {
            link: driver.files.media_link(base, media),
            mime: media.mime.clone(),
            key: task.key,
        })
    }

    /// Puts pictures in place of links of this gateway that are plain HTTP: no provider outside reads such an address, and
    /// families may ask for https.
    async fn embed_pictures(&self, body: &mut Value) {
        let Some(driver) = self.commands.gateway.driver() else { return };
        let mut links = Vec::new();
        plain_links(body, &mut links);
        let mut left = MAX_EMBEDDED;
        for text in links {
            let Some((mime, bytes)) = driver.files.linked_file(text).await else { continue };
            if mime.starts_with(PICTURE) && bytes.len() <= left {
                left -= bytes.len();
                *text = format!("data:{mime};base64,{}", STANDARD.encode(&bytes));
            }
        }
    }

    /// What the loaded families offer to a key: surfaces with their schemas, and the models it may use. Without a key, all.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway.
    pub fn offers(&self, key: Option<&Key>) -> Result<Vec<FamilyListing>, OperationError> {
        Ok(self.commands.gateway.running("only a running gateway has families")?.models.families(key))
    }

    /// The POST endpoints of families.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway.
    pub fn endpoints(&self) -> Result<Vec<PublicEndpoint>, OperationError> {
        Ok(self.commands.gateway.public_api()?.endpoints())
    }

    /// Sends a request of a client as that key, for a caller in whose name it leaves a line; one that only asks for its price
    /// leaves none. Pictures behind links of this gateway over plain HTTP are sent embedded.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] for an unknown key; [`OperationError::Refused`] without a running gateway. What the
    /// public API refuses is its answer.
    pub async fn send_as(
        &self,
        caller: &Caller,
        key: &KeyId,
        path: &str,
        mut body: Value,
    ) -> Result<Response<ServedBody>, OperationError> {
        let public = Arc::clone(self.commands.gateway.public_api()?);
        let found = self.commands.store.key(key).await?;
        let found = found.ok_or_else(|| OperationError::NotFound(format!("no key {key}")))?;
        let wrong = |error: http::Error| OperationError::Invalid(format!("path: {error}"));
        let mut request = Request::builder().method(Method::POST).uri(path);
        if let Some(headers) = request.headers_mut() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.embed_pictures(&mut body).await;
        let request = request.body(Bytes::from(body.to_string())).map_err(wrong)?;
        if body.get("dry_run") != Some(&Value::Bool(true)) {
            // Before the request: what was sent must be on record, whatever becomes of it.
            let sent = FieldChange { field: "path".to_owned(), before: None, after: Some(path.to_owned()) };
            self.commands.note(caller, "sendAsKey", format!("keys/{key}"), None, vec![sent]).await?;
        }
        Ok(public.respond(Arc::new(found), request).await)
    }
}

/// The texts that may be links of this gateway over plain HTTP.
fn plain_links<'b>(value: &'b mut Value, found: &mut Vec<&'b mut String>) {
    match value {
        Value::String(text) if text.starts_with("http://") && text.contains("/v1/media/") => found.push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| plain_links(item, found)),
        Value::Object(members) => members.values_mut().for_each(|member| plain_links(member, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_plain_links_of_media_are_looked_at() {
        let mut body = json!({
            "image_urls": ["http://127.0.0.1:8080/v1/media/m_a.png?x", "https://gw.example.com/v1/media/m_b.png"],
            "messages": [{"content": [{"image_url": {"url": "http://h/v1/media/m_c.png"}}]}],
            "prompt": "see http://h/v1/media/m_d.png",
            "n": 1,
        });
        let mut found = Vec::new();
        plain_links(&mut body, &mut found);
        assert_eq!(found, ["http://127.0.0.1:8080/v1/media/m_a.png?x", "http://h/v1/media/m_c.png"]);
    }
}
