//! A gateway with the journey family, and what the proxy remembers of its requests.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{Caller, Gateway, Response, Setup, send_to};
use gatehouse_sandbox::midjourney::TaskRecord;
use gatehouse_sandbox::{Sandbox, Settings};
use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};

use crate::gateways::{self, settings};

/// A gateway process with one customer, an unlimited key, and the simulated proxy.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) sandbox: Sandbox,
    pub(crate) caller: Caller,
}

/// The proxy's key, as the harness gives it to every provider.
const KEY: &str = "sandbox-key";

/// A sandbox whose tasks are ready at once.
pub(crate) async fn sandbox(change: impl FnOnce(&mut Settings)) -> Sandbox {
    let mut settings =
        Settings { keys: vec![KEY.to_owned()], max_in_flight: 100_000, ..settings(Duration::ZERO) };
    change(&mut settings);
    Sandbox::start(settings).await.expect("a sandbox")
}

/// The configuration of a gateway that uses the sandbox's proxy and polls it quickly.
pub(crate) fn setup(sandbox: &Sandbox) -> Setup {
    let (api, files) = (&sandbox.midjourney().api, &sandbox.midjourney().files);
    gateways::setup(sandbox)
        .with_provider("midjourney", api, "{ header = \"mj-api-secret\" }", 10_000, &["main"])
        .with(&format!("[providers.midjourney]\nmedia_origins = [\"{files}\"]\n"))
        .with("[plugins.settings.journey.pace]\nshortest_ms = 10\nlongest_ms = 100\n")
}

impl Scene {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}, "").await
    }

    /// With other settings of the sandbox and more configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings), more: &str) -> Self {
        let sandbox = sandbox(change).await;
        let gateway = Gateway::start(setup(&sandbox).with(more)).await;
        let caller = gateway.open_account("acme", "100000").await;
        Self { gateway, sandbox, caller }
    }

    pub(crate) async fn post(&self, route: &str, body: &Value) -> Response {
        self.caller.post(&path(route), body).await
    }

    /// Whether a request is refused by a 400 of the family that has all these words.
    pub(crate) async fn refuses(&self, route: &str, body: &Value, words: &[&str]) -> Result<(), String> {
        let answer = self.post(route, body).await;
        if is_refused(&answer, words) {
            return Ok(());
        }
        let came = format!("{} {}", answer.status, answer.text());
        Err(format!("  {route} {}\n    came: {came}, expected a 400 with {words:?}", shortened(body)))
    }

    /// Submits what is accepted; the task's id.
    pub(crate) async fn submit(&self, route: &str, body: &Value) -> String {
        let answer = self.post(route, body).await;
        assert_eq!(answer.status, 200, "{route} {}: {}", shortened(body), answer.text());
        assert_eq!(answer.json()["data"][0]["status"], "submitted");
        answer.task_id()
    }

    /// Submits what is accepted; the task at its end.
    pub(crate) async fn end(&self, route: &str, body: &Value) -> Value {
        let id = self.submit(route, body).await;
        self.caller.end_of(&id).await
    }

    /// Submits what succeeds; the task's id.
    pub(crate) async fn done(&self, route: &str, body: &Value) -> String {
        let task = self.end(route, body).await;
        assert_eq!(task["status"], "completed", "{route} {}: {task}", shortened(body));
        task["id"].as_str().expect("an id").to_owned()
    }

    /// A finished grid of that prompt.
    pub(crate) async fn grid(&self, prompt: &str) -> String {
        self.done("imagine", &json!({"prompt": prompt})).await
    }

    /// A finished single: the tile (1 to 4) of a fresh grid.
    pub(crate) async fn single(&self, prompt: &str, tile: usize) -> String {
        let grid = self.grid(prompt).await;
        self.done("upscale", &json!({"task_id": grid, "index": tile})).await
    }

    /// An inpaint task that waits for its modal.
    pub(crate) async fn waiting(&self, single: &str) -> String {
        let id = self.submit("inpaint", &json!({"task_id": single})).await;
        self.until_status(&id, "MODAL").await;
        id
    }

    /// The task as the family renders it.
    pub(crate) async fn view(&self, id: &str) -> Value {
        let answer = self.caller.get(&format!("/v1/journey/{id}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The task as the family renders it, once it has that status.
    pub(crate) async fn until_status(&self, id: &str, status: &str) -> Value {
        for _ in 0..100_000 {
            let view = self.view(id).await;
            if view["status"] == status {
                return view;
            }
            assert!(!["SUCCESS", "FAILURE"].contains(&view["status"].as_str().unwrap_or_default()), "{view}");
        }
        panic!("{id} does not become {status}");
    }

    /// What the proxy remembers of the task with that prompt; there must be one.
    pub(crate) fn made(&self, prompt: &str) -> TaskRecord {
        let tasks = self.sandbox.midjourney_record().tasks;
        let mut found: Vec<TaskRecord> =
            tasks.into_iter().filter(|task| task.prompt.starts_with(prompt)).collect();
        assert_eq!(found.len(), 1, "tasks of {prompt:?}");
        found.remove(0)
    }

    /// What the proxy remembers of the latest task.
    pub(crate) fn latest(&self) -> TaskRecord {
        self.sandbox.midjourney_record().tasks.pop().expect("a task")
    }

    /// A sample picture by link.
    pub(crate) fn sample(&self, name: &str) -> String {
        format!("{}/samples/{name}", self.sandbox.context().samples)
    }
}

/// The path of a route.
pub(crate) fn path(route: &str) -> String {
    format!("/v1/journey/generations/{route}")
}

/// The links of a finished task's pictures or films.
pub(crate) fn links(task: &Value) -> Vec<String> {
    let result = &task["result"];
    let all = if result["images"].is_array() { &result["images"] } else { &result["videos"] };
    let links = all[0]["url"].as_array().unwrap_or_else(|| panic!("no links: {task}"));
    assert!(all[0]["expires_at"].is_u64(), "{task}");
    links.iter().map(|link| link.as_str().expect("a link").to_owned()).collect()
}

/// The picture at one of the gateway's links.
pub(crate) async fn picture(link: &str) -> RgbImage {
    let file = send_to(link, &[]).await;
    assert_eq!((file.status, file.header("content-type")), (200, "image/png"), "{link}");
    image::load_from_memory_with_format(&file.body, ImageFormat::Png).expect("a PNG").to_rgb8()
}

/// Whether a picture has one colour at its corners and in the middle.
pub(crate) fn is_of(picture: &RgbImage, colour: [u8; 3]) -> bool {
    let (right, bottom) = (picture.width() - 1, picture.height() - 1);
    let points = [(0, 0), (right, 0), (0, bottom), (right, bottom), (right / 2, bottom / 2)];
    points.into_iter().all(|(x, y)| picture.get_pixel(x, y).0 == colour)
}

/// The one of four colours that is nearest to a colour.
pub(crate) fn nearest(colours: &[[u8; 3]], colour: [u8; 3]) -> usize {
    let apart = |other: &[u8; 3]| -> u32 {
        other.iter().zip(colour).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    (0..colours.len()).min_by_key(|at| apart(&colours[*at])).expect("colours")
}

/// A PNG of one colour, as data URI.
pub(crate) fn uri(width: u32, height: u32, colour: [u8; 3]) -> String {
    let mut file = std::io::Cursor::new(Vec::new());
    RgbImage::from_pixel(width, height, image::Rgb(colour))
        .write_to(&mut file, ImageFormat::Png)
        .expect("a PNG");
    format!("data:image/png;base64,{}", STANDARD.encode(file.into_inner()))
}

/// A body with more fields; `null` takes a field out.
pub(crate) fn with(mut body: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().expect("an object") {
        body[field] = value.clone();
    }
    body
}

pub(crate) fn shortened(body: &Value) -> String {
    body.to_string().chars().take(200).collect()
}

/// Whether an answer is a 400 of the family that has all these words.
pub(crate) fn is_refused(answer: &Response, words: &[&str]) -> bool {
    let error = &answer.json()["error"];
    let message = error["message"].as_str().unwrap_or_default();
    answer.status == 400
        && error["type"] == "invalid_request_error"
        && error["code"] == 400
        && words.iter().all(|word| message.contains(word))
}
