//! Names of request fields in the client's own protocol. The provider has another request than the client wrote, and so may
//! a check of the translation: what is said of a field of it is told in the words of the client's request.
//!
//! Knows where the fields of a translated request came from, and finds them in sentences. Never checks a request.

mod prose;
mod rows;

use gatehouse_sdk::{Problem, Refusal};
use serde::{Deserialize, Serialize};

use rows::Row;

/// Blocks of one conversation whose places are kept; of a longer one the field alone is told.
const MAX_PLACES: usize = 256;

/// One translation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Translation {
    /// The client wrote a chat completion, the provider has a Messages request.
    ChatToMessages,
    /// The client wrote a Messages request, the provider has a chat completion.
    MessagesToChat,
    /// The client wrote a response, the provider has a chat completion.
    ResponsesToChat,
    /// Both are chat completions, and the cap may have its other name.
    ChatToChat,
    /// Both are Messages requests, and items of lists that say nothing are left out.
    MessagesToMessages,
}

/// Where a message of the translated request came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePaths {
    /// The client's path of it; empty where several of the client's are one of the provider's.
    pub own: String,
    /// The client's paths of its parts; empty where they are told by that of the message.
    pub parts: Vec<String>,
}

/// Where the fields of one translated request came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    /// The two protocols.
    pub translation: Translation,
    /// The client's name of the cap on output tokens.
    pub cap: String,
    /// The places of the provider's messages, in order.
    pub messages: Vec<MessagePaths>,
    /// The client's paths of the tools, in order, where they have other numbers.
    pub tools: Vec<String>,
    /// Lists of which items were left out: the client's path of each, and the client's numbers of what was sent.
    pub lists: Vec<(String, Vec<usize>)>,
}

/// The translations that a request went through, the client's last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldNames(Vec<Origins>);

impl Origins {
    /// Of a translation; `cap` is the client's name of the cap on output tokens.
    #[must_use]
    pub fn new(translation: Translation, cap: &str) -> Self {
        Self { translation, cap: cap.to_owned(), messages: vec![], tools: vec![], lists: vec![] }
    }

    /// Of a Messages request that was passed on; `lists` are those of which items were left out.
    #[must_use]
    pub fn shortened(lists: Vec<(String, Vec<usize>)>) -> Self {
        Self { lists, ..Self::new(Translation::MessagesToMessages, "max_tokens") }
    }

    /// Without more places than a state keeps.
    fn kept(mut self) -> Self {
        let places: usize = self.messages.iter().map(|place| place.parts.len().max(1)).sum();
        if places > MAX_PLACES {
            self.messages.clear();
        }
        if self.tools.len() > MAX_PLACES {
            self.tools.clear();
        }
        for (_, numbers) in &mut self.lists {
            numbers.truncate(MAX_PLACES);
        }
        self.lists.truncate(MAX_PLACES);
        self
    }

    /// The client's path of a field.
    fn own(&self, path: &str) -> String {
        let parts = segments(path);
        if self.translation == Translation::MessagesToMessages {
            return self.numbered(&parts);
        }
        let Some((head, rest)) = parts.split_first() else { return path.to_owned() };
        let own = match *head {
            "messages" => return self.message(rest),
            "tools" => self.tool(rest),
            "max_tokens" | "max_completion_tokens" => Some(self.cap.clone()),
            _ => None,
        };
        own.or_else(|| self.renamed(&parts)).unwrap_or_else(|| path.to_owned())
    }

    /// The path with the client's numbers. A number that was not kept ends it: the list alone is told.
    fn numbered(&self, parts: &[&str]) -> String {
        let mut own = String::new();
        for part in parts {
            let numbers = self.lists.iter().find(|(list, _)| *list == own).map(|(_, numbers)| numbers);
            let number = match (numbers, part.parse::<usize>()) {
                (Some(numbers), Ok(at)) => match numbers.get(at) {
                    Some(number) => number.to_string(),
                    None => return own,
                },
                _ => (*part).to_owned(),
            };
            own.push_str(if own.is_empty() { "" } else { "." });
            own.push_str(&number);
        }
        own
    }

    fn message(&self, rest: &[&str]) -> String {
        let all = match self.translation {
            Translation::ResponsesToChat => "input",
            Translation::ChatToChat if !rest.is_empty() => {
                let numbered = self.numbered(&[&["messages"], rest].concat());
                return self.written(&segments(&numbered));
            }
            _ => "messages",
        };
        let place = rest.first().and_then(|at| self.messages.get(at.parse::<usize>().ok()?));
        let Some(place) = place.filter(|place| !place.own.is_empty() || !place.parts.is_empty()) else {
            return all.to_owned();
        };
        let part = match rest {
            [_, "content", at, ..] => at.parse::<usize>().ok().and_then(|at| place.parts.get(at)),
            _ => None,
        };
        match part.filter(|part| !part.is_empty()) {
            Some(part) => part.clone(),
            None if place.own.is_empty() => all.to_owned(),
            None => place.own.clone(),
        }
    }

    fn tool(&self, rest: &[&str]) -> Option<String> {
        let (at, rest) = rest.split_first()?;
        let at: usize = at.parse().ok()?;
        let rest = match (self.translation, rest) {
            (Translation::ChatToMessages, ["custom", rest @ ..]) => rest,
            (_, rest) => rest,
        };
        let rest = rows::tool(self.translation, rest);
        match self.tools.get(at) {
            Some(own) if rest.is_empty() => Some(own.clone()),
            Some(own) => Some(format!("{own}.{}", self.written(&rest))),
            None => {
                let at = at.to_string();
                Some(self.written(&["tools", &at].into_iter().chain(rest).collect::<Vec<_>>()))
            }
        }
    }

    fn renamed(&self, parts: &[&str]) -> Option<String> {
        let Row { theirs, own, keeps_rest } = rows::find(self.translation, parts)?;
        let mut path: Vec<&str> = own.split('.').collect();
        if *keeps_rest {
            path.extend(&parts[theirs.split('.').count()..]);
        }
        Some(self.written(&path))
    }

    /// A path as the client's protocol writes it.
    fn written(&self, parts: &[&str]) -> String {
        let is_dotted = self.translation == Translation::MessagesToChat;
        let mut path = String::new();
        for part in parts {
            let is_index = part.bytes().all(|byte| byte.is_ascii_digit());
            if is_index && !is_dotted {
                path.push_str(&format!("[{part}]"));
            } else {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(part);
            }
        }
        path
    }
}

impl FieldNames {
    /// Of a request that was translated once.
    #[must_use]
    pub fn of(origins: Origins) -> Self {
        Self(vec![origins])
    }

    /// With the translations that came before.
    #[must_use]
    pub fn after(mut self, earlier: &Self) -> Self {
        self.0.extend(earlier.0.iter().cloned());
        self
    }

    /// What a state keeps of it.
    #[must_use]
    pub fn kept(self) -> Self {
        Self(self.0.into_iter().map(Origins::kept).collect())
    }

    /// A refusal in the client's fields.
    #[must_use]
    pub fn refusal(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Invalid { field, message } => Refusal::Invalid {
                field: field.map(|field| self.own(&field)),
                message: self.in_text(&message),
            },
            Refusal::Several(problems) => {
                let own = |problem: Problem| Problem {
                    field: problem.field.map(|field| self.own(&field)),
                    message: self.in_text(&problem.message),
                };
                Refusal::Several(problems.into_iter().map(own).collect())
            }
            other => other,
        }
    }

    /// The client's path of a field of the provider's request.
    #[must_use]
    pub fn own(&self, path: &str) -> String {
        self.0.iter().fold(path.to_owned(), |path, origins| origins.own(&path))
    }

    /// A sentence with the client's paths in place of the provider's.
    #[must_use]
    pub fn in_text(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            let before = text[..at].chars().next_back();
            let length = path_length(&text[at..]);
            let is_start = length > 0
                && !before.is_some_and(|letter: char| letter.is_alphanumeric() || "_.-/".contains(letter));
            let end = at + if is_start { length } else { letter.len_utf8() };
            let piece = &text[at..end];
            let is_marked = before.is_none_or(|letter| "`'\"".contains(letter))
                && text[end..].chars().next().is_some_and(|letter| "`'\":".contains(letter));
            let is_path = is_start && (is_marked || piece.contains(['_', '.', '[']));
            if is_path && (is_numbered(piece) || !prose::is_no_field(&text[..at], &text[end..])) {
                out.push_str(&self.own(piece));
            } else {
                out.push_str(piece);
            }
            at = end;
        }
        out
    }
}

/// The length of the path that a text begins with.
fn path_length(text: &str) -> usize {
    if !text.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        return 0;
    }
    let in_path = |letter: char| letter.is_ascii_alphanumeric() || "_.[]".contains(letter);
    let end = text.find(|letter: char| !in_path(letter)).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', '[']).len()
}

/// Whether a path has a number, as no name has.
fn is_numbered(path: &str) -> bool {
    segments(path).iter().any(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The parts of a path in either style.
fn segments(path: &str) -> Vec<&str> {
    path.split(['.', '[', ']']).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(own: &str, parts: &[&str]) -> MessagePaths {
        MessagePaths { own: own.to_owned(), parts: parts.iter().map(|part| (*part).to_owned()).collect() }
    }

    fn check(names: &FieldNames, rows: &[(&str, &str)]) {
        for (said, expected) in rows {
            assert_eq!(names.in_text(said), *expected, "{said}");
        }
    }

    /// Without it a client reads of fields that its request does not have.
    #[test]
    fn a_chat_client_reads_its_own_fields_of_a_messages_provider() {
        let messages = vec![
            place("messages[1]", &["messages[1].content[0]", "messages[1].content[2].image_url"]),
            place("", &["messages[2]", "messages[3]"]),
        ];
        let names = Origins::new(Translation::ChatToMessages, "max_completion_tokens");
        let names = FieldNames::of(Origins { messages, ..names });
        check(
            &names,
            &[
                ("max_tokens: 9 > 8", "max_completion_tokens: 9 > 8"),
                ("messages.0.content.1.source.base64: bad", "messages[1].content[2].image_url: bad"),
                ("messages.1.content.1: bad", "messages[3]: bad"),
                ("messages.7.content.1: bad", "messages: bad"),
                ("tools.0.custom.input_schema.type: bad", "tools[0].function.parameters.type: bad"),
                ("tools.3.name: too long", "tools[3].function.name: too long"),
                ("`thinking.budget_tokens` is too small.", "`reasoning_effort` is too small."),
                ("output_config.format.schema: bad", "response_format.json_schema.schema: bad"),
                ("stop_sequences.1: blank", "stop[1]: blank"),
                ("system: bad system, as messages.", "messages: bad system, as messages."),
                (
                    "messages.0.content.0: `thinking` or `redacted_thinking` blocks cannot be modified.",
                    "messages[1].content[0]: `thinking` or `redacted_thinking` blocks cannot be modified.",
                ),
                (
                    "`thinking` must be off for tool `system`",
                    "`reasoning_effort` must be off for tool `system`",
                ),
                ("temperature: bad", "temperature: bad"),
            ],
        );
        let parts = ["input[3].content[0]", "input[3].content[1]", "input[3].content[2].image_url"];
        let messages = vec![place("instructions", &[]), place("input[3]", &parts)];
        let response = Origins::new(Translation::ResponsesToChat, "max_output_tokens");
        let response = FieldNames::of(Origins { messages, tools: vec!["tools[2]".to_owned()], ..response });
        check(
            &names.after(&response),
            &[
                ("max_tokens: 9 > 8", "max_output_tokens: 9 > 8"),
                ("messages.0.content.1.source: bad", "input[3].content[2].image_url: bad"),
                ("tools.0.input_schema: bad", "tools[2].parameters: bad"),
                ("thinking: bad", "reasoning.effort: bad"),
            ],
        );
    }

    #[test]
    fn a_messages_client_reads_its_own_fields_of_a_chat_provider() {
        let messages = vec![
            place("system", &[]),
            place("messages.2", &["messages.2.content.0", "messages.2.content.1"]),
        ];
        let names = Origins::new(Translation::MessagesToChat, "max_tokens");
        let names = FieldNames::of(Origins { messages, ..names });
        check(
            &names,
            &[
                ("'max_completion_tokens' is too large", "'max_tokens' is too large"),
                ("Invalid 'messages[1].content[1].image_url.url'.", "Invalid 'messages.2.content.1'."),
                ("Invalid 'messages[0]'", "Invalid 'system'"),
                ("Invalid 'tools[0].function.parameters'", "Invalid 'tools.0.input_schema'"),
                ("Invalid 'tools[0].function.name'", "Invalid 'tools.0.name'"),
                ("Unknown 'stop'; they stop here.", "Unknown 'stop_sequences'; they stop here."),
                ("Invalid schema for function 'stop': no", "Invalid schema for function 'stop': no"),
                ("'user' is too long for tool 'user'", "'metadata.user_id' is too long for tool 'user'"),
                ("No function 'user.get' in 'tools[0]'", "No function 'user.get' in 'tools.0'"),
                ("Not a function: 'tools[0].function.name'", "Not a function: 'tools.0.name'"),
                ("response_format.json_schema.schema: bad", "output_config.format.schema: bad"),
            ],
        );
    }

    /// Without it a client looks for its mistake in another message.
    #[test]
    fn a_messages_client_reads_its_own_numbers() {
        let list = |path: &str, numbers: &[usize]| (path.to_owned(), numbers.to_vec());
        let origins = Origins::shortened(vec![
            list("messages", &[1, 3]),
            list("messages.3.content", &[2]),
            list("messages.3.content.2.content", &[1, 4]),
            list("system", &[2]),
        ]);
        check(
            &FieldNames::of(origins),
            &[
                ("messages.0.content.1.text: bad", "messages.1.content.1.text: bad"),
                ("messages.0: bad", "messages.1: bad"),
                ("messages.1.content.0.source.data: bad", "messages.3.content.2.source.data: bad"),
                ("messages.1.content.0.content.1.text: bad", "messages.3.content.2.content.4.text: bad"),
                ("messages.0.content.1.content.1.text: bad", "messages.1.content.1.content.1.text: bad"),
                ("messages.7: bad", "messages: bad"),
                ("system.0.text: bad", "system.2.text: bad"),
                ("tools.0.custom.name: bad", "tools.0.custom.name: bad"),
                ("`max_tokens` and `thinking`: bad", "`max_tokens` and `thinking`: bad"),
            ],
        );
    }

    #[test]
    fn a_responses_client_reads_its_own_fields() {
        let messages =
            vec![place("instructions", &[]), place("input[3]", &["input[3].content[0].image_url"])];
        let tools = vec!["tools[1]".to_owned(), "tools[2].tools[0]".to_owned()];
        let origins = Origins::new(Translation::ResponsesToChat, "max_output_tokens");
        let names = FieldNames::of(Origins { messages, tools, ..origins });
        check(
            &names,
            &[
                ("max_completion_tokens", "max_output_tokens"),
                ("reasoning_effort: no", "reasoning.effort: no"),
                ("response_format.json_schema.schema", "text.format.schema"),
                ("tools[1].function.parameters", "tools[2].tools[0].parameters"),
                ("messages[1].content[0].image_url.url", "input[3].content[0].image_url"),
                ("messages[1].tool_calls[0].function.arguments", "input[3]"),
                ("messages[0].content", "instructions"),
                ("'messages': no", "'input': no"),
                ("model: no", "model: no"),
            ],
        );
    }
}
