//! From a request to an upstream call: applies the model's rules, then writes the call in the protocol of the
//! route's provider.

mod conversation;
mod echoes;
mod fitting;
mod pass_through;
mod passed;
mod thinking;
mod to_messages;

use std::iter;

use gatehouse_sdk::{Call, Extra, Prepared, Protocol, Refusal, TextRequest};
use gatehouse_text_protocols::check::Checked;
use gatehouse_text_protocols::field_names::{FieldNames, Origins, Translation};
use gatehouse_text_protocols::limits::{
    CALL_TIMEOUT, THINKING_SUFFIX, over_max_output, sampling_field_deprecated,
};
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::rules::{Rules, Sampling};

use crate::request::Request;
use crate::state::State;
use fitting::Fitting;
use thinking::ThinkingRequest;

/// The output cap assumed for a chat provider when neither the client nor the rules name one.
const ASSUMED_MAX_OUTPUT: u32 = 8192;

/// What a translation needs besides the request.
pub(crate) struct CallPlan<'o> {
    pub(crate) rules: &'o Rules,
    /// The provider's name of the model.
    pub(crate) upstream: &'o str,
    /// The cap to be sent, if any.
    pub(crate) cap: Option<u32>,
    /// Whether `temperature` is sent.
    pub(crate) temperature: bool,
    /// Whether `top_p` is sent.
    pub(crate) top_p: bool,
    pub(crate) thinking: ThinkingRequest,
}

pub(crate) fn prepare(text_request: &TextRequest) -> Result<Prepared<State>, Refusal> {
    let route = &text_request.route;
    let rules = Rules::read_lenient(&route.rules);
    let request = Request::read(&text_request.body, &text_request.blobs, &rules)?;
    let is_chat = route.protocol == Protocol::Chat;

    if let (Some(cap), Some(max)) = (request.cap, rules.max_output.filter(|_| rules.strict))
        && cap.tokens > max
    {
        return Err(over_max_output(cap.field, cap.tokens.into(), max, &route.model));
    }
    // It is no more than a limit: clients choose it for the models they know.
    let requested = request.cap.map(|cap| cap.tokens.min(rules.max_output.unwrap_or(u32::MAX)));
    let cap = if is_chat {
        requested.or(rules.default_output)
    } else {
        Some(requested.unwrap_or_else(|| rules.default_max_tokens()))
    };
    let model = request.model.map(|model| model.decoded()).unwrap_or_default();
    let cap_field = request.cap.map_or("max_completion_tokens", |cap| cap.field);
    let thinking = ThinkingRequest {
        alias: model.strip_suffix(THINKING_SUFFIX) == Some(route.model.as_str()),
        effort: request.effort,
        cap: cap.unwrap_or(ASSUMED_MAX_OUTPUT),
        field: cap_field,
        forced_tool: request.choice.is_some_and(|choice| choice.is_forced()),
        unsigned_tool_loop: thinking::tool_loop_lacks_thinking(&request.messages),
    };
    let (temperature, top_p) = sampling(&request, &rules, &thinking, is_chat)?;
    let plan = CallPlan { rules: &rules, upstream: &route.upstream, cap, temperature, top_p, thinking };

    let mut max_output_tokens = cap.or(rules.max_output).unwrap_or(ASSUMED_MAX_OUTPUT);
    let (mut lead, mut names) = (String::new(), Vec::new());
    let mut origins = Origins::new(Translation::ChatToChat, cap_field);
    let unknown_bytes = passed::unknown_bytes(&request, &rules, route.protocol);
    let call = if is_chat {
        let fitting = Fitting::of(&request.messages, rules.call_ids_of(&route.upstream));
        let body = pass_through::write(&request, &plan, &fitting)?;
        origins.lists = fitting.lists.into_iter().collect();
        Call::post(route.provider.clone(), "/v1/chat/completions").written(body)
    } else {
        let written = to_messages::write(&request, &plan)?;
        lead = written.lead;
        max_output_tokens = written.cap;
        origins.translation = Translation::ChatToMessages;
        origins.messages = written.places;
        names = request.renamed();
        rules.messages_call(text_request, written.body, iter::empty())
    };
    let max_output_tokens =
        max_output_tokens.saturating_mul(request.answers).saturating_add(request.predicted_bytes);
    Ok(Prepared {
        call: call.once().timeout(CALL_TIMEOUT),
        streaming: request.streaming,
        input_bytes: clamp(request.estimate.input_bytes.saturating_add(unknown_bytes)),
        pictures: request.estimate.pictures,
        max_output_tokens,
        state: State {
            model: route.model.clone(),
            upstream: route.upstream.clone(),
            translated: !is_chat,
            counted: request.counted,
            lead,
            names,
            fields: FieldNames::of(origins).kept(),
            legacy: request.has_functions(),
            several: request.answers > 1,
            ..State::default()
        },
        extra: Extra::new(),
    })
}

/// Which of `temperature` and `top_p` are sent. Thinking excludes both at a Messages provider; at a chat
/// provider only the alias does.
fn sampling(
    request: &Request<'_>,
    rules: &Rules,
    thinking: &ThinkingRequest,
    is_chat: bool,
) -> Checked<(bool, bool)> {
    let given = (request.temperature.is_some(), request.top_p.is_some());
    let thinks = thinking.is_on() && (thinking.alias || !is_chat);
    match rules.sampling {
        Sampling::None if rules.strict && (given.0 || given.1) => {
            Err(sampling_field_deprecated(if given.0 { "temperature" } else { "top_p" }))
        }
        Sampling::None => Ok((false, false)),
        _ if thinks => Ok((false, false)),
        // OpenAI's clients often set both: the one that changes nothing gives way, else the second.
        Sampling::Either if given == (true, true) => {
            let is_default = request.temperature == Some(1.0) && request.top_p != Some(1.0);
            Ok((!is_default, is_default))
        }
        Sampling::Free | Sampling::Either => Ok(given),
    }
}
