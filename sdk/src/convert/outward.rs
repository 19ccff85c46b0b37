//! What a family answers.

use std::time::Duration;

use serde_json::Value;

use crate::bindings::exports::gatehouse::family::{jobs, manifest, text};
use crate::bindings::gatehouse::family::{types, upstream};
use crate::words::millis;
use crate::{
    About, Accepted, Action, Answered, Blame, Body, Call, Charge, Chunk, Failure, Obstacle, Outcome, Part,
    Payload, Prepared, Refusal, Replay, Sse, Stage, Step, Target, TextFailure, Usage, Verdict,
};

pub(crate) fn json(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Milliseconds as the contract counts them, stopping at the largest number.
fn short_millis(span: Duration) -> u32 {
    u32::try_from(millis(span)).unwrap_or(u32::MAX)
}

pub(crate) fn about(
    about: About,
    offers: manifest::Offers,
    state_version: u32,
    reads_state: &[u32],
) -> manifest::About {
    manifest::About {
        family: about.family,
        version: about.version,
        offers,
        models: about
            .models
            .into_iter()
            .map(|model| manifest::Model { id: model.id, aliases: model.aliases, surfaces: model.surfaces })
            .collect(),
        surfaces: about
            .surfaces
            .into_iter()
            .map(|surface| manifest::Surface {
                name: surface.name,
                default_model: surface.default_model,
                schema: json(&surface.schema),
            })
            .collect(),
        providers: about.providers,
        price_keys: about.price_keys,
        state_version,
        reads_state: reads_state.to_vec(),
        self_tests: about
            .self_tests
            .into_iter()
            .map(|test| manifest::SelfTest {
                surface: test.surface,
                body: json(&test.body),
                expect: match test.expect {
                    Verdict::Accepted => manifest::Verdict::Accepted,
                    Verdict::Doomed => manifest::Verdict::Doomed,
                    Verdict::Refused => manifest::Verdict::Refused,
                },
            })
            .collect(),
    }
}

pub(crate) fn refusal(refusal: Refusal) -> types::Refusal {
    match refusal {
        Refusal::Invalid { field, message } => types::Refusal::Invalid((field, message)),
        Refusal::NotFound(message) => types::Refusal::NotFound(message),
        Refusal::Forbidden(message) => types::Refusal::Forbidden(message),
    }
}

pub(crate) fn failure(failure: Failure) -> types::Failure {
    types::Failure {
        blame: match failure.blame {
            Blame::Request => types::Blame::Request,
            Blame::Moderation => types::Blame::Moderation,
            Blame::Upstream => types::Blame::Upstream,
        },
        message: failure.message,
    }
}

fn charge(charge: Charge) -> types::Charge {
    types::Charge { keys: charge.keys, quantity: charge.quantity }
}

fn stage(stage: Stage) -> jobs::Stage {
    match stage {
        Stage::Submitted => jobs::Stage::Submitted,
        Stage::Pending => jobs::Stage::Pending,
        Stage::Processing => jobs::Stage::Processing,
    }
}

pub(crate) fn accepted(accepted: Accepted<Vec<u8>>) -> jobs::Accepted {
    jobs::Accepted {
        model: accepted.model,
        charge: charge(accepted.charge),
        stage: stage(accepted.stage),
        progress: accepted.progress,
        expected_ms: accepted.expected.map(short_millis),
        state: accepted.state.unwrap_or_default(),
        doomed: accepted.doomed.map(failure),
    }
}

fn bytes(body: Body) -> upstream::Bytes {
    match body {
        Body::Inline(bytes) => upstream::Bytes::Inline(bytes),
        Body::Blob(id) => upstream::Bytes::Blob(id),
    }
}

fn part(part: Part) -> upstream::Part {
    upstream::Part { name: part.name, filename: part.filename, mime: part.mime, data: bytes(part.data) }
}

fn call(call: Call) -> upstream::Call {
    upstream::Call {
        provider: call.provider,
        method: call.method,
        target: match call.target {
            Target::Path(path) => upstream::Target::Path(path),
            Target::Url(url) => upstream::Target::Url(url),
        },
        headers: call.headers.into_iter().map(|(name, value)| upstream::Header { name, value }).collect(),
        body: match call.body {
            Payload::None => upstream::Payload::None,
            Payload::Json(body) => upstream::Payload::Json(json(&body)),
            Payload::Written(body) => upstream::Payload::Json(body.into_bytes()),
            Payload::Form(parts) => upstream::Payload::Form(parts.into_iter().map(part).collect()),
        },
        timeout_ms: short_millis(call.timeout),
        replay: match call.replay {
            Replay::Safe => upstream::Replay::Safe,
            Replay::Token => upstream::Replay::Token,
            Replay::Once => upstream::Replay::Once,
        },
        save_body: call.save_body,
    }
}

fn outcome(outcome: Outcome) -> jobs::Outcome {
    jobs::Outcome {
        public: json(&outcome.public),
        private: json(&outcome.private),
        products: outcome
            .products
            .into_iter()
            .map(|product| jobs::Product { source: product.source, mime: product.mime })
            .collect(),
        settle: outcome.settle.map(charge),
    }
}

pub(crate) fn step(step: Step<Vec<u8>>) -> jobs::Step {
    jobs::Step {
        state: step.state,
        stage: stage(step.stage),
        progress: step.progress,
        next: match step.next {
            Action::Call(next) => jobs::Action::Call(call(next)),
            Action::Probe(probes) => jobs::Action::Probe(
                probes
                    .into_iter()
                    .map(|probe| jobs::Probe { source: probe.source, keep: probe.keep })
                    .collect(),
            ),
            Action::Wait(moment) => jobs::Action::Wait(moment.0),
            Action::Done(end) => jobs::Action::Done(outcome(end)),
            Action::Fail(why) => jobs::Action::Fail(failure(why)),
        },
    }
}

pub(crate) fn prepared(prepared: Prepared<Vec<u8>>) -> text::Prepared {
    text::Prepared {
        call: call(prepared.call),
        streaming: prepared.streaming,
        input_bytes: prepared.input_bytes,
        pictures: prepared.pictures,
        max_output_tokens: prepared.max_output_tokens,
        state: prepared.state,
    }
}

fn usage(usage: Usage) -> text::Usage {
    text::Usage {
        input: usage.input,
        output: usage.output,
        cached: usage.cached,
        cache_write: usage.cache_write,
    }
}

pub(crate) fn answered(answered: Answered) -> text::Answered {
    text::Answered {
        body: answered.body.into_bytes(),
        usage: answered.usage.map(usage),
        output_bytes: answered.output_bytes,
    }
}

pub(crate) fn rejection(rejection: TextFailure) -> text::TextFailure {
    text::TextFailure {
        obstacle: match rejection.obstacle {
            Obstacle::Invalid => text::Obstacle::Invalid,
            Obstacle::NotFound => text::Obstacle::NotFound,
            Obstacle::TooLarge => text::Obstacle::TooLarge,
            Obstacle::RateLimited => text::Obstacle::RateLimited,
            Obstacle::Account => text::Obstacle::Account,
            Obstacle::Upstream => text::Obstacle::Upstream,
        },
        message: rejection.message,
    }
}

fn sse(event: Sse) -> text::Sse {
    text::Sse { event: event.event, data: event.data }
}

pub(crate) fn chunk(chunk: Chunk) -> text::Chunk {
    text::Chunk {
        send: chunk.send.into_iter().map(sse).collect(),
        usage: chunk.usage.map(usage),
        output_bytes: chunk.output_bytes,
        last: chunk.last,
    }
}
