//! A request for completions as requests for chat completions, one a prompt. Pure.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use gatehouse_driver::CheckedBody;
use serde::de::{Deserializer as _, Error, SeqAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::endpoints::jobs::{self, wrong_field};
use crate::endpoints::openai::fields::is_empty;
use crate::errors::{Kind, Refusal};
use crate::http::body::holding;
use crate::http::query::quoted;

/// Prompts of one request.
const MAX_PROMPTS: usize = 32;
const PROMPTS: &str = "a text or a list of 1 to 32 texts, no token ids";
/// Completions of one prompt.
const MAX_COUNT: u64 = 128;
/// Bytes of the other fields, over all prompts but the first: each prompt's request has them, and only the client's body is counted.
const MAX_COPIED: usize = 256 * 1024;
/// Bytes of a value that is looked at here.
const MAX_SMALL: usize = 4096;
/// Tokens of a completion whose client says nothing, as at OpenAI's.
const DEFAULT_TOKENS: u32 = 16;

/// What a client asks for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) prompts: Vec<String>,
    /// Whether an answer begins with its prompt.
    pub(super) echo: bool,
    pub(super) is_stream: bool,
    /// Completions of each prompt.
    pub(super) count: u64,
    /// The fields that a chat completion has too.
    shared: BTreeMap<String, Box<RawValue>>,
    /// The client's body: it is counted as long as one of the requests made of it lives.
    body: Bytes,
}

impl Asked {
    /// Reads a checked body.
    pub(super) fn read(body: &CheckedBody) -> Result<Self, Refusal> {
        let mut fields: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(body.bytes()).map_err(Refusal::internal)?;
        let prompt = fields.remove("prompt").filter(|prompt| prompt.get() != "null");
        let prompts = prompts(prompt.as_deref())?;
        fields.retain(|_, value| !is_empty(value));
        if body.is_dry_run() {
            if prompts.len() > 1 {
                let message = "dry_run: expected one prompt, as each has a price of its own";
                return Err(Refusal::field("dry_run", message));
            }
            put(&mut fields, "dry_run", &true)?;
        }
        let n = fields.get("n").map_or_else(|| 1.into(), |n| small(n));
        let count = n.as_u64().filter(|count| (1..=MAX_COUNT).contains(count));
        let count = count.ok_or_else(|| wrong_field("n", "a whole number of 1 to 128", &n))?;
        refuse_others(&mut fields, count)?;
        let flag = |value: Option<&RawValue>, name: &'static str| match value.map(small) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong_field(name, "true or false", &other)),
        };
        let echo = flag(fields.remove("echo").as_deref(), "echo")?;
        let is_stream = flag(fields.get("stream").map(|value| &**value), "stream")?;
        if !fields.contains_key("max_tokens") {
            put(&mut fields, "max_tokens", &DEFAULT_TOKENS)?;
        }
        let others: usize = fields.iter().map(|(name, value)| name.len() + value.get().len()).sum();
        if others * (prompts.len() - 1) > MAX_COPIED {
            let message = format!(
                "prompt: expected one prompt beside fields of {others} bytes, got {}: every other field is sent with each prompt",
                prompts.len()
            );
            return Err(Refusal::new(Kind::TooLarge, message).with_param("prompt"));
        }
        Ok(Self { prompts, echo, is_stream, count, shared: fields, body: body.bytes().clone() })
    }

    /// Itself, with the request for a chat completion of each prompt.
    pub(super) fn with_bodies(self) -> Result<(Self, Vec<CheckedBody>), Refusal> {
        let bodies = self.prompts.iter().map(|prompt| self.body(prompt)).collect::<Result<_, _>>()?;
        Ok((self, bodies))
    }

    /// The request for a chat completion of one prompt.
    fn body(&self, prompt: &str) -> Result<CheckedBody, Refusal> {
        let mut fields: BTreeMap<&str, &RawValue> =
            self.shared.iter().map(|(name, value)| (name.as_str(), &**value)).collect();
        let messages =
            to_raw_value(&json!([{"role": "user", "content": prompt}])).map_err(Refusal::internal)?;
        fields.insert("messages", &messages);
        let bytes = serde_json::to_vec(&fields).map_err(Refusal::internal)?;
        CheckedBody::parse(holding(bytes.into(), self.body.clone()), None).map_err(jobs::submit_refusal)
    }
}

/// Refuses what a completion of a model that answers conversations cannot have, and takes out what only it has.
fn refuse_others(fields: &mut BTreeMap<String, Box<RawValue>>, count: u64) -> Result<(), Refusal> {
    const ONLY_CHAT: &str = "nothing, as only chat completions have it";
    for (name, expected) in [
        ("suffix", "nothing, as these models do not fill in the middle of a text"),
        ("logprobs", "nothing, as only chat completions have them (`logprobs`, `top_logprobs`)"),
        ("messages", ONLY_CHAT),
        ("tools", ONLY_CHAT),
        ("functions", ONLY_CHAT),
    ] {
        if let Some(asked) = fields.remove(name) {
            return Err(wrong_field(name, expected, &small(&asked)));
        }
    }
    match fields.remove("best_of").map(|asked| small(&asked)) {
        Some(asked) if asked.as_u64() != Some(count) => {
            Err(wrong_field("best_of", "nothing or the same as `n`", &asked))
        }
        _ => Ok(()),
    }
}

/// A value that is looked at. No long value is expected: of one there is its beginning, as a text.
fn small(raw: &RawValue) -> Value {
    let text = raw.get();
    if text.len() > MAX_SMALL {
        return text.chars().take(64).collect::<String>().into();
    }
    serde_json::from_str(text).unwrap_or_default()
}

fn put(
    fields: &mut BTreeMap<String, Box<RawValue>>,
    name: &str,
    value: &impl serde::Serialize,
) -> Result<(), Refusal> {
    fields.insert(name.to_owned(), to_raw_value(value).map_err(Refusal::internal)?);
    Ok(())
}

fn prompts(prompt: Option<&RawValue>) -> Result<Vec<String>, Refusal> {
    let Some(prompt) = prompt else {
        return Err(Refusal::field("prompt", format!("prompt: expected {PROMPTS}, got none")));
    };
    serde_json::Deserializer::from_str(prompt.get()).deserialize_any(OneOrMore).map_err(|_| {
        let got: String = prompt.get().chars().take(64).collect();
        Refusal::field("prompt", format!("prompt: expected {PROMPTS}, got {}", quoted(&got)))
    })
}

/// Reads a text or several, and ends with the first that is too many.
struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PROMPTS)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        Ok(vec![text.to_owned()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut prompts = Vec::new();
        while let Some(prompt) = list.next_element()? {
            prompts.push(prompt);
            if prompts.len() > MAX_PROMPTS {
                break;
            }
        }
        match prompts.len() {
            1..=MAX_PROMPTS => Ok(prompts),
            length => Err(A::Error::invalid_length(length, &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &Value) -> Result<Asked, String> {
        let body = CheckedBody::parse(body.to_string().into(), None).unwrap();
        Asked::read(&body).map_err(|refusal| refusal.parts().1.to_owned())
    }

    /// Without it a field of the older API would reach a provider that does not know it.
    #[test]
    fn a_prompt_is_the_message_of_a_user() {
        let asked = read(&json!({"model": "m", "prompt": ["a", "b"], "n": 2, "best_of": 2, "suffix": null,
            "echo": true, "stop": ["\n"], "temperature": 0, "logprobs": false, "messages": [], "tools": {}}));
        let asked = asked.unwrap();
        assert_eq!((asked.prompts.len(), asked.echo, asked.is_stream, asked.count), (2, true, false, 2));
        let body: Value = serde_json::from_slice(asked.body("b").unwrap().bytes()).unwrap();
        let expected = json!({"model": "m", "messages": [{"role": "user", "content": "b"}], "n": 2,
            "stop": ["\n"], "temperature": 0, "max_tokens": 16});
        assert_eq!(body, expected);
        let empty =
            json!({"model": "m", "prompt": "", "n": false, "echo": "", "stream": "", "max_tokens": ""});
        let asked = read(&empty).unwrap();
        assert_eq!((asked.echo, asked.is_stream, asked.count), (false, false, 1));
        let body: Value = serde_json::from_slice(asked.body("").unwrap().bytes()).unwrap();
        let expected = json!({"model": "m", "messages": [{"role": "user", "content": ""}], "max_tokens": 16});
        assert_eq!(body, expected);
    }

    #[test]
    fn what_conversations_have_no_word_for_is_refused_by_name() {
        let many = vec!["a"; 33];
        for (body, words) in [
            (json!({}), "prompt: expected a text or a list of 1 to 32 texts, no token ids, got none"),
            (json!({"prompt": []}), "no token ids, got \"[]\""),
            (json!({"prompt": many}), "a list of 1 to 32 texts"),
            (json!({"prompt": "a", "n": 129}), "n: expected a whole number of 1 to 128, got \"129\""),
            (
                json!({"prompt": ["a", "b"], "stop": "c".repeat(300_000)}),
                "every other field is sent with each prompt",
            ),
            (
                json!({"prompt": [1, 2]}),
                "prompt: expected a text or a list of 1 to 32 texts, no token ids, got \"[1,2]\"",
            ),
            (json!({"prompt": "a", "suffix": "b"}), "suffix: expected nothing"),
            (json!({"prompt": "a", "logprobs": 0}), "logprobs: expected nothing"),
            (json!({"prompt": "a", "messages": [{"role": "user"}]}), "messages: expected nothing"),
            (json!({"prompt": "a", "tools": [{"type": "function"}]}), "tools: expected nothing"),
            (json!({"prompt": "a", "functions": [{"name": "f"}]}), "functions: expected nothing"),
            (json!({"prompt": "a", "best_of": 2}), "best_of: expected nothing or the same as `n`"),
            (json!({"prompt": "a", "echo": 1}), "echo: expected true or false, got \"1\""),
            (json!({"prompt": ["a", "b"], "dry_run": true}), "dry_run: expected one prompt"),
        ] {
            let refused = read(&body).unwrap_err();
            assert!(refused.contains(words), "{body}: {refused}");
        }
    }
}
