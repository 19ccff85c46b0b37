//! A call to a chat provider: the client's bytes, but for the few fields that concern the route, and without those
//! that the provider is not sent.

use serde_json::value::RawValue;

use gatehouse_sdk::Protocol;
use gatehouse_text_protocols::check::{Checked, is_empty};
use gatehouse_text_protocols::json::{Object, Writer, is_null, quote, quoted};

use super::CallPlan;
use super::fitting::Fitting;
use super::thinking;
use super::{echoes, passed};
use crate::request::Request;
use crate::request::tools::ToolChoice;

pub(crate) fn write(request: &Request<'_>, plan: &CallPlan<'_>, fitting: &Fitting) -> Checked<String> {
    if plan.thinking.is_on() && !plan.rules.thinks() {
        return Err(thinking::unsupported(&plan.thinking));
    }
    passed::check(request, plan.rules, Protocol::Chat)?;
    let body = &request.body;
    let size: usize = body.iter().map(|(name, raw)| name.len() + raw.get().len() + 4).sum();
    let mut out = Writer::new(size + 128);
    let (mut capped, mut options) = (false, false);
    for (name, raw) in body.iter() {
        match name {
            "model" => quote(plan.upstream, out.name(name)),
            "messages" => echoes::messages(raw, request, plan.rules, fitting, out.name(name)),
            // Some clients always send the fields of tools; a provider refuses them where there are none.
            "tools" | "parallel_tool_calls" if request.tools.is_empty() => {}
            "tool_choice"
                if request.tools.is_empty() && !request.choice.is_some_and(ToolChoice::is_forced) => {}
            "tools" => echoes::tools(raw, out.name(name)),
            "max_tokens" | "max_completion_tokens" => {
                if let Some(cap) = plan.cap.filter(|_| !capped) {
                    capped = true;
                    out.member(plan.rules.max_tokens_field.name(), &cap.to_string());
                }
            }
            "functions" | "function_call" if !request.has_functions() => {}
            "logit_bias" if is_empty(raw) => {}
            "stream_options" if !request.streaming => {}
            "top_logprobs" if request.body.get("logprobs").is_none_or(|raw| raw.get() != "true") => {}
            "stop" if request.stops.iter().all(|stop| stop.is_empty()) => {}
            // A choice among some tools is sent as the client wrote it, since all tools are sent.
            "tool_choice" if matches!(request.choice, Some(ToolChoice::Required)) => {
                out.string(name, "required");
            }
            "temperature" if !plan.temperature => {}
            "top_p" if !plan.top_p => {}
            "n" | "seed" | "top_logprobs" => out.integer(name, raw),
            "stream_options" if request.streaming && plan.rules.include_usage => {
                options = true;
                out.member(name, &with_usage(raw));
            }
            // The alias decides; `null` would decide otherwise.
            "reasoning_effort" if is_null(raw) => {}
            _ if !passed::is_sent(name, raw, plan.rules, Protocol::Chat) => {}
            _ => out.member(name, raw.get()),
        }
    }
    if let Some(cap) = plan.cap.filter(|_| !capped) {
        out.member(plan.rules.max_tokens_field.name(), &cap.to_string());
    }
    if plan.thinking.alias && plan.thinking.effort.is_none() {
        out.member("reasoning_effort", &quoted("high"));
    }
    if request.streaming && plan.rules.include_usage && !options {
        out.member("stream_options", r#"{"include_usage":true}"#);
    }
    Ok(out.done())
}

/// The client's `stream_options`, with `include_usage`.
fn with_usage(raw: &RawValue) -> String {
    let mut out = Writer::new(raw.get().len() + 24);
    let options = Object::parse(raw.get()).unwrap_or_default();
    out.members(options.iter().filter(|(name, _)| *name != "include_usage"));
    out.member("include_usage", "true");
    out.done()
}
