//! The driver's services, joined, and their start.
//!
//! The order of the start matters: recovery fills the schedule before the scheduler loop runs, and the loop runs
//! before the listeners open.

use std::future::pending;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use gatehouse_media::MediaStore;
use gatehouse_model::{Boxed, Clock, Pepper, Seed, Tracer, metric};
use gatehouse_runtime::PluginService;
use gatehouse_store::Store;
use gatehouse_tasks::AfterCrash;
use gatehouse_upstream::{PreparedProviders, Upstream};
use tokio::sync::{Semaphore, watch};

use crate::config::{Config, PreparedTables};
use crate::direct::Answers;
use crate::disks::{Disk, Disks};
use crate::errors::StartError;
use crate::in_progress::InProgress;
use crate::kept_answers::KeptAnswers;
use crate::live::live_tasks::LiveTasks;
use crate::models::counters::UnpricedCounters;
use crate::own_webhooks::OwnWebhooks;
use crate::process::Process;
use crate::rates::RateLimiter;
use crate::read::{Balances, Files, Keys, Models, Tasks};
use crate::scheduler::account_outages::report_outages;
use crate::scheduler::housekeeping::Housekeeping;
use crate::scheduler::run_loop::Scheduler;
use crate::served::Served;
use crate::shared::{Shared, ShutdownState, until_it_may_begin};
use crate::step::bulk::groups::CallGroups;
use crate::step::bulk::shared::BulkCalls;
use crate::step::call::phase::Calls;
use crate::step::cancel::Cancels;
use crate::step::commit::Commits;
use crate::step::kept_files::FileKeeper;
use crate::step::media::Copies;
use crate::step::plugin::PluginSteps;
use crate::step::reconcile::Rulings;
use crate::step::run::Steps;
use crate::step::time_out::TimeOuts;
use crate::store_pause::StorePause;
use crate::submit::judge::Judge;
use crate::submit::references::ReferenceReader;
use crate::submit::submission::Intake;
use crate::text::attempt::TextCalls;
use crate::text::hold::Holds;
use crate::text::translation::Translator;
use crate::text::{Conversations, Texts};
use crate::waiting_files::WaitingFiles;
use crate::webhooks::worker::WebhookSender;

/// What a driver joins.
pub struct Parts {
    /// Tasks, money and keys.
    pub store: Store,
    /// The plugin runtime.
    pub plugins: PluginService,
    /// Calls to providers.
    pub upstream: Upstream,
    /// Blobs and results.
    pub media: MediaStore,
    /// The operator's settings.
    pub config: Config,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seed: Arc<dyn Seed>,
    /// The installation's secret; customers have pseudonyms under it.
    pub pepper: Pepper,
    /// Makes traces, where there is a collector for them.
    pub tracer: Option<Arc<Tracer>>,
    /// The disks that tasks are written to. Without any, none is ever low.
    pub disks: Vec<Disk>,
}

/// The whole gateway behind its listeners: its services. Cheap to clone.
#[derive(Clone)]
pub struct Driver {
    /// Takes tasks.
    pub intake: Arc<Intake>,
    /// Reads tasks.
    pub tasks: Arc<Tasks>,
    /// Ends tasks before their time.
    pub cancels: Arc<Cancels>,
    /// Prepares and follows operators' rulings.
    pub rulings: Arc<Rulings>,
    /// Answers text requests.
    pub texts: Arc<Texts>,
    /// Keeps responses, and reads them.
    pub conversations: Arc<Conversations>,
    /// Answers requests with what one call returned.
    pub answers: Arc<Answers>,
    /// Reads what this gateway offers.
    pub models: Arc<Models>,
    /// Looks up keys.
    pub keys: Arc<Keys>,
    /// Reads what customers have and have spent.
    pub balances: Arc<Balances>,
    /// Reads and keeps files.
    pub files: Arc<Files>,
    /// Customers' own webhooks.
    pub webhooks: Arc<OwnWebhooks>,
    /// Readiness, and the end of the process.
    pub process: Arc<Process>,
    disks: Arc<Disks>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) shared: Arc<Shared>,
}

/// Counts what has not happened yet: an alert on a counter's growth does not see the value it is born with.
fn begin_counting() {
    for policy in [AfterCrash::Ask, AfterCrash::Refund, AfterCrash::Resend] {
        metrics::counter!(metric::AMBIGUOUS, "policy" => policy.as_str()).increment(0);
    }
    for outcome in ["taken", "failed", "throttled"] {
        metrics::counter!(metric::WEBHOOK_ATTEMPTS, "outcome" => outcome).increment(0);
    }
    for ruling in ["adopt", "fail", "resend"] {
        metrics::counter!(metric::RULINGS, "ruling" => ruling).increment(0);
    }
}

/// The services that take tasks through their steps.
struct OfTasks {
    steps: Arc<Steps>,
    cancels: Arc<Cancels>,
    rulings: Arc<Rulings>,
}

impl OfTasks {
    fn new(shared: &Arc<Shared>, live: &Arc<LiveTasks>) -> Self {
        let (shared, live) = (|| Arc::clone(shared), || Arc::clone(live));
        let commits = Arc::new(Commits { shared: shared() });
        let bulk = Arc::new(BulkCalls { shared: shared(), groups: CallGroups::default() });
        let waiting = Arc::new(WaitingFiles::new(shared().config.waiting_files()));
        let files = Arc::new(FileKeeper { shared: shared(), live: live(), waiting });
        let calls = Arc::new(Calls {
            shared: shared(),
            live: live(),
            commits: Arc::clone(&commits),
            bulk,
            files: Arc::clone(&files),
        });
        let time_outs = Arc::new(TimeOuts { shared: shared(), commits: Arc::clone(&commits) });
        let plugin_steps = Arc::new(PluginSteps {
            shared: shared(),
            live: live(),
            commits: Arc::clone(&commits),
            calls: Arc::clone(&calls),
        });
        let copies = Copies {
            shared: shared(),
            commits: Arc::clone(&commits),
            plugin_steps: Arc::clone(&plugin_steps),
            time_outs: Arc::clone(&time_outs),
            files,
        };
        let cancels = Cancels { shared: shared(), live: live(), commits: Arc::clone(&commits) };
        let rulings = Rulings { shared: shared(), live: live(), calls: Arc::clone(&calls) };
        let steps = Steps {
            permits: Arc::new(Semaphore::new(shared().config.concurrency.max(1))),
            shared: shared(),
            live: live(),
            store_pause: StorePause::default(),
            commits,
            calls,
            plugin_steps,
            time_outs,
            copies,
        };
        Self { steps: Arc::new(steps), cancels: Arc::new(cancels), rulings: Arc::new(rulings) }
    }
}

/// The services that answer while a client waits.
struct OfTexts {
    texts: Arc<Texts>,
    conversations: Arc<Conversations>,
    answers: Arc<Answers>,
}

impl OfTexts {
    fn new(shared: &Arc<Shared>, judge: &Arc<Judge>, served: &Arc<Served>, rates: &Arc<RateLimiter>) -> Self {
        let (shared, served, rates) = (|| Arc::clone(shared), || Arc::clone(served), || Arc::clone(rates));
        let unpriced_counters = UnpricedCounters::default();
        let holds = Arc::new(Holds { shared: shared(), rates: rates(), unpriced_counters });
        let translator = Arc::new(Translator { shared: shared(), served: served() });
        let conversations = Arc::new(Conversations { shared: shared() });
        let calls = Arc::new(TextCalls {
            shared: shared(),
            served: served(),
            holds: Arc::clone(&holds),
            translator: Arc::clone(&translator),
        });
        let texts = Texts {
            shared: shared(),
            judge: Arc::clone(judge),
            served: served(),
            holds,
            translator,
            conversations: Arc::clone(&conversations),
            calls,
        };
        let kept = KeptAnswers::default();
        let answers = Answers { shared: shared(), judge: Arc::clone(judge), rates: rates(), kept };
        Self { texts: Arc::new(texts), conversations, answers: Arc::new(answers) }
    }
}

/// The rest of a driver's start: no task moves before it is run.
pub struct Recovery {
    driver: Driver,
    steps: Arc<Steps>,
}

impl Recovery {
    /// Recovers every live task, and starts the scheduler loop.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn run(self) -> Boxed<'static, Result<(), StartError>> {
        Box::pin(async move {
            let Self { driver, steps } = self;
            let Driver { shared, live, disks, .. } = &driver;
            begin_counting();
            let scheduler = Scheduler { shared: Arc::clone(shared), live: Arc::clone(live), steps };
            scheduler.recover().await?;
            driver.keys.count_customers().await;
            disks.look().await;
            let housekeeping = Housekeeping { shared: Arc::clone(shared) };
            let sender = Arc::new(WebhookSender { shared: Arc::clone(shared) });
            driver.process.keep_running(vec![
                tokio::spawn(Arc::new(scheduler).run_loop()),
                tokio::spawn(housekeeping.run()),
                tokio::spawn(Arc::clone(disks).watch()),
                tokio::spawn(sender.run()),
                tokio::spawn(report_outages(Arc::clone(shared))),
            ]);
            Ok(())
        })
    }
}

impl Driver {
    /// Joins the parts, recovers every live task, and starts the scheduler loop.
    ///
    /// # Errors
    /// A price or model table that cannot be used, or a store that cannot be read.
    pub fn start(parts: Parts) -> Boxed<'static, Result<Self, StartError>> {
        Box::pin(async move {
            let (driver, recovery) = Self::join(parts)?;
            recovery.run().await?;
            Ok(driver)
        })
    }

    /// Joins the parts. What is switched to before the recovery is run holds for every task that it brings back.
    ///
    /// # Errors
    /// A price or model table that cannot be used.
    pub fn join(parts: Parts) -> Result<(Self, Recovery), StartError> {
        let Parts { store, plugins, upstream, media, config, clock, seed, pepper, tracer, disks } = parts;
        let disks = Arc::new(Disks { disks, store: store.clone(), clock: Arc::clone(&clock) });
        let served = Arc::new(Served { plugins: plugins.clone(), upstream: upstream.clone() });
        let tables = PreparedTables::new(&config.prices, &config.models, &config.price_variants)?;
        let tables = tables.over(&upstream);
        let gate = (store.clone(), Arc::clone(&clock));
        upstream.begin_calls_when(move || {
            let (store, clock) = gate.clone();
            Box::pin(async move {
                if until_it_may_begin(&store, &*clock).await.is_err() {
                    // Nothing leaves any more, and the process ends.
                    pending::<()>().await;
                }
            })
        });
        let shared = Arc::new(Shared {
            store,
            plugins,
            upstream,
            media,
            config,
            tables: ArcSwap::from_pointee(tables),
            clock,
            seed,
            pepper,
            tracer,
            shutdown: watch::Sender::new(ShutdownState::Serving),
            in_progress: Arc::new(InProgress::default()),
        });
        let (live, rates) = (Arc::new(LiveTasks::default()), Arc::new(RateLimiter::default()));
        let judge = Arc::new(Judge { shared: Arc::clone(&shared), served: Arc::clone(&served) });
        let OfTasks { steps, cancels, rulings } = OfTasks::new(&shared, &live);
        let OfTexts { texts, conversations, answers } = OfTexts::new(&shared, &judge, &served, &rates);
        let intake = Intake {
            shared: Arc::clone(&shared),
            live: Arc::clone(&live),
            disks: Arc::clone(&disks),
            rates,
            judge: Arc::clone(&judge),
            references: ReferenceReader { shared: Arc::clone(&shared) },
            steps: Arc::clone(&steps),
        };
        let webhooks = OwnWebhooks { shared: Arc::clone(&shared), changes: RateLimiter::default() };
        let process =
            Process { shared: Arc::clone(&shared), live: Arc::clone(&live), background: Mutex::default() };
        let driver = Self {
            intake: Arc::new(intake),
            tasks: Arc::new(Tasks { shared: Arc::clone(&shared), live: Arc::clone(&live) }),
            cancels,
            rulings,
            texts,
            conversations,
            answers,
            models: Arc::new(Models { shared: Arc::clone(&shared), judge, served }),
            keys: Arc::new(Keys { shared: Arc::clone(&shared), generation: AtomicU64::new(0) }),
            balances: Arc::new(Balances { shared: Arc::clone(&shared) }),
            files: Arc::new(Files { shared: Arc::clone(&shared), disks: Arc::clone(&disks) }),
            webhooks: Arc::new(webhooks),
            process: Arc::new(process),
            disks,
            live,
            shared,
        };
        Ok((driver.clone(), Recovery { driver, steps }))
    }

    /// Switches to other prices, text models and providers, for everything that begins from now on.
    pub fn switch_tables(&self, tables: PreparedTables, providers: PreparedProviders) {
        let shared = &self.shared;
        shared.upstream.switch(providers);
        shared.tables.store(Arc::new(tables.over(&shared.upstream)));
        // An account may have more permits than before.
        self.live.ask_again(shared.now());
    }

    /// Checks an address for a webhook, as far as it can be without a name server.
    ///
    /// # Errors
    /// Why nothing would be sent there, for its owner.
    pub fn check_webhook_url(&self, url: &str) -> Result<(), String> {
        self.shared.check_webhook_url(url)
    }

    /// The disk, "store" or "media", for whose sake new tasks are refused.
    #[must_use]
    pub fn full_disk(&self) -> Option<&'static str> {
        self.disks.full()
    }

    /// The providers, for a change of the configuration.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.shared.upstream
    }

    /// The store, for the admin API.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The plugin runtime, for the admin API.
    #[must_use]
    pub fn plugins(&self) -> &PluginService {
        &self.shared.plugins
    }
}
