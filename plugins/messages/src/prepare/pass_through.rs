//! A call to a Messages provider: the client's bytes, but for the few values that must change.

use gatehouse_sdk::{Call, Refusal, TextRequest};

use gatehouse_text_protocols::field_names::{FieldNames, Origins};
use gatehouse_text_protocols::json::{Raw, UniqueObject, Writer, is_null, items, quote};
use gatehouse_text_protocols::rules::Rules;

use crate::request::thinking::ThinkingPlan;
use crate::request::tools::Tool;
use crate::request::{Request, extras};

/// The call, and where its fields came from.
///
/// # Errors
/// What the model of this route does not take.
pub(crate) fn call(
    request: &Request<'_>,
    text_request: &TextRequest,
    rules: &Rules,
) -> Result<(Call, FieldNames), Refusal> {
    let betas = request.tools.iter().filter_map(|tool| match tool {
        Tool::Typed { beta, .. } => beta.as_deref(),
        Tool::Custom { .. } => None,
    });
    let betas = betas.chain(extras::betas(&request.fields, rules));
    let call = rules.messages_call(text_request, body(request, text_request, rules), betas);
    Ok((call, fields(request)))
}

/// The lists of which items are not sent, so that the provider's numbers are not the client's.
fn fields(request: &Request<'_>) -> FieldNames {
    let mut lists = request.findings.shortened.clone();
    if let Some(order) = &request.order {
        // What a model is told instead of the last message stands in its place.
        let told = request.told.is_some().then(|| request.messages.len() - 1);
        lists.push(("messages".to_owned(), order.iter().copied().chain(told).collect()));
    }
    if lists.is_empty() {
        return FieldNames::default();
    }
    FieldNames::of(Origins::shortened(lists)).kept()
}

fn body(request: &Request<'_>, text_request: &TextRequest, rules: &Rules) -> String {
    let mut out = Writer::new(text_request.body.len() + 256);
    let plan = &request.plan;
    out.string("model", &text_request.route.upstream);
    for (name, value) in request.fields.iter().filter(|(_, value)| !is_null(value)) {
        match name {
            "model" => {}
            "max_tokens" => out.member(name, &plan.max_tokens.to_string()),
            "thinking" => {
                if let Some(thinking) = &plan.thinking {
                    out.member(name, thinking);
                }
            }
            "temperature" => out.optional(name, request.temperature),
            "top_p" => out.optional(name, request.top_p),
            "top_k" => request.top_k.iter().for_each(|value| out.integer(name, value)),
            "output_config" if plan.effort.is_some() => {}
            "messages" => messages(request, value, out.name(name)),
            "system" if request.system.is_empty() => {}
            _ if !extras::is_sent(name, rules) => {}
            _ => request.findings.edits.write(value, out.name(name)),
        }
    }
    if let (Some(thinking), None) = (&plan.thinking, request.fields.get("thinking")) {
        out.member("thinking", thinking);
    }
    if let Some(config) = output_config(request.fields.get("output_config"), plan) {
        out.member("output_config", &config);
    }
    out.done()
}

/// The client's messages, in the order in which they are sent.
fn messages(request: &Request<'_>, value: Raw<'_>, out: &mut String) {
    let edits = &request.findings.edits;
    let Some((order, all)) = request.order.as_ref().zip(items(value)) else {
        return edits.write(value, out);
    };
    let mut separator = '[';
    for at in order {
        out.push(separator);
        edits.write(all[*at], out);
        separator = ',';
    }
    if let Some(told) = &request.told {
        out.push(separator);
        out.push_str(r#"{"role":"user","content":"#);
        quote(told, out);
        out.push('}');
    }
    out.push(']');
}

/// The client's `output_config` with an `effort`, its own if it has one.
fn output_config(given: Option<Raw<'_>>, plan: &ThinkingPlan<'_>) -> Option<String> {
    let effort = plan.effort?;
    let given: UniqueObject<'_> =
        given.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let mut out = Writer::new(64);
    out.members(given.iter().filter(|(_, value)| !is_null(value)));
    if given.get("effort").is_none() {
        out.string("effort", effort);
    }
    Some(out.done())
}
