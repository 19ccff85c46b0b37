//! The scripted provider: the wire of the context image API, spoken by hyper over pipes. What it answers is
//! decided by its book ([`crate::truth`]) and, in rough times, by the dice. It lives in the house's runtime, but
//! its book outlives every life of the house.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Protocol;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::io::DuplexStream;

use crate::clock::Time;
use crate::truth::{Answer, End};
use crate::world::World;

/// Where a connection of the provider leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Submit,
    Poll,
    Delivery,
    /// Texts, see [`crate::speaker`].
    Text(Protocol),
}

/// It hung up.
#[derive(Debug, thiserror::Error)]
#[error("hung up")]
pub(crate) struct HungUp;

type Page = Response<Full<Bytes>>;

/// Answers everything that comes through one pipe.
pub(crate) async fn serve(world: Arc<World>, door: Door, pipe: DuplexStream) {
    let service = service_fn(move |request| answer(Arc::clone(&world), door, request));
    // A pipe that breaks is part of the game.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(pipe), service)
        .await;
}

async fn answer(world: Arc<World>, door: Door, request: Request<Incoming>) -> Result<Page, HungUp> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes();
    if !world.power.step("the provider hears") {
        return Err(HungUp);
    }
    let page = match door {
        Door::Submit => submit(&world, &body).await,
        Door::Poll => poll(&world, head.uri.query().unwrap_or_default()).await,
        Door::Delivery => deliver(&world, head.uri.path()).await,
        Door::Text(_) => Err(HungUp),
    };
    // The last moment before the answer is on its way.
    if world.power.step("the provider answers") { page } else { Err(HungUp) }
}

async fn submit(world: &World, body: &[u8]) -> Result<Page, HungUp> {
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(prompt) = asked["prompt"].as_str() else {
        return Ok(page(422, &json!({"detail": [{"loc": ["body", "prompt"], "msg": "Field required"}]})));
    };
    if let Err(what) = world.book().arrival(prompt) {
        world.fail(what);
    }
    let (answer, job) = world.truth().arrive(prompt, asked["token"].as_str(), world.time.gone());
    world.say(format_args!("provider: {prompt:?} arrives, {answer:?}"));
    let taken = |job: Option<usize>| {
        let id = job.map_or_else(String::new, |job| job.to_string());
        page(
            200,
            &json!({"id": id, "polling_url": format!("http://region.provider.test/v1/get_result?id={id}")}),
        )
    };
    match answer {
        Answer::Take => Ok(taken(job)),
        Answer::Again => {
            world.count("a token came again");
            Ok(taken(job))
        }
        Answer::TakeSlowly(ms) => {
            Time::pause(Duration::from_millis(ms)).await;
            Ok(taken(job))
        }
        Answer::TakeAndBabble => Ok(text(200, "<html>bad gateway</html>")),
        Answer::HangUp | Answer::TakeAndHangUp => Err(HungUp),
        Answer::TooMany(after) => Ok(too_many(after)),
        Answer::Error(status) => Ok(page(status, &json!({"detail": "the provider is not well"}))),
    }
}

async fn poll(world: &World, query: &str) -> Result<Page, HungUp> {
    if let Some(after) = world.truth().weather.storm(world.time.gone()) {
        return Ok(too_many(after));
    }
    let number = query.strip_prefix("id=").and_then(|id| id.parse::<usize>().ok());
    let found = number.and_then(|number| {
        world.truth().jobs.get_mut(number).map(|job| {
            job.polls += 1;
            job.clone()
        })
    });
    let Some(job) = found else {
        return Ok(page(404, &json!({"id": query, "status": "Task not found"})));
    };
    if world.is_rough()
        && let Some(odd) = oddity(world).await
    {
        world.count("a poll was answered oddly");
        return odd;
    }
    let now = world.time.gone();
    let status =
        |word: &str, result: Value| page(200, &json!({"id": query, "status": word, "result": result}));
    if now < job.done {
        // It may say less than it said before.
        let progress = json!(world.dice.below(100) as f64 / 100.0);
        return Ok(page(200, &json!({"id": query, "status": "Pending", "progress": progress})));
    }
    Ok(match world.truth().fate(&job.prompt).end {
        End::Ready => {
            let sample = format!("http://delivery.provider.test/{}.png", number.unwrap_or_default());
            status("Ready", json!({"sample": sample, "seed": 1}))
        }
        End::Empty => status("Ready", json!({})),
        End::Moderated => status("Content Moderated", Value::Null),
        End::Error => status("Error", Value::Null),
        End::Never => status("Pending", Value::Null),
        End::Lost => page(404, &json!({"id": query, "status": "Task not found"})),
    })
}

/// What a poll may also be answered with.
async fn oddity(world: &World) -> Option<Result<Page, HungUp>> {
    Some(match world.dice.below(24) {
        0 => Err(HungUp),
        1 => Ok(page(503, &json!({"detail": "try later"}))),
        2 => Ok(text(200, "{\"status\": \"Rea")),
        3 => Ok(page(404, &json!({"status": "Task not found"}))),
        4 => Ok(too_many(Some(7))),
        5 => Ok(page(200, &json!({"status": "Reasoning", "progress": 0.01}))),
        6 => Ok(page(200, &json!({"status": "Pending", "progress": null}))),
        7 => {
            // Past what the house waits for, or just before.
            Time::pause(world.dice.millis(500..40_000)).await;
            return None;
        }
        _ => return None,
    })
}

async fn deliver(world: &World, path: &str) -> Result<Page, HungUp> {
    let job = path.strip_prefix('/').and_then(|path| path.strip_suffix(".png")?.parse::<usize>().ok());
    let Some(job) = job.filter(|job| world.truth().fetch(*job)) else {
        return Ok(text(403, "<Error>AuthenticationFailed</Error>"));
    };
    if world.is_rough() {
        match world.dice.below(16) {
            0 => return Err(HungUp),
            1 => return Ok(text(200, "<html>busy</html>")),
            2 => Time::pause(world.dice.millis(1_000..30_000)).await,
            _ => {}
        }
    }
    let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    picture.extend(job.to_string().bytes());
    Ok(Response::builder()
        .header("content-type", "image/png")
        .body(Full::new(picture.into()))
        .expect("a valid answer"))
}

fn too_many(after: Option<u64>) -> Page {
    let mut page = page(429, &json!({"detail": "too many tasks in flight"}));
    if let Some(after) = after {
        page.headers_mut().insert("retry-after", after.into());
    }
    page
}

fn page(status: u16, body: &Value) -> Page {
    let body = Full::new(Bytes::from(body.to_string()));
    Response::builder().status(status).header("content-type", "application/json").body(body).expect("valid")
}

fn text(status: u16, body: &'static str) -> Page {
    let body = Full::new(Bytes::from_static(body.as_bytes()));
    Response::builder().status(status).header("content-type", "text/html").body(body).expect("valid")
}
