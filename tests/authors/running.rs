//! A component of the template in a running gateway, against a provider that draws: a task from request to picture.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{Gateway, Provider, Setup, reply, run};
use serde_json::{Value, json};

/// One pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The provider of the template: takes a sketch, and has drawn it at the second question.
async fn sketcher() -> Provider {
    let asked = std::sync::atomic::AtomicU32::new(0);
    Provider::start(move |request| {
        let host = request.header("host").unwrap_or_default().to_owned();
        let json = |value: Value| reply(200, &[("content-type", "application/json")], value.to_string());
        match request.path() {
            "/v1/sketches" => {
                let body: Value = serde_json::from_str(request.text()).unwrap();
                assert_eq!(body, json!({"text": "a kite", "detail": 5}));
                json(json!({"id": "s7"}))
            }
            "/v1/sketches/s7" if asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 => {
                json(json!({"state": "working"}))
            }
            "/v1/sketches/s7" => json(json!({"state": "done", "image": format!("http://{host}/s7.png")})),
            "/s7.png" => reply(200, &[("content-type", "image/png")], STANDARD.decode(PNG).unwrap()),
            other => panic!("the provider is asked for {other}"),
        }
    })
    .await
}

/// Installs `family.wasm` of the folder into a running gateway with `plugin dev`, and draws one picture.
pub(crate) fn draws_a_picture(family: &Path, limits: &str) {
    run(async {
        let provider = sketcher().await;
        let origin = format!("http://{}", provider.address);
        let nobody = json!({"submit": origin, "poll": origin, "delivery": origin, "samples": origin});
        // Prices come with the family; the account is the operator's, and so is where its secret goes.
        let folder = tempfile::tempdir().unwrap();
        let defaults = folder.path().join("family.toml");
        let text = format!(
            "[prices]\n\"sketch-1\" = \"1\"\n\n[providers.sketcher]\nbase_url = \"{origin}\"\n\
             media_origins = [\"{origin}\"]\nauth = \"bearer\"\n"
        );
        std::fs::write(&defaults, text).unwrap();
        let more = format!(
            "[providers.sketcher]\nbase_url = \"{origin}\"\nmedia_origins = [\"{origin}\"]\nauth = \"bearer\"\n\n\
             [providers.sketcher.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n{limits}"
        );
        let gateway = Gateway::start(Setup::new(env!("CARGO_BIN_EXE_gatehouse"), &nobody).with(&more)).await;
        let caller = gateway.open_account("acme", "100").await;
        let (family, defaults) = (family.display().to_string(), defaults.display().to_string());
        let said = gateway.command(&["plugin", "dev", &family, "--once", "--defaults", &defaults]).await;
        for part in ["+ prices.sketch-1 = \"1\"", "install: done in"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let body = json!({"model": "sketch-1", "prompt": "a kite"});
        let task = caller.finish("/v1/images/generations", &body).await;
        assert_eq!(task["status"], "completed", "{task}");
        let link = task["result"]["images"][0]["url"][0].as_str().unwrap_or_else(|| panic!("{task}"));
        assert!(link.contains("/v1/media/"), "{link}");
        gateway.expect_sound_ledger().await;
    });
}
