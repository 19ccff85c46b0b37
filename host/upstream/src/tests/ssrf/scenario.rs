//! A network that is all stage: names answer from a table, every address in the world is one loopback server, and
//! every attempt to connect is written down before it is granted. What is private is granted too, so that a hole
//! shows as a reached server and not as a failure that looks like a refusal.

use std::collections::VecDeque;

use gatehouse_model::Outage;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::client::dial::{Dial, Dialed};
use crate::fetch::post::Post;
use crate::pool::permits::CallPermit;

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// What the server still has to say before it serves the file: a status and a location each.
type Script = Arc<Mutex<VecDeque<(u16, String)>>>;

pub(super) struct Stage {
    pub(super) names: Arc<Names>,
    pub(super) dials: Arc<Dials>,
    script: Script,
    server: Provider,
    folder: tempfile::TempDir,
}

impl Stage {
    /// A stage where the names of the table are known, and their certificates trusted.
    pub(super) async fn set() -> Self {
        let names = Names::read();
        let mut hosts: Vec<String> = names.0.lock().unwrap().keys().cloned().collect();
        hosts.retain(|host| !host.ends_with('.'));
        hosts.push(REBOUND.to_owned());
        let made = rcgen::generate_simple_self_signed(hosts).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("roots.pem"), made.cert.pem()).unwrap();
        let acceptor = acceptor(&made, vec![]);
        let script = Script::default();
        let lines = Arc::clone(&script);
        let server = Provider::start_over(
            move |_| match lines.lock().unwrap().pop_front() {
                // Closed after each answer, so that each hop has to connect and shows.
                Some((status, to)) => reply(status, &[("location", &to), ("connection", "close")], "moved"),
                None => reply(200, &[("connection", "close")], "file"),
            },
            move |stream| plain_or_tls(stream, acceptor.clone()),
        )
        .await;
        let dials = Arc::new(Dials { server: server.address, ..Dials::default() });
        Self { names: Arc::new(names), dials, script, server, folder }
    }

    /// An upstream in this scenario; `fetch` goes into that table, `providers` is written before it.
    pub(super) fn upstream(&self, providers: &str, fetch: &str) -> Upstream {
        let roots = self.folder.path().join("roots.pem");
        let text = format!("{providers}\n[fetch]\nextra_roots_file = {roots:?}\n{fetch}\n");
        let (clock, seed) = (TestClock::skipping_pauses_at(1_000_000), Arc::new(TestSeed::default()));
        let (names, dials) = (Arc::clone(&self.names) as _, Arc::clone(&self.dials) as _);
        Upstream::with_dial(&config(&text), &secrets, clock, seed, names, dials).unwrap()
    }

    /// What the next requests are answered with; then the file.
    pub(super) fn script(&self, lines: impl IntoIterator<Item = (u16, String)>) {
        *self.script.lock().unwrap() = lines.into_iter().collect();
    }

    /// Fetches, and tells the verdict in the words of the tables: what came of it, and who was dialled.
    pub(super) async fn visit(&self, upstream: &Upstream, origins: Origins<'_>, url: &str) -> String {
        let policy = Policy::new(origins, 1000, PATIENCE);
        let outcome = match upstream.fetcher().fetch(url, &policy).await {
            Ok(fetched) => fetched.collect().await,
            Err(error) => Err(error),
        };
        verdict(outcome, &self.dials.taken())
    }

    /// Posts, and tells the verdict in the same words.
    pub(super) async fn post(&self, upstream: &Upstream, url: &str) -> String {
        let body = Bytes::from_static(b"{}");
        let post = Post { url, headers: &[], body, timeout: PATIENCE, max_answer: 1000, over_http: true };
        let outcome = upstream.fetcher().post(&post).await.map(|answer| answer.body);
        verdict(outcome, &self.dials.taken())
    }

    /// Calls, and tells what came of it.
    pub(super) async fn call(&self, permit: &CallPermit, url: String) -> String {
        let outcome = permit.call(&get(Target::Url(url)), &Memory::default(), NEVER).await;
        let dials = self.dials.taken();
        match outcome {
            Ok(reply) if reply.status == 200 => format!("reaches {}", listed(&dials)),
            Ok(reply) => format!("status {} after {}", reply.status, listed(&dials)),
            Err(Outage::Refused) if dials.is_empty() => "refused".to_owned(),
            Err(Outage::Unreachable) if dials.is_empty() => "unreachable".to_owned(),
            Err(other) => format!("{other:?} after {}", listed(&dials)),
        }
    }

    /// Every request that reached the server.
    pub(super) fn received(&self) -> Vec<Received> {
        self.server.received()
    }
}

/// By the first byte: a TLS record of a handshake is of type 22 (RFC 8446, section 5.1).
async fn plain_or_tls(stream: TcpStream, acceptor: TlsAcceptor) -> Option<Box<dyn Io>> {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first == [22] => acceptor.accept(stream).await.ok().map(|stream| Box::new(stream) as _),
        Ok(1) => Some(Box::new(stream)),
        _ => None,
    }
}

/// A fetch's outcome in the words of the tables.
fn verdict(outcome: Result<Bytes, FetchError>, dials: &[SocketAddr]) -> String {
    let end = match outcome {
        Ok(body) => {
            assert_eq!(body, "file");
            return format!("reaches {}", listed(dials));
        }
        Err(FetchError::BadUrl("it does not parse")) => "unparsed".to_owned(),
        Err(FetchError::BadUrl("it redirects to an invalid URL")) => "no-url".to_owned(),
        Err(FetchError::BadUrl("expected http or https")) => "scheme".to_owned(),
        Err(FetchError::BadUrl("it must not hold a user name or password")) => "userinfo".to_owned(),
        Err(FetchError::BadUrl("only ports 80 and 443 are allowed")) => "port".to_owned(),
        Err(FetchError::ForeignOrigin(_)) => "foreign".to_owned(),
        Err(FetchError::NotPublic(_)) => "closed".to_owned(),
        Err(FetchError::Status(status)) => format!("status {status}"),
        Err(FetchError::TooManyRedirects) => "often".to_owned(),
        Err(FetchError::Unreachable) => "unreachable".to_owned(),
        Err(other) => format!("{other:?}"),
    };
    if dials.is_empty() { end } else { format!("after {} {end}", listed(dials)) }
}

pub(super) fn listed(dials: &[SocketAddr]) -> String {
    dials.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" ")
}

/// Sockets that lead to one server whatever the address, and remember what was asked of them.
pub(super) struct Dials {
    server: SocketAddr,
    taken: Mutex<Vec<SocketAddr>>,
    /// Addresses that do not answer.
    pub(super) deaf: Mutex<Vec<IpAddr>>,
    /// Who is said to have answered, if not who was asked.
    pub(super) impostor: Mutex<Option<SocketAddr>>,
}

impl Default for Dials {
    fn default() -> Self {
        let (taken, deaf, impostor) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { server: SocketAddr::from(([127, 0, 0, 1], 0)), taken, deaf, impostor }
    }
}

impl Dials {
    /// The attempts since this was last asked.
    pub(super) fn taken(&self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.taken.lock().unwrap())
    }
}

impl Dial for Dials {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Dialed>> {
        self.taken.lock().unwrap().push(to);
        let is_deaf = self.deaf.lock().unwrap().contains(&to.ip());
        let peer = self.impostor.lock().unwrap().unwrap_or(to);
        Box::pin(async move {
            if is_deaf {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let stream = Box::new(TcpStream::connect(self.server).await?);
            Ok(Dialed { stream, peer })
        })
    }
}

/// Names that may answer differently each time they are asked.
pub(super) struct Names(Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>);

impl Names {
    fn read() -> Self {
        let rows = read(include_str!("names.table"), 3);
        Self(Mutex::new(rows.iter().map(|row| (row[0].clone(), rounds(row, 1))).collect()))
    }

    /// From now on `name` answers so; the last round stays.
    pub(super) fn set(&self, name: &str, rounds: impl Into<VecDeque<Vec<IpAddr>>>) {
        self.0.lock().unwrap().insert(name.to_owned(), rounds.into());
    }
}

/// The answers in one cell: `;` between rounds, `,` between addresses.
pub(super) fn rounds(row: &Row, column: usize) -> VecDeque<Vec<IpAddr>> {
    let addresses = |round: &str| {
        let texts = round.split(',').map(str::trim).filter(|text| !text.is_empty());
        texts.map(|text| text.parse().unwrap()).collect()
    };
    row[column].split(';').map(addresses).collect()
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let mut names = self.0.lock().unwrap();
        let found = names.get_mut(host).map(|rounds| {
            let first = rounds[0].clone();
            if rounds.len() > 1 {
                rounds.pop_front();
            }
            first
        });
        Box::pin(std::future::ready(found.ok_or_else(|| io::ErrorKind::NotFound.into())))
    }
}
