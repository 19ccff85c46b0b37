//! One process of the system: every real crate from the driver down, open, in one thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use crate::record::text_outcomes::Protocol;
use gatehouse_driver::{Config, Driver, ModelConfig, Parts, TextConfig};
use gatehouse_fault_injection::{Disk, DiskFault};
use gatehouse_media::MediaStore;
use gatehouse_model::{CustomerId, Price, Secret, SecretRef};
use gatehouse_runtime::PluginService;
use gatehouse_sample::at_once;
use gatehouse_store::{Access, Store, StoreError, Writer};
use gatehouse_upstream::{AccountPermit, Upstream};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::clock::VirtualClock;
use crate::customers::pepper;
use crate::oracle;
use crate::plugins::Plugins;
use crate::record::{ACCOUNT_LIMITS, ENDPOINTS, HOOK_HOST, KEY_OF};
use crate::simulation::Simulation;
use crate::system::media_objects::MediaObjects;
use crate::system::network::Network;

/// The system, open.
pub(crate) struct System {
    pub(crate) simulation: Arc<Simulation>,
    pub(crate) driver: Driver,
    pub(crate) plugins: PluginService,
    pub(crate) upstream: Upstream,
    pub(crate) store: Store,
    /// Where the oracle reads.
    pub(crate) rows: Store,
    closed: AtomicBool,
    writing: Mutex<Option<JoinHandle<()>>>,
}

impl System {
    /// Opens every crate. `None` where the process crashed.
    pub(crate) async fn open(
        simulation: &Arc<Simulation>,
        plugins: &Plugins,
        disk: &Disk,
    ) -> Option<Arc<Self>> {
        let asked = Arc::clone(simulation);
        disk.break_by(DiskFault::Ask(Box::new(move |access| asked.switch.allow(access.word()))));
        let opened = Store::with_writer(disk.clone(), &gatehouse_store::Config::default());
        let (store, writer) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                if simulation.switch.is_running() {
                    simulation.fail(format!("I21: the store does not open: {error}"));
                }
                return None;
            }
        };
        let asked = Arc::clone(simulation);
        store.ask_engine(move |access| {
            let is_there = asked.outage.allows(asked.clock.elapsed());
            if !is_there {
                asked.count(match access {
                    Access::Commit => "a commit was refused",
                    Access::Fetch => "a row could not be fetched",
                    Access::Read => "a read was refused",
                });
            }
            is_there
        });
        Self::over(simulation, plugins, store.clone(), writer, store).await
    }

    /// Opens every other crate over a store; the oracle reads `rows`. `None` where the process crashed, or another one has taken its place.
    pub(crate) async fn over(
        simulation: &Arc<Simulation>,
        plugins: &Plugins,
        store: Store,
        writer: Writer,
        rows: Store,
    ) -> Option<Arc<Self>> {
        let started = Arc::new(OnceLock::new());
        let (at, read) = (Arc::clone(simulation), rows.clone());
        let writing = tokio::spawn(write(at, store.clone(), read, writer, Arc::clone(&started)));
        let upstream = upstream(simulation);
        let media = MediaStore::over(
            Arc::new(MediaObjects {
                simulation: Arc::clone(simulation),
                kept: Arc::clone(&simulation.objects),
            }),
            gatehouse_media::Config::default(),
            pepper(),
            upstream.clone(),
            simulation.clock.clone(),
            simulation.seed.clone(),
        );
        let config = Config {
            time_limit_s: simulation.plan.limit_s,
            prices: simulation.prices().into_iter().map(|(key, price)| (key, Price::each(price))).collect(),
            text: text_config(),
            webhooks_over_http: true,
            models: text_models(),
            ..Config::default()
        };
        let parts = Parts {
            store: store.clone(),
            plugins: plugins.service().clone(),
            upstream: upstream.clone(),
            media,
            config,
            clock: simulation.clock.clone(),
            seed: simulation.seed.clone(),
            pepper: pepper(),
            tracer: None,
            disks: Vec::new(),
        };
        let driver = match Driver::start(parts).await {
            Ok(driver) => driver,
            Err(error) => {
                if simulation.switch.is_running() && simulation.member.get().is_none() {
                    simulation.fail(format!("the driver does not start: {error}"));
                }
                return None;
            }
        };
        started.get_or_init(|| driver.clone());
        Some(Arc::new(Self {
            simulation: Arc::clone(simulation),
            driver,
            plugins: plugins.service().clone(),
            upstream,
            store,
            rows,
            closed: AtomicBool::new(false),
            writing: Mutex::new(Some(writing)),
        }))
    }

    /// Checks every invariant now.
    pub(crate) fn check(&self) {
        check(&self.simulation, &self.rows, Some(&self.driver));
    }

    /// Whether the process runs and is not stopped.
    pub(crate) fn is_open(&self) -> bool {
        let is_closed = self.closed.load(Ordering::SeqCst) || self.store.has_failed();
        self.simulation.switch.is_running() && !is_closed
    }

    /// Stops in order, as a gateway does on SIGTERM.
    pub(crate) async fn close(&self) {
        self.driver.process.stop(Duration::from_secs(20), Duration::ZERO).await;
        self.closed.store(true, Ordering::SeqCst);
        self.store.close();
        let writing = self.writing.lock().ok().and_then(|mut writing| writing.take());
        if let Some(writing) = writing {
            // It ends by itself once the store is closed.
            let _ = writing.await;
        }
    }

    /// Takes every permit of an account.
    pub(crate) async fn take_permits(
        &self,
        account: &str,
        limit: usize,
    ) -> Result<Vec<AccountPermit>, String> {
        let mut taken = Vec::new();
        let customer = CustomerId("the simulation".to_owned());
        for _ in 0..20 {
            match self.upstream.acquire_account("bfl", &customer, Some(account)) {
                Ok((permit, _slot)) => taken.push(permit),
                Err(gatehouse_upstream::NoPermit::Until(moment)) => {
                    // Only time ends a pause of an account; a trial call would tell nothing here.
                    VirtualClock::pause(moment.since(self.simulation.clock.now()) + Duration::from_millis(1))
                        .await;
                }
                Err(why) => return Err(format!("a permit of {account} leaked, {} free: {why}", taken.len())),
            }
            if taken.len() == limit {
                return Ok(taken);
            }
        }
        Ok(taken)
    }
}

/// Writes batch after batch, and checks every invariant after each.
async fn write(
    simulation: Arc<Simulation>,
    store: Store,
    rows: Store,
    mut writer: Writer,
    driver: Arc<OnceLock<Driver>>,
) {
    loop {
        if simulation.injects_faults() && simulation.fault_random.once_in(4) {
            // A slow disk: several commands share a commit.
            VirtualClock::pause(simulation.fault_random.millis(1..40)).await;
        }
        if !writer.run_batch().await {
            break;
        }
        check(&simulation, &rows, driver.get());
    }
    if store.has_failed() && simulation.switch.is_running() && simulation.member.get().is_none() {
        simulation.fail("the store failed without a crash".to_owned());
    }
}

fn check(simulation: &Simulation, store: &Store, driver: Option<&Driver>) {
    let found = simulation.outage.observe(|| {
        // Commands that were queued when the store closed are checked after it is opened again.
        let is_closed = at_once(store.count_customers()) == Err(StoreError::Closed);
        if !simulation.switch.is_running() || is_closed {
            return Ok(());
        }
        oracle::tasks::check(&mut simulation.memory(), simulation, store, driver)
    });
    simulation.demand(found);
}

fn upstream(simulation: &Arc<Simulation>) -> Upstream {
    let origin = |number: usize| format!("http://{}", ENDPOINTS[number].0);
    let accounts: serde_json::Map<String, serde_json::Value> = ACCOUNT_LIMITS
        .iter()
        .zip(0_u32..)
        .map(|((name, limit), priority)| {
            let account = json!({"secret": {"env": name}, "concurrency": limit, "priority": priority});
            ((*name).to_owned(), account)
        })
        .collect();
    let account = |priority: u32| json!({"secret": {"env": "text"}, "concurrency": 2, "priority": priority});
    let texts = json!({"main": account(0), "spare": account(1)});
    let config = json!({"providers": {"bfl": {
        "base_url": origin(0), "origins": [origin(1)], "media_origins": [origin(2)],
        "auth": {"header": "x-key"}, "accounts": accounts, "ask_when_ambiguous": simulation.plan.asks,
    }, "messages": {"base_url": origin(3), "accounts": texts, "drain_cancelled": true}, "chat": {"base_url": origin(4), "accounts": texts}},
        "webhooks": {"allow_private": [HOOK_HOST]}});
    let config = serde_json::from_value(config).expect("a configuration");
    let secret = |reference: &SecretRef| match reference {
        SecretRef::Env(account) => Ok(Secret::new(format!("{KEY_OF}{account}"))),
        other => Err(format!("{other:?} is no account of the simulation")),
    };
    let network = Arc::new(Network(Arc::clone(simulation)));
    Upstream::with_dial(
        &config,
        &secret,
        simulation.clock.clone(),
        simulation.seed.clone(),
        network.clone(),
        network,
    )
    .expect("an upstream")
}

fn text_config() -> TextConfig {
    let times = TextConfig::default();
    TextConfig { time_limit_s: 60, head_s: 5, idle_s: 20, stream_s: 60, drain_s: 5, ..times }
}

/// A model of each protocol, named after it.
fn text_models() -> BTreeMap<String, ModelConfig> {
    let model = |protocol: Protocol| {
        let name = protocol.as_str();
        let prices = json!({"input": "3000", "output": "15000"});
        let model = json!({"provider": name, "protocol": name, "prices": prices});
        (name.to_owned(), serde_json::from_value(model).expect("a model"))
    };
    [model(Protocol::Messages), model(Protocol::Chat)].into()
}
