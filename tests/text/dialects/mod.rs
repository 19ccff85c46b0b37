//! Models whose provider speaks a dialect: over a provider that says what the test has written for it, and remembers what it
//! was asked.

mod brook;
mod google;
mod simulated;
mod versions;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gatehouse_harness::{Response, serve_http};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::Value;

use crate::text::scene::{SURFACES, Scene, request_on as request};

/// One answer of the provider.
#[derive(Clone, Debug)]
struct Said {
    status: u16,
    mime: &'static str,
    body: String,
}

/// One request that it got.
#[derive(Clone, Debug)]
struct Asked {
    path: String,
    key: String,
    body: Value,
}

/// A provider that answers as it is told, one answer a request.
#[derive(Clone, Default)]
struct Provider {
    says: Arc<Mutex<VecDeque<Said>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Provider {
    fn say(&self, status: u16, mime: &'static str, body: impl Into<String>) {
        self.says.lock().expect("a lock").push_back(Said { status, mime, body: body.into() });
    }

    fn last(&self) -> Asked {
        self.asked.lock().expect("a lock").last().expect("a request").clone()
    }

    fn count(&self) -> usize {
        self.asked.lock().expect("a lock").len()
    }

    async fn answer(self, request: http::Request<Incoming>) -> http::Response<Full<Bytes>> {
        let path = request.uri().to_string();
        let key = request.headers().get("x-goog-api-key").map(|key| key.to_str().expect("text").to_owned());
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        let body = serde_json::from_slice(&body).expect("JSON");
        self.asked.lock().expect("a lock").push(Asked { path, key: key.unwrap_or_default(), body });
        let said = self.says.lock().expect("a lock").pop_front().expect("no more requests than answers");
        let response = http::Response::builder().status(said.status).header("content-type", said.mime);
        response.body(Full::from(said.body)).expect("a response")
    }

    /// A gateway over it, with a model `over-brook` and a model `over-google`, and `more` configuration.
    async fn scene(&self, more: &str) -> Scene {
        let provider = self.clone();
        let address = serve_http(move |request| provider.clone().answer(request)).await;
        let model = |id: &str, protocol: &str, upstream: &str| {
            format!(
                "[models.{id}]\nprovider = \"scripted\"\nprotocol = \"{protocol}\"\nupstream = \"{upstream}\"\n\
                 prices = {{ input = \"2\", output = \"5\", cached = \"1\" }}\n\n"
            )
        };
        let provider = format!(
            "[providers.scripted]\nbase_url = \"http://{address}\"\nauth = {{ header = \"x-goog-api-key\" }}\n\n\
             [providers.scripted.accounts.first]\nsecret = {{ file = \"SECRET\" }}\n\n"
        );
        let models = [
            model("over-brook", "brook", "brook-1"),
            model("over-array", "brook", "brook-1"),
            model("over-whole", "brook", "brook-1"),
            model("over-google", "generatecontent", "gemini-3-pro"),
        ]
        .concat();
        let rules = "[models.over-array.rules]\nframing = \"array\"\n\n[models.over-whole.rules]\nframing = \"whole\"\n\n";
        Scene::start(&format!("{provider}{models}{rules}{more}")).await
    }
}

async fn send(scene: &Scene, surface: &str, body: &Value) -> Response {
    scene.caller.post_with(&[("x-response-format", "bare")], surface, body).await
}
