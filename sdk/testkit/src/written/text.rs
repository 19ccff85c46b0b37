//! The lines of a text request, and of a dialect's, in the form that authors write.

use gatehouse_sdk::{DialectRequest, Extra, Protocol, Route, Sse, TextRequest};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::values::{FactsWritten, header};

/// A client's text request. A body that is a string is sent as it is, any other as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextWritten {
    surface: String,
    body: Value,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    blobs: Vec<FactsWritten>,
    route: RouteWritten,
}

/// A Messages request for a dialect, which is asked for a stream where its body says so.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TranslateWritten {
    dialect: String,
    body: Value,
    #[serde(default)]
    blobs: Vec<FactsWritten>,
    /// The public name of the model; without it the body's.
    model: Option<String>,
    provider: String,
    rules: Option<Value>,
}

impl TryFrom<TranslateWritten> for DialectRequest {
    type Error = String;

    fn try_from(written: TranslateWritten) -> Result<Self, String> {
        let named = written.body["model"].as_str().map(str::to_owned);
        let upstream = named.ok_or("expected `model` in the body, got none")?;
        Ok(Self {
            streaming: written.body["stream"] == true,
            body: text(written.body),
            blobs: written.blobs.into_iter().map(Into::into).collect(),
            dialect: written.dialect,
            model: written.model.unwrap_or_else(|| upstream.clone()),
            upstream,
            provider: written.provider,
            rules: written.rules.unwrap_or_else(|| json!({})),
            extra: Extra::new(),
        })
    }
}

/// Without `model` the body's, without `upstream` the same name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteWritten {
    model: Option<String>,
    upstream: Option<String>,
    provider: String,
    #[serde(with = "ProtocolWritten")]
    protocol: Protocol,
    rules: Option<Value>,
}

#[derive(Deserialize)]
#[serde(remote = "Protocol", rename_all = "kebab-case")]
enum ProtocolWritten {
    Messages,
    Chat,
}

impl TryFrom<TextWritten> for TextRequest {
    type Error = String;

    fn try_from(written: TextWritten) -> Result<Self, String> {
        let route = written.route;
        let named = written.body["model"].as_str().map(str::to_owned);
        let model = route.model.or(named).ok_or("expected `model` in the body or in `route`, got neither")?;
        let headers = written.headers.into_iter().map(|(name, value)| header(&name, value));
        let headers = headers.map(|header| header.map(|header| (header.name, header.value)));
        Ok(Self {
            surface: written.surface,
            body: text(written.body),
            headers: headers.collect::<Result<_, _>>()?,
            blobs: written.blobs.into_iter().map(Into::into).collect(),
            route: Route {
                upstream: route.upstream.unwrap_or_else(|| model.clone()),
                model,
                provider: route.provider,
                protocol: route.protocol,
                rules: route.rules.unwrap_or_else(|| json!({})),
                extra: Extra::new(),
            },
            extra: Extra::new(),
        })
    }
}

/// A provider's event; data that is a string is sent as it is, any other as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventWritten {
    event: Option<String>,
    data: Value,
}

impl From<EventWritten> for Sse {
    fn from(written: EventWritten) -> Self {
        Self { event: written.event, data: text(written.data) }
    }
}

/// A string as it is, any other value as JSON.
pub(super) fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
