//! Routes that a manifest declares: the ways to its surfaces.

use schemars::JsonSchema;
use serde::Serialize;

/// A way to a surface. A family may declare any path below `/v1/<family>/`, and those of the specification for surfaces of the
/// same names; for other paths it needs its operator's leave.
///
/// ```
/// use gatehouse_sdk::{About, HttpRoute};
///
/// let about = About::new("speech", "1.0.0")
///     .route(HttpRoute::answer("/v1/speech", "audio.speech").summary("Speak a text"))
///     .route(HttpRoute::read("/v1/speech/voices", "voices.list"))
///     .route(HttpRoute::submit("/v1/speech/books", "speech.book").model("voice-1"));
/// assert_eq!(about.routes.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HttpRoute {
    /// The method of its requests.
    pub method: RouteMethod,
    /// Up to 128 characters: `/v1/` and segments of letters, digits, `-`, `_` and `.`, one of which may be a parameter in
    /// braces.
    pub path: String,
    /// The surface that it leads to.
    pub surface: String,
    /// What a request on it is.
    pub does: RouteUse,
    /// The shape of a receipt.
    #[serde(default)]
    pub receipt: Receipt,
    /// The model that the path implies; without one the body names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether its body may be a form (`multipart/form-data`) as well: files become blobs, or `data:` URIs where they are short,
    /// and texts what the schema says.
    #[serde(default)]
    pub form: bool,
    /// The group it is documented in, up to 80 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// One line for the documentation, up to 80 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RouteMethod {
    /// Reading; `HEAD` too.
    #[serde(rename = "GET")]
    Get,
    /// Everything with a body.
    #[serde(rename = "POST")]
    Post,
}

/// What a request on a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteUse {
    /// A submission of the interface `jobs`: a durable task, and a receipt.
    Submit,
    /// The family's own rendering of the task in the path, by the interface `views`.
    View,
    /// A request of the interface `text`.
    Text,
    /// A request of the interface `direct`, with a body.
    Answer,
    /// The same without a body, a model and a price.
    Read,
}

/// The shape of a receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// `{"code", "data": [{"status", "task_id"}]}`.
    #[default]
    Task,
    /// `{"code", "data": {"id", "object", "status", "progress", "model"}}`.
    Asset,
}

impl HttpRoute {
    fn new(does: RouteUse, path: impl Into<String>, surface: impl Into<String>) -> Self {
        let method = match does {
            RouteUse::View | RouteUse::Read => RouteMethod::Get,
            RouteUse::Submit | RouteUse::Text | RouteUse::Answer => RouteMethod::Post,
        };
        let (path, surface) = (path.into(), surface.into());
        Self {
            method,
            path,
            surface,
            does,
            receipt: Receipt::Task,
            model: None,
            form: false,
            tag: None,
            summary: None,
        }
    }

    /// A request on it makes a task.
    #[must_use]
    pub fn submit(path: impl Into<String>, surface: impl Into<String>) -> Self {
        Self::new(RouteUse::Submit, path, surface)
    }

    /// A request on it is answered at once, with what one call returned.
    #[must_use]
    pub fn answer(path: impl Into<String>, surface: impl Into<String>) -> Self {
        Self::new(RouteUse::Answer, path, surface)
    }

    /// A request on it reads what there is to choose from.
    #[must_use]
    pub fn read(path: impl Into<String>, surface: impl Into<String>) -> Self {
        Self::new(RouteUse::Read, path, surface)
    }

    /// A request on it reads a task as the family renders it; the path has the task's id in braces.
    #[must_use]
    pub fn view(path: impl Into<String>, surface: impl Into<String>) -> Self {
        Self::new(RouteUse::View, path, surface)
    }

    /// A request on it is a text.
    #[must_use]
    pub fn text(path: impl Into<String>, surface: impl Into<String>) -> Self {
        Self::new(RouteUse::Text, path, surface)
    }

    /// The path implies this model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Its receipts are those of an asset.
    #[must_use]
    pub fn asset(mut self) -> Self {
        self.receipt = Receipt::Asset;
        self
    }

    /// Its body may be a form as well.
    #[must_use]
    pub fn form(mut self) -> Self {
        self.form = true;
        self
    }

    /// The group it is documented in.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// One line for the documentation.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }
}
