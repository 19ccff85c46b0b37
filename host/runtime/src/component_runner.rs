//! Runs one component without registry, data folder or async runtime, under the same engine, limits and rules as the
//! service. For the plugin testkit and similar tools.

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::{
    About, Accepted, Answered, Call, Chunk, Context, Event, Json, Prepared, Refusal, Reply, Sse, Step,
    Submission, TaskView, TextFailure, TextRequest,
};
use wasmtime::component::Component;

use crate::config::Config;
use crate::deploy::error::{StageError, causes};
use crate::deploy::report::StageLog;
use crate::deploy::stages::admit::admit;
use crate::deploy::stages::inspect::inspect;
use crate::deploy::verifier::{Candidate, Verifier};
use crate::exec::limits::Limits;
use crate::fault::Fault;
use crate::version::Version;

/// A loaded component. Cheap to clone; may be used from any thread. A call blocks its thread.
#[derive(Clone)]
pub struct ComponentRunner {
    verifier: Arc<Verifier>,
    version: Arc<Version>,
}

impl ComponentRunner {
    /// Takes `wasm` through the stages admit, inspect, compile (in memory), link, describe and self-test.
    ///
    /// # Errors
    /// The stage that refused it, and why.
    pub fn load(wasm: &[u8], limits: Limits) -> Result<Self, StageError> {
        let config = Config { limits, ..Config::new(PathBuf::new()) };
        Self::load_with(wasm, &config)
    }

    /// The same under a whole configuration: limits by family, settings. Its folder and threads are unused.
    ///
    /// # Errors
    /// The stage that refused it, and why.
    pub fn load_with(wasm: &[u8], config: &Config) -> Result<Self, StageError> {
        let digest = admit(wasm, config.largest_limits().component())?;
        let package = inspect(wasm)?;
        let verifier = Verifier::open(0, 0, config.largest_memory())
            .map_err(|error| StageError::Host(error.to_string()))?;
        let component =
            Component::new(&verifier.engine, wasm).map_err(|error| StageError::Compile(causes(&error)))?;
        let candidate = Candidate { component, digest, bytes: Some(wasm.len()), manifest: package.manifest };
        let version = verifier.verify(&candidate, config, &mut StageLog::default())?;
        verifier.self_test(&version)?;
        Ok(Self { verifier: Arc::new(verifier), version })
    }

    /// Its manifest.
    #[must_use]
    pub fn about(&self) -> &About {
        self.version.about()
    }

    /// The document that its manifest was read from.
    ///
    /// # Errors
    /// The fault of the call.
    pub fn manifest(&self) -> Result<String, StageError> {
        Ok(self.verifier.document(&self.version.pre, self.version.limits())?)
    }

    /// The operator's table for its family: the `settings` of a context.
    #[must_use]
    pub fn settings(&self) -> Arc<str> {
        self.version.settings()
    }

    /// Judges a request in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn submit(&self, cx: Context, submission: Submission) -> Result<Result<Accepted, Refusal>, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.submit(&cx, submission))
    }

    /// Takes one step in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn advance(&self, cx: Context, state: Vec<u8>, event: Event) -> Result<Step, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.advance(&cx, &state, event))
    }

    /// Rewrites an older state in a fresh instance; the inner error is the plugin's own.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn migrate(&self, from: u32, state: Vec<u8>) -> Result<Result<Vec<u8>, String>, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.migrate(from, &state))
    }

    /// Renders a task in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn view(&self, cx: Context, surface: String, view: TaskView) -> Result<Json, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.view(&cx, &surface, view))
    }

    /// One call for the items of several, in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn merge(&self, cx: Context, key: String, items: Vec<String>) -> Result<Call, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.merge(&cx, &key, &items))
    }

    /// The reply to each item of a merged call, in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn split(
        &self,
        cx: Context,
        key: String,
        items: Vec<String>,
        reply: Reply,
    ) -> Result<Vec<Option<Reply>>, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.split(&cx, &key, &items, reply))
    }

    /// Judges a text request in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn prepare(&self, cx: Context, request: TextRequest) -> Result<Result<Prepared, Refusal>, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.prepare(&cx, request))
    }

    /// Translates a whole answer in a fresh instance.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub fn answer(
        &self,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || version.answer(&cx, &state, reply, None))
    }

    /// Runs a whole stream in one instance: each batch of events, then the end, unless a chunk was the last or there was
    /// a failure.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer to a call; those before it are lost.
    pub fn relay(
        &self,
        cx: Context,
        state: Vec<u8>,
        batches: Vec<Vec<Sse>>,
    ) -> Result<Vec<Result<Chunk, TextFailure>>, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || {
            let mut stream = version.relay(&cx, &state, None)?;
            let is_over =
                |answer: &Result<Chunk, TextFailure>| answer.as_ref().map_or(true, |chunk| chunk.last);
            let mut answers = vec![];
            for events in batches {
                answers.push(stream.push(events)?);
                if answers.last().is_some_and(is_over) {
                    return Ok(answers);
                }
            }
            answers.push(stream.end()?);
            Ok(answers)
        })
    }
}
