//! One exchange with a provider as the log of a task keeps it.
//!
//! Of each body it keeps the beginning. A call as the plugin wrote it has no credential, a reply was stripped of them,
//! headers are not kept, and the values of queries are left out.

use bytes::Bytes;
use gatehouse_model::{Body, Call, Event, Outage, Part, Payload, Target};
use gatehouse_tasks::ExchangeRecord;

use crate::step::log::excerpt::{LOOKED_AT, excerpt, without_query_values};

/// Bodies up to this are shared until they are written out; of larger ones the beginning is copied.
const SHARED_UP_TO: usize = 64 * 1024;

/// An exchange that is not written out yet.
#[derive(Debug)]
pub(in crate::step) struct NotedExchange {
    provider: String,
    account: String,
    method: String,
    target: Target,
    request: NotedPayload,
    status: Option<u16>,
    outage: Option<Outage>,
    reply: NotedBody,
}

/// The beginning of a body, and all of its bytes where they are in hand.
#[derive(Debug)]
enum NotedBody {
    Bytes { beginning: Bytes, length: u64 },
    Blob(String),
}

#[derive(Debug)]
enum NotedPayload {
    Plain(NotedBody),
    Form(Vec<(String, NotedBody)>),
    Raw(String, NotedBody),
}

impl NotedExchange {
    /// A call that was made through that account; `event` is what the plugin is told of it.
    pub(in crate::step) fn of(account: &str, call: &Call, event: &Event) -> Self {
        let (status, outage, reply) = match event {
            Event::Reply(reply) => (Some(reply.status), None, NotedBody::of(&reply.body)),
            Event::Outage(outage) => (None, Some(*outage), NotedBody::none()),
            _ => (None, None, NotedBody::none()),
        };
        Self {
            provider: call.provider.clone(),
            account: account.to_owned(),
            method: call.method.clone(),
            target: call.target.clone(),
            request: NotedPayload::of(&call.body),
            status,
            outage,
            reply,
        }
    }

    /// Written out for operators.
    pub(in crate::step) fn record(self) -> ExchangeRecord {
        let (request, sent_bytes) = self.request.told();
        let (reply, received_bytes) = self.reply.told();
        ExchangeRecord {
            provider: self.provider,
            account: self.account,
            method: self.method,
            url: match &self.target {
                Target::Path(text) | Target::Url(text) => without_query_values(text),
            },
            status: self.status,
            outage: self.outage.map(|outage| outage.as_str().to_owned()),
            sent_bytes,
            received_bytes,
            request,
            reply,
        }
    }
}

impl NotedBody {
    fn none() -> Self {
        Self::Bytes { beginning: Bytes::new(), length: 0 }
    }

    fn of(body: &Body) -> Self {
        match body {
            Body::Inline(bytes) => Self::bytes(bytes),
            Body::Blob(name) => Self::Blob(name.clone()),
        }
    }

    fn bytes(bytes: &Bytes) -> Self {
        let beginning = if bytes.len() <= SHARED_UP_TO {
            bytes.clone()
        } else {
            Bytes::copy_from_slice(&bytes[..LOOKED_AT + 1])
        };
        Self::Bytes { beginning, length: bytes.len() as u64 }
    }

    fn told(&self) -> (String, u64) {
        match self {
            Self::Bytes { beginning, length } => (excerpt(beginning, *length), *length),
            Self::Blob(name) => (name.clone(), 0),
        }
    }
}

impl NotedPayload {
    fn of(payload: &Payload) -> Self {
        match payload {
            Payload::None => Self::Plain(NotedBody::none()),
            Payload::Json(json) => Self::Plain(NotedBody::bytes(json)),
            Payload::Form(parts) => Self::Form(
                parts.iter().map(|Part { name, data, .. }| (name.clone(), NotedBody::of(data))).collect(),
            ),
            Payload::Raw { mime, data } => Self::Raw(mime.clone(), NotedBody::of(data)),
        }
    }

    fn told(&self) -> (String, u64) {
        match self {
            Self::Plain(body) => body.told(),
            Self::Form(parts) => {
                let mut text = String::new();
                let mut all = 0;
                for (name, body) in parts {
                    let (told, bytes) = body.told();
                    all += bytes;
                    if text.len() < LOOKED_AT {
                        text.push_str(&format!("{name}: {told}\n"));
                    }
                }
                let text = text.trim_end();
                (excerpt(text.as_bytes(), text.len() as u64), all)
            }
            Self::Raw(mime, body) => {
                let (told, bytes) = body.told();
                let text = format!("{mime}: {told}");
                (excerpt(text.as_bytes(), text.len() as u64), bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_told_part_by_part() {
        let part = |name: &str, data: Body| Part { name: name.to_owned(), filename: None, mime: None, data };
        let form = Payload::Form(vec![
            part("prompt", Body::Inline(Bytes::from_static(b"a kite"))),
            part("image", Body::Blob("blob:1".to_owned())),
        ]);
        assert_eq!(NotedPayload::of(&form).told(), ("prompt: a kite\nimage: blob:1".to_owned(), 6));
    }

    #[test]
    fn of_a_large_body_the_beginning_is_kept_and_all_of_it_counted() {
        let large = Body::Inline(Bytes::from(vec![b'x'; SHARED_UP_TO + 1]));
        let noted = NotedBody::of(&large);
        assert!(matches!(&noted, NotedBody::Bytes { beginning, .. } if beginning.len() == LOOKED_AT + 1));
        let (text, bytes) = noted.told();
        assert_eq!(bytes, SHARED_UP_TO as u64 + 1);
        assert!(text.len() < LOOKED_AT && text.starts_with("xxx"));
        let noise = Body::Inline(Bytes::from(vec![0xff; SHARED_UP_TO + 1]));
        assert_eq!(NotedBody::of(&noise).told().0, format!("({} bytes that are no text)", SHARED_UP_TO + 1));
    }
}
