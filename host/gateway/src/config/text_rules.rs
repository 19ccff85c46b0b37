//! The `rules` of text models: which there are, and what each may say. A plugin reads them with each request, and one that it does
//! not understand counts as not there, which nobody but the reader of its log would see.

use gatehouse_admin::nearest;
use toml::Value;

/// What a rule may say.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// A whole number from 1.
    Count,
    Switch,
    Text,
    Texts,
    OneOf(&'static [&'static str]),
    SomeOf(&'static [&'static str]),
    /// As it was called first: true or false.
    OneOfOrSwitch(&'static [&'static str]),
    /// Types of tools, each with its successor.
    Tools,
}

/// The rules, as `plugins/text-protocols/src/rules.rs` has them.
pub(super) const RULES: [(&str, Form); 17] = [
    ("betas", Form::Texts),
    ("call_ids", Form::OneOf(&["any", "short", "nine"])),
    ("continues", Form::Switch),
    ("default_output", Form::Count),
    ("encoding_format", Form::OneOf(&["float", "base64"])),
    ("include_usage", Form::Switch),
    ("max_output", Form::Count),
    ("max_tokens_field", Form::OneOf(&["max_completion_tokens", "max_tokens"])),
    ("pass", Form::Texts),
    ("prefill", Form::OneOfOrSwitch(&["native", "emulate", "refuse"])),
    ("reasoning_history", Form::Switch),
    ("sampling", Form::OneOf(&["free", "either", "none"])),
    ("strict", Form::Switch),
    ("system_messages", Form::Switch),
    ("thinking", Form::SomeOf(&["enabled", "adaptive"])),
    ("tools", Form::Tools),
    ("version", Form::Text),
];

/// What is wrong with the value of a rule, and after a semicolon the remedy. A rule that is not known is not judged.
pub(super) fn problem(rule: &str, value: &Value) -> Option<String> {
    let (_, form) = RULES.iter().find(|(name, _)| *name == rule)?;
    let (expected, words) = match form {
        Form::Count => ("a whole number from 1".to_owned(), &[][..]),
        Form::Switch => ("true or false".to_owned(), &[][..]),
        Form::Text => ("a text".to_owned(), &[][..]),
        Form::Texts => ("a list of texts".to_owned(), &[][..]),
        Form::OneOf(words) | Form::OneOfOrSwitch(words) => (format!("one of {}", words.join(", ")), *words),
        Form::SomeOf(words) => (format!("a list of some of {}", words.join(", ")), *words),
        Form::Tools => ("a table of tools, each with the `type` that takes its place".to_owned(), &[][..]),
    };
    if form.takes(value) {
        return None;
    }
    let near = |word: &Value| {
        let wrong = word.as_str().filter(|word| !words.contains(word))?;
        nearest(wrong, words.iter().copied())
    };
    let near = value.as_array().map_or_else(|| near(value), |all| all.iter().find_map(near));
    let remedy = near
        .map_or_else(|| "remove it, or say one that is".to_owned(), |near| format!("did you mean `{near}`?"));
    Some(format!("expected {expected}, got {value}, which has no effect; {remedy}"))
}

impl Form {
    fn takes(self, value: &Value) -> bool {
        let is_word =
            |words: &[&str], value: &Value| value.as_str().is_some_and(|word| words.contains(&word));
        let all = |fits: &dyn Fn(&Value) -> bool| value.as_array().is_some_and(|all| all.iter().all(fits));
        match self {
            Self::Count => value.as_integer().is_some_and(|number| (1..=u32::MAX.into()).contains(&number)),
            Self::Switch => value.is_bool(),
            Self::Text => value.is_str(),
            Self::Texts => all(&Value::is_str),
            Self::OneOf(words) => is_word(words, value),
            Self::SomeOf(words) => all(&|value| is_word(words, value)),
            Self::OneOfOrSwitch(words) => value.is_bool() || is_word(words, value),
            Self::Tools => value
                .as_table()
                .is_some_and(|tools| tools.values().all(|tool| tool.get("type").is_some_and(Value::is_str))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a model is asked by other rules than its operator has written, and nothing tells.
    #[test]
    fn a_rule_that_no_plugin_understands_is_told() {
        for (written, expected) in [
            ("max_output = 8192", None),
            ("max_output = 0", Some("expected a whole number from 1, got 0")),
            ("default_output = -5", Some("a whole number from 1, got -5")),
            ("max_output = 4294967296", Some("a whole number from 1")),
            ("prefill = true", None),
            ("prefill = \"emulate\"", None),
            ("prefill = \"emulated\"", Some("did you mean `emulate`?")),
            ("sampling = \"Either\"", Some("expected one of free, either, none")),
            ("thinking = [\"adaptive\"]", None),
            ("thinking = []", None),
            ("thinking = [\"enabled\", \"adaptiv\"]", Some("did you mean `adaptive`?")),
            ("thinking = \"enabled\"", Some("expected a list of some of enabled, adaptive")),
            ("strict = \"yes\"", Some("expected true or false")),
            ("pass = [\"top_k\", 5]", Some("expected a list of texts")),
            ("pass = \"top_k\"", Some("expected a list of texts")),
            ("version = 2023", Some("expected a text")),
            ("tools = { a_1 = { type = \"a_2\", beta = \"b\" } }", None),
            ("tools = { a_1 = \"a_2\" }", Some("each with the `type`")),
            ("unheard = 5", None),
        ] {
            let table: toml::Table = written.parse().unwrap();
            let (rule, value) = table.iter().next().unwrap();
            let found = problem(rule, value);
            let fits = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(fits, "{written}: {found:?}");
        }
    }
}
