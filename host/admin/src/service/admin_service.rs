//! The services behind the admin API, joined on an open store. Nobody below knows this.

use std::sync::Arc;

use gatehouse_driver::Driver;
use gatehouse_model::{Clock, Pepper, Seed};
use gatehouse_runtime::PluginService;
use gatehouse_store::{Server, Store};

use super::attention::Attention;
use super::commands::Commands;
use super::configuration::Configuration;
use super::fleet::FleetReader;
use super::gateway::{Gateway, PublicApi};
use super::job::{BackupRuns, Backups, Doctor};
use super::keys::Keys;
use super::logs::LogReader;
use super::money::{PriceVersions, Prices, Statements, Usage};
use super::playground::Playground;
use super::plugins::{Deployments, FamilySwitches, Origin, PluginSource, Versions};
use super::providers::Providers;
use super::reloads::Reloads;
use super::tasks::{Rulings, Tasks};
use super::webhooks::Webhooks;

/// What the services work on.
pub struct AdminParts {
    /// The open store.
    pub store: Store,
    /// What runs beside the store.
    pub backend: Backend,
    /// The operator's configuration.
    pub configuration: Arc<dyn Configuration>,
    /// What makes backups of the data folder.
    pub backups: Arc<dyn Backups>,
    /// The database that the store is in, which knows of the other gateways; `None` where it is a file.
    pub server: Option<Server>,
    /// The secret under which keys are digested.
    pub pepper: Pepper,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seed: Arc<dyn Seed>,
}

/// What runs beside the store.
pub enum Backend {
    /// A running gateway.
    Running {
        /// Its plugins.
        plugins: PluginService,
        /// Its driver, which drops cached keys when keys change.
        driver: Driver,
    },
    /// No gateway. Plugins are opened with this configuration by the operation that needs them.
    Offline(Box<gatehouse_runtime::Config>),
}

/// Every operation of an operator, by the service that performs it.
pub struct AdminService {
    /// The open store, for lists that are shown as they are kept.
    pub store: Store,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seed: Arc<dyn Seed>,
    /// Sends changes, and leaves lines in the audit record.
    pub commands: Commands,
    /// API keys.
    pub keys: Keys,
    /// Webhooks and their deliveries.
    pub webhooks: Webhooks,
    /// Tasks of all customers.
    pub tasks: Tasks,
    /// Rulings about ambiguous calls.
    pub rulings: Rulings,
    /// Providers and their accounts.
    pub providers: Providers,
    /// Versions of plugins.
    pub versions: Versions,
    /// FamilySwitches, switched off and on.
    pub families: FamilySwitches,
    /// The history of deployments.
    pub deployments: Arc<Deployments>,
    /// Prices in effect.
    pub prices: Prices,
    /// Versions of the price book.
    pub price_versions: Arc<PriceVersions>,
    /// Statements of the ledger.
    pub statements: Statements,
    /// Sums of usage.
    pub usage: Usage,
    /// The configuration in effect.
    pub reloads: Reloads,
    /// Backups of the data folder.
    pub backups: BackupRuns,
    /// The gateways of a database.
    pub fleet: FleetReader,
    /// Examinations of the store.
    pub doctor: Doctor,
    /// The logs in memory.
    pub logs: LogReader,
    /// What needs a person.
    pub attention: Attention,
    /// Requests that are sent as a key.
    pub playground: Playground,
    gateway: Arc<Gateway>,
}

impl AdminService {
    /// The services on these parts.
    #[must_use]
    pub fn new(parts: AdminParts) -> Self {
        let AdminParts { store, backend, configuration, backups, server, pepper, clock, seed } = parts;
        let (running, source, driver) = match backend {
            Backend::Running { plugins, driver } => {
                (Some(plugins.clone()), Origin::Running(plugins), Some(driver))
            }
            Backend::Offline(config) => (None, Origin::Offline(config), None),
        };
        let gateway = Arc::new(Gateway::new(driver));
        let plugins = Arc::new(PluginSource::new(source, store.clone(), Arc::clone(&clock)));
        let price_versions =
            Arc::new(PriceVersions { store: store.clone(), configuration: Arc::clone(&configuration) });
        let deployments = Arc::new(Deployments::new(store.clone(), running, Arc::clone(&clock)));
        let commands = || Commands {
            store: store.clone(),
            gateway: Arc::clone(&gateway),
            clock: Arc::clone(&clock),
            seed: Arc::clone(&seed),
        };
        Self {
            commands: commands(),
            keys: Keys {
                store: store.clone(),
                gateway: Arc::clone(&gateway),
                pepper: pepper.clone(),
                clock: Arc::clone(&clock),
                seed: Arc::clone(&seed),
            },
            webhooks: Webhooks {
                store: store.clone(),
                gateway: Arc::clone(&gateway),
                pepper,
                clock: Arc::clone(&clock),
                seed: Arc::clone(&seed),
            },
            tasks: Tasks { store: store.clone(), gateway: Arc::clone(&gateway) },
            rulings: Rulings { gateway: Arc::clone(&gateway) },
            providers: Providers { gateway: Arc::clone(&gateway) },
            versions: Versions {
                store: store.clone(),
                plugins: Arc::clone(&plugins),
                configuration: Arc::clone(&configuration),
                deployments: Arc::clone(&deployments),
                price_versions: Arc::clone(&price_versions),
            },
            families: FamilySwitches {
                store: store.clone(),
                plugins,
                configuration: Arc::clone(&configuration),
                deployments: Arc::clone(&deployments),
                price_versions: Arc::clone(&price_versions),
            },
            prices: Prices {
                store: store.clone(),
                gateway: Arc::clone(&gateway),
                price_versions: Arc::clone(&price_versions),
            },
            statements: Statements { store: store.clone() },
            usage: Usage { store: store.clone(), clock: Arc::clone(&clock) },
            reloads: Reloads {
                configuration,
                deployments: Arc::clone(&deployments),
                price_versions: Arc::clone(&price_versions),
            },
            backups: BackupRuns::new(store.clone(), Arc::clone(&clock), backups),
            fleet: FleetReader { server },
            doctor: Doctor::new(store.clone(), Arc::clone(&clock)),
            logs: LogReader { gateway: Arc::clone(&gateway) },
            attention: Attention { store: store.clone(), gateway: Arc::clone(&gateway) },
            playground: Playground {
                store: store.clone(),
                gateway: Arc::clone(&gateway),
                clock: Arc::clone(&clock),
                commands: commands(),
            },
            deployments,
            price_versions,
            store,
            clock,
            seed,
            gateway,
        }
    }

    /// Serves requests by `public` from now on; the first one given stays.
    pub fn connect(&self, public: Arc<dyn PublicApi>) {
        self.gateway.connect(public);
    }
}
