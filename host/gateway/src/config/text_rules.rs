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
    /// Names of fields, also of those that the gateway has never heard of.
    Fields,
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
    ("pass", Form::Fields),
    ("prefill", Form::OneOfOrSwitch(&["native", "emulate", "refuse"])),
    ("reasoning_history", Form::Switch),
    ("sampling", Form::OneOf(&["free", "either", "none"])),
    ("strict", Form::Switch),
    ("system_messages", Form::Switch),
    ("thinking", Form::SomeOf(&["enabled", "adaptive"])),
    ("tools", Form::Tools),
    ("version", Form::Text),
];

/// Fields that models are known to be asked with: what a misspelt entry of `pass` may have meant.
const FIELDS: &str = "\
    access_programs audio background cache_control chat_template_kwargs client_metadata context_management dimensions \
    do_sample enable_thinking encoding_format file_id file_url frequency_penalty function_call functions guided_choice \
    guided_grammar guided_json guided_regex ignore_eos include include_reasoning input_type instructions late_chunking \
    length_penalty logit_bias logprobs max_completion_tokens max_output_tokens max_tokens max_tool_calls mcp_servers messages \
    metadata min_tokens modalities moderation normalize normalized output_config output_dimension output_dtype \
    parallel_tool_calls prediction presence_penalty previous_response_id prompt_cache_key prompt_cache_options \
    prompt_cache_retention prompt_mode prompt_name random_seed reasoning reasoning_effort reasoning_format repetition_penalty \
    response_format safe_prompt safety_identifier service_tier skip_special_tokens stop_sequences stop_token_ids store stream \
    stream_options structured_outputs system temperature thinking thinking_budget tool_choice top_logprobs truncate truncation \
    typical_p usage verbosity web_search_options";
/// A shorter name is near to too many.
const SHORTEST: usize = 6;

/// What is wrong with the value of a rule, and after a semicolon the remedy. A rule that is not known is not judged.
pub(super) fn problem(rule: &str, value: &Value) -> Option<String> {
    let (_, form) = RULES.iter().find(|(name, _)| *name == rule)?;
    let (expected, words) = match form {
        Form::Count => ("a whole number from 1".to_owned(), &[][..]),
        Form::Switch => ("true or false".to_owned(), &[][..]),
        Form::Text => ("a text".to_owned(), &[][..]),
        Form::Texts => ("a list of texts".to_owned(), &[][..]),
        Form::Fields => ("a list of names of fields".to_owned(), &[][..]),
        Form::OneOf(words) | Form::OneOfOrSwitch(words) => (format!("one of {}", words.join(", ")), *words),
        Form::SomeOf(words) => (format!("a list of some of {}", words.join(", ")), *words),
        Form::Tools => ("a table of tools, each with the `type` that takes its place".to_owned(), &[][..]),
    };
    if form.takes(value) {
        return misspelt(*form, value);
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

/// An entry that is nearly a known field: the provider may have one of that name, and most likely has not.
fn misspelt(form: Form, value: &Value) -> Option<String> {
    let Form::Fields = form else { return None };
    let written = value.as_array()?.iter().filter_map(Value::as_str);
    let mut unknown = written.filter(|name| name.len() >= SHORTEST && !is_known(name));
    let (name, near) = unknown.find_map(|name| Some((name, nearest(name, FIELDS.split_whitespace())?)))?;
    Some(format!("no field of the name `{name}` is known; did you mean `{near}`?"))
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
            Self::Fields => all(&|value| value.as_str().is_some_and(is_field)),
            Self::OneOf(words) => is_word(words, value),
            Self::SomeOf(words) => all(&|value| is_word(words, value)),
            Self::OneOfOrSwitch(words) => value.is_bool() || is_word(words, value),
            Self::Tools => value
                .as_table()
                .is_some_and(|tools| tools.values().all(|tool| tool.get("type").is_some_and(Value::is_str))),
        }
    }
}

fn is_known(name: &str) -> bool {
    FIELDS.split_whitespace().any(|field| field == name)
}

/// Whether it may be the name of a field: no pattern, no value, no path into one.
fn is_field(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use gatehouse_schema::{Kind, Reader};
    use gatehouse_text_protocols::rules::{CHAT_PASSED, EMBEDDINGS_PASSED, PASSED, Rules};

    use super::*;
    use crate::plugins::built_in::LOADED;

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
            ("pass = [\"top_k\", \"x_of_ours\", \"service_tier\"]", None),
            ("pass = [\"top_k\", 5]", Some("expected a list of names of fields")),
            ("pass = \"top_k\"", Some("expected a list of names of fields")),
            ("pass = [\"*\"]", Some("expected a list of names of fields")),
            ("pass = [\"service_tier=priority\"]", Some("expected a list of names of fields")),
            ("pass = [\"\"]", Some("expected a list of names of fields")),
            ("pass = [\"top_k\", \"service_teir\"]", Some("did you mean `service_tier`?")),
            ("pass = [\"Service-Tier\"]", Some("did you mean `service_tier`?")),
            ("betas = [5]", Some("expected a list of texts")),
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

    /// Without it a field that the families know is told as a misspelt one.
    #[test]
    fn every_field_of_a_text_surface_is_known() {
        for runner in LOADED.iter().filter(|runner| runner.about().offers.text) {
            for surface in &runner.about().surfaces {
                let schema = serde_json::from_str(&surface.schema).unwrap();
                let Kind::Object(fields) = Reader::new(&schema).kind(&schema) else {
                    panic!("{} takes no object", surface.name);
                };
                let names = fields.iter().map(|field| field.name.as_str());
                let unknown: Vec<_> =
                    names.filter(|name| name.len() >= SHORTEST && !is_known(name)).collect();
                assert!(unknown.is_empty(), "{}: {unknown:?}", surface.name);
            }
        }
    }

    /// What is found here is what the plugins find, for values of every form: a rule that changes there is changed here.
    #[test]
    fn a_rule_is_understood_here_as_the_plugins_understand_it() {
        let mut values: Vec<Value> =
            ["true", "1", "1.5", "-1", "4294967296", "\"x\"", "\"\"", "[]", "[\"x\"]", "[1]", "{}"]
                .into_iter()
                .chain([
                    "{ a = { type = \"b\" } }",
                    "{ a = { type = \"b\", beta = \"c\" } }",
                    "{ a = { beta = \"c\" } }",
                    "{ a = 1 }",
                ])
                .map(|written| format!("x = {written}").parse::<toml::Table>().unwrap().remove("x").unwrap())
                .collect();
        let read = |rule: &str, value: &Value| Rules::read(&serde_json::json!({ rule: value }));
        // What the plugins say instead of a word that they do not know are all that they know.
        for (rule, _) in RULES {
            for wrong in [Value::from("?"), Value::from(vec!["?"])] {
                let told = read(rule, &wrong).err().unwrap_or_default();
                let (_, words) = told.split_once(", expected ").unwrap_or_default();
                for word in words.split('`').skip(1).step_by(2) {
                    values.extend([Value::from(word), Value::from(vec![word])]);
                }
            }
        }
        assert!(
            values.contains(&Value::from("max_tokens")) && values.contains(&Value::from(vec!["adaptive"]))
        );
        for (rule, _) in RULES {
            for value in &values {
                let (here, there) = (problem(rule, value), read(rule, value).err());
                assert_eq!(here.is_some(), there.is_some(), "{rule} = {value}: {here:?}, {there:?}");
            }
        }
        let passed = CHAT_PASSED.iter().chain(&PASSED).chain(&EMBEDDINGS_PASSED).copied();
        let unknown: Vec<_> = passed.filter(|name| name.len() >= SHORTEST && !is_known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
