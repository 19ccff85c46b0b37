//! One stream through the real rooms from the driver down, with the real plugins as components, against a provider
//! that says given bytes: what the client read and what the ledger says. Every play is a house of its own.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_driver::{CheckedBody, CompletionRequest, CompletionResponse, Config, Driver, Parts};
use gatehouse_media::MediaStore;
use gatehouse_model::{Credits, Protocol, RequestId, Secret};
use gatehouse_store::Store;
use gatehouse_store::fault_injection::Disk;
use gatehouse_tasks::{EntryKind, JournalEntry};
use gatehouse_upstream::{Dial, Line, Resolve, Upstream};
use object_store::memory::InMemory;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::clock::{Chance, Time};
use crate::customers::{first_disk, keys, pepper};
use crate::shelf::Shelf;
use crate::splits::cutter::{Reply, Then};
use crate::talks::Client;

/// What came of a stream: what its client read, one batch after another put together, and the rows of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) events: Vec<(Option<String>, String)>,
    /// The last word, where it was an error.
    pub(crate) error: Option<String>,
    rows: Vec<JournalEntry>,
}

impl Told {
    /// Whose every end is one: a terminal event or an error, and one end of the hold.
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
            ref other => Err(format!("the ledger says {other:?}")),
        }
    }

    /// The memo of the settlement; empty where nothing was settled.
    pub(crate) fn memo(&self) -> &str {
        self.rows.last().filter(|row| row.kind == EntryKind::Settle).map_or("", |row| &row.memo)
    }
}

/// The plugins, in a room of their own.
pub(crate) struct Stage(Shelf);

impl Stage {
    pub(crate) fn open() -> Self {
        let shelf = Shelf::open();
        shelf.tidy();
        Self(shelf)
    }

    /// A stream for `client` from a provider that speaks so and answers that.
    pub(crate) fn play(&self, client: Client, speaks: Protocol, reply: Reply) -> Told {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let disk = Disk::of(first_disk());
        runtime.block_on(self.house(disk, client, speaks, reply))
    }

    async fn house(&self, disk: Disk, client: Client, speaks: Protocol, reply: Reply) -> Told {
        let (time, chance) = (Arc::new(Time::new()), Arc::new(Chance::new(1)));
        time.begin();
        let (store, mut writer) =
            Store::with_writer(disk, &gatehouse_store::Config::default()).expect("a store");
        let writing = tokio::spawn(async move { while writer.turn().await {} });
        let wires = Arc::new(Wires(Mutex::new(Some(reply))));
        let providers = json!({"providers": {"p": {
            "base_url": "http://provider.test", "accounts": {"main": {"secret": {"env": "KEY"}}},
        }}});
        let providers = serde_json::from_value(providers).expect("a configuration");
        let secret = |_: &_| Ok(Secret::new("the key of this stage".to_owned()));
        let upstream =
            Upstream::dialling(&providers, &secret, time.clone(), chance.clone(), wires.clone(), wires)
                .expect("an upstream");
        let media = MediaStore::over(
            Arc::new(InMemory::new()),
            gatehouse_media::Config::default(),
            pepper(),
            upstream.clone(),
            time.clone(),
            chance.clone(),
        );
        let model = json!({"provider": "p", "protocol": speaks.as_str(), "prices":
            {"input": "3", "output": "15", "cached": "0.3", "cache_write": "3.75"}});
        let models = [("model".to_owned(), serde_json::from_value(model).expect("a model"))];
        let config = Config { models: models.into(), ..Config::default() };
        let driver = Driver::start(Parts {
            store: store.clone(),
            plugins: self.0.room().clone(),
            upstream,
            media,
            config,
            clock: time.clone(),
            seed: chance.clone(),
        });
        let driver = driver.await.expect("a driver");
        let key = Arc::clone(&keys()[0]);
        let account = key.customer.clone();
        let body = client.body("model", "say something that takes many tokens", true);
        let request = CompletionRequest {
            id: RequestId::new(time.now(), &*chance),
            key,
            surface: client.surface(),
            body: CheckedBody::parse(body, None).expect("a JSON object"),
            headers: vec![],
        };
        let (mut events, mut error) = (vec![], None);
        match driver.complete(request).await {
            Ok(CompletionResponse::Stream(mut stream)) => {
                while let Some(batch) = poll_fn(|cx| stream.poll_next(cx)).await {
                    match batch {
                        Ok(batch) => events.extend(batch.into_iter().map(|event| (event.event, event.data))),
                        Err(last) => error = Some(last.to_string()),
                    }
                }
            }
            Ok(CompletionResponse::Whole(body)) => error = Some(format!("a whole answer: {body:?}")),
            Err(refused) => error = Some(format!("no stream: {refused}")),
        }
        driver.stop(Duration::from_secs(20), Duration::ZERO).await;
        store.flush().await.expect("a whole disk");
        let balances = store.customer(&account).expect("readable").expect("the customer");
        assert_eq!(balances.reserved, Credits::ZERO, "a hold is left");
        assert!(store.examine().expect("readable").is_clean());
        let mut rows = store.journal_of(&account, 10).expect("readable");
        rows.reverse();
        rows.retain(|row| row.hold.is_some());
        // When each row was written depends on when its pieces came, and the chain on that.
        for row in &mut rows {
            (row.at, row.chain) = Default::default();
        }
        store.close();
        writing.await.expect("the writer ends");
        Told { events, error, rows }
    }
}

/// The network: one name, one connection, one answer.
struct Wires(Mutex<Option<Reply>>);

impl Resolve for Wires {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(vec![Ipv4Addr::LOCALHOST.into()])))
    }
}

impl Dial for Wires {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Line>> {
        let reply = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            let reply = reply.ok_or(io::ErrorKind::ConnectionRefused)?;
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            tokio::spawn(answer(reply, theirs));
            Ok(Line { stream: Box::new(ours), peer: to })
        })
    }
}

/// The provider. Nothing else happens while a piece is on its way: the virtual clock moves on only once
/// everybody has done what there was to do.
async fn answer(reply: Reply, mut line: DuplexStream) -> io::Result<()> {
    hear(&mut line).await?;
    for (number, piece) in reply.pieces.iter().enumerate() {
        if reply.apart && number > 0 {
            Time::pause(Duration::from_millis(1)).await;
        }
        line.write_all(piece).await?;
    }
    if reply.then != Then::HangUp {
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// Reads a whole request.
async fn hear(line: &mut DuplexStream) -> io::Result<()> {
    let mut heard = Vec::new();
    loop {
        line.read_buf(&mut heard).await?;
        let text = String::from_utf8_lossy(&heard).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Ok(());
        }
    }
}
