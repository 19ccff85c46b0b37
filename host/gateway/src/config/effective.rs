//! The configuration in effect: every key with its value, as TOML, without secrets.

use toml::de::DeTable;
use toml::{Table, Value};

use super::document::Document;
use super::family_defaults::is_secret;

/// The documented example holds every key with its default, which a test proves.
pub(super) const EXAMPLE: &str = include_str!("../../../../gatehouse.example.toml");

/// The document over all defaults.
pub(super) fn table(document: &Document<'_>) -> Table {
    let defaults = DeTable::parse(EXAMPLE).expect("a test parses the example");
    document.over(defaults.get_ref()).read().expect("any document is a table")
}

/// A table as text.
pub(super) fn render(mut table: Table) -> String {
    hide(&mut table);
    name_auth(&mut table);
    toml::to_string_pretty(&table).expect("tables with text keys are always TOML")
}

/// A table as values, for programs: as [`render`] shows it, and an account without a secret says so.
pub(super) fn values(mut table: Table) -> Table {
    hide(&mut table);
    name_auth(&mut table);
    let providers = table.get_mut("providers").and_then(Value::as_table_mut).into_iter().flatten();
    let accounts = providers.filter_map(|(_, provider)| provider.get_mut("accounts")?.as_table_mut());
    for account in accounts.flatten().filter_map(|(_, account)| account.as_table_mut()) {
        account.entry("secret").or_insert_with(|| Value::String("not set".to_owned()));
    }
    table
}

/// Writes beside every account how it authenticates: its own way, its provider's, or the default.
fn name_auth(table: &mut Table) {
    let Some(providers) = table.get_mut("providers").and_then(Value::as_table_mut) else { return };
    for provider in providers.iter_mut().filter_map(|(_, provider)| provider.as_table_mut()) {
        let auth = provider.get("auth").cloned().unwrap_or_else(|| Value::String("bearer".to_owned()));
        let Some(accounts) = provider.get_mut("accounts").and_then(Value::as_table_mut) else { continue };
        for account in accounts.iter_mut().filter_map(|(_, account)| account.as_table_mut()) {
            account.entry("auth").or_insert_with(|| auth.clone());
        }
    }
}

/// Replaces every secret by its origin.
fn hide(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            _ if key == "secret" || key == "key_id" => {
                let reference = value.as_table().and_then(|table| table.iter().next());
                let origin =
                    reference.and_then(|(kind, name)| Some(format!(" from {kind} {}", name.as_str()?)));
                *value = Value::String(format!("(secret){}", origin.unwrap_or_default()));
            }
            // Where no secret belongs, such as in the settings of a plugin.
            Value::String(text) if is_secret(key) => *text = "(secret)".to_owned(),
            Value::Array(all) => all.iter_mut().for_each(|one| match one {
                Value::Table(inner) => hide(inner),
                Value::String(text) if is_secret(key) => *text = "(secret)".to_owned(),
                _ => {}
            }),
            Value::Table(inner) => hide(inner),
            _ => {}
        }
    }
}
