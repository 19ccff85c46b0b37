//! A part of the stage fit: does the version serve everything that its predecessor serves?
//!
//! Clients use names: a request that finds its model today finds it after the switch, by every name and on every surface.
//! What a name stands for may change. Compares two manifests and nothing else.

use std::collections::BTreeSet;

use gatehouse_model::{About, ModelInfo};

use crate::deploy::stages::fit::FitError;

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
    let lost = before
        .all_routes()
        .into_iter()
        .filter(|route| kept.contains(route.surface.as_str()) && !routes.iter().any(|own| own.is_at(route)));
    removed.extend(lost.map(|route| format!("route {}", route.line())));
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
