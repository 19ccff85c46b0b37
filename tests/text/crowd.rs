//! A crowd of streams through the real listener: a thousand at once, of which some are cut by their provider, some
//! are left by their client, and all are paid for or given back.

use std::net::SocketAddr;
use std::path::Path;

use gatehouse_harness::{Caller, Gateway, Setup, run};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const STREAMS: usize = 1_000;

/// What becomes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Held up by the provider until all are open, then whole.
    Whole,
    /// Ended by the provider without its last event.
    Cut,
    /// Reset by the provider in the middle of a chunk.
    Reset,
    /// An error event of the provider's.
    Error,
    /// Left by the client while the provider holds it up.
    Left,
}

const FATES: [Fate; 6] = [Fate::Whole, Fate::Cut, Fate::Left, Fate::Reset, Fate::Whole, Fate::Error];

impl Fate {
    fn marker(self) -> &'static str {
        match self {
            Self::Whole | Self::Left => "[[stall:2]]",
            Self::Cut => "[[cut:2]]",
            Self::Reset => "[[reset:2]]",
            Self::Error => "[[error:2]]",
        }
    }
}

/// One stream as its client has it.
struct Client {
    line: TcpStream,
    seen: Vec<u8>,
    fate: Fate,
    chat: bool,
}

impl Client {
    async fn open(address: SocketAddr, caller: &Caller, number: usize) -> Self {
        let fate = FATES[number % FATES.len()];
        let chat = number.is_multiple_of(2) == (number % 12 < 6);
        let content = format!("{} stream number {number} of many", fate.marker());
        // Each client protocol over each provider protocol.
        let model = if number % 4 < 2 { "crowd-messages" } else { "crowd-chat" };
        let body = json!({"model": model, "max_tokens": 500, "stream": true,
            "messages": [{"role": "user", "content": content}]});
        let path = if chat { "/v1/chat/completions" } else { "/v1/messages" };
        let (bearer, body) = (caller.bearer(), body.to_string());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: gate.test\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut line = TcpStream::connect(address).await.expect("a connection");
        line.write_all(request.as_bytes()).await.expect("taken");
        Self { line, seen: Vec::new(), fate, chat }
    }

    /// Reads until the model has written something, or the stream is over.
    async fn read_some(&mut self) {
        let written: &[u8] = if self.chat { b"\"content\":\"" } else { b"text_delta" };
        // The first chunk of a chat names the role beside an empty text.
        let times = if self.chat { 2 } else { 1 };
        while self.count(written) < times && self.read().await {}
    }

    async fn read(&mut self) -> bool {
        self.line.read_buf(&mut self.seen).await.expect("the gateway ends its answers in order") > 0
    }

    fn count(&self, what: &[u8]) -> usize {
        self.seen.windows(what.len()).filter(|window| *window == what).count()
    }

    /// Reads to the end and says what is wrong with it.
    async fn verdict(mut self) -> Option<String> {
        while self.read().await {}
        let (last, error): (&[u8], &[u8]) = if self.chat {
            (b"data: [DONE]", b"\"error\":")
        } else {
            (b"event: message_stop", b"event: error")
        };
        let ends = (self.count(last), self.count(error));
        let expected = if self.fate == Fate::Whole { (1, 0) } else { (0, 1) };
        let wrong =
            !self.seen.starts_with(b"HTTP/1.1 200") || ends != expected || !self.seen.ends_with(b"0\r\n\r\n");
        wrong.then(|| format!("{:?}, chat {}: {}", self.fate, self.chat, String::from_utf8_lossy(&self.seen)))
    }
}

fn tables(sandbox: &Sandbox) -> String {
    let provider = |name: &str, origin: &str, auth: &str| {
        format!(
            "[providers.{name}]\nbase_url = \"{origin}\"\nauth = {auth}\nconcurrency = 5000\n\n\
             [providers.{name}.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n"
        )
    };
    let model = |id: &str, provider: &str, protocol: &str, upstream: &str| {
        format!(
            "[models.\"{id}\"]\nprovider = \"{provider}\"\nprotocol = \"{protocol}\"\nupstream = \"{upstream}\"\n\
             prices = {{ input = \"2\", output = \"5\" }}\n\n"
        )
    };
    [
        "[text]\ndrain_s = 1\n\n".to_owned(),
        "[server.limits]\nrequests_per_key = 5000\nconnections_per_ip = 5000\nconnections = 6000\n\n"
            .to_owned(),
        provider("crowd-a", &sandbox.messages().origin, "{ header = \"x-api-key\" }"),
        provider("crowd-b", &sandbox.chat().origin, "\"bearer\""),
        model("crowd-messages", "crowd-a", "messages", "claude-sonnet-4-6"),
        model("crowd-chat", "crowd-b", "chat", "gpt-sim"),
    ]
    .concat()
}

/// KiB of memory a process holds.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.expect("a running process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_thousand_streams_leak_no_hold() {
    run(async {
        let sandbox = Sandbox::start(Settings::default()).await.expect("a sandbox");
        let context = serde_json::to_value(sandbox.context()).expect("addresses");
        let house =
            Gateway::start(Setup::new(env!("CARGO_BIN_EXE_gatehouse"), &context).with(&tables(&sandbox)))
                .await;
        let caller = house.open_account("crowd", "100000").await;
        let before = resident(house.pid());
        let mut clients = Vec::with_capacity(STREAMS);
        for number in 0..STREAMS {
            clients.push(Client::open(house.public, &caller, number).await);
        }
        for client in &mut clients {
            client.read_some().await;
        }
        let grown = resident(house.pid()).saturating_sub(before);
        let held = clients.iter().filter(|client| matches!(client.fate, Fate::Whole | Fate::Left)).count();
        println!("{held} streams held open: {} KiB each", grown / held as u64);
        let (left, rest): (Vec<_>, Vec<_>) =
            clients.into_iter().partition(|client| client.fate == Fate::Left);
        let leaving = left.len();
        drop(left);
        // Whoever was left is read on for a second and then given up; the others go on.
        let mut account = house.account("crowd").await;
        while sandbox.messages_record().held + sandbox.chat_record().held > held - leaving {
            account = house.account("crowd").await;
        }
        assert_ne!(account["reserved"], 0, "the others are still paid for in advance");
        sandbox.release();
        let mut wrong = Vec::new();
        for client in rest {
            wrong.extend(client.verdict().await);
        }
        assert!(wrong.is_empty(), "{} of {STREAMS}, the first:\n{}", wrong.len(), wrong[0]);
        while account["reserved"] != 0 {
            account = house.account("crowd").await;
        }
        assert_ne!(account["spent"], 0, "{account}");
        house.expect_sound_ledger().await;
    });
}
