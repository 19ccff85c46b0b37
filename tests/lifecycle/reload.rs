//! The configuration read again while requests run: no request fails, a task keeps its price, secrets are read again,
//! and an error in the file changes nothing.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, run, until};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

use crate::gateways;
use crate::lifecycle::{request, setting, setup};

const IMAGES: &str = "/v1/images/generations";
const PRICE: &str = "[prices]\n\"ctx-pro\" = \"4\"\n\n";

fn settings() -> Settings {
    let keys = vec!["sandbox-key".to_owned(), "second-key".to_owned()];
    Settings { keys, ..gateways::settings(Duration::from_millis(20)) }
}

/// SIGHUP; returns once the log says that many times what became of it.
async fn hang_up(gateway: &Gateway, words: &str, times: usize) {
    gateway.signal("-HUP").await;
    until(words, async || gateway.log_text().matches(words).count() >= times).await;
}

async fn end_of(caller: &Caller, task: &str) -> Value {
    let task = caller.end_of(task).await;
    assert_eq!(task["status"], "completed", "{task}");
    task
}

/// Images, texts and streams without a pause, until `over`; the tasks.
async fn load(caller: Caller, answered: Arc<AtomicUsize>, over: Arc<AtomicBool>) -> Vec<String> {
    let mut tasks = Vec::new();
    let text = |stream: bool| json!({"model": "over-chat", "stream": stream, "messages": [{"role": "user", "content": "hi"}]});
    while !over.load(Ordering::SeqCst) {
        let image = caller.post(IMAGES, &request(&format!("kite {}", tasks.len()))).await;
        tasks.push(image.task_id());
        let whole = caller.post("/v1/chat/completions", &text(false)).await;
        assert_eq!(whole.status, 200, "{}", whole.text());
        let stream = caller.post("/v1/chat/completions", &text(true)).await;
        assert!(stream.status == 200 && stream.text().contains("[DONE]"), "{}", stream.text());
        answered.fetch_add(3, Ordering::SeqCst);
    }
    tasks
}

#[test]
fn prices_and_providers_change_under_load_and_no_request_fails() {
    run(async {
        let (first, second) = (Sandbox::start(settings()).await, Sandbox::start(settings()).await);
        let (first, second) = (first.expect("a sandbox"), second.expect("a sandbox"));
        let (a, b) = (first.context(), second.context());
        // A task ends at the provider that took it: both are known all the time, and `base_url` says where new ones go.
        let more = format!(
            "{PRICE}[providers.bfl]\norigins = [\"{}\", \"{}\", \"{}\", \"{}\"]\nmedia_origins = [\"{}\", \"{}\"]\n\n\
             [providers.chat-even]\nbase_url = \"{}\"\nauth = \"bearer\"\n\n\
             [providers.chat-even.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [models.\"over-chat\"]\nprovider = \"chat-even\"\nprotocol = \"chat\"\nupstream = \"gpt-sim\"\n\
             prices = {{ input = \"2\", output = \"5\" }}\n\n",
            a.submit,
            b.submit,
            a.poll,
            b.poll,
            a.delivery,
            b.delivery,
            first.chat().origin
        );
        let gateway = Gateway::start(setup(&first).with(&more)).await;
        let caller = gateway.open_account("acme", "1000000").await;
        let even = gateway.config();
        let odd = even
            .replace(&format!("base_url = \"{}\"", a.submit), &format!("base_url = \"{}\"", b.submit))
            .replace("\"ctx-pro\" = \"4\"", "\"ctx-pro\" = \"5\"")
            // The provider and its only model change together.
            .replace("chat-even", "chat-odd")
            .replace(&first.chat().origin, &second.chat().origin);
        let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let clients: Vec<_> = (0..4)
            .map(|_| tokio::spawn(load(caller.clone(), Arc::clone(&answered), Arc::clone(&over))))
            .collect();
        let rounds = setting("GATEHOUSE_RELOADS", 6);
        for round in 1..=rounds {
            let config = if round % 2 == 0 { &even } else { &odd };
            if round % 3 == 0 {
                gateway.set_config(config);
                hang_up(&gateway, "configuration reloaded", round).await;
            } else {
                let result = gateway.reload(config).await;
                let gone = if round % 2 == 0 { "providers.chat-odd" } else { "providers.chat-even" };
                let changed = result["changed"].as_array().expect("a list");
                for key in ["prices.ctx-pro", "providers.bfl.base_url", "models.over-chat.provider", gone] {
                    assert!(changed.contains(&json!(key)), "{key}: {result}");
                }
                assert_eq!(result["needs_restart"], json!([]), "{result}");
            }
            let before = answered.load(Ordering::SeqCst);
            until("requests go on", async || {
                answered.load(Ordering::SeqCst) >= before + 24
                    || clients.iter().any(|client| client.is_finished())
            })
            .await;
        }
        over.store(true, Ordering::SeqCst);
        let mut costs = std::collections::BTreeMap::new();
        for client in clients {
            for task in client.await.expect("no request failed") {
                *costs.entry(end_of(&caller, &task).await["cost"].to_string()).or_insert(0) += 1;
            }
        }
        println!(
            "{rounds} reloads, {} requests, 0 failed; tasks by cost: {costs:?}",
            answered.load(Ordering::SeqCst)
        );
        assert_eq!(costs.keys().collect::<Vec<_>>(), ["4", "5"], "each at the price of its submission");
        for sandbox in [&first, &second] {
            assert!(!sandbox.context_record().submits.is_empty());
        }
        gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_task_keeps_the_price_of_its_submission() {
    run(async {
        // The provider's time stands still, so no job ends before it is to.
        let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
        let now = Arc::clone(&clock);
        let sandbox = Sandbox::start(settings().with_now(move || now.load(Ordering::SeqCst))).await;
        let sandbox = sandbox.expect("a sandbox");
        let gateway = Gateway::start(setup(&sandbox).with(PRICE)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let submit = async |prompt: &str| caller.post(IMAGES, &request(prompt)).await.task_id();
        let early = submit("before").await;
        let dearer = gateway.config().replace("\"ctx-pro\" = \"4\"", "\"ctx-pro\" = \"5.5\"");
        assert_eq!(gateway.reload(&dearer).await["changed"], json!(["prices.ctx-pro"]));
        let late = submit("after").await;
        assert_eq!(gateway.account("acme").await["reserved"], 9_500_000, "both holds, each at its price");
        clock.fetch_add(60_000, Ordering::SeqCst);
        assert_eq!(end_of(&caller, &early).await["cost"], 4);
        assert_eq!(end_of(&caller, &late).await["cost"], 5.5);
        let account = gateway.settled_account(&caller, "acme").await;
        assert_eq!((&account["spent"], &account["reserved"]), (&json!(9_500_000), &json!(0)));
        gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_secret_is_read_again_and_a_restart_is_named_where_it_is_needed() {
    run(async {
        let sandbox = Sandbox::start(settings()).await.expect("a sandbox");
        let gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let image = async |prompt: &str| {
            let task = caller.post(IMAGES, &request(prompt)).await.task_id();
            end_of(&caller, &task).await;
        };
        image("with the first").await;
        fs::write(gateway.folder().join("secret"), "second-key\n").expect("a secret");
        let result = gateway.json(&["reload"]).await;
        let named = json!(["providers.bfl.accounts.main.secret has another value"]);
        assert_eq!((&result["accounts"], &result["changed"]), (&named, &json!([])));
        assert!(!result.to_string().contains("second-key") && !gateway.log_text().contains("second-key"));
        image("with the second").await;
        let accounts: Vec<usize> =
            sandbox.context_record().submits.iter().map(|submit| submit.account).collect();
        assert_eq!(accounts, [0, 1]);

        let config = gateway
            .config()
            .replace("listen = \"127.0.0.1:0\"\n\n[admin]", "listen = \"127.0.0.1:1\"\n\n[admin]")
            + "\n[plugins]\nthreads = 3\nrequire_signature = false\n\n[plugins.limits]\nmemory_mib = 4000\n\n[prices]\nkite = \"1\"\n";
        gateway.set_config(&config);
        let text = gateway.command(&["reload"]).await;
        for line in [
            "reloaded",
            "  changed: prices.kite",
            "  needs a restart: plugins.threads",
            "  needs a restart: server.listen",
            "  needs a restart: plugins.limits.memory_mib",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let again = gateway.json(&["reload"]).await;
        assert_eq!(again["changed"], json!([]), "{again}");
        assert_eq!(
            again["needs_restart"].as_array().map(Vec::len),
            Some(3),
            "named until it is done: {again}"
        );
        image("still served").await;
    });
}

#[test]
fn an_error_in_the_file_changes_nothing() {
    run(async {
        let sandbox = Sandbox::start(settings()).await.expect("a sandbox");
        let mut gateway = Gateway::start(setup(&sandbox).with(PRICE)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let good = gateway.config();
        let line_of = |config: &str, words: &str| {
            config.lines().position(|line| line.contains(words)).expect("the line") + 1
        };
        let spoiled = good
            .replace("\"ctx-pro\" = \"4\"", "\"ctx-pro\" = \"9\"\n\"ctx-max\" = \"-1\"")
            .replace("[server]\n", "[server]\nlisen = \"127.0.0.1:1\"\n");
        let secretless = good.replace("\"ctx-pro\" = \"4\"", "\"ctx-pro\" = \"9\"").replace(
            &gateway.folder().join("secret").display().to_string(),
            &gateway.folder().join("no-secret").display().to_string(),
        );
        // What needs a restart is checked, too, and would be shown to viewers.
        let own_part = good.split("\n[data]\n").next().expect("a configuration");
        let database = format!("{own_part}\n[data]\nurl = \"postgres://me:hunter2@host/db\"\n");
        let proxy = format!("{good}\n[outgoing]\nproxy = \"http://me:hunter2@host\"\n");
        let cases: [(&str, &[(&str, &str)]); 5] = [
            // Every error of a kind at once.
            (
                &spoiled,
                &[("lisen", "did you mean `listen`?"), ("\"-1\"", "expected zero or more credits, not -1")],
            ),
            (&secretless, &[("no-secret", "remedy: ")]),
            ("[prices\n", &[("[prices", "check the quotes, brackets")]),
            (&database, &[("hunter2", "data.url: a password is never written")]),
            (&proxy, &[("hunter2", "outgoing.proxy: expected no login in the address")]),
        ];
        let mut refused = 0;
        for (config, expected) in cases {
            gateway.set_config(config);
            let (code, text) = gateway.refused(&["reload"]).await;
            assert_eq!(code, Some(2), "{text}");
            refused += 1;
            // The command line refuses some of it before it asks the gateway.
            let told = "configuration not reloaded; nothing has changed";
            let before = gateway.log_text().matches(told).count();
            hang_up(&gateway, told, before + 1).await;
            let log = gateway.log_text();
            for (words, remedy) in expected {
                let at = format!("gatehouse.toml:{}:", line_of(config, words));
                assert!(log.contains(&at) && log.contains(remedy), "{at} {remedy}: {log}");
                assert!(text.contains(remedy), "{remedy}: {text}");
                // The command line looks for its store first, and knows no line of it.
                assert!(text.contains(&at) || config == database, "{at}: {text}");
            }
            let shown = gateway.viewer().get("/admin/v1/config").await.text();
            for text in [text, log, shown] {
                assert!(!text.contains("hunter2"), "{text}");
            }
            let task = caller.post(IMAGES, &request(&format!("kite {refused}"))).await.task_id();
            assert_eq!(end_of(&caller, &task).await["cost"], 4);
        }
        assert_eq!(gateway.reload(&good).await["changed"], json!([]), "nothing of it was taken over");
        gateway.terminate().await;
        let (code, text) = gateway.refused(&["reload"]).await;
        assert!(code == Some(1) && text.contains("no gateway runs"), "{text}");
    });
}

/// The models of a list, in either client's shape.
async fn listed(caller: &Caller, headers: &[(&str, &str)]) -> Vec<String> {
    let list = caller.send("GET", "/v1/models", headers, "").await.json();
    let models = list["data"].as_array().expect("a list").iter();
    models.map(|model| model["id"].as_str().expect("an id").to_owned()).collect()
}

/// Without it half of the models of a new gateway are listed, give a receipt, and fail later with words that help nobody.
#[test]
fn a_model_is_served_once_its_provider_has_an_account() {
    run(async {
        let sandbox = Sandbox::start(settings()).await.expect("a sandbox");
        let gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let image = json!({"model": "imagine-1.5-gw", "prompt": "a kite"});
        let messages = json!([{"role": "user", "content": "hi"}]);
        let text = json!({"model": "lm-opus-4-8", "max_tokens": 9, "messages": messages});
        let response = json!({"model": "lm-opus-4-8", "input": "hi"});
        let requests = [
            (IMAGES, &image),
            ("/v1/chat/completions", &text),
            ("/v1/messages", &text),
            ("/v1/responses", &response),
        ];
        let pages: [&[(&str, &str)]; 2] = [&[], &[("anthropic-version", "2023-06-01")]];
        for (path, body) in requests {
            for streamed in [false, true] {
                let mut body = body.clone();
                if streamed && path != IMAGES {
                    body["stream"] = true.into();
                }
                let answer = caller.post(path, &body).await;
                let (again, when) = (answer.header("x-should-retry"), answer.header("retry-after"));
                // Agents that speak responses repeat every 5xx.
                let status = if path == "/v1/responses" { 403 } else { 503 };
                assert_eq!((answer.status, again, when), (status, "false", ""), "{path}: {}", answer.text());
                assert!(answer.message().contains("no account at its provider"), "{path}: {}", answer.text());
                assert!(!answer.text().contains("accounts.main"), "the remedy is the operator's");
            }
        }
        assert!(gateway.log_text().contains("[providers.xai.accounts.main]"));
        for headers in pages {
            let models = listed(&caller, headers).await;
            assert!(models.iter().any(|model| model == "ctx-pro"), "{models:?}");
            assert!(
                !models.iter().any(|model| model == "imagine-1.5-gw" || model.starts_with("lm-")),
                "{models:?}"
            );
        }
        assert_eq!(caller.get("/v1/models/imagine-1.5-gw").await.status, 404);
        let document = caller.get("/v1/openapi.json").await.text();
        assert!(document.contains("ctx-pro") && !document.contains("imagine-1.5-gw"));

        let secret = gateway.folder().join("secret").display().to_string();
        let account =
            |name: &str| format!("\n[providers.{name}.accounts.main]\nsecret = {{ file = \"{secret}\" }}\n");
        gateway.reload(&(gateway.config() + &account("xai") + &account("anthropic"))).await;
        for headers in pages {
            let models = listed(&caller, headers).await;
            assert!(
                ["imagine-1.5-gw", "lm-opus-4-8"].iter().all(|new| models.iter().any(|model| model == new)),
                "{models:?}"
            );
        }
        for (path, body) in requests {
            let mut body = body.clone();
            body["dry_run"] = true.into();
            let answer = caller.post(path, &body).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        }
        let document = caller.get("/v1/openapi.json").await.text();
        assert!(document.contains("imagine-1.5-gw"));
    });
}
