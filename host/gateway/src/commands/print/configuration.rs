//! Text about the configuration: what a reload changed, and what the defaults of a family add.

use std::io::{self, Write};

use gatehouse_admin::{DefaultEffect, DefaultView};
use serde_json::Value;

/// What a reload changed.
pub(crate) fn reload_in_words(view: &Value) -> String {
    let list = |field: &str| view[field].as_array().cloned().unwrap_or_default();
    let nothing = list("changed").is_empty() && list("accounts").is_empty();
    let head = match nothing {
        true => "read again; nothing that a running gateway takes over has changed\n",
        false => "reloaded\n",
    };
    let groups = [
        ("changed", "changed"),
        ("account", "accounts"),
        ("needs a restart", "needs_restart"),
        ("warning", "warnings"),
    ];
    groups.into_iter().fold(head.to_owned(), |mut text, (word, field)| {
        for one in list(field).iter().filter_map(Value::as_str) {
            let _ = std::fmt::Write::write_fmt(&mut text, format_args!("  {word}: {one}\n"));
        }
        text
    })
}

/// The defaults of a family; nothing for none.
pub(super) fn defaults(out: &mut dyn Write, defaults: &[DefaultView]) -> io::Result<()> {
    if defaults.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nDefaults that come with it:")?;
    for DefaultView { key, value, effect } in defaults {
        match effect {
            DefaultEffect::Added => writeln!(out, "  + {key} = {value}")?,
            DefaultEffect::Changed { before } => writeln!(out, "  ~ {key} = {value} (was {before})")?,
            DefaultEffect::Unchanged => writeln!(out, "  = {key} = {value}")?,
            DefaultEffect::Overridden { by, at } => {
                writeln!(out, "  ! {key} = {value} is not used: {at} sets {by}")?;
            }
            DefaultEffect::Removed { before } => writeln!(out, "  - {key} (was {before})")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_has_its_mark() {
        let view = |effect| DefaultView { key: "prices.a".to_owned(), value: "\"4\"".to_owned(), effect };
        let before = || "\"3\"".to_owned();
        let all = [
            view(DefaultEffect::Added),
            view(DefaultEffect::Changed { before: before() }),
            view(DefaultEffect::Unchanged),
            view(DefaultEffect::Overridden { by: before(), at: "gatehouse.toml:7".to_owned() }),
            view(DefaultEffect::Removed { before: before() }),
        ];
        let mut out = Vec::new();
        defaults(&mut out, &[]).unwrap();
        defaults(&mut out, &all).unwrap();
        let expected = "
Defaults that come with it:
  + prices.a = \"4\"
  ~ prices.a = \"4\" (was \"3\")
  = prices.a = \"4\"
  ! prices.a = \"4\" is not used: gatehouse.toml:7 sets \"3\"
  - prices.a (was \"3\")
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_reload_without_a_change_says_so() {
        let view = serde_json::json!({"changed": [], "needs_restart": ["server.listen"]});
        let text = reload_in_words(&view);
        assert!(
            text.starts_with("read again;") && text.ends_with("  needs a restart: server.listen\n"),
            "{text}"
        );
    }
}
