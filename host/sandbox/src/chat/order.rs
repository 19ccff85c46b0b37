//! A request's body, judged from its top: fields, limits, and the rules of its model.

use serde_json::Value;

use super::message::{self, Message};
use super::refusal::Refusal;
use super::rules::{FIELDS, MODELS, Model, NEWER};
use super::shape::{Judged, Shape, unfit};
use super::tools::{self, Choice, Tool};

/// A request that passed.
pub(super) struct Order<'a> {
    pub(super) model: &'static Model,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) choice: Choice<'a>,
    pub(super) parallel: bool,
    /// Of an answer; the model's own where the request names none.
    pub(super) max_tokens: u64,
    pub(super) stops: Vec<&'a str>,
    pub(super) count: usize,
    pub(super) format: Format<'a>,
    pub(super) effort: Option<&'a str>,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    pub(super) obfuscated: bool,
    pub(super) prompt_tokens: u64,
}

/// What the answer has to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format<'a> {
    Json,
    Schema(&'a Value),
    Text,
}

/// Judges a body.
pub(super) fn judge(body: &Value) -> Judged<Order<'_>> {
    let body = Shape::of("", body).map_err(|_| Refusal::bad("The request body must be a JSON object."))?;
    let Some(name) = body.maybe("model") else {
        return Err(Refusal::bad("you must provide a model parameter"));
    };
    let name = name.as_str().ok_or_else(|| unfit("model", "a string", name))?;
    let model = MODELS.iter().find(|model| model.id == name).ok_or_else(|| Refusal::model(name))?;
    if model.clone
        && let Some(newer) = NEWER.iter().find(|newer| body.maybe(newer).is_some())
    {
        return Err(Refusal::bad(format!("Unrecognized request argument supplied: {newer}")));
    }
    body.only(FIELDS)?;
    for unsupported in ["functions", "function_call", "audio", "web_search_options"] {
        if body.maybe(unsupported).is_some() {
            let words = format!("Unsupported parameter: '{unsupported}' is not supported with this model.");
            return Err(Refusal::invalid(unsupported, Some("unsupported_parameter"), words));
        }
    }
    let max_tokens = length(&body, model)?;
    sampling(&body, model)?;
    let stops = stops(&body, model)?;
    let count = usize::try_from(body.whole("n", 1, 128)?.unwrap_or(1)).unwrap_or(1);
    let (stream, include_usage, obfuscated) = streaming(&body)?;
    let effort = effort(&body, model)?;
    small(&body)?;
    let tools = tools::judge(&body)?;
    let (choice, parallel) = tools::choice(&body, &tools)?;
    let messages = message::judge(&body, model)?;
    let format = format(&body, &messages)?;
    let prompt_tokens = tools.iter().map(|tool| tool.tokens).sum::<u64>()
        + messages.iter().map(|message| message.content.tokens).sum::<u64>();
    if prompt_tokens > model.context {
        let words = format!(
            "This model's maximum context length is {} tokens. However, your messages resulted in {prompt_tokens} \
             tokens. Please reduce the length of the messages.",
            model.context
        );
        return Err(Refusal::invalid("messages", Some("context_length_exceeded"), words));
    }
    Ok(Order {
        model,
        messages,
        tools,
        choice,
        parallel,
        max_tokens,
        stops,
        count,
        format,
        effort,
        stream,
        include_usage,
        obfuscated,
        prompt_tokens,
    })
}

fn length(body: &Shape<'_>, model: &Model) -> Judged<u64> {
    if model.reasons && body.maybe("max_tokens").is_some() {
        let words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                     'max_completion_tokens' instead.";
        return Err(Refusal::invalid("max_tokens", Some("unsupported_parameter"), words));
    }
    let (old, new) =
        (body.whole("max_tokens", 1, i64::MAX)?, body.whole("max_completion_tokens", 1, i64::MAX)?);
    if old.is_some() && new.is_some() {
        let words = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(Refusal::invalid("max_tokens", Some("invalid_parameter_combination"), words));
    }
    let asked = old.or(new).and_then(|asked| u64::try_from(asked).ok()).unwrap_or(model.max_output);
    if asked > model.max_output {
        let name = if old.is_some() { "max_tokens" } else { "max_completion_tokens" };
        let words = format!(
            "{name} is too large: {asked}. This model supports at most {} completion tokens, whereas you provided {asked}.",
            model.max_output
        );
        return Err(Refusal::invalid(name, Some("invalid_value"), words));
    }
    Ok(asked)
}

fn sampling(body: &Shape<'_>, model: &Model) -> Judged<()> {
    let values = [
        ("temperature", body.number("temperature", 0.0, 2.0)?, 1.0),
        ("top_p", body.number("top_p", 0.0, 1.0)?, 1.0),
        ("frequency_penalty", body.number("frequency_penalty", -2.0, 2.0)?, 0.0),
        ("presence_penalty", body.number("presence_penalty", -2.0, 2.0)?, 0.0),
    ];
    if model.reasons {
        for (name, value, default) in values {
            if let Some(value) = value.filter(|value| (value - default).abs() > f64::EPSILON) {
                let words = format!(
                    "Unsupported value: '{name}' does not support {value} with this model. Only the default \
                     ({default}) value is supported."
                );
                return Err(Refusal::invalid(name, Some("unsupported_value"), words));
            }
        }
    }
    body.whole("seed", i64::MIN, i64::MAX)?;
    if let Some(bias) = body.maybe("logit_bias") {
        let bias = Shape::of("logit_bias", bias)?;
        for token in bias.fields.keys() {
            bias.number(token, -100.0, 100.0)?;
        }
    }
    let logprobs = body.flag("logprobs")?.unwrap_or(false);
    if body.whole("top_logprobs", 0, 20)?.is_some() && !logprobs {
        let words = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.";
        return Err(Refusal::invalid("top_logprobs", None, words));
    }
    Ok(())
}

fn stops<'a>(body: &Shape<'a>, model: &Model) -> Judged<Vec<&'a str>> {
    let Some(value) = body.maybe("stop") else { return Ok(Vec::new()) };
    if model.reasons {
        let words = "Unsupported parameter: 'stop' is not supported with this model.";
        return Err(Refusal::invalid("stop", Some("unsupported_parameter"), words));
    }
    let values = match value {
        Value::String(stop) => return Ok(vec![stop.as_str()]),
        Value::Array(values) => values,
        other => return Err(unfit("stop", "one of a string or array of strings", other)),
    };
    if values.len() > 4 {
        let words = format!(
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length {} instead.",
            values.len()
        );
        return Err(Refusal::invalid("stop", Some("array_above_max_length"), words));
    }
    let stop = |(at, value): (usize, &'a Value)| {
        value.as_str().ok_or_else(|| unfit(&format!("stop[{at}]"), "a string", value))
    };
    values.iter().enumerate().map(stop).collect()
}

/// Whether to stream, to tell usage, to hide lengths.
fn streaming(body: &Shape<'_>) -> Judged<(bool, bool, bool)> {
    let stream = body.flag("stream")?.unwrap_or(false);
    let Some(value) = body.maybe("stream_options") else { return Ok((stream, false, false)) };
    if !stream {
        let words = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(Refusal::invalid("stream_options", None, words));
    }
    let options = Shape::of("stream_options", value)?;
    options.only(&["include_usage", "include_obfuscation"])?;
    let usage = options.flag("include_usage")?.unwrap_or(false);
    Ok((stream, usage, options.flag("include_obfuscation")?.unwrap_or(false)))
}

fn effort<'a>(body: &Shape<'a>, model: &Model) -> Judged<Option<&'a str>> {
    let effort =
        body.word("reasoning_effort", &["none", "minimal", "low", "medium", "high", "xhigh", "max"])?;
    if effort.is_some() && !model.reasons {
        let words = "Unrecognized request argument supplied: reasoning_effort";
        return Err(Refusal::bad(words));
    }
    Ok(effort)
}

/// The fields that only have a shape.
fn small(body: &Shape<'_>) -> Judged<()> {
    body.word("service_tier", &["auto", "default", "flex", "priority"])?;
    body.word("verbosity", &["low", "medium", "high"])?;
    body.flag("store")?;
    for name in ["user", "safety_identifier", "prompt_cache_key"] {
        body.text(name)?;
    }
    if let Some(metadata) = body.maybe("metadata") {
        let metadata = Shape::of("metadata", metadata)?;
        for name in metadata.fields.keys() {
            metadata.text(name)?;
        }
    }
    Ok(())
}

fn format<'a>(body: &Shape<'a>, messages: &[Message<'_>]) -> Judged<Format<'a>> {
    let Some(value) = body.maybe("response_format") else { return Ok(Format::Text) };
    let shape = Shape::of("response_format", value)?;
    match shape.need_word("type", &["json_object", "json_schema", "text"])? {
        "json_object" => {
            let said = messages.iter().any(|it| it.content.text.to_lowercase().contains("json"));
            let words = "'messages' must contain the word 'json' in some form, to use 'response_format' of type \
                         'json_object'.";
            if said { Ok(Format::Json) } else { Err(Refusal::invalid("messages", None, words)) }
        }
        "json_schema" => {
            shape.only(&["type", "json_schema"])?;
            let inner = Shape::of("response_format.json_schema", shape.need("json_schema")?)?;
            inner.only(&["name", "description", "schema", "strict"])?;
            inner.need_text("name")?;
            let schema = inner.need("schema")?;
            Shape::of(inner.path("schema"), schema)?;
            Ok(Format::Schema(schema))
        }
        _ => Ok(Format::Text),
    }
}
