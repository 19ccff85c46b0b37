//! What becomes of each value that a family brings.

use gatehouse_admin::{DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, OperationError};
use toml::Value;

use crate::config::{FamilyDefaults, Loaded, find, units};

/// The defaults of a file, as the configuration takes them.
pub(super) fn defaults_of(file: &FamilyDefaultsFile, family: Option<&str>) -> FamilyDefaults {
    let (name, text) = (file.name.clone(), file.text.clone());
    FamilyDefaults { family: family.map(str::to_owned), name, text }
}

/// What a family brings after it is uninstalled.
pub(super) fn no_defaults(family: &str) -> FamilyDefaults {
    FamilyDefaults { family: Some(family.to_owned()), name: family.to_owned(), text: String::new() }
}

pub(super) fn misconfigured(errors: impl std::fmt::Display) -> OperationError {
    OperationError::Misconfigured(errors.to_string())
}

/// The values of a configuration, for programs.
pub(super) fn effective_view(
    loaded: &Loaded,
    needs_restart: Vec<String>,
) -> Result<EffectiveView, OperationError> {
    let values = serde_json::to_value(loaded.effective_values());
    match values.map_err(|error| OperationError::Failed(error.to_string()))? {
        serde_json::Value::Object(values) => Ok(EffectiveView { values, needs_restart }),
        other => Err(OperationError::Failed(format!("the configuration is no table: {other}"))),
    }
}

fn text_of(value: Option<&Value>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// What becomes of each value: `before` is what is in effect now, `after` what will be.
pub(super) fn effects(before: Option<&Loaded>, after: &Loaded, family: &str) -> Vec<DefaultView> {
    let of = |loaded: &Loaded| {
        loaded
            .installed()
            .iter()
            .find(|one| one.family.as_deref() == Some(family))
            .map(FamilyDefaults::table)
            .unwrap_or_default()
    };
    let (old, new) = (before.map(of).unwrap_or_default(), of(after));
    let view = |unit: &Vec<String>| {
        let key = unit.join(".");
        let (brought, was, is) =
            (find(&new, unit), before.and_then(|before| find(&before.table, unit)), find(&after.table, unit));
        let effect = match brought {
            None => DefaultEffect::Removed { before: text_of(was) },
            Some(_) if after.setter(&key).is_some() => {
                DefaultEffect::Overridden { by: text_of(is), at: after.setter(&key).unwrap_or_default() }
            }
            Some(_) if was.is_none() => DefaultEffect::Added,
            Some(_) if was == is => DefaultEffect::Unchanged,
            Some(_) => DefaultEffect::Changed { before: text_of(was) },
        };
        DefaultView { key, value: text_of(brought), effect }
    };
    units(&old).union(&units(&new)).map(view).collect()
}
