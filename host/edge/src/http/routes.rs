//! The one table of routes: every (method, path) the gateway answers, and nothing about how.

use http::Method;

/// A path segment in braces stands for any one segment that is not empty.
pub(crate) struct Entry {
    pub(crate) method: Method,
    pub(crate) pattern: &'static str,
    /// Names the route in logs and metrics; for submissions also the surface the plugin is asked for.
    pub(crate) surface: &'static str,
    pub(crate) route: Route,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An asynchronous job, answered with a receipt.
    Submit(Submit),
    /// One task; cancels it; lists them.
    Task,
    Cancel,
    Tasks,
    /// A journey task in the journey's own shape.
    JourneyTask,
    /// All models; one of them.
    Models,
    Model,
    /// A text endpoint, answered while the client waits.
    Text,
    /// Specified as not implemented.
    CountTokens,
    /// A signed link.
    Media,
    /// Whether the process lives; whether it takes work.
    Live,
    Ready,
}

/// How a submission differs from the plainest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submit {
    /// The model meant by the path, where bodies name none.
    pub(crate) model: Option<&'static str>,
    /// Whether the path names a parent task.
    pub(crate) follow_up: bool,
    /// Whether the answer is the asset receipt instead of the usual one.
    pub(crate) asset: bool,
}

impl Route {
    /// Besides the messages endpoint, what Anthropic's clients ask: older ones present the key in `x-api-key`.
    pub(crate) fn is_anthropics(self) -> bool {
        matches!(self, Self::Models | Self::Model)
    }

    /// Served without a key: health, and links that carry their own proof.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Media | Self::Live | Self::Ready)
    }
}

const BODY_MODEL: Submit = Submit { model: None, follow_up: false, asset: false };
const REMIX: Submit = Submit { follow_up: true, ..BODY_MODEL };
const AVATAR: Submit = Submit { model: Some("clip-avatar"), asset: true, ..BODY_MODEL };
const JOURNEY: Submit = Submit { model: Some("journey"), ..BODY_MODEL };

const fn get(pattern: &'static str, surface: &'static str, route: Route) -> Entry {
    Entry { method: Method::GET, pattern, surface, route }
}

const fn post(pattern: &'static str, surface: &'static str, route: Route) -> Entry {
    Entry { method: Method::POST, pattern, surface, route }
}

/// Fixed paths stand before patterns that would match them too.
#[rustfmt::skip]
static TABLE: &[Entry] = &[
    post("/v1/chat/completions", "chat.completions", Route::Text),
    post("/v1/messages", "messages.create", Route::Text),
    post("/v1/messages/count_tokens", "messages.count", Route::CountTokens),
    post("/v1/images/generations", "images.generate", Route::Submit(BODY_MODEL)),
    post("/v1/videos/generations", "videos.generate", Route::Submit(BODY_MODEL)),
    post("/v1/videos/{task_id}/remix", "videos.remix", Route::Submit(REMIX)),
    post("/v1/clip2/private-avatar", "avatars.submit", Route::Submit(AVATAR)),
    get("/v1/tasks", "tasks.list", Route::Tasks),
    get("/v1/tasks/{task_id}", "tasks.read", Route::Task),
    post("/v1/tasks/{task_id}/cancel", "tasks.cancel", Route::Cancel),
    post("/v1/journey/generations", "journey.imagine", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/imagine", "journey.imagine", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/blend", "journey.blend", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/describe", "journey.describe", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/edits", "journey.edits", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/upscale", "journey.upscale", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/variation", "journey.variation", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/high-variation", "journey.high_variation", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/low-variation", "journey.low_variation", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/reroll", "journey.reroll", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/zoom", "journey.zoom", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/pan", "journey.pan", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/inpaint", "journey.inpaint", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/modal", "journey.modal", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/video", "journey.video", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/remix-strong", "journey.remix_strong", Route::Submit(JOURNEY)),
    post("/v1/journey/generations/remix-subtle", "journey.remix_subtle", Route::Submit(JOURNEY)),
    get("/v1/journey/{task_id}", "journey.read", Route::JourneyTask),
    get("/v1/models", "models.list", Route::Models),
    get("/v1/models/{id}", "models.read", Route::Model),
    get("/v1/media/{name}", "media.read", Route::Media),
    get("/livez", "live", Route::Live),
    get("/readyz", "ready", Route::Ready),
];

/// What the table says of a request line.
pub(crate) enum Found<'p> {
    /// The route, and the segment its pattern left open.
    Route(&'static Entry, Option<&'p str>),
    /// The path exists; these methods do.
    OtherMethods(String),
    /// No such path.
    Nothing,
}

/// Looks a request line up. `HEAD` is answered wherever `GET` is.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Found<'p> {
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    let mut allowed: Vec<&str> = Vec::new();
    for entry in TABLE {
        let Some(open) = matches(entry.pattern, path) else { continue };
        if entry.method == *wanted {
            return Found::Route(entry, open);
        }
        allowed.push(if entry.method == Method::GET { "GET, HEAD" } else { "POST" });
    }
    if allowed.is_empty() {
        return Found::Nothing;
    }
    allowed.dedup();
    allowed.push("OPTIONS");
    Found::OtherMethods(allowed.join(", "))
}

/// The path a client probably meant by one that is not in the table: its base URL had no `/v1`, or had more
/// than that, so that the path repeats itself or begins with what is not ours. The longest ending counts.
pub(crate) fn meant(path: &str) -> Option<String> {
    path.match_indices('/').find_map(|(at, _)| {
        let mut rest = &path[at..];
        while let Some(shorter) = rest.strip_prefix("/v1") {
            rest = shorter;
        }
        let versioned = format!("/v1{rest}");
        let known = TABLE.iter().any(|entry| matches(entry.pattern, &versioned).is_some());
        (versioned != path && known).then_some(versioned)
    })
}

/// Whether the path fits, and the segment in the pattern's braces if it has them.
fn matches<'p>(pattern: &str, path: &'p str) -> Option<Option<&'p str>> {
    let Some((before, after)) = pattern.split_once('{') else {
        return (pattern == path).then_some(None);
    };
    let after = after.split_once('}').map_or("", |(_, after)| after);
    let open = path.strip_prefix(before)?.strip_suffix(after)?;
    (!open.is_empty() && !open.contains('/')).then_some(Some(open))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, path: &str, expected: &str) {
        let found = match find(&method.parse().unwrap(), path) {
            Found::Route(entry, open) => format!("{} {}", entry.surface, open.unwrap_or("-")),
            Found::OtherMethods(allowed) => format!("allow {allowed}"),
            Found::Nothing => "nothing".to_owned(),
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
        check("DELETE", "/v1/tasks/task_1", "allow GET, HEAD, OPTIONS");
        check("OPTIONS", "/v1/messages", "allow POST, OPTIONS");
        check("POST", "/v1/messages/count_tokens", "messages.count -");
        check("GET", "/v1/journey/task_1", "journey.read task_1");
        check("POST", "/v1/journey/generations", "journey.imagine -");
        check("POST", "/v1/journey/generations/high-variation", "journey.high_variation -");
        check("GET", "/v1/models/ctx-pro", "models.read ctx-pro");
        check("GET", "/v1/media/m_1.png", "media.read m_1.png");
        check("GET", "/livez", "live -");
        check("HEAD", "/readyz", "ready -");
        check("GET", "/", "nothing");
        check("GET", "/v1/models/", "nothing");
        check("get", "/v1/models", "allow GET, HEAD, OPTIONS");
    }

    #[test]
    fn no_two_entries_answer_one_request() {
        for (at, entry) in TABLE.iter().enumerate() {
            let path = entry.pattern.replace(['{', '}'], "");
            let Found::Route(found, _) = find(&entry.method, &path) else { panic!("{path}") };
            assert!(std::ptr::eq(found, &raw const TABLE[at]), "{path} goes to {}", found.pattern);
        }
    }

    #[test]
    fn wrong_bases_are_recognised() {
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
            ("/v1/models/", None),
            ("/v1/videos//remix", None),
            ("/v1/nothing", None),
            ("/v1/models", None),
            ("/nothing", None),
            ("/", None),
            ("/v1", None),
        ] {
            assert_eq!(meant(path).as_deref(), expected, "{path}");
        }
    }
}
