//! Where the database is, and one connection to it.
//!
//! An address is PostgreSQL's own: `postgres://user@host1,host2:5433/database?parameter=value`. Its servers are tried in turn, each for a
//! moment, until one takes writes: after a failover that is another one than before. What is printed of an address is never its password.

use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_model::{Boxed, Secret};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::{self, ConnectError};
use super::fleet::{self, Fleet};
use super::session::lock_out;
use super::{migrate, tls};
use crate::error::OpenError;

/// The oldest release that is tested with.
const OLDEST: u32 = 15;
/// From the first byte to a session, of one server; `connect_timeout` of the address instead.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A server that is gone without a word, or a connection that something in between forgot, is noticed after about this time: while the
/// lease of the writer lasts. What counts idle connections by their packets sees one more often than that.
const SILENCE: Duration = Duration::from_secs(5);
/// For the connection that writes. A flush is one write, so a session that is idle in a transaction is that of a process that was
/// stopped or cut off: its locks would keep a successor waiting. The server, too, notices soon that this machine is gone, but not before
/// the machine itself has stopped every effect (`lease`): three probes take 9 s.
const WRITER: &str = "SET idle_in_transaction_session_timeout = '2s'; SET statement_timeout = '60s'; \
                      SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3";
/// For readers: a doctor works on the rows of a page while its snapshot is open. What nobody waits for any more ends.
const READER: &str = "SET idle_in_transaction_session_timeout = '60s'; SET statement_timeout = '60s'; \
                      SET client_connection_check_interval = '5s'";
/// For every session. The server would compile statements of which it believes that they read much, as it does of each that is about
/// tables it has not counted yet: seconds for what is answered in milliseconds.
const ALL: &str = "SET jit = off";
/// For `gatehouse store migrate`, which may change every row.
const MIGRATION: &str = "SET statement_timeout = 0";
/// The parameters of an address that count here.
const PARAMETERS: [&str; 15] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "options",
    "port",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

/// The servers of a database and how they are spoken with. Prints no secret.
#[derive(Clone)]
pub struct Server {
    /// One each, in the order of the address.
    servers: Vec<Config>,
    /// The one that took the last session, which is tried first: each of the others may take a while to say nothing.
    first: Arc<AtomicUsize>,
    tls: MakeRustlsConnect,
    timeout: Duration,
    /// What stands for it in messages.
    name: String,
    has_password: bool,
}

/// A session, whose bytes a task of its own moves.
pub(crate) struct Connected {
    pub(crate) client: Client,
    /// Whether it has ended.
    pub(crate) ended: watch::Receiver<bool>,
}

impl Server {
    /// Reads an address. `password` is added to it.
    ///
    /// # Errors
    /// [`OpenError::Address`], which names the parameter.
    pub fn parse(url: &str, password: Option<&Secret<String>>) -> Result<Self, OpenError> {
        let wrong = |problem: String| OpenError::Address { problem };
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(wrong("expected postgres://user@host/database".to_owned()));
        }
        let behind = url.split_once('?').is_some_and(|(_, parameters)| parameters.contains('@'));
        if behind || url.matches('@').count() > 1 {
            // A part of a password would be taken for a host or a parameter, and shown.
            return Err(wrong("write @ and ? of a user or a password as %40 and %3F".to_owned()));
        }
        let (address, tls) = split(url).map_err(wrong)?;
        let mut config = Config::from_str(&address).map_err(|error| wrong(failure::describe(&error)))?;
        let (mode, tls) = tls::of_parameters(tls.mode.as_deref(), tls.roots.as_deref()).map_err(wrong)?;
        config.ssl_mode(mode);
        if let Some(password) = password {
            if config.get_password().is_some() {
                return Err(wrong("the address has a password, and there is another one".to_owned()));
            }
            config.password(password.expose());
        }
        if config.get_hosts().is_empty() {
            return Err(wrong("expected a host, found none".to_owned()));
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(wrong("expected the name of a database behind the host, found none".to_owned()));
        }
        Ok(Self {
            timeout: config.get_connect_timeout().copied().filter(|time| !time.is_zero()).unwrap_or(TIMEOUT),
            name: name(&config),
            has_password: config.get_password().is_some(),
            servers: servers(&config).map_err(wrong)?,
            first: Arc::default(),
            tls,
        })
    }

    /// Whether the password is known.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    /// Whether it can be reached now: a session is begun and ended.
    ///
    /// # Errors
    /// [`OpenError::Database`].
    pub async fn check(&self) -> Result<(), OpenError> {
        Ok(self.connect().await.map(drop)?)
    }

    /// Brings the tables of the database to this release, all or nothing. The numbers of the steps that were made.
    ///
    /// # Errors
    /// [`OpenError::Taken`] while a gateway writes to it, [`OpenError::Leased`] while one is about to again; the database's.
    pub async fn migrate(&self) -> Result<Vec<u32>, OpenError> {
        let mut client = self.session(MIGRATION).await?.client;
        self.lock_out_gateways(&client).await?;
        migrate::migrate(&mut client).await
    }

    /// No gateway is at work on it or about to come back, and none begins to be, as long as the session lasts.
    ///
    /// # Errors
    /// [`OpenError::Taken`], [`OpenError::Leased`]; the database's.
    pub(super) async fn lock_out_gateways(&self, client: &Client) -> Result<(), OpenError> {
        lock_out(client, self).await?;
        fleet::expect_no_lease(client, self).await
    }

    /// The gateways that use it.
    ///
    /// # Errors
    /// [`OpenError::Migrate`] for a database of a release before; [`OpenError::Database`].
    pub async fn fleet(&self) -> Result<Fleet, OpenError> {
        let client = self.connect_reader().await?.client;
        match fleet::fleet(&client).await {
            Err(error) => Err(migrate::explain(&client, &error).await),
            Ok(fleet) => Ok(fleet),
        }
    }

    /// A session for the writer, with the first server that takes writes. Its task runs on the runtime of the caller.
    pub(crate) async fn connect(&self) -> Result<Connected, ConnectError> {
        self.session(WRITER).await
    }

    /// The same for a reader.
    pub(crate) async fn connect_reader(&self) -> Result<Connected, ConnectError> {
        self.session(READER).await
    }

    async fn session(&self, settings: &str) -> Result<Connected, ConnectError> {
        let mut failed = ConnectError { reason: String::new(), passes: false };
        let first = self.first.load(Ordering::Relaxed);
        for number in (first..self.servers.len()).chain(0..first) {
            let server = &self.servers[number];
            let seconds = self.timeout.as_secs();
            let outcome = tokio::time::timeout(self.timeout, self.session_of(server, settings)).await;
            let error = match outcome {
                Ok(Ok(connected)) => {
                    self.first.store(number, Ordering::Relaxed);
                    return Ok(connected);
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    ConnectError { reason: format!("it does not answer within {seconds} s"), passes: true }
                }
            };
            let separator = if failed.reason.is_empty() { "" } else { ", then " };
            failed.reason += &format!("{separator}{}: {}", name(server), error.reason);
            failed.passes |= error.passes;
        }
        Err(failed)
    }

    /// Boxed: what a session begins with, TLS and certificates, is compiled once.
    fn session_of<'a>(
        &'a self,
        server: &'a Config,
        settings: &'a str,
    ) -> Boxed<'a, Result<Connected, ConnectError>> {
        Box::pin(async move {
            let failed = |error: tokio_postgres::Error| ConnectError {
                reason: failure::describe(&error),
                passes: !failure::is_refusal(&error),
            };
            let (client, connection) = server.connect(self.tls.clone()).await.map_err(failed)?;
            check_version(connection.parameter("server_version"))?;
            check_encoding(connection.parameter("server_encoding"))?;
            let (told, ended) = watch::channel(false);
            // Its end is told to each caller that waits for an answer, too.
            drop(tokio::spawn(async move {
                drop(connection.await);
                told.send_replace(true);
            }));
            client.batch_execute(&format!("{ALL}; {settings}")).await.map_err(failed)?;
            Ok(Connected { client, ended })
        })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.name).finish()
    }
}

/// The parameters of an address that the driver does not know in all their values.
#[derive(Default)]
struct TlsParameters {
    mode: Option<String>,
    roots: Option<String>,
}

/// The address without them.
fn split(url: &str) -> Result<(String, TlsParameters), String> {
    let Some((address, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), TlsParameters::default()));
    };
    let mut tls = TlsParameters::default();
    let mut rest = Vec::new();
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let decoded = || {
            let text = percent_decode_str(value).decode_utf8();
            text.map(|text| Some(text.into_owned())).map_err(|_| format!("{key}: expected UTF-8"))
        };
        match key {
            "sslmode" => tls.mode = decoded()?,
            "sslrootcert" => tls.roots = decoded()?,
            "password" => {
                return Err(
                    "password: write it behind the user, user:password@, or in a field of its own".to_owned()
                );
            }
            key if PARAMETERS.contains(&key) => rest.push(parameter),
            unknown => {
                return Err(format!(
                    "unknown parameter \"{unknown}\"; these are known: {}",
                    PARAMETERS.join(", ")
                ));
            }
        }
    }
    let separator = if rest.is_empty() { "" } else { "?" };
    Ok((format!("{address}{separator}{}", rest.join("&")), tls))
}

/// One each, with what holds for all.
fn servers(config: &Config) -> Result<Vec<Config>, String> {
    let (hosts, ports) = (config.get_hosts(), config.get_ports());
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(format!("{} hosts have {} ports", hosts.len(), ports.len()));
    }
    let one = |(number, host): (usize, &Host)| {
        let mut one = Config::new();
        match host {
            Host::Tcp(host) => one.host(host),
            Host::Unix(folder) => one.host_path(folder),
        };
        one.port(ports.get(number).or_else(|| ports.first()).copied().unwrap_or(PORT));
        if let Some(user) = config.get_user() {
            one.user(user);
        }
        if let Some(password) = config.get_password() {
            one.password(password);
        }
        if let Some(database) = config.get_dbname() {
            one.dbname(database);
        }
        if let Some(options) = config.get_options() {
            one.options(options);
        }
        one.application_name(config.get_application_name().unwrap_or("gatehouse"));
        one.ssl_mode(config.get_ssl_mode());
        one.channel_binding(config.get_channel_binding());
        one.target_session_attrs(match config.get_target_session_attrs() {
            // A gateway that cannot write is of no use.
            TargetSessionAttrs::Any => TargetSessionAttrs::ReadWrite,
            wanted => wanted,
        });
        one.tcp_user_timeout(config.get_tcp_user_timeout().copied().unwrap_or(SILENCE));
        one.keepalives(config.get_keepalives());
        one.keepalives_idle(match config.get_keepalives_idle() {
            DRIVERS_IDLE => SILENCE / 2,
            wanted => wanted,
        });
        one.keepalives_interval(config.get_keepalives_interval().unwrap_or(SILENCE / 4));
        one.keepalives_retries(config.get_keepalives_retries().unwrap_or(2));
        one
    };
    Ok(hosts.iter().enumerate().map(one).collect())
}

const PORT: u16 = 5432;
/// What the driver has where an address says nothing.
const DRIVERS_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Hosts and database: what an operator knows it by.
fn name(config: &Config) -> String {
    let host = |(number, host): (usize, &Host)| {
        let port =
            config.get_ports().get(number).or_else(|| config.get_ports().first()).copied().unwrap_or(PORT);
        match host {
            Host::Tcp(host) => format!("{host}:{port}"),
            Host::Unix(folder) => folder.display().to_string(),
        }
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    format!("{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

/// Clients write whatever letters there are.
fn check_encoding(encoding: Option<&str>) -> Result<(), ConnectError> {
    match encoding {
        Some("UTF8") => Ok(()),
        other => Err(ConnectError {
            reason: format!("its encoding is {}; a database in UTF8 is needed", other.unwrap_or("unknown")),
            passes: false,
        }),
    }
}

fn check_version(version: Option<&str>) -> Result<(), ConnectError> {
    let version = version.unwrap_or_default();
    let major =
        version.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST => Ok(()),
        _ => Err(ConnectError {
            reason: format!("it is PostgreSQL \"{version}\"; {OLDEST} or later is needed"),
            passes: false,
        }),
    }
}
