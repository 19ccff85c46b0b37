//! A request for completions as requests for chat completions, one a prompt. Pure.

use bytes::Bytes;
use gatehouse_driver::CheckedBody;
use serde_json::{Map, Value, json};

use crate::endpoints::jobs;
use crate::errors::Refusal;
use crate::http::query::quoted;

/// Prompts of one request.
const MAX_PROMPTS: usize = 32;
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
    shared: Map<String, Value>,
}

impl Asked {
    /// Reads a checked body.
    pub(super) fn read(body: &CheckedBody) -> Result<Self, Refusal> {
        let mut fields: Map<String, Value> =
            serde_json::from_slice(body.bytes()).map_err(Refusal::internal)?;
        fields.retain(|_, value| !value.is_null());
        let prompts = prompts(fields.remove("prompt"))?;
        if body.is_dry_run() {
            if prompts.len() > 1 {
                let message = "dry_run: expected one prompt, as each has a price of its own";
                return Err(Refusal::field("dry_run", message));
            }
            fields.insert("dry_run".to_owned(), true.into());
        }
        let count = fields.get("n").and_then(Value::as_u64).unwrap_or(1);
        refuse_others(&mut fields, count)?;
        let flag = |value: Option<&Value>, name: &'static str| match value {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(wrong(name, "true or false", other)),
        };
        let echo = flag(fields.remove("echo").as_ref(), "echo")?;
        let is_stream = flag(fields.get("stream"), "stream")?;
        fields.entry("max_tokens").or_insert_with(|| DEFAULT_TOKENS.into());
        Ok(Self { prompts, echo, is_stream, count, shared: fields })
    }

    /// The request for a chat completion of one prompt.
    pub(super) fn body(&self, prompt: &str) -> Result<CheckedBody, Refusal> {
        let mut fields = self.shared.clone();
        fields.insert("messages".to_owned(), json!([{"role": "user", "content": prompt}]));
        let bytes = Bytes::from(Value::Object(fields).to_string());
        CheckedBody::parse(bytes, None).map_err(|error| jobs::submit_refusal(error, None))
    }
}

/// Refuses what a model that answers conversations cannot do.
fn refuse_others(fields: &mut Map<String, Value>, count: u64) -> Result<(), Refusal> {
    if let Some(suffix) = fields.remove("suffix").filter(|suffix| *suffix != "") {
        return Err(wrong("suffix", "nothing, as these models do not fill in the middle of a text", &suffix));
    }
    if let Some(asked) = fields.remove("logprobs") {
        let expected = "nothing, as only chat completions have them (`logprobs`, `top_logprobs`)";
        return Err(wrong("logprobs", expected, &asked));
    }
    if let Some(best_of) = fields.remove("best_of").filter(|best| best.as_u64() != Some(count)) {
        return Err(wrong("best_of", "nothing or the same as `n`", &best_of));
    }
    Ok(())
}

fn prompts(prompt: Option<Value>) -> Result<Vec<String>, Refusal> {
    const EXPECTED: &str = "a text or a list of 1 to 32 texts, no token ids";
    match prompt {
        None => Err(Refusal::field("prompt", format!("prompt: expected {EXPECTED}, got none"))),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(all)) if (1..=MAX_PROMPTS).contains(&all.len()) => {
            let text = |value| match value {
                Value::String(text) => Ok(text),
                other => Err(wrong("prompt", EXPECTED, &other)),
            };
            all.into_iter().map(text).collect()
        }
        Some(Value::Array(all)) => {
            Err(Refusal::field("prompt", format!("prompt: expected {EXPECTED}, got {} of them", all.len())))
        }
        Some(other) => Err(wrong("prompt", EXPECTED, &other)),
    }
}

fn wrong(name: &'static str, expected: &str, got: &Value) -> Refusal {
    Refusal::field(name, format!("{name}: expected {expected}, got {}", quoted(&got.to_string())))
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
            "echo": true, "stop": ["\n"], "temperature": 0}));
        let asked = asked.unwrap();
        assert_eq!((asked.prompts.len(), asked.echo, asked.is_stream, asked.count), (2, true, false, 2));
        let body: Value = serde_json::from_slice(asked.body("b").unwrap().bytes()).unwrap();
        let expected = json!({"model": "m", "messages": [{"role": "user", "content": "b"}], "n": 2,
            "stop": ["\n"], "temperature": 0, "max_tokens": 16});
        assert_eq!(body, expected);
    }

    #[test]
    fn what_conversations_have_no_word_for_is_refused_by_name() {
        let many = vec!["a"; 33];
        for (body, words) in [
            (json!({}), "prompt: expected a text or a list of 1 to 32 texts, no token ids, got none"),
            (json!({"prompt": []}), "got 0 of them"),
            (json!({"prompt": many}), "got 33 of them"),
            (
                json!({"prompt": [1, 2]}),
                "prompt: expected a text or a list of 1 to 32 texts, no token ids, got \"1\"",
            ),
            (json!({"prompt": "a", "suffix": "b"}), "suffix: expected nothing"),
            (json!({"prompt": "a", "logprobs": 0}), "logprobs: expected nothing"),
            (json!({"prompt": "a", "best_of": 2}), "best_of: expected nothing or the same as `n`"),
            (json!({"prompt": "a", "echo": 1}), "echo: expected true or false, got \"1\""),
            (json!({"prompt": ["a", "b"], "dry_run": true}), "dry_run: expected one prompt"),
        ] {
            let refused = read(&body).unwrap_err();
            assert!(refused.contains(words), "{body}: {refused}");
        }
    }
}
