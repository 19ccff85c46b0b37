//! Stage seven: each self-test of the manifest gives the expected verdict, and the same answer twice.

use gatehouse_guest::shorten;
use gatehouse_model::{
    Accepted, Context, DialectRequest, DirectRequest, Event, Parent, Protocol, Refusal, RouteInfo, RouteUse,
    Seed, SelfTest, Submission, TaskId, TextRequest, TextRoute, UnixMs, Verdict, escape_control,
};
use serde_json::Value;

use crate::fault::Fault;
use crate::version::loaded::Version;

/// Why a self-test failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("number {number} of {count} on {surface} with body {body}: {why}")]
pub struct SelfTestError {
    /// Which one, from one.
    pub number: usize,
    /// How many there are.
    pub count: usize,
    /// Its surface.
    pub surface: String,
    /// The beginning of its body, without control characters.
    pub body: String,
    /// The expected and the actual verdict.
    pub why: String,
}

/// 2026-01-01. The same moment everywhere makes reports comparable.
const NOW: UnixMs = UnixMs(1_767_225_600_000);
const HALF_AN_HOUR_MS: u64 = 30 * 60 * 1000;

/// Bytes of a body that an error quotes.
const MAX_QUOTE_BYTES: usize = 160;

/// Runs every self-test of `version` on this thread and returns their number.
pub(crate) fn run_self_tests(version: &Version) -> Result<usize, SelfTestError> {
    let tests = &version.about().self_tests;
    for (at, test) in tests.iter().enumerate() {
        self_test(version, test).map_err(|why| SelfTestError {
            number: at + 1,
            count: tests.len(),
            surface: test.surface.clone(),
            body: quote(&test.body),
            why,
        })?;
    }
    Ok(tests.len())
}

/// The beginning of a body, for an operator's terminal.
fn quote(body: &str) -> String {
    let beginning = shorten(body, MAX_QUOTE_BYTES);
    let rest = if beginning.len() < body.len() { "..." } else { "" };
    format!("{}{rest}", escape_control(beginning))
}

fn self_test(version: &Version, test: &SelfTest) -> Result<(), String> {
    if version.speaks(&test.surface) {
        return [false, true].into_iter().try_for_each(|streaming| dialect(version, test, streaming));
    }
    let route = version.about().all_routes().into_iter().find(|route| route.surface == test.surface);
    if let Some(route) = route.filter(|route| matches!(route.does, RouteUse::Answer | RouteUse::Read)) {
        return direct(version, test, &route);
    }
    let named = |surfaces: &[String]| surfaces.contains(&test.surface);
    let is_job = version.about().models.iter().any(|model| named(&model.surfaces));
    if version.about().offers.text && !is_job {
        return [Protocol::Messages, Protocol::Chat].into_iter().try_for_each(|it| text(version, test, it));
    }
    job(version, test)
}

/// Prepares a request that is answered while its client waits. Its model is the one of its path, else the one that the body
/// names or the surface's; a request that reads has none.
fn direct(version: &Version, test: &SelfTest, route: &RouteInfo) -> Result<(), String> {
    let body = serde_json::from_str::<Value>(&test.body).unwrap_or_default();
    let named = || Some(version.about().model_name(&test.surface, body["model"].as_str())?.id);
    let model = match route.does {
        RouteUse::Read => String::new(),
        _ => route.model.clone().or_else(named).unwrap_or_default(),
    };
    let answer = twice("prepare", || {
        let request = DirectRequest {
            surface: test.surface.clone(),
            model: model.clone(),
            body: test.body.clone().into(),
            blobs: vec![],
        };
        version.prepare_direct(&context(version, None), request, version.limits().load_ms.get())
    })?;
    promised(test, &answer, "")
}

/// Prepares the text request for both provider protocols.
fn text(version: &Version, test: &SelfTest, protocol: Protocol) -> Result<(), String> {
    let name = protocol.as_str().to_owned();
    let route = route(protocol);
    let answer = twice("prepare", || {
        let request = TextRequest {
            surface: test.surface.clone(),
            body: test.body.clone().into(),
            headers: vec![],
            blobs: vec![],
            route: route.clone(),
        };
        version.prepare(version.limits().load_ms.get(), &context(version, None), request)
    })?;
    promised(test, &answer, &format!(" for {name} providers"))
}

/// Translates the Messages request, for a whole answer or a stream.
fn dialect(version: &Version, test: &SelfTest, streaming: bool) -> Result<(), String> {
    let route = route(Protocol::Dialect(test.surface.as_str().into()));
    let answer = twice("prepare", || {
        let request =
            DialectRequest { body: test.body.clone().into(), streaming, blobs: vec![], route: route.clone() };
        version.prepare(version.limits().load_ms.get(), &context(version, None), request)
    })?;
    promised(test, &answer, "")
}

fn route(protocol: Protocol) -> TextRoute {
    TextRoute {
        model: "self-test".to_owned(),
        upstream: "self-test".to_owned(),
        provider: "self-test".to_owned(),
        protocol,
        rules: "{}".into(),
    }
}

/// Whether a text, dialect or direct request was answered as the test promises. `with` follows the promise in the error: for which
/// providers, or nothing.
fn promised<T>(test: &SelfTest, answer: &Result<T, Refusal>, with: &str) -> Result<(), String> {
    let verdict = if answer.is_ok() { Verdict::Accepted } else { Verdict::Refused };
    if verdict == test.expect {
        return Ok(());
    }
    let actual = answer.as_ref().err().map_or_else(|| "Accepted".to_owned(), refused);
    Err(format!("it promised {:?}{with} and answered {actual}", test.expect))
}

fn job(version: &Version, test: &SelfTest) -> Result<(), String> {
    let body: Value = serde_json::from_str(&test.body).unwrap_or_default();
    let requested = body.get("model").and_then(Value::as_str);
    // A request that is to be refused may name a model that does not exist; the host refuses that one itself.
    let model = version.about().model_name(&test.surface, requested).unwrap_or_default();
    let parents = test.parents.iter().cloned().map(Parent::try_from).collect::<Result<Vec<_>, _>>()?;
    let answer = twice("submit", || {
        let submission = Submission {
            surface: test.surface.clone(),
            model: model.clone(),
            body: test.body.clone().into(),
            parents: parents.clone(),
            owned: vec![],
            blobs: vec![],
        };
        version.try_submit(&context(version, None), submission)
    })?;
    let actual = verdict(&answer);
    if actual != test.expect {
        return Err(format!("it promised {:?} and answered {}", test.expect, describe(&answer)));
    }
    let Ok(Accepted { state, brief, doomed: None, .. }) = answer else { return Ok(()) };
    if version.joins(&test.surface) {
        // The request has no state of its own: it goes on in its parent.
        return Ok(());
    }
    let cx = context(version, Some(TaskId::new(NOW, &Constant)));
    twice("advance with Start", || version.try_advance(&cx, &state, Event::Start(brief.clone()))).map(drop)
}

fn twice<T: PartialEq>(what: &str, call: impl Fn() -> Result<T, Fault>) -> Result<T, String> {
    let run = || call().map_err(|fault| format!("{what} failed: {fault}"));
    let (first, second) = (run()?, run()?);
    if first == second {
        return Ok(first);
    }
    Err(format!("{what} gave two different answers to the same input; a plugin is a pure function"))
}

fn verdict(answer: &Result<Accepted, Refusal>) -> Verdict {
    match answer {
        Ok(accepted) if accepted.doomed.is_some() => Verdict::Doomed,
        Ok(_) => Verdict::Accepted,
        Err(_) => Verdict::Refused,
    }
}

fn describe(answer: &Result<Accepted, Refusal>) -> String {
    match answer {
        Ok(Accepted { doomed: Some(why), .. }) => format!("Doomed: {}", escape_control(&why.message)),
        Ok(_) => "Accepted".to_owned(),
        Err(refusal) => refused(refusal),
    }
}

/// The plugin's text goes to an operator's terminal, so its control characters are escaped.
fn refused(refusal: &Refusal) -> String {
    let text = match refusal {
        Refusal::Invalid { field: Some(field), message } => format!("Refused: {field}: {message}"),
        Refusal::Invalid { field: None, message }
        | Refusal::NotFound(message)
        | Refusal::Forbidden(message) => format!("Refused: {message}"),
    };
    escape_control(&text).into_owned()
}

fn context(version: &Version, task: Option<TaskId>) -> Context {
    Context {
        now: NOW,
        seed: 7,
        task,
        accepted_at: NOW,
        deadline: UnixMs(NOW.0 + HALF_AN_HOUR_MS),
        customer: String::new(),
        settings: version.settings(),
    }
}

struct Constant;

impl Seed for Constant {
    fn fill(&self, into: &mut [u8]) {
        into.fill(0x5a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_quoted_in_part_and_without_control_characters() {
        assert_eq!(quote("{\"a\":\"b\"}"), "{\"a\":\"b\"}");
        assert_eq!(quote("[1,\n\u{1b}[2J]"), "[1,\\n\\u{1b}[2J]");
        let long = quote(&"ä".repeat(200));
        assert_eq!(long, format!("{}...", "ä".repeat(80)));
    }

    #[test]
    fn a_refusal_cannot_control_the_terminal() {
        let field = Some("a\u{1b}[2J".to_owned());
        let refusal = Refusal::Invalid { field, message: "b\nERROR c".to_owned() };
        assert_eq!(refused(&refusal), "Refused: a\\u{1b}[2J: b\\nERROR c");
    }
}
