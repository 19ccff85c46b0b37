//! The gateway's own routes as data, and what a row of any route is. Families declare theirs in their manifests: `table` puts
//! both together. Also tells the paths of surfaces, as authors of plugins and operators read them: those of the specification,
//! and those of the routes of this moment. Holds no code of an endpoint.

use std::sync::Arc;

use gatehouse_model::{FormTypes, ReceiptShape, RouteInfo, path_parameter, specified_routes};
use http::Method;

use crate::routing::table::RouteTable;

/// One row. A path segment in braces matches any one segment that is not empty.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) pattern: &'static str,
    /// Names the route in logs and metrics; for submissions also the surface of the plugin.
    pub(crate) surface: &'static str,
    pub(crate) endpoint: Endpoint,
    /// What the texts of a form stand for; `None` where its body is JSON.
    pub(crate) form: Option<Arc<FormTypes>>,
    /// What the documentation says of it, where the family does.
    pub(crate) words: RouteWords,
}

/// A family's words for the documentation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RouteWords {
    pub(crate) tag: Option<&'static str>,
    pub(crate) summary: Option<&'static str>,
}

/// The code that serves a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// An asynchronous job, accepted with a receipt.
    Submit(Submission),
    ReadTask,
    /// Pictures of pictures, awaited, in OpenAI's shape.
    EditImages,
    /// A video task as OpenAI's video.
    CreateVideo,
    ListVideos,
    ReadVideo,
    DeleteVideo,
    /// Its file.
    ReadVideoContent,
    /// A task's state as events, until its end.
    TaskEvents,
    CancelTask,
    ListTasks,
    /// A task as its family renders it.
    ViewTask,
    /// A route of this family, which is switched off.
    SwitchedOff(&'static str),
    /// What the customer has, and what the key may still spend.
    ReadBalance,
    /// What the key may do.
    ReadKey,
    /// What the customer's keys used.
    ReadUsage,
    /// Where the customer hears of the ends of its tasks.
    CreateWebhook,
    ListWebhooks,
    ReadWebhook,
    EditWebhook,
    DeleteWebhook,
    RotateWebhook,
    TestWebhook,
    ListDeliveries,
    /// What became of a task's callback.
    ReadCallback,
    /// What signs the callbacks of the key's tasks.
    ReadCallbackSecret,
    ListModels,
    ReadModel,
    /// A text endpoint, answered while the client waits.
    Text,
    /// The same for clients of the older completions.
    Complete,
    /// Answered while the client waits, with what one call returned; the path may imply the model.
    Answer(Option<&'static str>),
    /// The same of this family, without a body.
    Read(&'static str),
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
    /// A page for customers.
    AccountPage,
    /// Its style and scripts.
    AccountFile,
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

impl Endpoint {
    /// Anthropic's clients ask for models too, and older ones send the key in `x-api-key`.
    pub(crate) fn allows_x_api_key(self) -> bool {
        matches!(self, Self::ListModels | Self::ReadModel)
    }

    /// Links carry their own signature; health is for balancers.
    pub(crate) fn key_use(self) -> KeyUse {
        match self {
            Self::ReadMedia
            | Self::Live
            | Self::Ready
            | Self::DocsStyle
            | Self::AccountPage
            | Self::AccountFile => KeyUse::Ignored,
            Self::OpenApi | Self::Docs => KeyUse::Allowed,
            _ => KeyUse::Needed,
        }
    }
}

const fn own(method: Method, pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    Route { method, pattern, surface, endpoint, form: None, words: RouteWords { tag: None, summary: None } }
}

const fn get(pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    own(Method::GET, pattern, surface, endpoint)
}

const fn post(pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    own(Method::POST, pattern, surface, endpoint)
}

const fn delete(pattern: &'static str, surface: &'static str, endpoint: Endpoint) -> Route {
    own(Method::DELETE, pattern, surface, endpoint)
}

use Endpoint::*;

/// Every other path belongs to a family.
#[rustfmt::skip]
pub(crate) static OWN: &[Route] = &[
    post("/v1/chat/completions", "chat.completions", Text),
    post("/v1/completions", "completions.create", Complete),
    post("/v1/embeddings", "embeddings.create", Text),
    post("/v1/responses", "responses.create", Text),
    get("/v1/responses/{id}", "responses.read", ReadResponse),
    delete("/v1/responses/{id}", "responses.delete", DeleteResponse),
    post("/v1/responses/{id}/cancel", "responses.cancel", CancelResponse),
    get("/v1/responses/{id}/input_items", "responses.items", ListResponseItems),
    post("/v1/messages", "messages.create", Text),
    post("/v1/messages/count_tokens", "messages.count", CountTokens),
    post("/v1/images/edits", "images.edit", EditImages),
    post("/v1/videos", "videos.create", CreateVideo),
    get("/v1/videos", "videos.list", ListVideos),
    get("/v1/videos/{id}", "videos.read", ReadVideo),
    delete("/v1/videos/{id}", "videos.delete", DeleteVideo),
    get("/v1/videos/{id}/content", "videos.content", ReadVideoContent),
    get("/v1/tasks", "tasks.list", ListTasks),
    get("/v1/tasks/{task_id}", "tasks.read", ReadTask),
    get("/v1/tasks/{task_id}/events", "tasks.events", TaskEvents),
    post("/v1/tasks/{task_id}/cancel", "tasks.cancel", CancelTask),
    get("/v1/tasks/{task_id}/callback", "tasks.callback", ReadCallback),
    post("/v1/webhooks", "webhooks.create", CreateWebhook),
    get("/v1/webhooks", "webhooks.list", ListWebhooks),
    get("/v1/webhooks/{id}", "webhooks.read", ReadWebhook),
    post("/v1/webhooks/{id}", "webhooks.edit", EditWebhook),
    delete("/v1/webhooks/{id}", "webhooks.delete", DeleteWebhook),
    post("/v1/webhooks/{id}/rotate", "webhooks.rotate", RotateWebhook),
    post("/v1/webhooks/{id}/test", "webhooks.test", TestWebhook),
    get("/v1/webhooks/{id}/deliveries", "webhooks.deliveries", ListDeliveries),
    get("/v1/callbacks/secret", "callbacks.secret", ReadCallbackSecret),
    get("/v1/balance", "balance.read", ReadBalance),
    get("/v1/usage", "usage.read", ReadUsage),
    get("/v1/key", "key.read", ReadKey),
    get("/v1/models", "models.list", ListModels),
    get("/v1/models/{id}", "models.read", ReadModel),
    get("/v1/media/{name}", "media.read", ReadMedia),
    get("/v1/openapi.json", "openapi", OpenApi),
    get("/docs", "docs", Docs),
    get("/docs/style.css", "docs.style", DocsStyle),
    get("/account", "account", AccountPage),
    get("/account/{file}", "account.file", AccountFile),
    get("/livez", "live", Live),
    get("/readyz", "ready", Ready),
];

/// One route that serves a surface of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceRow {
    /// The name in a manifest.
    pub surface: &'static str,
    /// The interface of the contract that serves it: `jobs`, `text`, `direct` or `views`.
    pub interface: &'static str,
    /// GET or POST.
    pub method: &'static str,
    /// The path; a segment in braces is a parameter.
    pub path: &'static str,
    /// Whether the path names the task that the request follows up or shows.
    pub parent_in_path: bool,
    /// The model that the path implies.
    pub model: Option<&'static str>,
}

/// The surfaces that have a route without a manifest's word: those of the specification.
pub fn surfaces() -> impl Iterator<Item = SurfaceRow> {
    OWN.iter().filter_map(row).chain(specified_routes().iter().map(specified))
}

/// The paths of the gateway itself, and the text surface that a family serves there.
pub fn own_paths() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    OWN.iter().map(|route| (route.pattern, (route.endpoint == Text).then_some(route.surface)))
}

/// Every route of this moment that serves a surface.
pub(crate) fn served(table: &RouteTable) -> Vec<SurfaceRow> {
    table.rows().iter().filter_map(row).collect()
}

fn specified(route: &'static RouteInfo) -> SurfaceRow {
    SurfaceRow {
        surface: &route.surface,
        interface: route.does.interface(),
        method: route.method.as_str(),
        path: &route.path,
        parent_in_path: path_parameter(&route.path).is_some(),
        model: route.model.as_deref(),
    }
}

fn row(route: &Route) -> Option<SurfaceRow> {
    let (interface, parent_in_path, model) = match route.endpoint {
        Submit(submission) => ("jobs", submission.parent == ParentIn::Path, submission.model),
        Text => ("text", false, None),
        ViewTask => ("views", true, None),
        Answer(model) => ("direct", false, model),
        Read(_) => ("direct", false, None),
        _ => return None,
    };
    let method = if route.method == Method::GET { "GET" } else { "POST" };
    Some(SurfaceRow { surface: route.surface, interface, method, path: route.pattern, parent_in_path, model })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_surface_is_listed_and_nothing_else() {
        let named = |name: &str| surfaces().filter(|row| row.surface == name).collect::<Vec<_>>();
        let remix = named("videos.remix");
        assert_eq!((remix.len(), remix[0].interface, remix[0].parent_in_path), (1, "jobs", true));
        assert_eq!(named("avatars.submit")[0].model, Some("clip-2.0"));
        assert_eq!(named("messages.create")[0].interface, "text");
        for other in ["journey.imagine", "tasks.read", "messages.count", "live"] {
            assert_eq!(named(other), [], "{other}");
        }
    }

    /// Without it a plugin could take a path of the gateway.
    #[test]
    fn the_gateway_s_own_paths_are_listed_with_what_families_serve_there() {
        let found = |path: &str| own_paths().find(|(own, _)| *own == path);
        assert_eq!(found("/v1/messages"), Some(("/v1/messages", Some("messages.create"))));
        assert_eq!(found("/v1/tasks/{task_id}"), Some(("/v1/tasks/{task_id}", None)));
        assert_eq!(found("/v1/images/generations"), None);
    }
}
