//! Text, whole and streamed: CPU of the gateway for each request, and the time it adds to a request that is sent
//! to the provider itself over as many connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use crate::arguments::{Arguments, Protocol};
use crate::gateway::{BenchGateway, pause};
use crate::http1;
use crate::image_provider::Jobs;
use crate::load::Load;
use crate::report::{self, line, mebibytes, micros};
use crate::text_provider::{EVENTS, TextProvider};

/// Connections when nobody says how many: alone, and in company.
const CONNECTIONS: [usize; 2] = [1, 16];
const WARM: usize = 500;

/// A provider of text and a gateway in front of it.
pub(super) struct TextSetup {
    pub(super) gateway: BenchGateway,
    pub(super) provider: TextProvider,
    client: Protocol,
}

impl TextSetup {
    pub(super) async fn start(arguments: &Arguments, closed: bool) -> Self {
        Self::with(arguments, closed, "").await
    }

    /// With more configuration.
    pub(super) async fn with(arguments: &Arguments, closed: bool, more: &str) -> Self {
        let provider = TextProvider::start(closed);
        let (protocol, origin) = (arguments.provider.word(), provider.address);
        let more = format!(
            "[server.limits]\nrequests_per_key = 20000\nconnections_per_ip = 20000\nconnections = 20000\n\n\
             [plugins]\nstreams = 4096\n\n\
             [providers.writer]\nbase_url = \"http://{origin}\"\nauth = \"bearer\"\nconcurrency = 20000\n\n\
             [providers.writer.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [models.bench]\nprovider = \"writer\"\nprotocol = \"{protocol}\"\nupstream = \"bench\"\n\
             prices = {{ input = \"2\", output = \"5\" }}\n\n{more}"
        );
        let gateway = BenchGateway::with(arguments, 1, Jobs::Endless, Duration::from_secs(3600), &more).await;
        Self { gateway, provider, client: arguments.client }
    }

    /// Sends `body` through the gateway.
    pub(super) async fn through(&self, connections: usize, count: usize, body: &Bytes) -> Load {
        self.load(self.gateway.harness.public, connections, count, body).await
    }

    /// Sends it to the provider itself.
    async fn beside(&self, connections: usize, count: usize, body: &Bytes) -> Load {
        self.load(self.provider.address, connections, count, body).await
    }

    async fn load(&self, address: SocketAddr, connections: usize, count: usize, body: &Bytes) -> Load {
        let request = http1::post(self.client.path(), "gate.test", &self.gateway.caller.bearer(), body);
        Load::run(address, connections, count, Arc::new(move |_| request.clone())).await
    }
}

/// A request of usual size: a system prompt and a short conversation.
pub(super) fn body(stream: bool) -> Bytes {
    let said = |role: &str, words: &str| json!({ "role": role, "content": words });
    let body = json!({
        "model": "bench",
        "max_tokens": 256,
        "stream": stream,
        "messages": [
            said("user", "You keep a lighthouse and answer in one short sentence. Who are you?"),
            said("assistant", "I keep the light on the northern rock."),
            said("user", "When is the lamp lit, and when does it go out? Say it in words a child understands."),
        ],
    });
    body.to_string().into()
}

/// Requests answered whole.
pub(crate) async fn whole(arguments: &Arguments) {
    rounds(arguments, 20_000, &body(false), false).await;
}

/// Requests answered by a stream.
pub(crate) async fn streamed(arguments: &Arguments) {
    line("events of text in each stream", EVENTS);
    rounds(arguments, 5_000, &body(true), true).await;
}

async fn rounds(arguments: &Arguments, usual: usize, body: &Bytes, streamed: bool) {
    let count = arguments.count(usual);
    let setup = TextSetup::start(arguments, false).await;
    let alone = arguments.connections(0);
    let wanted: &[usize] = if alone == 0 { &CONNECTIONS } else { &[alone] };
    for &connections in wanted {
        setup.through(connections, WARM, body).await;
        setup.beside(connections, WARM, body).await;
        pause(Duration::from_millis(500)).await;
        let (server, before) = (setup.gateway.server_cpu(), setup.gateway.process().cpu());
        let through = setup.through(connections, count, body).await;
        pause(Duration::from_millis(500)).await;
        let cpu = setup.gateway.process().cpu().since(&before);
        let server = setup.gateway.server_cpu().saturating_sub(server);
        let beside = setup.beside(connections, count, body).await;
        line("connections", connections);
        line("requests through the gateway", through.rate());
        report::cpu("each request", &cpu, count);
        if arguments.server.is_some() {
            line("CPU of the database's server, each", micros(report::each(server, count)));
        }
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            let added = through.quantile(share).saturating_sub(beside.quantile(share));
            line(&format!("answer {name}, added by the gateway"), micros(added));
            if streamed {
                let added = through.first(share).saturating_sub(beside.first(share));
                line(&format!("first event {name}, added"), micros(added));
            }
        }
    }
    setup.gateway.harness.expect_sound_ledger().await;
}

/// Requests with a body of 4 MiB, nearly all of it one text.
pub(crate) async fn large(arguments: &Arguments) {
    let count = arguments.count(200);
    let setup = TextSetup::start(arguments, false).await;
    let connections = arguments.connections(2);
    setup.through(connections, 100, &body(false)).await;
    pause(Duration::from_millis(500)).await;
    let idle = setup.gateway.process().resident();
    let words: String = "the sea was \"calm\" that night,\n".chars().cycle().take(4_000_000).collect();
    let large = json!({ "model": "bench", "max_tokens": 256, "stream": false,
        "messages": [{ "role": "user", "content": words }] });
    let large = Bytes::from(large.to_string());
    let before = setup.gateway.process().cpu();
    let load = setup.through(connections, count, &large).await;
    let cpu = setup.gateway.process().cpu().since(&before);
    line("bytes in each request", large.len());
    line("requests through the gateway", load.rate());
    line("answer p50", report::millis(load.quantile(0.5)));
    report::cpu("each request", &cpu, count);
    line("memory when idle", mebibytes(idle));
    line("memory at most, above idle", mebibytes(setup.gateway.process().peak().saturating_sub(idle)));
}
