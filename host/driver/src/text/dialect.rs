//! A model whose provider speaks a dialect. A text family prepares the request for a Messages provider, and the family that
//! speaks the dialect stands in that provider's place: it makes the call of the request, and a Messages answer of what comes.
//!
//! ```text
//! client -> text family: Messages request -> dialect: call -> provider
//! client <- text family: Messages answer  <- dialect: reply <-
//! ```
//! What the dialect says of a request goes through the text family too, as a provider's error would: so the client reads the
//! names of its own fields.

use std::sync::Arc;

use gatehouse_model::{
    Body, Call, Context, DialectRequest, Facts, Framing, Json, Obstacle, Payload, Prepared, Protocol,
    Refusal, Reply, TextFailure, TextRoute,
};
use gatehouse_runtime::{Fault, Half, Relay, RequestInstance, ServedBy, Version};
use serde_json::json;

use crate::errors::SubmitError;
use crate::request_report::plugin_span;
use crate::submit::refusal::{fault_error, refusal_error};
use crate::text::api::TextError;
use crate::text::attempt::plugin_fault;
use crate::text::translation::{Source, Translator};

/// A request in the hands of a dialect.
pub(super) struct DialectRun {
    pub(super) version: Arc<Version>,
    cx: Context,
    pub(super) call: Call,
    pub(super) framing: Framing,
    state: Vec<u8>,
    /// The instance that made the call, for the first answer; a stream's permit.
    instance: Option<Box<RequestInstance>>,
}

/// What a text family made of a request.
pub(super) struct Neutral<'a> {
    pub(super) version: &'a Arc<Version>,
    pub(super) cx: &'a Context,
    pub(super) prepared: &'a Prepared,
    /// Facts about the blobs that the client sent.
    pub(super) blobs: Vec<Facts>,
}

/// The route of a text family: a dialect looks to it like a Messages provider.
pub(super) fn route_of_family(route: &TextRoute) -> TextRoute {
    let mut route = route.clone();
    if route.protocol.dialect().is_some() {
        route.protocol = Protocol::Messages;
    }
    route
}

impl Translator {
    /// The version that speaks the route's dialect; `None` where its provider speaks to text families.
    pub(super) fn speaker(&self, route: &TextRoute) -> Result<Option<Arc<Version>>, SubmitError> {
        let Some(dialect) = route.protocol.dialect() else { return Ok(None) };
        match self.shared.plugins.registry().dialect(dialect) {
            None => Err(self.served.no_dialect(&route.model, dialect)),
            version => Ok(version),
        }
    }

    /// Has the dialect make the call of a request.
    pub(super) async fn translate(
        &self,
        source: &Source,
        speaker: Arc<Version>,
        route: &TextRoute,
        neutral: Neutral<'_>,
    ) -> Result<DialectRun, TextError> {
        let Neutral { version, cx, prepared, blobs } = neutral;
        let of_dialect = Context { settings: speaker.settings(), ..cx.clone() };
        let dialect_request = DialectRequest {
            body: messages_request(version, &prepared.call)?,
            streaming: prepared.streaming,
            blobs,
            route: route.clone(),
        };
        let (plugins, only_asks) = (self.shared.plugins.for_key(&source.key), source.only_asks);
        let _span = plugin_span(&source.report, "plugin prepare", &speaker);
        let translated =
            plugins.prepare_dialect(&speaker, of_dialect.clone(), dialect_request, only_asks).await;
        match translated {
            Ok(ServedBy { by, answer: Ok(translated) }) => Ok(DialectRun {
                version: by,
                cx: of_dialect,
                call: translated.prepared.call,
                framing: translated.prepared.framing,
                state: translated.prepared.state,
                instance: translated.instance,
            }),
            Ok(ServedBy { answer: Err(Refusal::Invalid { field, message }), .. }) => {
                let obstacle = Obstacle::Invalid;
                let refused = TextFailure { obstacle, message, field, retry_after_ms: None };
                let TextFailure { message, field, .. } =
                    self.in_clients_words(version, cx, &prepared.state, refused).await;
                Err(SubmitError::Invalid { field, message }.into())
            }
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refusal_error(refusal).into()),
            Err(fault) => Err(fault_error(fault, |fault| plugin_fault(&speaker, &fault)).into()),
        }
    }

    /// A whole reply as that of a Messages provider. A fault comes with the version that it is of.
    pub(super) async fn read_dialect(
        &self,
        dialect: &mut DialectRun,
        reply: Reply,
    ) -> Result<Result<Reply, TextFailure>, (Arc<Version>, Fault)> {
        let DialectRun { version, cx, state, instance, .. } = dialect;
        let (status, affinity) = (reply.status, reply.affinity.clone());
        let read = self
            .shared
            .plugins
            .read_dialect(version, cx.clone(), state.clone(), reply, instance.as_deref_mut())
            .await
            .map_err(|fault| (Arc::clone(version), fault))?;
        Ok(read.map(|answer| Reply {
            status,
            headers: vec![],
            body: Body::Inline(answer.into_bytes()),
            affinity,
        }))
    }

    /// The reader of a stream's frames.
    pub(super) fn frame_reader(&self, dialect: &mut DialectRun) -> Result<Box<Relay>, Fault> {
        let DialectRun { version, cx, state, instance, .. } = dialect;
        let reader =
            self.shared.plugins.relay(Half::Dialect, version, cx.clone(), state.clone(), instance.take());
        reader.map(Box::new)
    }

    /// What is wrong with a request, told by the text family as it tells a Messages provider's error.
    pub(super) async fn in_clients_words(
        &self,
        version: &Arc<Version>,
        cx: &Context,
        state: &[u8],
        failure: TextFailure,
    ) -> TextFailure {
        let Some(reply) = error_reply(&failure) else { return failure };
        match self.shared.plugins.answer(version, cx.clone(), state.to_vec(), reply, None).await {
            Ok(Err(told)) => told,
            Ok(Ok(_)) | Err(_) => failure,
        }
    }
}

/// The body that a text family made for a Messages provider.
fn messages_request(version: &Version, call: &Call) -> Result<Json, SubmitError> {
    let fault = |why: &str| plugin_fault(version, &Fault::Host(why.to_owned()));
    let Payload::Json(body) = &call.body else {
        return Err(fault("it made a Messages request that is no JSON"));
    };
    body.clone().try_into().map_err(|_| fault("it made a Messages request that is no text"))
}

/// The failure as a Messages provider's error; `None` where it is not about the request.
fn error_reply(failure: &TextFailure) -> Option<Reply> {
    let (status, kind, code) = match failure.obstacle {
        Obstacle::Invalid => (400, "invalid_request_error", None),
        Obstacle::TooLong => (400, "invalid_request_error", Some("context_length_exceeded")),
        Obstacle::TooLarge => (413, "request_too_large", None),
        Obstacle::NotFound | Obstacle::RateLimited | Obstacle::Account | Obstacle::Upstream => return None,
    };
    let TextFailure { message, field, .. } = failure;
    let mut error = json!({"type": kind, "message": message});
    for (name, value) in [("code", code), ("param", field.as_deref())] {
        if let Some(value) = value {
            error[name] = value.into();
        }
    }
    let body = json!({"type": "error", "error": error}).to_string();
    Some(Reply { status, headers: vec![], body: Body::Inline(body.into()), affinity: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a text family would take an overloaded provider for a wrong request, or a client would read the names of a
    /// protocol that it does not speak.
    #[test]
    fn only_what_is_about_the_request_is_told_by_the_text_family() {
        let failure = |obstacle| TextFailure {
            obstacle,
            message: "no".to_owned(),
            field: Some("messages.0".to_owned()),
            retry_after_ms: None,
        };
        for (obstacle, expected) in [
            (Obstacle::Invalid, Some((400, "invalid_request_error"))),
            (Obstacle::TooLong, Some((400, "invalid_request_error"))),
            (Obstacle::TooLarge, Some((413, "request_too_large"))),
            (Obstacle::NotFound, None),
            (Obstacle::RateLimited, None),
            (Obstacle::Account, None),
            (Obstacle::Upstream, None),
        ] {
            let reply = error_reply(&failure(obstacle));
            let told = reply.map(|reply| {
                let Body::Inline(body) = reply.body else { panic!("a body in hand") };
                let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
                assert_eq!(body["error"]["param"], "messages.0");
                (reply.status, body["error"]["type"].as_str().expect("a type").to_owned())
            });
            let expected = expected.map(|(status, kind)| (status, kind.to_owned()));
            assert_eq!(told, expected, "{obstacle:?}");
        }
    }
}
