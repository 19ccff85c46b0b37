//! The configuration of a running gateway: prepared as a whole, and switched to in [`RunningConfiguration::switch`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_admin::{
    Configuration, Deployed, EffectiveView, FamilyDefaultsFile, ForgottenDefaults, OperationError,
    PriceCause, PriceHistory, ReloadView, StagedDefaults,
};
use gatehouse_driver::{Driver, PreparedTables, StartError};
use gatehouse_model::{About, Clock};
use gatehouse_runtime::PluginService;
use gatehouse_upstream::{AccountChange, PreparedProviders, Upstream};
use tokio::sync::Notify;
use toml::Table;

use super::staged::{Staged, defaults_of, effective_view, effects, misconfigured, no_defaults};
use crate::config::{
    ConfigError, ConfigErrors, FamilyDefaults, Loaded, Location, check_own, differences, forget_defaults,
    in_effect, is_limit, is_reloaded, keep_limits, load_with, told,
};
use crate::plugins::built_in::{BuiltInPlugin, Installation, PLUGINS};
use crate::sampled::note_reload;
use crate::sandbox_mode::Simulated;
use crate::secrets;
use crate::service_checks::check_services;

/// The configuration in effect, and the services that are told of another one.
pub(crate) struct RunningConfiguration {
    location: Location,
    root: PathBuf,
    simulated: Option<Simulated>,
    driver: Driver,
    plugins: PluginService,
    clock: Arc<dyn Clock>,
    price_history: PriceHistory,
    current: Mutex<Current>,
    /// What reloads have deployed and nobody has taken yet.
    deployed: Mutex<Vec<Deployed>>,
    /// Told of every reload that is asked for, for the files that others read.
    asked: Notify,
}

/// What is in effect. Its lock makes changes follow one another.
struct Current {
    loaded: Loaded,
    /// The values at the start, which the keys that need a restart still have.
    started: Table,
    /// The values of all other keys, and of the limits of plugins.
    applied: Table,
}

/// A configuration that was checked, every service's part of it.
struct Prepared {
    loaded: Loaded,
    applied: Table,
    tables: PreparedTables,
    providers: PreparedProviders,
    plugins: gatehouse_runtime::Config,
    view: ReloadView,
}

impl RunningConfiguration {
    /// Begins with what the gateway was started with; `root` is its data folder.
    pub(crate) fn new(
        location: Location,
        root: &Path,
        started: Loaded,
        simulated: Option<Simulated>,
        driver: Driver,
        plugins: PluginService,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let table = started.table.clone();
        let current = Current { loaded: started, started: table.clone(), applied: table };
        let (root, current) = (root.to_owned(), Mutex::new(current));
        Self {
            location: Location { data: Some(root.clone()), ..location },
            root,
            simulated,
            driver,
            plugins,
            clock,
            price_history: PriceHistory::default(),
            current,
            deployed: Mutex::default(),
            asked: Notify::new(),
        }
    }

    /// Returns once a reload was asked for since the last time; what came of it does not matter.
    pub(crate) async fn reload_asked(&self) {
        self.asked.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        // A switch is complete before anything can panic.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the prices in effect for the history of the price book, which keeps them where they are other than before.
    pub(crate) fn note_prices(&self, cause: &PriceCause) {
        self.price_history.note(self.driver.models.prices(), cause, self.clock.now());
    }

    /// Reads the files again, before any work begins, after a start that had to wait. What the start did without may still be
    /// unusable. Any other error is logged, and the configuration of the start stays.
    pub(crate) fn catch_up(&self, cause: &PriceCause) {
        // The log has the errors.
        drop(self.read_again(cause, true));
    }

    /// `spares`: what could not be used before need not be usable now.
    fn read_again(&self, cause: &PriceCause, spares: bool) -> Result<ReloadView, OperationError> {
        let mut current = self.lock();
        let known = spares.then_some(&current.loaded);
        let prepared = self.prepare(&current, None, known).map_err(|errors| {
            note_reload(self.clock.now(), false);
            tracing::error!("configuration not reloaded; nothing has changed:\n{errors}");
            misconfigured(errors)
        })?;
        let mut view = prepared.view.clone();
        let was_off = PLUGINS.iter().filter(|plugin| self.plugins.is_disabled(plugin.name));
        let was_off: Vec<_> = was_off.copied().collect();
        self.switch(&mut current, prepared, cause);
        drop(current);
        view.warnings.extend(self.switch_families(&was_off));
        Ok(view)
    }

    /// Loads and checks everything; nothing changes. What could not be used in the `known` one need not be usable now.
    fn prepare(
        &self,
        current: &Current,
        brought: Option<FamilyDefaults>,
        known: Option<&Loaded>,
    ) -> Result<Prepared, ConfigErrors> {
        let loaded = load_with(&self.location, brought)?;
        let loaded = loaded.whole_but_for(known)?;
        let mut config = loaded.config.clone();
        // What was enabled at the start stays so.
        config.sandbox.enabled = self.simulated.is_some();
        if let Some(simulated) = &self.simulated {
            simulated.put_into(&mut config);
        }
        let wrong = check_services(&config);
        ConfigErrors::check(wrong.iter().map(|one| loaded.error_at(&one.key, &one.problem)).collect())?;
        config.providers.retain(|_, provider| !provider.accounts.is_empty());
        let mut plugins = config.runtime(self.root.clone());
        let keeps_limits = !self.plugins.fits_pool(&plugins);
        if keeps_limits {
            let now = self.plugins.config();
            plugins.limits = now.limits;
            plugins.limits_by_family.clone_from(&now.limits_by_family);
        }
        let tables = PreparedTables::new(&config.prices, &config.models, &config.price_variants);
        let tables = tables.map_err(|error| match error {
            StartError::Models { path, why } => loaded.error_at(&format!("models.{path}"), &why),
            StartError::PriceVariants { path, why } => {
                loaded.error_at(format!("price_variants.{path}").trim_end_matches('.'), &why)
            }
            other => loaded.error_at("prices", &other.to_string()),
        })?;
        let providers = self.driver.upstream().prepare(&config.providers, &secrets::resolve);
        let providers = providers.map_err(|wrong| {
            wrong.iter().map(|one| loaded.error_at(&one.key, &one.problem)).collect::<Vec<_>>()
        })?;
        let (mut view, applied) = self.compare(current, &loaded.table, keeps_limits, &plugins, &providers);
        let weak = Upstream::warnings(&config.providers, &secrets::resolve);
        view.warnings.extend(weak.iter().map(ToString::to_string));
        view.warnings.extend(loaded.warnings.iter().map(ConfigError::short));
        Ok(Prepared { loaded, applied, tables, providers, plugins, view })
    }

    /// What the operator is told, and the values in effect afterwards.
    fn compare(
        &self,
        current: &Current,
        table: &Table,
        keeps_limits: bool,
        plugins: &gatehouse_runtime::Config,
        providers: &PreparedProviders,
    ) -> (ReloadView, Table) {
        let changed = differences(&current.applied, table).into_iter();
        let (limits, changed): (Vec<_>, Vec<_>) = changed.partition(|key| keeps_limits && is_limit(key));
        let stale = differences(&current.started, table).into_iter().filter(|key| !is_reloaded(key));
        let before = self.plugins.lacks_under(&self.plugins.config());
        let warnings = self.plugins.lacks_under(plugins).into_iter().filter(|one| !before.contains(one));
        let view = ReloadView {
            changed: changed.into_iter().filter(|key| is_reloaded(key)).collect(),
            accounts: self.driver.upstream().changes(providers).iter().map(describe).collect(),
            needs_restart: stale.chain(limits).collect(),
            warnings: warnings.chain(gone_variants(&current.applied, table)).collect(),
        };
        let mut applied = table.clone();
        if keeps_limits {
            keep_limits(&mut applied, &current.applied);
        }
        (view, applied)
    }

    /// The one place where a running gateway changes its configuration.
    fn switch(&self, current: &mut Current, prepared: Prepared, cause: &PriceCause) {
        let Prepared { loaded, applied, tables, providers, plugins, view } = prepared;
        self.driver.switch_tables(tables, providers);
        self.note_prices(cause);
        self.plugins.configure(plugins);
        (current.loaded, current.applied) = (loaded, applied);
        self.driver.store().tell_configuration(told(&in_effect(&current.started, &current.applied)));
        note_reload(self.clock.now(), true);
        let ReloadView { changed, accounts, needs_restart, warnings } = view;
        tracing::info!(?changed, ?accounts, ?needs_restart, "configuration reloaded");
        warnings.iter().for_each(|warning| tracing::warn!("after the reload {warning}"));
    }

    /// Switches families off and on as the configuration says, and installs those of the binary that `were_off` and have no
    /// version yet. What did not come to serve, a sentence each.
    fn switch_families(&self, were_off: &[BuiltInPlugin]) -> Vec<String> {
        self.plugins.apply_switches();
        let record = self.root.join("plugins");
        let installed = Installation::of(&self.plugins, &record, were_off);
        let deployed = match installed.and_then(|wanted| wanted.run(1, &|_| ())) {
            Ok(deployed) => deployed,
            Err(error) => return vec![error.to_string()],
        };
        let refusals = deployed.iter().filter_map(Deployed::refusal).collect();
        self.deployed.lock().unwrap_or_else(PoisonError::into_inner).extend(deployed);
        refusals
    }
}

impl Configuration for RunningConfiguration {
    fn effective(&self) -> Result<EffectiveView, OperationError> {
        let current = self.lock();
        let stale = differences(&current.started, &current.loaded.table).into_iter();
        effective_view(&current.loaded, stale.filter(|key| !is_reloaded(key)).collect())
    }

    fn reload(&self, cause: &PriceCause) -> Result<ReloadView, OperationError> {
        self.asked.notify_one();
        self.read_again(cause, false)
    }

    fn take_deployed(&self) -> Vec<Deployed> {
        std::mem::take(&mut *self.deployed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn price_history(&self) -> Option<&PriceHistory> {
        Some(&self.price_history)
    }

    fn draft(&self, defaults: &FamilyDefaultsFile) -> Result<gatehouse_runtime::Config, OperationError> {
        let brought = Some(defaults_of(defaults, None));
        let loaded = load_with(&self.location, brought);
        let mut config = loaded.map_err(misconfigured)?.with_every_family().config;
        config.sandbox.enabled = self.simulated.is_some();
        Ok(config.runtime(self.root.clone()))
    }

    fn stage<'a>(
        &'a self,
        about: &About,
        defaults: &FamilyDefaultsFile,
        cause: &PriceCause,
    ) -> Result<Box<dyn StagedDefaults + 'a>, OperationError> {
        let current = self.lock();
        let brought = defaults_of(defaults, Some(&about.family));
        // Nothing is asked of other families.
        let prepared = self.prepare(&current, Some(brought), Some(&current.loaded)).map_err(misconfigured)?;
        check_own(Some(&current.loaded), &prepared.loaded, about).map_err(misconfigured)?;
        let effects = effects(Some(&current.loaded), &prepared.loaded, &about.family);
        let config = prepared.plugins.clone();
        // It holds the lock of the configuration.
        let cause = cause.clone();
        let switch = move || {
            let mut current = current;
            self.switch(&mut current, prepared, &cause);
        };
        Ok(Staged::new(&self.root, defaults, config, effects, switch))
    }

    fn forget<'a>(
        &'a self,
        family: &str,
        cause: &PriceCause,
    ) -> Result<ForgottenDefaults<'a>, OperationError> {
        let current = self.lock();
        let brought = Some(no_defaults(family));
        let prepared = self.prepare(&current, brought, Some(&current.loaded)).map_err(misconfigured)?;
        let effects = effects(Some(&current.loaded), &prepared.loaded, family);
        let (family, cause) = (family.to_owned(), cause.clone());
        let forget = move || {
            let mut current = current;
            forget_defaults(&self.root, &family)?;
            self.switch(&mut current, prepared, &cause);
            Ok(())
        };
        Ok(ForgottenDefaults { effects, forget: Box::new(forget) })
    }
}

fn describe(change: &AccountChange) -> String {
    match change {
        AccountChange::Added(key) => format!("{key} is new"),
        AccountChange::Removed(key) => format!("{key} is gone"),
        AccountChange::NewSecret(key) => format!("{key} has another value"),
    }
}

/// What becomes of the customers that point to a variant of the price book which is no longer there.
fn gone_variants(before: &Table, after: &Table) -> Vec<String> {
    let names = |table: &Table| -> Vec<String> {
        let variants = table.get("price_variants").and_then(toml::Value::as_table);
        variants.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let left = names(after);
    let gone = names(before).into_iter().filter(|name| !left.contains(name));
    gone.map(|name| {
        format!("price_variants.{name} is gone: customers that point to it pay the prices of the book itself")
    })
    .collect()
}
