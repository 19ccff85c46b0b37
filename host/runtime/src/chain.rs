//! The chain a version goes through, and the two ways the registry changes: a switch, and a withdrawal.
//!
//! Everything up to the switch happens aside, one version at a time; the change itself takes a lock of its
//! own for moments, so that a version that fails its watch is withdrawn even while the next one compiles.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::{Digest, metric};

use crate::fault::Fault;
use crate::load::{
    AdmitError, Candidate, Journal, LiveSample, MOST_STATES, Refused, RehearseError, Report, StageError,
    admit, rehearse, supplied,
};
use crate::registry::Registry;
use crate::shelf::{Row, Withdrawal};
use crate::version::Version;
use crate::versions::{Inner, lock};
use crate::watch::Watch;

/// A component, and whoever vouches for it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The component's bytes.
    pub wasm: &'a [u8],
    /// The line of its signature file.
    pub signature: Option<&'a str>,
}

impl<'a> From<&'a [u8]> for Offer<'a> {
    fn from(wasm: &'a [u8]) -> Self {
        Self { wasm, signature: None }
    }
}

impl<'a> From<&'a Vec<u8>> for Offer<'a> {
    fn from(wasm: &'a Vec<u8>) -> Self {
        Self { wasm, signature: None }
    }
}

/// How far a version is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Back into service, by hand: it is known, so it is not watched.
    Back,
    /// Through every stage but the switch.
    Check,
    /// Into service.
    Switch,
}

/// A version ready to serve, and what it took.
struct Proven {
    version: Arc<Version>,
    compiled: bool,
    self_tests: usize,
}

impl Inner {
    pub(crate) fn take_in(&self, offer: &Offer<'_>, plan: Plan) -> Result<Report, Refused> {
        let mut journal = Journal::default();
        match self.run_chain(offer, plan, &mut journal) {
            Ok(report) => Ok(Report { stages: journal.stages, ..report }),
            Err(why) => Err(Refused { stages: journal.stages, why: Box::new(why) }),
        }
    }

    fn run_chain(&self, offer: &Offer<'_>, plan: Plan, journal: &mut Journal) -> Result<Report, StageError> {
        let begun = Instant::now();
        let _one_on_its_way = lock(&self.preparing);
        let digest = journal.stage("admit", || {
            let digest = admit(offer.wasm, self.config.loosest().component())?;
            let vouched = if self.config.built_in.contains(&digest) {
                "came with the gateway".to_owned()
            } else {
                self.config.trust.judge(offer.wasm, offer.signature).map_err(AdmitError::from)?
            };
            Ok((digest, format!("{} bytes, sha256 {digest}, {vouched}", offer.wasm.len())))
        })?;
        let prepared = self.prepare(offer.wasm, digest, journal);
        if prepared.is_err() || plan == Plan::Check {
            self.forget(&digest);
        }
        let Proven { version, compiled, self_tests } = prepared?;
        let active = self.registry.load().is_active(&digest);
        let mut replaced = None;
        match plan {
            Plan::Check => journal.skip("switch", "only checked"),
            _ if active => journal.skip("switch", "it serves already"),
            _ => replaced = journal.stage("switch", || self.switch(&version, offer, plan))?,
        }
        Ok(Report {
            about: version.about().clone(),
            digest,
            bytes: offer.wasm.len(),
            self_tests,
            compiled,
            active: active || plan != Plan::Check,
            replaced,
            took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            stages: Vec::new(),
        })
    }

    fn prepare(&self, wasm: &[u8], digest: Digest, journal: &mut Journal) -> Result<Proven, StageError> {
        let registry = self.registry.load_full();
        if let Some(version) = self.held(&digest) {
            for name in ["compile", "inspect", "link", "describe"] {
                journal.skip(name, "it is loaded, and passed this before");
            }
            self.fit(&version, &registry, journal)?;
            journal.skip("self-test", "it is loaded, and passed this before");
            self.meet_live_tasks(&version, &registry, journal)?;
            return Ok(Proven { version, compiled: false, self_tests: 0 });
        }
        let (component, compiled) = journal.stage("compile", || {
            let (component, compiled) = self.compiler.compile(&digest, wasm)?;
            let said = if compiled { "compiled now" } else { "compiled before" };
            Ok(((component, compiled), said.to_owned()))
        })?;
        let candidate = Candidate { component, digest, bytes: Some(wasm.len()) };
        let version = self.workshop.prove(&candidate, &self.config, journal)?;
        self.fit(&version, &registry, journal)?;
        let self_tests = journal.stage("self-test", || {
            let passed = self.workshop.rehearse(&version)?;
            Ok((passed, format!("{passed} passed, each twice with the same answer")))
        })?;
        self.meet_live_tasks(&version, &registry, journal)?;
        Ok(Proven { version, compiled, self_tests })
    }

    /// Whether this gateway can serve it.
    fn fit(&self, version: &Version, registry: &Registry, journal: &mut Journal) -> Result<(), StageError> {
        journal.stage("fit", || {
            registry.fits(version.about())?;
            let said = match self.config.supplies.as_ref().map(|has| supplied(version.about(), has)) {
                None => "this house serves nothing".to_owned(),
                Some(Ok(said)) => said,
                Some(Err(lacks)) if self.config.built_in.contains(&version.digest()) => {
                    tracing::warn!(family = version.family(), %lacks, "a built-in plugin lacks what it needs");
                    format!("it came with the gateway and is let in, although {lacks}")
                }
                Some(Err(lacks)) => return Err(lacks.into()),
            };
            Ok(((), said))
        })
    }

    /// Rehearses on copies of what live tasks remember.
    fn meet_live_tasks(
        &self,
        version: &Arc<Version>,
        registry: &Registry,
        journal: &mut Journal,
    ) -> Result<(), StageError> {
        let Some(live) = self.live.get().filter(|_| !registry.is_active(&version.digest())) else {
            journal.skip("rehearse", "there are no live tasks it could meet");
            return Ok(());
        };
        journal.stage("rehearse", || {
            let sample: LiveSample =
                live.sample(version.family(), MOST_STATES).map_err(RehearseError::Unreadable)?;
            let digests: BTreeSet<Digest> = sample.states.iter().map(|live| live.digest).collect();
            let writers: HashMap<Digest, Arc<Version>> = digests
                .into_iter()
                .filter_map(|digest| Some((digest, self.version(&digest).ok()?)))
                .collect();
            let (version, now) = (Arc::clone(version), self.clock.now());
            let played: Result<Result<String, RehearseError>, Fault> =
                self.workshop.run(move || Ok(rehearse(&version, sample, &writers, now)));
            let said = played.map_err(|fault| StageError::Host(fault.to_string()))??;
            Ok(((), said))
        })
    }

    /// Drops the code of a component that is not kept.
    fn forget(&self, digest: &Digest) {
        if !self.shelf.has_component(digest)
            && let Err(error) = self.shelf.drop_code(digest)
        {
            tracing::warn!(%digest, %error, "code of a rejected plugin could not be removed");
        }
    }

    /// The component is durable before it is listed, and listed before it serves. What it replaced, and a
    /// sentence for the report.
    fn switch(
        &self,
        version: &Arc<Version>,
        offer: &Offer<'_>,
        plan: Plan,
    ) -> Result<(Option<Digest>, String), StageError> {
        let _one_change = lock(&self.changing);
        let registry = self.registry.load_full();
        let (digest, family, since) = (version.digest(), version.family(), self.clock.now());
        let next = registry.with(Arc::clone(version), since)?;
        let failed = |what| move |source| StageError::Switch { what, source };
        self.shelf.keep_component(&digest, offer.wasm).map_err(failed("the component"))?;
        if let Some(signature) = offer.signature {
            self.shelf.keep_signature(&digest, signature).map_err(failed("the signature"))?;
        }
        let mut rows = self.shelf.active().map_err(failed("the list of active versions"))?;
        let listed = rows.get(family).map(|row| row.digest).filter(|before| *before != digest);
        let before = registry.family(family).filter(|before| before.digest() != digest);
        let watched = before
            .as_ref()
            .filter(|before| plan == Plan::Switch && !before.is_withdrawn())
            .and_then(|before| Some((Arc::clone(before), self.config.watch.until(since)?)));
        let watched_until = watched.as_ref().map(|(_, until)| *until);
        rows.insert(family.to_owned(), Row { digest, since, before: listed, watched_until });
        self.shelf.write_active(&rows).map_err(failed("the list of active versions"))?;
        self.pardon(&digest).map_err(failed("the list of withdrawn versions"))?;
        version.set_withdrawn(false);
        self.remember(version);
        lock(&self.broken).remove(family);
        let said = match &watched {
            Some((before, until)) => {
                format!("serves; watched until {until}, {} stands by", before.digest().short())
            }
            None => "serves".to_owned(),
        };
        self.tower.end(&digest);
        if let Some((before, until)) = watched {
            self.tower.begin(digest, before, Watch::new(self.config.watch, until));
        }
        self.registry.store(Arc::new(next));
        tracing::info!(family, version = version.about().version, %digest, "plugin version is active");
        Ok((before.map(|before| before.digest()), said))
    }

    /// Takes down how a call of `version` went; one fault too many, and it is withdrawn aside.
    pub(crate) fn note(self: &Arc<Self>, version: &Arc<Version>, fault: Option<&Fault>) {
        let faulty = fault.is_some_and(Fault::is_plugins);
        let Some((before, share)) = self.tower.note(&version.digest(), self.clock.now(), faulty) else {
            return;
        };
        let last = fault.map(ToString::to_string).unwrap_or_default();
        let reason = format!("{share}; the last: {last}");
        // At once, so that what waits in the queue is answered by the version that stands by.
        version.set_withdrawn(true);
        let (inner, version) = (Arc::clone(self), Arc::clone(version));
        tokio::task::spawn_blocking(move || inner.withdraw(&version, &before, reason));
    }

    /// Puts the version before back in its place. The pointer goes first: if the process ends before the
    /// lists are written, the next one watches on.
    fn withdraw(&self, version: &Arc<Version>, before: &Arc<Version>, reason: String) {
        let _one_change = lock(&self.changing);
        let (digest, family, at) = (version.digest(), version.family(), self.clock.now());
        let registry = self.registry.load_full();
        let serving = registry.is_active(&digest);
        if serving {
            match registry.with(Arc::clone(before), at) {
                Ok(next) => self.registry.store(Arc::new(next)),
                Err(clash) => {
                    tracing::error!(family, %digest, reason, %clash, "a failing plugin version cannot be withdrawn");
                    version.set_withdrawn(false);
                    self.tower.end(&digest);
                    return;
                }
            }
        }
        tracing::error!(
            family, version = version.about().version, %digest, reason, serving, back_to = %before.digest(),
            "plugin version withdrawn"
        );
        metrics::counter!(metric::PLUGIN_ROLLED_BACK, "family" => family.to_owned()).increment(1);
        let written = self.write_withdrawal(
            version,
            serving.then_some(before),
            Withdrawal { family: family.to_owned(), at, reason },
        );
        if let Err(error) = written {
            tracing::error!(family, %digest, %error, "the withdrawal is not written down; a restart watches again");
        }
        self.tower.end(&digest);
    }

    fn write_withdrawal(
        &self,
        version: &Version,
        back_to: Option<&Arc<Version>>,
        row: Withdrawal,
    ) -> std::io::Result<()> {
        let (digest, at) = (version.digest(), row.at);
        let mut rows = lock(&self.withdrawn).clone();
        rows.insert(digest, row.clone());
        let written = self.shelf.write_withdrawn(&rows).and_then(|()| {
            let Some(before) = back_to else { return Ok(()) };
            let mut active = self.shelf.active()?;
            let back = Row { digest: before.digest(), since: at, before: None, watched_until: None };
            active.insert(version.family().to_owned(), back);
            self.shelf.write_active(&active)
        });
        // Last: whoever sees it in the list may rely on it. Seen also where it could not be written.
        lock(&self.withdrawn).insert(digest, row);
        written
    }

    /// Forgets that a version was withdrawn: an operator wants it, or nobody ever will again.
    pub(crate) fn pardon(&self, digest: &Digest) -> std::io::Result<()> {
        let mut withdrawn = lock(&self.withdrawn);
        match withdrawn.remove(digest) {
            Some(_) => self.shelf.write_withdrawn(&withdrawn),
            None => Ok(()),
        }
    }

    /// Why a version was withdrawn, if it was.
    pub(crate) fn withdrawn_because(&self, digest: &Digest) -> Option<String> {
        lock(&self.withdrawn).get(digest).map(|row| row.reason.clone())
    }

    /// Switches to a component that is kept already, through every stage.
    pub(crate) fn activate(&self, digest: &Digest, plan: Plan) -> Result<Report, Refused> {
        let failed = |source| StageError::Switch { what: "the kept component", source };
        let wasm = self.shelf.component(digest).map_err(failed)?.ok_or(StageError::NotKept(*digest))?;
        let signature = self.shelf.signature(digest).map_err(failed)?;
        self.take_in(&Offer { wasm: &wasm, signature: signature.as_deref() }, plan)
    }
}
