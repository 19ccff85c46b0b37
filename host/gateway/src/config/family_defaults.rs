//! The defaults that come with a family: a document with the tables a family may bring, and no other.
//!
//! Merged below the operator's document and above the defaults of the built-in families. Never holds an account or a
//! secret, and never weakens what the operator set.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::document::{Document, depth_of};
use super::error::ConfigErrors;
use crate::plugins::built_in::BuiltInPlugin;

/// Words at the end of a key that holds a secret.
const SECRETS: [&str; 5] = ["secret", "password", "token", "api_key", "apikey"];

/// Whether a key is named like a secret.
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    SECRETS.iter().any(|word| key == *word || key.ends_with(&format!("_{word}")))
}

/// The defaults of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FamilyDefaults {
    /// The family; not known before its plugin was asked.
    pub(crate) family: Option<String>,
    /// The file's name in messages.
    pub(crate) name: String,
    /// The document.
    pub(crate) text: String,
}

/// A value by the path of its table and key. An operator replaces each of them whole.
pub(crate) type Unit = Vec<String>;

/// Every value of a family's defaults.
pub(crate) fn units(defaults: &Table) -> BTreeSet<Unit> {
    let mut units = BTreeSet::new();
    for (section, value) in defaults {
        collect(&mut units, &mut vec![section.clone()], value, depth_of(section));
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

/// The defaults of all families, each with its family: the `installed` ones first. Those without one are of a
/// plugin that was not asked yet.
pub(super) fn all_tables(
    installed: &[FamilyDefaults],
    built_in: &[BuiltInPlugin],
) -> Vec<(Option<String>, Table)> {
    let installed = installed.iter().map(|one| (one.family.clone(), one.table()));
    let built_in =
        built_in.iter().map(|one| (Some(one.name.to_owned()), one.family_toml.parse().unwrap_or_default()));
    installed.chain(built_in).collect()
}

/// The value at a path.
pub(crate) fn find<'a>(table: &'a Table, path: &[impl AsRef<str>]) -> Option<&'a Value> {
    let (last, outer) = path.split_last()?;
    let inner = outer.iter().try_fold(table, |table, key| table.get(key.as_ref())?.as_table())?;
    inner.get(last.as_ref())
}

impl FamilyDefaults {
    /// The values of a document that was read before.
    pub(crate) fn table(&self) -> Table {
        self.text.parse().unwrap_or_default()
    }

    /// The document, once it holds nothing but what a family may bring.
    pub(super) fn document(&self) -> Result<Document<'_>, ConfigErrors> {
        let document = Document::parse(&self.name, &self.text)?;
        let mut paths = Vec::new();
        keys(&mut paths, "", document.root());
        let errors = paths.iter().filter_map(|path| {
            let why = self.refuse(path)?;
            Some(document.error_at(path, &why))
        });
        ConfigErrors::check(errors.collect())?;
        Ok(document)
    }

    /// Why `path` does not belong in these defaults, and the remedy.
    fn refuse(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('.').collect();
        let last = parts.last()?.to_lowercase();
        Some(match parts[..] {
            ["providers", provider, "accounts"] => format!(
                "accounts hold secrets, which never belong in a family's defaults; remove them here and add \
                 [providers.{provider}.accounts.main] with a secret to gatehouse.toml"
            ),
            // Below, where the account has been refused already.
            ["providers", _, "accounts", ..] => return None,
            ["providers", _, field @ ("headers" | "query"), _, _] => format!(
                "a family's defaults may set plain `{field}` of its own provider; a reference to a secret of this machine \
                 belongs in gatehouse.toml"
            ),
            ["providers", _, "proxy"] => {
                "where an operator's connections go through is no family's to say; set it in gatehouse.toml".to_owned()
            }
            _ if is_secret(&last) => "a secret never belongs in a family's defaults; remove it here: secrets are references of \
                                      accounts in gatehouse.toml"
                .to_owned(),
            ["prices" | "providers" | "models", ..] | ["plugins"] => return None,
            ["plugins", "settings" | "limits_by_family"] => return None,
            ["plugins", "settings" | "limits_by_family", family, ref below @ ..] => {
                let own = self.family.as_deref().filter(|own| *own != family && below.is_empty())?;
                format!("it belongs to another family than this plugin's; a family brings its own only, named {own:?}")
            }
            // Reported once, for the outermost key.
            [_] | ["plugins", _] => {
                "a family may bring [prices], [providers], [models], [plugins.settings] and [plugins.limits_by_family]; \
                 set this in gatehouse.toml"
                    .to_owned()
            }
            _ => return None,
        })
    }
}

/// Every key of every table, outer ones first.
fn keys(paths: &mut Vec<String>, outer: &str, table: &DeTable<'_>) {
    for (key, value) in table {
        let path =
            if outer.is_empty() { key.get_ref().to_string() } else { format!("{outer}.{}", key.get_ref()) };
        paths.push(path.clone());
        if let DeValue::Table(inner) = value.get_ref() {
            keys(paths, &path, inner);
        }
    }
}
