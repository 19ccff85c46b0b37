//! The host's checks of what a family returns, for native runs. A component runs under the host's own checks
//! instead.

use std::time::Duration;

use gatehouse_contract::{
    MAX_CALL, MAX_FRESH_S, MAX_ITEMS, MAX_LINES, MAX_PASSES, MAX_WAIT, NAME_BYTES, STATE_KIB,
    extends_price_key, is_claimable, is_host_header, is_mime, is_source,
};
use gatehouse_sdk::{
    About, Accepted, Action, Call, Charge, Claim, Context, Edit, Line, Outcome, Plan, Problem, Product,
    Reading, Refusal, Replay, Response, Step, Target,
};
use serde_json::Value;

/// The host's default limit on a task's state.
const STATE_BYTES: usize = STATE_KIB as usize * 1024;

/// The field that clients read of several problems.
pub(crate) fn field_of(problems: &[Problem]) -> Option<&str> {
    problems.first()?.field.as_deref()
}

/// What clients read of several problems.
pub(crate) fn message_of(problems: &[Problem]) -> String {
    problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// A refusal as the host tells it: several problems in one message.
pub(crate) fn told(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Several(problems) => {
            Refusal::Invalid { field: field_of(&problems).map(str::to_owned), message: message_of(&problems) }
        }
        other => other,
    }
}

pub(crate) fn accepted(about: &About, surface: &str, accepted: &Accepted<Vec<u8>>) -> Result<(), String> {
    let joins = about.surfaces.iter().any(|known| known.name == surface && known.joins);
    if !about.models.iter().any(|model| model.id == accepted.model) {
        return Err(format!("the model {:?} is not in the manifest", accepted.model));
    }
    charge(about, &accepted.charge)?;
    accepted.at_most.as_ref().map_or(Ok(()), |most| charge(about, most))?;
    progress(accepted.progress)?;
    match (&accepted.state, &accepted.doomed) {
        (Some(bytes), _) => state(bytes),
        (None, Some(_)) => Ok(()),
        (None, None) if joins => Ok(()),
        (None, None) => Err("a task that is not doomed needs a state".to_owned()),
    }
}

pub(crate) fn step(about: &About, cx: &Context, step: &Step<Vec<u8>>) -> Result<(), String> {
    state(&step.state)?;
    progress(step.progress)?;
    if let Some(view) = &step.view {
        if matches!(step.next, Action::Done(_) | Action::Fail(_)) {
            return Err("a view beside an end, which has a result of its own".to_owned());
        }
        products(&view.products)?;
        placeholders(&view.public, view.products.len())?;
    }
    match &step.next {
        Action::Call(next) => call(about, next),
        Action::Probe(probes) if probes.is_empty() || probes.len() > MAX_ITEMS => {
            Err(format!("expected 1 to {MAX_ITEMS} probes, got {}", probes.len()))
        }
        // Any text: one that is not a URL comes back as a finding with the reason.
        Action::Probe(_) => Ok(()),
        Action::Wait(moment) if *moment < cx.now => {
            Err(format!("a wait ends before now: {} < {}", moment.0, cx.now.0))
        }
        Action::Wait(moment) if moment.since(cx.now) > MAX_WAIT => {
            Err("a wait of more than 24 hours".to_owned())
        }
        Action::Done(end) => outcome(about, end),
        Action::Fail(end) => {
            products(&end.products)?;
            claims(&end.claims)?;
            placeholders(end.public.as_ref().unwrap_or(&Value::Null), end.products.len())
        }
        Action::Wait(_) => Ok(()),
        Action::Other(name, _) => Err(format!("the host does not know the action {name:?}")),
    }
}

/// What is made of a request that is answered at once, on a surface that reads or on another.
pub(crate) fn plan(about: &About, reads: bool, plan: &Plan<Vec<u8>>) -> Result<(), String> {
    let exchange = match plan {
        Plan::Call(exchange) => exchange,
        Plan::Respond(answer) if answer.settle.is_some() => {
            return Err("settle: an answer without a call is free".to_owned());
        }
        Plan::Respond(answer) => return response(about, answer),
    };
    let Call { affinity, shared, credentials, reading, replay, .. } = &exchange.call;
    if reads && exchange.charge.is_some() {
        return Err("a charge on a surface that reads, which is free".to_owned());
    }
    if reads && *replay != Replay::Safe {
        return Err("expected a safe call on a surface that reads".to_owned());
    }
    if affinity.is_some() || shared.is_some() || !credentials || *reading != Reading::Whole {
        return Err(
            "expected a plain call, without affinity, shared, with credentials and read whole".to_owned()
        );
    }
    call(about, &exchange.call)?;
    state(&exchange.state)?;
    if exchange.passes.len() > MAX_PASSES {
        return Err(format!("expected at most {MAX_PASSES} types that pass, got {}", exchange.passes.len()));
    }
    exchange.passes.iter().try_for_each(|pattern| mime(pattern))?;
    exchange.charge.as_ref().map_or(Ok(()), |bill| charge(about, bill))
}

/// What a client gets at once.
pub(crate) fn response(about: &About, response: &Response) -> Result<(), String> {
    mime(&response.mime)?;
    if let Some(fresh) = response.fresh_s.filter(|fresh| *fresh > MAX_FRESH_S) {
        return Err(format!("fresh_s: expected at most {MAX_FRESH_S} seconds, got {fresh}"));
    }
    response.settle.as_ref().map_or(Ok(()), |settle| charge(about, settle))
}

fn mime(mime: &str) -> Result<(), String> {
    if is_mime(mime) { Ok(()) } else { Err(format!("expected a type such as audio/mpeg, got {mime:?}")) }
}

fn state(state: &[u8]) -> Result<(), String> {
    if state.len() <= STATE_BYTES {
        return Ok(());
    }
    Err(format!("a state of {} bytes, the limit is {STATE_BYTES}", state.len()))
}

fn progress(percent: u8) -> Result<(), String> {
    if percent <= 100 { Ok(()) } else { Err(format!("a progress of {percent} %")) }
}

fn charge(about: &About, charge: &Charge) -> Result<(), String> {
    if charge.lines.is_empty() || charge.lines.len() > MAX_LINES {
        return Err(format!("a charge has 1 to {MAX_LINES} lines, not {}", charge.lines.len()));
    }
    charge.lines.iter().try_for_each(|line| charge_line(about, line))?;
    let is_again =
        |(at, line): (usize, &Line)| charge.lines[..at].iter().any(|before| before.keys == line.keys);
    if charge.lines.iter().enumerate().any(is_again) {
        return Err("two lines of a charge have the same price keys".to_owned());
    }
    Ok(())
}

fn charge_line(about: &About, line: &Line) -> Result<(), String> {
    let Some((least, specific)) = line.keys.split_last() else {
        return Err("a charge needs a price key".to_owned());
    };
    if !about.price_keys.contains(least) {
        return Err(format!("the last price key {least:?} is not in the manifest"));
    }
    if let Some(key) = specific.iter().find(|key| !extends_price_key(key, least)) {
        return Err(format!("the price key {key:?} does not begin with {least:?} and `-` or `@`"));
    }
    match about.units.get(least) {
        Some(unit) if !line.unit.is_empty() && line.unit != *unit => {
            Err(format!("the unit of {least:?} is {unit:?} in the manifest, not {:?}", line.unit))
        }
        _ => Ok(()),
    }
}

fn call(about: &About, call: &Call) -> Result<(), String> {
    if !about.providers.contains(&call.provider) {
        return Err(format!("the provider {:?} is not in the manifest", call.provider));
    }
    let timeout = Duration::from_millis(call.timeout_ms.into());
    if timeout.is_zero() || timeout > MAX_CALL {
        return Err(format!("expected a timeout of at most 15 minutes, got {timeout:?}"));
    }
    match &call.target {
        Target::Path(path) if !path.starts_with('/') || path.starts_with("//") => {
            return Err(format!("the path {path:?} does not begin with one slash"));
        }
        Target::Url(url) if !url.starts_with("https://") && !url.starts_with("http://") => {
            return Err(format!("the URL {url:?} is not http or https"));
        }
        Target::Path(_) | Target::Url(_) => {}
    }
    match call.headers.iter().find(|header| is_host_header(&header.name)) {
        Some(header) => Err(format!("the header {:?} is the host's", header.name)),
        None => Ok(()),
    }
}

/// Media are named by a URL, a `data:` URI or a blob.
fn source(source: &str) -> Result<(), String> {
    if is_source(source) {
        return Ok(());
    }
    Err(format!("expected an http(s), data or blob source, got {source:?}"))
}

fn outcome(about: &About, outcome: &Outcome) -> Result<(), String> {
    products(&outcome.products)?;
    claims(&outcome.claims)?;
    placeholders(&outcome.public, outcome.products.len())?;
    outcome.settle.as_ref().map_or(Ok(()), |settle| charge(about, settle))
}

fn products(products: &[Product]) -> Result<(), String> {
    if products.len() > MAX_ITEMS {
        return Err(format!("expected at most {MAX_ITEMS} products, got {}", products.len()));
    }
    products.iter().try_for_each(|product| {
        source(&product.source)?;
        product.edit.as_ref().map_or(Ok(()), Edit::check)
    })
}

fn claims(claims: &[Claim]) -> Result<(), String> {
    match claims.iter().find(|claim| !is_claimable(&claim.name)) {
        Some(claim) => Err(format!(
            "expected a name of 1 to {NAME_BYTES} visible ASCII characters, got {:?}",
            claim.name
        )),
        None => Ok(()),
    }
}

/// Every `media:<n>` and `expires:<n>` names a product.
fn placeholders(value: &Value, products: usize) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let number = text.strip_prefix("media:").or_else(|| text.strip_prefix("expires:"));
            match number.and_then(|number| number.parse::<usize>().ok()) {
                Some(number) if number >= products => {
                    Err(format!("{text:?} in the result, but there are {products} products"))
                }
                _ => Ok(()),
            }
        }
        Value::Array(items) => items.iter().try_for_each(|item| placeholders(item, products)),
        Value::Object(fields) => fields.values().try_for_each(|item| placeholders(item, products)),
        _ => Ok(()),
    }
}
