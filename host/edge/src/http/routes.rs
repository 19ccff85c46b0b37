//! The one table of routes: every method and path of the gateway, as data. Holds no code of an endpoint.

use http::Method;

/// One row. A path segment in braces matches any one segment that is not empty.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) pattern: &'static str,
    /// Names the route in logs and metrics; for submissions also the surface of the plugin.
    pub(crate) surface: &'static str,
    pub(crate) endpoint: Endpoint,
}

/// The code that serves a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// An asynchronous job, accepted with a receipt.
    Submit(Submission),
    ReadTask,
    /// A task's state as events, until its end.
    TaskEvents,
    CancelTask,
    ListTasks,
    /// A task as its family renders it.
    ViewTask,
    /// What the customer has, and what the key may still spend.
    ReadBalance,
    /// What the customer's keys used.
    ReadUsage,
    ListModels,
    ReadModel,
    /// A text endpoint, answered while the client waits.
    Text,
    /// A kept response.
    ReadResponse,
    DeleteResponse,
    CancelResponse,
    /// The items of its request.
    ListResponseItems,
    /// Specified as not implemented.
    CountTokens,
    /// A signed link.
    ReadMedia,
    /// The process lives.
    Live,
    /// The gateway takes work.
    Ready,
    /// The document of this API for programs.
    OpenApi,
    /// The same for people.
    Docs,
    /// Its style sheet.
    DocsStyle,
}

/// Whether a request brings a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// It must.
    Needed,
    /// It may, and then the answer is for that key.
    Allowed,
    /// None is read.
    Ignored,
}

/// What a row says about a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    /// The model implied by the path; without one the body names it.
    pub(crate) model: Option<&'static str>,
    /// Where the request names the task that it follows up.
    pub(crate) parent: ParentIn,
    pub(crate) receipt: ReceiptShape,
}

/// Where a submission names its parent task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParentIn {
    Nowhere,
    Path,
}

/// The shape of a receipt (spec "Submission receipt", "Avatar assets").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiptShape {
    Task,
    Asset,
}

impl Endpoint {
    /// Anthropic's clients ask for models too, and older ones send the key in `x-api-key`.
    pub(crate) fn allows_x_api_key(self) -> bool {
        matches!(self, Self::ListModels | Self::ReadModel)
    }

    /// Links carry their own signature; health is for balancers.
    pub(crate) fn key_use(self) -> KeyUse {
        match self {
            Self::ReadMedia | Self::Live | Self::Ready | Self::DocsStyle => KeyUse::Ignored,
            Self::OpenApi | Self::Docs => KeyUse::Allowed,
            _ => KeyUse::Needed,
        }
    }
}

const fn get(pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Method::GET, pattern, surface, endpoint }
}

const fn post(pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Method::POST, pattern, surface, endpoint }
}

const fn delete(pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Method::DELETE, pattern, surface, endpoint }
}

const fn submit(
    pattern: &'static str,
    surface: &'static str,
    model: Option<&'static str>,
    parent: ParentIn,
    receipt: ReceiptShape,
) -> Route {
    post(pattern, surface, Endpoint::Submit(Submission { model, parent, receipt }))
}

const JOURNEY: Option<&str> = Some("journey");
const AVATAR: Option<&str> = Some("clip-2.0");

use Endpoint::{
    CancelResponse, CancelTask, CountTokens, DeleteResponse, Docs, DocsStyle, ListModels, ListResponseItems,
    ListTasks, Live, OpenApi, ReadBalance, ReadMedia, ReadModel, ReadResponse, ReadTask, ReadUsage, Ready,
    TaskEvents, Text, ViewTask,
};
use ParentIn::{Nowhere, Path};
use ReceiptShape::{Asset, Task};

/// Fixed paths come before patterns that would match them too.
#[rustfmt::skip]
pub(crate) static TABLE: &[Route] = &[
    post("/v1/chat/completions", "chat.completions", Text),
    post("/v1/embeddings", "embeddings.create", Text),
    post("/v1/responses", "responses.create", Text),
    get("/v1/responses/{id}", "responses.read", ReadResponse),
    delete("/v1/responses/{id}", "responses.delete", DeleteResponse),
    post("/v1/responses/{id}/cancel", "responses.cancel", CancelResponse),
    get("/v1/responses/{id}/input_items", "responses.items", ListResponseItems),
    post("/v1/messages", "messages.create", Text),
    post("/v1/messages/count_tokens", "messages.count", CountTokens),
    submit("/v1/images/generations", "images.generate", None, Nowhere, Task),
    submit("/v1/videos/generations", "videos.generate", None, Nowhere, Task),
    submit("/v1/videos/{task_id}/remix", "videos.remix", None, Path, Task),
    submit("/v1/clip2/private-avatar", "avatars.submit", AVATAR, Nowhere, Asset),
    get("/v1/tasks", "tasks.list", ListTasks),
    get("/v1/tasks/{task_id}", "tasks.read", ReadTask),
    get("/v1/tasks/{task_id}/events", "tasks.events", TaskEvents),
    post("/v1/tasks/{task_id}/cancel", "tasks.cancel", CancelTask),
    submit("/v1/journey/generations", "journey.imagine", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/imagine", "journey.imagine", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/blend", "journey.blend", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/describe", "journey.describe", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/edits", "journey.edits", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/upscale", "journey.upscale", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/variation", "journey.variation", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/high-variation", "journey.high_variation", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/low-variation", "journey.low_variation", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/reroll", "journey.reroll", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/zoom", "journey.zoom", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/pan", "journey.pan", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/inpaint", "journey.inpaint", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/modal", "journey.modal", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/video", "journey.video", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/remix-strong", "journey.remix_strong", JOURNEY, Nowhere, Task),
    submit("/v1/journey/generations/remix-subtle", "journey.remix_subtle", JOURNEY, Nowhere, Task),
    get("/v1/journey/{task_id}", "journey.read", ViewTask),
    get("/v1/balance", "balance.read", ReadBalance),
    get("/v1/usage", "usage.read", ReadUsage),
    get("/v1/models", "models.list", ListModels),
    get("/v1/models/{id}", "models.read", ReadModel),
    get("/v1/media/{name}", "media.read", ReadMedia),
    get("/v1/openapi.json", "openapi", OpenApi),
    get("/docs", "docs", Docs),
    get("/docs/style.css", "docs.style", DocsStyle),
    get("/livez", "live", Live),
    get("/readyz", "ready", Ready),
];

/// Paths of OpenAI's that are not served, though a pattern matches them. Clients do without an endpoint that is a 404, and
/// take any other answer for its own.
const NOT_OFFERED: [&str; 1] = ["/v1/responses/compact"];

/// The result of a look-up.
pub(crate) enum Lookup<'p> {
    /// The row, and the path segment in the pattern's braces.
    Route(&'static Route, Option<&'p str>),
    /// The path exists, with these methods only.
    OtherMethods(String),
    UnknownPath,
}

/// Looks a request line up. `HEAD` is served wherever `GET` is.
pub(crate) fn look_up<'p>(method: &Method, path: &'p str) -> Lookup<'p> {
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    let mut allowed: Vec<&str> = Vec::new();
    let mut is_fixed = false;
    for route in TABLE {
        let Some(param) = matches(route.pattern, path) else { continue };
        // A path of its own is nobody's parameter, whatever the method.
        if is_fixed && param.is_some() {
            continue;
        }
        is_fixed |= param.is_none();
        if route.method == *wanted {
            return Lookup::Route(route, param);
        }
        allowed.push(match route.method {
            Method::GET => "GET, HEAD",
            Method::DELETE => "DELETE",
            _ => "POST",
        });
    }
    if allowed.is_empty() {
        return Lookup::UnknownPath;
    }
    allowed.dedup();
    allowed.push("OPTIONS");
    Lookup::OtherMethods(allowed.join(", "))
}

/// The path a client probably meant by an unknown one: its base URL had no `/v1`, or more than `/v1`, so that
/// the path repeats itself or begins with foreign segments, or it ends with slashes. The longest known ending wins.
pub(crate) fn probable_path(path: &str) -> Option<String> {
    let bare = path.trim_end_matches('/');
    bare.match_indices('/').find_map(|(at, _)| {
        let mut rest = &bare[at..];
        while let Some(shorter) = rest.strip_prefix("/v1") {
            rest = shorter;
        }
        let versioned = format!("/v1{rest}");
        let known = TABLE.iter().any(|route| matches(route.pattern, &versioned).is_some());
        (versioned != path && known).then_some(versioned)
    })
}

/// Whether the path is served and matches, and the segment in the pattern's braces if it has any.
fn matches<'p>(pattern: &str, path: &'p str) -> Option<Option<&'p str>> {
    if NOT_OFFERED.contains(&path) {
        return None;
    }
    let Some((before, after)) = pattern.split_once('{') else {
        return (pattern == path).then_some(None);
    };
    let after = after.split_once('}').map_or("", |(_, after)| after);
    let param = path.strip_prefix(before)?.strip_suffix(after)?;
    (!param.is_empty() && !param.contains('/')).then_some(Some(param))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, path: &str, expected: &str) {
        let found = match look_up(&method.parse().unwrap(), path) {
            Lookup::Route(route, param) => format!("{} {}", route.surface, param.unwrap_or("-")),
            Lookup::OtherMethods(allowed) => format!("allow {allowed}"),
            Lookup::UnknownPath => "nothing".to_owned(),
        };
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn requests_find_their_routes() {
        check("POST", "/v1/images/generations", "images.generate -");
        check("POST", "/v1/videos/generations", "videos.generate -");
        check("POST", "/v1/videos/task_1/remix", "videos.remix task_1");
        check("POST", "/v1/videos//remix", "nothing");
        check("POST", "/v1/videos/a/b/remix", "nothing");
        check("POST", "/v1/clip2/private-avatar", "avatars.submit -");
        check("GET", "/v1/tasks", "tasks.list -");
        check("GET", "/v1/tasks/", "nothing");
        check("GET", "/v1/tasks/task_1", "tasks.read task_1");
        check("HEAD", "/v1/tasks/task_1", "tasks.read task_1");
        check("POST", "/v1/tasks/task_1/cancel", "tasks.cancel task_1");
        check("GET", "/v1/tasks/task_1/cancel", "allow POST, OPTIONS");
        check("GET", "/v1/tasks/task_1/events", "tasks.events task_1");
        check("GET", "/v1/openapi.json", "openapi -");
        check("GET", "/docs", "docs -");
        check("GET", "/docs/style.css", "docs.style -");
        check("DELETE", "/v1/tasks/task_1", "allow GET, HEAD, OPTIONS");
        check("OPTIONS", "/v1/messages", "allow POST, OPTIONS");
        check("POST", "/v1/embeddings", "embeddings.create -");
        check("GET", "/v1/embeddings", "allow POST, OPTIONS");
        check("POST", "/v1/responses", "responses.create -");
        check("GET", "/v1/responses/resp_1", "responses.read resp_1");
        check("DELETE", "/v1/responses/resp_1", "responses.delete resp_1");
        check("GET", "/v1/responses/resp_1/input_items", "responses.items resp_1");
        check("POST", "/v1/responses/compact", "nothing");
        check("POST", "/v1/responses/resp_1", "allow GET, HEAD, DELETE, OPTIONS");
        check("POST", "/v1/responses/resp_1/cancel", "responses.cancel resp_1");
        check("POST", "/v1/messages/count_tokens", "messages.count -");
        check("GET", "/v1/journey/task_1", "journey.read task_1");
        check("POST", "/v1/journey/generations", "journey.imagine -");
        check("GET", "/v1/journey/generations", "allow POST, OPTIONS");
        check("POST", "/v1/journey/generations/high-variation", "journey.high_variation -");
        check("GET", "/v1/balance", "balance.read -");
        check("POST", "/v1/usage", "allow GET, HEAD, OPTIONS");
        check("GET", "/v1/models/ctx-pro", "models.read ctx-pro");
        check("GET", "/v1/media/m_1.png", "media.read m_1.png");
        check("GET", "/livez", "live -");
        check("HEAD", "/readyz", "ready -");
        check("GET", "/", "nothing");
        check("GET", "/v1/models/", "nothing");
        check("get", "/v1/models", "allow GET, HEAD, OPTIONS");
    }

    #[test]
    fn every_row_is_reachable() {
        for (at, route) in TABLE.iter().enumerate() {
            let path = route.pattern.replace(['{', '}'], "");
            let Lookup::Route(found, _) = look_up(&route.method, &path) else { panic!("{path}") };
            assert!(std::ptr::eq(found, &raw const TABLE[at]), "{path} goes to {}", found.pattern);
        }
    }

    #[test]
    fn wrong_base_urls_are_recognised() {
        for (path, expected) in [
            ("/v1/v1/chat/completions", Some("/v1/chat/completions")),
            ("/v1/v1/v1/models", Some("/v1/models")),
            ("/chat/completions", Some("/v1/chat/completions")),
            ("/messages", Some("/v1/messages")),
            ("/images/generations", Some("/v1/images/generations")),
            ("/tasks/task_1", Some("/v1/tasks/task_1")),
            ("/v1/chat/completions/chat/completions", Some("/v1/chat/completions")),
            ("/v1/messages/v1/messages", Some("/v1/messages")),
            ("/openai/v1/chat/completions", Some("/v1/chat/completions")),
            ("/anthropic/v1/messages/count_tokens", Some("/v1/messages/count_tokens")),
            ("/v1/models/", Some("/v1/models")),
            ("/v1/chat/completions//", Some("/v1/chat/completions")),
            ("/v1/tasks/task_1/", Some("/v1/tasks/task_1")),
            ("/messages/", Some("/v1/messages")),
            ("/responses/compact", None),
            ("/v1/v1/responses/compact/", None),
            ("/openai/v1/responses/compact", None),
            ("/responses/resp_1", Some("/v1/responses/resp_1")),
            ("/v1/nothing/", None),
            ("/v1/videos//remix", None),
            ("/v1/nothing", None),
            ("/v1/models", None),
            ("/nothing", None),
            ("/", None),
            ("/v1", None),
        ] {
            assert_eq!(probable_path(path).as_deref(), expected, "{path}");
        }
    }
}
