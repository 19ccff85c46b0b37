//! The table by which a request finds its route: the gateway's own routes and those of the families, compiled for look-ups.
//! Made again whenever a family is switched; a request keeps the table that it began with.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arc_swap::ArcSwap;
use gatehouse_driver::ServedRoute;
use gatehouse_model::{RouteMethod, RouteUse, metric, path_parameter, specified_routes};
use http::Method;

use crate::routing::routes::{Endpoint, KeyUse, OWN, ParentIn, Route, RouteWords, Submission};

/// Paths of OpenAI's that are not served, though a pattern matches them. Clients do without an endpoint that is a 404, and
/// take any other answer for its own.
const NOT_OFFERED: [&str; 1] = ["/v1/responses/compact"];

/// Statuses that alerts look at, of everything that a client can ask for.
const ALERTS: [&str; 5] = ["429", "500", "502", "503", "504"];

/// The result of a look-up.
pub(crate) enum Lookup<'t, 'p> {
    /// The row, and the path segment in the pattern's braces.
    Route(&'t Route, Option<&'p str>),
    /// The path exists, with these methods only.
    OtherMethods(String),
    UnknownPath,
}

/// The routes of one moment.
pub(crate) struct RouteTable {
    rows: Vec<Route>,
    /// Rows without a parameter, by path.
    fixed: HashMap<&'static str, Vec<usize>>,
    /// Rows with one.
    patterns: Vec<usize>,
    made_of: Arc<[ServedRoute]>,
}

/// The table of this moment.
pub(crate) struct Routes(ArcSwap<RouteTable>);

impl Default for Routes {
    fn default() -> Self {
        Self(ArcSwap::from_pointee(RouteTable::of(&Arc::default())))
    }
}

impl Routes {
    /// The table of the gateway's own routes and of these; compiled when they are others than the last time.
    pub(crate) fn with(&self, served: &Arc<[ServedRoute]>) -> Arc<RouteTable> {
        let table = self.0.load_full();
        if Arc::ptr_eq(&table.made_of, served) {
            return table;
        }
        let table = Arc::new(RouteTable::of(served));
        self.0.store(Arc::clone(&table));
        table
    }
}

impl RouteTable {
    pub(crate) fn of(served: &Arc<[ServedRoute]>) -> Self {
        // A text surface of a family may have a path of the gateway's.
        let is_own = |one: &&ServedRoute| OWN.iter().any(|own| own.pattern == one.route.path);
        let families = served.iter().filter(|one| !is_own(one)).map(row);
        let rows: Vec<Route> = OWN.iter().cloned().chain(families).collect();
        let mut fixed: HashMap<&'static str, Vec<usize>> = HashMap::new();
        let mut patterns = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            match path_parameter(row.pattern) {
                None => fixed.entry(row.pattern).or_default().push(at),
                Some(_) => patterns.push(at),
            }
        }
        begin_counting(&rows);
        Self { rows, fixed, patterns, made_of: Arc::clone(served) }
    }

    /// Every row, the gateway's own first.
    pub(crate) fn rows(&self) -> &[Route] {
        &self.rows
    }

    /// Looks a request line up. `HEAD` is served wherever `GET` is.
    pub(crate) fn look_up<'p>(&self, method: &Method, path: &'p str) -> Lookup<'_, 'p> {
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let mut allowed: Vec<&str> = Vec::new();
        for (row, param) in self.matching(path) {
            if row.method == *wanted {
                return Lookup::Route(row, param);
            }
            allowed.push(match row.method {
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
    pub(crate) fn probable_path(&self, path: &str) -> Option<String> {
        let bare = path.trim_end_matches('/');
        bare.match_indices('/').find_map(|(at, _)| {
            let mut rest = &bare[at..];
            while let Some(shorter) = rest.strip_prefix("/v1") {
                rest = shorter;
            }
            let versioned = format!("/v1{rest}");
            let known = self.matching(&versioned).next().is_some();
            (versioned != path && known).then_some(versioned)
        })
    }

    /// The rows of a path, and the segment in the braces of each. A path of its own is nobody's parameter, whatever the
    /// method.
    fn matching<'p>(&self, path: &'p str) -> impl Iterator<Item = (&Route, Option<&'p str>)> {
        let path = if is_never_offered(path) { "" } else { path };
        let fixed = self.fixed.get(path).map(Vec::as_slice).unwrap_or_default();
        // One of the specification's that no family serves at present is no parameter either.
        let is_fixed = !fixed.is_empty() || specified_routes().iter().any(|route| route.path == path);
        let patterns = if is_fixed { &[] } else { self.patterns.as_slice() };
        let of_path = fixed.iter().map(|at| (&self.rows[*at], None));
        of_path.chain(patterns.iter().filter_map(move |at| {
            let row = &self.rows[*at];
            parameter(row.pattern, path).map(|param| (row, Some(param)))
        }))
    }
}

/// Whether the path stays unknown, whatever pattern fits.
pub(crate) fn is_never_offered(path: &str) -> bool {
    NOT_OFFERED.contains(&path)
}

/// The segment in the pattern's braces, if the path matches.
fn parameter<'p>(pattern: &str, path: &'p str) -> Option<&'p str> {
    let (before, after) = pattern.split_once('{')?;
    let after = after.split_once('}').map_or("", |(_, after)| after);
    let param = path.strip_prefix(before)?.strip_suffix(after)?;
    (!param.is_empty() && !param.contains('/')).then_some(param)
}

/// The row of a family's route.
fn row(served: &ServedRoute) -> Route {
    let route = &served.route;
    let endpoint = match route.does {
        _ if served.is_off => Endpoint::SwitchedOff(interned(&served.family)),
        RouteUse::Submit => Endpoint::Submit(Submission {
            model: route.model.as_deref().map(interned),
            parent: if path_parameter(&route.path).is_some() { ParentIn::Path } else { ParentIn::Nowhere },
            receipt: route.receipt,
        }),
        RouteUse::View => Endpoint::ViewTask,
        RouteUse::Text => Endpoint::Text,
        RouteUse::Answer => Endpoint::Answer(route.model.as_deref().map(interned)),
        RouteUse::Read => Endpoint::Read(interned(&served.family)),
    };
    Route {
        method: match route.method {
            RouteMethod::Get => Method::GET,
            RouteMethod::Post => Method::POST,
        },
        pattern: interned(&route.path),
        surface: interned(&route.surface),
        endpoint,
        form: served.form.clone().map(Arc::new),
        words: RouteWords {
            tag: route.tag.as_deref().map(interned),
            summary: route.summary.as_deref().map(interned),
        },
    }
}

/// The text for the life of the process, once. The metrics of a route are kept as long under its names, whatever becomes of
/// its family; and a family of this gateway has at most 64 routes of short names.
fn interned(text: &str) -> &'static str {
    static TEXTS: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.into());
    texts.insert(kept);
    kept
}

/// Counts what has not happened yet: an alert on a counter's growth does not see the value it is born with.
fn begin_counting(rows: &[Route]) {
    for route in rows.iter().filter(|route| route.endpoint.key_use() == KeyUse::Needed) {
        for status in ALERTS {
            metrics::counter!(metric::REQUESTS, "surface" => route.surface, "status" => status).increment(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ReceiptShape, RouteInfo};

    use super::*;
    use crate::tests::support::samples::{routes, served};

    /// The routes of the specification, as active families serve them, one that is off, and one of a family's own.
    fn table() -> RouteTable {
        let speech = RouteInfo {
            method: RouteMethod::Post,
            path: "/v1/audio/speech".to_owned(),
            surface: "audio.speech".to_owned(),
            does: RouteUse::Submit,
            receipt: ReceiptShape::Task,
            model: Some("voice".to_owned()),
            form: false,
            tag: None,
            summary: None,
        };
        let chat = RouteInfo {
            path: "/v1/chat/completions".to_owned(),
            surface: "chat.completions".to_owned(),
            does: RouteUse::Text,
            model: None,
            ..speech.clone()
        };
        let mut all = routes().to_vec();
        let off = ServedRoute { family: "speech".to_owned(), is_off: true, ..served(&speech) };
        all.extend([off, served(&chat)]);
        RouteTable::of(&all.into())
    }

    fn check(method: &str, path: &str, expected: &str) {
        let table = table();
        let found = match table.look_up(&method.parse().unwrap(), path) {
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
        check("POST", "/v1/images/edits", "images.edit -");
        check("POST", "/v1/videos", "videos.create -");
        check("GET", "/v1/videos", "videos.list -");
        check("GET", "/v1/videos/task_1", "videos.read task_1");
        check("DELETE", "/v1/videos/task_1", "videos.delete task_1");
        check("GET", "/v1/videos/task_1/content", "videos.content task_1");
        check("GET", "/v1/videos/generations", "allow POST, OPTIONS");
        check("POST", "/v1/completions", "completions.create -");
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
        let table = table();
        for (at, route) in table.rows().iter().enumerate() {
            let path = route.pattern.replace(['{', '}'], "");
            let Lookup::Route(found, _) = table.look_up(&route.method, &path) else { panic!("{path}") };
            assert!(std::ptr::eq(found, &raw const table.rows()[at]), "{path} goes to {}", found.pattern);
        }
    }

    /// Without it a request would find a family that was switched off since, or not find one that was installed.
    #[test]
    fn a_table_is_made_again_when_the_families_are_others() {
        let routes = Routes::default();
        let first: Arc<[ServedRoute]> = table().made_of;
        let made = routes.with(&first);
        assert!(Arc::ptr_eq(&made, &routes.with(&first)));
        let none = routes.with(&Arc::default());
        for path in ["/v1/images/generations", "/v1/videos/generations"] {
            assert!(matches!(none.look_up(&Method::POST, path), Lookup::UnknownPath), "{path}");
        }
        let off = |table: &RouteTable| match table.look_up(&Method::POST, "/v1/audio/speech") {
            Lookup::Route(row, _) => Some(row.endpoint),
            _ => None,
        };
        assert_eq!((off(&made), off(&none)), (Some(Endpoint::SwitchedOff("speech")), None));
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
            assert_eq!(table().probable_path(path).as_deref(), expected, "{path}");
        }
    }
}
