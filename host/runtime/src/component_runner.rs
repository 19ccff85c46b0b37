//! Runs one component without registry, data folder or async runtime, under the same engine, limits and rules as the
//! service. For scripts and similar tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::{
    About, Accepted, Answered, Call, Chunk, Context, DialectPrepared, DialectRequest, Digest, DirectPlan,
    DirectRequest, DirectResponse, Event, Failure, Json, Prepared, Refusal, Reply, Sse, Step, Submission,
    TaskView, TextFailure, TextRequest,
};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::abi_v1::exports::Half;
use crate::config::Config;
use crate::exec::limits::Limits;
use crate::fault::Fault;
use crate::stages::admit::admit;
use crate::stages::compile::Compiler;
use crate::stages::inspect::inspect;
use crate::stages::report::{StageError, StageLog, causes};
use crate::stages::verifier::{Candidate, Verifier};
use crate::store::plugin_store::PluginStore;
use crate::version::loaded::Version;

/// A loaded component. Cheap to clone; may be used from any thread. A call blocks its thread.
#[derive(Clone)]
pub struct ComponentRunner {
    verifier: Arc<Verifier>,
    version: Arc<Version>,
    was_compiled: bool,
}

/// Components whose code a folder of code keeps.
const KEPT: usize = 16;

impl ComponentRunner {
    /// Takes `wasm` through the stages admit, inspect, compile (in memory), link, describe and self-test.
    pub fn load(wasm: &[u8], limits: Limits) -> Result<Self, StageError> {
        let config = Config { limits, ..Config::new(PathBuf::new()) };
        Self::load_with(wasm, &config, None)
    }

    /// The same under a whole configuration: limits by family, settings. Its folder and threads are unused. The folder `code`
    /// keeps compiled code from one process to the next, by content, for the latest few components; one that cannot be used
    /// costs a compilation, and nothing else.
    pub fn load_with(wasm: &[u8], config: &Config, code: Option<&Path>) -> Result<Self, StageError> {
        let digest = admit(wasm, config.largest_limits().component())?;
        let package = inspect(wasm)?;
        let verifier = Verifier::open(0, 0, config.largest_memory())
            .map_err(|error| StageError::Host(error.to_string()))?;
        let kept = code.and_then(|folder| kept(&verifier.engine, folder, &digest, wasm, config));
        let (component, was_compiled) = match kept {
            Some(kept) => kept,
            None => {
                let compiled = Component::new(&verifier.engine, wasm);
                (compiled.map_err(|error| StageError::Compile(causes(&error)))?, true)
            }
        };
        let candidate = Candidate { component, digest, bytes: Some(wasm.len()), manifest: package.manifest };
        let version = verifier.verify(&candidate, config, &mut StageLog::default())?;
        verifier.self_test(&version)?;
        Ok(Self { verifier: Arc::new(verifier), version, was_compiled })
    }

    /// Whether it was compiled now; otherwise its code was found.
    #[must_use]
    pub fn was_compiled(&self) -> bool {
        self.was_compiled
    }

    /// Its manifest.
    #[must_use]
    pub fn about(&self) -> &About {
        self.version.about()
    }

    /// The document that its manifest was read from.
    pub fn manifest(&self) -> Result<String, StageError> {
        Ok(self.verifier.document(&self.version.pre, self.version.limits())?)
    }

    /// The operator's table for its family: the `settings` of a context.
    #[must_use]
    pub fn settings(&self) -> Arc<str> {
        self.version.settings()
    }

    // Each call below has a fresh instance, or one for a whole stream, and ends with a `Fault` where there is no acceptable answer;
    // the answers of a stream before that are lost.

    fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Version>) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let version = Arc::clone(&self.version);
        self.verifier.run(move || work(&version))
    }

    /// Judges a request in a fresh instance.
    pub fn submit(&self, cx: Context, submission: Submission) -> Result<Result<Accepted, Refusal>, Fault> {
        self.run(move |version| version.submit(&cx, submission))
    }

    /// Takes one step in a fresh instance.
    pub fn advance(&self, cx: Context, state: Vec<u8>, event: Event) -> Result<Step, Fault> {
        self.run(move |version| version.advance(&cx, &state, event))
    }

    /// Rewrites an older state in a fresh instance; the inner error is the plugin's own.
    pub fn migrate(&self, from: u32, state: Vec<u8>) -> Result<Result<Vec<u8>, String>, Fault> {
        self.run(move |version| version.migrate(from, &state))
    }

    /// Renders a task in a fresh instance.
    pub fn view(&self, cx: Context, surface: String, view: TaskView) -> Result<Json, Fault> {
        self.run(move |version| version.view(&cx, &surface, view))
    }

    /// One call for the items of several, in a fresh instance.
    pub fn merge(&self, cx: Context, key: String, items: Vec<String>) -> Result<Call, Fault> {
        self.run(move |version| version.merge(&cx, &key, &items))
    }

    /// The reply to each item of a merged call, in a fresh instance.
    pub fn split(
        &self,
        cx: Context,
        key: String,
        items: Vec<String>,
        reply: Reply,
    ) -> Result<Vec<Option<Reply>>, Fault> {
        self.run(move |version| version.split(&cx, &key, &items, reply))
    }

    /// Judges a text request in a fresh instance.
    pub fn prepare(&self, cx: Context, request: TextRequest) -> Result<Result<Prepared, Refusal>, Fault> {
        self.run(move |version| version.prepare(version.limits().call_ms.get(), &cx, request))
    }

    /// Translates a whole answer in a fresh instance.
    pub fn answer(
        &self,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        self.run(move |version| version.answer(&cx, &state, reply, None))
    }

    /// Runs a whole stream through one half of the family in one instance: each batch of events, then the end, unless a chunk was the
    /// last or there was a failure.
    pub fn relay(
        &self,
        half: Half,
        cx: Context,
        state: Vec<u8>,
        batches: Vec<Vec<Sse>>,
    ) -> Result<Vec<Result<Chunk, TextFailure>>, Fault> {
        self.run(move |version| {
            let mut stream = version.open_stream(half, &cx, &state, None)?;
            let is_over =
                |answer: &Result<Chunk, TextFailure>| answer.as_ref().map_or(true, |chunk| chunk.last);
            let mut answers = vec![];
            for events in batches {
                answers.push(stream.translate(Some(events))?);
                if answers.last().is_some_and(is_over) {
                    return Ok(answers);
                }
            }
            answers.push(stream.translate(None)?);
            Ok(answers)
        })
    }

    /// Prepares a request that is answered at once, in a fresh instance.
    pub fn plan(&self, cx: Context, request: DirectRequest) -> Result<Result<DirectPlan, Refusal>, Fault> {
        self.run(move |version| version.prepare_direct(&cx, request, version.limits().call_ms.get()))
    }

    /// Translates the answer to it, in a fresh instance.
    pub fn respond(
        &self,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<DirectResponse, Failure>, Fault> {
        self.run(move |version| version.answer_direct(&cx, &state, reply))
    }

    /// Translates a Messages request with the dialect half, in a fresh instance.
    pub fn translate(
        &self,
        cx: Context,
        request: DialectRequest,
    ) -> Result<Result<DialectPrepared, Refusal>, Fault> {
        self.run(move |version| version.prepare(version.limits().call_ms.get(), &cx, request))
    }

    /// Reads a whole answer with the dialect half, in a fresh instance.
    pub fn read_answer(
        &self,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<Json, TextFailure>, Fault> {
        self.run(move |version| version.answer(&cx, &state, reply, None))
    }
}

/// The component's code, found in `folder` or compiled and kept there; `true` when it was compiled now.
fn kept(
    engine: &Engine,
    folder: &Path,
    digest: &Digest,
    wasm: &[u8],
    config: &Config,
) -> Option<(Component, bool)> {
    let store = Arc::new(PluginStore::of_code(folder).ok()?);
    let compiled =
        Compiler::new(engine.clone(), Arc::clone(&store), 1, None).compile(digest, wasm, config).ok()?;
    // What is left too long is found the next time.
    drop(store.drop_checked_code(KEPT));
    Some(compiled)
}
