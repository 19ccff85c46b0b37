//! The lines of the page `/docs`, run as they are printed: every operation with curl, Python and JavaScript. What a reader fills in
//! is filled in: the key, the words in capitals of a path, tasks and files of the reader's own.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use gatehouse_harness::{run, send, until, until_some};
use serde_json::json;
use tokio::process::Command;

use crate::clients::kit::{Set, Tool};
use crate::public::Scene;

/// The packages that have `requests`.
const PYTHON: Set = Set { tool: Tool::Python, name: "providers" };
/// The reader's own files for those that examples name.
const FILES: [(&str, &str); 4] =
    [(".png", "800x600.png"), (".jpg", "800x600.jpeg"), (".mp4", "1280x720-4s.mp4"), (".mp3", "5s.mp3")];
const LANGUAGES: [&str; 3] = ["curl", "Python", "JavaScript"];

/// Runs each file of a folder as a shell does; a line with the status follows what it prints.
const SHELL: &str = r#"curl() { command curl -sS -w '\n%{http_code}' "$@"; }
for file in "$1"/*.curl; do . "$file" > "$file.out" 2>&1; done"#;
const PYTHON_RUNNER: &str = r#"
import contextlib, pathlib, sys, traceback
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.Python")):
    with open(f"{file}.out", "w") as out, contextlib.redirect_stdout(out):
        try:
            exec(compile(file.read_text(), file.name, "exec"), {"__name__": "__main__"})
        except Exception:
            traceback.print_exc(file=out)
"#;
const JAVASCRIPT_RUNNER: &str = r#"
import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
const folder = process.argv[1];
for (const name of readdirSync(folder).filter((name) => name.endsWith(".JavaScript")).sort()) {
  let printed = "";
  console.log = (...words) => { printed += words.join(" ") + "\n"; };
  copyFileSync(`${folder}/${name}`, `${folder}/${name}.mjs`);
  await import(`${folder}/${name}.mjs`).catch((error) => { printed += error.stack; });
  writeFileSync(`${folder}/${name}.out`, printed);
}
"#;

/// One operation of the page.
struct Shown {
    /// The anchor: the operation's id.
    id: String,
    /// The printed text by language.
    lines: BTreeMap<&'static str, String>,
}

/// The operations of the page, in its order.
fn shown(page: &str) -> Vec<Shown> {
    page.split("<article id=\"")
        .skip(1)
        .map(|article| {
            let id = article.split('"').next().unwrap_or_default().to_owned();
            let text = |language: &str| {
                let (_, rest) = article.split_once(&format!("<summary>{language}</summary>"))?;
                let code = rest.split_once("<code>")?.1.split_once("</code>")?.0;
                Some(plain(code))
            };
            let lines = LANGUAGES.iter().filter_map(|language| Some((*language, text(language)?)));
            Shown { id, lines: lines.collect() }
        })
        .collect()
}

fn plain(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// What a reader has made before the examples: tasks to follow, files, a response.
struct Own<'a> {
    scene: &'a Scene,
    grid: String,
    grid_of_8: String,
    single: String,
    video: String,
    picture: String,
    webhook: String,
}

impl<'a> Own<'a> {
    async fn make(scene: &'a Scene) -> Self {
        let route = |name: &str| format!("/v1/journey/generations/{name}");
        let imagine = async |prompt: &str| scene.done(&route("imagine"), &json!({"prompt": prompt})).await;
        let grid = imagine("a kite --v 7").await;
        let single = scene.done(&route("upscale"), &json!({"task_id": grid, "index": 1})).await;
        let (video, webhook) = (film(scene).await, webhook(scene).await);
        let image = json!({"model": "ctx-pro", "prompt": "a kite"});
        let picture = scene.done("/v1/images/generations", &image).await;
        let hung = json!({"model": "imagine-1.5-gw", "prompt": "[[hang]] a kite"});
        assert_eq!(scene.caller.post("/v1/images/generations", &hung).await.status, 200);
        until("the provider has the call", async || scene.sandbox.imagine_record().count > 0).await;
        Self { scene, grid, grid_of_8: imagine("a kite --v 8.1").await, single, video, picture, webhook }
    }

    /// A task of journey that waits for its mask.
    async fn waiting(&self) -> String {
        let body = json!({"task_id": self.single});
        let id = self.scene.caller.post("/v1/journey/generations/inpaint", &body).await.task_id();
        until_some("the task waits for its mask", async || {
            (self.scene.caller.task(&id).await["waiting_for"] == "modal").then_some(())
        })
        .await;
        id
    }

    /// A task that waits for its provider: one before it has the only permit, and keeps it.
    async fn queued(&self) -> String {
        let body = json!({"model": "imagine-1.5-gw", "prompt": "[[hang]] a kite"});
        self.scene.caller.post("/v1/images/generations", &body).await.task_id()
    }

    /// A task whose end is told to an address.
    async fn told(&self) -> String {
        let to = "https://example.com/hook";
        let body = json!({"model": "ctx-pro", "prompt": "a kite", "callback_url": to});
        self.scene.caller.post("/v1/images/generations", &body).await.task_id()
    }

    async fn response(&self) -> String {
        let body = json!({"model": "over-chat", "input": "Say hello"});
        let answer = self.scene.caller.post("/v1/responses", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    /// The video that an operation is about: one of its own where it is deleted.
    async fn video_of(&self, id: &str) -> String {
        match id {
            "videos-delete" => film(self.scene).await,
            _ => self.video.clone(),
        }
    }

    /// The webhook that an operation is about: one of its own where it is deleted.
    async fn webhook_of(&self, id: &str) -> String {
        match id {
            "webhooks-delete" => webhook(self.scene).await,
            _ => self.webhook.clone(),
        }
    }

    /// The end of a link to a file: its name and signature.
    async fn file(&self) -> String {
        let task = self.scene.caller.task(&self.picture).await;
        let link = task["result"]["images"][0]["url"][0].as_str().expect("a link").to_owned();
        link.rsplit('/').next().expect("a name").to_owned()
    }

    /// The task that an operation is about.
    async fn task(&self, id: &str) -> String {
        match id {
            "journey-modal" => self.waiting().await,
            "tasks-cancel" => self.queued().await,
            "tasks-callback" => self.told().await,
            "videos-remix" => self.video.clone(),
            "journey-remix-strong" | "journey-remix-subtle" => self.grid_of_8.clone(),
            "journey-high-variation"
            | "journey-low-variation"
            | "journey-zoom"
            | "journey-pan"
            | "journey-inpaint" => self.single.clone(),
            _ => self.grid.clone(),
        }
    }

    /// An example as its reader sends it.
    async fn filled_in(&self, id: &str, text: &str) -> String {
        let mut text = text.to_owned();
        // Where events are posted to need not answer.
        let links = words_from(&text, "https://example.com/");
        for link in links.into_iter().filter(|link| !link.ends_with("/hook")) {
            let sample = FILES.iter().find(|(kind, _)| link.ends_with(kind));
            let (_, sample) = sample.unwrap_or_else(|| panic!("{id}: what file is {link}?"));
            text = text.replace(&link, &self.scene.sample(sample));
        }
        let printed = words_from(&text, "task_0");
        if text.contains("/TASK_ID") || !printed.is_empty() {
            let task = self.task(id).await;
            text = text.replace("TASK_ID", &task);
            text = printed.iter().fold(text, |text, word| text.replace(word, &task));
        }
        if text.contains("/NAME") {
            text = text.replace("NAME", &self.file().await);
        }
        if text.contains("/v1/models/ID") {
            text = text.replace("/ID", "/over-chat");
        } else if text.contains("/v1/webhooks/ID") {
            text = text.replace("/ID", &format!("/{}", self.webhook_of(id).await));
        } else if text.contains("/v1/videos/ID") {
            text = text.replace("/ID", &format!("/{}", self.video_of(id).await));
        } else if text.contains("/ID") {
            text = text.replace("/ID", &format!("/{}", self.response().await));
        }
        text
    }
}

/// A video that has completed.
async fn film(scene: &Scene) -> String {
    let body = json!({"model": "scene-3.1-fast-official", "prompt": "a kite"});
    scene.done("/v1/videos/generations", &body).await
}

/// A webhook of the customer's own.
async fn webhook(scene: &Scene) -> String {
    let answer = scene.caller.post("/v1/webhooks", &json!({"url": "https://example.com/hook"})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["id"].as_str().expect("an id").to_owned()
}

/// The words of a text that begin so, each once.
fn words_from(text: &str, begin: &str) -> Vec<String> {
    let ends = |letter: char| !(letter.is_ascii_alphanumeric() || ":/._-".contains(letter));
    let word = |(at, _): (usize, &str)| text[at..].split(ends).next().unwrap_or_default().to_owned();
    let mut words: Vec<String> = text.match_indices(begin).map(word).collect();
    words.sort();
    words.dedup();
    words
}

/// Runs every example of a language, one after the other, in one process.
async fn perform(language: &str, folder: &Path, key: &str) {
    let mut command = match language {
        "curl" => {
            let mut shell = Command::new("sh");
            shell.args(["-c", SHELL, "sh"]);
            shell
        }
        "Python" => {
            let mut python = Command::new(tokio::task::block_in_place(|| PYTHON.ready()).0);
            python.args(["-c", PYTHON_RUNNER]);
            python
        }
        _ => {
            let mut node = Command::new("node");
            node.args(["--input-type=module", "--eval", JAVASCRIPT_RUNNER]);
            node
        }
    };
    command.arg(folder).env_clear().env("HOME", folder).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let status = command.env("GATEHOUSE_KEY", key).stdin(Stdio::null()).kill_on_drop(true).status().await;
    assert!(status.expect("it runs").success(), "{language}");
}

/// The status that an example was answered with.
fn status(language: &str, printed: &str) -> Option<u16> {
    let word = if language == "curl" {
        printed.trim_end().rsplit('\n').next()
    } else {
        printed.split_whitespace().next()
    };
    word?.parse().ok()
}

/// The task that an answer is the receipt of.
fn receipt(printed: &str) -> Option<&str> {
    printed.split_once("\"task_id\":\"")?.1.split('"').next()
}

/// What is wrong with an answer, if anything is.
async fn fault(scene: &Scene, id: &str, language: &str, printed: &str) -> Option<String> {
    if !status(language, printed).is_some_and(|status| (200..300).contains(&status)) {
        return Some(printed.to_owned());
    }
    // A receipt is no success yet. What is left out: documents with receipts in them, and a task that waits for its mask.
    let task = receipt(printed).filter(|_| !["docs", "openapi", "journey-inpaint"].contains(&id))?;
    let end = scene.caller.end_of(task).await;
    (end["status"] != "completed").then(|| end.to_string())
}

#[test]
fn every_example_of_the_page_works_as_printed() {
    run(async {
        let scene = Scene::start_with(Duration::ZERO, "[providers.xai]\nconcurrency = 1\n").await;
        let page = send(scene.gateway.public, "GET", "/docs", &[], "").await.text();
        let (operations, own) = (shown(&page), Own::make(&scene).await);
        assert!(operations.len() >= 40, "{}", operations.len());
        let folder = tempfile::tempdir().expect("a folder");
        let file = |at: usize, language: &str| folder.path().join(format!("{at:02}.{language}"));
        for (at, operation) in operations.iter().enumerate() {
            assert_eq!(operation.lines.len(), LANGUAGES.len(), "{}", operation.id);
            for (language, text) in &operation.lines {
                let text = own.filled_in(&operation.id, text).await;
                std::fs::write(file(at, language), text).expect("a file");
            }
        }
        let key = scene.caller.secret().to_owned();
        let runs = LANGUAGES.map(|language| perform(language, folder.path(), &key));
        futures_util::future::join_all(runs).await;
        let mut faults = Vec::new();
        for (at, operation) in operations.iter().enumerate() {
            for language in LANGUAGES {
                let file = format!("{}.out", file(at, language).display());
                let printed = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
                let printed = String::from_utf8_lossy(&printed);
                if let Some(problem) = fault(&scene, &operation.id, language, &printed).await {
                    faults.push(format!(
                        "{} {language}: {problem}\n{}",
                        operation.id, operation.lines[language]
                    ));
                }
            }
        }
        assert!(faults.is_empty(), "{} examples fail:\n{}", faults.len(), faults.join("\n\n"));
        scene.gateway.expect_sound_ledger().await;
    });
}
