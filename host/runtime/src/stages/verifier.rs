//! Checks a compiled component: its needs, link (does every import exist, with the type it expects?), describe, self-test.
//!
//! Has an engine, a linker and one thread of its own, so that a plugin under verification takes no thread from those
//! that serve. Never switches anything.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use gatehouse_guest::{Guest, LogSource};
use gatehouse_model::{About, Digest};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::abi_v1::exports;
use crate::abi_v1::exports::FamilyPre;
use crate::config::{Config, REQUEST_INSTANCES};
use crate::exec::engine;
use crate::exec::instance::{CallSetup, call};
use crate::exec::limits::Limits;
use crate::exec::threads::Threads;
use crate::fault::Fault;
use crate::stages::admit::AdmitError;
use crate::stages::describe::{DescribeError, check_manifest};
use crate::stages::document;
use crate::stages::inspect::resources;
use crate::stages::report::{OpenError, StageError, StageLog, causes};
use crate::stages::self_test::run_self_tests;
use crate::version::loaded::Version;

/// The one queue of the verifier's thread: versions are verified in order, whatever their family.
const QUEUE: &str = "";

/// What wasmtime says when address space is not to be had.
const NO_ROOM: &str = "mmap failed";

pub(crate) struct Verifier {
    pub(crate) engine: Engine,
    linker: Linker<Guest>,
    thread: Threads,
}

/// A compiled component to verify.
pub(crate) struct Candidate {
    pub(crate) component: Component,
    pub(crate) digest: Digest,
    /// The size of its file; `None` when it was admitted before.
    pub(crate) bytes: Option<usize>,
    /// The manifest that its file carries for readers.
    pub(crate) manifest: Option<String>,
}

impl Verifier {
    /// Makes an engine for the calls of `threads` threads and `streams` streams at once (and the verifier's own, and the
    /// requests that keep an instance), of at most `memory` bytes each.
    pub(crate) fn open(threads: usize, streams: usize, memory: usize) -> Result<Self, OpenError> {
        let failed = |error: wasmtime::Error| OpenError::Engine(causes(&error));
        let others = threads.saturating_add(1 + REQUEST_INSTANCES);
        let calls = others.saturating_add(streams);
        let engine = engine::serving(calls, memory).map_err(|error| {
            let most = engine::fitting(calls, memory).and_then(|fitting| fitting.checked_sub(others));
            match most.filter(|most| *most > 0) {
                Some(most) => OpenError::TooManyStreams { streams, most },
                None if causes(&error).contains(NO_ROOM) => {
                    OpenError::AddressSpace { streams, reason: causes(&error) }
                }
                None => failed(error),
            }
        })?;
        engine::start_ticker(&engine).map_err(OpenError::Threads)?;
        let linker = linker(&engine).map_err(failed)?;
        let thread = Threads::start("plugin-load", 1).map_err(OpenError::Threads)?;
        Ok(Self { engine, linker, thread })
    }

    /// Runs the stages link and describe.
    pub(crate) fn verify(
        &self,
        candidate: &Candidate,
        config: &Config,
        log: &mut StageLog,
    ) -> Result<Arc<Version>, StageError> {
        let limits = config.largest_limits();
        let pre = log.stage("link", || {
            resources(&candidate.component, &limits)?;
            Ok((link(&self.linker, &candidate.component)?, "every import exists".to_owned()))
        })?;
        let about = log.stage("describe", || {
            let about = self.describe(&pre, limits, candidate.manifest.as_deref())?;
            check_manifest(&about)?;
            let note = format!("{} {}, twice the same manifest", about.family, about.version);
            Ok((about, note))
        })?;
        let own = config.of_family(&about.family);
        let limits = own.limits;
        if let Some(bytes) = candidate.bytes.filter(|bytes| *bytes > limits.component()) {
            return Err(AdmitError::TooLarge { bytes, limit: limits.component() }.into());
        }
        let source = LogSource {
            family: about.family.as_str().into(),
            version: about.version.as_str().into(),
            task: None,
            is_trial: false,
        };
        let label = format!("{} {} ({})", about.family, about.version, candidate.digest.short());
        Ok(Arc::new(Version {
            label: label.into(),
            about,
            digest: candidate.digest,
            config: ArcSwap::from_pointee(own),
            pre,
            log_source: source,
            rolled_back: AtomicBool::new(false),
            unread_logged: AtomicBool::new(false),
        }))
    }

    /// Asks twice, and compares what was said with what the file `carries` for readers.
    fn describe(
        &self,
        pre: &FamilyPre,
        limits: Limits,
        carries: Option<&str>,
    ) -> Result<About, DescribeError> {
        let (first, second) = (self.document(pre, limits)?, self.document(pre, limits)?);
        if first != second {
            return Err(DescribeError::Unsteady);
        }
        let about = document::read(&first, pre.offers())?;
        carries.map_or(Ok(()), |carries| document::compare(carries, &first))?;
        Ok(about)
    }

    /// The document that `describe` returns.
    pub(crate) fn document(&self, pre: &FamilyPre, limits: Limits) -> Result<String, DescribeError> {
        let pre = pre.clone();
        let described = self.run(move || {
            let source =
                LogSource { family: "(unnamed)".into(), version: "".into(), task: None, is_trial: false };
            let setup = CallSetup { limits, source, budget_ms: limits.load_ms.get() };
            call(&pre, setup, |callee| {
                pre.check_types(callee)?;
                callee.describe()
            })
        });
        described.map_err(|fault| DescribeError::Fault(fault.to_string()))
    }

    /// Runs the self-tests and returns their number.
    pub(crate) fn self_test(&self, version: &Arc<Version>) -> Result<usize, StageError> {
        let version = Arc::clone(version);
        let tested = self.run(move || Ok(run_self_tests(&version)));
        Ok(tested.map_err(|fault| StageError::Host(fault.to_string()))??)
    }

    /// Runs `work` on the verifier's own thread.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        self.thread.run_blocking(QUEUE, work)
    }
}

/// A linker with everything that a plugin may import.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    gatehouse_guest::link(&mut linker)?;
    exports::link(&mut linker)?;
    if cfg!(test) {
        // What a later host may offer besides.
        linker.instance("gatehouse:family/later@1.0.0")?;
    }
    Ok(linker)
}

/// The component with its imports linked and its exports looked up.
fn link(linker: &Linker<Guest>, component: &Component) -> Result<FamilyPre, StageError> {
    let linked = linker.instantiate_pre(component).and_then(FamilyPre::new);
    linked.map_err(|error| StageError::Link(causes(&error)))
}
