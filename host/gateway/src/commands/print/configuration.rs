//! Text about the configuration: what a reload changed, and what the defaults of a family add.

use std::fmt::Write as _;

use serde_json::Value;

use super::generic::text_at;

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
            let _ = writeln!(text, "  {word}: {one}");
        }
        text
    })
}

/// The defaults of a family; nothing for none.
pub(super) fn defaults_in_words(outcome: &Value) -> String {
    let all = outcome["defaults"].as_array().map_or(&[][..], Vec::as_slice);
    let head = if all.is_empty() { "" } else { "\nDefaults that come with it:\n" };
    all.iter().fold(head.to_owned(), |mut text, one| {
        let at = |field| text_at(one, field);
        let (key, value) = (at("key"), at("value"));
        let line = match at("effect") {
            "added" => format!("+ {key} = {value}"),
            "changed" => format!("~ {key} = {value} (was {})", at("before")),
            "overridden" => format!("! {key} = {value} is not used: {} sets {}", at("at"), at("by")),
            "removed" => format!("- {key} (was {})", at("before")),
            _ => format!("= {key} = {value}"),
        };
        let _ = writeln!(text, "  {line}");
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_effect_has_its_mark() {
        let view = |effect: &str| {
            json!({"key": "prices.a", "value": "\"4\"", "effect": effect, "before": "\"3\"", "by": "\"3\"",
                "at": "gatehouse.toml:7"})
        };
        let all = ["added", "changed", "unchanged", "overridden", "removed"].map(view);
        assert_eq!(defaults_in_words(&json!({"defaults": []})), "");
        let expected = "
Defaults that come with it:
  + prices.a = \"4\"
  ~ prices.a = \"4\" (was \"3\")
  = prices.a = \"4\"
  ! prices.a = \"4\" is not used: gatehouse.toml:7 sets \"3\"
  - prices.a (was \"3\")
";
        assert_eq!(defaults_in_words(&json!({"defaults": all})), expected);
    }

    #[test]
    fn a_reload_without_a_change_says_so() {
        let view = json!({"changed": [], "needs_restart": ["server.listen"]});
        let text = reload_in_words(&view);
        assert!(
            text.starts_with("read again;") && text.ends_with("  needs a restart: server.listen\n"),
            "{text}"
        );
    }
}
