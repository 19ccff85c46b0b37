//! A plugin that looks for secrets, a provider that echoes every secret it receives, and a search of everything the
//! gateway sends, logs and stores.

use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_harness::{run, send, send_to, with};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::{IMAGES, Scene};
use crate::hostile::scene::honest;
use crate::hostile::scene::secret_forms::SecretSearch;

/// Files of the data folder that hold a secret by design, and why.
const SECRET_FILES: [(&str, &str); 3] = [
    ("pepper", "the key of hashes and signed links; readable by its owner only"),
    ("admin.json", "the admin token of the operator's command line; readable by its owner only"),
    ("admin-viewer.json", "the admin token that only reads; readable by its owner only"),
];

/// Paths at which the provider echoes its secret.
const ECHOES: [&str; 3] = ["/echo", "/refused-echo", "/redirect"];

/// Ways to pass on everything the plugin saw, each after every echo.
fn ways_out(provider: &str) -> Vec<Value> {
    let seen = json!({"$seen": 0});
    let call = |more| json!({"call": with(json!({"provider": provider, "replay": "safe"}), more)});
    let echoes: Vec<Value> =
        ECHOES.iter().map(|echo| call(json!({"path": echo, "json": {"a": "b"}}))).collect();
    let picture = call(json!({"path": "/picture-echo", "save-body": true}));
    let ends = [
        vec![json!({"print": seen, "done": {"public": {"seen": seen}, "private": {"seen": seen}}})],
        vec![json!({"fail": seen})],
        vec![json!({"panic-with": seen})],
        vec![call(json!({"json": {"all": seen}})), call(json!({"form": [{"name": "all", "data": seen}]}))],
        vec![call(json!({"headers": [["x-all", seen]]}))],
        vec![call(json!({"path": seen}))],
        vec![call(json!({"url": seen}))],
        vec![json!({"call": {"provider": seen, "method": seen}})],
        vec![json!({"probe": [seen]})],
        vec![json!({"done": {"products": [{"source": seen, "mime": seen}]}})],
        vec![json!({"done": {"settle": {"keys": [seen]}}})],
        vec![
            picture.clone(),
            json!({"done": {"public": {"link": "media:0"}, "products": [{"source": {"$blob": 0}}]}}),
        ],
        vec![picture, call(json!({"json": {"file": {"$blob": 0}}, "path": "/echo"}))],
    ];
    ends.into_iter().map(|end| json!({"steps": ([echoes.clone(), end].concat())})).collect()
}

#[test]
fn no_secret_is_found_where_it_does_not_belong() {
    run(async {
        let scene = Scene::start("[log]\nlevel = \"trace\"\n").await;
        let data = scene.gateway.folder().join("data");
        let key = scene.caller.secret().to_owned();
        let mut search = SecretSearch::default()
            .also_for("the API key", key.as_bytes())
            .also_for("the operators' token", scene.gateway.operator().secret().as_bytes())
            .also_for("the viewers' token", scene.gateway.viewer().secret().as_bytes())
            .also_for("the pepper", &fs::read(data.join("pepper")).expect("a pepper"));
        for (name, secret) in ["bearer", "header", "query", "honest"].into_iter().zip(&scene.secrets) {
            search = search.also_for(&format!("the {name} secret"), secret.as_bytes());
        }

        let mut collected: Vec<(String, Vec<u8>)> = Vec::new();
        let mut redacted = 0;
        honest::serve(&scene.caller).await;
        for provider in ["trap", "trap-header", "trap-query"] {
            for script in ways_out(provider) {
                let answer = scene.submit(&script).await;
                collected.push((format!("receipt of {script}"), answer.body.to_vec()));
                let task = scene.caller.end_of(&answer.task_id()).await;
                redacted += usize::from(task.to_string().contains("(secret)"));
                if let Some(link) = task["result"]["link"].as_str() {
                    let file = send_to(link, &[]).await;
                    assert_eq!(file.status, 200, "{task}");
                    assert!(
                        file.body.windows(8).any(|window| window == b"(secret)"),
                        "the file tells what it was sent"
                    );
                    collected.push((format!("file of {script}"), file.body.to_vec()));
                }
                collected.push((format!("task of {script}"), task.to_string().into_bytes()));
            }
        }
        assert!(redacted >= 6, "the plugin was shown redacted secrets, and passed them on: {redacted}");
        everything_else(&scene, &key, &mut collected).await;
        for (name, secret) in ["trap", "trap-header", "trap-query"].into_iter().zip(&scene.secrets) {
            let whole = SecretSearch::default().also_for(name, secret.as_bytes());
            let arrived = scene.trap.seen().iter().filter(|request| !whole.found(request).is_empty()).count();
            assert!(arrived > 30, "{name} must get its secret, or this test proves nothing: {arrived}");
        }
        // Beyond its slot no request may hold it: the plugin's own words are all behind the head.
        for request in scene.trap.seen() {
            let text = String::from_utf8_lossy(&request).into_owned();
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            collected.push((format!("body sent to {:?}", text.lines().next()), body.as_bytes().to_vec()));
        }

        let Scene { mut gateway, .. } = scene;
        gateway.terminate().await;
        collected.push(("the log".to_owned(), gateway.log_text().into_bytes()));
        assert!(gateway.log_text().contains("TRACE"), "the log is at its loudest");
        for file in files_below(&data) {
            let name = file.strip_prefix(&data).expect("below it").display().to_string();
            if !SECRET_FILES.iter().any(|(file, _)| *file == name) {
                collected.push((format!("data/{name}"), fs::read(&file).expect("a file")));
            }
        }
        assert!(collected.iter().any(|(name, bytes)| name == "data/core.redb" && !bytes.is_empty()));
        let leaks: Vec<String> = collected
            .iter()
            .filter_map(|(name, bytes)| {
                let found = search.found(bytes);
                (!found.is_empty()).then(|| format!("  {name}: {found:?}"))
            })
            .collect();
        assert!(leaks.is_empty(), "{} places:\n{}", leaks.len(), leaks.join("\n"));
    });
}

/// Everything else clients and operators can read, errors included.
async fn everything_else(scene: &Scene, key: &str, collected: &mut Vec<(String, Vec<u8>)>) {
    let (public, admin) = (scene.gateway.public, scene.gateway.admin());
    for path in ["/v1/models", "/v1/tasks?limit=100", "/v1/nothing", "/v1/tasks/task_none"] {
        collected.push((path.to_owned(), scene.caller.get(path).await.body.to_vec()));
    }
    let broken = scene.caller.send("POST", IMAGES, &[("content-type", "application/json")], "{").await;
    collected.push(("a broken request".to_owned(), broken.body.to_vec()));
    for header in [format!("Bearer {key}x"), format!("Basic {key}"), format!("bearer  {key} {key}")] {
        let refused = send(public, "GET", "/v1/models", &[("authorization", &header)], "").await;
        collected.push(("a refused key".to_owned(), refused.body.to_vec()));
    }
    let query = send(public, "GET", &format!("/v1/models?key={key}"), &[], "").await;
    collected.push(("a key in a query".to_owned(), query.body.to_vec()));
    for path in ["/metrics", "/health", "/nothing"] {
        collected.push((format!("admin {path}"), send(admin, "GET", path, &[], "").await.body.to_vec()));
    }
    let commands: [&[&str]; 7] = [
        &["check-config"],
        &["plugin", "list", "--json"],
        &["account", "list"],
        &["account", "show", "acme", "--json"],
        &["key", "list"],
        &["key", "show", scene.caller.id(), "--json"],
        &["doctor", "--json"],
    ];
    for command in commands {
        collected.push((format!("{command:?}"), scene.gateway.command(command).await.into_bytes()));
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
