//! The rules for a plugin's answers, checked before the host acts on one.
//!
//! Only rules that need the answer and the manifest alone. Whether a URL lies inside a provider's origins, or a blob
//! belongs to the task, is decided where calls are made.

use gatehouse_contract::{
    MAX_CALL, MAX_ITEMS, MAX_WAIT, NAME_BYTES, extends_price_key, is_claimable, is_host_header, is_source,
};
use gatehouse_guest::shorten;
use gatehouse_model::{
    About, Accepted, Action, Call, Charge, Claim, Edit, FailedOutcome, Header, Json, Line, Outcome, Payload,
    Probe, Product, Reading, Refusal, Replay, Step, Target, UnixMs,
};
use serde::de::IgnoredAny;

use crate::exec::limits::Limits;
use crate::fault::{BRIEF, Fault, STATE};

/// A call's target, a header's value or a form part's name: servers accept that much in one line.
pub(crate) const LINE_BYTES: usize = 8192;
pub(crate) const MAX_CHARGE_KEYS: usize = 16;
/// The limit of a charge, in messages.
pub(crate) const AT_MOST: &str = "at-most";
/// A message for clients. Longer ones are cut: a long reason must not become a fault.
pub(crate) const MESSAGE_BYTES: usize = 4096;
const METHODS: [&str; 6] = ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"];

/// An accepted submission.
pub(crate) fn accepted(mut accepted: Accepted, about: &About, limits: &Limits) -> Result<Accepted, Fault> {
    if !about.models.iter().any(|model| model.id == accepted.model) {
        let why = format!("expected one of the manifest's model ids, got {:?}", accepted.model);
        return Err(Fault::bad("model", why));
    }
    charge("charge", &accepted.charge, about)?;
    charge(AT_MOST, &accepted.at_most, about)?;
    progress(accepted.progress)?;
    state(&accepted.state, limits)?;
    // A brief is as long as the request it was made of, at most.
    within(BRIEF, accepted.brief.len(), limits.input())?;
    if let Some(why) = &mut accepted.doomed {
        trim(&mut why.message);
    }
    Ok(accepted)
}

/// A refusal: always acceptable, its messages are cut to length.
pub(crate) fn refusal(mut refusal: Refusal) -> Refusal {
    match &mut refusal {
        Refusal::Invalid { field, message } => {
            field.iter_mut().for_each(trim);
            trim(message);
        }
        Refusal::NotFound(message) | Refusal::Forbidden(message) => trim(message),
    }
    refusal
}

/// A step taken at `now`.
pub(crate) fn step(mut step: Step, now: UnixMs, about: &About, limits: &Limits) -> Result<Step, Fault> {
    state(&step.state, limits)?;
    progress(step.progress)?;
    if let Some(view) = &step.view {
        if matches!(step.next, Action::Done(_) | Action::Fail(_)) {
            return Err(Fault::bad("view", "expected none beside an end, which has a result of its own"));
        }
        records(&view.public, &view.private, limits)?;
        products(&view.products)?;
    }
    match &mut step.next {
        Action::Call(next) => call(next, &about.providers)?,
        Action::Probe(probes) => probe(probes)?,
        Action::Wait(until) => wait(*until, now)?,
        Action::Done(end) => outcome(end, about, limits)?,
        Action::Fail(end) => {
            trim(&mut end.failure.message);
            failed(end, limits)?;
        }
    }
    Ok(step)
}

/// A task's state.
pub(crate) fn state(state: &[u8], limits: &Limits) -> Result<(), Fault> {
    within(STATE, state.len(), limits.state())
}

fn within(what: &'static str, bytes: usize, limit: usize) -> Result<(), Fault> {
    if bytes > limit { Err(Fault::TooLarge { what, limit }) } else { Ok(()) }
}

pub(crate) fn trim(text: &mut String) {
    text.truncate(shorten(text, MESSAGE_BYTES).len());
}

fn progress(percent: u8) -> Result<(), Fault> {
    if percent > 100 {
        return Err(Fault::bad("progress", format!("expected 0 to 100, got {percent}")));
    }
    Ok(())
}

/// Each line, and that no two lines have the same keys: a settlement finds its price by them.
pub(crate) fn charge(what: &'static str, charge: &Charge, about: &About) -> Result<(), Fault> {
    charge.0.iter().try_for_each(|line| charge_line(what, line, about))?;
    let same = charge
        .0
        .iter()
        .enumerate()
        .find(|(at, line)| charge.0[..*at].iter().any(|before| before.keys == line.keys));
    match same {
        None => Ok(()),
        Some((at, line)) => {
            let why = format!(
                "expected lines with different price keys, line {at} has those of one before it: {:?}",
                line.keys
            );
            Err(Fault::bad(what, why))
        }
    }
}

fn charge_line(what: &'static str, line: &Line, about: &About) -> Result<(), Fault> {
    if line.keys.is_empty() || line.keys.len() > MAX_CHARGE_KEYS {
        let why = format!("expected 1 to {MAX_CHARGE_KEYS} price keys, got {}", line.keys.len());
        return Err(Fault::bad(what, why));
    }
    let (least, specific) = line.keys.split_last().expect("checked above");
    if !about.price_keys.contains(least) {
        return Err(Fault::bad(what, format!("its last price key {least:?} is not in the manifest")));
    }
    if let Some(key) = specific.iter().find(|key| !extends_price_key(key, least)) {
        let why = format!("expected price keys that begin with {least:?} and `-` or `@`, got {key:?}");
        return Err(Fault::bad(what, why));
    }
    match about.units.get(least) {
        Some(unit) if !line.unit.is_empty() && line.unit != *unit => {
            let why = format!(
                "expected the unit {unit:?}, which the manifest has for {least:?}, got {:?}",
                line.unit
            );
            Err(Fault::bad(what, why))
        }
        _ => Ok(()),
    }
}

fn wait(until: UnixMs, now: UnixMs) -> Result<(), Fault> {
    if until < now || until > now.plus(MAX_WAIT) {
        let why = format!("expected a moment within 24 h of now ({now}), got {until}");
        return Err(Fault::bad("wait", why));
    }
    Ok(())
}

fn at_most_max_items(what: &'static str, count: usize) -> Result<(), Fault> {
    if count > MAX_ITEMS {
        return Err(Fault::bad(what, format!("at most {MAX_ITEMS} are allowed, got {count}")));
    }
    Ok(())
}

fn probe(probes: &[Probe]) -> Result<(), Fault> {
    at_most_max_items("probes", probes.len())?;
    if probes.is_empty() {
        return Err(Fault::bad("probes", "expected at least one, got none"));
    }
    // A source may be a client's text: one that is no URL is a finding with its reason, not a fault.
    Ok(())
}

/// A media source is a URL, a `data:` URI or a blob.
fn source(what: &'static str, source: &str) -> Result<(), Fault> {
    if is_source(source) {
        return Ok(());
    }
    let shown = shorten(source, 100);
    Err(Fault::bad(what, format!("expected an http(s), data or blob source, got {shown:?}")))
}

fn outcome(end: &Outcome, about: &About, limits: &Limits) -> Result<(), Fault> {
    records(&end.public, &end.private, limits)?;
    products(&end.products)?;
    claims(&end.claims)?;
    end.settle.as_ref().map_or(Ok(()), |settle| charge("settle", settle, about))
}

fn failed(end: &FailedOutcome, limits: &Limits) -> Result<(), Fault> {
    let null = Json::from_static("null");
    records(end.public.as_ref().unwrap_or(&null), end.private.as_ref().unwrap_or(&null), limits)?;
    if end.public.is_none() && !end.products.is_empty() {
        return Err(Fault::bad("products", "expected none without a public record, which would name them"));
    }
    products(&end.products)?;
    claims(&end.claims)
}

/// The public and the private record of a task.
fn records(public: &Json, private: &Json, limits: &Limits) -> Result<(), Fault> {
    // A follow-up task gets both records, so together they must fit into an input.
    within("public and private record", public.len() + private.len(), limits.input())?;
    rendered("public record", public)?;
    json("private record", private.as_bytes())
}

/// JSON for a client. A reader parses it whole: a weaker check would let a paid task end with an unreadable result.
pub(crate) fn rendered(what: &'static str, text: &str) -> Result<(), Fault> {
    serde_json::from_str::<serde_json::Value>(text).map(drop).map_err(|error| not_json(what, &error))
}

fn products(products: &[Product]) -> Result<(), Fault> {
    at_most_max_items("products", products.len())?;
    products.iter().try_for_each(|product| {
        source("products", &product.source)?;
        product.edit.as_ref().map_or(Ok(()), Edit::check).map_err(|why| Fault::bad("products", why))
    })
}

fn claims(claims: &[Claim]) -> Result<(), Fault> {
    at_most_max_items("claims", claims.len())?;
    claims.iter().try_for_each(|claim| {
        let name = &claim.name;
        if !is_claimable(name) {
            let why = format!(
                "expected a name of 1 to {NAME_BYTES} visible ASCII characters, got {:?}",
                shorten(name, 100)
            );
            return Err(Fault::bad("claims", why));
        }
        json("the private record of a claim", claim.private.as_bytes())?;
        affinity("claims", claim.affinity.as_deref())
    })
}

/// An affinity is opaque; one that the host gave is short.
fn affinity(what: &'static str, affinity: Option<&str>) -> Result<(), Fault> {
    match affinity {
        Some(text) if text.is_empty() || text.len() > NAME_BYTES => {
            Err(Fault::bad(what, "expected an affinity that the host gave"))
        }
        _ => Ok(()),
    }
}

fn not_json(what: &'static str, error: &serde_json::Error) -> Fault {
    Fault::bad(what, format!("expected JSON: {error}"))
}

pub(crate) fn json(what: &'static str, bytes: &[u8]) -> Result<(), Fault> {
    serde_json::from_slice::<IgnoredAny>(bytes).map(drop).map_err(|error| not_json(what, &error))
}

fn line(what: &'static str, text: &str) -> Result<(), Fault> {
    if text.len() > LINE_BYTES {
        let why = format!("at most {LINE_BYTES} bytes are allowed, got {}", text.len());
        return Err(Fault::bad(what, why));
    }
    Ok(())
}

/// An upstream request to one of the manifest's `providers`.
pub(crate) fn call(call: &Call, providers: &[String]) -> Result<(), Fault> {
    if !providers.contains(&call.provider) {
        let why = format!("provider {:?} is not in the manifest", call.provider);
        return Err(Fault::bad("call", why));
    }
    if !METHODS.contains(&call.method.as_str()) {
        return Err(Fault::bad("call", format!("expected one of {METHODS:?}, got {:?}", call.method)));
    }
    if call.timeout_ms == 0 || u128::from(call.timeout_ms) > MAX_CALL.as_millis() {
        let why = format!("expected a timeout of 1 to {} ms, got {}", MAX_CALL.as_millis(), call.timeout_ms);
        return Err(Fault::bad("call", why));
    }
    target(&call.target)?;
    at_most_max_items("headers", call.headers.len())?;
    call.headers.iter().try_for_each(header)?;
    affinity("call", call.affinity.as_deref())?;
    if let Some(shared) = &call.shared {
        if call.replay != Replay::Safe {
            return Err(Fault::bad("call", "expected a safe call: only those can be shared"));
        }
        line("call", &shared.key)?;
        line("call", &shared.item)?;
    }
    match &call.body {
        Payload::None => Ok(()),
        Payload::Json(body) => json("call body", body),
        Payload::Raw { mime, .. } => line("call body", mime),
        Payload::Form(parts) => {
            at_most_max_items("form parts", parts.len())?;
            parts.iter().try_for_each(|part| {
                let names = [Some(&part.name), part.filename.as_ref(), part.mime.as_ref()];
                names.into_iter().flatten().try_for_each(|name| line("form parts", name))
            })
        }
    }
}

/// The state of a text request of that many bytes.
pub(crate) fn text_state(state: &[u8], input: usize, limits: &Limits) -> Result<(), Fault> {
    within(STATE, state.len(), limits.text_state(input))
}

/// The call of a text request. The operator decides which provider serves a text model.
pub(crate) fn text_call(asked: &Call, provider: &String) -> Result<(), Fault> {
    if asked.provider != *provider {
        let why = format!("expected a call to the route's provider {provider:?}, got {:?}", asked.provider);
        return Err(Fault::bad("call", why));
    }
    call(asked, std::slice::from_ref(provider))?;
    plain_call(asked)
}

/// A call that is answered while its client waits goes through any account of its provider.
pub(crate) fn plain_call(call: &Call) -> Result<(), Fault> {
    let special = [
        (call.affinity.is_some(), "an affinity"),
        (call.shared.is_some(), "a shared call"),
        (!call.credentials, "a call without credentials"),
        (call.reading != Reading::Whole, "a reply that is saved or cut"),
    ];
    match special.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(Fault::bad("call", format!("expected a plain call for text, got {what}"))),
        None => Ok(()),
    }
}

/// A path stays below the provider's base URL; a full URL is http(s).
fn target(target: &Target) -> Result<(), Fault> {
    let text = match target {
        Target::Path(text) | Target::Url(text) => text,
    };
    line("call target", text)?;
    let shown = shorten(text, 200);
    let bad = |expected: &str| Err(Fault::bad("call target", format!("expected {expected}, got {shown:?}")));
    if text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ' || byte == b'\\') {
        return bad("no spaces, backslashes or control characters");
    }
    match target {
        Target::Path(path) if !path.starts_with('/') || path.starts_with("//") => {
            bad("a path that begins with one slash")
        }
        Target::Path(path) if has_dot_segments(path) => bad("a path without `.` and `..` segments"),
        Target::Url(url) if !url.starts_with("https://") && !url.starts_with("http://") => {
            bad("an http(s) URL")
        }
        _ => Ok(()),
    }
}

/// URL parsers also read `%2e` as a dot, and some servers read `%2f` and `%5c` as the end of a segment.
fn has_dot_segments(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let read = || path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    let read = path.contains('%').then(read);
    read.as_deref().unwrap_or(path).split('/').any(|segment| matches!(segment, "." | ".."))
}

fn header(header: &Header) -> Result<(), Fault> {
    line("headers", &header.name)?;
    let name = header.name.to_ascii_lowercase();
    let shown = shorten(&name, 100);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return Err(Fault::bad("headers", format!("{shown:?} is not a header name")));
    }
    if is_host_header(&name) {
        return Err(Fault::bad("headers", format!("{shown:?} is set by the host alone")));
    }
    line("headers", &header.value)?;
    if !header.value.is_ascii() {
        // Servers read such bytes differently; some truncate a character to a line break.
        return Err(Fault::bad("headers", format!("the value of {shown:?} is not plain ASCII")));
    }
    if header.value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(Fault::bad("headers", format!("the value of {shown:?} has control characters")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Shared;

    use super::*;

    #[test]
    fn a_text_call_asks_for_nothing_that_its_route_decides() {
        let plain = || Call {
            provider: "openai".to_owned(),
            affinity: None,
            method: "POST".to_owned(),
            target: Target::Path("/v1/chat/completions".to_owned()),
            headers: Vec::new(),
            body: Payload::None,
            timeout_ms: 1000,
            replay: Replay::Once,
            reading: Reading::Whole,
            credentials: true,
            shared: None,
        };
        assert_eq!(plain_call(&plain()), Ok(()));
        let shared = Shared { key: "poll".to_owned(), item: "1".to_owned() };
        for (call, words) in [
            (Call { affinity: Some("a1".to_owned()), ..plain() }, "an affinity"),
            (Call { shared: Some(shared), ..plain() }, "a shared call"),
            (Call { credentials: false, ..plain() }, "without credentials"),
            (Call { reading: Reading::Cut, ..plain() }, "saved or cut"),
            (Call { reading: Reading::Saved, ..plain() }, "saved or cut"),
        ] {
            let fault = plain_call(&call).unwrap_err().to_string();
            assert!(fault.contains("expected a plain call for text") && fault.contains(words), "{fault}");
        }
    }
}
