//! The moment at which a response was completed: a plugin has no clock, so it writes `null` and the host the seconds.

use std::borrow::Cow;

use gatehouse_model::{Sse, UnixMs};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The event that ends a response in order.
const COMPLETED: &str = "response.completed";

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    response: Response<'a>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    completed_at: &'a RawValue,
}

/// The response with its moment; as it is where it was not completed.
pub(in crate::text) fn with_completed_at(response: String, now: UnixMs) -> String {
    let stamped = serde_json::from_str::<Response<'_>>(&response)
        .ok()
        .and_then(|found| stamped(&response, &found, now));
    stamped.unwrap_or(response)
}

/// The same for the response in the last of a stream's events.
pub(in crate::text) fn stamp_last(events: &mut [Sse], now: UnixMs) {
    let Some(last) = events.iter_mut().rfind(|event| event.event.as_deref() == Some(COMPLETED)) else {
        return;
    };
    let stamped = serde_json::from_str::<Event<'_>>(&last.data)
        .ok()
        .and_then(|event| stamped(&last.data, &event.response, now));
    if let Some(stamped) = stamped {
        last.data = stamped;
    }
}

/// `json` with the seconds in place of the `null` that `found`, a part of it, has.
fn stamped(json: &str, found: &Response<'_>, now: UnixMs) -> Option<String> {
    if found.status != "completed" || found.completed_at.get() != "null" {
        return None;
    }
    // The value borrows from `json`, so its address says where it stands.
    let from = (found.completed_at.get().as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
    let (before, rest) = json.split_at_checked(from)?;
    Some(format!("{before}{}{}", now.seconds(), rest.strip_prefix("null")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_790_000_000_999);

    #[test]
    fn only_what_is_completed_gets_a_moment() {
        for (response, expected) in [
            (
                r#"{"id":"r","status":"completed","error":null,"completed_at":null,"output":[null]}"#,
                r#"{"id":"r","status":"completed","error":null,"completed_at":1790000000,"output":[null]}"#,
            ),
            (
                r#"{"completed_at":null,"status":"incomplete"}"#,
                r#"{"completed_at":null,"status":"incomplete"}"#,
            ),
            (r#"{"completed_at":7,"status":"completed"}"#, r#"{"completed_at":7,"status":"completed"}"#),
            (r#"{"status":"completed"}"#, r#"{"status":"completed"}"#),
            ("no json", "no json"),
        ] {
            assert_eq!(with_completed_at(response.to_owned(), NOW), expected);
        }
    }

    #[test]
    fn the_last_event_of_a_stream_gets_it() {
        let event = |name: &str, data: &str| Sse { event: Some(name.to_owned()), data: data.to_owned() };
        let data = r#"{"type":"t","response":{"status":"completed","completed_at":null}}"#;
        let mut events = [event("response.created", data), event(COMPLETED, data), event("after", "{}")];
        stamp_last(&mut events, NOW);
        let stamped = r#"{"type":"t","response":{"status":"completed","completed_at":1790000000}}"#;
        assert_eq!(events.map(|event| event.data), [data, stamped, "{}"]);
    }
}
