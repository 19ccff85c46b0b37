//! The provider of texts, whole and streamed, in both protocols: the same pipes, its answers out of the truth's
//! book. What a whole answer counts is the same everywhere, so that its price is known.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use gatehouse_model::Protocol;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use crate::clock::{Chance, Time};
use crate::provider::HungUp;
use crate::splits::transcripts;
use crate::world::World;

/// How one request for a text is answered. Where there is a number of events, a body that is no stream breaks off
/// in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Whole,
    /// Whole, over so many milliseconds.
    Slowly(u64),
    /// Hangs up after so many events.
    Cut(usize),
    /// Ends in order after so many events, without the last one.
    Close(usize),
    /// Falls silent after so many events.
    Stall(usize),
    /// Hears it and hangs up.
    Lost,
    /// Answers nonsense.
    Babble,
    /// 429, with `Retry-After` in seconds when there is one.
    TooMany(Option<u64>),
    /// An error of this status.
    Error(u16),
}

impl Speech {
    pub(crate) fn any(dice: &Chance) -> VecDeque<Self> {
        let mut all = VecDeque::new();
        while dice.once_in(3) && all.len() < 3 {
            all.push_back(match dice.below(3) {
                0 => Self::Error(503),
                _ => Self::TooMany([None, Some(1), Some(30)][dice.below(3)]),
            });
        }
        all.push_back(match dice.below(12) {
            0 | 1 => Self::Cut(dice.below(8)),
            2 => Self::Close(dice.below(8)),
            3 => Self::Stall(dice.below(8)),
            4 => Self::Lost,
            5 => Self::Babble,
            6 => Self::Error([400, 401, 500][dice.below(3)]),
            7 | 8 => Self::Slowly(dice.below(30_000) as u64),
            _ => Self::Whole,
        });
        all
    }

    /// Whether nothing was made, so that another account may be asked.
    pub(crate) fn refuses(self) -> bool {
        matches!(self, Self::TooMany(_) | Self::Error(_))
    }

    /// Whether everything was.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::Slowly(_))
    }

    /// Whether there is anything to be paid for: of a stream that breaks off, once it has said something.
    pub(crate) fn delivers(self, speaks: Protocol, streaming: bool) -> bool {
        let begins = match speaks {
            Protocol::Messages => 4,
            Protocol::Chat => 3,
        };
        let cut = matches!(self, Self::Cut(_) | Self::Close(_) | Self::Stall(_));
        self.is_whole() || (cut && streaming && self.events() >= begins)
    }

    /// Events up to where it breaks off.
    fn events(self) -> usize {
        match self {
            Self::Cut(events) | Self::Close(events) | Self::Stall(events) => events,
            _ => usize::MAX,
        }
    }
}

type Answer = Response<UnsyncBoxBody<Bytes, HungUp>>;

/// Answers everything that comes through one pipe.
pub(crate) async fn serve(world: Arc<World>, speaks: Protocol, pipe: DuplexStream) {
    let service = service_fn(move |request| answer(Arc::clone(&world), speaks, request));
    // A pipe that breaks is part of the game.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(pipe), service)
        .await;
}

async fn answer(world: Arc<World>, speaks: Protocol, request: Request<Incoming>) -> Result<Answer, HungUp> {
    let body = request.into_body().collect().await.map_err(|_| HungUp)?.to_bytes();
    if !world.power.step("the provider hears") {
        return Err(HungUp);
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let words = words(&String::from_utf8_lossy(&body));
    let speech = world.truth().speak(&words, world.time.gone());
    world.say(format_args!("provider: {words:?} is asked for, {speech:?}"));
    let answer = match speech {
        Speech::Lost => Err(HungUp),
        Speech::Babble => Ok(page(200, "<html>bad gateway</html>")),
        Speech::Error(status) => {
            Ok(page(status, &json!({"error": {"message": "not well", "type": "x"}}).to_string()))
        }
        Speech::TooMany(after) => {
            let mut page =
                page(429, &json!({"error": {"message": "too many", "type": "rate_limit_error"}}).to_string());
            if let Some(after) = after {
                page.headers_mut().insert("retry-after", after.into());
            }
            Ok(page)
        }
        _ if asked["stream"] == true => Ok(streamed(&world, speaks, speech)),
        speech => whole(speaks, speech).await,
    };
    // The last moment before the answer is on its way.
    if world.power.step("the provider answers") { answer } else { Err(HungUp) }
}

/// What a request is known by: "talk", a number and a semicolon somewhere in it.
fn words(body: &str) -> String {
    let found = body.find("talk ").and_then(|from| body[from..].split(';').next());
    found.unwrap_or_default().to_owned()
}

fn page(status: u16, body: &str) -> Answer {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes())).map_err(|never| match never {});
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(body.boxed_unsync())
        .expect("valid")
}

async fn whole(speaks: Protocol, speech: Speech) -> Result<Answer, HungUp> {
    let text = match speaks {
        Protocol::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "so it is"}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 32, "output_tokens": 37}}),
        Protocol::Chat => json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "so it is"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 32, "completion_tokens": 37, "total_tokens": 69}}),
    }
    .to_string();
    match speech {
        Speech::Slowly(ms) => Time::pause(Duration::from_millis(ms)).await,
        Speech::Cut(_) => return Err(HungUp),
        Speech::Close(_) => return Ok(page(200, &text[..text.len() / 2])),
        Speech::Stall(_) => Time::pause(Duration::from_secs(3_600)).await,
        _ => {}
    }
    Ok(page(200, &text))
}

fn streamed(world: &Arc<World>, speaks: Protocol, speech: Speech) -> Answer {
    let events = transcripts::events(speaks);
    let pace = match speech {
        Speech::Slowly(ms) => ms / events.len() as u64,
        _ => 1,
    };
    let (sender, mut receiver) = mpsc::channel::<Result<Frame<Bytes>, HungUp>>(1);
    let world = Arc::clone(world);
    tokio::spawn(async move {
        for event in events.into_iter().take(speech.events()) {
            Time::pause(Duration::from_millis(pace)).await;
            if !world.power.step("the provider goes on") || sender.send(Ok(Frame::data(event))).await.is_err()
            {
                return;
            }
        }
        match speech {
            Speech::Cut(_) => drop(sender.send(Err(HungUp)).await),
            Speech::Stall(_) => sender.closed().await,
            _ => {}
        }
    });
    let body = StreamBody::new(stream::poll_fn(move |cx| receiver.poll_recv(cx)));
    Response::builder().header("content-type", "text/event-stream").body(body.boxed_unsync()).expect("valid")
}
