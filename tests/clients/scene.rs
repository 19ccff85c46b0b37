//! The scene of a script: a gateway with text models on several providers, several API keys, and the answers to the
//! script's questions about money, requests and the providers' records.

use std::time::{Duration, Instant};

use gatehouse_harness::{Caller, Gateway, Setup, pause, until};
use gatehouse_sandbox::Sandbox;
use gatehouse_sandbox::text::{Received, TextRecord};
use serde_json::{Map, Value, json};

use crate::gateways::{setup, usual_sandbox};

/// How long a condition may take to become true.
const PATIENCE: Duration = Duration::from_secs(60);

/// Providers by name, and their accounts. Failures have providers of their own: a failed account is paused, and another
/// check must not wait for it. Every account of the crowded provider makes one call at a time.
const PROVIDERS: &[(&str, &[&str])] = &[
    ("plain", &["main"]),
    ("crowded", &["main"]),
    ("limited", &["main"]),
    ("failing", &["main"]),
    ("distrusted", &["main"]),
    ("cut", &["main"]),
    ("lone", &["main"]),
    ("lone-2", &["main"]),
    ("spared", &["first", "second"]),
];

/// Messages models: id, the provider's name for it, and its rules.
const CLAUDES: &[(&str, &str, &str)] = &[
    (
        "lm-opus-4-5-20251101",
        "claude-opus-4-5-20251101",
        "max_output = 64000, sampling = \"either\", thinking = [\"enabled\"], prefill = true",
    ),
    ("lm-opus-4-6", "claude-opus-4-6", BOTH_KINDS),
    ("lm-sonnet-4-6", "claude-sonnet-4-6", BOTH_KINDS),
    ("lm-opus-4-7", "claude-opus-4-7", ADAPTIVE),
    ("lm-opus-4-8", "claude-opus-4-8", ADAPTIVE),
];
const BOTH_KINDS: &str = "max_output = 128000, sampling = \"either\", thinking = [\"enabled\", \"adaptive\"]";
const ADAPTIVE: &str = "max_output = 128000, sampling = \"none\", thinking = [\"adaptive\"]";

/// A gateway, its providers, and its API keys.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) sandbox: Sandbox,
    keys: Map<String, Value>,
}

impl Scene {
    /// Starts all of it, with `more` configuration.
    pub(crate) async fn start(more: &str) -> Self {
        let sandbox = usual_sandbox().await;
        let setup = setup(&sandbox).with("[server.limits]\nkeep_alive_seconds = 1\n\n[text]\nhead_s = 1\n\n");
        let gateway = Gateway::start(with_models(setup, &sandbox).with(more)).await;
        let mut scene = Self { gateway, sandbox, keys: Map::new() };
        let main = scene.gateway.open_account("main", "1000").await;
        scene.keep("main", &main);
        let other = scene.gateway.open_account("other", "1000").await;
        scene.keep("other", &other);
        let poor = scene.gateway.open_account("poor", "0.000001").await;
        scene.keep("poor", &poor);
        let narrow = scene.gateway.make_key("main", &["--unlimited", "--model", "ctx-pro"]).await;
        scene.keep("narrow", &narrow);
        let bare = scene.gateway.make_key("main", &["--unlimited", "--chat-format", "bare"]).await;
        scene.keep("bare", &bare);
        scene
    }

    /// Nothing that a client sent was refused. A framework may swallow a refusal and go another way, and nobody would see it.
    /// A HEAD asks for nothing: Claude Code looks with one whether anybody answers.
    pub(crate) fn expect_no_refusals(&self, client: &str) {
        let log = self.gateway.log_text();
        let refused: Vec<&str> =
            log.lines().filter(|line| line.contains(" status=4") && !line.contains(" method=HEAD")).collect();
        assert!(
            refused.is_empty(),
            "{client}: {} requests were refused:\n{}",
            refused.len(),
            refused.join("\n")
        );
    }

    fn keep(&mut self, name: &str, caller: &Caller) {
        self.keys.insert(name.to_owned(), caller.secret().into());
    }

    /// A key's text.
    pub(crate) fn key(&self, name: &str) -> &str {
        self.keys[name].as_str().expect("a key")
    }

    /// The parameters of a script.
    pub(crate) fn parameters(&self, set: &str) -> Value {
        json!({
            "gateway": format!("http://{}", self.gateway.public),
            "keys": self.keys,
            "set": set.split_once('-').map_or(set, |(_, age)| age),
        })
    }

    /// Answers a script's question.
    pub(crate) async fn answer(&self, question: &Value) -> Value {
        let text = |name: &str| question[name].as_str().unwrap_or_else(|| panic!("{name} in {question}"));
        match text("ask") {
            "settled" => self.gateway.account_without_holds(text("name")).await,
            "release" => {
                let held = question["held"].as_u64().unwrap_or(0);
                until("answers are held up", async || self.held() >= held).await;
                self.sandbox.release();
                json!({})
            }
            "record" => {
                let record = self.record(text("wire"));
                let since = question["since"].as_u64().unwrap_or(0);
                let requests = record.requests.iter().filter(|request| request.number >= since).map(shown);
                json!({ "count": record.count, "requests": requests.collect::<Vec<_>>() })
            }
            "requests" => self.requests(text("surface"), question).await,
            other => panic!("unknown question {other:?}"),
        }
    }

    pub(crate) fn record(&self, wire: &str) -> TextRecord {
        match wire {
            "messages" => self.sandbox.messages_record(),
            "chat" => self.sandbox.chat_record(),
            other => panic!("no provider of protocol {other:?}"),
        }
    }

    pub(crate) fn held(&self) -> u64 {
        (self.sandbox.messages_record().held + self.sandbox.chat_record().held) as u64
    }

    /// Requests of a surface by status, those in `above` taken off, once there are `until` of them: a
    /// request is counted when its answer has left, which its client may see first.
    async fn requests(&self, surface: &str, question: &Value) -> Value {
        let start = Instant::now();
        loop {
            let text = self.gateway.metrics().await;
            let mut counts = Map::new();
            for line in text.lines().filter(|line| line.starts_with("gatehouse_http_requests_total{")) {
                let label = |name: &str| line.split(&format!("{name}=\"")).nth(1)?.split('"').next();
                let (Some(status), true) = (label("status"), label("surface") == Some(surface)) else {
                    continue;
                };
                let count = line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
                let count = count - question["above"][status].as_u64().unwrap_or(0);
                if count > 0 {
                    counts.insert(status.to_owned(), count.into());
                }
            }
            let all: u64 = counts.values().filter_map(Value::as_u64).sum();
            if all >= question["until"].as_u64().unwrap_or(0) || start.elapsed() > PATIENCE {
                return counts.into();
            }
            pause().await;
        }
    }
}

/// Adds providers, accounts and models.
fn with_models(mut setup: Setup, sandbox: &Sandbox) -> Setup {
    let wires = [
        ("anthropic", &sandbox.messages().origin, "{ header = \"x-api-key\" }"),
        ("openai", &sandbox.chat().origin, "\"bearer\""),
    ];
    for (wire, origin, auth) in wires {
        for (name, accounts) in PROVIDERS {
            let limit = if *name == "crowded" { 1 } else { 64 };
            setup = setup.with_provider(&format!("{wire}-{name}"), origin, auth, limit, accounts);
        }
        // Its clients that leave pay what the provider counts (row 10); those of the others what was written.
        setup = setup.with(&format!("[providers.{wire}-plain]\ndrain_cancelled = true\n\n"));
    }
    let model = |setup: Setup, id: &str, provider: &str, protocol: &str, upstream: &str, rules: &str| {
        let more = format!("aliases = [\"{id}-thinking\"]\nrules = {{ {rules} }}\n");
        setup.with_model(id, provider, protocol, upstream, &more)
    };
    for (id, upstream, rules) in CLAUDES {
        setup = model(setup, id, "anthropic-plain", "messages", upstream, rules);
    }
    for (id, rules) in [
        ("gpt-sim", ""),
        ("gpt-sim-reasoning", "thinking = [\"enabled\", \"adaptive\"]"),
        ("clone-sim", "max_tokens_field = \"max_tokens\""),
    ] {
        setup = model(setup, id, "openai-plain", "chat", id, rules);
    }
    setup = setup.with_model("embed-sim", "openai-plain", "chat", "embed-sim", "kind = \"embedding\"\n");
    // The names that recipes have, which are those of sandbox mode.
    setup = model(setup, "sim-chat", "openai-plain", "chat", "gpt-sim", "max_output = 16384");
    setup = setup.with_model("sim-embed", "openai-plain", "chat", "embed-sim", "kind = \"embedding\"\n");
    // Models whose operator knows their limit: agents ask for more than small models write.
    setup = model(setup, "gpt-agent", "openai-plain", "chat", "gpt-sim", "max_output = 16384");
    let rules = "max_output = 8192, max_tokens_field = \"max_tokens\"";
    setup = model(setup, "clone-agent", "openai-plain", "chat", "clone-sim", rules);
    for (name, _) in &PROVIDERS[1..] {
        let (claude, rules) = (format!("lm-{name}"), "thinking = [\"enabled\"]");
        setup = model(setup, &claude, &format!("anthropic-{name}"), "messages", "claude-sonnet-4-6", rules);
        setup = model(setup, &format!("gpt-{name}"), &format!("openai-{name}"), "chat", "gpt-sim", "");
    }
    setup
}

/// A provider's request as a script reads it: headers by name, the body as JSON.
fn shown(request: &Received) -> Value {
    let body = request.body.as_deref().unwrap_or_default();
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    json!({
        "path": request.path,
        "headers": headers,
        "body": serde_json::from_slice::<Value>(body).unwrap_or(Value::Null),
        "text": String::from_utf8_lossy(body),
        "status": request.status,
        "usage": request.usage,
        "finished": request.finished,
        "hung_up": request.hung_up,
    })
}
