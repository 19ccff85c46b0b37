//! A thousand streams at once through the real listener. Providers cut some, clients leave some, and every hold is settled
//! or released.

use gatehouse_harness::{Caller, Connection, Gateway, run_load};
use serde_json::json;

use crate::gateways::{setup, usual_sandbox};

const STREAMS: usize = 1_000;

/// How a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Held up by the provider until all are open, then whole.
    Whole,
    /// Ended by the provider without its last event.
    Cut,
    /// Reset by the provider in the middle of a chunk.
    Reset,
    /// An error event of the provider's.
    Error,
    /// The client leaves it while the provider holds it up.
    Left,
}

const OUTCOMES: [Outcome; 6] =
    [Outcome::Whole, Outcome::Cut, Outcome::Left, Outcome::Reset, Outcome::Whole, Outcome::Error];

impl Outcome {
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
    connection: Connection,
    outcome: Outcome,
    chat: bool,
}

impl Client {
    async fn open(caller: &Caller, number: usize) -> Self {
        let outcome = OUTCOMES[number % OUTCOMES.len()];
        let chat = number.is_multiple_of(2) == (number % 12 < 6);
        let content = format!("{} stream number {number} of many", outcome.marker());
        // Each client protocol over each provider protocol.
        let model = if number % 4 < 2 { "mass-messages" } else { "mass-chat" };
        let body = json!({"model": model, "max_tokens": 500, "stream": true,
            "messages": [{"role": "user", "content": content}]});
        let path = if chat { "/v1/chat/completions" } else { "/v1/messages" };
        let connection = caller.begin(&[("connection", "close")], path, &body).await;
        Self { connection, outcome, chat }
    }

    /// Reads until the model has written something, or the stream is over.
    async fn read_some(&mut self) {
        let written: &[u8] = if self.chat { b"\"content\":\"" } else { b"text_delta" };
        // The first chunk of a chat names the role beside an empty text.
        let times = if self.chat { 2 } else { 1 };
        while self.count(written) < times && self.connection.fill().await {}
    }

    fn seen(&self) -> &[u8] {
        self.connection.ahead()
    }

    fn count(&self, what: &[u8]) -> usize {
        self.seen().windows(what.len()).filter(|window| *window == what).count()
    }

    /// Reads to the end; what is wrong with it, if anything.
    async fn check(mut self) -> Option<String> {
        while self.connection.fill().await {}
        let (last, error): (&[u8], &[u8]) = if self.chat {
            (b"data: [DONE]", b"\"error\":")
        } else {
            (b"event: message_stop", b"event: error")
        };
        let ends = (self.count(last), self.count(error));
        let expected = if self.outcome == Outcome::Whole { (1, 0) } else { (0, 1) };
        let wrong = !self.seen().starts_with(b"HTTP/1.1 200")
            || ends != expected
            || !self.seen().ends_with(b"0\r\n\r\n");
        wrong.then(|| {
            format!("{:?}, chat {}: {}", self.outcome, self.chat, String::from_utf8_lossy(self.seen()))
        })
    }
}

const TABLES: &str = "\
    [server.limits]\nrequests_per_key = 5000\nconnections_per_ip = 5000\nconnections = 6000\n\n";

#[test]
fn a_thousand_streams_leak_no_hold() {
    run_load(async {
        let sandbox = usual_sandbox().await;
        let setup = setup(&sandbox)
            .with(TABLES)
            .with_provider(
                "mass-a",
                &sandbox.messages().origin,
                "{ header = \"x-api-key\" }",
                5000,
                &["main"],
            )
            .with_provider("mass-b", &sandbox.chat().origin, "\"bearer\"", 5000, &["main"])
            .with_model("mass-messages", "mass-a", "messages", "claude-sonnet-4-6", "")
            .with_model("mass-chat", "mass-b", "chat", "gpt-sim", "");
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("mass", "100000").await;
        let before = gateway.memory_kib();
        let mut clients = Vec::with_capacity(STREAMS);
        for number in 0..STREAMS {
            clients.push(Client::open(&caller, number).await);
        }
        for client in &mut clients {
            client.read_some().await;
        }
        let grown = gateway.memory_kib().saturating_sub(before);
        let held =
            clients.iter().filter(|client| matches!(client.outcome, Outcome::Whole | Outcome::Left)).count();
        println!("{held} streams held open: {} KiB each", grown / held as u64);
        let (left, rest): (Vec<_>, Vec<_>) =
            clients.into_iter().partition(|client| client.outcome == Outcome::Left);
        let leaving = left.len();
        drop(left);
        // A stream whose client left is closed; the others go on.
        let mut account = gateway.account("mass").await;
        while sandbox.messages_record().held + sandbox.chat_record().held > held - leaving {
            account = gateway.account("mass").await;
        }
        assert_ne!(account["reserved"], 0, "the others still have their holds");
        sandbox.release();
        let mut wrong = Vec::new();
        for client in rest {
            wrong.extend(client.check().await);
        }
        assert!(wrong.is_empty(), "{} of {STREAMS}, the first:\n{}", wrong.len(), wrong[0]);
        let account = gateway.account_without_holds("mass").await;
        assert_ne!(account["spent"], 0, "{account}");
        gateway.expect_sound_ledger().await;
    });
}
