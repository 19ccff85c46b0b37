//! The start of a gateway that may have to wait: another one is at work on the same database, and this one takes its place once it has
//! ended. Meanwhile its listeners answer, and requests are sent on to the one at work.
//!
//! What can be looked at before is: the configuration and its secrets (`checks`), the sockets, the certificates. When the place is free
//! the sockets are handed to the listeners of the gateway; connections that come in between wait in them. A wait may last for days, so
//! the configuration is read once more then (`RunningConfiguration::catch_up`), and the others are told meanwhile what it would be.
//!
//! What answers on the admin listener while a start waits, and the file by which `gatehouse health` finds it.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gatehouse_admin::{AdminEndpoint, EndpointOf, Token, Waiting, WaitingServer};
use gatehouse_edge::{AtWork, Certificates, Forwarding, SendOn, ServedBody, StandbyEdge};
use gatehouse_model::{Boxed, Clock, Seed, metric};
use gatehouse_process::PrometheusHandle;
use gatehouse_store::{Node, OpenError, Position, Server, Standby};
use gatehouse_upstream::{ServiceClient, Upstream};
use http::{Request, Response, Uri, Version};
use http_body_util::BodyExt as _;
use tokio::sync::watch;

use super::error::ServeError;
use super::listeners::self_signed;
use super::rest_of_start::CompileAhead;
use super::serve::log_reload;
use crate::config::{Config, Loaded, Location, in_effect, load_with, told};
use crate::data_folder::DataFolder;
use crate::service_checks::check_services;

/// Between two looks at who is at work.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at the files of certificates: a minute.
const LOOKS_AT_CERTIFICATES: u32 = 240;
/// Between two looks at the configuration: 3 s, as often as the others are told of this gateway.
const LOOKS_AT_CONFIGURATION: u32 = 12;
/// For an answer that is sent on: longer than any that the gateway at work takes time for.
const ANSWER: Duration = Duration::from_secs(20 * 60);

/// A gateway on its way to work.
pub(super) struct Takeover<'a> {
    pub(super) node: Node,
    pub(super) config: &'a Config,
    /// Where it comes from, and what the start has read there.
    pub(super) location: Location,
    pub(super) loaded: &'a Loaded,
    pub(super) upstream: &'a Upstream,
    /// With a generated certificate.
    pub(super) self_signed: bool,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) seed: Arc<dyn Seed>,
    /// The public ones, where they are open already.
    pub(super) sockets: Vec<TcpListener>,
    /// What answers on the admin listener while this start waits.
    pub(super) page: Option<WaitingPage>,
    /// Whether it had to wait: what it has read may be days old.
    pub(super) has_waited: bool,
    /// What waits for the place, and knows who had it: it is kept when another one is faster.
    pub(super) standby: Option<Standby>,
    pub(super) metrics: PrometheusHandle,
}

impl Takeover<'_> {
    /// Returns once nobody is at work on the database; the epoch of the one whose end was seen, if so.
    ///
    /// # Errors
    /// A database that cannot be used, or that has another pepper; listeners that cannot be opened.
    pub(super) async fn until_free(
        &mut self,
        server: &Server,
        folder: &DataFolder,
    ) -> Result<Option<i64>, ServeError> {
        let new = || Standby::new(server.clone(), self.node.clone());
        let mut standby = self.standby.take().unwrap_or_else(new);
        let (mut listening, mut fits): (Option<Listening>, _) = (None, false);
        let mut looks = 0_u32;
        let outcome = loop {
            let found = match standby.look().await {
                Ok(Position::Free(ended)) => break Ok(ended),
                Ok(Position::Taken(node)) => {
                    if !fits {
                        let own = folder.pepper_check()?;
                        match standby.fits(own).await {
                            Ok(false) => break Err(folder.wrong_pepper(own.is_some()).into()),
                            known => fits = known.is_ok(),
                        }
                    }
                    Ok((node, standby.lease_left()))
                }
                Err(OpenError::Database { reason, passes: true }) => Err(reason),
                Err(error) => break Err(error.into()),
            };
            let listening = match &mut listening {
                Some(listening) => listening,
                none => match self.listen(folder.root()).await {
                    Ok(begun) => none.insert(begun),
                    Err(error) => break Err(error),
                },
            };
            listening.tell(found, self.upstream, self.config.fleet.send_on, server);
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_AT_CONFIGURATION) {
                standby.tell_configuration(self.configuration().await);
            }
            if looks.is_multiple_of(LOOKS_AT_CERTIFICATES) {
                listening.reload_certificates();
            }
            self.clock.pause(LOOK).await;
        };
        if let Some(listening) = listening {
            self.sockets.extend(listening.stop(&mut self.page).await);
            if outcome.is_ok() {
                tracing::warn!(database = %server, "the place is free: this gateway takes over");
            }
        }
        self.standby = Some(standby);
        outcome
    }

    /// What a takeover at this moment would be configured to do. Where the files cannot be used, that is what the start has read.
    async fn configuration(&self) -> String {
        let (location, started) = (self.location.clone(), self.loaded.clone());
        let read = tokio::task::spawn_blocking(move || after_takeover(&location, &started));
        read.await.ok().flatten().unwrap_or_else(|| self.node.configuration.clone())
    }

    async fn listen(&mut self, root: &Path) -> Result<Listening, ServeError> {
        // Of a turn before this one: its address must be free.
        if let Some(page) = self.page.take() {
            page.stop().await;
        }
        let config = self.config;
        let (at_work, watched) = watch::channel(AtWork::default());
        let (reason, told) = watch::channel(as_standby("it is a standby".to_owned()));
        let peer = Peer::default();
        // A certificate of an authority is had by the one at work.
        let edge = match config.server.acme {
            Some(_) => None,
            None => {
                let certificates: Option<Certificates> =
                    self.self_signed.then(|| self_signed(&config.server.listen)).transpose()?;
                let (name, send_on) = (self.node.name.clone(), Arc::new(peer.clone()));
                let forwarding = Forwarding { name, at_work: watched, send_on };
                let (clock, seed) = (Arc::clone(&self.clock), Arc::clone(&self.seed));
                let sockets = std::mem::take(&mut self.sockets);
                Some(StandbyEdge::start(&config.server, forwarding, clock, seed, certificates, sockets)?)
            }
        };
        let admin = self.wait_page(root, told);
        metrics::gauge!(metric::STANDBY).set(1.0);
        let compiling = CompileAhead::begin(config, root);
        let public: Vec<String> =
            edge.iter().flat_map(StandbyEdge::addresses).map(ToString::to_string).collect();
        tracing::warn!(
            name = self.node.name,
            public = public.join(","),
            "another gateway is at work: this one is a standby and waits for its place"
        );
        Ok(Listening { edge, admin, at_work, reason, peer, names: String::new(), compiling })
    }

    /// Begins to answer on the admin listener. `None`, with a line in the log, where that does not work: a start
    /// can do without. `root` is the data folder.
    pub(super) fn wait_page(
        &mut self,
        root: &Path,
        waiting: watch::Receiver<Waiting>,
    ) -> Option<WaitingPage> {
        self.has_waited = true;
        let (config, metrics, clock) = (self.config, self.metrics.clone(), Arc::clone(&self.clock));
        let (limits, handshakes) =
            (config.server.limits.of_connections(), config.server.limits.of_handshakes());
        let page = Box::new(move || metrics.render());
        let started = WaitingServer::start(&config.admin, limits, handshakes, waiting, page, clock);
        let server = started.inspect_err(|error| {
            tracing::warn!(address = %config.admin.listen, %error, "nothing answers /livez meanwhile");
        });
        let server = server.ok()?;
        let endpoint = AdminEndpoint {
            address: server.address(),
            token: Token::mint(&*self.seed),
            tls: config.admin.tls.is_some(),
        };
        // A gateway that was killed has left them, and on a fixed port they lead here, where nothing but probes is answered.
        for of in [EndpointOf::Operator, EndpointOf::Viewer] {
            drop(fs::remove_file(of.path(root)));
        }
        if let Err(error) = endpoint.write(root, EndpointOf::Waiting) {
            tracing::warn!(%error, "`gatehouse health` does not find this gateway while it waits");
        }
        tracing::info!(admin = %server.address(), "meanwhile /livez and /readyz are answered");
        Some(WaitingPage { server, file: EndpointOf::Waiting.path(root) })
    }
}

/// What others are told of a takeover with the files as they are now; `None` where these cannot be used. Blocks.
fn after_takeover(location: &Location, started: &Loaded) -> Option<String> {
    let now = load_with(location, None).and_then(|now| now.whole_but_for(Some(started))).ok()?;
    check_services(&now.config).is_empty().then(|| told(&in_effect(&started.table, &now.table)))
}

/// What answers while a gateway waits.
struct Listening {
    edge: Option<StandbyEdge>,
    admin: Option<WaitingPage>,
    at_work: watch::Sender<AtWork>,
    reason: watch::Sender<Waiting>,
    peer: Peer,
    /// The one at work that was logged last.
    names: String,
    compiling: CompileAhead,
}

impl Listening {
    /// Follows who is at work. Where the database does not answer, that is who was last.
    fn tell(
        &mut self,
        found: Result<(Node, Duration), String>,
        upstream: &Upstream,
        send_on: bool,
        server: &Server,
    ) {
        let (node, left) = match found {
            Ok(found) => found,
            Err(reason) => {
                tracing::debug!(database = %server, reason, "the database does not answer");
                self.show_lease(Duration::ZERO);
                let reason = format!("it is a standby, and the database {server} does not answer");
                self.reason.send_replace(as_standby(reason));
                return;
            }
        };
        let name = if node.name.is_empty() { "another gateway" } else { node.name.as_str() };
        let address = node.address.as_deref().filter(|_| send_on).filter(|to| self.peer.is_at(to, upstream));
        if self.names != name {
            self.show_lease(Duration::ZERO);
            name.clone_into(&mut self.names);
            tracing::info!(name, address, "it is at work");
        }
        self.show_lease(left);
        self.reason.send_replace(as_standby(format!("it is a standby, and {name} is at work")));
        let at_work = AtWork { name: name.to_owned(), address: address.map(str::to_owned) };
        self.at_work.send_if_modified(|before| {
            let changed = *before != at_work;
            *before = at_work;
            changed
        });
    }

    /// What is left of the lease of the one at work, where that is known.
    fn show_lease(&self, left: Duration) {
        if !self.names.is_empty() {
            let name = self.names.clone();
            metrics::gauge!(metric::AT_WORK_LEASE_SECONDS, "name" => name).set(left.as_secs_f64());
        }
    }

    fn reload_certificates(&self) {
        if let Some(certificates) = self.edge.as_ref().and_then(StandbyEdge::certificates) {
            log_reload("server.tls", certificates.reload_if_changed());
        }
    }

    /// The public sockets. The admin listener goes on: what opens a store and recovers tasks may take as long as a supervisor waits.
    async fn stop(self, page: &mut Option<WaitingPage>) -> Vec<TcpListener> {
        self.reason.send_replace(as_standby("it takes over".to_owned()));
        self.show_lease(Duration::ZERO);
        *page = self.admin;
        metrics::gauge!(metric::STANDBY).set(0.0);
        self.compiling.end().await;
        match self.edge {
            Some(edge) => edge.stop().await,
            None => Vec::new(),
        }
    }
}

fn as_standby(reason: String) -> Waiting {
    Waiting { reason, is_standby: true }
}

/// The connections to the gateway at work, by its address.
#[derive(Clone, Default)]
struct Peer(Arc<Mutex<Option<(String, ServiceClient)>>>);

impl Peer {
    /// Whether it can be reached at that address, as far as is known before a connection.
    fn is_at(&self, address: &str, upstream: &Upstream) -> bool {
        let mut peer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if peer.as_ref().is_some_and(|(known, _)| known == address) {
            return true;
        }
        let client = match address.parse() {
            Ok(url) => upstream.service_client(&url),
            Err(_) => Err("it is no URL".to_owned()),
        };
        match client {
            Ok(client) => *peer = Some((address.to_owned(), client)),
            Err(problem) => tracing::warn!(address, problem, "requests cannot be sent on"),
        }
        peer.as_ref().is_some_and(|(known, _)| known == address)
    }

    fn client(&self, address: &str) -> Option<ServiceClient> {
        let peer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        peer.as_ref().filter(|(known, _)| known == address).map(|(_, client)| client.clone())
    }
}

impl SendOn for Peer {
    fn send(
        &self,
        address: String,
        mut request: Request<ServedBody>,
    ) -> Boxed<'static, Result<Response<ServedBody>, String>> {
        let client = self.client(&address);
        Box::pin(async move {
            let client = client.ok_or_else(|| "another one is at work".to_owned())?;
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let uri = format!("{address}{path}").parse::<Uri>();
            *request.uri_mut() = uri.map_err(|error| error.to_string())?;
            *request.version_mut() = Version::HTTP_11;
            let answer = client.send(request, ANSWER).await.map_err(|error| error.to_string())?;
            let mut answer = answer.map(|body| body.map_err(std::io::Error::other).boxed_unsync());
            *answer.version_mut() = Version::HTTP_11;
            Ok(answer)
        })
    }
}

/// The listener of a start that waits. Its file goes with it.
pub(super) struct WaitingPage {
    server: WaitingServer,
    file: PathBuf,
}

impl WaitingPage {
    /// Ends it; its address is free afterwards.
    pub(super) async fn stop(self) {
        // A file that stays behind leads to nobody, which is what a gateway without a file says too.
        drop(fs::remove_file(&self.file));
        self.server.stop().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others would be warned of a configuration that no takeover brings.
    #[test]
    fn a_takeover_has_the_files_as_they_are_unless_they_cannot_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let [file, secret, data] = ["gatehouse.toml", "secret", "data"].map(|name| folder.path().join(name));
        let account = format!(
            "[providers.p]\nbase_url = \"https://p.example\"\naccounts.main.secret = {{ file = {secret:?} }}\n"
        );
        let write = |prices: &str| fs::write(&file, format!("{prices}{account}")).unwrap();
        fs::write(&secret, "key\n").unwrap();
        write("[prices]\np = \"4\"\n");
        let location = Location { file: Some(file.clone()), data: Some(data), ..Location::default() };
        let started = load_with(&location, None).unwrap();
        let before = told(&started.table);
        assert_eq!(after_takeover(&location, &started).as_ref(), Some(&before));
        let dearer = "[prices]\np = \"5\"\n";
        write(dearer);
        assert!(after_takeover(&location, &started).is_some_and(|now| now != before));
        write(&format!("[prices\n{dearer}"));
        assert_eq!(after_takeover(&location, &started), None);
        write(dearer);
        fs::remove_file(&secret).unwrap();
        assert_eq!(after_takeover(&location, &started), None);
    }
}
