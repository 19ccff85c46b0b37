//! The paths of surfaces, as authors of plugins and operators read them: those of the specification, and those of the
//! routes of this moment. Taken from the tables.

use gatehouse_model::{RouteInfo, path_parameter, specified_routes};

use crate::routing::routes::{Endpoint, OWN, ParentIn, Route};
use crate::routing::table::RouteTable;

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
    OWN.iter().map(|route| (route.pattern, (route.endpoint == Endpoint::Text).then_some(route.surface)))
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
        Endpoint::Submit(submission) => ("jobs", submission.parent == ParentIn::Path, submission.model),
        Endpoint::Text => ("text", false, None),
        Endpoint::ViewTask => ("views", true, None),
        Endpoint::Answer(model) => ("direct", false, model),
        Endpoint::Read(_) => ("direct", false, None),
        _ => return None,
    };
    let method = if route.method == http::Method::GET { "GET" } else { "POST" };
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
