//! Routes that a family declares for its surfaces, and the paths that the API's specification gives to surfaces of its own.
//!
//! A path has a fixed form: `/v1/` and segments of plain characters, one of which may be a parameter in braces. So two
//! paths can be compared: they overlap, or no request is for both.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Characters of a path.
const MAX_PATH: usize = 128;
/// Characters of a route's summary and of its tag.
pub const MAX_WORDS: usize = 80;

/// A way to a surface. A family may declare any path below `/v1/<family>/`, and those of the specification for surfaces of the
/// same names; for other paths it needs its operator's leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum RouteMethod {
    /// Reading; `HEAD` too.
    #[serde(rename = "GET")]
    Get,
    /// Everything with a body.
    #[serde(rename = "POST")]
    Post,
}

/// What a request on a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// `{"code", "data": [{"status", "task_id"}]}`.
    #[default]
    Task,
    /// `{"code", "data": {"id", "object", "status", "progress", "model"}}`.
    Asset,
}

/// Builders.
///
/// ```
/// use gatehouse_contract::{About, HttpRoute};
///
/// let about = About::new("speech", "1.0.0")
///     .route(HttpRoute::answer("/v1/speech", "audio.speech").summary("Speak a text"))
///     .route(HttpRoute::read("/v1/speech/voices", "voices.list"))
///     .route(HttpRoute::submit("/v1/speech/books", "speech.book").model("voice-1"));
/// assert_eq!(about.routes.len(), 3);
/// ```
impl HttpRoute {
    fn new(does: RouteUse, path: impl Into<String>, surface: impl Into<String>) -> Self {
        Self {
            method: does.method(),
            path: path.into(),
            surface: surface.into(),
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

impl RouteMethod {
    /// As in a request line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

impl RouteUse {
    /// As in a manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::View => "view",
            Self::Text => "text",
            Self::Answer => "answer",
            Self::Read => "read",
        }
    }

    /// The method that its requests have.
    #[must_use]
    pub const fn method(self) -> RouteMethod {
        match self {
            Self::Submit | Self::Text | Self::Answer => RouteMethod::Post,
            Self::View | Self::Read => RouteMethod::Get,
        }
    }

    /// The interface of the contract that serves it.
    #[must_use]
    pub const fn interface(self) -> &'static str {
        match self {
            Self::Submit => "jobs",
            Self::View => "views",
            Self::Text => "text",
            Self::Answer | Self::Read => "direct",
        }
    }
}

/// What a host asks of it.
impl HttpRoute {
    /// The same line of a request's head.
    #[must_use]
    pub fn is_at(&self, other: &Self) -> bool {
        self.method == other.method && self.path == other.path
    }

    /// Whether a request means the same by both; the words of the documentation do not matter.
    #[must_use]
    pub fn means(&self, other: &Self) -> bool {
        self.is_at(other)
            && (&self.surface, self.does, self.receipt, &self.model, self.form)
                == (&other.surface, other.does, other.receipt, &other.model, other.form)
    }

    /// The method and the path, for messages.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.method.as_str(), self.path)
    }
}

/// Checks the form of a path.
///
/// # Errors
/// What is expected.
pub fn check_path(path: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("{why}, got {path:?}"));
    let Some(rest) = path.strip_prefix("/v1/") else { return wrong("expected a path that begins with /v1/") };
    if path.len() > MAX_PATH {
        return wrong(&format!("expected at most {MAX_PATH} characters"));
    }
    let parameters = rest.split('/').filter(|segment| parameter(segment).is_some()).count();
    if !rest.split('/').all(|segment| is_word(segment) || parameter(segment).is_some_and(is_word)) {
        return wrong(
            "expected segments of letters, digits, `-`, `_`, `.`, one of which may stand in braces",
        );
    }
    if parameters > 1 {
        return wrong("expected one parameter in braces at most");
    }
    Ok(())
}

fn is_word(segment: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !matches!(segment, "" | "." | "..") && segment.bytes().all(plain)
}

/// The name in the braces of a segment.
fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// The name of a path's parameter.
#[must_use]
pub fn path_parameter(path: &str) -> Option<&str> {
    path.split('/').find_map(parameter)
}

/// Whether a request may be for both paths.
#[must_use]
pub fn paths_overlap(one: &str, other: &str) -> bool {
    let (mut ones, mut others) = (one.split('/'), other.split('/'));
    loop {
        match (ones.next(), others.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || parameter(a).is_some() || parameter(b).is_some() => {}
            _ => return false,
        }
    }
}

/// Whether `path` is one of those that an operator's pattern names: the same, or below one that ends with `/*`.
#[must_use]
pub fn is_below(path: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(before) => before.ends_with('/') && path.len() > before.len() && path.starts_with(before),
        None => path == pattern,
    }
}

/// The routes of the specification that several families may serve, by their models. A family whose surface has one of
/// these names has its route without a word, and none of them asks an operator.
#[must_use]
pub fn specified_routes() -> &'static [HttpRoute] {
    static ROUTES: LazyLock<Vec<HttpRoute>> = LazyLock::new(|| {
        let avatars =
            submit("/v1/clip2/private-avatar", "avatars.submit", "Avatars", "Submit assets for review");
        vec![
            submit("/v1/images/generations", "images.generate", "Images", "Make images"),
            submit("/v1/videos/generations", "videos.generate", "Videos", "Make videos"),
            submit("/v1/videos/{task_id}/remix", "videos.remix", "Videos", "Go on with a video"),
            avatars.asset().model("clip-2.0"),
        ]
    });
    &ROUTES
}

fn submit(path: &str, surface: &str, tag: &str, summary: &str) -> HttpRoute {
    HttpRoute::submit(path, surface).tag(tag).summary(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the check a plugin could take a path that no client can write, or one of the whole gateway.
    #[test]
    fn a_path_has_one_form() {
        for (path, fits) in [
            ("/v1/audio/speech", true),
            ("/v1/speech/{task_id}/remix", true),
            ("/v1/speech.v2/a_b-c", true),
            ("/v1/", false),
            ("/v1/a/", false),
            ("/v1/a//b", false),
            ("/v1/../admin", false),
            ("/v2/a", false),
            ("/docs", false),
            ("/v1/{a}/{b}", false),
            ("/v1/{}", false),
            ("/v1/a{b}", false),
            ("/v1/a b", false),
            ("/v1/a?b", false),
            ("/v1/%61", false),
        ] {
            assert_eq!(check_path(path).is_ok(), fits, "{path}");
        }
        assert!(check_path(&format!("/v1/{}", "a".repeat(MAX_PATH))).is_err());
        assert!(specified_routes().iter().all(|route| check_path(&route.path).is_ok()));
    }

    #[test]
    fn paths_overlap_where_a_request_may_be_for_both() {
        for (one, other, overlap) in [
            ("/v1/a/b", "/v1/a/b", true),
            ("/v1/a/{id}", "/v1/a/b", true),
            ("/v1/{id}/b", "/v1/a/{id}", true),
            ("/v1/a/{id}/c", "/v1/a/b", false),
            ("/v1/a/b", "/v1/a/c", false),
        ] {
            assert_eq!(paths_overlap(one, other), overlap, "{one} {other}");
            assert_eq!(paths_overlap(other, one), overlap, "{other} {one}");
        }
    }

    #[test]
    fn an_operator_names_a_path_or_all_below_one() {
        for (path, pattern, named) in [
            ("/v1/audio/speech", "/v1/audio/*", true),
            ("/v1/audio/speech", "/v1/audio/speech", true),
            ("/v1/audio/speech/{id}", "/v1/audio/*", true),
            ("/v1/audio", "/v1/audio/*", false),
            ("/v1/audios/speech", "/v1/audio/*", false),
            ("/v1/audios/speech", "/v1/audio*", false),
        ] {
            assert_eq!(is_below(path, pattern), named, "{path} {pattern}");
        }
    }
}
