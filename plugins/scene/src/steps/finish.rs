//! The end of a task: its videos, what is kept for a continuation, and the price of what there is.

use gatehouse_sdk::{Action, Outcome, Product, Step};
use serde_json::{Value, json};

use crate::provider::VideoSource;
use crate::request::{self, Record};
use crate::state::{Fetching, Job, State};

/// Ends the task with videos that are all at hand.
pub(super) fn end(fetching: Fetching) -> Step<State> {
    let Fetching { job, videos: made, uri, .. } = fetching;
    let links = (0..made.len())
        .map(|at| json!({"url": [format!("media:{at}")], "expires_at": format!("expires:{at}")}));
    let public = json!({"videos": links.collect::<Vec<_>>()});
    let mut outcome = Outcome::new(public).private(record(&job, uri, made.len()));
    let videos = u32::try_from(made.len()).unwrap_or(u32::MAX);
    for VideoSource::Inline(source) | VideoSource::Uri(source) in made {
        let film = Product::new(source).mime("video/mp4");
        outcome = outcome.with(match job.kind.hidden_milliseconds {
            0 => film,
            hidden => film.clip(hidden, None),
        });
    }
    if videos < job.kind.samples {
        outcome = outcome.settle(request::charge(job.model, &job.kind, videos));
    }
    job.then(Action::Done(outcome))
}

fn record(job: &Job, uri: Option<String>, videos: usize) -> Value {
    let kind = &job.kind;
    let record = Record {
        model: job.model,
        uri,
        milliseconds: kind.milliseconds,
        hidden_milliseconds: kind.hidden_milliseconds,
        videos,
        aspect: kind.aspect,
        resolution: kind.resolution,
        audio: kind.audio,
        people: kind.people,
    };
    serde_json::to_value(record).unwrap_or(Value::Null)
}
