//! The services behind the admin API, joined on an open store. Nobody below knows this.

use std::sync::Arc;

use gatehouse_model::{Clock, Pepper, Seed};
use gatehouse_store::{Server, Store};

use super::attention::Attention;
use super::commands::Commands;
use super::configuration::Configuration;
use super::fleet::FleetReader;
use super::gateway::{Backend, Gateway, PublicApi};
use super::job::{BackupRuns, Backups, Doctor};
use super::keys::Keys;
use super::logs::LogReader;
use super::money::{Prices, Statements, Usage};
use super::playground::Playground;
use super::plugins::{Deployments, PluginSource, Versions};
use super::providers::Providers;
use super::reloads::Reloads;
use super::tasks::Tasks;
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
    /// Tasks of all customers, and rulings about their ambiguous calls.
    pub tasks: Tasks,
    /// Providers and their accounts.
    pub providers: Providers,
    /// Versions of plugins, and families, switched off and on.
    pub versions: Versions,
    /// The history of deployments.
    pub deployments: Arc<Deployments>,
    /// Prices in effect, and versions of the price book.
    pub prices: Arc<Prices>,
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
        let (running, driver) = match &backend {
            Backend::Running { plugins, driver } => (Some(plugins.clone()), Some(driver.clone())),
            Backend::Offline(_) => (None, None),
        };
        let gateway = Arc::new(Gateway::new(driver));
        let plugins = Arc::new(PluginSource::new(backend, store.clone(), Arc::clone(&clock)));
        let prices = Arc::new(Prices {
            store: store.clone(),
            gateway: Arc::clone(&gateway),
            configuration: Arc::clone(&configuration),
        });
        let deployments = Arc::new(Deployments::new(store.clone(), running, Arc::clone(&clock)));
        let commands = Commands {
            store: store.clone(),
            gateway: Arc::clone(&gateway),
            clock: Arc::clone(&clock),
            seed: Arc::clone(&seed),
        };
        Self {
            keys: Keys { commands: commands.clone(), pepper: pepper.clone() },
            webhooks: Webhooks { commands: commands.clone(), pepper },
            playground: Playground { commands: commands.clone() },
            commands,
            tasks: Tasks { store: store.clone(), gateway: Arc::clone(&gateway) },
            providers: Providers { gateway: Arc::clone(&gateway) },
            versions: Versions {
                store: store.clone(),
                plugins,
                configuration: Arc::clone(&configuration),
                deployments: Arc::clone(&deployments),
                prices: Arc::clone(&prices),
            },
            statements: Statements { store: store.clone() },
            usage: Usage { store: store.clone(), clock: Arc::clone(&clock) },
            reloads: Reloads {
                configuration,
                deployments: Arc::clone(&deployments),
                prices: Arc::clone(&prices),
            },
            backups: BackupRuns::new(store.clone(), Arc::clone(&clock), backups),
            fleet: FleetReader { server },
            doctor: Doctor::new(store.clone(), Arc::clone(&clock)),
            logs: LogReader { gateway: Arc::clone(&gateway) },
            attention: Attention { store: store.clone(), gateway: Arc::clone(&gateway) },
            deployments,
            prices,
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
