//! A request as its client wrote it, judged: every field of a chat completion, its shape and its limits.
//! Fields nobody knows are kept for providers that know them. Never translates.

use gatehouse_sdk::{Facts, Refusal};
use serde_json::value::RawValue;

use crate::format::Format;
use crate::json::{Object, Text, is_null};
use crate::messages::{self, Message};
use crate::read::{Checked, Path, array, flag, integer, number, object, shown, text, word, wrong};
use crate::tools::{self, Choice, Tool};

/// How hard to think, in this protocol's words.
pub(crate) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const MOST_STOPS: usize = 4;
const MOST_CHOICES: i64 = 128;

/// What the host estimates the input from, and what must be mended in it.
#[derive(Default)]
pub(crate) struct Tally<'a> {
    /// Bytes of text the model reads.
    pub(crate) read: u64,
    /// Pictures, sounds and documents among it.
    pub(crate) pictures: u32,
    /// Strings that held bare base64 before the host cut it out, and must again.
    pub(crate) bare: Vec<Text<'a>>,
}

/// The cap a client named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) field: &'static str,
    pub(crate) tokens: u32,
}

/// A request that passed.
#[derive(Default)]
pub(crate) struct Request<'a> {
    pub(crate) body: Object<'a>,
    pub(crate) model: Option<Text<'a>>,
    pub(crate) messages: Vec<Message<'a>>,
    pub(crate) cap: Option<Named>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) stops: Vec<Text<'a>>,
    pub(crate) streaming: bool,
    /// The client wants the chunk that counts tokens.
    pub(crate) counted: bool,
    /// Answers asked for.
    pub(crate) answers: u32,
    pub(crate) effort: Option<&'static str>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) choice: Option<Choice<'a>>,
    pub(crate) parallel: Option<bool>,
    pub(crate) format: Format<'a>,
    pub(crate) user: Option<Text<'a>>,
    pub(crate) tally: Tally<'a>,
}

impl<'a> Request<'a> {
    /// Judges `json`; `blobs` are those the host cut out of it.
    pub(crate) fn read(json: &'a str, blobs: &[Facts]) -> Checked<Self> {
        let body = Object::parse(json).ok_or_else(|| no_object(json))?;
        let mut request = Self { answers: 1, ..Self::default() };
        for (name, raw) in body.iter().filter(|(_, raw)| !is_null(raw)) {
            let path = Path::Root.key(name);
            if request.field(&path, name, raw, blobs)? && body.count(name) > 1 {
                return Err(wrong(&path, "one value, not the same field twice", Some(raw)));
            }
        }
        request.together(&body)?;
        request.body = body;
        Ok(request)
    }

    /// Reads one field; whether it is a known one.
    fn field(&mut self, path: &Path<'_>, name: &str, raw: &'a RawValue, blobs: &[Facts]) -> Checked<bool> {
        match name {
            "model" => self.model = Some(text(path, raw)?),
            "messages" => self.messages = messages::read(path, raw, blobs, &mut self.tally)?,
            "max_completion_tokens" => self.cap = Some(cap(path, raw, "max_completion_tokens")?),
            // Deprecated: it says nothing beside the other.
            "max_tokens" => {
                let named = cap(path, raw, "max_tokens")?;
                self.cap.get_or_insert(named);
            }
            "temperature" => self.temperature = Some(number(path, raw, 0.0..=2.0)?),
            "top_p" => self.top_p = Some(number(path, raw, 0.0..=1.0)?),
            "stop" => self.stops = stops(path, raw)?,
            "n" => self.answers = integer(path, raw, 1..=MOST_CHOICES)?.unsigned_abs() as u32,
            "stream" => self.streaming = flag(path, raw)?,
            "stream_options" => self.stream_options(path, raw)?,
            "reasoning_effort" => self.effort = Some(word(path, raw, &EFFORTS)?),
            "tools" => self.tools = tools::tools(path, raw, &mut self.tally)?,
            "tool_choice" => self.choice = Some(tools::choice(path, raw)?),
            "parallel_tool_calls" => self.parallel = Some(flag(path, raw)?),
            "response_format" => self.format = Format::read(path, raw, &mut self.tally)?,
            "user" => self.user = Some(text(path, raw)?),
            _ => return plain(path, name, raw),
        }
        Ok(true)
    }

    fn stream_options(&mut self, path: &Path<'_>, raw: &RawValue) -> Checked<()> {
        let options = object(path, raw)?;
        for name in ["include_usage", "include_obfuscation"] {
            let Some(raw) = options.get(name) else { continue };
            let on = flag(&path.key(name), raw)?;
            self.counted |= on && name == "include_usage";
        }
        Ok(())
    }

    /// What fields must be to each other.
    fn together(&self, body: &Object<'_>) -> Checked<()> {
        let needed = |name: &str, what: &str| match body.get(name) {
            Some(_) => Ok(()),
            None => {
                let came = body.iter().find(|(known, _)| *known == name).map(|(_, raw)| raw);
                Err(wrong(&Path::Root.key(name), what, came))
            }
        };
        needed("model", "a string")?;
        needed("messages", "an array")?;
        if let Some(options) = body.get("stream_options").filter(|_| !self.streaming) {
            return Err(wrong(
                &Path::Root.key("stream_options"),
                "nothing unless `stream` is true",
                Some(options),
            ));
        }
        let logprobs = body.get("logprobs").is_some_and(|raw| raw.get() == "true");
        if let Some(top) = body.get("top_logprobs").filter(|_| !logprobs) {
            return Err(wrong(
                &Path::Root.key("top_logprobs"),
                "nothing unless `logprobs` is true",
                Some(top),
            ));
        }
        Ok(())
    }
}

/// What is wrong with a body that is no object.
fn no_object(json: &str) -> Refusal {
    let message = match serde_json::from_str::<&RawValue>(json) {
        Ok(raw) => format!("expected a JSON object, got {}", shown(raw)),
        Err(error) => format!("The request body is not valid JSON: {error}"),
    };
    Refusal::Invalid { field: None, message }
}

fn cap(path: &Path<'_>, raw: &RawValue, field: &'static str) -> Checked<Named> {
    let tokens = integer(path, raw, 1..=i64::from(u32::MAX))?;
    Ok(Named { field, tokens: u32::try_from(tokens).unwrap_or(u32::MAX) })
}

fn stops<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Vec<Text<'a>>> {
    if let Some(one) = Text::of(raw) {
        return Ok(vec![one]);
    }
    let expected = "a string or an array of at most 4 strings";
    let all = crate::json::items(raw).filter(|all| all.len() <= MOST_STOPS);
    let all = all.ok_or_else(|| wrong(path, expected, Some(raw)))?;
    all.into_iter().enumerate().map(|(at, raw)| text(&path.index(at), raw)).collect()
}

/// Fields only a provider of this protocol acts on: their shape alone matters here. Whether it is known.
fn plain(path: &Path<'_>, name: &str, raw: &RawValue) -> Checked<bool> {
    match name {
        "frequency_penalty" | "presence_penalty" => {
            number(path, raw, -2.0..=2.0)?;
        }
        "seed" => {
            integer(path, raw, i64::MIN..=i64::MAX)?;
        }
        "logprobs" | "store" => {
            flag(path, raw)?;
        }
        "top_logprobs" => {
            integer(path, raw, 0..=20)?;
        }
        "verbosity" => {
            word(path, raw, &["low", "medium", "high"])?;
        }
        "service_tier" | "safety_identifier" | "prompt_cache_key" | "prompt_cache_retention" => {
            text(path, raw)?;
        }
        "logit_bias" => {
            for (token, raw) in object(path, raw)?.iter() {
                number(&path.key(token), raw, -100.0..=100.0)?;
            }
        }
        "metadata" => {
            for (key, raw) in object(path, raw)?.iter() {
                text(&path.key(key), raw)?;
            }
        }
        "modalities" => {
            for (at, raw) in array(path, raw)?.into_iter().enumerate() {
                word(&path.index(at), raw, &["text", "audio"])?;
            }
        }
        "functions" => {
            array(path, raw)?;
        }
        "audio" | "prediction" | "web_search_options" | "moderation" => {
            object(path, raw)?;
        }
        "function_call" if Text::of(raw).is_some() => {
            word(path, raw, &["none", "auto"])?;
        }
        "function_call" => {
            object(path, raw)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
