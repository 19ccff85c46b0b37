//! One stream through the real crates from the driver down, with the real plugins, against a provider that sends given
//! bytes: what the client received, and what the ledger holds. Every run is a system of its own.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::record::text_outcomes::Protocol;
use futures_util::future::BoxFuture;
use gatehouse_driver::{CompletionRequest, CompletionResponse, Config, Driver, Parts, RequestReport};
use gatehouse_fault_injection::Disk;
use gatehouse_media::MediaStore;
use gatehouse_model::{Credits, RequestId, Secret, UnixMs};
use gatehouse_store::{StatementOf, StatementQuery, Store};
use gatehouse_tasks::{EntryKind, JournalEntry};
use gatehouse_upstream::{Dial, Dialed, Resolve, Upstream};
use object_store::memory::InMemory;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::clock::{VirtualClock, paused_runtime};
use crate::customers::{first_disk, keys, pepper};
use crate::plan::requests::Client;
use crate::plugins::Plugins;
use crate::provider::transcripts::Transcript;
use crate::random::Random;
use crate::splits::cutter::{Reply, Then};

/// The result of a stream: every event its client received, and the rows of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) events: Vec<(Option<String>, String)>,
    /// The error at its end.
    pub(crate) error: Option<String>,
    rows: Vec<JournalEntry>,
}

impl Observed {
    /// Checks that there is one end: a terminal event or an error, and one end of the hold.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check(&self, client: Client) -> Result<(), String> {
        let lasts = self.events.iter().filter(|(name, data)| client.is_last(name.as_deref(), data)).count();
        let whole = lasts == 1
            && self.events.last().is_some_and(|(name, data)| client.is_last(name.as_deref(), data));
        if !(if self.error.is_none() { whole } else { lasts == 0 }) {
            return Err(format!("{lasts} terminal events and the error {:?}", self.error));
        }
        match self.rows.iter().map(|row| row.kind).collect::<Vec<_>>()[..] {
            [EntryKind::Hold, EntryKind::Settle] => Ok(()),
            [EntryKind::Hold, EntryKind::Release] if self.error.is_some() => Ok(()),
            ref other => Err(format!("the ledger holds {other:?}")),
        }
    }

    /// Checks it against what the provider wrote.
    ///
    /// # Errors
    /// The difference.
    pub(crate) fn matches(&self, transcript: &Transcript) -> Result<(), String> {
        let received: String = self.events.iter().map(|(_, data)| data.as_str()).collect();
        let result = transcript.check(&received, self.error.as_deref(), self.memo());
        result.map_err(|what| format!("{what}: {self:#?}"))
    }

    /// The memo of the settlement; empty where nothing was settled.
    fn memo(&self) -> &str {
        self.rows.last().filter(|row| row.kind == EntryKind::Settle).map_or("", |row| &row.memo)
    }
}

/// Runs streams, on a plugin service of its own.
pub(crate) struct StreamRunner(Plugins);

impl StreamRunner {
    pub(crate) fn open() -> Self {
        let plugins = Plugins::open();
        plugins.activate_first();
        Self(plugins)
    }

    /// A stream for `client` from a provider that protocol so and answers that.
    pub(crate) fn play(&self, client: Client, protocol: Protocol, reply: Reply) -> Observed {
        let disk = Disk::of(first_disk(false));
        paused_runtime().block_on(self.run(disk, client, protocol, reply))
    }

    async fn run(&self, disk: Disk, client: Client, protocol: Protocol, reply: Reply) -> Observed {
        let (clock, seed) = (Arc::new(VirtualClock::new()), Arc::new(Random::new(1)));
        clock.begin();
        let (store, mut writer) =
            Store::with_writer(disk, &gatehouse_store::Config::default()).expect("a store");
        let writing = tokio::spawn(async move { while writer.run_batch().await {} });
        let network = Arc::new(Network(Mutex::new(Some(reply))));
        let providers = json!({"providers": {"p": {
            "base_url": "http://provider.test", "accounts": {"main": {"secret": {"env": "KEY"}}},
        }}});
        let providers = serde_json::from_value(providers).expect("a configuration");
        let secret = |_: &_| Ok(Secret::new("the provider's key".to_owned()));
        let upstream =
            Upstream::with_dial(&providers, &secret, clock.clone(), seed.clone(), network.clone(), network)
                .expect("an upstream");
        let media = MediaStore::over(
            Arc::new(InMemory::new()),
            gatehouse_media::Config::default(),
            pepper(),
            upstream.clone(),
            clock.clone(),
            seed.clone(),
        );
        let model = json!({"provider": "p", "protocol": protocol.as_str(), "prices":
            {"input": "3", "output": "15", "cached": "0.3", "cache_write": "3.75"}});
        let models = [("model".to_owned(), serde_json::from_value(model).expect("a model"))];
        let config = Config { models: models.into(), ..Config::default() };
        let driver = Driver::start(Parts {
            store: store.clone(),
            plugins: self.0.service().clone(),
            upstream,
            media,
            config,
            clock: clock.clone(),
            seed: seed.clone(),
            pepper: pepper(),
            tracer: None,
            disks: Vec::new(),
        });
        let driver = driver.await.expect("a driver");
        let key = Arc::clone(&keys()[0]);
        let account = key.customer.clone();
        let request = CompletionRequest {
            id: RequestId::new(clock.now(), &*seed),
            key,
            surface: client.surface(),
            body: client.body("model", "write something that takes many tokens", true),
            headers: vec![],
            report: RequestReport::default(),
        };
        let (mut events, mut error) = (vec![], None);
        match driver.texts.complete(request).await {
            Ok(CompletionResponse::Stream(mut stream)) => {
                while let Some(batch) = poll_fn(|cx| stream.poll_next(cx)).await {
                    match batch {
                        Ok(batch) => events.extend(batch.into_iter().map(|event| (event.event, event.data))),
                        Err(last) => error = Some(last.to_string()),
                    }
                }
            }
            Ok(CompletionResponse::Whole(body)) => error = Some(format!("a whole answer: {body:?}")),
            Ok(CompletionResponse::DryRun(found)) => error = Some(format!("a dry run: {found:?}")),
            Err(refused) => error = Some(format!("no stream: {refused}")),
        }
        driver.process.stop(Duration::from_secs(20), Duration::ZERO).await;
        store.flush().await.expect("a whole disk");
        let balances = store.customer(&account).await.expect("readable").expect("the customer");
        assert_eq!(balances.reserved, Credits::ZERO, "a hold is left");
        assert!(store.examine().expect("readable").is_clean());
        let (of, created) = (StatementOf::Customer(account), UnixMs(0)..UnixMs(u64::MAX));
        let page = store.statement(StatementQuery { of, created, before: None, limit: 10 }).await;
        let mut rows: Vec<_> = page.expect("readable").rows.into_iter().rev().map(|row| row.entry).collect();
        rows.retain(|row| row.hold.is_some());
        // The time of each row depends on when its pieces came, and the chain hash on the time.
        for row in &mut rows {
            (row.at, row.chain) = Default::default();
        }
        store.close();
        writing.await.expect("the writer ends");
        Observed { events, error, rows }
    }
}

/// The network: one name, one connection, one answer.
struct Network(Mutex<Option<Reply>>);

impl Resolve for Network {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(vec![Ipv4Addr::LOCALHOST.into()])))
    }
}

impl Dial for Network {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Dialed>> {
        let reply = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            let reply = reply.ok_or(io::ErrorKind::ConnectionRefused)?;
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            tokio::spawn(answer(reply, theirs));
            Ok(Dialed { stream: Box::new(ours), peer: to })
        })
    }
}

/// The provider. Between two pieces everything else is done: the virtual clock moves on only when every task waits.
async fn answer(reply: Reply, mut line: DuplexStream) -> io::Result<()> {
    read_request(&mut line).await?;
    for (number, piece) in reply.pieces.iter().enumerate() {
        if reply.apart && number > 0 {
            VirtualClock::pause(Duration::from_millis(1)).await;
        }
        line.write_all(piece).await?;
    }
    if reply.then != Then::HangUp {
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// Reads a whole request.
async fn read_request(line: &mut DuplexStream) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        line.read_buf(&mut bytes).await?;
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Ok(());
        }
    }
}
