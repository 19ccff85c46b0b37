//! What a family's defaults may touch: providers, prices and models of its own, and never where an account's secret goes.
//!
//! The defaults of an installed family come from the author of its plugin. [`foreign`] holds for every reading of the
//! configuration; [`check_own`] for the moment at which a plugin brings them. The operator's own values win over any
//! default, so a key that the operator sets is harmless. Never judges the built-in families, which come with the binary.

use gatehouse_model::About;
use toml::{Table, Value};

use super::error::ConfigErrors;
use super::family_defaults::{FamilyDefaults, all_tables, find, units};
use super::load::Loaded;
use crate::plugins::built_in::{BuiltInPlugin, PLUGINS};

/// The keys of a provider that say where its accounts' secrets go, and how.
const CREDENTIAL_KEYS: [&str; 4] = ["base_url", "origins", "auth", "accounts_of"];

/// The defaults of all families.
struct BroughtBy(Vec<(Option<String>, Table)>);

impl BroughtBy {
    /// The other family that brings an entry of a section, and its defaults.
    fn other(&self, family: &str, section: &str, entry: &str) -> Option<(&str, &Table)> {
        let is_same = |known: &str| match section {
            "prices" => base(known) == base(entry),
            _ => known == entry,
        };
        self.0.iter().find_map(|(name, table)| {
            let name = name.as_deref().filter(|name| *name != family)?;
            let entries = table.get(section)?.as_table()?;
            entries.keys().any(|known| is_same(known)).then_some((name, table))
        })
    }

    fn brings(&self, family: &str, section: &str, entry: &str) -> bool {
        let own = self.0.iter().filter(|(name, _)| name.as_deref() == Some(family));
        own.into_iter().any(|(_, table)| find(table, &[section, entry]).is_some())
    }
}

/// What a price key is of: every further part only makes it more specific.
pub(super) fn base(key: &str) -> &str {
    key.split_once('@').map_or(key, |(base, _)| base)
}

/// The providers that a value lends its accounts from, or sends its requests to.
fn borrowed<'a>(unit: &[String], value: &'a Value) -> Vec<&'a str> {
    match unit.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["providers", _, "accounts_of"] => value.as_str().into_iter().collect(),
        ["models", _] => {
            let targets = value.get("targets").and_then(Value::as_array).into_iter().flatten();
            let all = std::iter::once(value).chain(targets);
            all.filter_map(|one| one.get("provider")?.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

/// Every default that is another family's, with the problem. `is_set` says which keys the operator sets.
pub(super) fn foreign(
    installed: &[FamilyDefaults],
    built_in: &[BuiltInPlugin],
    is_set: &dyn Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let families = BroughtBy(all_tables(installed, built_in));
    let mut found = Vec::new();
    for (family, table) in families.0.iter().take(installed.len()) {
        let Some(family) = family else { continue };
        for unit in units(table) {
            let (key, value) = (unit.join("."), find(table, &unit));
            if is_set(&key) {
                continue;
            }
            let [section, entry, ..] = &unit[..] else { continue };
            if let Some((other, theirs)) = families.other(family, section, entry)
                && section != "plugins"
                && (find(theirs, &unit).is_none() || find(theirs, &unit) != value)
            {
                found.push((key, of_other(other, family, find(theirs, &unit), value)));
            } else if let Some(lender) =
                value.into_iter().flat_map(|value| borrowed(&unit, value)).find(|lender| {
                    families.other(family, "providers", lender).is_some()
                        || !families.brings(family, "providers", lender)
                })
            {
                found.push((key, lent(lender, family)));
            }
        }
    }
    found
}

fn of_other(other: &str, family: &str, theirs: Option<&Value>, own: Option<&Value>) -> String {
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), ToString::to_string);
    format!(
        "it belongs to family {other:?}, whose defaults say {}; the defaults of family {family:?} bring its own providers, \
         prices and models only: remove {} here, or set the key in gatehouse.toml, which wins over both",
        text(theirs),
        text(own)
    )
}

fn lent(lender: &str, family: &str) -> String {
    format!(
        "it would use the accounts of provider {lender:?}, which the defaults of family {family:?} do not bring; name a \
         provider of its own here, or set the key in gatehouse.toml"
    )
}

/// Whether the defaults of the family that `about` describes leave alone what is not its own: `before` is the
/// configuration in effect, as far as it can be read, and `after` the one with these defaults.
///
/// # Errors
/// Each key that is refused, with its line.
pub(crate) fn check_own(before: Option<&Loaded>, after: &Loaded, about: &About) -> Result<(), ConfigErrors> {
    let family = about.family.as_str();
    let Some(own) = after.installed_of(family) else { return Ok(()) };
    let table = own.table();
    let earlier = BroughtBy(all_tables(before.map(Loaded::installed).unwrap_or_default(), PLUGINS));
    let is_set = |key: &str| after.setter(key).is_some();
    // A provider that served before this family said anything of it.
    let is_operators = |provider: &str| {
        let path = ["providers", provider, "base_url"];
        let served = before.is_some_and(|before| find(&before.table, &path).is_some());
        (served || is_set(&path.join("."))) && !earlier.brings(family, "providers", provider)
    };
    let mut wrong: Vec<(String, String)> = Vec::new();
    for unit in units(&table) {
        let (key, value) = (unit.join("."), find(&table, &unit));
        if is_set(&key) {
            continue;
        }
        let [section, entry, ..] = &unit[..] else { continue };
        let mut lenders = value.into_iter().flat_map(|value| borrowed(&unit, value));
        if section == "providers" && is_operators(entry) {
            wrong.push((key, operators(entry)));
        } else if let Some(lender) = lenders.find(|lender| is_operators(lender)) {
            wrong.push((key, lent(lender, family)));
        } else if section == "prices" && !about.price_keys.iter().any(|least| refines(entry, least)) {
            wrong.push((key, unknown_price(about)));
        }
    }
    wrong.extend(before.into_iter().flat_map(|before| redirected(before, after, &table)));
    ConfigErrors::check(wrong.iter().map(|(key, why)| after.error_at(key, why)).collect())
}

/// Whether a price key is `least`, or more specific.
fn refines(key: &str, least: &str) -> bool {
    key.strip_prefix(least).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@']))
}

fn operators(provider: &str) -> String {
    format!(
        "provider {provider:?} was configured before this family came, so its accounts are not this family's; remove it \
         here, or set the key in gatehouse.toml"
    )
}

fn unknown_price(about: &About) -> String {
    let own =
        if about.price_keys.is_empty() { "no price key".to_owned() } else { about.price_keys.join(", ") };
    format!(
        "the plugin charges by {own}; a family brings prices of its own only: remove this one here, or set it in \
         gatehouse.toml"
    )
}

/// Providers with accounts whose secrets would go elsewhere, or in another way, than before.
fn redirected(before: &Loaded, after: &Loaded, brought: &Table) -> Vec<(String, String)> {
    let providers = after.config.providers.iter().filter(|(name, provider)| {
        let served = find(&before.table, &["providers", name.as_str(), "base_url"]).is_some();
        served && !provider.accounts.is_empty()
    });
    let changed = providers.flat_map(|(name, _)| {
        CREDENTIAL_KEYS.iter().filter_map(move |key| {
            let path = ["providers", name.as_str(), key];
            let (was, is) = (find(&before.table, &path), find(&after.table, &path));
            let joined = path.join(".");
            (was != is && after.setter(&joined).is_none()).then(|| {
                let text = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), Value::to_string);
                let at = if find(brought, &path).is_some() { joined } else { format!("providers.{name}") };
                let why = format!(
                    "`{key}` is {} now and would be {}, and the provider has accounts; where their secrets go is never \
                     taken from a family's defaults: set it in gatehouse.toml first",
                    text(was),
                    text(is)
                );
                (at, why)
            })
        })
    });
    changed.collect()
}
