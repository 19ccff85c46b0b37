//! A request on its way out: what the model's rules say of it, and which of the two protocols it leaves in.

use std::time::Duration;

use gatehouse_sdk::{Call, Prepared, Protocol, Refusal, TextRequest};

use crate::read::{Checked, in_these_words};
use crate::request::Request;
use crate::rules::{Rules, Sampling};
use crate::state::State;
use crate::thinking::Asked;
use crate::{pass, translate};

/// A long answer takes its time.
const TIMEOUT: Duration = Duration::from_secs(600);
/// What a chat provider is taken to write at most when nobody says.
const UNKNOWN: u32 = 8192;
/// Ends the alias of a model that is to think.
const ALIAS: &str = "-thinking";

/// What both ways out must know besides the request.
pub(crate) struct Order<'o> {
    pub(crate) rules: &'o Rules,
    /// The provider's name of the model.
    pub(crate) upstream: &'o str,
    /// The cap to be sent, if one is.
    pub(crate) cap: Option<u32>,
    pub(crate) temperature: bool,
    pub(crate) top_p: bool,
    pub(crate) asked: Asked,
}

pub(crate) fn prepare(inquiry: &TextRequest) -> Result<Prepared<State>, Refusal> {
    let request = Request::read(&inquiry.body, &inquiry.blobs)?;
    let route = &inquiry.route;
    let rules = Rules::read(&route.rules);
    let chat = route.protocol == Protocol::Chat;

    within(&request, &rules, &route.model)?;
    let named = request.cap.map(|cap| cap.tokens);
    let cap =
        if chat { named.or_else(|| rules.told()) } else { Some(named.unwrap_or_else(|| rules.unnamed())) };
    let model = request.model.map(crate::json::Text::decoded).unwrap_or_default();
    let asked = Asked {
        alias: model.strip_suffix(ALIAS) == Some(route.model.as_str()),
        effort: request.effort,
        cap: cap.unwrap_or(UNKNOWN),
        field: request.cap.map_or("max_completion_tokens", |cap| cap.field),
        forced: request.choice.is_some_and(|choice| choice.is_forced()),
        bare: translate::is_bare(&request.messages),
    };
    let (temperature, top_p) = sampling(&request, &rules, &asked, chat)?;
    let order = Order { rules: &rules, upstream: &route.upstream, cap, temperature, top_p, asked };

    let most = cap.or(rules.max_output).unwrap_or(UNKNOWN).saturating_mul(request.answers);
    let call = if chat {
        Call::post(route.provider.clone(), "/v1/chat/completions").written(pass::write(&request, &order)?)
    } else {
        let call =
            Call::post(route.provider.clone(), "/v1/messages").written(translate::write(&request, &order)?);
        with_headers(call, inquiry, &rules)
    };
    Ok(Prepared {
        call: call.once().timeout(TIMEOUT),
        streaming: request.streaming,
        input_bytes: u32::try_from(request.tally.read).unwrap_or(u32::MAX),
        pictures: request.tally.pictures,
        max_output_tokens: most,
        state: State {
            model: route.model.clone(),
            upstream: route.upstream.clone(),
            translated: !chat,
            counted: request.counted,
        },
    })
}

fn within(request: &Request<'_>, rules: &Rules, model: &str) -> Checked<()> {
    match (request.cap, rules.max_output) {
        (Some(named), Some(most)) if named.tokens > most => Err(in_these_words(
            named.field,
            format!(
                "{}: {} > {most}, which is the maximum allowed number of output tokens for {model}",
                named.field, named.tokens
            ),
        )),
        _ => Ok(()),
    }
}

/// Which of `temperature` and `top_p` go out. Thinking excludes both at a messages provider; at a chat
/// provider the alias asks for the same.
fn sampling(request: &Request<'_>, rules: &Rules, asked: &Asked, chat: bool) -> Checked<(bool, bool)> {
    let given = (request.temperature.is_some(), request.top_p.is_some());
    let thinks = if chat { asked.alias && asked.thinks() } else { asked.thinks() };
    match rules.sampling {
        Sampling::Either if given == (true, true) => Err(in_these_words(
            "top_p",
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        )),
        Sampling::None if rules.strict && (given.0 || given.1) => {
            let field = if given.0 { "temperature" } else { "top_p" };
            Err(in_these_words(field, format!("`{field}` is deprecated for this model")))
        }
        Sampling::None => Ok((false, false)),
        _ if thinks => Ok((false, false)),
        Sampling::Free | Sampling::Either => Ok(given),
    }
}

/// A version of our own choosing: a client's may stand for a request this is no longer.
fn with_headers(call: Call, inquiry: &TextRequest, rules: &Rules) -> Call {
    let call = call.header("anthropic-version", &rules.version);
    let asked = inquiry.header("anthropic-beta").unwrap_or_default().split(',').map(str::trim);
    let passed: Vec<&str> = asked.filter(|beta| rules.betas.iter().any(|known| known == beta)).collect();
    if passed.is_empty() { call } else { call.header("anthropic-beta", passed.join(",")) }
}
