//! From a Messages request to a call of `generateContent`.

mod config;
mod contents;
mod media;
mod schema;
mod tools;

use gatehouse_sdk::{Call, DialectPrepared, DialectRequest, Framing, Refusal};
use gatehouse_text_protocols::json::{JsonString, Object, Writer, items};
use gatehouse_text_protocols::limits::CALL_TIMEOUT;

use crate::names;
use crate::state::State;
use contents::Contents;

pub(crate) fn prepare(request: &DialectRequest) -> Result<DialectPrepared<State>, Refusal> {
    let Some(body) = Object::parse(&request.body) else {
        let message = "expected a Messages request, got something else".to_owned();
        return Err(Refusal::Invalid { field: None, message });
    };
    let model = Model { name: &request.upstream };
    let contents = Contents::write(&body, model)?;
    let mut out = Writer::new(request.body.len() + 512);
    out.member("contents", &contents.json);
    if let Some(system) = system(&body) {
        out.member("systemInstruction", &system);
    }
    let mut room = schema::MAX_WRITTEN_OUT;
    tools::write(&body, &mut room, &mut out)?;
    let thinks = config::write(&body, model, &mut room, &mut out)?;
    let call = Call::post(request.provider.as_str(), model.path(request.streaming)).written(out.done());
    let state = State::new(&request.upstream, contents.sent, thinks, names::renamed(&body));
    Ok(DialectPrepared::new(call.once().timeout(CALL_TIMEOUT), Framing::Sse, state))
}

/// The provider's model, and what its name tells of it.
#[derive(Clone, Copy)]
pub(crate) struct Model<'a> {
    name: &'a str,
}

impl Model<'_> {
    /// A model before the third generation: it has a budget for its thoughts, and no levels, and checks no signatures.
    pub(crate) fn is_early(self) -> bool {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        ["gemini-1", "gemini-2", "gemini-flash-1", "learnlm-"].iter().any(|early| name.starts_with(early))
    }

    /// One that may be told not to think.
    pub(crate) fn can_stop_thinking(self) -> bool {
        self.is_early() && self.name.contains("flash")
    }

    /// The largest budget for its thoughts that Google takes.
    pub(crate) fn largest_budget(self) -> u64 {
        if self.name.contains("flash") { 24_576 } else { 32_768 }
    }

    fn path(self, streaming: bool) -> String {
        // A tuned model has a name with its collection.
        let model =
            if self.name.contains('/') { self.name.to_owned() } else { format!("models/{}", self.name) };
        let method = if streaming { "streamGenerateContent?alt=sse" } else { "generateContent" };
        format!("/v1beta/{model}:{method}")
    }
}

/// The system prompt, text by text.
fn system(body: &Object<'_>) -> Option<String> {
    let system = body.get("system")?;
    let parts = match JsonString::of(system) {
        Some(text) => vec![text_part(text)],
        None => items(system)?
            .iter()
            .filter_map(|raw| Some(text_part(Object::parse(raw.get())?.string("text")?)))
            .collect(),
    };
    (!parts.is_empty()).then(|| format!("{{\"parts\":[{}]}}", parts.join(",")))
}

/// A part of a text that is JSON already.
fn text_part(text: JsonString<'_>) -> String {
    format!("{{\"text\":{}}}", text.quoted())
}
