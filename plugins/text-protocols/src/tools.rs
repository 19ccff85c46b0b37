//! Which tool call a piece of a chat provider's stream belongs to.
//!
//! Numbers are not reliable: one server numbers every call 0, another leaves the number out, a third sends a new id with
//! every piece. Ids are not either: some servers send none. A piece begins another call under a known number where it has
//! both another id and a name, or another name, or begins an object after that of the call is complete. Nor is a piece always
//! more of the arguments: some servers repeat all so far in each, or write a fence of Markdown around them.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::broken_json;

/// Where a piece belongs, and what it says there.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken<'p> {
    /// The position of the call; the number of calls before it is one that the piece begins.
    pub call: usize,
    /// What the piece adds to the arguments.
    pub added: Cow<'p, str>,
    /// The arguments of one more call, where the piece goes on with another object: to be taken as a piece of its own.
    pub rest: Option<String>,
}

/// The calls of one answer so far, in the order they began.
#[derive(Debug, Default)]
pub struct ToolCalls(Vec<Call>);

/// A piece of a call, as the provider writes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallPiece<'p> {
    /// Its `index`.
    pub number: Option<u64>,
    /// Where it stands in a list of several, which are as many calls: its number where it has none.
    pub place: Option<u64>,
    /// Its id.
    pub id: Option<&'p str>,
    /// The function's name.
    pub name: Option<&'p str>,
    /// What it adds to the arguments.
    pub arguments: &'p str,
}

#[derive(Debug, Default)]
struct Call {
    /// The provider's number.
    number: Option<u64>,
    /// The provider's id, once it sent one.
    id: Option<String>,
    /// The function's name, once it sent one.
    name: Option<String>,
    json: JsonNesting,
    /// The arguments so far, as far as they are an object.
    text: String,
    /// How far the text of JSON is read that they are written in.
    quoted: Option<Quoted>,
    /// A piece has repeated all before it.
    repeats: bool,
    /// The arguments begin with a fence.
    is_fenced: bool,
}

/// A text of JSON that comes in pieces.
#[derive(Debug, Default)]
struct Quoted {
    /// An escape that is not complete.
    escape: String,
    has_ended: bool,
}

/// Where a piece belongs.
enum Match {
    Known(usize),
    /// A call under that position's number, whose name it shares where it has none of its own.
    Behind(usize),
    New,
}

impl ToolCalls {
    /// The call that a piece belongs to, and what it adds to the arguments. What follows the end of the object adds nothing but
    /// another object, which is another call; the same object once more adds nothing at all.
    pub fn take<'p>(&mut self, piece: &CallPiece<'p>) -> Taken<'p> {
        let call = self.find(piece);
        let (added, rest) = self.0[call].add(piece.arguments);
        Taken { call, added, rest }
    }

    fn find(&mut self, piece: &CallPiece<'_>) -> usize {
        let id = piece.id.filter(|id| !id.is_empty());
        let name = piece.name.filter(|name| !name.is_empty());
        let before = self.0.len();
        // What has no mark at all is more of the call before it, wherever it stands.
        let is_known = |place: &u64| self.0.iter().any(|call| call.number == Some(*place));
        let place = piece.place.filter(|place| id.is_some() || name.is_some() || is_known(place));
        let number = piece.number.or(place);
        let position = match self.matching(number, id, name, piece.arguments) {
            Match::Known(position) => position,
            Match::Behind(position) => self.begin(number, self.0[position].name.clone()),
            Match::New => self.begin(number, None),
        };
        let is_new = before < self.0.len();
        // Two calls of one id would have one result.
        let is_known = self.0.iter().any(|call| id.is_some() && call.id.as_deref() == id);
        let call = &mut self.0[position];
        if call.id.is_none() && !is_known {
            call.id = id.map(str::to_owned);
        }
        if is_new || call.name.is_none() {
            call.name = name.map(str::to_owned).or_else(|| call.name.take());
        }
        position
    }

    fn begin(&mut self, number: Option<u64>, name: Option<String>) -> usize {
        self.0.push(Call { number, name, ..Call::default() });
        self.0.len() - 1
    }

    /// The number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The provider's id of a call.
    #[must_use]
    pub fn id(&self, position: usize) -> Option<&str> {
        self.0.get(position)?.id.as_deref()
    }

    /// The name of a call.
    #[must_use]
    pub fn name(&self, position: usize) -> Option<&str> {
        self.0.get(position)?.name.as_deref()
    }

    fn matching(&self, number: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Match {
        let by_id = || self.0.iter().rposition(|call| id.is_some() && call.id.as_deref() == id);
        let found = match number {
            Some(_) => self.0.iter().rposition(|call| call.number == number),
            None => by_id().or_else(|| self.0.len().checked_sub(1)),
        };
        let Some(found) = found else { return Match::New };
        let call = &self.0[found];
        let again = arguments.trim();
        let is_repeated = call.repeats && again == call.text.trim();
        let begins_again =
            call.json.is_complete() && !is_repeated && again.trim_start_matches('"').starts_with('{');
        if id.is_some() && call.id.as_deref() == id {
            let is_other = begins_again && again != call.text.trim() && call.quoted.is_none();
            return if is_other { Match::Behind(found) } else { Match::Known(found) };
        }
        let other_id = name.is_some() && id.is_some() && call.id.is_some();
        let other_name = name.zip(call.name.as_deref()).is_some_and(|(name, known)| name != known);
        match by_id() {
            _ if !(other_id || other_name || begins_again) => Match::Known(found),
            Some(known) => Match::Known(known),
            None => Match::Behind(found),
        }
    }
}

impl Call {
    /// What a piece adds to the arguments, and the object that it goes on with.
    fn add<'p>(&mut self, arguments: &'p str) -> (Cow<'p, str>, Option<String>) {
        let is_quoted = self.json.is_blank() && arguments.trim_start().starts_with('"');
        if is_quoted {
            self.quoted.get_or_insert_default();
        }
        let piece = match &mut self.quoted {
            Some(quoted) => Cow::Owned(quoted.read(arguments)),
            None => Cow::Borrowed(arguments),
        };
        let meant = if self.json.is_blank() { broken_json::meant_by_piece(&piece) } else { None };
        let piece = self.unfenced(meant.map_or(piece, Cow::Owned));
        let begins = if self.json.is_blank() { piece.trim_start() } else { self.text.trim_start() };
        if !begins.starts_with('{') {
            self.json.read(&piece);
            return (piece, None);
        }
        if self.json.is_complete() {
            let is_again = piece.trim() == self.text.trim();
            let added = if is_again || is_left_over(&piece) { Cow::Borrowed("") } else { piece };
            return (added, None);
        }
        let piece = match unrepeated(&self.text, &piece).map(|added| piece.len() - added.len()) {
            Some(known) => {
                self.repeats = true;
                from(piece, known)
            }
            None => piece,
        };
        let end = self.json.read_object(&piece);
        let behind = piece[end..].trim();
        let goes_on = behind.starts_with('{');
        let kept = if goes_on || is_left_over(behind) { end } else { piece.len() };
        self.text.push_str(&piece[..kept]);
        if goes_on && self.quoted.as_ref().is_some_and(|quoted| quoted.has_ended) {
            self.quoted = None;
        }
        let rest = (goes_on && behind != self.text.trim()).then(|| behind.to_owned());
        let added = match piece {
            Cow::Borrowed(piece) => Cow::Borrowed(&piece[..kept]),
            Cow::Owned(piece) => Cow::Owned(piece[..kept].to_owned()),
        };
        (added, rest)
    }

    /// A piece without the fence that the arguments begin with.
    fn unfenced<'p>(&mut self, piece: Cow<'p, str>) -> Cow<'p, str> {
        if !self.json.is_blank() {
            return piece;
        }
        self.is_fenced |= piece.trim_start().starts_with('`');
        if !self.is_fenced {
            return piece;
        }
        let start = piece.find('{').unwrap_or(piece.len());
        from(piece, start)
    }
}

/// What is behind the first bytes.
fn from(piece: Cow<'_, str>, start: usize) -> Cow<'_, str> {
    match piece {
        Cow::Borrowed(piece) => Cow::Borrowed(&piece[start..]),
        Cow::Owned(piece) => Cow::Owned(piece[start..].to_owned()),
    }
}

/// What a piece adds that begins with all arguments so far, and cannot be more of them. An object may hold one that begins as
/// it does itself: then it is more.
#[must_use]
pub fn unrepeated<'p>(text: &str, piece: &'p str) -> Option<&'p str> {
    let text = text.trim_start();
    let added = piece.trim_start().strip_prefix(text).filter(|_| text.starts_with('{'))?;
    let joined = serde_json::from_str::<serde::de::IgnoredAny>(&format!("{text}{piece}"));
    joined.is_err_and(|error| !error.is_eof()).then_some(added)
}

/// The places of the pieces in a list of so many; of a single one it says nothing.
pub fn places(calls: usize) -> impl Fn(usize) -> Option<u64> {
    move |place| u64::try_from(place).ok().filter(|_| calls > 1)
}

/// The objects of a text of several, each once where one follows itself; `None` for any other text.
#[must_use]
pub fn several_objects(text: &str) -> Option<Vec<&str>> {
    let all = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut all: Vec<&str> = all.map(|raw| raw.map(RawValue::get)).collect::<Result<_, _>>().ok()?;
    if all.len() < 2 || !all.iter().all(|object| object.starts_with('{')) {
        return None;
    }
    all.dedup();
    Some(all)
}

/// Whether a text behind an object is brackets that close nothing, or the end of a fence.
fn is_left_over(text: &str) -> bool {
    text.contains(['}', ']', '`']) && text.trim().bytes().all(|byte| matches!(byte, b'}' | b']' | b'`'))
}

impl Quoted {
    /// What a piece of the text says.
    fn read(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for letter in piece.chars() {
            match (self.escape.is_empty(), letter) {
                _ if self.has_ended => {}
                (true, '\\') => self.escape.push(letter),
                // The first one begins the text.
                (true, '"') => self.has_ended = !out.is_empty(),
                (true, letter) => out.push(letter),
                (false, letter) => {
                    self.escape.push(letter);
                    let text = format!("\"{}\"", self.escape);
                    if let Ok(said) = serde_json::from_str::<String>(&text) {
                        out.push_str(&said);
                        self.escape.clear();
                    } else if self.escape.len() > 12 {
                        self.escape.clear();
                    }
                }
            }
        }
        out
    }
}

/// The nesting of a tool's JSON so far, without the text. Arguments are an object, so the JSON is complete when
/// the outermost bracket closes.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonNesting {
    begun: bool,
    depth: u32,
    quoted: bool,
    escaped: bool,
}

impl JsonNesting {
    /// Reads on.
    pub fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            self.begun |= !byte.is_ascii_whitespace();
            match (self.quoted, byte) {
                (true, _) if self.escaped => self.escaped = false,
                (true, b'\\') => self.escaped = true,
                (_, b'"') => self.quoted = !self.quoted,
                (false, b'{' | b'[') => self.depth = self.depth.saturating_add(1),
                (false, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Reads on up to the end of the object; how many bytes that were.
    pub fn read_object(&mut self, text: &str) -> usize {
        for (at, letter) in text.char_indices() {
            let end = at + letter.len_utf8();
            self.read(&text[at..end]);
            if self.is_complete() {
                return end;
            }
        }
        text.len()
    }

    /// Whether there is nothing yet.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        !self.begun
    }

    /// Whether the object has ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.begun && self.depth == 0 && !self.quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_find_their_call_however_a_server_numbers_them() {
        type Piece = (Option<u64>, Option<&'static str>, &'static str, &'static str);
        let table: [(&str, &[(Piece, usize)]); 12] = [
            (
                "numbered",
                &[
                    ((Some(0), Some("a"), "f", ""), 0),
                    ((Some(1), Some("b"), "f", ""), 1),
                    ((Some(0), None, "", "{}"), 0),
                    ((Some(1), None, "", "{}"), 1),
                ],
            ),
            (
                "every one 0",
                &[
                    ((Some(0), Some("a"), "f", ""), 0),
                    ((Some(0), None, "", ""), 0),
                    ((Some(0), Some("b"), "f", ""), 1),
                    ((Some(0), None, "", ""), 1),
                    ((Some(0), Some("a"), "f", ""), 0),
                ],
            ),
            (
                "without numbers",
                &[
                    ((None, Some("a"), "f", ""), 0),
                    ((None, None, "", ""), 0),
                    ((None, Some("b"), "f", ""), 1),
                    ((None, Some("a"), "", ""), 0),
                ],
            ),
            (
                "a new id with every piece",
                &[
                    ((Some(0), Some("a"), "f", "{"), 0),
                    ((Some(0), Some("b"), "", "\"p\":"), 0),
                    ((Some(0), Some("c"), "", "{}}"), 0),
                ],
            ),
            ("the same without numbers", &[((None, Some("a"), "f", ""), 0), ((None, Some("b"), "", ""), 0)]),
            (
                "an id that comes late",
                &[
                    ((Some(0), None, "", ""), 0),
                    ((Some(0), Some("a"), "f", ""), 0),
                    ((Some(0), Some("b"), "f", ""), 1),
                ],
            ),
            ("empty ids are none", &[((None, Some(""), "f", ""), 0), ((None, Some(""), "f", ""), 0)]),
            (
                "no ids, every one 0",
                &[((Some(0), None, "f", r#"{"p":0}"#), 0), ((Some(0), None, "f", r#"{"p":1}"#), 1)],
            ),
            (
                "no ids, in pieces, other names",
                &[
                    ((Some(0), None, "f", ""), 0),
                    ((Some(0), None, "", r#"{"p":"}"#), 0),
                    ((Some(0), None, "", r#"{"}"#), 0),
                    ((Some(0), None, "g", ""), 1),
                    ((Some(0), None, "", "{}"), 1),
                ],
            ),
            (
                "neither ids nor numbers",
                &[((None, None, "f", "{}"), 0), ((None, None, "g", "{}"), 1), ((None, None, "", ""), 1)],
            ),
            ("nothing but a new beginning", &[((None, None, "f", "{}"), 0), ((None, None, "", "{}"), 1)]),
            ("the name with every piece", &[((Some(0), None, "f", "{"), 0), ((Some(0), None, "f", "}"), 0)]),
        ];
        for (server, pieces) in table {
            let mut calls = ToolCalls::default();
            for (at, ((number, id, name, arguments), expected)) in pieces.iter().enumerate() {
                let piece = CallPiece { number: *number, place: None, id: *id, name: Some(*name), arguments };
                assert_eq!(calls.take(&piece).call, *expected, "{server}: piece {at}");
                assert!(
                    !pieces.iter().any(|(piece, _)| piece.2 == "f")
                        || calls.name(0).is_none_or(|name| name == "f")
                );
            }
        }
        let mut calls = ToolCalls::default();
        let piece = |name| CallPiece { name, arguments: "{}", ..CallPiece::default() };
        assert_eq!((calls.take(&piece(Some("f"))).call, calls.take(&piece(None)).call), (0, 1));
        assert_eq!(calls.name(1), Some("f"), "a call without a name is one more of the last");
    }

    /// Without it a tool runs with two objects as its arguments, or with a text of one.
    #[test]
    fn arguments_are_one_object_however_a_server_writes_them() {
        type Piece = (Option<&'static str>, &'static str);
        type Found = (&'static str, Option<&'static str>);
        let table: [(&str, &[Piece], &[Found]); 13] = [
            (
                "two objects in a piece",
                &[(Some("a"), "{\"p\":0} {\"p\":\"}\"}")],
                &[("{\"p\":0}", Some("a")), ("{\"p\":\"}\"}", None)],
            ),
            (
                "three, cut anywhere",
                &[(Some("a"), "{\"p\":"), (None, "0}{\"p\":1}{\"p\""), (None, ":2}")],
                &[("{\"p\":0}", Some("a")), ("{\"p\":1}", None), ("{\"p\":2}", None)],
            ),
            ("one twice in a piece", &[(Some("a"), "{\"p\":1}{\"p\":1}")], &[("{\"p\":1}", Some("a"))]),
            (
                "two in a text of JSON",
                &[(Some("a"), "\"{\\\"p\\\":0}{\\\"p\\\":1}\"")],
                &[("{\"p\":0}", Some("a")), ("{\"p\":1}", None)],
            ),
            ("plain", &[(Some("a"), "{\"p\":"), (None, "1}")], &[("{\"p\":1}", Some("a"))]),
            (
                "the call again at its end",
                &[(Some("a"), "{\"p\":1}"), (Some("a"), "{\"p\":1}")],
                &[("{\"p\":1}", Some("a"))],
            ),
            (
                "an id twice",
                &[(Some("a"), "{\"p\":1}"), (Some("a"), "{\"p\":2}")],
                &[("{\"p\":1}", Some("a")), ("{\"p\":2}", None)],
            ),
            ("one bracket too many", &[(Some("a"), "{\"p\":1}}")], &[("{\"p\":1}", Some("a"))]),
            (
                "the same in a piece",
                &[(Some("a"), "{\"p\":\"}\"}"), (None, "}")],
                &[("{\"p\":\"}\"}", Some("a"))],
            ),
            (
                "a text of JSON",
                &[(Some("a"), "\"{\\\"p\\\":\\\"\\\\n\\\"}\"")],
                &[("{\"p\":\"\\n\"}", Some("a"))],
            ),
            (
                "the same in pieces",
                &[(Some("a"), "\"{\\"), (None, "\"p\\\""), (None, ":1}\"")],
                &[("{\"p\":1}", Some("a"))],
            ),
            ("no object", &[(Some("a"), "ls -l"), (None, " /")], &[("ls -l /", Some("a"))]),
            ("blanks", &[(Some("a"), ""), (None, " {"), (None, "}\n")], &[(" {}\n", Some("a"))]),
        ];
        for (server, pieces, expected) in table {
            let mut calls = ToolCalls::default();
            let mut read: Vec<String> = Vec::new();
            for (id, arguments) in pieces {
                let mut arguments = Some((*arguments).to_owned());
                while let Some(text) = arguments {
                    let piece = CallPiece {
                        number: Some(0),
                        id: *id,
                        name: Some("f"),
                        arguments: &text,
                        ..CallPiece::default()
                    };
                    let Taken { call, added, rest } = calls.take(&piece);
                    read.resize(read.len().max(call + 1), String::new());
                    read[call].push_str(&added);
                    arguments = rest;
                }
            }
            let found: Vec<_> =
                read.iter().enumerate().map(|(at, text)| (text.as_str(), calls.id(at))).collect();
            assert_eq!(found, expected, "{server}");
        }
    }
}
