//! Keys for people: a table of them, or one with its policy and use.

use std::io::{self, Write};

use gatehouse_admin::KeyView;
use gatehouse_model::{Credits, Limits};
use gatehouse_runtime::escape_control;

use super::table::{rfc3339, table};

/// Keys in a table.
pub(super) fn list(out: &mut dyn Write, keys: &[KeyView]) -> io::Result<()> {
    let row = |key: &KeyView| {
        let state = match (key.revoked, key.expires) {
            (Some(at), _) => format!("revoked {}", rfc3339(at)),
            (None, Some(at)) => format!("until {}", rfc3339(at)),
            (None, None) => "unlimited".to_owned(),
        };
        vec![
            key.id.to_string(),
            key.customer.to_string(),
            quota(key.quota),
            key.used.to_string(),
            state,
            key.name.clone(),
        ]
    };
    table(out, &["KEY", "ACCOUNT", "QUOTA", "USED", "VALID", "NAME"], keys.iter().map(row))
}

/// One key's policy and use.
pub(super) fn details(out: &mut dyn Write, key: &KeyView) -> io::Result<()> {
    let list = |words: Vec<String>| if words.is_empty() { "all".to_owned() } else { words.join(", ") };
    let networks = key.networks.iter().map(ToString::to_string).collect();
    let lines = [
        ("key", key.id.to_string()),
        ("name", key.name.clone()),
        ("account", key.customer.to_string()),
        ("quota", quota(key.quota)),
        ("used", key.used.to_string()),
        ("models", list(key.models.clone())),
        ("networks", list(networks)),
        ("created", rfc3339(key.created)),
        ("expires", key.expires.map_or_else(|| "never".to_owned(), rfc3339)),
        ("revoked", key.revoked.map_or_else(|| "no".to_owned(), rfc3339)),
        ("chat", key.chat_format.as_str().to_owned()),
        ("limits", limits(&key.limits)),
        ("open", open(key)),
        ("revision", key.revision.to_string()),
    ];
    lines.iter().try_for_each(|(name, value)| writeln!(out, "{name:<9}{}", escape_control(value)))?;
    for (model, of_model) in &key.model_limits {
        writeln!(out, "{:<9}{model}: {}", "limits", limits(of_model))?;
    }
    let rotations = [("replaces", &key.rotated_from), ("replaced", &key.rotated_to)];
    for (name, other) in rotations.into_iter().filter_map(|(name, key)| Some((name, key.as_ref()?))) {
        let by = if name == "replaced" { "by " } else { "" };
        writeln!(out, "{name:<9}{by}{other}")?;
    }
    Ok(())
}

fn limits(limits: &Limits) -> String {
    let parts = [
        (limits.requests_per_minute, "requests per minute"),
        (limits.tokens_per_minute, "tokens per minute"),
        (limits.concurrency, "at a time"),
    ];
    let parts = parts.iter().filter_map(|(limit, unit)| Some(format!("{} {unit}", (*limit)?)));
    let text = parts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

/// Live tasks and open text requests.
fn open(key: &KeyView) -> String {
    let text =
        key.open.iter().map(|(model, open)| format!("{open} of {model}")).collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

fn quota(quota: Option<Credits>) -> String {
    quota.map_or_else(|| "none".to_owned(), |quota| quota.to_string())
}
