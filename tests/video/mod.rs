//! The video families as a black box: the real binary, the real listener, strict simulated providers, real films.
//!
//! One folder or file a family. Each row of a table is a client's request and the specification's outcome for it.

mod avatars;
mod bucket;
mod clip;
mod kills;
mod motion;
mod outcomes;
mod scene;

use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Response, Setup, message_of, send_to, with};
use gatehouse_sandbox::{Sandbox, Settings};
use mp4_atom::{Codec, Moov, ReadFrom};
use serde_json::Value;

pub(crate) use motion::TEMPLATES;

use crate::gateways::setup;

/// The route of the video families.
const ROUTE: &str = "/v1/videos/generations";

/// A gateway process with one customer, an unlimited key, and the simulated providers of all video families.
struct TestGateway {
    process: Gateway,
    sandbox: Sandbox,
    caller: Caller,
}

impl TestGateway {
    /// With providers whose jobs are ready at once.
    async fn start() -> Self {
        Self::start_with("").await
    }

    async fn start_with(more: &str) -> Self {
        Self::start_over(at_once(), more).await
    }

    /// With providers of these settings.
    async fn start_over(settings: Settings, more: &str) -> Self {
        Self::start_of(settings, |setup, sandbox| {
            [motion::configure, clip::configure, scene::configure]
                .into_iter()
                .fold(setup, |setup, configure| configure(setup, sandbox))
                .with(more)
        })
        .await
    }

    /// With the accounts that `configure` adds only.
    async fn start_of(settings: Settings, configure: impl FnOnce(Setup, &Sandbox) -> Setup) -> Self {
        let sandbox =
            Sandbox::start(Settings { max_in_flight: 10_000, ..settings }).await.expect("a sandbox");
        let process = Gateway::start(configure(setup(&sandbox), &sandbox)).await;
        let caller = process.open_account("acme", "1000000").await;
        Self { process, sandbox, caller }
    }

    async fn submit(&self, body: &Value) -> Response {
        self.caller.post(ROUTE, body).await
    }

    /// Submits, expects a receipt, and waits for the task's end.
    async fn finish(&self, body: &Value) -> Value {
        self.caller.finish(ROUTE, body).await
    }

    /// Submits and expects a 400 that names the field and has these words.
    async fn expect_refusal(&self, body: &Value, words: &str) {
        expect_refused(&self.submit(body).await, 400, body, words);
    }

    /// The address of one of the sandbox's sample files.
    fn sample(&self, name: &str) -> String {
        format!("{}/samples/{name}", self.sandbox.context().samples)
    }
}

/// An error envelope of this status with these words, as the answer to a body.
fn expect_refused(answer: &Response, status: u16, body: &Value, words: &str) {
    let answered = answer.json();
    let kind = if status == 404 { "not_found_error" } else { "invalid_request_error" };
    assert_eq!(
        (answer.status, answered["error"]["type"].as_str()),
        (status, Some(kind)),
        "{body}: {answered}"
    );
    assert!(message_of(&answered).contains(words), "{body}: {answered}");
}

/// Providers whose jobs are ready at once.
fn at_once() -> Settings {
    Settings { job_time: Duration::ZERO, ..Settings::default() }
}

/// What a film says of itself.
#[derive(Debug, PartialEq, Eq)]
struct FilmFacts {
    width: u32,
    height: u32,
    milliseconds: u64,
    has_sound: bool,
}

/// Fetches the link of a completed task and reads the film.
async fn film_of(task: &Value) -> FilmFacts {
    assert_eq!(task["status"], "completed", "{task}");
    let link = task["result"]["videos"][0]["url"][0].as_str().expect("a link");
    let answer = send_to(link, &[]).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "video/mp4"));
    let mut rest: &[u8] = &answer.body;
    let moov: Moov = loop {
        if let mp4_atom::Any::Moov(moov) = mp4_atom::Any::read_from(&mut rest).expect("whole boxes") {
            break moov;
        }
    };
    let is = |trak: &&mp4_atom::Trak, name: &[u8; 4]| trak.mdia.hdlr.handler == mp4_atom::FourCC::new(name);
    let video = moov.trak.iter().find(|trak| is(trak, b"vide")).expect("pictures");
    let [Codec::Avc1(avc1)] = &video.mdia.minf.stbl.stsd.codecs[..] else { panic!("not H.264") };
    FilmFacts {
        width: avc1.visual.width.into(),
        height: avc1.visual.height.into(),
        milliseconds: moov.mvhd.duration * 1000 / u64::from(moov.mvhd.timescale),
        has_sound: moov.trak.iter().any(|trak| is(&trak, b"soun")),
    }
}
