//! The routes of a manifest: whether they keep the manifest's own rules (a part of stage five), and whether this gateway may
//! serve them (a part of stage six). Whether another family has one of them already, the registry knows.

use gatehouse_model::{
    About, MAX_WORDS, ParentAt, ReceiptShape, RouteInfo, RouteUse, check_path, is_below, path_parameter,
    paths_overlap, specified_routes,
};

use crate::config::Inventory;
use crate::stages::describe::{DescribeError, at_most, wrong};
use crate::stages::fit::FitError;

/// Routes of one manifest.
const MAX_ROUTES: usize = 64;

/// Checks the routes of a manifest for themselves.
pub(super) fn check_declared(about: &About) -> Result<(), DescribeError> {
    at_most("routes", MAX_ROUTES, about.routes.len())?;
    for (number, route) in about.routes.iter().enumerate() {
        let wrong_at = |(field, why): (&str, String)| wrong(format!("routes[{number}].{field}"), why);
        check_path(&route.path).map_err(|why| wrong_at(("path", why)))?;
        check_route(about, route).map_err(wrong_at)?;
        let before = &about.routes[..number];
        if before.iter().any(|before| before.is_at(route)) {
            return Err(wrong_at(("path", format!("{} is there twice", route.line()))));
        }
        let other = before.iter().find(|other| other.surface == route.surface && other.does != route.does);
        if let Some(other) = other {
            let (expected, got) = (other.does.as_str(), route.does.as_str());
            let why = format!("expected {expected:?}, as on the surface's other route, got {got:?}");
            return Err(wrong_at(("does", why)));
        }
    }
    // The rest come from the specification, each by the name of a surface.
    let Some(route) = about.all_routes().into_iter().find(|route| !is_offered(about, route.does)) else {
        return Ok(());
    };
    let number = about.surfaces.iter().position(|own| own.name == route.surface).unwrap_or_default();
    let (line, interface) = (route.line(), route.does.interface());
    let why = format!(
        "{:?} has the route {line} of the specification, which needs the interface {interface:?}; the component does not export it",
        route.surface
    );
    Err(wrong(format!("surfaces[{number}].name"), why))
}

/// Whether the component has the calls of such routes.
fn is_offered(about: &About, does: RouteUse) -> bool {
    let offers = &about.offers;
    match does {
        RouteUse::Submit => offers.jobs,
        RouteUse::View => offers.views,
        RouteUse::Text => offers.text,
        RouteUse::Answer | RouteUse::Read => offers.direct,
    }
}

fn check_route(about: &About, route: &RouteInfo) -> Result<(), (&'static str, String)> {
    let does = route.does;
    if !is_offered(about, does) {
        let why = format!(
            "{:?} needs the interface {:?}, which the component does not export",
            does.as_str(),
            does.interface()
        );
        return Err(("does", why));
    }
    if route.method != does.method() {
        let (expected, got) = (does.method().as_str(), route.method.as_str());
        return Err(("method", format!("expected {expected} for {:?}, got {got}", does.as_str())));
    }
    if route.form && !matches!(does, RouteUse::Submit | RouteUse::Answer) {
        return Err(("form", format!("only \"submit\" and \"answer\" take forms, got {:?}", does.as_str())));
    }
    if does != RouteUse::Submit && route.receipt != ReceiptShape::Task {
        return Err(("receipt", format!("only \"submit\" gives a receipt, got {:?}", does.as_str())));
    }
    let surface = about.surfaces.iter().find(|own| own.name == route.surface);
    if surface.is_none() && does != RouteUse::View {
        return Err(("surface", format!("{:?} is not among the manifest's surfaces", route.surface)));
    }
    let names_task = does == RouteUse::View || surface.is_some_and(|own| own.parent == ParentAt::Path);
    match (names_task, path_parameter(&route.path)) {
        (true, None) => {
            return Err((
                "path",
                format!("expected a task in the path, as {{task_id}}, got {:?}", route.path),
            ));
        }
        (false, Some(_)) => {
            return Err((
                "path",
                format!("surface {:?} follows up no task in its path, got {:?}", route.surface, route.path),
            ));
        }
        _ => {}
    }
    check_model(about, route)?;
    for (field, words) in [("tag", &route.tag), ("summary", &route.summary)] {
        let fits = |words: &String| {
            (1..=MAX_WORDS).contains(&words.chars().count()) && !words.chars().any(char::is_control)
        };
        if words.as_ref().is_some_and(|words| !fits(words)) {
            return Err((field, format!("expected 1 to {MAX_WORDS} characters on one line")));
        }
    }
    Ok(())
}

/// The model of a path is one of the family's, on the surface that the path leads to.
fn check_model(about: &About, route: &RouteInfo) -> Result<(), (&'static str, String)> {
    let Some(model) = &route.model else { return Ok(()) };
    let serves = about.models.iter().any(|own| own.id == *model && own.surfaces.contains(&route.surface));
    if serves {
        return Ok(());
    }
    Err(("model", format!("expected a model id that serves surface {:?}, got {model:?}", route.surface)))
}

/// Checks that a route leads to every surface of the manifest, and that this gateway may serve each.
pub(crate) fn check_routes(about: &About, inventory: &Inventory) -> Result<(), FitError> {
    let routes = about.all_routes();
    let is_text = |surface: &str| inventory.own_paths.iter().any(|own| own.text.as_deref() == Some(surface));
    let has_route = |surface: &str| routes.iter().any(|route| route.surface == surface) || is_text(surface);
    let names = about.surfaces.iter().map(|surface| surface.name.as_str());
    let unserved: Vec<String> = names.filter(|name| !has_route(name)).map(str::to_owned).collect();
    if !unserved.is_empty() {
        let text = inventory.own_paths.iter().filter_map(|own| own.text.clone());
        let known = specified_routes().iter().map(|route| route.surface.clone()).chain(text);
        let example = format!("POST /v1/{}/generations", about.family);
        return Err(FitError::NoRoute { unserved, example, known: known.collect() });
    }
    routes.iter().try_for_each(|route| may_serve(&about.family, route, inventory))
}

/// Whether this gateway may serve a family's route.
pub(crate) fn may_serve(family: &str, route: &RouteInfo, inventory: &Inventory) -> Result<(), FitError> {
    let overlaps = |path: &str| paths_overlap(path, &route.path);
    let taken = |owner: &str, theirs: String| {
        Err(FitError::RouteTaken { route: route.line(), owner: owner.to_owned(), theirs })
    };
    // The gateway shows videos below a path of the specification's.
    if specified_routes().iter().any(|specified| specified.means(route)) {
        return Ok(());
    }
    if let Some(own) = inventory.own_paths.iter().find(|own| overlaps(&own.path)) {
        let is_same = route.does == RouteUse::Text
            && own.path == route.path
            && own.text.as_deref() == Some(&route.surface);
        return if is_same { Ok(()) } else { taken("the gateway itself", own.path.clone()) };
    }
    if let Some(specified) = specified_routes().iter().find(|other| overlaps(&other.path)) {
        let theirs = format!("{}, surface {:?}", specified.line(), specified.surface);
        return taken("the specification", theirs);
    }
    let of_family = inventory.paths_by_family.get(family).into_iter().flatten();
    let is_allowed = route.path.starts_with(&format!("/v1/{family}/"))
        || of_family.chain(&inventory.paths).any(|pattern| is_below(&route.path, pattern));
    if is_allowed {
        return Ok(());
    }
    Err(FitError::PathNotAllowed { route: route.line(), path: route.path.clone(), family: family.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::{ModelInfo, Offers, RouteMethod, SurfaceInfo};

    use super::*;
    use crate::config::OwnPath;

    fn route(path: &str, surface: &str) -> RouteInfo {
        RouteInfo::submit(path, surface)
    }

    fn about(routes: Vec<RouteInfo>) -> About {
        let surface = |name: &str, parent| SurfaceInfo {
            name: name.to_owned(),
            schema: "{}".to_owned(),
            parent,
            ..SurfaceInfo::default()
        };
        About {
            family: "speech".to_owned(),
            version: "1.0.0".to_owned(),
            offers: Offers { jobs: true, ..Offers::default() },
            models: vec![ModelInfo {
                id: "voice-1".to_owned(),
                surfaces: vec!["speech.create".to_owned(), "speech.remix".to_owned()],
                ..ModelInfo::default()
            }],
            surfaces: vec![
                surface("speech.create", ParentAt::Nowhere),
                surface("speech.remix", ParentAt::Path),
            ],
            routes,
            ..About::default()
        }
    }

    /// Without one of these checks a request would come to a call that its family does not have.
    #[test]
    fn a_route_fits_its_manifest() {
        let good = route("/v1/speech/create", "speech.create");
        let cases: [(&str, RouteInfo); 9] = [
            ("routes[0].path", route("/v2/speech", "speech.create")),
            ("routes[0].path", route("/v1/speech/{id}", "speech.create")),
            ("routes[0].path", route("/v1/speech/remix", "speech.remix")),
            ("routes[0].surface", route("/v1/speech/create", "speech.other")),
            ("routes[0].method", RouteInfo { method: RouteMethod::Get, ..good.clone() }),
            ("routes[0].does", RouteInfo { does: RouteUse::Text, ..good.clone() }),
            ("routes[0].does", RouteInfo { does: RouteUse::View, ..good.clone() }),
            ("routes[0].model", RouteInfo { model: Some("voice-2".to_owned()), ..good.clone() }),
            ("routes[0].summary", RouteInfo { summary: Some("a\nb".to_owned()), ..good.clone() }),
        ];
        let refused = |about: &About| match check_declared(about) {
            Err(DescribeError::Field { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        for (field, wrong) in cases {
            assert_eq!(refused(&about(vec![wrong.clone()])), field, "{wrong:?}");
        }
        let remix = route("/v1/speech/{task_id}/remix", "speech.remix");
        assert_eq!(check_declared(&about(vec![good.clone(), remix])), Ok(()));
        assert_eq!(refused(&about(vec![good.clone(), good])), "routes[1].path");
        // A surface with a name of the specification has a route that nobody declares.
        let mut images = About { offers: Offers::default(), ..about(vec![]) };
        images.surfaces[1].name = "images.generate".to_owned();
        assert_eq!(refused(&images), "surfaces[1].name");
    }

    /// Without it a plugin could take a path of the gateway or of the specification, or one that its operator does not want.
    #[test]
    fn a_family_serves_its_own_paths_and_those_that_the_operator_allows() {
        let own =
            |path: &str, text: Option<&str>| OwnPath { path: path.to_owned(), text: text.map(str::to_owned) };
        let inventory = Inventory {
            own_paths: vec![
                own("/v1/tasks/{task_id}", None),
                own("/v1/chat/completions", Some("chat.completions")),
            ],
            paths: vec!["/v1/sounds/*".to_owned()],
            paths_by_family: BTreeMap::from([
                ("speech".to_owned(), vec!["/v1/audio/speech".to_owned()]),
                ("other".to_owned(), vec!["/v1/other/speech".to_owned()]),
            ]),
            ..Inventory::default()
        };
        for (path, expected) in [
            ("/v1/speech/create", ""),
            ("/v1/audio/speech", ""),
            ("/v1/sounds/speech", ""),
            ("/v1/audio/other", "[plugins.families.speech]\npaths = [\"/v1/audio/other\"]"),
            ("/v1/other/speech", "needs the operator's leave"),
            ("/v1/speeches/create", "needs the operator's leave"),
            ("/v1/tasks/speech", "is taken: it belongs to the gateway itself (/v1/tasks/{task_id})"),
            ("/v1/chat/completions", "is taken: it belongs to the gateway itself"),
            ("/v1/images/generations", "is taken: it belongs to the specification"),
        ] {
            let routes =
                vec![route(path, "speech.create"), route("/v1/speech/{task_id}/remix", "speech.remix")];
            let found = check_routes(&about(routes), &inventory).err().map(|error| error.to_string());
            let found = found.unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{path}: {found}");
        }
        let lacking = check_routes(&about(vec![]), &inventory).err().map(|error| error.to_string());
        let expected = "no route leads to surface \"speech.create\", surface \"speech.remix\"; declare one in the manifest, such \
             as POST /v1/speech/generations, or name a surface that has one: images.generate, ";
        assert!(lacking.as_ref().is_some_and(|text| text.starts_with(expected)), "{lacking:?}");
    }
}
