//! The text half, both ways.

use gatehouse_model as host;
use gatehouse_sdk::{
    Answered, Chunk, Obstacle, Payload, Prepared, Protocol, Sse, TextFailure, TextRequest, Usage,
};

use super::from_host::call;
use super::to_host::facts;

pub(crate) fn inquiry(request: &TextRequest) -> host::TextRequest {
    host::TextRequest {
        surface: request.surface.clone(),
        body: request.body.clone().into(),
        headers: request
            .headers
            .iter()
            .map(|(name, value)| host::Header { name: name.clone(), value: value.clone() })
            .collect(),
        blobs: request.blobs.iter().map(facts).collect(),
        route: host::TextRoute {
            model: request.route.model.clone(),
            upstream: request.route.upstream.clone(),
            provider: request.route.provider.clone(),
            protocol: match request.route.protocol {
                Protocol::Messages => host::Protocol::Messages,
                Protocol::Chat => host::Protocol::Chat,
            },
            rules: request.route.rules.to_string().into_bytes().into(),
        },
    }
}

/// A body stays text, whether it was handed over as a value or written already.
pub(crate) fn prepared(prepared: host::Prepared) -> Prepared<Vec<u8>> {
    let written = match &prepared.call.body {
        host::Payload::Json(body) => Some(String::from_utf8(body.to_vec()).expect("JSON is UTF-8")),
        _ => None,
    };
    let mut call = call(prepared.call);
    if let Some(written) = written {
        call.body = Payload::Written(written);
    }
    Prepared {
        call,
        streaming: prepared.streaming,
        input_bytes: prepared.input_bytes,
        pictures: prepared.pictures,
        max_output_tokens: prepared.max_output_tokens,
        state: prepared.state,
    }
}

fn usage(usage: host::Usage) -> Usage {
    Usage { input: usage.input, output: usage.output, cached: usage.cached, cache_write: usage.cache_write }
}

pub(crate) fn answered(answered: host::Answered) -> Answered {
    Answered {
        body: String::from_utf8(answered.body).expect("the host hands on JSON only"),
        usage: answered.usage.map(usage),
        output_bytes: answered.output_bytes,
    }
}

pub(crate) fn chunk(chunk: host::Chunk) -> Chunk {
    Chunk {
        send: chunk.send.into_iter().map(|event| Sse { event: event.event, data: event.data }).collect(),
        usage: chunk.usage.map(usage),
        output_bytes: chunk.output_bytes,
        last: chunk.last,
    }
}

pub(crate) fn rejection(no: host::TextFailure) -> TextFailure {
    let obstacle = match no.obstacle {
        host::Obstacle::Invalid => Obstacle::Invalid,
        host::Obstacle::NotFound => Obstacle::NotFound,
        host::Obstacle::TooLarge => Obstacle::TooLarge,
        host::Obstacle::RateLimited => Obstacle::RateLimited,
        host::Obstacle::Account => Obstacle::Account,
        host::Obstacle::Upstream => Obstacle::Upstream,
    };
    TextFailure::new(obstacle, no.message)
}

pub(crate) fn sse(event: &Sse) -> host::Sse {
    host::Sse { event: event.event.clone(), data: event.data.clone() }
}
