//! A plugin that fishes for secrets, a provider that gives away every one it is sent, and a search of everything
//! the gateway says and keeps.

use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_harness::{run, send, send_to};
use serde_json::{Value, json};

use crate::scene::gateway::{IMAGES, Scene, end_of};
use crate::scene::honest;
use crate::scene::secret_forms::SecretSearch;

/// Files of the data folder that hold a secret by design, and why.
const KEEPERS: [(&str, &str); 2] = [
    ("pepper", "what keys are hashed and links are signed with; readable by its owner only"),
    ("admin.json", "how an operator's command line gets in; readable by its owner only"),
];

/// Where the provider gives its secret away.
const TALES: [&str; 3] = ["/echo", "/refused-echo", "/redirect"];

/// Ways to pass on what was seen, each after every tale was told.
fn ways_out(provider: &str) -> Vec<Value> {
    let seen = json!({"$seen": 0});
    let call = |more: Value| {
        let mut call = json!({"provider": provider, "replay": "safe"});
        let Value::Object(more) = more else { panic!("expected an object") };
        more.into_iter().for_each(|(key, value)| call[key] = value);
        json!({"call": call})
    };
    let tales: Vec<Value> =
        TALES.iter().map(|tale| call(json!({"path": tale, "json": {"a": "b"}}))).collect();
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
    ends.into_iter().map(|end| json!({"steps": ([tales.clone(), end].concat())})).collect()
}

#[test]
fn no_secret_is_found_where_it_does_not_belong() {
    run(async {
        let scene = Scene::start("[log]\nlevel = \"trace\"\n").await;
        let data = scene.gateway.folder().join("data");
        let door: Value =
            serde_json::from_slice(&fs::read(data.join("admin.json")).expect("a door")).expect("JSON");
        let key = scene.caller.bearer().split_off("Bearer ".len());
        let mut search = SecretSearch::default()
            .also_for("the API key", key.as_bytes())
            .also_for("the operators' token", door["token"].as_str().expect("a token").as_bytes())
            .also_for("the pepper", &fs::read(data.join("pepper")).expect("a pepper"));
        for (name, secret) in ["bearer", "header", "query", "honest"].into_iter().zip(&scene.secrets) {
            search = search.also_for(&format!("the {name} secret"), secret.as_bytes());
        }

        let mut heard: Vec<(String, Vec<u8>)> = Vec::new();
        let mut masked = 0;
        honest::serve(&scene.caller).await;
        for provider in ["trap", "trap-header", "trap-query"] {
            for script in ways_out(provider) {
                let answer = scene.submit(&script).await;
                heard.push((format!("receipt of {script}"), answer.body.to_vec()));
                let task = end_of(&scene.caller, &answer.json()).await;
                masked += usize::from(task.to_string().contains("(secret)"));
                if let Some(link) = task["result"]["link"].as_str() {
                    let file = send_to(link, &[]).await;
                    assert_eq!(file.status, 200, "{task}");
                    assert!(
                        file.body.windows(8).any(|window| window == b"(secret)"),
                        "the file tells what it was sent"
                    );
                    heard.push((format!("file of {script}"), file.body.to_vec()));
                }
                heard.push((format!("task of {script}"), task.to_string().into_bytes()));
            }
        }
        assert!(masked >= 6, "the plugin was shown masked secrets, and passed them on: {masked}");
        everything_else(&scene, &key, &mut heard).await;
        for (name, secret) in ["trap", "trap-header", "trap-query"].into_iter().zip(&scene.secrets) {
            let whole = SecretSearch::default().also_for(name, secret.as_bytes());
            let arrived = scene.trap.seen().iter().filter(|request| !whole.found(request).is_empty()).count();
            assert!(arrived > 30, "{name} must get its secret, or this test proves nothing: {arrived}");
        }
        // Beyond its slot no request may hold it: the plugin's own words are all behind the head.
        for request in scene.trap.seen() {
            let text = String::from_utf8_lossy(&request).into_owned();
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            heard.push((format!("body sent to {:?}", text.lines().next()), body.as_bytes().to_vec()));
        }

        let Scene { mut gateway, .. } = scene;
        gateway.terminate().await;
        heard.push(("the log".to_owned(), gateway.log_text().into_bytes()));
        assert!(gateway.log_text().contains("TRACE"), "the log is at its loudest");
        for file in files_below(&data) {
            let name = file.strip_prefix(&data).expect("below it").display().to_string();
            if !KEEPERS.iter().any(|(keeper, _)| *keeper == name) {
                heard.push((format!("data/{name}"), fs::read(&file).expect("a file")));
            }
        }
        assert!(heard.iter().any(|(name, bytes)| name == "data/core.redb" && !bytes.is_empty()));
        let leaks: Vec<String> = heard
            .iter()
            .filter_map(|(name, bytes)| {
                let found = search.found(bytes);
                (!found.is_empty()).then(|| format!("  {name}: {found:?}"))
            })
            .collect();
        assert!(leaks.is_empty(), "{} places:\n{}", leaks.len(), leaks.join("\n"));
    });
}

/// What clients and operators can read besides, mistakes of theirs included.
async fn everything_else(scene: &Scene, key: &str, heard: &mut Vec<(String, Vec<u8>)>) {
    let (public, admin) = (scene.gateway.public, scene.gateway.admin());
    for path in ["/v1/models", "/v1/tasks?limit=100", "/v1/nothing", "/v1/tasks/task_none"] {
        heard.push((path.to_owned(), scene.caller.send("GET", path, &[], "").await.body.to_vec()));
    }
    let broken = scene.caller.send("POST", IMAGES, &[("content-type", "application/json")], "{").await;
    heard.push(("a broken request".to_owned(), broken.body.to_vec()));
    for header in [format!("Bearer {key}x"), format!("Basic {key}"), format!("bearer  {key} {key}")] {
        let refused = send(public, "GET", "/v1/models", &[("authorization", &header)], "").await;
        heard.push(("a refused key".to_owned(), refused.body.to_vec()));
    }
    let query = send(public, "GET", &format!("/v1/models?key={key}"), &[], "").await;
    heard.push(("a key in a query".to_owned(), query.body.to_vec()));
    for path in ["/metrics", "/health", "/nothing"] {
        heard.push((format!("admin {path}"), send(admin, "GET", path, &[], "").await.body.to_vec()));
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
        heard.push((format!("{command:?}"), scene.gateway.command(command).await.into_bytes()));
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
