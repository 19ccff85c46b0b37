//! A start that has to compile a family, as the first one and one after an update: the listener answers meanwhile.

use std::fs;
use std::time::Duration;

use gatehouse_harness::{Gateway, run, send};

use crate::lifecycle::{request, sandbox, setup};

const IMAGES: &str = "/v1/images/generations";

/// The digest of a family's active version.
async fn digest_of(gateway: &Gateway, family: &str) -> String {
    let plugins = gateway.plugins().await;
    let found = plugins.iter().find(|plugin| plugin["family"] == family);
    found
        .and_then(|plugin| plugin["digest"].as_str())
        .unwrap_or_else(|| panic!("{family} in {plugins:?}"))
        .to_owned()
}

/// Without it a start says nothing for half a minute, and a balancer takes the gateway for dead.
#[test]
fn a_family_that_is_compiled_is_named_and_serves_when_it_is_ready() {
    run(async {
        let sandbox = sandbox(Duration::from_millis(50)).await;
        let mut gateway = Gateway::start(setup(&sandbox).with_inherited_socket()).await;
        let caller = gateway.open_account("acme", "1000").await;
        let digest = digest_of(&gateway, "context-image").await;
        assert_eq!(gateway.terminate().await, Some(0));
        for entry in fs::read_dir(gateway.folder().join("data/plugins")).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if name.starts_with(&digest) && name.contains(".cwasm") {
                fs::remove_file(path).expect("removed");
            }
        }
        // They wait at the socket, which is open, until the process accepts.
        let public = gateway.public;
        let early = async {
            let kite = request("a kite");
            tokio::join!(
                send(public, "GET", "/livez", &[], ""),
                send(public, "GET", "/readyz", &[], ""),
                caller.post(IMAGES, &kite),
            )
        };
        let ((live, ready, image), ()) = tokio::join!(early, gateway.restart());
        assert_eq!(live.status, 200);
        for refused in [ready, image] {
            assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{}", refused.text());
            assert!(refused.message().contains("not ready: context-image"), "{}", refused.text());
        }
        assert_eq!(send(public, "GET", "/readyz", &[], "").await.status, 200);
        let task = caller.post(IMAGES, &request("a kite")).await.task_id();
        assert_eq!(caller.end_of(&task).await["status"], "completed");
    });
}
