//! Names that nothing here has, and what has no effect: each is a warning. Only what the operator set is judged.
//!
//! A name may belong to a plugin that this configuration does not know, so a misspelt one is never refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gatehouse_admin::nearest;
use gatehouse_runtime::{active_versions, settings_problems, settings_schemas};
use toml::{Table, Value};

use super::family_defaults::{FamilyDefaults, all_tables, find, is_secret};
use super::impossible::Finding;
use super::ownership::base;
use super::price_names;
use super::text_rules::{self, RULES};
use crate::plugins::built_in::BuiltInPlugin;

/// The settings that built-in plugins read, for a folder where no version of theirs has published its schema yet.
const SETTINGS: [(&str, &[&str]); 9] = [
    ("chat", &[]),
    ("clip", &["models", "pace"]),
    ("context-image", &["pace"]),
    ("generatecontent", &[]),
    ("imagine", &["pace", "upstream_model"]),
    ("journey", &["pace", "speed_prefix"]),
    ("messages", &[]),
    ("motion", &["pace", "upstream_models"]),
    ("scene", &["pace", "storage_uri", "storage_url", "upstream_models"]),
];

/// What text families speak to providers, and the dialects of built-in plugins.
const PROTOCOLS: [&str; 3] = ["chat", "messages", "generatecontent"];

/// What the families of this gateway have names for.
#[derive(Debug, Default)]
pub(super) struct Known {
    families: BTreeSet<String>,
    /// What prices are of: the parts before `@` of their keys.
    priced: BTreeSet<String>,
    /// The keys themselves.
    price_keys: BTreeSet<String>,
    /// Whether a plugin is active whose names are not known here.
    has_others: bool,
    /// The schema of the settings of each family whose active version publishes one.
    schemas: BTreeMap<String, String>,
}

impl Known {
    /// By the defaults of built-in and of installed families, and the list of active versions in the data folder.
    pub(super) fn new(built_in: &[BuiltInPlugin], installed: &[FamilyDefaults], data: Option<&Path>) -> Self {
        let mut known = Self::default();
        for (family, table) in all_tables(installed, built_in) {
            known.has_others |= family.is_none();
            known.families.extend(family);
            let prices = table.get("prices").and_then(Value::as_table).into_iter().flatten();
            let keys: Vec<&String> = prices.map(|(key, _)| key).collect();
            known.priced.extend(keys.iter().map(|key| base(key).to_owned()));
            known.price_keys.extend(keys.into_iter().cloned());
        }
        known.schemas = data.and_then(|data| settings_schemas(data).ok()).unwrap_or_default();
        // A list that cannot be read is found by the start.
        let active = data.and_then(|data| active_versions(data).ok()).unwrap_or_default();
        for family in active.into_keys() {
            known.has_others |= known.families.insert(family);
        }
        known
    }

    /// Settings that do not fit the schema of their family, and those that are secrets, each with its family. Not those of the
    /// family that is `brought`: another version of it has another schema, and its deployment compares the two.
    pub(super) fn wrong_settings(&self, table: &Table, brought: Option<&str>) -> Vec<(String, Finding)> {
        let mut found = Vec::new();
        let settings = find(table, &["plugins", "settings"]).and_then(Value::as_table).into_iter().flatten();
        for (family, value) in settings.filter(|(family, _)| brought != Some(family.as_str())) {
            let outer = format!("plugins.settings.{family}");
            let mut secrets = Vec::new();
            find_secrets(&outer, value, &mut secrets);
            found.extend(secrets.into_iter().map(|key| (family.clone(), (key, NO_SECRET.to_owned()))));
            let (Some(schema), Ok(value)) = (self.schemas.get(family), serde_json::to_value(value)) else {
                continue;
            };
            let problems = settings_problems(schema, &value).into_iter();
            found.extend(problems.map(|one| {
                let path: Vec<&str> =
                    std::iter::once(outer.as_str()).chain(one.path.iter().map(String::as_str)).collect();
                (family.clone(), (path.join("."), one.why))
            }));
        }
        found
    }

    /// Names that nothing here has.
    pub(super) fn unknown_names(&self, table: &Table, is_set: &dyn Fn(&str) -> bool) -> Vec<Finding> {
        let entries = |path: &[&str]| {
            let section = find(table, path).and_then(Value::as_table).into_iter().flatten();
            let outer = path.join(".");
            let set = section.map(move |(key, value)| (format!("{outer}.{key}"), key.as_str(), value));
            set.filter(|(path, _, _)| is_set(path)).collect::<Vec<_>>()
        };
        let mut found = Vec::new();
        let families: Vec<&str> = self.families.iter().map(String::as_str).collect();
        for section in ["families", "settings", "limits_by_family"] {
            for (path, family, _) in entries(&["plugins", section]) {
                found.extend(unknown(path, family, "family", &families, !self.has_others));
            }
        }
        for (family, keys) in SETTINGS.into_iter().filter(|(family, _)| !self.schemas.contains_key(*family)) {
            for (path, key, _) in entries(&["plugins", "settings", family]) {
                found.extend(unknown(path, key, "setting", keys, true));
            }
        }
        let models = entries_of(table, "models");
        for (model, _) in &models {
            for (path, rule, value) in entries(&["models", model, "rules"]) {
                found.extend(text_rules::problem(rule, value).map(|why| (path.clone(), why)));
                found.extend(unknown(path, rule, "rule", &RULES.map(|(name, _)| name), true));
            }
            for (path, key, value) in entries(&["models", model]) {
                if key == "protocol" {
                    found.extend(self.unspoken(path.clone(), value.as_str().unwrap_or_default()));
                }
                let targets = value.as_array().filter(|_| key == "targets").into_iter().flatten();
                for (number, target) in targets.enumerate() {
                    let protocol = target.get("protocol").and_then(Value::as_str).unwrap_or_default();
                    found.extend(self.unspoken(format!("{path}[{number}].protocol"), protocol));
                }
            }
        }
        let priced: Vec<&str> = self.priced.iter().map(String::as_str).collect();
        let variants = entries_of(table, "price_variants");
        let of_variants = variants.iter().map(|(variant, _)| vec!["price_variants", *variant, "prices"]);
        for section in std::iter::once(vec!["prices"]).chain(of_variants) {
            for (path, key, _) in entries(&section) {
                let own = Some(key).filter(|key| !self.price_keys.contains(*key));
                found.extend(own.and_then(price_names::problem).map(|why| (path.clone(), why)));
                found.extend(unknown(path, base(key), "price key", &priced, !self.has_others));
            }
        }
        let text = models.iter().flat_map(|(id, model)| {
            let aliases = model.get("aliases").and_then(Value::as_array).into_iter().flatten();
            aliases.filter_map(Value::as_str).chain([*id])
        });
        let names: Vec<&str> = priced.iter().copied().chain(text).collect();
        for (path, model, _) in entries(&["tasks", "time_limit_s_by_model"]) {
            found.extend(unknown(path, model, "model", &names, !self.has_others));
        }
        found
    }

    /// A protocol of providers that no family here speaks, as far as their dialects are known.
    fn unspoken(&self, path: String, protocol: &str) -> Option<Finding> {
        if PROTOCOLS.contains(&protocol) || self.has_others {
            return None;
        }
        let remedy = match nearest(protocol, PROTOCOLS.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("install the plugin that speaks it, or name one of {}", PROTOCOLS.join(", ")),
        };
        Some((path, format!("no family here speaks `{protocol}`, so the model is not served; {remedy}")))
    }
}

/// What is said of a setting that is a secret.
const NO_SECRET: &str = "a plugin reads its settings, and never sees a secret; remove it here: secrets are references of accounts \
                         in [providers]";

/// Every key that is named like a secret.
fn find_secrets(outer: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let path = format!("{outer}.{key}");
                if is_secret(key) {
                    found.push(path);
                } else {
                    find_secrets(&path, value, found);
                }
            }
        }
        Value::Array(all) => {
            let each = all.iter().enumerate();
            each.for_each(|(at, value)| find_secrets(&format!("{outer}.{at}"), value, found));
        }
        _ => {}
    }
}

/// Takes every key that is named like a secret out of the settings of a family: a plugin never sees its value, and a family
/// that is off may still have tasks.
pub(super) fn drop_secrets(settings: &mut serde_json::Value) {
    match settings {
        serde_json::Value::Object(table) => {
            table.retain(|key, _| !is_secret(key));
            table.values_mut().for_each(drop_secrets);
        }
        serde_json::Value::Array(all) => all.iter_mut().for_each(drop_secrets),
        _ => {}
    }
}

fn entries_of<'a>(table: &'a Table, section: &str) -> Vec<(&'a str, &'a Value)> {
    let section = table.get(section).and_then(Value::as_table).into_iter().flatten();
    section.map(|(key, value)| (key.as_str(), value)).collect()
}

/// A name that is not among the known ones: if one is near, or if all there are are known.
fn unknown(path: String, name: &str, what: &str, known: &[&str], are_all: bool) -> Option<Finding> {
    if known.contains(&name) {
        return None;
    }
    let remedy = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if !are_all => return None,
        None if known.is_empty() => "remove it: no name has an effect here".to_owned(),
        None => format!("known here: {}", known.join(", ")),
    };
    Some((path, format!("no {what} of the name `{name}` is known, so it has no effect; {remedy}")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plugins::built_in::{LOADED, PLUGINS};

    fn findings(text: &str) -> Vec<Finding> {
        Known::new(PLUGINS, &[], None).unknown_names(&text.parse().unwrap(), &|_| true)
    }

    /// A price, a rule or a setting under a misspelt name does nothing, and nothing else would tell.
    #[test]
    fn a_name_that_nothing_has_is_named_with_the_nearest() {
        for (text, remedy) in [
            ("prices.ctx-por = '4'", "did you mean `ctx-pro`?"),
            ("price_variants.p.prices.ctx-por = '4'", "did you mean `ctx-pro`?"),
            ("prices.'clip-20@4k' = '4'", "did you mean `clip-2.0`?"),
            ("prices.'clip-2.0@1080' = '4'", "did you mean `1080p`?"),
            ("price_variants.p.prices.'ctx-pro@hd' = '4'", "it has one price, `ctx-pro`"),
            ("models.m.rules.pass = ['service_teir']", "did you mean `service_tier`?"),
            ("models.m.rules.max_ouput = 5", "did you mean `max_output`?"),
            ("plugins.settings.clip.model = {}", "did you mean `models`?"),
            ("plugins.settings.imagin = { x = 1 }", "did you mean `imagine`?"),
            ("plugins.settings.chat.x = 1", "no name has an effect here"),
            ("plugins.families.jorney = { enabled = false }", "did you mean `journey`?"),
            ("plugins.limits_by_family.motoin = { call_ms = 1 }", "`motion`?"),
            ("tasks.time_limit_s_by_model.ctx-maxx = 9", "`ctx-max`?"),
            ("prices.unheard = '4'", "known here: "),
            ("models.m.protocol = 'generate-content'", "did you mean `generatecontent`?"),
            (
                "models.m.protocol = 'brook'",
                "install the plugin that speaks it, or name one of chat, messages, generatecontent",
            ),
        ] {
            let (warnings, key) = (findings(text), text.split(" = ").next().unwrap().replace('\'', ""));
            let [(found, why)] = &warnings[..] else { panic!("{text}: {warnings:?}") };
            assert!(*found == key && why.contains(remedy), "{found} {why}");
        }
        let of_targets = findings("models.m.targets = [{ protocol = 'chat' }, { protocol = 'brook' }]");
        let [(found, why)] = &of_targets[..] else { panic!("{of_targets:?}") };
        assert_eq!(found, "models.m.targets[1].protocol");
        assert!(why.contains("no family here speaks `brook`"), "{why}");
        for text in [
            "[prices]\n\"ctx-pro\" = \"4\"\n\"journey@pan-fast\" = \"4\"",
            "[models.m]\naliases = [\"n\"]\n[tasks.time_limit_s_by_model]\nn = 9\nm = 9",
            "[models.m.rules]\nmax_output = 5",
            "[models.m]\nprotocol = \"generatecontent\"",
        ] {
            assert_eq!(findings(text), [], "{text}");
        }
        // Of a plugin without defaults nothing is known but that it is there.
        let known = Known { has_others: true, ..Known::new(PLUGINS, &[], None) };
        let table =
            "[prices]\nunheard = \"4\"\nctx-por = \"4\"\n[models.m]\nprotocol = \"chats\"".parse().unwrap();
        assert_eq!(known.unknown_names(&table, &|_| true).len(), 1);
    }

    /// The lists above say what the plugins read. Their settings are compared in `tests/plugins/known.rs`.
    #[test]
    fn rules_and_protocols_are_those_of_the_plugins() {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/text-protocols/src/rules.rs");
        let rules = fs::read_to_string(rules).unwrap();
        let (_, rules) = rules.split_once("pub struct Rules {").unwrap();
        let (rules, _) = rules.split_once("\n}").unwrap();
        let fields = rules.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
        let fields: BTreeSet<&str> = fields.map(|(name, _)| name).collect();
        assert_eq!(fields, BTreeSet::from(RULES.map(|(name, _)| name)));
        assert_eq!(SETTINGS.len(), PLUGINS.len());
        let dialects: Vec<&String> = LOADED.iter().flat_map(|runner| &runner.about().dialects).collect();
        assert_eq!(dialects, PROTOCOLS[2..]);
    }
}
