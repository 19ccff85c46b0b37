//! `gatehouse serve`: starts the services in order, waits for a signal, and stops them in order.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use gatehouse_admin::{
    AdminService, ApiRequest, Configuration as _, IdentityProvider, PriceCause, Probes, Role,
};
use gatehouse_console::{Facts, Pages, SandboxSecrets};
use gatehouse_edge::{Certificates, Edge, TlsError, reachable};
use gatehouse_model::Clock;
use gatehouse_process::{PrometheusHandle, SystemClock, SystemSeed};
use gatehouse_runtime::PluginService;
use gatehouse_sandbox::Sandbox;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::banner::Banner;
use super::checks::{check, identity_provider, warnings};
use super::error::ServeError;
use super::listeners::{PublicListeners, listen, listen_for_operators};
use super::rest_of_start::FamilyStart;
use super::services::{LocalApi, Services};
use super::shutdown::{Gateway, SentTraces, Signals};
use super::takeover::Takeover;
use crate::acme::Acme;
use crate::config::{Config, Loaded, Location, node};
use crate::plugins::folder_watcher::FolderWatcher;
use crate::reload::RunningConfiguration;
use crate::sampled::{Sampled, note_start};
use crate::sandbox_mode::{SandboxKeys, Simulated};
use crate::terminal::Exit;
use crate::{descriptors, environment, privacy, sandbox_mode, terminal};

/// Interval between checks of the certificate files.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The start of this process, apart from its configuration.
pub(crate) struct Options {
    /// Where the configuration comes from, for its next reading.
    pub(crate) location: Location,
    /// The public address; overrides the configuration.
    pub(crate) listen: Option<SocketAddr>,
    /// TLS with a generated certificate.
    pub(crate) self_signed: bool,
    /// Inherited sockets, served in place of the configured addresses.
    pub(crate) sockets: Vec<TcpListener>,
    /// The moment the process began.
    pub(crate) started: Instant,
}

/// Runs the gateway until a signal, or until the store fails.
pub(crate) async fn serve(loaded: &Loaded, options: Options) -> Result<Exit, ServeError> {
    gatehouse_process::start_logs(&loaded.config.log).map_err(ServeError::Logs)?;
    privacy::close_process(&|problem| tracing::warn!("{problem}"));
    privacy::close_logs(&|report| tracing::warn!("{report}"));
    let mut signals = Signals::handle().map_err(ServeError::Signals)?;
    let mut hangups = signal(SignalKind::hangup()).map_err(ServeError::Signals)?;
    let (gateway, rest) = tokio::select! {
        opened = open(loaded, options) => opened?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped while starting");
            return Ok(Exit::Done);
        }
    };
    let skip_lame_duck = tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "stopping; a second signal stops at once");
            signal == Signals::INTERRUPT
        }
        () = gateway.driver.process.failed() => {
            // Nothing can be stored any more, so the process does not wait for running work.
            tracing::error!("the store failed; the next start recovers");
            return Ok(Exit::Store);
        }
        never = reload(&gateway, &mut hangups) => match never {},
        // Once it is done, the gateway goes on without it.
        Err(error) = rest.finish(&gateway) => {
            gateway.stop(true).await;
            return Err(error);
        }
    };
    tokio::select! {
        exit = gateway.stop(skip_lame_duck) => Ok(exit),
        signal = signals.next() => {
            tracing::warn!(signal, "stopped at once");
            Ok(Exit::Broken)
        }
    }
}

/// Reads the configuration again at every SIGHUP, and the certificate files at every reload and after a change; never
/// ends. What cannot be used changes nothing but the log.
async fn reload(gateway: &Gateway, hangups: &mut Signal) -> Infallible {
    let listeners =
        [("server.tls", gateway.edge.certificates()), ("admin.tls", gateway.admin.certificates())];
    loop {
        let read: fn(&Certificates) -> Result<bool, TlsError> = tokio::select! {
            Some(()) = hangups.recv() => {
                let api = gatehouse_admin::LocalApi::new(Arc::clone(&gateway.service), "signal SIGHUP");
                // The configuration logs its own errors.
                drop(api.send(ApiRequest::post(&["config", "reload"])).await);
                continue;
            }
            () = gateway.configuration.reload_asked() => {
                gateway.endpoint.write_again().await;
                Certificates::reload
            }
            () = gateway.clock.pause(CERTIFICATE_CHECK_INTERVAL) => Certificates::reload_if_changed,
        };
        for (table, certificates) in listeners {
            log_reload(table, certificates.map_or(Ok(false), read));
        }
    }
}

/// Logs what became of a look at the files of a certificate.
pub(super) fn log_reload(table: &str, read: Result<bool, TlsError>) {
    match read {
        Ok(true) => tracing::info!(table, "certificate reloaded"),
        Ok(false) => {}
        Err(error) => tracing::error!(%error, "certificate not reloaded; the one in use stays"),
    }
}

/// What is left of a start when the listeners answer.
struct Rest {
    families: FamilyStart,
    plugins: PluginService,
    watcher: Option<FolderWatcher>,
    keys: Option<SandboxKeys>,
    data: PathBuf,
    self_signed: bool,
    started: Instant,
}

impl Rest {
    /// Makes the families ready and says where the gateway listens.
    async fn finish(self, gateway: &Gateway) -> Result<(), ServeError> {
        let mut deployed = gateway.configuration.take_deployed();
        deployed.extend(self.families.run().await?);
        gateway.service.deployments.keep_first(deployed).await;
        self.announce(gateway);
        if let Some(watcher) = self.watcher {
            let (plugins, clock) = (self.plugins.clone(), gateway.clock.clone());
            gateway.watcher.get_or_init(|| watcher.watch(gateway.service.clone(), plugins, clock));
        }
        drop(tokio::task::spawn_blocking(move || self.plugins.complete_start()));
        Ok(())
    }

    fn announce(&self, gateway: &Gateway) {
        // A link in a journal logs in everybody who reads it.
        let link = (!environment::is_journal()).then(|| gateway.admin.sessions().new_link(Role::Operator));
        let banner = Banner {
            listen: gateway.edge.addresses(),
            tls: gateway.edge.certificates().is_some(),
            self_signed: self.self_signed,
            admin: gateway.admin.address(),
            admin_tls: gateway.admin.certificates().is_some(),
            console: link.as_ref().map_or(&[], |link| &link.urls),
            data: &self.data,
            ready: self.started.elapsed(),
            keys: self.keys.as_ref(),
            samples: gateway.sandbox.as_ref().map(|sandbox| sandbox.context().samples.as_str()),
        };
        terminal::print(&banner.text());
    }
}

/// Starts every service, each after the ones it needs. Families that have to be compiled are left to the rest of the start.
async fn open(loaded: &Loaded, options: Options) -> Result<(Gateway, Rest), ServeError> {
    terminal::print("gatehouse starts\n");
    let mut config = loaded.config.clone();
    let metrics = gatehouse_process::start_metrics().map_err(ServeError::Metrics)?;
    let sandbox = start_sandbox(&mut config).await?;
    let simulated = sandbox.as_ref().map(Simulated::of);
    let default_address = config.server.listen == gatehouse_edge::Config::default().listen;
    let any_port = default_address && !loaded.from_file && options.listen.is_none();
    if let Some(listen) = options.listen {
        config.server.listen = vec![listen];
    }
    limit_connections(&mut config);
    // Before the store and the plugins are opened, which may take long: an error in the configuration comes first.
    let upstream = check(&config, options.self_signed)?;
    warnings(&config).iter().for_each(|warning| tracing::warn!("{warning}"));
    loaded.warnings.iter().for_each(|warning| tracing::warn!("{}", warning.short()));
    loaded.left_out().iter().for_each(|warning| tracing::warn!("{warning}"));
    let watcher = open_watch_folder(&config)?;
    let provider = identity_provider(&config, &upstream)?;
    let location = options.location;
    let root = location.data.clone().unwrap_or_else(|| config.data.folder.clone());
    let mut takeover = Takeover {
        node: node(&config, &loaded.table),
        config: &config,
        location: Location { data: Some(root.clone()), ..location.clone() },
        loaded,
        upstream: &upstream,
        self_signed: options.self_signed,
        clock: Arc::new(SystemClock),
        seed: Arc::new(SystemSeed),
        sockets: options.sockets,
        page: None,
        has_waited: false,
        standby: None,
        metrics: metrics.clone(),
    };
    let services = Services::open(&config, &root, &mut takeover).await?;
    let Takeover { sockets, page: waiting, has_waited, .. } = takeover;
    let traces = config.traces.start(&config.outgoing().route(), &services.clock, &services.seed);
    let traces = traces.map_err(ServeError::Traces)?;
    let acme = if options.self_signed { None } else { services.open_acme(&config, &upstream)? };
    let issued = acme.as_ref().map(Acme::certificates);
    let public = PublicListeners { self_signed: options.self_signed, issued, any_port, sockets };
    let (tracer, exporter) = traces.unzip();
    let traces = exporter.map(SentTraces::begin);
    let (driver, recovery) = services.join_driver(&config, upstream, tracer).await?;
    let configuration = Arc::new(RunningConfiguration::new(
        location,
        services.folder.root(),
        loaded.clone(),
        simulated,
        driver.clone(),
        services.plugins.clone(),
        services.clock.clone(),
    ));
    let cause = PriceCause::present(if has_waited { "takeover" } else { "start" });
    if has_waited {
        let (configuration, cause) = (Arc::clone(&configuration), cause.clone());
        tokio::task::spawn_blocking(move || configuration.catch_up(&cause)).await?;
    }
    configuration.note_prices(&cause);
    let families = FamilyStart::new(&services)?;
    // Nothing is billed or sent before the prices and secrets are those of this moment.
    recovery.run().await?;
    let service = Arc::new(services.admin_service(&config, &driver, Arc::clone(&configuration)));
    service.prices.keep().await;
    follow_rollbacks(&services.plugins, &service);
    let keys = match sandbox {
        Some(_) => Some(sandbox_mode::keys(&service, services.folder.root()).await?),
        None => None,
    };
    let edge = listen(&config, &driver, &services, public).await?;
    // The authority looks at these listeners.
    let acme = acme.map(|acme| tokio::spawn(acme.keep()));
    let upkept = metrics.clone();
    let (process, requests) = (Arc::clone(&driver.process), edge.local());
    let page = move || {
        requests.follow_routes();
        metrics.render()
    };
    let probes = Probes { metrics: Box::new(page), is_ready: Box::new(move || process.is_ready()) };
    if let Some(waiting) = waiting {
        waiting.stop().await;
    }
    let (admin, endpoint) = listen_for_operators(&config, &services, service.clone(), probes).await?;
    let public = if acme.is_some() { "server.acme" } else { "server.tls" };
    let certificates = [(public, edge.certificates()), ("admin.tls", admin.certificates())];
    let sampled = Sampled {
        store: services.store.clone(),
        plugins: services.plugins.clone(),
        certificates: certificates
            .into_iter()
            .filter_map(|(table, own)| Some((table, own?.clone())))
            .collect(),
        active: Mutex::default(),
    };
    note_start(services.clock.now());
    let upkeep = run_metrics_upkeep(upkept, services.clock.clone(), Arc::new(sampled));
    let public_url = public_url(&config, &edge);
    service.connect(Arc::new(LocalApi { requests: edge.local(), base_url: public_url.clone() }));
    let facts = facts(public_url, provider.as_ref(), keys.as_ref());
    if let Some(provider) = provider {
        admin.log_in_at(provider);
    }
    admin.show(Pages::new(service.clone(), admin.sessions().clone(), facts).console());
    let rest = Rest {
        families,
        plugins: services.plugins.clone(),
        watcher,
        keys,
        data: services.folder.root().to_owned(),
        self_signed: options.self_signed,
        started: options.started,
    };
    let gateway = Gateway {
        service,
        configuration,
        clock: services.clock,
        edge,
        driver,
        admin,
        endpoint,
        upkeep,
        traces,
        acme,
        watcher: OnceLock::new(),
        store: services.store,
        _lock: services.lock,
        sandbox,
    };
    Ok((gateway, rest))
}

/// Accepts no more connections than have file descriptors.
fn limit_connections(config: &mut Config) {
    let (limit, wanted) = (descriptors::raise_limit(), config.server.limits.connections);
    let admin = u64::from(config.admin.connections.get());
    if let Some((fewer, warning)) = descriptors::fewer_connections(limit, wanted, admin) {
        tracing::warn!("{warning}");
        config.server.limits.connections = fewer;
    }
}

/// A canary that is rolled back leaves a report.
fn follow_rollbacks(plugins: &PluginService, service: &Arc<AdminService>) {
    let (service, runtime) = (Arc::downgrade(service), tokio::runtime::Handle::current());
    plugins.on_roll_back(Box::new(move || {
        if let Some(service) = service.upgrade() {
            runtime.block_on(service.deployments.keep_rollbacks());
        }
    }));
}

/// What the console says of this gateway.
fn facts(public_url: String, provider: Option<&IdentityProvider>, keys: Option<&SandboxKeys>) -> Facts {
    let sandbox = keys.map(|keys| SandboxSecrets { wrapped: keys.wrapped.clone(), bare: keys.bare.clone() });
    Facts { public_url, identity_provider: provider.map(IdentityProvider::host), sandbox }
}

/// What clients put before a path: `server.public_url`, or else what those on this machine do.
fn public_url(config: &Config, edge: &Edge) -> String {
    if let Some(url) = &config.server.public_url {
        return url.as_str().to_owned();
    }
    let scheme = if edge.certificates().is_some() { "https" } else { "http" };
    edge.addresses().first().map_or_else(String::new, |address| format!("{scheme}://{}", reachable(*address)))
}

/// Opens the watched folder, if one is configured.
fn open_watch_folder(config: &Config) -> Result<Option<FolderWatcher>, ServeError> {
    let Some(folder) = config.plugins.watch_folder.clone() else { return Ok(None) };
    FolderWatcher::open(folder.clone(), config.plugins.require_signature)
        .map(Some)
        .map_err(|source| ServeError::WatchFolder { folder, source })
}

/// Starts the simulated providers, if enabled; removes providers without an account.
async fn start_sandbox(config: &mut Config) -> Result<Option<Sandbox>, ServeError> {
    let running = if config.sandbox.enabled {
        let running = sandbox_mode::start(&config.sandbox).await.map_err(ServeError::Sandbox)?;
        Simulated::of(&running).put_into(config);
        Some(running)
    } else {
        None
    };
    config.providers.retain(|name, provider| {
        let usable = !provider.accounts.is_empty();
        if !usable {
            tracing::warn!(
                provider = name,
                "no account is configured: its models are not listed, and requests for them are refused"
            );
        }
        usable
    });
    Ok(running)
}

/// Folds recorded samples into their histograms, so that memory stays constant without a scraper.
/// Sets the gauges that are looked at, too.
fn run_metrics_upkeep(
    metrics: PrometheusHandle,
    clock: Arc<dyn Clock>,
    sampled: Arc<Sampled>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let (now, sampled) = (clock.now(), Arc::clone(&sampled));
            // A failed join means that the runtime is going down.
            let _ = tokio::task::spawn_blocking(move || sampled.look(now)).await;
            metrics.run_upkeep();
            clock.pause(Duration::from_secs(5)).await;
        }
    })
}
