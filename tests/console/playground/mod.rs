//! The playground: a request in each family of a fresh gateway, as a key whose secret nobody types; and the forms of every
//! schema.

mod inputs;
mod keys;

use gatehouse_harness::{Gateway, Setup, run, send};
use serde_json::{Value, json};

use crate::console::browser::Tab;
use crate::console::scene::link;

const TEXTS: [&str; 2] = ["chat", "messages"];
const MEDIA: [&str; 6] = ["clip", "context-image", "imagine", "journey", "motion", "scene"];

async fn start() -> (Gateway, Tab) {
    let gateway = Gateway::start(Setup::sandbox_mode(env!("CARGO_BIN_EXE_gatehouse"))).await;
    let link = link(&gateway, "operator").await;
    let tab = Tab::open(link.split_once("/login").expect("a link").0).await;
    tab.log_in(&link).await;
    (gateway, tab)
}

/// The lines of the audit record about that operation, the newest first.
async fn audited(gateway: &Gateway, operation: &str) -> Vec<Value> {
    let path = format!("/admin/v1/audit?operation={operation}&limit=100");
    let answer = gateway.operator().get(&path).await;
    answer.json()["data"].as_array().expect("lines").clone()
}

#[test]
fn a_request_is_sent_in_each_family() {
    run(async {
        let (gateway, tab) = start().await;
        tab.goto("/playground").await;
        for family in TEXTS.iter().chain(&MEDIA) {
            tab.find(&format!("a[href='/playground/{family}']")).await;
        }
        for family in TEXTS {
            tab.goto(&format!("/playground/{family}")).await;
            tab.press("Dry run").await;
            tab.see("Nothing was made.").await;
            tab.click("[data-runs]").await;
            tab.see("answered").await;
            let text = tab.find("p.answer").await;
            drop(text);
            tab.see("tokens in").await;
        }
        for family in MEDIA {
            tab.goto(&format!("/playground/{family}")).await;
            tab.press("Dry run").await;
            tab.see("Nothing was made.").await;
            tab.click("[data-runs]").await;
            tab.see("completed").await;
            tab.find("img.result, video.result").await;
        }
        // Each left its line, with the key and the session, and nothing of the request.
        let lines = audited(&gateway, "sendAsKey").await;
        assert_eq!(lines.len(), TEXTS.len() + MEDIA.len(), "{lines:?}");
        for line in &lines {
            let request = &line["request"];
            assert!(request["object"].as_str().is_some_and(|object| object.starts_with("keys/")), "{line}");
            assert!(request["who"].as_str().is_some_and(|who| who.starts_with("session ")), "{line}");
            assert_eq!(request["changes"].as_array().map(Vec::len), Some(1), "{line}");
        }
        let customer = gateway.account("sandbox").await;
        assert!(customer["spent"].as_i64().is_some_and(|spent| spent > 0), "{customer}");
        tab.expect_no_problems().await;
        tab.close().await;
    });
}

#[test]
fn a_keys_rules_hold_but_for_its_networks() {
    run(async {
        let (gateway, tab) = start().await;
        let policy = ["--unlimited", "--model", "ctx-pro", "--ip", "10.9.9.9/32"];
        let key = gateway.make_key("sandbox", &policy).await;
        let page = format!("/playground/context-image?key={}", key.id());
        tab.goto(&page).await;
        tab.see("Its list of networks does not apply here.").await;
        tab.fill("#f-prompt", "a kite").await;
        tab.click("[data-runs]").await;
        tab.see("completed").await;
        tab.find("img.result").await;

        // What is wrong stands at its field.
        tab.goto(&page).await;
        tab.fill("#f-prompt", " ").await;
        tab.press("Dry run").await;
        tab.see("This request cannot be sent").await;
        tab.find("#f-prompt-problem").await;
        // And what the key may not do is refused as everywhere.
        tab.goto(&format!("/playground/imagine?key={}", key.id())).await;
        tab.click("[data-runs]").await;
        tab.see("failed").await;
        tab.see("HTTP 403").await;
        tab.press("curl").await;
        tab.see("/v1/images/generations").await;
        let text = tab.text().await;
        assert!(!text.contains(key.secret()), "the secret is nowhere");
        tab.expect_no_problems().await;
        tab.close().await;
    });
}

/// Names of the properties of a component of the document. One that has a form for each of its models begins with the model,
/// which decides the rest.
fn properties(document: &Value, component: &str) -> Vec<String> {
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let names = |schema: &Value| {
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    schemas.get(component).map_or_else(
        || {
            let forms = schemas.keys().filter(|name| name.starts_with(&format!("{component}.")));
            assert!(forms.count() > 1, "{component}");
            vec!["model".to_owned()]
        },
        names,
    )
}

#[test]
fn every_property_of_every_schema_has_a_control() {
    run(async {
        let (gateway, tab) = start().await;
        let document = send(gateway.public, "GET", "/v1/openapi.json", &[], "").await.json();
        let (mut surfaces, mut controls) = (0, 0);
        for family in TEXTS.iter().chain(&MEDIA) {
            tab.goto(&format!("/playground/{family}")).await;
            let script = "return [...document.querySelectorAll('#surface option')].map((one) => one.value)";
            for surface in tab.run(script).await.as_array().expect("surfaces") {
                let surface = surface.as_str().expect("a name");
                let names = properties(&document, &format!("{family}.{surface}"));
                assert!(!names.is_empty(), "{family}.{surface}");
                let page = format!("/playground/{family}?surface={surface}");
                let html = tab
                    .run_async(&format!(
                        "const done = arguments[arguments.length - 1];
                         fetch({}).then((answer) => answer.text()).then(done);",
                        json!(page)
                    ))
                    .await;
                let html = html.as_str().expect("a page");
                // The host's own: the buttons stand for a dry run, a person looks at the page instead of being called back, and needs no
                // notes; and a
                // model that the path implies.
                let is_hosts = |name: &String| {
                    ["dry_run", "callback_url", "user", "metadata"].contains(&name.as_str())
                        || (name == "model" && !html.contains("name=\"/model\""))
                };
                for name in names.iter().filter(|name| !is_hosts(name)) {
                    assert!(
                        html.contains(&format!("name=\"/{name}")),
                        "{family}.{surface}: no control for {name}"
                    );
                    controls += 1;
                }
                surfaces += 1;
            }
        }
        assert!(surfaces >= 20 && controls > 100, "{surfaces} surfaces, {controls} controls");
        tab.close().await;
    });
}
