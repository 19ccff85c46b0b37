//! The text half, both ways.

use gatehouse_model as host;
use gatehouse_sdk::{Answered, Chunk, Inquiry, Opened, Payload, Protocol, Rejection, Sse, Trouble, Usage};

use super::from_host::call;
use super::to_host::facts;

pub(crate) fn inquiry(request: &Inquiry) -> host::Inquiry {
    host::Inquiry {
        surface: request.surface.clone(),
        body: request.body.clone().into_bytes(),
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
pub(crate) fn opened(opened: host::Opened) -> Opened<Vec<u8>> {
    let written = match &opened.call.body {
        host::Payload::Json(body) => Some(String::from_utf8(body.clone()).expect("JSON is UTF-8")),
        _ => None,
    };
    let mut call = call(opened.call);
    if let Some(written) = written {
        call.body = Payload::Written(written);
    }
    Opened {
        call,
        streaming: opened.streaming,
        read: opened.read,
        pictures: opened.pictures,
        most: opened.most,
        state: opened.state,
    }
}

fn usage(usage: host::Usage) -> Usage {
    Usage { input: usage.input, output: usage.output, cached: usage.cached, cache_write: usage.cache_write }
}

pub(crate) fn answered(answered: host::Answered) -> Answered {
    Answered {
        body: String::from_utf8(answered.body).expect("the host hands on JSON only"),
        usage: answered.usage.map(usage),
        written: answered.written,
    }
}

pub(crate) fn chunk(chunk: host::Chunk) -> Chunk {
    Chunk {
        send: chunk.send.into_iter().map(|event| Sse { event: event.event, data: event.data }).collect(),
        usage: chunk.usage.map(usage),
        written: chunk.written,
        last: chunk.last,
    }
}

pub(crate) fn rejection(no: host::Rejection) -> Rejection {
    let trouble = match no.trouble {
        host::Trouble::Invalid => Trouble::Invalid,
        host::Trouble::NotFound => Trouble::NotFound,
        host::Trouble::TooLarge => Trouble::TooLarge,
        host::Trouble::RateLimited => Trouble::RateLimited,
        host::Trouble::Account => Trouble::Account,
        host::Trouble::Upstream => Trouble::Upstream,
    };
    Rejection::new(trouble, no.message)
}

pub(crate) fn sse(event: &Sse) -> host::Sse {
    host::Sse { event: event.event.clone(), data: event.data.clone() }
}
