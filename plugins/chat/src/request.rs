//! A chat completion request, checked: every known field, its shape and its limits. Whether a field is sent is not
//! decided here. Never translates.

pub(crate) mod messages;
pub(crate) mod parts;
pub(crate) mod response_format;
pub(crate) mod tools;

use gatehouse_sdk::{Facts, Refusal};
use gatehouse_text_protocols::files::{self, base64_bytes};
use gatehouse_text_protocols::limits::MAX_STOPS;
use serde_json::value::RawValue;

use gatehouse_text_protocols::check::{
    Checked, array, boolean, choice, integer, is_empty, map, number, object, once_each, required, shown,
    string, wrong,
};
use gatehouse_text_protocols::json::{JsonString, Object, is_null, items, whole};
use gatehouse_text_protocols::names::{FOREIGN_TO_CHAT, check_case, check_foreign};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::rules::Rules;
use gatehouse_text_protocols::tool_names;

use messages::Message;
use response_format::ResponseFormat;
use tools::{Tool, ToolChoice};

/// Values of `reasoning_effort`.
pub(crate) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const MAX_ANSWERS: i64 = 128;

/// The cap on output tokens the client named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    pub(crate) field: &'static str,
    pub(crate) tokens: u32,
}

/// What the host estimates the input of a request from, collected while it is read.
#[derive(Default)]
pub(crate) struct InputEstimate<'a> {
    /// Bytes of text the model reads.
    pub(crate) input_bytes: u64,
    /// Images the model reads, pages of documents, and sounds by their length.
    pub(crate) pictures: u32,
    /// Something in the messages has a form that a chat provider may not take, or is there for another one.
    pub(crate) is_odd: bool,
    /// Strings of files, in the order of the request, and the JSON that a chat provider is sent in place of each.
    pub(crate) files: Vec<(JsonString<'a>, String)>,
    /// The files that the host cut out of the request.
    pub(crate) blobs: &'a [Facts],
}

impl InputEstimate<'_> {
    /// Counts a text. One the host cut out as a blob is base64, 4 bytes for 3 of the file.
    pub(crate) fn count(&mut self, text: JsonString<'_>) {
        let cut = parts::blob(self.blobs, text.inner());
        self.input_bytes += cut.map_or_else(|| text.len(), |facts| base64_bytes(facts.bytes));
    }

    /// Counts a value that the model reads as it is.
    pub(crate) fn count_raw(&mut self, raw: &RawValue) {
        self.input_bytes += self.bytes(raw);
    }

    /// Bytes of a value as the provider reads it.
    pub(crate) fn bytes(&self, raw: &RawValue) -> u64 {
        files::written_bytes(raw.get(), files::sizes(self.blobs))
    }
}

/// A checked request.
#[derive(Default)]
pub(crate) struct Request<'a> {
    pub(crate) body: Object<'a>,
    pub(crate) model: Option<JsonString<'a>>,
    pub(crate) messages: Vec<Message<'a>>,
    pub(crate) cap: Option<Cap>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) stops: Vec<JsonString<'a>>,
    pub(crate) streaming: bool,
    /// The client asked for the chunk with the token counts.
    pub(crate) counted: bool,
    /// The number of answers, `n`.
    pub(crate) answers: u32,
    pub(crate) effort: Option<&'static str>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) choice: Option<ToolChoice<'a>>,
    pub(crate) parallel: Option<bool>,
    pub(crate) format: ResponseFormat<'a>,
    pub(crate) user: Option<JsonString<'a>>,
    /// Bytes of the `prediction`: what of it the model does not write is charged as if it had.
    pub(crate) predicted_bytes: u32,
    pub(crate) estimate: InputEstimate<'a>,
}

impl<'a> Request<'a> {
    /// Checks `json`. The host replaced large base64 data in it by `blobs`.
    pub(crate) fn read(json: &'a str, blobs: &'a [Facts], rules: &Rules) -> Checked<Self> {
        let body = Object::parse(json).ok_or_else(|| not_an_object(json))?;
        check_case(&Path::BRACKETED, &body)?;
        once_each(&Path::BRACKETED, &body)?;
        let estimate = InputEstimate { blobs, ..InputEstimate::default() };
        let mut request = Self { answers: 1, estimate, ..Self::default() };
        for (name, raw) in body.iter().filter(|(_, raw)| !is_null(raw)) {
            let path = Path::BRACKETED.key(name);
            request.field(&path, name, raw, rules)?;
        }
        request.check_combinations(&body)?;
        let is_passed = |name: &str| rules.chat_passes(name);
        check_foreign(&Path::BRACKETED, &body, FOREIGN_TO_CHAT, is_passed)?;
        request.body = body;
        Ok(request)
    }

    /// Reads one field, if it is a known one.
    fn field(&mut self, path: &Path<'_>, name: &str, raw: &'a RawValue, rules: &Rules) -> Checked<()> {
        match name {
            "model" => self.model = Some(string(path, raw)?),
            "messages" => self.messages = messages::read(path, raw, rules, &mut self.estimate)?,
            "max_completion_tokens" => self.cap = Some(cap(path, raw, "max_completion_tokens")?),
            // Deprecated: `max_completion_tokens` wins.
            "max_tokens" => {
                let cap = cap(path, raw, "max_tokens")?;
                self.cap.get_or_insert(cap);
            }
            "temperature" => self.temperature = Some(number(path, raw, 0.0..=2.0)?),
            "top_p" => self.top_p = Some(number(path, raw, 0.0..=1.0)?),
            "stop" => self.stops = stops(path, raw)?,
            "n" => self.answers = integer(path, raw, 1..=MAX_ANSWERS)?.unsigned_abs() as u32,
            "stream" => self.streaming = boolean(path, raw)?,
            "stream_options" => self.stream_options(path, raw)?,
            "reasoning_effort" => self.effort = Some(choice(path, raw, &EFFORTS)?),
            "tools" => self.tools = tools::tools(path, raw, &mut self.estimate)?,
            "tool_choice" => self.choice = Some(tools::tool_choice(path, raw)?),
            "parallel_tool_calls" => self.parallel = Some(boolean(path, raw)?),
            "response_format" => self.format = ResponseFormat::read(path, raw, &mut self.estimate)?,
            "user" => self.user = Some(string(path, raw)?),
            "functions" => {
                array(path, raw)?;
                self.estimate.count_raw(raw);
            }
            "prediction" => {
                object(path, raw)?;
                self.predicted_bytes = clamp(self.estimate.bytes(raw));
            }
            _ => check_shape(path, name, raw)?,
        }
        Ok(())
    }

    /// Whether it offers functions in the older way.
    pub(crate) fn has_functions(&self) -> bool {
        self.body.get("functions").is_some_and(|raw| !is_empty(raw))
    }

    /// Names of tools that a Messages provider does not take as they are.
    pub(crate) fn renamed(&self) -> Vec<(String, String)> {
        let names = self.tools.iter().filter_map(|tool| match tool {
            Tool::Function(function) => Some(function.name.decoded()),
            Tool::Custom => None,
        });
        tool_names::renamed(names, tool_names::MESSAGES_MAX)
    }

    fn stream_options(&mut self, path: &Path<'_>, raw: &RawValue) -> Checked<()> {
        let options = object(path, raw)?;
        for name in ["include_usage", "include_obfuscation"] {
            let Some(raw) = options.get(name) else { continue };
            let on = boolean(&path.key(name), raw)?;
            self.counted |= on && name == "include_usage";
        }
        Ok(())
    }

    /// Checks fields against each other.
    fn check_combinations(&self, body: &Object<'_>) -> Checked<()> {
        required(&Path::BRACKETED, body, "model", "a string")?;
        required(&Path::BRACKETED, body, "messages", "an array")?;
        if let Some(options) = body.get("stream_options").filter(|_| !self.streaming && self.counted) {
            return Err(wrong(
                &Path::BRACKETED.key("stream_options"),
                "nothing unless `stream` is true",
                Some(options),
            ));
        }
        let logprobs = body.get("logprobs").is_some_and(|raw| raw.get() == "true");
        if let Some(top) = body.get("top_logprobs").filter(|top| !logprobs && whole(top) != Some(0)) {
            return Err(wrong(
                &Path::BRACKETED.key("top_logprobs"),
                "nothing unless `logprobs` is true",
                Some(top),
            ));
        }
        Ok(())
    }
}

/// The refusal of a body that is not an object.
pub(crate) fn not_an_object(json: &str) -> Refusal {
    let message = match serde_json::from_str::<&RawValue>(json) {
        Ok(raw) => format!("expected a JSON object, got {}", shown(raw)),
        Err(error) => format!("The request body is not valid JSON: {error}"),
    };
    Refusal::Invalid { field: None, message }
}

fn cap(path: &Path<'_>, raw: &RawValue, field: &'static str) -> Checked<Cap> {
    let tokens = integer(path, raw, 1..=i64::from(u32::MAX))?;
    Ok(Cap { field, tokens: u32::try_from(tokens).unwrap_or(u32::MAX) })
}

fn stops<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Vec<JsonString<'a>>> {
    if let Some(one) = JsonString::of(raw) {
        return Ok(vec![one]);
    }
    let expected = "a string or an array of at most 4 strings";
    let all = items(raw).filter(|all| all.len() <= MAX_STOPS);
    let all = all.ok_or_else(|| wrong(path, expected, Some(raw)))?;
    all.into_iter().enumerate().map(|(at, raw)| string(&path.index(at), raw)).collect()
}

/// Checks the shape of a field that only the provider acts on.
fn check_shape(path: &Path<'_>, name: &str, raw: &RawValue) -> Checked<()> {
    match name {
        "frequency_penalty" | "presence_penalty" => number(path, raw, -2.0..=2.0).map(drop),
        "seed" => integer(path, raw, i64::MIN..=i64::MAX).map(drop),
        "logprobs" | "store" => boolean(path, raw).map(drop),
        "top_logprobs" => integer(path, raw, 0..=20).map(drop),
        "verbosity" => choice(path, raw, &["low", "medium", "high"]).map(drop),
        "service_tier" | "safety_identifier" | "prompt_cache_key" | "prompt_cache_retention" => {
            string(path, raw).map(drop)
        }
        "logit_bias" => {
            let biases = map(path, raw)?;
            biases.iter().try_for_each(|(token, raw)| number(&path.key(token), raw, -100.0..=100.0).map(drop))
        }
        "metadata" => map(path, raw)?.iter().try_for_each(|(key, raw)| string(&path.key(key), raw).map(drop)),
        "modalities" => {
            let mut kinds = array(path, raw)?.into_iter().enumerate();
            kinds.try_for_each(|(at, raw)| choice(&path.index(at), raw, &["text", "audio"]).map(drop))
        }
        "function_call" if JsonString::of(raw).is_some() => choice(path, raw, &["none", "auto"]).map(drop),
        "audio" | "function_call" | "moderation" | "web_search_options" => object(path, raw).map(drop),
        _ => Ok(()),
    }
}
