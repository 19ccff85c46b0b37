//! The configuration in effect: every key with its value, as TOML, without secrets.

use toml::de::DeTable;
use toml::{Table, Value};

use super::document::Document;

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
    toml::to_string_pretty(&table).expect("tables with text keys are always TOML")
}

/// Replaces every secret by its origin.
fn hide(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            _ if key == "secret" => {
                let reference = value.as_table().and_then(|table| table.iter().next());
                let origin =
                    reference.and_then(|(kind, name)| Some(format!(" from {kind} {}", name.as_str()?)));
                *value = Value::String(format!("(secret){}", origin.unwrap_or_default()));
            }
            Value::Table(inner) => hide(inner),
            _ => {}
        }
    }
}
