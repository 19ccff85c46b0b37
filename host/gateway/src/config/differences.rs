//! The configuration in effect: every key with its value, as TOML, without secrets; and what differs between two, by key, and which of
//! it needs a restart.

use toml::de::DeTable;
use toml::{Table, Value};

use super::document::Document;
use super::error::has_password;
use super::family_defaults::is_secret;

/// Tables that a running gateway takes over. The service that owns each replaces it as a whole; `admin.client` is read by
/// every command anew.
const RELOADED: [&str; 15] = [
    "admin.client",
    "models",
    "plugins.canary",
    "plugins.compiler",
    "plugins.families",
    "plugins.paths",
    LIMITS[0],
    LIMITS[1],
    "plugins.require_signature",
    "plugins.settings",
    "plugins.trusted_keys",
    "plugins.unserved",
    "price_variants",
    "prices",
    "providers",
];
/// The limits of plugins, which must fit into the memory that the gateway started with.
const LIMITS: [&str; 2] = ["plugins.limits", "plugins.limits_by_family"];

/// Whether a running gateway takes `key` over.
pub(crate) fn is_reloaded(key: &str) -> bool {
    RELOADED.iter().any(|table| is_inside(key, table))
}

/// Whether `key` is a limit of plugins.
pub(crate) fn is_limit(key: &str) -> bool {
    LIMITS.iter().any(|table| is_inside(key, table))
}

/// The values that a running gateway works with: those that it `started` with, and what it takes over as in `applied`.
pub(crate) fn in_effect(started: &Table, applied: &Table) -> Table {
    let mut table = started.clone();
    take_over_all(&mut table, applied, &RELOADED);
    table
}

/// Takes the limits of plugins from `before`.
pub(crate) fn keep_limits(table: &mut Table, before: &Table) {
    take_over_all(table, before, &LIMITS);
}

fn take_over_all(table: &mut Table, from: &Table, paths: &[&str]) {
    for path in paths {
        match path.split_once('.') {
            None => take_over(table, Some(from), path),
            Some((outer, key)) => {
                if let Some(Value::Table(table)) = table.get_mut(outer) {
                    take_over(table, from.get(outer).and_then(Value::as_table), key);
                }
            }
        }
    }
}

fn take_over(old: &mut Table, new: Option<&Table>, key: &str) {
    match new.and_then(|new| new.get(key)) {
        Some(value) => old.insert(key.to_owned(), value.clone()),
        None => old.remove(key),
    };
}

fn is_inside(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The keys whose values differ, in order. A table that only one of the two has is one key.
pub(crate) fn differences(old: &Table, new: &Table) -> Vec<String> {
    let mut found = Vec::new();
    compare(&mut found, "", old, new);
    found.sort();
    found
}

fn compare(found: &mut Vec<String>, outer: &str, old: &Table, new: &Table) {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    for key in new.keys().chain(gone) {
        let path = join(outer, key);
        match (old.get(key), new.get(key)) {
            (Some(Value::Table(old)), Some(Value::Table(new))) => compare(found, &path, old, new),
            (old, new) if old == new => {}
            // An empty table says as much as none.
            (None, Some(Value::Table(only))) | (Some(Value::Table(only)), None) if only.is_empty() => {}
            _ => found.push(path),
        }
    }
}

/// A key below a table, quoted where TOML wants it.
fn join(outer: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if outer.is_empty() { key } else { format!("{outer}.{key}") }
}

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
    table.iter_mut().for_each(|(key, value)| hide_value(key, value));
}

fn hide_value(key: &str, value: &mut Value) {
    match value {
        _ if key == "secret" || key == "key_id" => {
            let reference = value.as_table().and_then(|table| table.iter().next());
            let origin = reference.and_then(|(kind, name)| Some(format!(" from {kind} {}", name.as_str()?)));
            *value = Value::String(format!("(secret){}", origin.unwrap_or_default()));
        }
        // Where no secret belongs, such as in the settings of a plugin, or in an address.
        Value::String(text) if is_secret(key) || has_password(text) => *text = "(secret)".to_owned(),
        Value::Array(all) => all.iter_mut().for_each(|one| hide_value(key, one)),
        Value::Table(inner) => hide(inner),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[&str]) {
        let table = |text: &str| text.parse::<Table>().unwrap();
        assert_eq!(differences(&table(old), &table(new)), expected, "{old} -> {new}");
    }

    #[test]
    fn keys_are_compared_by_value() {
        check("[prices]\na = \"1\"\nb = \"2\"", "[prices]\nb = \"2\"\na = \"3\"", &["prices.a"]);
        check("[prices]\na = \"1\"", "[prices]\n\"b.c\" = \"1\"", &["prices.\"b.c\"", "prices.a"]);
        check("", "[providers.p]\nbase_url = \"x\"\n[providers.p.accounts.a]", &["providers"]);
        check("[providers.q]\nx = 1", "[providers.q]\nx = 1\n[providers.p]\ny = 1", &["providers.p"]);
        check("[plugins]\nthreads = 1", "[plugins]\nthreads = 1\n[plugins.settings]", &[]);
        check("[server]\nlisten = [\"a\", \"b\"]", "[server]\nlisten = [\"b\", \"a\"]", &["server.listen"]);
    }

    /// Viewers would read the login of a database or a proxy that somebody wrote into its address.
    #[test]
    fn a_password_in_an_address_is_not_shown() {
        for (value, hidden) in [
            ("\"postgres://me:hunter2@host/db\"", true),
            ("[\"10.0.0.1\", \"http://me:hunter2@host\"]", true),
            ("[[\"http://me:hunter2@host\"]]", true),
            ("[{ address = \"http://me:hunter2@host\" }]", true),
            ("{ address = \"http://me:hunter2@host\" }", true),
            ("\"postgres://me@host:5432/db\"", false),
            ("[\"https://host:8443/path\"]", false),
        ] {
            let table: Table = format!("[data]\nurl = {value}").parse().unwrap();
            let (text, values) = (render(table.clone()), values(table).to_string());
            for shown in [text, values] {
                assert!(!shown.contains("hunter2"), "{shown}");
                assert_eq!(shown.contains("(secret)"), hidden, "{shown}");
            }
        }
    }

    /// Gateways of a fleet would be told to differ where they do not, or a standby would hide the prices of its own file.
    #[test]
    fn what_needs_a_restart_stays_as_it_was_at_the_start() {
        let table = |prices: &str, threads: u32, canary: &str| -> Table {
            let rest = format!("[plugins]\nthreads = {threads}\n{canary}\n[tasks]\nconcurrency = {threads}");
            format!("{prices}\n{rest}").parse().unwrap()
        };
        let (price, canary) = ("[prices]\na = \"1\"", "[plugins.canary]\nfaults = 9");
        let other = ("[prices]\na = \"2\"\nb = \"3\"", "");
        for (started, applied, expected) in [
            (table(price, 1, canary), table(price, 1, canary), table(price, 1, canary)),
            (table(price, 1, canary), table(other.0, 2, other.1), table(other.0, 1, other.1)),
            (table(other.0, 1, other.1), table(price, 2, canary), table(price, 1, canary)),
            (table("", 1, ""), table(price, 1, ""), table(price, 1, "")),
            (table(price, 1, ""), table("", 1, ""), table("", 1, "")),
        ] {
            assert_eq!(in_effect(&started, &applied), expected);
        }
    }

    #[test]
    fn a_key_is_reloaded_or_needs_a_restart() {
        for (key, reloaded) in [
            ("prices", true),
            ("prices.\"a.b\"", true),
            ("providers.p.base_url", true),
            ("models.m", true),
            ("plugins.settings.f", true),
            ("plugins.limits.memory_mib", true),
            ("plugins.threads", false),
            ("plugins.streams", false),
            ("plugins.watch_folder", false),
            ("server.listen", false),
            ("admin.client.ca", true),
            ("admin.tls.client_ca", false),
            ("data.folder", false),
            ("fetch.allow_private", false),
            ("pricesx", false),
        ] {
            assert_eq!(is_reloaded(key), reloaded, "{key}");
        }
        assert!(is_limit("plugins.limits_by_family.f.memory_mib") && !is_limit("plugins.limitsx"));
    }
}
