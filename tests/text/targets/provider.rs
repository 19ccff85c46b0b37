//! A provider of both protocols. What it does with a call is what the model is called there.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use gatehouse_harness::serve_http;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::text::scene::{chunk, frames};

/// Tokens of each answer, read and written.
pub(super) const USAGE: (i64, i64) = (10, 3);

/// One of its calls: what the model was called, and the path.
pub(super) type Seen = (String, String);

#[derive(Clone, Default)]
pub(super) struct Scripted {
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Lets `held` answer.
    pub(super) go: Arc<Notify>,
}

/// A body that comes at once and may never end.
struct Answer {
    text: Option<String>,
    /// Comes later.
    more: Option<Pin<Box<dyn Future<Output = String> + Send>>>,
    stays_open: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(text) = self.text.take() {
            return Poll::Ready(Some(Ok(Frame::data(text.into()))));
        }
        if let Some(more) = &mut self.more {
            let text = std::task::ready!(more.as_mut().poll(cx));
            self.more = None;
            return Poll::Ready(Some(Ok(Frame::data(text.into()))));
        }
        if self.stays_open { Poll::Pending } else { Poll::Ready(None) }
    }
}

/// How a call was made.
#[derive(Clone, Copy)]
struct Form {
    is_messages: bool,
    is_embedding: bool,
    is_google: bool,
    streaming: bool,
}

impl Scripted {
    pub(super) async fn start(&self) -> std::net::SocketAddr {
        let own = self.clone();
        serve_http(move |request: hyper::Request<Incoming>| {
            let own = own.clone();
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.expect("a body").to_bytes();
                let body: Value = serde_json::from_slice(&body).expect("JSON");
                // Google's protocol has the model in the path.
                let in_path = || path.rsplit('/').next()?.split_once(':');
                let script =
                    body["model"].as_str().or_else(|| Some(in_path()?.0)).expect("a model").to_owned();
                own.seen.lock().expect("a lock").push((script.clone(), path.clone()));
                let form = Form {
                    is_messages: path.ends_with("/messages"),
                    is_embedding: path.ends_with("/embeddings"),
                    is_google: path.ends_with("enerateContent"),
                    streaming: body["stream"] == true || path.ends_with("streamGenerateContent"),
                };
                own.answer(&script, form).await
            }
        })
        .await
    }

    pub(super) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().expect("a lock"))
    }

    async fn answer(&self, script: &str, form: Form) -> http::Response<Answer> {
        match script {
            "silent" => std::future::pending().await,
            "held" => {
                self.go.notified().await;
                good(form)
            }
            "held-503" => {
                self.go.notified().await;
                whole(503, error("some_error", "some_code"))
            }
            "pings" => {
                let mut answer = events(format!(": still here\n\n{}", head(form)));
                let go = Arc::clone(&self.go);
                let ping = if form.is_messages {
                    json!({"type": "ping"})
                } else {
                    chunk(&json!({"content": ""}), None)
                };
                answer.body_mut().more = Some(Box::pin(async move {
                    go.notified().await;
                    frames(&[ping])
                }));
                answer.body_mut().stays_open = true;
                answer
            }
            "silent-after-head" if form.streaming => {
                let mut answer = events(head(form));
                answer.body_mut().stays_open = true;
                answer
            }
            "silent-after-head" => std::future::pending().await,
            "cut" => {
                let text = if form.streaming { head(form) } else { "{\"id\"".to_owned() };
                let mut answer = if form.streaming { events(text) } else { whole(200, text) };
                answer.headers_mut().insert("content-length", 4000.into());
                answer
            }
            "error-200" => {
                let error = json!({"error": {"type": "overloaded_error", "code": "503", "message": "no"}});
                let text = format!("event: error\ndata: {error}\n\n");
                if form.streaming { events(text) } else { whole(200, error.to_string()) }
            }
            "empty" if form.streaming => events(String::new()),
            "empty" => whole(200, String::new()),
            "streams-always" => good(Form { streaming: true, ..form }),
            "foreign" => {
                let mut answer = whole(200, "<html>Sign in</html>".to_owned());
                answer.headers_mut().insert("content-type", "text/html".parse().expect("a type"));
                answer
            }
            "overflow" => whole(400, error("invalid_request_error", "context_length_exceeded")),
            "moderation" => whole(400, error("invalid_request_error", "content_policy_violation")),
            status => match status.parse() {
                Ok(status) => whole(status, error("some_error", "some_code")),
                Err(_) => good(form),
            },
        }
    }
}

fn error(kind: &str, code: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "code": code, "message": "no"}}).to_string()
}

fn respond(status: u16, kind: &str, text: String) -> http::Response<Answer> {
    let answer = Answer { text: Some(text), more: None, stays_open: false };
    http::Response::builder().status(status).header("content-type", kind).body(answer).expect("a head")
}

fn whole(status: u16, text: String) -> http::Response<Answer> {
    respond(status, "application/json", text)
}

fn events(text: String) -> http::Response<Answer> {
    respond(200, "text/event-stream", text)
}

/// What of a stream comes before its content.
fn head(form: Form) -> String {
    if form.is_messages {
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": USAGE.0, "output_tokens": 1}});
        frames(&[json!({"type": "message_start", "message": message})])
    } else {
        frames(&[chunk(&json!({"role": "assistant", "content": ""}), None)])
    }
}

fn good(form: Form) -> http::Response<Answer> {
    let (read, written) = USAGE;
    if form.is_embedding {
        let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]);
        let usage = json!({"prompt_tokens": read, "total_tokens": read});
        return whole(200, json!({"object": "list", "model": "m", "data": data, "usage": usage}).to_string());
    }
    if form.is_google {
        let answer = json!({"candidates": [{"content": {"parts": [{"text": "served"}], "role": "model"}, "finishReason": "STOP",
            "index": 0}], "usageMetadata": {"promptTokenCount": read, "candidatesTokenCount": written}, "responseId": "r"});
        return if form.streaming { events(frames(&[answer])) } else { whole(200, answer.to_string()) };
    }
    let messages_usage = json!({"input_tokens": read, "output_tokens": written});
    let chat_usage =
        json!({"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written});
    match (form.is_messages, form.streaming) {
        (true, false) => whole(
            200,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "stop_sequence": null, "content": [{"type": "text", "text": "served"}], "usage": messages_usage})
            .to_string(),
        ),
        (true, true) => {
            let rest = frames(&[
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "served"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": messages_usage}),
                json!({"type": "message_stop"}),
            ]);
            events(head(form) + &rest)
        }
        (false, false) => whole(
            200,
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": chat_usage,
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "served"}}]})
            .to_string(),
        ),
        (false, true) => {
            let mut last = chunk(&json!({}), Some("stop"));
            last["usage"] = chat_usage;
            events(head(form) + &frames(&[chunk(&json!({"content": "served"}), None), last]) + "data: [DONE]\n\n")
        }
    }
}
