//! Google's API as a [`TextProtocol`]: routes, keys, limits, headers.

use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::errors::{self, Gemini, invalid};
use super::request::{self, Details};
use super::write;
use crate::text::answer::seed::IdForm;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::{Checked, TextProtocol, Written};
use crate::text::markers::Protocol;
use crate::text::record::Usage;
use crate::text::refusal::Refusal;
use crate::text::request_log::RequestLog;

/// The model.
pub(super) const MODEL: &str = "gemini-sim";

impl TextProtocol for Gemini {
    /// Whether a stream is asked for.
    type Route = bool;
    type Details = Details;

    const PROTOCOL: Protocol = Protocol::All;
    const MAX_BODY_BYTES: usize = 20 << 20;
    const REQUEST_ID: IdForm = IdForm { prefix: "", chars: 16 };
    const ANSWER_ID: IdForm = IdForm { prefix: "", chars: 22 };
    const ERROR_EVENT: Option<&'static str> = None;

    fn own_key(headers: &HeaderMap) -> Option<&str> {
        headers.get("x-goog-api-key").map(|value| value.to_str().unwrap_or_default())
    }

    fn odd_event() -> Event {
        let hint = json!({ "hint": { "of": ["nothing"] } });
        Event { name: None, data: hint.to_string(), kind: EventKind::Frame }
    }

    fn route(head: &Parts) -> Result<bool, Refusal> {
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let called = path.strip_prefix("/v1beta/models/").and_then(|rest| rest.split_once(':'));
        let Some((model, method)) = called.filter(|_| head.method == Method::POST) else {
            return Err(Refusal::new(404, "NOT_FOUND", "Requested entity was not found."));
        };
        if model != MODEL {
            return Err(errors::unknown_model(model));
        }
        match method {
            "generateContent" => Ok(false),
            "streamGenerateContent" if query == "alt=sse" => Ok(true),
            "streamGenerateContent" => {
                Err(invalid("Invalid value at 'alt': this simulation streams with alt=sse alone."))
            }
            _ => Err(errors::unknown_model(model)),
        }
    }

    fn check(stream: &bool, body: &Value, _: usize) -> Result<Checked<Self>, Refusal> {
        request::check(body, *stream)
    }

    fn bill_input(request: &Checked<Self>, _: &mut RequestLog, _: u64) -> Usage {
        Usage { input: request.details.prompt_tokens, ..Usage::default() }
    }

    fn write(answer: &Written<'_, Self>) -> (Value, Vec<Event>) {
        (write::whole(answer), write::events(answer))
    }

    /// A client needs none of these headers.
    fn headers(request_id: String, _: u64) -> Vec<(&'static str, String)> {
        let fixed = [
            ("server", "scaffolding on HTTPServer2"),
            ("server-timing", "gfet4t7; dur=137"),
            ("vary", "Origin"),
        ];
        let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
        [("x-gemini-trace", request_id)].into_iter().chain(fixed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::refusal::ErrorTable as _;

    /// Without it a dialect that calls another path would be answered all the same.
    #[test]
    fn a_path_says_what_is_asked_for() {
        for (uri, expected) in [
            ("/v1beta/models/gemini-sim:generateContent", Ok(false)),
            ("/v1beta/models/gemini-sim:streamGenerateContent?alt=sse", Ok(true)),
            ("/v1beta/models/gemini-sim:streamGenerateContent", Err(400)),
            ("/v1beta/models/gemini-other:generateContent", Err(404)),
            ("/v1/models/gemini-sim:generateContent", Err(404)),
        ] {
            let request = http::Request::post(uri).body(()).expect("a request");
            let found = Gemini::route(&request.into_parts().0).map_err(|refusal| refusal.status);
            assert_eq!(found, expected, "{uri}");
        }
        assert_eq!(Gemini::wrong_key(None, false).status, 403);
    }
}
