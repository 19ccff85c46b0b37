//! What a response needs to know of its request, and the response object itself.

use gatehouse_sdk::Usage;
use serde::{Deserialize, Serialize};

use crate::json::{JsonString, Object, Writer, quote, quoted};

use super::options::Options;
use super::request::Target;
use super::sealed::{self, Owner};
use super::tools::Tools;

/// Kept between a request and its response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// Ends every id: one response's items have ids of their own, and the same ones however often they are made.
    suffix: String,
    /// Seconds since the epoch.
    created: u64,
    /// The model as the client named it.
    model: String,
    /// Members that repeat the request, JSON without braces.
    members: String,
    /// Names of functions that stand for custom tools.
    custom: Vec<String>,
    /// Names of functions in a namespace: the name, the namespace, the bare name.
    spaces: Vec<(String, String, String)>,
    customer: String,
    upstream: String,
}

/// How a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    InProgress,
    Completed,
    /// With its reason.
    Incomplete(&'static str),
}

impl Ending {
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
        }
    }
}

impl Echo {
    pub(super) fn new(body: &Object<'_>, options: &Options<'_>, tools: Tools, target: &Target<'_>) -> Self {
        Self {
            suffix: format!("{:012x}{:016x}", target.now, target.seed),
            created: target.now / 1000,
            model: options.model.map(JsonString::decoded).unwrap_or_default().into_owned(),
            members: echoed(body, options),
            custom: tools.custom,
            spaces: tools.spaces,
            customer: target.customer.to_owned(),
            upstream: target.upstream.to_owned(),
        }
    }

    /// The id of an item, by its kind's prefix and its position.
    pub(super) fn item_id(&self, prefix: &str, position: usize) -> String {
        format!("{prefix}_{}{position:02x}", self.suffix)
    }

    pub(super) fn is_custom(&self, name: &str) -> bool {
        self.custom.iter().any(|known| known == name)
    }

    /// The namespace of a function and its name there.
    pub(super) fn space(&self, name: &str) -> Option<(&str, &str)> {
        let found = self.spaces.iter().find(|(flat, ..)| flat == name);
        found.map(|(_, space, bare)| (space.as_str(), bare.as_str()))
    }

    pub(super) fn seal(&self, block: &str) -> String {
        sealed::seal(Owner { customer: &self.customer, upstream: &self.upstream }, block)
    }

    /// The response object; `output` is JSON of its items.
    pub(super) fn object(&self, ending: Ending, output: &str, usage: Option<(Usage, u64)>) -> String {
        let mut out = Writer::new(output.len() + self.members.len() + 512);
        quote(&format!("resp_{}", self.suffix), out.name("id"));
        out.member("object", "\"response\"");
        out.member("created_at", &self.created.to_string());
        quote(ending.status(), out.name("status"));
        out.member("background", "false");
        out.member("completed_at", "null");
        out.member("error", "null");
        match ending {
            Ending::Incomplete(reason) => {
                out.member("incomplete_details", &format!("{{\"reason\":\"{reason}\"}}"));
            }
            _ => out.member("incomplete_details", "null"),
        }
        quote(&self.model, out.name("model"));
        out.member("output", output);
        out.member(
            "usage",
            &usage.map_or_else(|| "null".to_owned(), |(usage, reasoning)| counts(usage, reasoning)),
        );
        let mut json = out.done();
        json.truncate(json.len() - 1);
        json.push(',');
        json.push_str(&self.members);
        json.push('}');
        json
    }
}

/// `usage` of a response: the input includes what was read from a cache or written to one.
fn counts(usage: Usage, reasoning: u64) -> String {
    let Usage { input, output, cached, cache_write, .. } = usage;
    let read = input.saturating_add(cached).saturating_add(cache_write);
    format!(
        "{{\"input_tokens\":{read},\"input_tokens_details\":{{\"cached_tokens\":{cached},\"cache_write_tokens\":\
         {cache_write}}},\"output_tokens\":{output},\"output_tokens_details\":{{\"reasoning_tokens\":{reasoning}}},\
         \"total_tokens\":{}}}",
        read.saturating_add(output)
    )
}

/// The members of a response that repeat its request, JSON without braces.
fn echoed(body: &Object<'_>, options: &Options<'_>) -> String {
    let mut out = Writer::new(512);
    let or = |name: &str, default: &'static str| body.get(name).map_or(default, |raw| raw.get()).to_owned();
    let word = |word: Option<&str>| word.map_or_else(|| "null".to_owned(), quoted);
    let format = options.format.as_ref().map_or(r#"{"type":"text"}"#, |(raw, _)| raw.get());
    let verbosity = options.verbosity.unwrap_or("medium");
    for (name, json) in [
        ("instructions", or("instructions", "null")),
        ("max_output_tokens", or("max_output_tokens", "null")),
        ("max_tool_calls", or("max_tool_calls", "null")),
        ("metadata", or("metadata", "{}")),
        ("parallel_tool_calls", or("parallel_tool_calls", "true")),
        ("previous_response_id", or("previous_response_id", "null")),
        ("prompt_cache_key", or("prompt_cache_key", "null")),
        (
            "reasoning",
            format!("{{\"effort\":{},\"summary\":{}}}", word(options.effort), word(options.summary)),
        ),
        ("safety_identifier", or("safety_identifier", "null")),
        ("service_tier", "\"default\"".to_owned()),
        ("store", or("store", "true")),
        ("temperature", or("temperature", "1")),
        ("text", format!("{{\"format\":{format},\"verbosity\":\"{verbosity}\"}}")),
        ("tool_choice", or("tool_choice", "\"auto\"")),
        ("tools", or("tools", "[]")),
        ("top_logprobs", options.top_logprobs.to_string()),
        ("top_p", or("top_p", "1")),
        ("truncation", "\"disabled\"".to_owned()),
        ("user", or("user", "null")),
        ("frequency_penalty", "0".to_owned()),
        ("presence_penalty", "0".to_owned()),
    ] {
        out.member(name, &json);
    }
    let json = out.done();
    json[1..json.len() - 1].to_owned()
}
