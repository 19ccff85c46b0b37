//! What the host demands of every answer before anybody acts on it.
//!
//! Only what can be told from the answer and the manifest: whether a URL lies inside a provider's origins
//! or a blob belongs to the task is decided where calls are made.

use std::time::Duration;

use gatehouse_model::{
    About, Accepted, Action, Call, Charge, Failure, Header, Outcome, Payload, Probe, Refusal, Step, Target,
    UnixMs,
};
use serde::de::IgnoredAny;

use crate::config::Limits;
use crate::fault::{Fault, STATE};
use crate::notes::shorten;

const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST_CALL_MS: u32 = 15 * 60 * 1000;
/// Headers, form parts, probes or products of one answer.
const MOST_ITEMS: usize = 64;
/// A call's target, a header's value, a form part's names: what servers take in one line.
const LINE_BYTES: usize = 8192;
const MOST_CHARGE_KEYS: usize = 16;
/// A text for clients; longer ones are cut, because a good reason must not become a fault.
const MESSAGE_BYTES: usize = 4096;
const METHODS: [&str; 6] = ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"];

/// An accepted submission.
pub(crate) fn accepted(mut yes: Accepted, about: &About, limits: &Limits) -> Result<Accepted, Fault> {
    if !about.models.iter().any(|model| model.id == yes.model) {
        let why = format!("expected one of the manifest's model ids, got {:?}", yes.model);
        return Err(Fault::bad("model", why));
    }
    charge(&yes.charge, about)?;
    if yes.charge.quantity == 0 {
        return Err(Fault::bad("charge", "expected at least one unit, got 0"));
    }
    progress(yes.progress)?;
    state(&yes.state, limits)?;
    if let Some(why) = &mut yes.doomed {
        trim(&mut why.message);
    }
    Ok(yes)
}

/// A refused one: always acceptable, its texts are cut to length.
pub(crate) fn refused(mut no: Refusal) -> Refusal {
    match &mut no {
        Refusal::Invalid { field, message } => {
            field.iter_mut().for_each(trim);
            trim(message);
        }
        Refusal::NotFound(message) | Refusal::Forbidden(message) => trim(message),
    }
    no
}

/// A step taken at `now`.
pub(crate) fn step(mut step: Step, now: UnixMs, about: &About, limits: &Limits) -> Result<Step, Fault> {
    state(&step.state, limits)?;
    progress(step.progress)?;
    match &mut step.next {
        Action::Call(next) => call(next, &about.providers)?,
        Action::Probe(probes) => probe(probes)?,
        Action::Wait(until) => wait(*until, now)?,
        Action::Done(end) => outcome(end, about, limits)?,
        Action::Fail(Failure { message, .. }) => trim(message),
    }
    Ok(step)
}

/// A task's state.
pub(crate) fn state(state: &[u8], limits: &Limits) -> Result<(), Fault> {
    let limit = limits.state();
    if state.len() > limit { Err(Fault::TooLarge { what: STATE, limit }) } else { Ok(()) }
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

fn charge(charge: &Charge, about: &About) -> Result<(), Fault> {
    if charge.keys.is_empty() || charge.keys.len() > MOST_CHARGE_KEYS {
        let why = format!("expected 1 to {MOST_CHARGE_KEYS} price keys, got {}", charge.keys.len());
        return Err(Fault::bad("charge", why));
    }
    match charge.keys.iter().find(|key| !about.price_keys.contains(key)) {
        Some(key) => Err(Fault::bad("charge", format!("price key {key:?} is not in the manifest"))),
        None => Ok(()),
    }
}

fn wait(until: UnixMs, now: UnixMs) -> Result<(), Fault> {
    if until < now || until > now.plus(LONGEST_WAIT) {
        let why = format!("expected a moment within 24 h of now ({now}), got {until}");
        return Err(Fault::bad("wait", why));
    }
    Ok(())
}

fn few(what: &'static str, count: usize) -> Result<(), Fault> {
    if count > MOST_ITEMS {
        return Err(Fault::bad(what, format!("at most {MOST_ITEMS} are allowed, got {count}")));
    }
    Ok(())
}

fn probe(probes: &[Probe]) -> Result<(), Fault> {
    few("probes", probes.len())?;
    if probes.is_empty() {
        return Err(Fault::bad("probes", "expected at least one, got none"));
    }
    // A source may be a client's text: one that is no URL is a finding with its reason, not a fault.
    Ok(())
}

/// Media are named by a URL, a `data:` URI or a blob.
fn source(what: &'static str, source: &str) -> Result<(), Fault> {
    if ["https://", "http://", "data:", "blob:"].iter().any(|scheme| source.starts_with(scheme)) {
        return Ok(());
    }
    let shown = shorten(source, 100);
    Err(Fault::bad(what, format!("expected an http(s), data or blob source, got {shown:?}")))
}

fn outcome(end: &Outcome, about: &About, limits: &Limits) -> Result<(), Fault> {
    // A follow-up is handed both records, so together they must be something that may be handed over.
    let limit = limits.input();
    if end.public.len() + end.private.len() > limit {
        return Err(Fault::TooLarge { what: "public and private record", limit });
    }
    // Whoever reads the result parses it whole; a check that is any milder would let a paid task end with a
    // result nobody can read.
    serde_json::from_slice::<serde_json::Value>(&end.public)
        .map_err(|error| not_json("public record", &error))?;
    json("private record", &end.private)?;
    few("products", end.products.len())?;
    end.products.iter().try_for_each(|product| source("products", &product.source))?;
    end.settle.as_ref().map_or(Ok(()), |settle| charge(settle, about))
}

pub(crate) fn json(what: &'static str, bytes: &[u8]) -> Result<(), Fault> {
    // What is skipped over is not looked at: without the first test a string could hold any bytes.
    let text = str::from_utf8(bytes).map_err(|error| Fault::bad(what, format!("expected UTF-8: {error}")))?;
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| not_json(what, &error))
}

fn not_json(what: &'static str, error: &serde_json::Error) -> Fault {
    Fault::bad(what, format!("expected JSON: {error}"))
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
    if call.timeout_ms == 0 || call.timeout_ms > LONGEST_CALL_MS {
        let why = format!("expected a timeout of 1 to {LONGEST_CALL_MS} ms, got {}", call.timeout_ms);
        return Err(Fault::bad("call", why));
    }
    target(&call.target)?;
    few("headers", call.headers.len())?;
    call.headers.iter().try_for_each(header)?;
    match &call.body {
        Payload::None => Ok(()),
        Payload::Json(body) => json("call body", body),
        Payload::Form(parts) => {
            few("form parts", parts.len())?;
            parts.iter().try_for_each(|part| {
                let names = [Some(&part.name), part.filename.as_ref(), part.mime.as_ref()];
                names.into_iter().flatten().try_for_each(|name| line("form parts", name))
            })
        }
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
        Target::Path(path) if climbs(path) => bad("a path without `.` and `..` segments"),
        Target::Url(url) if !url.starts_with("https://") && !url.starts_with("http://") => {
            bad("an http(s) URL")
        }
        _ => Ok(()),
    }
}

/// URL parsers also read `%2e` as a dot, and servers `%2f` and `%5c` as the end of a segment.
fn climbs(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let path = path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    path.split('/').any(|segment| matches!(segment, "." | ".."))
}

fn header(header: &Header) -> Result<(), Fault> {
    line("headers", &header.name)?;
    let name = header.name.to_ascii_lowercase();
    let shown = shorten(&name, 100);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return Err(Fault::bad("headers", format!("{shown:?} is not a header name")));
    }
    if Header::is_hosts(&name) {
        return Err(Fault::bad("headers", format!("{shown:?} is set by the host alone")));
    }
    line("headers", &header.value)?;
    if !header.value.is_ascii() {
        // Servers disagree about such bytes, and some cut characters down to a line break.
        return Err(Fault::bad("headers", format!("the value of {shown:?} is not plain ASCII")));
    }
    if header.value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(Fault::bad("headers", format!("the value of {shown:?} has control characters")));
    }
    Ok(())
}
