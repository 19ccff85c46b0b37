//! What becomes of each value that a family brings, and whether another family says something else.

use std::collections::BTreeSet;

use gatehouse_admin::{DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, OperationError};
use toml::{Table, Value};

use crate::config::{ConfigError, ConfigErrors, FamilyDefaults, Loaded};

/// The defaults of a file, as the configuration takes them.
pub(super) fn defaults_of(file: &FamilyDefaultsFile, family: Option<&str>) -> FamilyDefaults {
    let (name, text) = (file.name.clone(), file.text.clone());
    FamilyDefaults { family: family.map(str::to_owned), name, text }
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

/// A value by the path of its table and key. An operator replaces each of them whole.
type Unit = Vec<String>;

/// Every value of a family's defaults.
fn units(defaults: &Table) -> BTreeSet<Unit> {
    let mut units = BTreeSet::new();
    for (section, value) in defaults {
        let depth = if matches!(section.as_str(), "providers" | "plugins") { 2 } else { 1 };
        collect(&mut units, &mut vec![section.clone()], value, depth);
    }
    units
}

fn collect(units: &mut BTreeSet<Unit>, path: &mut Unit, value: &Value, depth: u8) {
    match value {
        Value::Table(table) if depth > 0 => {
            for (key, value) in table {
                path.push(key.clone());
                collect(units, path, value, depth - 1);
                path.pop();
            }
        }
        _ => {
            units.insert(path.clone());
        }
    }
}

fn find<'a>(table: &'a Table, unit: &[String]) -> Option<&'a Value> {
    let (last, outer) = unit.split_last()?;
    outer.iter().try_fold(table, |table, key| table.get(key)?.as_table())?.get(last)
}

fn text_of(value: Option<&Value>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

fn parse(defaults: &FamilyDefaults) -> Table {
    // It was read before.
    defaults.text.parse().unwrap_or_default()
}

/// What becomes of each value: `before` is what is in effect now, `after` what will be.
pub(super) fn effects(before: Option<&Loaded>, after: &Loaded, family: &str) -> Vec<DefaultView> {
    let of = |loaded: &Loaded| {
        loaded
            .installed()
            .iter()
            .find(|one| one.family.as_deref() == Some(family))
            .map(parse)
            .unwrap_or_default()
    };
    let (old, new) = (before.map(of).unwrap_or_default(), of(after));
    let view = |unit: &Unit| {
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

/// Two families that want another value for one key: the operator decides.
pub(super) fn check_other_families(loaded: &Loaded, family: &str) -> Result<(), ConfigErrors> {
    let (own, others): (Vec<_>, Vec<_>) =
        loaded.installed().iter().partition(|one| one.family.as_deref() == Some(family));
    let Some(own) = own.first() else { return Ok(()) };
    let table = parse(own);
    let mut errors: Vec<ConfigError> = Vec::new();
    for unit in units(&table) {
        let key = unit.join(".");
        if loaded.setter(&key).is_some() {
            continue;
        }
        for other in &others {
            let theirs = parse(other);
            if find(&theirs, &unit).is_some_and(|value| Some(value) != find(&table, &unit)) {
                let name = other.family.as_deref().unwrap_or_default();
                let problem = format!(
                    "the defaults of family {name:?} say {} and these say {}; set the key in gatehouse.toml, which \
                     wins over both",
                    text_of(find(&theirs, &unit)),
                    text_of(find(&table, &unit))
                );
                errors.push(loaded.error_at(&key, &problem));
            }
        }
    }
    ConfigErrors::check(errors)
}
