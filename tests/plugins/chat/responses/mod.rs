//! The surface of responses: requests, whole answers and streams, natively and as the component.

mod logprobs;
mod requests;
mod streams;
mod whole;

use chat::{Chat, RESPONSES};
use gatehouse_sdk::{Answered, Context, Prepared, Protocol, Sse, TextFailure, TextRequest};
use serde_json::{Value, json};

use crate::chat::{Heard, MODEL, both, relayed, reply, written_to};

/// A request with `fields` over a good one.
fn asked(protocol: Protocol, rules: Value, fields: Value) -> TextRequest {
    let body = crate::over(json!({"model": MODEL, "input": "hi"}), fields);
    written_to(RESPONSES, protocol, rules, &body)
}

fn prepared(protocol: Protocol, rules: Value, fields: Value) -> Prepared<Vec<u8>> {
    crate::chat::prepared(asked(protocol, rules, fields))
}

/// The body of the call.
fn sent(protocol: Protocol, fields: Value) -> Value {
    prepared(protocol, json!({}), fields).call.json_body()
}

fn refused(protocol: Protocol, fields: Value) -> (String, String) {
    crate::chat::refusal(asked(protocol, json!({}), fields))
}

fn answered(protocol: Protocol, fields: Value, body: &Value) -> Result<Answered, TextFailure> {
    let state = prepared(protocol, json!({}), fields).state;
    both().answer::<Chat>(&state, &reply(200, &body.to_string()))
}

/// The response object of a whole answer.
fn whole(protocol: Protocol, fields: Value, body: &Value) -> Value {
    let answered = answered(protocol, fields, body).expect("an answer");
    serde_json::from_str(&answered.body).expect("a response is JSON")
}

/// The events of a stream that ended in order, each with its name and its number checked.
fn events(heard: &Heard) -> Vec<Value> {
    assert_eq!((heard.last, &heard.stopped), (true, &None), "{heard:?}");
    let events: Vec<Value> =
        heard.data.iter().map(|data| serde_json::from_str(data).expect("an event is JSON")).collect();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number), "{event}");
    }
    events
}

/// The events of a provider's stream.
fn streamed(protocol: Protocol, mut fields: Value, stream: &[Sse]) -> Vec<Value> {
    fields["stream"] = json!(true);
    let state = prepared(protocol, json!({}), fields).state;
    let heard = relayed(&state, stream, 1);
    for size in 2..stream.len().max(3) {
        assert_eq!(relayed(&state, stream, size), heard, "in pieces of {size}");
    }
    events(&heard)
}

/// A context of one customer.
fn of_customer(name: &str) -> Context {
    Context { customer: name.to_owned(), ..crate::chat::cx() }
}

/// The state of a good request.
pub(super) fn state(fields: Value) -> Vec<u8> {
    prepared(Protocol::Chat, json!({}), fields).state
}
