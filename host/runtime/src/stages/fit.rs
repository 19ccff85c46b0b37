//! Stage six: can this gateway serve the version? Its routes must be free and allowed (`routes`), every provider needs an
//! account, every price key a price, and the operator's settings fit its schema of them; its models must not belong to
//! another family, and it serves what its predecessor served.
//!
//! All that lacks is reported at once, before the switch, instead of to the first client.

use gatehouse_model::About;
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
