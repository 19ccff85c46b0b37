//! Which tool call a piece of a chat provider's stream belongs to.
//!
//! Numbers are not reliable: one server numbers every call 0, another leaves the number out, a third sends a new id with
//! every piece. Only a piece with both another id and a name begins another call under a known number.

/// The calls of one answer so far, in the order they began.
#[derive(Debug, Default)]
pub struct ToolCalls(Vec<Call>);

#[derive(Debug)]
struct Call {
    /// The provider's number.
    number: Option<u64>,
    /// The provider's id, once it sent one.
    id: Option<String>,
}

impl ToolCalls {
    /// The position of the call that a piece belongs to; the number of calls before it is one that the piece begins.
    pub fn find(&mut self, number: Option<u64>, id: Option<&str>, named: bool) -> usize {
        let id = id.filter(|id| !id.is_empty());
        let position = self.known(number, id, named).unwrap_or_else(|| {
            self.0.push(Call { number, id: None });
            self.0.len() - 1
        });
        let call = &mut self.0[position];
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        position
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

    fn known(&self, number: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let by_id = || self.0.iter().rposition(|call| id.is_some() && call.id.as_deref() == id);
        let found = match number {
            Some(_) => self.0.iter().rposition(|call| call.number == number),
            None => by_id().or_else(|| self.0.len().checked_sub(1)),
        }?;
        let other =
            named && id.is_some_and(|id| self.0[found].id.as_deref().is_some_and(|known| known != id));
        if other { by_id() } else { Some(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_find_their_call_however_a_server_numbers_them() {
        type Piece = (Option<u64>, Option<&'static str>, bool);
        let table: [(&str, &[(Piece, usize)]); 7] = [
            (
                "numbered",
                &[
                    ((Some(0), Some("a"), true), 0),
                    ((Some(1), Some("b"), true), 1),
                    ((Some(0), None, false), 0),
                    ((Some(1), None, false), 1),
                ],
            ),
            (
                "every one 0",
                &[
                    ((Some(0), Some("a"), true), 0),
                    ((Some(0), None, false), 0),
                    ((Some(0), Some("b"), true), 1),
                    ((Some(0), None, false), 1),
                    ((Some(0), Some("a"), true), 0),
                ],
            ),
            (
                "without numbers",
                &[
                    ((None, Some("a"), true), 0),
                    ((None, None, false), 0),
                    ((None, Some("b"), true), 1),
                    ((None, Some("a"), false), 0),
                ],
            ),
            (
                "a new id with every piece",
                &[
                    ((Some(0), Some("a"), true), 0),
                    ((Some(0), Some("b"), false), 0),
                    ((Some(0), Some("c"), false), 0),
                ],
            ),
            ("the same without numbers", &[((None, Some("a"), true), 0), ((None, Some("b"), false), 0)]),
            (
                "an id that comes late",
                &[
                    ((Some(0), None, false), 0),
                    ((Some(0), Some("a"), true), 0),
                    ((Some(0), Some("b"), true), 1),
                ],
            ),
            ("empty ids are none", &[((None, Some(""), true), 0), ((None, Some(""), true), 0)]),
        ];
        for (server, pieces) in table {
            let mut calls = ToolCalls::default();
            for (at, ((number, id, named), expected)) in pieces.iter().enumerate() {
                assert_eq!(calls.find(*number, *id, *named), *expected, "{server}: piece {at}");
            }
        }
    }
}
