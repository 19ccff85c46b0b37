//! Which tool call a piece of a chat provider's stream belongs to.
//!
//! Numbers are not reliable: one server numbers every call 0, another leaves the number out, a third sends a new id with
//! every piece. Ids are not either: some servers send none. A piece begins another call under a known number where it has
//! both another id and a name, or another name, or begins an object after that of the call is complete.

/// The calls of one answer so far, in the order they began.
#[derive(Debug, Default)]
pub struct ToolCalls(Vec<Call>);

/// A piece of a call, as the provider writes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallPiece<'p> {
    /// Its `index`.
    pub number: Option<u64>,
    /// Its id.
    pub id: Option<&'p str>,
    /// The function's name.
    pub name: Option<&'p str>,
    /// What it adds to the arguments.
    pub arguments: &'p str,
}

#[derive(Debug)]
struct Call {
    /// The provider's number.
    number: Option<u64>,
    /// The provider's id, once it sent one.
    id: Option<String>,
    /// The function's name, once it sent one.
    name: Option<String>,
    json: JsonNesting,
}

/// Where a piece belongs.
enum Match {
    Known(usize),
    /// A call under that position's number, whose name it shares where it has none of its own.
    Behind(usize),
    New,
}

impl ToolCalls {
    /// The position of the call that a piece belongs to; the number of calls before it is one that the piece begins.
    pub fn find(&mut self, piece: &CallPiece<'_>) -> usize {
        let id = piece.id.filter(|id| !id.is_empty());
        let name = piece.name.filter(|name| !name.is_empty());
        let before = self.0.len();
        let position = match self.matching(piece.number, id, name, piece.arguments) {
            Match::Known(position) => position,
            Match::Behind(position) => self.begin(piece.number, self.0[position].name.clone()),
            Match::New => self.begin(piece.number, None),
        };
        let is_new = before < self.0.len();
        let call = &mut self.0[position];
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        if is_new || call.name.is_none() {
            call.name = name.map(str::to_owned).or_else(|| call.name.take());
        }
        call.json.read(piece.arguments);
        position
    }

    fn begin(&mut self, number: Option<u64>, name: Option<String>) -> usize {
        self.0.push(Call { number, id: None, name, json: JsonNesting::default() });
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
        if id.is_some() && call.id.as_deref() == id {
            return Match::Known(found);
        }
        let other_id = name.is_some() && id.is_some() && call.id.is_some();
        let other_name = name.zip(call.name.as_deref()).is_some_and(|(name, known)| name != known);
        let begins_again = call.json.is_complete() && arguments.trim_start().starts_with('{');
        match by_id() {
            _ if !(other_id || other_name || begins_again) => Match::Known(found),
            Some(known) => Match::Known(known),
            None => Match::Behind(found),
        }
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
                let piece = CallPiece { number: *number, id: *id, name: Some(*name), arguments };
                assert_eq!(calls.find(&piece), *expected, "{server}: piece {at}");
                assert!(
                    !pieces.iter().any(|(piece, _)| piece.2 == "f")
                        || calls.name(0).is_none_or(|name| name == "f")
                );
            }
        }
        let mut calls = ToolCalls::default();
        let piece = |name| CallPiece { name, arguments: "{}", ..CallPiece::default() };
        assert_eq!((calls.find(&piece(Some("f"))), calls.find(&piece(None))), (0, 1));
        assert_eq!(calls.name(1), Some("f"), "a call without a name is one more of the last");
    }
}
