//! A part of the stage fit: does the version serve everything that its predecessor serves?
//!
//! Clients use names: a request that finds its model today finds it after the switch, by every name and on every surface.
//! What a name stands for may change. Compares two manifests and nothing else.

use std::collections::BTreeSet;

use gatehouse_model::{About, ModelInfo, RouteInfo, RouteUse};

use crate::stages::fit::FitError;

/// Checks that `after` serves what `before` serves.
pub(crate) fn check_removal(before: &About, after: &About) -> Result<(), FitError> {
    let kept: BTreeSet<&str> = after.surfaces.iter().map(|surface| surface.name.as_str()).collect();
    let gone = before.surfaces.iter().filter(|surface| !kept.contains(surface.name.as_str()));
    let mut removed: Vec<String> = gone.map(|surface| format!("surface {:?}", surface.name)).collect();
    let silent = before.dialects.iter().filter(|dialect| !after.dialects.contains(dialect));
    removed.extend(silent.map(|dialect| format!("dialect {dialect:?}")));
    for model in &before.models {
        removed.extend(without("model", &model.id, model, after, &kept));
        for alias in &model.aliases {
            removed.extend(without("alias", alias, model, after, &kept));
        }
    }
    for surface in before.surfaces.iter().filter(|surface| surface.default_model.is_some()) {
        let name = &surface.name;
        if after.surfaces.iter().any(|own| own.name == *name && own.default_model.is_none()) {
            removed.push(format!("the default model of surface {name:?}"));
        }
    }
    let routes = after.all_routes();
    let serves = |route: &RouteInfo| {
        routes.iter().any(|own| own.is_at(route) && own.does == route.does && own.receipt == route.receipt)
    };
    // A view belongs to a task, not to a surface.
    let lost = before.all_routes().into_iter().filter(|route| {
        (kept.contains(route.surface.as_str()) || route.does == RouteUse::View) && !serves(route)
    });
    removed.extend(lost.map(|route| {
        if routes.iter().any(|own| own.is_at(&route)) {
            format!("route {} as it is, with {:?} and its receipt", route.line(), route.does.as_str())
        } else {
            format!("route {}", route.line())
        }
    }));
    if removed.is_empty() {
        return Ok(());
    }
    Err(FitError::Removes { version: before.version.clone(), removed })
}

/// What requests with `name`, which means `model` today, no longer find: the name itself, or a surface of it.
fn without(what: &str, name: &str, model: &ModelInfo, after: &About, kept: &BTreeSet<&str>) -> Vec<String> {
    let has_name = |info: &&ModelInfo| info.id == name || info.aliases.iter().any(|alias| alias == name);
    let Some(serving) = after.models.iter().find(has_name) else { return vec![format!("{what} {name:?}")] };
    let lost = model.surfaces.iter().filter(|surface| {
        // A surface that is gone as a whole is named once.
        kept.contains(surface.as_str()) && !serving.surfaces.contains(surface)
    });
    lost.map(|surface| format!("{what} {name:?} on surface {surface:?}")).collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ReceiptShape, RouteMethod, SurfaceInfo};

    use super::*;

    /// Without it clients would find another answer behind the path that they use, or none, and no operator would have said so.
    #[test]
    fn a_route_stays_what_it_is() {
        let make = RouteInfo {
            method: RouteMethod::Post,
            path: "/v1/speech/make".to_owned(),
            surface: "speech.make".to_owned(),
            does: RouteUse::Submit,
            receipt: ReceiptShape::Task,
            model: None,
            form: false,
            tag: None,
            summary: None,
        };
        let view = RouteInfo {
            method: RouteMethod::Get,
            path: "/v1/speech/{task_id}".to_owned(),
            surface: "speech.view".to_owned(),
            does: RouteUse::View,
            ..make.clone()
        };
        let about = |routes: Vec<RouteInfo>| About {
            surfaces: vec![SurfaceInfo { name: "speech.make".to_owned(), ..SurfaceInfo::default() }],
            routes,
            ..About::default()
        };
        let asset = RouteInfo { receipt: ReceiptShape::Asset, ..make.clone() };
        let answer = RouteInfo { does: RouteUse::Answer, ..make.clone() };
        for (routes, removed) in [
            (vec![make.clone(), view.clone()], ""),
            (vec![make.clone()], "route GET /v1/speech/{task_id}"),
            (vec![asset, view.clone()], "route POST /v1/speech/make as it is"),
            (vec![answer, view.clone()], "route POST /v1/speech/make as it is"),
        ] {
            let after = about(routes);
            let found = check_removal(&about(vec![make.clone(), view.clone()]), &after).err();
            let found = found.map(|error| error.to_string()).unwrap_or_default();
            assert!(found.contains(removed) && found.is_empty() == removed.is_empty(), "{removed}: {found}");
        }
    }
}
