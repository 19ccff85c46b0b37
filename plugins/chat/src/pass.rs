//! A request for a chat provider: the client's bytes, but for the few fields that concern the route. Unknown
//! fields go along; providers have more of them than anyone can list.

use serde_json::value::RawValue;

use crate::json::{Object, Writer, is_null, quote, quoted};
use crate::open::Order;
use crate::read::Checked;
use crate::request::{Request, Tally};
use crate::thinking;

pub(crate) fn write(request: &Request<'_>, order: &Order<'_>) -> Checked<String> {
    if order.asked.thinks() && !order.rules.thinks() {
        return Err(thinking::unable(&order.asked));
    }
    let body = &request.body;
    let size: usize = body.iter().map(|(name, raw)| name.len() + raw.get().len() + 4).sum();
    let mut out = Writer::new(size + 128);
    let (mut capped, mut options) = (false, false);
    for (name, raw) in body.iter() {
        match name {
            "model" => quote(order.upstream, out.name(name)),
            "messages" => with_bare_base64(raw, &request.tally, out.name(name)),
            "max_tokens" | "max_completion_tokens" => {
                if let Some(cap) = order.cap.filter(|_| !capped) {
                    capped = true;
                    out.member(order.rules.cap.field(), &cap.to_string());
                }
            }
            "temperature" if !order.temperature => {}
            "top_p" if !order.top_p => {}
            "stream_options" if request.streaming && order.rules.include_usage => {
                options = true;
                out.member(name, &counting(raw));
            }
            // The alias chooses; `null` would choose otherwise.
            "reasoning_effort" if is_null(raw) => {}
            _ => out.member(name, raw.get()),
        }
    }
    if let Some(cap) = order.cap.filter(|_| !capped) {
        out.member(order.rules.cap.field(), &cap.to_string());
    }
    if order.asked.alias && order.asked.effort.is_none() {
        out.member("reasoning_effort", &quoted("high"));
    }
    if request.streaming && order.rules.include_usage && !options {
        out.member("stream_options", r#"{"include_usage":true}"#);
    }
    Ok(out.done())
}

/// The client's `stream_options`, with tokens counted.
fn counting(raw: &RawValue) -> String {
    let mut out = Writer::new(raw.get().len() + 24);
    let options = Object::parse(raw.get()).unwrap_or_default();
    for (name, raw) in options.iter().filter(|(name, _)| *name != "include_usage") {
        out.member(name, raw.get());
    }
    out.member("include_usage", "true");
    out.done()
}

/// What was bare base64 before the host cut it out is to be bare again: `"blob:<id>"` would become a `data:`
/// URI, `"blob:<id>:base64"` does not.
fn with_bare_base64(raw: &RawValue, tally: &Tally<'_>, into: &mut String) {
    let json = raw.get();
    let mut done = 0;
    for text in &tally.bare {
        // The place of a string inside the JSON it was read from.
        let start = (text.quoted().as_ptr() as usize).wrapping_sub(json.as_ptr() as usize);
        let end = start.wrapping_add(text.quoted().len() - 1);
        let Some(before) = json.get(done..end) else { continue };
        into.push_str(before);
        into.push_str(":base64");
        done = end;
    }
    into.push_str(&json[done..]);
}
