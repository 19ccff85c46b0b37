//! Stage six: can this gateway serve the version? Its routes must be free and allowed (`routes`), every provider needs an
//! account, every price key a price, and the operator's settings fit its schema of them; its models must not belong to
//! another family, and it serves what its predecessor served.
//!
//! All that lacks is reported at once, before the switch, instead of to the first client.
//!
//! A part of the stage fit: does the version serve everything that its predecessor serves?
//!
//! Clients use names: a request that finds its model today finds it after the switch, by every name and on every surface.
//! What a name stands for may change. Compares two manifests and nothing else.

use std::collections::BTreeSet;

use gatehouse_model::{About, ModelInfo, RouteInfo, RouteUse};
use gatehouse_schema::SettingProblem;
use serde_json::Value;

use crate::config::{Config, Inventory};

/// Why this gateway cannot serve a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A model, alias or default belongs to an active family already.
    #[error("{what} {name:?} belongs to the active family {family:?}; {remedy}")]
    Clash {
        /// "model", ...
        what: &'static str,
        /// The name.
        name: String,
        /// Its owner.
        family: String,
        /// What to change.
        remedy: &'static str,
    },
    /// No route leads to a surface.
    #[error(
        "no route leads to {}; declare one in the manifest, such as {example}, or name a surface that has one: {}",
        quoted(unserved),
        known.join(", ")
    )]
    NoRoute {
        /// The manifest's surfaces without a route.
        unserved: Vec<String>,
        /// A route that the family could declare.
        example: String,
        /// The surfaces that have one without a word.
        known: Vec<String>,
    },
    /// A path means something else already.
    #[error("route {route} is taken: it belongs to {owner} ({theirs}); give the surface another path")]
    RouteTaken {
        /// Method and path.
        route: String,
        /// What has it.
        owner: String,
        /// Its route.
        theirs: String,
    },
    /// A path outside of the family's own, which no operator has allowed.
    #[error(
        "route {route} needs the operator's leave, as every path that does not begin with /v1/{family}/; add this to \
         gatehouse.toml, run `gatehouse reload`, and try again:\n[plugins.families.{family}]\npaths = [{path:?}]\n"
    )]
    PathNotAllowed {
        /// Method and path.
        route: String,
        /// The path.
        path: String,
        /// The family.
        family: String,
    },
    /// The configuration has the family switched off.
    #[error(
        "the configuration has family {0:?} switched off, by `enabled = false` in [plugins.families.{0}] or by an error that \
         `gatehouse check-config` names; correct it, run `gatehouse reload`, and try again"
    )]
    Disabled(String),
    /// The operator's settings are not what the family understands.
    #[error(
        "the settings of family {family:?} do not fit its schema: {}; correct [plugins.settings.{family}] in gatehouse.toml, \
         run `gatehouse reload`, and try again",
        problems.join("; ")
    )]
    Settings {
        /// The family.
        family: String,
        /// Key and reason, one each.
        problems: Vec<String>,
    },
    /// Requests that the version before serves would find nothing.
    #[error(
        "the version before ({version}) serves what this one does not: {}; \
         name it again in the manifest, or take it away with --allow-removal",
        removed.join(", ")
    )]
    Removes {
        /// The semver of the version before.
        version: String,
        /// What is missing, a name each.
        removed: Vec<String>,
    },
    /// The configuration lacks something.
    #[error(
        "this gateway cannot serve it yet: {}; add this to gatehouse.toml, \
         run `gatehouse reload`, and try again:\n{lines}",
        lacks.join("; ")
    )]
    Lacks {
        /// What, a clause each.
        lacks: Vec<String>,
        /// The lines to add.
        lines: String,
    },
}

fn quoted(names: &[String]) -> String {
    let each: Vec<String> = names.iter().map(|name| format!("surface {name:?}")).collect();
    each.join(", ")
}

/// Checks the operator's settings for the family against the schema that the version publishes.
pub(crate) fn check_settings(about: &About, config: &Config) -> Result<(), FitError> {
    let (Some(schema), Some(settings)) = (&about.settings_schema, config.settings.get(&about.family)) else {
        return Ok(());
    };
    let problems = settings_problems(schema, settings).into_iter();
    let problems: Vec<String> =
        problems.map(|one| format!("`{}`: {}", one.path.join("."), one.why)).collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(FitError::Settings { family: about.family.clone(), problems })
    }
}

/// What of an operator's settings does not fit the text of a schema.
#[must_use]
pub fn settings_problems(schema: &str, settings: &Value) -> Vec<SettingProblem> {
    // `describe` has read it.
    let schema = serde_json::from_str(schema).unwrap_or(Value::Bool(true));
    gatehouse_schema::check_settings(&schema, settings)
}

/// Compares the manifest's needs with the inventory; returns a note for the report.
pub(crate) fn check_inventory(about: &About, inventory: &Inventory) -> Result<String, FitError> {
    let (optional, providers): (Vec<&String>, Vec<&String>) = about
        .providers
        .iter()
        .filter(|name| !inventory.providers.contains(*name))
        .partition(|name| inventory.optional.contains(*name));
    let prices: Vec<&String> =
        about.price_keys.iter().filter(|key| !inventory.prices.contains(*key)).collect();
    if providers.is_empty() && prices.is_empty() {
        let present = |name: &&String| inventory.providers.contains(*name);
        let providers: Vec<&str> = about.providers.iter().filter(present).map(String::as_str).collect();
        let mut note = match (providers.join(", "), about.price_keys.len()) {
            // Of a text family, whose models name both.
            (none, 0) if none.is_empty() => "it needs no provider and no price of its own".to_owned(),
            (names, prices) => {
                format!("providers with an account: {names}; price keys with a price: {prices}")
            }
        };
        for name in optional {
            note += &format!("; provider {name:?} has no account, what needs it fails");
        }
        return Ok(note);
    }
    let mut lacks: Vec<String> =
        providers.iter().map(|name| format!("provider {name:?} has no account")).collect();
    lacks.extend(prices.iter().map(|key| format!("price key {key:?} has no price")));
    let mut lines = String::new();
    for name in providers {
        let variable = name.to_uppercase().replace('-', "_");
        lines += &format!("[providers.{name}]\nbase_url = \"https://...\"   # unless the family brings it\n");
        lines += &format!("[providers.{name}.accounts.main]\nsecret = {{ env = \"{variable}_API_KEY\" }}\n");
    }
    if !prices.is_empty() {
        lines += "[prices]\n";
        prices.iter().for_each(|key| lines += &format!("{key:?} = \"1\"   # credits\n"));
    }
    Err(FitError::Lacks { lacks, lines })
}

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
    use gatehouse_model::SurfaceInfo;

    use super::*;

    /// Without it clients would find another answer behind the path that they use, or none, and no operator would have said so.
    #[test]
    fn a_route_stays_what_it_is() {
        let make = RouteInfo::submit("/v1/speech/make", "speech.make");
        let view = RouteInfo::view("/v1/speech/{task_id}", "speech.view");
        let about = |routes: Vec<RouteInfo>| About {
            surfaces: vec![SurfaceInfo { name: "speech.make".to_owned(), ..SurfaceInfo::default() }],
            routes,
            ..About::default()
        };
        let asset = make.clone().asset();
        let answer = RouteInfo::answer("/v1/speech/make", "speech.make");
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
