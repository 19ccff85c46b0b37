//! The surfaces that routes serve, as authors of plugins read them. Taken from the table of routes.

use std::collections::BTreeSet;

use crate::http::routes::{Endpoint, ParentIn, Route, TABLE};

/// One route that serves a surface of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceRow {
    /// The name in a manifest.
    pub surface: &'static str,
    /// The interface of the contract that serves it: `jobs`, `text` or `views`.
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

/// Every route that serves a surface, in the order of the table.
pub fn surfaces() -> impl Iterator<Item = SurfaceRow> {
    TABLE.iter().filter_map(row)
}

/// The names of all surfaces that routes serve, each once, sorted.
#[must_use]
pub fn plugin_surfaces() -> Vec<&'static str> {
    let names: BTreeSet<&str> = surfaces().map(|row| row.surface).collect();
    names.into_iter().collect()
}

fn row(route: &'static Route) -> Option<SurfaceRow> {
    let (interface, parent_in_path, model) = match route.endpoint {
        Endpoint::Submit(submission) => ("jobs", submission.parent == ParentIn::Path, submission.model),
        Endpoint::Text => ("text", false, None),
        Endpoint::ViewTask => ("views", true, None),
        Endpoint::ReadTask
        | Endpoint::TaskEvents
        | Endpoint::CancelTask
        | Endpoint::ListTasks
        | Endpoint::ReadBalance
        | Endpoint::ReadUsage
        | Endpoint::ListModels
        | Endpoint::ReadModel
        | Endpoint::ReadResponse
        | Endpoint::DeleteResponse
        | Endpoint::CancelResponse
        | Endpoint::ListResponseItems
        | Endpoint::CountTokens
        | Endpoint::ReadMedia
        | Endpoint::Live
        | Endpoint::Ready
        | Endpoint::OpenApi
        | Endpoint::Docs
        | Endpoint::DocsStyle => return None,
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
        assert_eq!(named("journey.imagine").len(), 2);
        assert_eq!(named("journey.imagine")[0].model, Some("journey"));
        assert_eq!(named("messages.create")[0].interface, "text");
        assert_eq!((named("journey.read")[0].interface, named("journey.read")[0].method), ("views", "GET"));
        for other in ["tasks.read", "messages.count", "live"] {
            assert_eq!(named(other), [], "{other}");
        }
    }

    #[test]
    fn surfaces_of_plugins_are_those_that_they_serve() {
        let surfaces = plugin_surfaces();
        for name in ["chat.completions", "messages.create", "images.generate", "videos.remix", "journey.read"]
        {
            assert!(surfaces.contains(&name), "{name}");
        }
        for name in ["tasks.read", "models.list", "media.read", "live", "messages.count"] {
            assert!(!surfaces.contains(&name), "{name}");
        }
        assert!(surfaces.is_sorted_by(|one, next| one < next), "each once");
    }
}
