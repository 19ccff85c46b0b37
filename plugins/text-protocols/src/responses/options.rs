//! The fields of a request beside its conversation and its tools, checked. What is not offered is refused by name.

use crate::check::{
    Checked, array, asks_for_nothing, boolean, choice, in_provider_words, integer, map, nonempty_string,
    number, object, once_each, required, string, wrong,
};
use crate::json::{JsonString, Object, Raw, is_null, quoted};
use crate::names::{FOREIGN_TO_RESPONSES, check_case, check_foreign};
use crate::path::Path;

use super::input::HISTORY;
use super::request::Target;

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/// Values of `include`; what they ask for is given where there is any.
const INCLUDES: [&str; 8] = [
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    LOGPROBS,
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];
const LOGPROBS: &str = "message.output_text.logprobs";
const NO_LOGPROBS: &str = "probabilities of tokens are not available from this model";
const TIERS: [&str; 7] = ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"];
/// Fields of the protocol that are not offered.
const REFUSED: [&str; 3] = ["context_management", "conversation", "prompt"];
const MIN_OUTPUT_TOKENS: i64 = 16;
const MAX_PAIRS: usize = 16;
const MAX_KEY: usize = 64;
const MAX_VALUE: usize = 512;
const MAX_IDENTIFIER: usize = 128;

/// Checked fields.
#[derive(Debug, Default)]
pub(super) struct Options<'a> {
    pub(super) model: Option<JsonString<'a>>,
    pub(super) instructions: Option<JsonString<'a>>,
    pub(super) streaming: bool,
    pub(super) effort: Option<&'static str>,
    pub(super) summary: Option<&'static str>,
    pub(super) verbosity: Option<&'static str>,
    /// `text.format`, and the same as a chat `response_format`.
    pub(super) format: Option<(Raw<'a>, String)>,
    pub(super) max_output_tokens: Option<u32>,
    /// Log probabilities of the text's tokens are asked for.
    pub(super) logprobs: bool,
    /// So many alternatives of each token.
    pub(super) top_logprobs: u64,
    /// Fields that the protocol does not have: sent where the model's `pass` lists them, else ignored.
    pub(super) others: Vec<(String, Raw<'a>)>,
    /// The provider has log probabilities.
    has_logprobs: bool,
}

impl<'a> Options<'a> {
    /// `has_logprobs` says whether the provider has log probabilities of tokens.
    pub(super) fn read(body: &Object<'a>, target: &Target<'_>) -> Checked<Self> {
        let mut options = Self { has_logprobs: !target.is_messages, ..Self::default() };
        check_case(&Path::BRACKETED, body)?;
        once_each(&Path::BRACKETED, body)?;
        for (name, raw) in body.iter().filter(|(_, raw)| !is_null(raw)) {
            let path = Path::BRACKETED.key(name);
            let is_known = options.field(&path, name, raw)?;
            if !is_known && name != HISTORY && !asks_for_nothing(name, raw) {
                options.others.push((name.to_owned(), raw));
            }
        }
        if body.get("input").is_some() {
            check_foreign(&Path::BRACKETED, body, FOREIGN_TO_RESPONSES, |name| target.passes(name))?;
        }
        if body.get("input").is_none() {
            let hint = if body.get("messages").is_some() { " (this endpoint has no `messages`)" } else { "" };
            return Err(wrong(&Path::BRACKETED.key("input"), &format!("a string or an array{hint}"), None));
        }
        required(&Path::BRACKETED, body, "model", "a string")?;
        Ok(options)
    }

    /// Reads one field; whether it is a known one.
    fn field(&mut self, path: &Path<'_>, name: &str, raw: Raw<'a>) -> Checked<bool> {
        match name {
            "model" => self.model = Some(nonempty_string(path, raw)?),
            "instructions" => self.instructions = Some(string(path, raw)?),
            "stream" => self.streaming = boolean(path, raw)?,
            "reasoning" => self.reasoning(path, raw)?,
            "text" => self.text(path, raw)?,
            "max_output_tokens" => self.max_output_tokens = Some(max_output_tokens(path, raw)?),
            "include" => self.include(path, raw)?,
            "top_logprobs" => self.top_logprobs(path, raw)?,
            // Read by `tools`, `tool_choice` and `conversation`.
            "input" | "tools" | "tool_choice" => {}
            _ => return check(path, name, raw),
        }
        Ok(true)
    }

    fn reasoning(&mut self, path: &Path<'_>, raw: Raw<'_>) -> Checked<()> {
        let reasoning = object(path, raw)?;
        let read = |name: &str, allowed: &[&'static str]| {
            reasoning.get(name).map(|raw| choice(&path.key(name), raw, allowed)).transpose()
        };
        self.effort = read("effort", &EFFORTS)?;
        self.summary = read("summary", &["auto", "concise", "detailed"])?;
        Ok(())
    }

    fn include(&mut self, path: &Path<'_>, raw: Raw<'_>) -> Checked<()> {
        for (at, raw) in array(path, raw)?.into_iter().enumerate() {
            let path = path.index(at);
            if choice(&path, raw, &INCLUDES)? == LOGPROBS {
                if !self.has_logprobs {
                    return Err(wrong(&path, &format!("nothing of them: {NO_LOGPROBS}"), Some(raw)));
                }
                self.logprobs = true;
            }
        }
        Ok(())
    }

    /// A client that says how many alternatives it wants, wants them, whether or not `include` says so too.
    fn top_logprobs(&mut self, path: &Path<'_>, raw: Raw<'_>) -> Checked<()> {
        self.top_logprobs = integer(path, raw, 0..=20)?.unsigned_abs();
        if self.top_logprobs > 0 && !self.has_logprobs {
            return Err(wrong(path, &format!("0, {NO_LOGPROBS}"), Some(raw)));
        }
        self.logprobs |= self.top_logprobs > 0;
        Ok(())
    }

    fn text(&mut self, path: &Path<'_>, raw: Raw<'a>) -> Checked<()> {
        let text = object(path, raw)?;
        if let Some(raw) = text.get("verbosity") {
            self.verbosity = Some(choice(&path.key("verbosity"), raw, &["low", "medium", "high"])?);
        }
        let Some(raw) = text.get("format") else { return Ok(()) };
        let child = path.key("format");
        let format = object(&child, raw)?;
        let kind = required(&child, &format, "type", "`text`, `json_object` or `json_schema`")?;
        let chat = match choice(&child.key("type"), kind, &["text", "json_object", "json_schema"])? {
            "json_schema" => schema(&child, &format)?,
            kind => format!("{{\"type\":{}}}", quoted(kind)),
        };
        self.format = Some((raw, chat));
        Ok(())
    }
}

/// A `json_schema` format as chat nests it.
fn schema(path: &Path<'_>, format: &Object<'_>) -> Checked<String> {
    nonempty_string(&path.key("name"), required(path, format, "name", "a string")?)?;
    map(&path.key("schema"), required(path, format, "schema", "an object")?)?;
    let own = |name: &str| matches!(name, "name" | "schema" | "strict" | "description");
    let members = format.iter().filter(|(name, raw)| own(name) && !is_null(raw));
    let nested: crate::json::Writer = members.map(|(name, raw)| (name, raw.get())).collect();
    Ok(format!("{{\"type\":\"json_schema\",\"json_schema\":{}}}", nested.done()))
}

fn max_output_tokens(path: &Path<'_>, raw: Raw<'_>) -> Checked<u32> {
    let tokens = integer(path, raw, i64::MIN..=i64::MAX)?;
    if tokens > i64::from(u32::MAX) {
        let expected = format!("an integer from {MIN_OUTPUT_TOKENS} to {}", u32::MAX);
        return Err(wrong(path, &expected, Some(raw)));
    }
    if tokens < MIN_OUTPUT_TOKENS {
        let message = format!(
            "Invalid '{path}': integer below minimum value. Expected a value >= {MIN_OUTPUT_TOKENS}, but got \
             {tokens} instead."
        );
        return Err(in_provider_words(&path.to_string(), message));
    }
    Ok(u32::try_from(tokens).unwrap_or(u32::MAX))
}

/// Checks a field whose value needs no reading; whether it is a known one.
fn check(path: &Path<'_>, name: &str, raw: Raw<'_>) -> Checked<bool> {
    if REFUSED.contains(&name) && asks_for_nothing(name, raw) {
        return Ok(true);
    }
    let refused = |expected: &str| Err(wrong(path, expected, Some(raw)));
    let checked = match name {
        "background" if boolean(path, raw)? => {
            refused("false, background responses are not available; use `stream`")
        }
        "background" => Ok(()),
        "store" | "parallel_tool_calls" => boolean(path, raw).map(drop),
        "prompt" => refused("nothing, there are no stored prompts here"),
        "conversation" => refused("nothing, use `previous_response_id`"),
        "context_management" => refused("nothing, the conversation is never shortened here"),
        "temperature" => number(path, raw, 0.0..=2.0).map(drop),
        "top_p" => number(path, raw, 0.0..=1.0).map(drop),
        "max_tool_calls" => integer(path, raw, 1..=i64::MAX).map(drop),
        "truncation" => choice(path, raw, &["disabled", "auto"]).map(drop),
        "service_tier" => choice(path, raw, &TIERS).map(drop),
        "metadata" => metadata(path, raw),
        "safety_identifier" if string(path, raw)?.decoded().chars().count() > MAX_IDENTIFIER => {
            refused("a string of at most 128 characters")
        }
        "safety_identifier" => Ok(()),
        "previous_response_id" | "prompt_cache_key" | "prompt_cache_retention" | "user" => {
            string(path, raw).map(drop)
        }
        "stream_options" => object(path, raw).map(drop),
        _ => return Ok(false),
    };
    checked.map(|()| true)
}

fn metadata(path: &Path<'_>, raw: Raw<'_>) -> Checked<()> {
    let pairs = map(path, raw)?;
    if pairs.iter().count() > MAX_PAIRS {
        return Err(wrong(path, "an object of at most 16 members", Some(raw)));
    }
    for (key, raw) in pairs.iter() {
        let child = path.key(key);
        if key.chars().count() > MAX_KEY {
            return Err(wrong(&child, "a name of at most 64 characters", Some(raw)));
        }
        if string(&child, raw)?.decoded().chars().count() > MAX_VALUE {
            return Err(wrong(&child, "a string of at most 512 characters", Some(raw)));
        }
    }
    Ok(())
}
