//! A chat provider's completions and chunks: texts as texts, arguments as JSON in a text.

use gatehouse_sdk::Sse;

use crate::broken_json;
use crate::failures::NO_PLACE;
use crate::halves::{self, Halves};
use crate::json::{Edits, JsonString, Object, Raw, Writer, items, quoted};
use crate::prefill::Lead;
use crate::standard::{CHAT, Form, Standard};
use crate::tools::several_objects;

use super::ChatClient;
use super::bodies::lifted;
use super::call_names::CallNames;
use super::forms::{self, Forms};
use super::message_pieces::MessagePieces;
use super::plain;
use super::reasons::{self, Reason};
use super::think::{End, Split, Thinker};
use super::vendors;

/// Texts of a message beside its content.
const TEXTS: [&str; 3] = ["reasoning_content", "reasoning", "refusal"];

#[derive(Debug)]
pub(super) struct Chat {
    lead: Lead,
    halves: Halves,
    /// Of the first choice.
    thinker: Thinker,
    client: ChatClient,
    /// The number of the choice that came first.
    first: Option<u64>,
    standard: Standard,
    names: CallNames,
    pieces: MessagePieces,
}

/// The error of an answer that its server did not finish.
pub(super) const BROKE_OFF: &str = r#"{"type":"server_error","message":"the answer was not finished"}"#;

/// The error of an answer with a call that says not what is called.
pub(super) const NAMELESS: &str =
    r#"{"type":"server_error","message":"the model called a tool without a name"}"#;

/// The error of an answer with more than texts and calls, for a client that cannot read it.
fn no_place() -> String {
    let said = "the model answered with a picture, a sound or a file, which has no place in the answer to this request";
    failure(&format!(r#"{{"type":"server_error","code":"{NO_PLACE}","message":"{said}"}}"#))
}

/// Where a part that is no text has what it is.
const PARTS: [&str; 8] =
    ["image_url", "image", "input_image", "audio", "input_audio", "video_url", "file", "inline_data"];

/// How deep parts are looked into. What is deeper is told as it is written.
const MAX_DEPTH: usize = 16;

/// What a text or a list of parts says.
#[derive(Default)]
pub(super) struct Said {
    text: String,
    thought: String,
    /// There is a picture, a sound or a file.
    has_media: bool,
}

/// A message, or a delta of one: which choice it is of, and how that ended.
struct Position<'p> {
    index: u64,
    is_whole: bool,
    finish: Option<&'p str>,
}

impl Position<'_> {
    /// Whether nothing is missing from the message.
    fn is_complete(&self) -> bool {
        self.is_whole && !self.finish.is_some_and(is_cut)
    }
}

impl Chat {
    pub(super) fn new(lead: Lead, client: ChatClient) -> Self {
        let (halves, thinker, standard) = (Halves::default(), Thinker::default(), Standard::new(CHAT));
        let (names, pieces) = (CallNames::default(), MessagePieces::default());
        Self { lead, halves, thinker, client, first: None, standard, names, pieces }
    }

    /// The number of a choice as its client reads it. One answer was asked for: the first that comes, whatever its number, is 0.
    fn number(&mut self, given: u64) -> u64 {
        if self.client.has_several {
            return given;
        }
        match *self.first.get_or_insert(given) {
            first if given == first => 0,
            first if given == 0 => first,
            _ => given,
        }
    }

    /// Whether a whole answer stays as it is for sure.
    pub(super) fn is_plain(&self, body: &str) -> bool {
        self.lead.is_over() && plain::is_completion(body, self.client.has_several)
    }

    pub(super) fn whole(&mut self, body: &str) -> Option<String> {
        let lifted = vendors::chunk(body).or_else(|| lifted(body));
        let shaped = match self.standard.read(lifted.as_deref().unwrap_or(body)) {
            Form::Other(shaped) => Some(shaped),
            Form::Known | Form::Right => lifted,
        };
        let body = shaped.as_deref().unwrap_or(body);
        let standard = forms::standard(body, Forms { is_whole: true, is_legacy: self.client.is_legacy });
        let changed = self.rewrite(standard.as_deref().unwrap_or(body)).and_then(|(data, _)| data);
        changed.or(standard).or(shaped)
    }

    /// See [`super::Incoming::is_at_rest`].
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_settled() && self.halves.is_empty() && self.names.is_empty()
    }

    /// Whether no text and no number of a choice is to be changed for what came before it.
    fn is_settled(&self) -> bool {
        let is_numbered = self.client.has_several || self.first == Some(0);
        self.lead.is_over() && self.thinker.is_over() && is_numbered
    }

    pub(super) fn event(&mut self, event: Sse) -> Vec<Sse> {
        let events = self.in_standard(event);
        self.names.follow(events)
    }

    fn in_standard(&mut self, mut event: Sse) -> Vec<Sse> {
        let mut form = self.standard.read(&event.data);
        // What looks as the one before is where that was. A name may say that it is no part of the answer.
        if form != Form::Known {
            let own = vendors::chunk(&event.data);
            let is_own = own.is_some();
            let unnamed = || event.event.is_none().then(|| lifted(&event.data)).flatten();
            if let Some(lifted) = own.or_else(unnamed) {
                form = self.standard.read(&lifted);
                event = Sse { event: event.event.filter(|_| !is_own), data: lifted };
            }
        }
        let is_known = form == Form::Known && !self.pieces.has_begun();
        if let Form::Other(shaped) = form {
            event.data = shaped;
        }
        if let Some(delta) = (!is_known).then(|| self.pieces.delta(&event.data)).flatten() {
            event.data = delta;
        }
        let is_odd = forms::is_odd(&event.data);
        let has_halves = halves::may_have(&event.data) || !self.halves.is_empty();
        if self.is_settled() && !is_odd && !has_halves {
            return vec![event];
        }
        if event.data.trim() == "[DONE]" {
            let mut events = self.rest();
            events.push(event);
            return events;
        }
        let forms = Forms { is_whole: false, is_legacy: self.client.is_legacy };
        let standard = is_odd.then(|| forms::standard(&event.data, forms)).flatten();
        let event = Sse { data: standard.unwrap_or(event.data), ..event };
        let Some((data, finish)) = self.rewrite(&event.data) else { return vec![event] };
        let mut events = match finish {
            // What is held back comes before the reason.
            Some(finish) if self.lead.holds() || self.thinker.holds() => self.held(is_cut(&finish)),
            _ => vec![],
        };
        events.push(Sse { data: data.unwrap_or(event.data), ..event });
        events
    }

    pub(super) fn end(&mut self) -> Vec<Sse> {
        self.names.end().into_iter().chain(self.rest()).chain(self.pieces.end()).collect()
    }

    fn rest(&mut self) -> Vec<Sse> {
        if self.lead.holds() || self.thinker.holds() { self.held(false) } else { vec![] }
    }

    /// What is held back, as a chunk.
    fn held(&mut self, is_cut: bool) -> Vec<Sse> {
        let text = if self.lead.holds() { self.lead.finish(is_cut) } else { String::new() };
        let Split { thought, text } = self.thinker.take(&text, if is_cut { End::Cut } else { End::Complete });
        let mut delta = Writer::new(64 + text.len() + thought.len());
        for (name, said) in [(TEXTS[0], thought), ("content", text)] {
            if !said.is_empty() {
                delta.string(name, &said);
            }
        }
        let delta = delta.done();
        if delta == "{}" {
            return vec![];
        }
        vec![Sse { event: None, data: format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#) }]
    }

    /// The data where it changes, and the reason of the first choice. `None` where it is no completion.
    fn rewrite(&mut self, data: &str) -> Option<(Option<String>, Option<String>)> {
        let whole = Object::parse(data)?;
        let inner = whole.object("data").filter(|inner| inner.get("choices").is_some());
        let mut edits = Edits::default();
        let (mut has_changed, mut reason) = (false, None);
        for (at, choice) in (0..).zip(inner.as_ref().unwrap_or(&whole).items("choices")?) {
            let choice = Object::parse(choice.get())?;
            // A server between says here that the one behind it has failed.
            if choice.get("error").is_some_and(forms::is_error) {
                return Some((choice.get("error").map(|error| failure(error.get())), None));
            }
            let mut finish = choice.text("finish_reason").filter(|reason| !reason.is_empty());
            match finish.as_deref().map_or(Reason::Standard, reasons::read) {
                Reason::Standard => {}
                Reason::Means(standard) => {
                    if let Some(raw) = choice.get("finish_reason") {
                        edits.replace(raw, quoted(standard));
                    }
                    has_changed = true;
                    finish = Some(standard.into());
                }
                Reason::Failed => return Some((Some(failure(BROKE_OFF)), None)),
            }
            let given = choice.unsigned("index").unwrap_or(at);
            let index = self.number(given);
            if let Some(raw) = choice.get("index").filter(|_| index != given) {
                edits.replace(raw, index.to_string());
                has_changed = true;
            }
            let name = if choice.get("delta").is_some() { "delta" } else { "message" };
            if let Some((raw, message)) = choice.get(name).zip(choice.object(name)) {
                if self.has_no_place(&message) {
                    return Some((Some(no_place()), None));
                }
                let place = Position { index, is_whole: name == "message", finish: finish.as_deref() };
                if place.is_complete() && forms::calls_nothing(&message) {
                    return Some((Some(failure(NAMELESS)), None));
                }
                if let Some(new) = self.message(&message, &place) {
                    edits.replace(raw, new);
                    has_changed = true;
                }
            }
            reason = reason.or_else(|| finish.filter(|_| index == 0).map(std::borrow::Cow::into_owned));
        }
        if !has_changed {
            return Some((None, reason));
        }
        Some((Some(edits.written(serde_json::from_str(data).ok()?)), reason))
    }

    /// Whether a message has a picture, a sound or a file that its client would not get.
    fn has_no_place(&self, message: &Object<'_>) -> bool {
        let is_media = |name: &str| message.get(name).is_some_and(forms::has_media);
        let parts = message.get("content").filter(|raw| raw.get().starts_with(['[', '{']));
        parts.is_some_and(Said::has_media)
            || !self.client.reads_completions && forms::MEDIA.into_iter().any(is_media)
    }

    /// The message in its standard form, if it changes.
    fn message(&mut self, message: &Object<'_>, place: &Position<'_>) -> Option<String> {
        let mut out = Writer::new(256);
        let (mut has_changed, mut thought) = (false, String::new());
        let has_thought = TEXTS[..2].iter().any(|name| message.string(name).is_some_and(|it| !it.is_empty()));
        let has_called = message.items("tool_calls").is_some_and(|calls| !calls.is_empty());
        // A text that comes together with calls stands before them.
        let has_spoken =
            message.get("content").is_some_and(|raw| JsonString::of(raw).is_none_or(|text| !text.is_blank()));
        if place.index == 0 && (has_thought || has_called && !has_spoken) {
            self.thinker.finish();
        }
        for (name, raw) in message.iter() {
            let json = match name {
                "content" if raw.get().starts_with(['[', '{']) => {
                    let mut said = Said::default();
                    said.read(raw);
                    thought = said.thought;
                    let text = self.without_lead(&said.text, place);
                    let split = self.split(text, place);
                    thought += &split.thought;
                    let text = split.text;
                    let is_silent = text.is_empty() && !place.is_whole;
                    has_changed = true;
                    if is_silent {
                        continue;
                    }
                    Some(quoted(&text))
                }
                "content" => {
                    let json = JsonString::of(raw).and_then(|text| self.content(text, place));
                    let json = self.spoken(raw, json, place, &mut thought);
                    if json.is_none() && !thought.is_empty() {
                        has_changed = true;
                        continue;
                    }
                    json.filter(|json| json != raw.get())
                }
                "tool_calls" => self.calls(raw, place),
                "function_call" => self.function(raw, "function_call", place),
                _ if TEXTS.contains(&name) => {
                    JsonString::of(raw).and_then(|text| self.joined(text, name, place))
                }
                _ => None,
            };
            has_changed |= out.changed(name, raw, json.as_deref());
        }
        let says = |name: &str| message.string(name).is_some_and(|text| !text.is_empty());
        if !thought.is_empty() && !TEXTS[..2].iter().any(|name| says(name)) {
            out.string(TEXTS[0], &thought);
        }
        has_changed.then(|| out.done())
    }

    /// A text without the thinking at its beginning; `None` where it stays, or nothing is left.
    fn spoken(
        &mut self,
        raw: Raw<'_>,
        json: Option<String>,
        place: &Position<'_>,
        thought: &mut String,
    ) -> Option<String> {
        if place.index != 0 || self.thinker.is_over() || !self.lead.is_over() {
            return json;
        }
        let Ok(text) = serde_json::from_str::<String>(json.as_deref().unwrap_or_else(|| raw.get())) else {
            return json;
        };
        let split = self.split(text.clone(), place);
        *thought += &split.thought;
        if split.text == text {
            return json;
        }
        let is_silent = split.text.is_empty() && !place.is_whole && !thought.is_empty();
        (!is_silent).then(|| quoted(&split.text))
    }

    fn split(&mut self, text: String, place: &Position<'_>) -> Split {
        if place.index != 0 || self.thinker.is_over() || !self.lead.is_over() {
            return Split { text, ..Split::default() };
        }
        let end = match place.finish {
            Some(reason) if is_cut(reason) => End::Cut,
            None if !place.is_whole => End::No,
            _ => End::Complete,
        };
        self.thinker.take(&text, end)
    }

    fn content(&mut self, text: JsonString<'_>, place: &Position<'_>) -> Option<String> {
        let joined = self.joined(text, "content", place);
        if place.index != 0 || self.lead.is_over() {
            return joined;
        }
        let decoded: String = match &joined {
            Some(joined) => serde_json::from_str(joined).ok()?,
            None => text.decode()?.into_owned(),
        };
        let left = self.without_lead(&decoded, place);
        if left == decoded { joined } else { Some(quoted(&left)) }
    }

    fn without_lead(&mut self, text: &str, place: &Position<'_>) -> String {
        if place.index != 0 {
            return text.to_owned();
        }
        let mut left = self.lead.take(text);
        if place.is_whole || place.finish.is_some() {
            left += &self.lead.finish(place.finish.is_some_and(is_cut));
        }
        left
    }

    /// A text with the half that waits for it, if that changes it.
    fn joined(&mut self, text: JsonString<'_>, name: &str, place: &Position<'_>) -> Option<String> {
        if place.is_whole || (self.halves.is_empty() && !halves::may_have(text.inner())) {
            return None;
        }
        let joined = self.halves.join(&format!("{name} {}", place.index), text.inner());
        (joined != text.inner()).then(|| format!("\"{joined}\""))
    }

    fn calls(&mut self, raw: Raw<'_>, place: &Position<'_>) -> Option<String> {
        let mut edits = Edits::default();
        let mut has_changed = false;
        for (at, raw) in items(raw)?.into_iter().enumerate() {
            let Some(call) = Object::parse(raw.get()) else { continue };
            if let Some(several) = place.is_complete().then(|| several_calls(&call)).flatten() {
                edits.replace(raw, several);
                has_changed = true;
                continue;
            }
            let name = format!("call {}", call.unsigned("index").unwrap_or(at as u64));
            let Some(function) = call.get("function") else { continue };
            if let Some(new) = self.function(function, &name, place) {
                edits.replace(function, new);
                has_changed = true;
            }
        }
        has_changed.then(|| edits.written(raw))
    }

    /// A function whose arguments are a text.
    fn function(&mut self, raw: Raw<'_>, call: &str, place: &Position<'_>) -> Option<String> {
        let function = Object::parse(raw.get())?;
        let nothing = if place.is_whole { "\"{}\"" } else { "\"\"" };
        let is_named = function.get("name").is_some();
        let arguments = match function.iter().find(|(name, _)| *name == "arguments").map(|(_, raw)| raw) {
            None if place.is_whole && is_named => nothing.to_owned(),
            None => return None,
            Some(raw) => match JsonString::of(raw) {
                // Clients parse it.
                Some(text) if is_named && text.is_blank() && place.is_complete() => nothing.to_owned(),
                Some(text) => match place.is_whole.then(|| unwrapped(text, place.is_complete())).flatten() {
                    Some(inner) => quoted(&inner),
                    None => self.joined(text, call, place)?,
                },
                None if matches!(raw.get(), "null" | "[]") => nothing.to_owned(),
                None => quoted(raw.get()),
            },
        };
        let mut out = Writer::new(raw.get().len() + 32);
        out.members(function.iter().filter(|(name, _)| *name != "arguments"));
        out.member("arguments", &arguments);
        Some(out.done())
    }
}

/// Where the text of a part is.
const TEXT_NAMES: [&str; 6] = ["text", "content", "value", "refusal", "summary", "parts"];

/// The kinds of parts.
const KINDS: [&str; 21] = [
    "text",
    "output_text",
    "input_text",
    "refusal",
    "thinking",
    "reasoning",
    "reference",
    "image_url",
    "image",
    "input_image",
    "output_image",
    "audio",
    "input_audio",
    "output_audio",
    "video_url",
    "video",
    "file",
    "input_file",
    "document",
    "document_url",
    "inline_data",
];

/// What a part of another kind, or of none, may have beside its text.
const BESIDE: [&str; 4] = ["type", "index", "role", "annotations"];

impl Said {
    /// Whether a part of a message's content is no text.
    fn has_media(parts: Raw<'_>) -> bool {
        let mut said = Self::default();
        said.read(parts);
        said.has_media
    }

    /// All that a value says, thinking or not.
    pub(super) fn all(raw: Raw<'_>) -> String {
        let mut said = Self::default();
        said.read_within(raw, MAX_DEPTH);
        said.thought + &said.text
    }

    /// A text, a part, or a list of them. Whatever else there is is itself what the model said; only beside texts and parts
    /// it says nothing unless it has a text.
    fn read(&mut self, raw: Raw<'_>) {
        if is_content(raw, MAX_DEPTH) {
            self.read_within(raw, MAX_DEPTH);
        } else {
            self.text.push_str(raw.get());
        }
    }

    fn read_within(&mut self, raw: Raw<'_>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return self.text.push_str(raw.get()) };
        if let Some(text) = JsonString::of(raw) {
            self.text.push_str(&decoded(text));
        } else if let Some(part) = Object::parse(raw.get()) {
            let thinks = part.text("type").is_some_and(|kind| kind == "thinking" || kind == "reasoning");
            if thinks {
                let mut thought = Self::default();
                let names = ["thinking", "reasoning", "text", "content", "summary"];
                if let Some(raw) = names.iter().find_map(|name| part.get(name)) {
                    thought.read_within(raw, depth);
                }
                self.thought.push_str(&thought.text);
                self.thought.push_str(&thought.thought);
            } else if let Some(text) = TEXT_NAMES.iter().find_map(|name| part.get(name)) {
                self.read_within(text, depth);
            } else {
                self.has_media |= PARTS.iter().filter_map(|name| part.get(name)).any(forms::has_media);
            }
        } else {
            items(raw).unwrap_or_default().into_iter().for_each(|raw| self.read_within(raw, depth));
        }
    }
}

/// Whether a value is a text, a part, or a list with one of them.
fn is_content(raw: Raw<'_>, depth: usize) -> bool {
    let is_one = |raw: Raw<'_>| {
        JsonString::of(raw).is_some()
            || Object::parse(raw.get()).is_some_and(|object| is_part(&object, depth))
    };
    if !raw.get().starts_with('[') {
        return is_one(raw);
    }
    let list = items(raw).unwrap_or_default();
    list.is_empty() || list.into_iter().any(is_one)
}

/// Whether an object is a part of a message's content. Any other is data that the model wrote and its server read as JSON.
fn is_part(object: &Object<'_>, depth: usize) -> bool {
    if object.text("type").is_some_and(|kind| KINDS.contains(&kind.as_ref())) {
        return true;
    }
    let mut members = object.iter().filter(|(name, _)| !BESIDE.contains(name));
    match (members.next(), members.next()) {
        (Some((name, raw)), None) if TEXT_NAMES.contains(&name) => match raw.get().as_bytes().first() {
            Some(b'[') => depth.checked_sub(1).is_none_or(|depth| is_content(raw, depth)),
            first => matches!(first, Some(b'"' | b'n')),
        },
        (Some((name, raw)), None) => PARTS.contains(&name) && forms::has_media(raw),
        _ => object.iter().next().is_none(),
    }
}

/// A call whose arguments are several objects as that many calls, JSON; only the first keeps its id.
fn several_calls(call: &Object<'_>) -> Option<String> {
    let function = call.object("function")?;
    let text = function.string("arguments")?.decode()?;
    let objects = several_objects(&text)?;
    let calls = objects.into_iter().enumerate().map(|(at, arguments)| {
        let mut inner = Writer::new(arguments.len() + 64);
        inner.members(function.iter().filter(|(name, _)| *name != "arguments"));
        inner.string("arguments", arguments);
        let mut out = Writer::new(arguments.len() + 128);
        out.members(call.iter().filter(|(name, _)| *name != "function" && (at == 0 || *name != "id")));
        out.member("function", &inner.done());
        out.done()
    });
    Some(calls.collect::<Vec<_>>().join(","))
}

/// The object that arguments are a text of, that an empty list stands for, or that is plainly meant where nothing was cut.
fn unwrapped(text: JsonString<'_>, is_complete: bool) -> Option<String> {
    let inner = text.inner().trim();
    if inner == "[]" {
        return Some("{}".to_owned());
    }
    let decoded = text.decode()?;
    if inner.starts_with("\\\"") {
        let inner: String = serde_json::from_str(decoded.trim()).ok()?;
        return Object::parse(inner.trim()).map(|_| inner.trim().to_owned());
    }
    is_complete.then(|| broken_json::meant(&decoded)).flatten()
}

/// The text, its single halves marked as lost.
fn decoded(text: JsonString<'_>) -> String {
    let mended = halves::without_halves(text.quoted());
    serde_json::from_str(mended.as_deref().unwrap_or_else(|| text.quoted())).unwrap_or_default()
}

/// An answer, or an event, that is an error.
fn failure(error: &str) -> String {
    format!("{{\"error\":{error}}}")
}

/// Whether the answer was cut by its cap.
fn is_cut(reason: &str) -> bool {
    matches!(reason, "length" | "max_tokens")
}
