//! `serve`: starts the rooms in order, waits for an end, and closes them in order.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_admin::{Admin, Door, OperationError, Token};
use gatehouse_driver::{Driver, StartError};
use gatehouse_edge::{Certificates, Edge};
use gatehouse_model::Clock;
use gatehouse_sandbox::Sandbox;
use gatehouse_store::OpenError;
use gatehouse_upstream::ConfigError;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::banner::Banner;
use crate::cli::ServeArgs;
use crate::config::{Config, Loaded};
use crate::data::DataError;
use crate::embedded::EmbeddedError;
use crate::exit::Exit;
use crate::incoming::Incoming;
use crate::operations::Serving;
use crate::rooms::Rooms;
use crate::shutdown::{House, Signals};
use crate::tls::CertificateError;
use crate::{sandbox, telemetry, tls};

/// Ports tried after a taken one, where nobody asked for a certain port.
const SPARE_PORTS: u16 = 20;

/// How often the certificate's files are looked at.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(60);

/// Why the gateway did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ServeError {
    #[error("admin.listen {address}: {source}")]
    Admin { address: SocketAddr, source: io::Error },
    #[error("providers: {0}")]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("admin door in the data folder: {0}")]
    Door(io::Error),
    #[error(transparent)]
    Driver(#[from] StartError),
    #[error(transparent)]
    Edge(#[from] gatehouse_edge::Error),
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error("plugins: {0}")]
    PluginService(#[from] gatehouse_runtime::OpenError),
    #[error("plugins.watch_folder {}: {source}", folder.display())]
    Incoming { folder: PathBuf, source: io::Error },
    #[error("log.level: {0}")]
    Logs(String),
    #[error("media: {0}")]
    Media(#[from] gatehouse_media::Error),
    #[error("metrics: {0}")]
    Metrics(String),
    #[error("simulated providers: {0}")]
    Sandbox(io::Error),
    #[error("signals: {0}")]
    Signals(io::Error),
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("certificate to try with: {0}")]
    Tls(#[from] CertificateError),
    #[error("a part of the start was cut short: {0}")]
    Torn(#[from] tokio::task::JoinError),
    #[error("the account to try with: {0}")]
    Welcome(#[from] OperationError),
}

impl ServeError {
    /// The exit code it ends the process with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Config(_)
            | Self::Driver(StartError::Prices(_) | StartError::Models { .. })
            | Self::Incoming { .. }
            | Self::Logs(_) => Exit::Mistake,
            Self::Edge(gatehouse_edge::Error::Tls(_) | gatehouse_edge::Error::Inherited(_)) => Exit::Mistake,
            Self::Media(_) => Exit::Mistake,
            Self::Driver(StartError::Store(_)) => Exit::Store,
            Self::Store(OpenError::Locked { .. }) => Exit::Refused,
            Self::Store(_) => Exit::Store,
            _ => Exit::Broken,
        }
    }
}

/// How this process was started, besides its configuration.
pub(crate) struct Start<'a> {
    /// The data folder, whatever the configuration says.
    pub(crate) data: Option<PathBuf>,
    /// The command line.
    pub(crate) args: &'a ServeArgs,
    /// Sockets to serve instead of listening.
    pub(crate) sockets: Vec<TcpListener>,
    /// The first line of the program.
    pub(crate) started: Instant,
}

/// Runs the gateway until a signal, or until the store fails.
pub(crate) async fn serve(loaded: &Loaded, start: Start<'_>) -> Result<Exit, ServeError> {
    telemetry::start_logs(&loaded.config.log).map_err(|error| ServeError::Logs(error.to_string()))?;
    let mut signals = Signals::take().map_err(ServeError::Signals)?;
    let mut hangups = signal(SignalKind::hangup()).map_err(ServeError::Signals)?;
    let house = tokio::select! {
        house = open(loaded, start) => house?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped while starting");
            return Ok(Exit::Done);
        }
    };
    let hurry = tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "stopping; a second signal stops at once");
            signal == Signals::BY_HAND
        }
        () = house.driver.failed() => {
            // Nothing that is still under way could be written down, so nothing is waited for.
            tracing::error!("the store failed; the next start recovers");
            return Ok(Exit::Store);
        }
        never = renew(&house.edge, &*house.clock, &mut hangups) => match never {},
    };
    tokio::select! {
        () = house.close(hurry) => Ok(Exit::Done),
        signal = signals.next() => {
            tracing::warn!(signal, "stopped at once");
            Ok(Exit::Broken)
        }
    }
}

/// Reads the certificate's files again at every SIGHUP, and when they have changed; never ends.
async fn renew(edge: &Edge, clock: &dyn Clock, hangups: &mut Signal) -> Infallible {
    loop {
        let read = tokio::select! {
            Some(()) = hangups.recv() => match edge.certificates().map(Certificates::reload) {
                Some(read) => read.map(|()| true),
                None => {
                    tracing::info!("there is no certificate to read again");
                    continue;
                }
            },
            () = clock.pause(CERTIFICATE_LOOK) => {
                edge.certificates().map_or(Ok(false), Certificates::reload_if_changed)
            }
        };
        match read {
            Ok(true) => tracing::info!("certificate read again"),
            Ok(false) => {}
            Err(error) => tracing::error!(%error, "the certificate in use stays"),
        }
    }
}

/// Starts every room, in the order each needs the ones before.
async fn open(loaded: &Loaded, start: Start<'_>) -> Result<House, ServeError> {
    let Start { data, args, sockets, started } = start;
    let mut config = loaded.config.clone();
    let metrics = telemetry::start_metrics().map_err(|error| ServeError::Metrics(error.to_string()))?;
    let sandbox = simulations(&mut config).await?;
    let usual = config.server.listen == gatehouse_edge::Config::default().listen;
    let any_port = usual && !loaded.from_file && args.listen.is_none();
    let public = Public { self_signed: args.tls_self_signed, any_port, sockets };
    if let Some(listen) = args.listen {
        config.server.listen = vec![listen];
    }
    let root = data.unwrap_or_else(|| config.data.folder.clone());
    let rooms = Rooms::open(&config, &root).await?;
    let driver = rooms.join(&config).await?;
    let desk = rooms.desk();
    let key = if sandbox.is_some() { Some(sandbox::welcome(&desk).await?) } else { None };
    let edge = listen(&config, &driver, &rooms, public).await?;
    let upkeep = keep_metrics(metrics.clone(), rooms.clock.clone());
    let (admin, door) =
        operators_door(&config, &rooms, Serving { desk, driver: driver.clone(), metrics }).await?;
    let banner = Banner {
        listen: edge.addresses(),
        tls: edge.certificates().is_some(),
        self_signed: args.tls_self_signed,
        admin: admin.address(),
        data: rooms.folder.root(),
        ready: started.elapsed(),
        key: key.as_deref(),
    };
    crate::run::say(&banner.text());
    let incoming = watch_folder(&config, &rooms)?;
    let (data, clock) = (rooms.folder.root().to_owned(), rooms.clock);
    Ok(House { clock, edge, driver, admin, door, data, upkeep, incoming, store: rooms.store, sandbox })
}

/// Installs what appears in the watched folder, where there is one.
fn watch_folder(config: &Config, rooms: &Rooms) -> Result<Option<JoinHandle<()>>, ServeError> {
    let Some(folder) = config.plugins.watch_folder.clone() else { return Ok(None) };
    let incoming = Incoming::open(folder.clone(), config.plugins.require_signature)
        .map_err(|source| ServeError::Incoming { folder, source })?;
    Ok(Some(incoming.watch(Arc::new(rooms.desk()), rooms.families.clone(), rooms.clock.clone())))
}

/// Starts the simulated providers where they are wanted; without them, providers without an account rest.
async fn simulations(config: &mut Config) -> Result<Option<Sandbox>, ServeError> {
    let running = if config.sandbox.enabled {
        let running = sandbox::start(&config.sandbox).await.map_err(ServeError::Sandbox)?;
        sandbox::point(config, &running);
        Some(running)
    } else {
        None
    };
    config.providers.retain(|name, provider| {
        let usable = !provider.accounts.is_empty();
        if !usable {
            tracing::warn!(provider = name, "no account is configured; its models will fail");
        }
        usable
    });
    Ok(running)
}

/// How the public listeners come about.
struct Public {
    /// With a certificate made up for them.
    self_signed: bool,
    /// On the next free port, where nobody asked for a certain one.
    any_port: bool,
    /// From these sockets, if there are any.
    sockets: Vec<TcpListener>,
}

/// Opens the public listeners.
async fn listen(
    config: &Config,
    driver: &Driver,
    rooms: &Rooms,
    mut public: Public,
) -> Result<Edge, ServeError> {
    let mut server = config.server.clone();
    let mut spare = if public.any_port { SPARE_PORTS } else { 0 };
    loop {
        let certificates = if public.self_signed { Some(made_up(&server)?) } else { None };
        let (clock, seed) = (rooms.clock.clone(), rooms.seed.clone());
        // Those are never in use elsewhere, so no second attempt will miss them.
        let sockets = std::mem::take(&mut public.sockets);
        let (driver, pepper) = (driver.clone(), rooms.pepper.clone());
        match Edge::start(server.clone(), driver, pepper, clock, seed, certificates, sockets).await {
            Err(gatehouse_edge::Error::Bind { address, source })
                if spare > 0 && source.kind() == io::ErrorKind::AddrInUse =>
            {
                spare -= 1;
                let next = SocketAddr::new(address.ip(), address.port().saturating_add(1));
                tracing::info!(taken = %address, trying = %next, "the port is taken");
                server.listen = vec![next];
            }
            started => return Ok(started?),
        }
    }
}

fn made_up(server: &gatehouse_edge::Config) -> Result<Certificates, CertificateError> {
    let own: Vec<_> = server.listen.iter().map(SocketAddr::ip).collect();
    tls::self_signed(&own)
}

async fn operators_door(
    config: &Config,
    rooms: &Rooms,
    serving: Serving,
) -> Result<(Admin, Door), ServeError> {
    let (address, token) = (config.admin.listen, Token::mint(rooms.seed.as_ref()));
    let admin = Admin::start(address, token.clone(), Arc::new(serving), rooms.clock.clone())
        .await
        .map_err(|source| ServeError::Admin { address, source })?;
    let door = Door { address: admin.address(), token };
    door.write(rooms.folder.root()).map_err(ServeError::Door)?;
    Ok((admin, door))
}

/// Folds recorded samples into their histograms, so that memory stays flat when nobody scrapes.
fn keep_metrics(metrics: PrometheusHandle, clock: Arc<dyn Clock>) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            clock.pause(Duration::from_secs(5)).await;
            metrics.run_upkeep();
        }
    })
}
