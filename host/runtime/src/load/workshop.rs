//! Where a version is proved: an engine, a linker, and one thread of its own, so that a plugin under
//! examination cannot take a thread from those that serve.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gatehouse_model::{About, Digest};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use super::admit::AdmitError;
use super::describe::{self, DescribeError};
use super::inspect::inspect;
use super::selftest::{self, SelfTestError};
use super::{Journal, OpenError, StageError, chain};
use crate::config::{Config, Limits};
use crate::engine;
use crate::fault::Fault;
use crate::guest::Guest;
use crate::notes::Speaker;
use crate::run::{Frame, call};
use crate::threads::Threads;
use crate::v1::{self, FamilyPre};
use crate::version::Version;
use crate::wasi;

/// One thread, one queue: who comes to be examined waits its turn, whatever its family.
const ALL: &str = "";

pub(crate) struct Workshop {
    pub(crate) engine: Engine,
    linker: Linker<Guest>,
    bench: Threads,
}

/// A component on its way.
pub(crate) struct Candidate {
    pub(crate) component: Component,
    pub(crate) digest: Digest,
    /// The size of its file; `None` when it has been admitted before.
    pub(crate) bytes: Option<usize>,
}

impl Workshop {
    /// An engine for `calls` calls at once (and one more, the workshop's own), of at most `memory` bytes each.
    pub(crate) fn open(calls: usize, memory: usize) -> Result<Self, OpenError> {
        let wrong = |error: wasmtime::Error| OpenError::Engine(chain(&error));
        let engine = engine::serving(calls + 1, memory).map_err(wrong)?;
        engine::tick(&engine).map_err(OpenError::Threads)?;
        let mut linker = Linker::new(&engine);
        wasi::link(&mut linker).and_then(|()| v1::link(&mut linker)).map_err(wrong)?;
        let bench = Threads::start("plugin-load", 1).map_err(OpenError::Threads)?;
        Ok(Self { engine, linker, bench })
    }

    /// Inspect, link, describe.
    pub(crate) fn prove(
        &self,
        candidate: &Candidate,
        config: &Config,
        journal: &mut Journal,
    ) -> Result<Arc<Version>, StageError> {
        let loosest = config.loosest();
        journal.stage("inspect", || {
            inspect(&self.engine, &candidate.component, &loosest)?;
            Ok(((), "its imports and exports are the contract's".to_owned()))
        })?;
        let pre = journal.stage("link", || {
            let linked = self.linker.instantiate_pre(&candidate.component).and_then(FamilyPre::new);
            let pre = linked.map_err(|error| StageError::Link(chain(&error)))?;
            Ok((pre, "every import is there".to_owned()))
        })?;
        let about = journal.stage("describe", || {
            let about = self.describe(&pre, loosest)?;
            describe::sound(&about)?;
            let said = format!("{} {}, twice the same manifest", about.family, about.version);
            Ok((about, said))
        })?;
        let limits = config.limits_of(&about.family);
        if let Some(bytes) = candidate.bytes.filter(|bytes| *bytes > limits.component()) {
            return Err(AdmitError::TooLarge { bytes, limit: limits.component() }.into());
        }
        let settings = config.settings_of(&about.family);
        let speaker = Speaker {
            family: about.family.as_str().into(),
            version: about.version.as_str().into(),
            task: None,
        };
        Ok(Arc::new(Version {
            about,
            digest: candidate.digest,
            limits,
            settings,
            pre,
            speaker,
            withdrawn: AtomicBool::new(false),
        }))
    }

    fn describe(&self, pre: &FamilyPre, limits: Limits) -> Result<About, DescribeError> {
        let once = || {
            let pre = pre.clone();
            self.bench.run_blocking(ALL, move || {
                let speaker = Speaker { family: "(unnamed)".into(), version: "".into(), task: None };
                let frame = Frame { limits: &limits, speaker, budget_ms: limits.load_ms.get() };
                call(&pre, frame, v1::describe)
            })
        };
        let read = || match once() {
            Ok(Ok(about)) => Ok(about),
            Ok(Err(why)) => Err(DescribeError::Fault(why)),
            Err(fault) => Err(DescribeError::Fault(fault.to_string())),
        };
        let (first, second) = (read()?, read()?);
        if first == second { Ok(first) } else { Err(DescribeError::Unsteady) }
    }

    /// Runs the self-tests; how many there were.
    pub(crate) fn rehearse(&self, version: &Arc<Version>) -> Result<usize, StageError> {
        let under_test = Arc::clone(version);
        let tested: Result<Result<usize, SelfTestError>, Fault> =
            self.bench.run_blocking(ALL, move || Ok(selftest::rehearse(&under_test)));
        match tested {
            Ok(outcome) => Ok(outcome?),
            Err(fault) => Err(StageError::Host(fault.to_string())),
        }
    }

    /// Runs `work` on the workshop's own thread.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        self.bench.run_blocking(ALL, work)
    }
}
