//! Which field of one protocol is which of another, by their beginnings.

use super::Translation;

/// A field of the provider's request, and the client's in place of it.
pub(super) struct Row {
    /// The beginning of the provider's path, parts between dots.
    pub(super) theirs: &'static str,
    /// The client's.
    pub(super) own: &'static str,
    /// Whether what follows is the same in both.
    pub(super) keeps_rest: bool,
}

const fn same(theirs: &'static str, own: &'static str) -> Row {
    Row { theirs, own, keeps_rest: true }
}

const fn whole(theirs: &'static str, own: &'static str) -> Row {
    Row { theirs, own, keeps_rest: false }
}

const CHAT_TO_MESSAGES: &[Row] = &[
    whole("system", "messages"),
    same("stop_sequences", "stop"),
    whole("thinking", "reasoning_effort"),
    same("output_config.format.schema", "response_format.json_schema.schema"),
    whole("output_config.format", "response_format"),
    whole("output_config", "reasoning_effort"),
    whole("tool_choice.disable_parallel_tool_use", "parallel_tool_calls"),
    whole("tool_choice", "tool_choice"),
    whole("metadata.user_id", "user"),
];
const MESSAGES_TO_CHAT: &[Row] = &[
    same("stop", "stop_sequences"),
    whole("reasoning_effort", "thinking"),
    same("response_format.json_schema.schema", "output_config.format.schema"),
    whole("response_format", "output_config.format"),
    whole("parallel_tool_calls", "tool_choice.disable_parallel_tool_use"),
    whole("tool_choice", "tool_choice"),
    whole("user", "metadata.user_id"),
];
const RESPONSES_TO_CHAT: &[Row] = &[
    whole("reasoning_effort", "reasoning.effort"),
    same("response_format.json_schema", "text.format"),
    same("response_format", "text.format"),
    whole("verbosity", "text.verbosity"),
    same("tool_choice.function", "tool_choice"),
];

/// The row of a path; the first of a table that fits.
pub(super) fn find(translation: Translation, path: &[&str]) -> Option<&'static Row> {
    let rows = match translation {
        Translation::ChatToMessages => CHAT_TO_MESSAGES,
        Translation::MessagesToChat => MESSAGES_TO_CHAT,
        Translation::ResponsesToChat => RESPONSES_TO_CHAT,
        Translation::ChatToChat | Translation::MessagesToMessages => &[],
    };
    rows.iter().find(|row| {
        let theirs: Vec<&str> = row.theirs.split('.').collect();
        path.starts_with(&theirs)
    })
}

/// What follows the number of a tool, in the client's protocol.
pub(super) fn tool<'p>(translation: Translation, rest: &[&'p str]) -> Vec<&'p str> {
    match (translation, rest) {
        (Translation::ChatToMessages, ["input_schema", rest @ ..]) => {
            [&["function", "parameters"], rest].concat()
        }
        (Translation::ChatToMessages, ["name" | "description" | "strict", ..]) => {
            [&["function"], rest].concat()
        }
        (Translation::MessagesToChat, ["function", "parameters", rest @ ..]) => {
            [&["input_schema"], rest].concat()
        }
        (Translation::MessagesToChat | Translation::ResponsesToChat, ["function", rest @ ..]) => {
            rest.to_vec()
        }
        (_, rest) => rest.to_vec(),
    }
}
