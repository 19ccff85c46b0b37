//! The deployment pipeline: all stages in order, for one version at a time.
//!
//! Everything before the switch may take seconds and disturbs no request. The switch takes a lock of its own for moments, so
//! that a failing version is rolled back even while the next one compiles.
//!
//! Compilations before a start: a gateway that waits for the place of another compiles what it will serve, so that its turn does not begin
//! with that.
//!
//! Nothing but code is written, which is kept by content: which versions are active, and what live tasks need, is known once the store is
//! open, and the start itself decides then.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::Digest;

use crate::config::Config;
use crate::deploy::deployments::Deployments;
use crate::exec::lock;
use crate::serving::registry::Registry;
use crate::serving::switch::{Companion, Switched};
use crate::serving::versions::Versions;
use crate::stages::admit::{AdmitError, SignedComponent, admit};
use crate::stages::fit::{FitError, check_inventory, check_removal, check_settings};
use crate::stages::inspect::inspect;
use crate::stages::rehearse::{MAX_STATES, RehearseError, rehearse};
use crate::stages::report::{DeployError, DeployReport, OpenError, StageError, StageLog};
use crate::stages::routes::check_routes;
use crate::stages::verifier::Candidate;
use crate::version::loaded::Version;

/// How far a deployment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Every stage except the switch.
    Check,
    /// The switch, with a canary period.
    Switch,
    /// The switch without a canary period: an operator brings back a version that has served.
    SwitchBack,
}

/// Whether a version may leave out a model, alias or surface that its predecessor serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Removal {
    /// It is refused.
    #[default]
    Refused,
    /// The operator says so.
    Allowed,
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) goal: Goal,
    pub(crate) removal: Removal,
}

/// A version that passed every stage.
struct Passed {
    version: Arc<Version>,
    compiled: bool,
    self_tests: usize,
}

/// Checked versions whose code is kept until they are installed: those of all families of a release, and some.
const CHECKED: usize = 16;
/// The stages that a loaded version skips.
const LOADED: &str = "it is loaded, and passed this before";

impl Deployments {
    pub(super) fn deploy(
        &self,
        component: &SignedComponent<'_>,
        order: Order,
        companion: Option<&dyn Companion>,
    ) -> Result<DeployReport, DeployError> {
        let usual = self.config();
        let config = companion.map_or(&*usual, |companion| companion.config());
        self.deploy_under(config, component, order, companion)
    }

    /// The same under one configuration, from the first stage to the last.
    pub(super) fn deploy_under(
        &self,
        config: &Config,
        component: &SignedComponent<'_>,
        order: Order,
        companion: Option<&dyn Companion>,
    ) -> Result<DeployReport, DeployError> {
        let mut log = StageLog::default();
        match self.run_pipeline(config, component, order, companion, &mut log) {
            Ok(report) => Ok(DeployReport { stages: log.stages, ..report }),
            Err(why) => Err(DeployError { stages: log.stages, version: log.version, why: Box::new(why) }),
        }
    }

    fn run_pipeline(
        &self,
        config: &Config,
        component: &SignedComponent<'_>,
        order: Order,
        companion: Option<&dyn Companion>,
        log: &mut StageLog,
    ) -> Result<DeployReport, StageError> {
        let goal = order.goal;
        let begun = Instant::now();
        let _one_at_a_time = lock(&self.deploying);
        let wasm = component.wasm;
        let digest = log.stage("admit", || {
            let digest = admit(wasm, config.largest_limits().component())?;
            let signed = if config.built_in.contains(&digest) {
                "came with the gateway".to_owned()
            } else {
                config.trust.check(wasm, component.signature).map_err(AdmitError::from)?
            };
            Ok((digest, format!("{} bytes, sha256 {digest}, {signed}", wasm.len())))
        })?;
        let passed = self.run_stages(config, wasm, digest, order.removal, log);
        self.drop_surplus_code(&digest, passed.as_ref().err());
        let Passed { version, compiled, self_tests } = passed?;
        let active = self.serving.registry.load().is_active(&digest);
        let mut replaced = None;
        match goal {
            Goal::Check => log.skip("switch", "only checked"),
            _ if active => {
                log.skip("switch", "it serves already");
                companion.map_or(Ok(()), |companion| keep_and_apply(companion, version.family(), &digest))?;
            }
            _ => {
                // The operator brings back a version that has served: it is not on trial.
                let rule = (goal == Goal::Switch).then(|| {
                    companion.map_or_else(|| self.config().canary, |companion| companion.config().canary)
                });
                replaced = log.stage("switch", || {
                    let switched = self.serving.switch(&version, component, rule, companion)?;
                    let Switched { replaced, note } = switched;
                    Ok((replaced, note))
                })?;
            }
        }
        Ok(DeployReport {
            about: version.about().clone(),
            digest,
            bytes: wasm.len(),
            self_tests,
            compiled,
            active: active || goal != Goal::Check,
            replaced,
            took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            stages: Vec::new(),
        })
    }

    fn run_stages(
        &self,
        config: &Config,
        wasm: &[u8],
        digest: Digest,
        removal: Removal,
        log: &mut StageLog,
    ) -> Result<Passed, StageError> {
        let registry = self.serving.registry.load_full();
        if let Some(version) = self.serving.versions.loaded(&digest) {
            log.describe(version.about());
            ["inspect", "compile", "link", "describe"].iter().for_each(|name| log.skip(name, LOADED));
            self.fit(config, &version, &registry, removal, log)?;
            log.skip("self-test", LOADED);
            self.rehearse(&version, &registry, log)?;
            return Ok(Passed { version, compiled: false, self_tests: 0 });
        }
        let package = log.stage("inspect", || {
            let package = inspect(wasm)?;
            Ok((package, "its imports and exports are the contract's, its sections can be read".to_owned()))
        })?;
        let (component, compiled) = log.stage("compile", || {
            let (component, compiled) = self.serving.versions.compiler.compile(&digest, wasm, config)?;
            let note = if compiled { "compiled now" } else { "compiled before" };
            Ok(((component, compiled), note.to_owned()))
        })?;
        let candidate = Candidate { component, digest, bytes: Some(wasm.len()), manifest: package.manifest };
        let version = self.serving.versions.verifier.verify(&candidate, config, log)?;
        log.describe(version.about());
        self.fit(config, &version, &registry, removal, log)?;
        let self_tests = log.stage("self-test", || {
            let passed = self.serving.versions.verifier.self_test(&version)?;
            Ok((passed, format!("{passed} passed, each twice with the same answer")))
        })?;
        self.rehearse(&version, &registry, log)?;
        Ok(Passed { version, compiled, self_tests })
    }

    fn fit(
        &self,
        config: &Config,
        version: &Version,
        registry: &Registry,
        removal: Removal,
        log: &mut StageLog,
    ) -> Result<(), StageError> {
        let about = version.about();
        let built_in = config.built_in.contains(&version.digest());
        log.stage("fit", || {
            if config.disabled.contains(&about.family) {
                return Err(FitError::Disabled(about.family.clone()).into());
            }
            registry.fits(about)?;
            let inventory = config.inventory.as_ref();
            inventory.map_or(Ok(()), |inventory| check_routes(about, inventory))?;
            check_settings(about, config)?;
            let mut notes = Vec::new();
            if let Some(before) = registry.family(version.family()) {
                match (check_removal(before.about(), about), removal) {
                    (Err(removes), Removal::Refused) if !built_in => return Err(removes.into()),
                    (Err(removes), _) => {
                        tracing::warn!(family = version.family(), %removes, "a version serves less than the one before");
                        notes.push(format!("accepted, although {removes}"));
                    }
                    (Ok(()), _) => {}
                }
            }
            let needs = inventory.map(|inventory| check_inventory(about, inventory));
            notes.push(match needs {
                None => "this gateway serves no requests".to_owned(),
                Some(Ok(note)) => note,
                Some(Err(lacks)) if built_in => {
                    tracing::warn!(family = version.family(), %lacks, "a built-in plugin lacks what it needs");
                    format!("it came with the gateway and is accepted, although {lacks}")
                }
                Some(Err(lacks)) => return Err(lacks.into()),
            });
            notes.extend(self.same_semver(version));
            Ok(((), notes.join("; ")))
        })
    }

    /// A warning when another kept version of the family calls itself the same.
    fn same_semver(&self, version: &Version) -> Option<String> {
        let about = version.about();
        let other = self.serving.versions.same_semver(version)?;
        let semver = &about.version;
        tracing::warn!(family = about.family, semver, %other, "two plugin versions have the same semver");
        Some(format!(
            "warning: {semver} is also the semver of {}, which has other bytes; count `version` up with every change",
            other.short()
        ))
    }

    fn rehearse(
        &self,
        version: &Arc<Version>,
        registry: &Registry,
        log: &mut StageLog,
    ) -> Result<(), StageError> {
        let Some(live) = self.live.get().filter(|_| !registry.is_active(&version.digest())) else {
            log.skip("rehearse", "there are no live tasks for it");
            return Ok(());
        };
        log.stage("rehearse", || {
            let sample = live.sample(version.family(), MAX_STATES).map_err(RehearseError::Unreadable)?;
            let digests: BTreeSet<Digest> = sample.states.iter().map(|live| live.digest).collect();
            let writers: HashMap<Digest, Arc<Version>> = digests
                .into_iter()
                .filter_map(|digest| Some((digest, self.serving.versions.load(&digest).ok()?)))
                .collect();
            let (version, now) = (Arc::clone(version), self.serving.clock.now());
            let work = move || Ok(rehearse(&version, sample, &writers, now));
            let rehearsed = self.serving.versions.verifier.run(work);
            Ok(((), rehearsed.map_err(|fault| StageError::Host(fault.to_string()))??))
        })
    }

    /// Keeps the code of a version that passed, or that this gateway only cannot serve yet: the next deployment of it then
    /// compiles nothing. Drops the code of any other version that is not in the plugin store, and of those checked long
    /// ago.
    fn drop_surplus_code(&self, digest: &Digest, refused: Option<&StageError>) {
        let is_sound = refused.is_none_or(|why| matches!(why, StageError::Fit(_)));
        let store = &self.serving.versions.store;
        let dropped = if is_sound || store.has_component(digest) {
            store.drop_checked_code(CHECKED)
        } else {
            store.drop_code(digest)
        };
        if let Err(error) = dropped {
            tracing::warn!(%digest, %error, "code of a plugin could not be removed");
        }
    }
}

/// The version serves already; only its configuration is new.
fn keep_and_apply(companion: &dyn Companion, family: &str, digest: &Digest) -> Result<(), StageError> {
    let failed = |source| StageError::Switch { what: "the configuration that comes with it", source };
    companion.keep(family, digest).map_err(failed)?;
    companion.apply();
    Ok(())
}

/// Compiles the active versions of a data folder, and `others`, as far as they have no code. Between two of them it ends where
/// `goes_on` says no. How many were compiled. Blocks, for seconds each.
///
/// # Errors
/// [`OpenError`] when the engine or the plugin store does not work; a component that cannot be compiled is the start's to tell.
pub fn compile_before_start(
    config: Config,
    others: &[(Digest, &[u8])],
    goes_on: &dyn Fn() -> bool,
) -> Result<usize, OpenError> {
    let versions = Versions::open(config, false)?;
    let failed = |source| OpenError::Folder { path: versions.store.active_path(), source };
    let mut compiled = 0;
    let mut compile = |digest: &Digest, wasm: &[u8]| {
        let code = versions.compiler.compile(digest, wasm, &versions.config.load());
        compiled += usize::from(code.is_ok_and(|(_, is_new)| is_new));
    };
    for entry in versions.store.active().map_err(failed)?.into_values() {
        if goes_on()
            && versions.compiler.find(&entry.digest).is_none()
            && let Some(wasm) = versions.store.component(&entry.digest).map_err(failed)?
        {
            compile(&entry.digest, &wasm);
        }
    }
    for (digest, wasm) in others {
        if goes_on() {
            compile(digest, wasm);
        }
    }
    Ok(compiled)
}
