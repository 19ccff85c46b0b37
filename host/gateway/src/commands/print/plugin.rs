//! Versions of plugins, what a deployment came to, and the configuration: what a reload changed, and what the defaults of a family add.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::generic::{Shown, print_shown, rows_at, table, text_at, texts_at};

/// A row a version.
pub(crate) fn plugins_in_words(rows: &[Value]) -> String {
    let rows: Vec<Value> = rows.iter().map(row).collect();
    table(&rows, &["family", "version", "digest", "models", "state", "about"])
}

/// What a manifest says to people: name, licence, address.
fn about(plugin: &Value) -> String {
    let facts = ["title", "licence", "homepage"].map(|name| text_at(plugin, name));
    facts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

fn row(plugin: &Value) -> Value {
    let (at, reason) = (text_at(plugin, "at"), text_at(plugin, "reason"));
    let state = match (text_at(plugin, "state"), at) {
        ("active", at) => format!("serves since {at}"),
        ("broken", _) => format!("broken: {reason}"),
        ("disabled", "") => "disabled by the configuration".to_owned(),
        ("disabled", at) => format!("disabled since {at}"),
        ("pinned", _) => "finishes its tasks".to_owned(),
        ("standby", at) => format!("ready to take over until {at}"),
        ("rolled_back", at) => format!("rolled back {at}: {reason}"),
        (word, _) => word.to_owned(),
    };
    let models = texts_at(plugin, "models").map(|model| {
        let others = texts_at(&plugin["aliases"], model).collect::<Vec<_>>().join(", ");
        if others.is_empty() { model.to_owned() } else { format!("{model} ({others})") }
    });
    json!({
        "family": plugin["family"],
        "version": plugin["version"],
        "digest": short(text_at(plugin, "digest")),
        "models": models.collect::<Vec<_>>().join(", "),
        "state": state,
        "about": about(plugin),
    })
}

/// The stages of a deployment. The reason of a refusal is the command's error message; here it would be the second time.
fn stages(deployment: &Value) -> String {
    let row = |stage: &Value| {
        let refused = stage["verdict"] == "refused";
        let note = if refused { "" } else { text_at(stage, "note").lines().next().unwrap_or_default() };
        let verdict = if refused { "REFUSED" } else { text_at(stage, "verdict") };
        json!({"stage": stage["stage"], "verdict": verdict, "ms": stage["took_ms"], "note": note})
    };
    let rows: Vec<Value> = rows_at(deployment, "stages").iter().map(row).collect();
    table(&rows, &["stage", "verdict", "ms", "note|"])
}

/// Prints the stages of a refusal, where it has some.
pub(crate) fn print_refusal(refusal: &Value, as_json: bool) {
    if refusal["stages"].is_array() {
        let text = format!("{}\n", stages(refusal));
        print_shown(&Shown::told(refusal.clone(), text), as_json);
    }
}

/// A check, stage by stage.
pub(crate) fn checked_in_words(done: &Value) -> String {
    format!("{}\nIt passed every stage.\n", outcome(done))
}

/// A switch, stage by stage.
pub(crate) fn switched_in_words(done: &Value) -> String {
    match done["replaced"].as_str() {
        Some(before) => format!("{}\nIt replaces {}.\n", outcome(done), short(before)),
        None => format!("{}\nIt serves.\n", outcome(done)),
    }
}

fn outcome(done: &Value) -> String {
    let plugin = plugins_in_words(std::slice::from_ref(&done["plugin"]));
    format!("{}\n{plugin}{}", stages(done), defaults_in_words(done))
}

/// What went with a family.
pub(crate) fn uninstalled_in_words(gone: &Value) -> String {
    let mut text = defaults_in_words(gone);
    let _ = writeln!(text, "uninstalled {}", text_at(gone, "family"));
    for digest in texts_at(gone, "versions") {
        let _ = writeln!(text, "removed {digest}");
    }
    text
}

/// A report as it was kept, with its reason.
pub(crate) fn report_in_words(report: &Value, fields: &[&str]) -> String {
    let mut text = table(std::slice::from_ref(report), fields);
    if let Some(reason) = report["reason"].as_str() {
        let _ = writeln!(text, "\n{reason}");
    }
    if let Some(replaced) = report["replaced"].as_str() {
        let _ = writeln!(text, "It replaces {}.", short(replaced));
    }
    let stages = rows_at(report, "stages");
    if !stages.is_empty() {
        let _ = write!(text, "\n{}", table(stages, &["stage", "verdict", "ms=took_ms", "note|"]));
    }
    text
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// What a reload changed.
pub(crate) fn reload_in_words(view: &Value) -> String {
    let nothing = ["changed", "accounts"].iter().all(|field| rows_at(view, field).is_empty());
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
        for one in texts_at(view, field) {
            let _ = writeln!(text, "  {word}: {one}");
        }
        text
    })
}

/// The defaults of a family; nothing for none.
pub(super) fn defaults_in_words(outcome: &Value) -> String {
    let all = rows_at(outcome, "defaults");
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
    use super::*;

    #[test]
    fn a_plugin_is_listed_with_all_names_of_its_models() {
        let plugin = json!({
            "family": "f", "version": "1.0.0", "digest": "0123456789abcdef", "models": ["a", "b"],
            "aliases": {"a": ["a-1", "a-2"]}, "state": "active", "at": "1970-01-01T00:00:00.000Z",
        });
        let expected = "\
FAMILY  VERSION  DIGEST        MODELS           STATE                                  ABOUT
f       1.0.0    0123456789ab  a (a-1, a-2), b  serves since 1970-01-01T00:00:00.000Z  -
";
        assert_eq!(plugins_in_words(&[plugin]), expected);
    }

    /// Its reason is the error message already.
    #[test]
    fn a_refused_stage_is_told_once() {
        let stage =
            |verdict: &str| json!({"stage": "fit", "verdict": verdict, "took_ms": 3, "note": "why\nmore"});
        let refusal = json!({"stages": [stage("passed"), stage("refused")]});
        let expected = "\
STAGE  VERDICT  MS  NOTE
fit    passed   3   why
fit    REFUSED  3
";
        assert_eq!(stages(&refusal), expected);
    }

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
