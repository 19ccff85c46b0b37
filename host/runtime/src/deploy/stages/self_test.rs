//! Stage seven: each self-test of the manifest gives the expected verdict, and the same answer twice.

use gatehouse_model::{
    Accepted, Context, Event, Protocol, Refusal, Seed, SelfTest, Submission, TaskId, TextRequest, TextRoute,
    UnixMs, Verdict,
};

use crate::exec::guest_log::escape_control;
use crate::fault::Fault;
use crate::version::Version;

/// Why a self-test failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("number {number} on {surface}: {why}")]
pub struct SelfTestError {
    /// Which one, from zero.
    pub number: usize,
    /// Its surface.
    pub surface: String,
    /// The expected and the actual verdict.
    pub why: String,
}

/// 2026-01-01. The same moment everywhere makes reports comparable.
const NOW: UnixMs = UnixMs(1_767_225_600_000);
const HALF_AN_HOUR_MS: u64 = 30 * 60 * 1000;

/// Runs every self-test of `version` on this thread and returns their number.
pub(crate) fn run_self_tests(version: &Version) -> Result<usize, SelfTestError> {
    for (number, test) in version.about().self_tests.iter().enumerate() {
        self_test(version, test).map_err(|why| SelfTestError {
            number,
            surface: test.surface.clone(),
            why,
        })?;
    }
    Ok(version.about().self_tests.len())
}

fn self_test(version: &Version, test: &SelfTest) -> Result<(), String> {
    let named = |surfaces: &[String]| surfaces.contains(&test.surface);
    let is_job = version.about().models.iter().any(|model| named(&model.surfaces));
    if version.about().offers.text && !is_job {
        return [Protocol::Messages, Protocol::Chat].into_iter().try_for_each(|it| text(version, test, it));
    }
    job(version, test)
}

/// Prepares the text request for both provider protocols.
fn text(version: &Version, test: &SelfTest, protocol: Protocol) -> Result<(), String> {
    let route = TextRoute {
        model: "self-test".to_owned(),
        upstream: "self-test".to_owned(),
        provider: "self-test".to_owned(),
        protocol,
        rules: b"{}".as_slice().into(),
    };
    let answer = twice("prepare", || {
        let request = TextRequest {
            surface: test.surface.clone(),
            body: test.body.clone().into(),
            headers: vec![],
            blobs: vec![],
            route: route.clone(),
        };
        version.prepare_within(version.limits().load_ms.get(), &context(version, None), request)
    })?;
    let verdict = if answer.is_ok() { Verdict::Accepted } else { Verdict::Refused };
    if verdict == test.expect {
        return Ok(());
    }
    let actual = answer.as_ref().err().map_or_else(|| "Accepted".to_owned(), refused);
    Err(format!("it promised {:?} for {} providers and answered {actual}", test.expect, protocol.as_str()))
}

fn job(version: &Version, test: &SelfTest) -> Result<(), String> {
    let answer = twice("submit", || {
        let submission = Submission {
            surface: test.surface.clone(),
            body: test.body.clone().into(),
            parent: None,
            blobs: vec![],
        };
        version.submit_within(version.limits().load_ms.get(), &context(version, None), submission)
    })?;
    let actual = verdict(&answer);
    if actual != test.expect {
        return Err(format!("it promised {:?} and answered {}", test.expect, describe(&answer)));
    }
    let Ok(Accepted { state, doomed: None, .. }) = answer else { return Ok(()) };
    let cx = context(version, Some(TaskId::new(NOW, &Constant)));
    let budget = version.limits().load_ms.get();
    twice("advance with Start", || version.advance_within(budget, &cx, &state, Event::Start)).map(drop)
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
    fn a_refusal_cannot_control_the_terminal() {
        let field = Some("a\u{1b}[2J".to_owned());
        let refusal = Refusal::Invalid { field, message: "b\nERROR c".to_owned() };
        assert_eq!(refused(&refusal), "Refused: a\\u{1b}[2J: b\\nERROR c");
    }
}
