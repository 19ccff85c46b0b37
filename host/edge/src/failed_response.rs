//! How a stream of `POST /v1/responses` ends that fails: `response.failed` with the whole object. It is made of the events
//! that the client has, because only they say what the response was; which error it is, `errors` says.

use gatehouse_model::Sse;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What the client has of a response.
#[derive(Debug, Default)]
pub(crate) struct SentResponse {
    /// Events, and so the number of the next one.
    events: u64,
    /// The response as it began; `None` before the first event.
    began: Option<Value>,
    /// Its finished items.
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Began {
    response: Value,
}

#[derive(Deserialize)]
struct Done {
    item: Box<RawValue>,
}

impl SentResponse {
    /// Takes note of events that go to the client.
    pub(crate) fn add(&mut self, events: &[Sse]) {
        for event in events {
            self.events += 1;
            match event.event.as_deref() {
                Some("response.created") => {
                    self.began = serde_json::from_str(&event.data).ok().map(|began: Began| began.response);
                }
                Some("response.output_item.done") => {
                    self.items.extend(serde_json::from_str(&event.data).ok().map(|done: Done| done.item));
                }
                _ => {}
            }
        }
    }

    /// The name and the data of the last event. Without a response there is none to end: then it is a plain error, which
    /// every client of the protocol reads.
    pub(crate) fn failed(&self, error: &Value) -> (&'static str, Value) {
        let Some(began) = &self.began else {
            return ("error", json!({"type": "error", "sequence_number": self.events, "error": error}));
        };
        let mut response = began.clone();
        response["status"] = "failed".into();
        response["error"] = error.clone();
        let items = self.items.iter().map(|item| serde_json::from_str(item.get()).unwrap_or(Value::Null));
        response["output"] = items.collect::<Vec<Value>>().into();
        let kind = "response.failed";
        (kind, json!({"type": kind, "sequence_number": self.events, "response": response}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_has_what_was_told() {
        let error = json!({"code": "server_error", "message": "no", "type": "bad_gateway", "param": null});
        let mut sent = SentResponse::default();
        let (kind, data) = sent.failed(&error);
        assert_eq!((kind, &data["sequence_number"], &data["error"]), ("error", &json!(0), &error));
        let event = |kind: &str, data: Value| Sse { event: Some(kind.to_owned()), data: data.to_string() };
        let created =
            json!({"response": {"id": "resp_1", "status": "in_progress", "error": null, "output": []}});
        sent.add(&[event("response.created", created), event("response.in_progress", json!({}))]);
        sent.add(&[event("response.output_item.done", json!({"item": {"id": "msg_1"}}))]);
        let (kind, data) = sent.failed(&error);
        let response =
            json!({"id": "resp_1", "status": "failed", "error": error, "output": [{"id": "msg_1"}]});
        assert_eq!(kind, "response.failed");
        assert_eq!(data, json!({"type": kind, "sequence_number": 3, "response": response}));
    }
}
