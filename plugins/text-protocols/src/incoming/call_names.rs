//! The name of a call that a chat provider's stream has in pieces: held back until the name is complete.
//!
//! A piece of a stream that begins a call and has none of its arguments may have a part of its name. The next piece of the same
//! call goes on with the name, repeats it, or leaves it out; anything else ends it. Clients read a name once.

use gatehouse_sdk::Sse;

use crate::json::{Edits, Object, Raw, is_null, items, quoted};

/// The name under way.
#[derive(Debug, Default)]
pub(super) struct CallNames(Option<Held>);

/// A chunk with the beginning of a name.
#[derive(Debug)]
struct Held {
    chunk: Sse,
    choice: Option<u64>,
    number: Option<u64>,
    id: Option<String>,
    name: String,
}

/// What a chunk says of its only call.
struct Piece {
    choice: Option<u64>,
    number: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    /// It has nothing of the arguments, and does not end the answer.
    is_name_alone: bool,
    /// Nothing but the name stands in it.
    is_bare: bool,
}

impl CallNames {
    /// Whether nothing is held back.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The next chunks, and the one that was held back before them.
    pub(super) fn follow(&mut self, chunks: Vec<Sse>) -> Vec<Sse> {
        if self.0.is_none() && !chunks.iter().any(may_call) {
            return chunks;
        }
        chunks.into_iter().flat_map(|chunk| self.take(chunk)).collect()
    }

    fn take(&mut self, chunk: Sse) -> Vec<Sse> {
        let piece = may_call(&chunk).then(|| only_call(&chunk.data)).flatten();
        let Some(mut held) = self.0.take() else { return self.begin(chunk, piece) };
        let Some(piece) = piece.filter(|piece| held.is_same_call(piece)) else {
            let mut all = vec![held.written()];
            all.extend(self.take(chunk));
            return all;
        };
        let Piece { name, id, is_name_alone, is_bare, .. } = piece;
        if let Some(name) = &name {
            held.name = joined(&held.name, name);
        }
        if is_name_alone && is_bare && (id.is_none() || id == held.id) {
            self.0 = Some(held);
            return vec![];
        }
        let data = name.and_then(|_| with_name(&chunk.data, &held.name)).unwrap_or(chunk.data);
        vec![held.written(), Sse { data, ..chunk }]
    }

    /// What is held back at the end of a stream.
    pub(super) fn end(&mut self) -> Option<Sse> {
        self.0.take().map(Held::written)
    }

    fn begin(&mut self, chunk: Sse, piece: Option<Piece>) -> Vec<Sse> {
        match piece {
            Some(Piece { choice, number, id, name: Some(name), is_name_alone: true, .. }) => {
                self.0 = Some(Held { chunk, choice, number, id, name });
                vec![]
            }
            _ => vec![chunk],
        }
    }
}

impl Held {
    fn is_same_call(&self, piece: &Piece) -> bool {
        let is_other_id = piece.id.is_some() && piece.id != self.id;
        // A server that marks no call sends whole names: another one is another call.
        let is_marked = self.number.is_some() || self.id.is_some();
        let is_other_name = piece.name.as_ref().is_some_and(|name| *name != self.name);
        if !is_marked && is_other_name {
            return false;
        }
        (piece.choice, piece.number) == (self.choice, self.number) && !(is_other_id && piece.name.is_some())
    }

    fn written(self) -> Sse {
        let data = with_name(&self.chunk.data, &self.name).unwrap_or(self.chunk.data);
        Sse { data, ..self.chunk }
    }
}

/// A name and what a piece says of it: the same again, all so far and more, or more.
fn joined(name: &str, piece: &str) -> String {
    match piece {
        _ if piece == name => name.to_owned(),
        _ if piece.starts_with(name) => piece.to_owned(),
        _ => format!("{name}{piece}"),
    }
}

fn may_call(chunk: &Sse) -> bool {
    chunk.data.contains("\"tool_calls\"")
}

/// The only call of a chunk's only choice.
fn call_of<'c>(chunk: &Object<'c>) -> Option<(Object<'c>, Raw<'c>)> {
    let [choice] = chunk.items("choices")?[..] else { return None };
    let choice = Object::parse(choice.get())?;
    let [call] = items(choice.object("delta")?.get("tool_calls")?)?[..] else { return None };
    Some((choice, call))
}

fn only_call(chunk: &str) -> Option<Piece> {
    let chunk = Object::parse(chunk)?;
    let (choice, call) = call_of(&chunk)?;
    let delta = choice.object("delta")?;
    let call = Object::parse(call.get())?;
    let function = call.object("function")?;
    let said =
        |text: Option<std::borrow::Cow<'_, str>>| text.map(|it| it.into_owned()).filter(|it| !it.is_empty());
    // Arguments of another name than the usual one are arguments all the same.
    let is_bare = |object: &Object<'_>, known: &[&str]| {
        object.iter().all(|(name, raw)| known.contains(&name) || matches!(raw.get(), "null" | "\"\""))
    };
    Some(Piece {
        choice: choice.unsigned("index"),
        number: call.unsigned("index"),
        id: said(call.text("id")),
        name: said(function.text("name")),
        is_name_alone: choice.get("finish_reason").is_none_or(|raw| matches!(raw.get(), "null" | "\"\""))
            && is_bare(&function, &["name"]),
        is_bare: is_bare(&delta, &["role", "tool_calls"])
            && is_bare(&call, &["index", "id", "type", "function"])
            && chunk.get("usage").is_none_or(is_null),
    })
}

/// The chunk with that name of its call; `None` where it has it.
fn with_name(chunk: &str, name: &str) -> Option<String> {
    let (_, call) = call_of(&Object::parse(chunk)?)?;
    let said = Object::parse(call.get())?.object("function")?.get("name")?;
    let name = quoted(name);
    if said.get() == name {
        return None;
    }
    let mut edits = Edits::default();
    edits.replace(said, name);
    Some(edits.written(serde_json::from_str(chunk).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Without it a name in two pieces is two calls, and a client is told to run tools that it does not have.
    #[test]
    fn a_name_in_pieces_is_one_name() {
        type Piece = (Option<u64>, Option<&'static str>, Option<&'static str>, Option<&'static str>);
        type Case<'c> = (&'c str, &'c [Piece], &'c [(Option<u64>, &'c str)]);
        let table: [Case<'_>; 11] = [
            (
                "in two",
                &[
                    (Some(0), Some("a"), Some("get_"), None),
                    (Some(0), None, Some("weather"), None),
                    (Some(0), None, None, Some("{}")),
                ],
                &[(Some(0), "get_weather")],
            ),
            (
                "with blank arguments and the id again",
                &[
                    (Some(0), Some("a"), Some("get_"), Some("")),
                    (Some(0), Some("a"), Some("weather"), Some("")),
                ],
                &[(Some(0), "get_weather")],
            ),
            (
                "the rest with the arguments",
                &[(Some(0), Some("a"), Some("get_"), None), (Some(0), None, Some("weather"), Some("{}"))],
                &[(Some(0), "get_weather")],
            ),
            (
                "in four, without an id",
                &[
                    (Some(0), None, Some("g"), None),
                    (Some(0), None, Some("et_"), None),
                    (Some(0), None, Some("we"), None),
                    (Some(0), None, Some("a"), None),
                ],
                &[(Some(0), "get_wea")],
            ),
            (
                "repeated",
                &[
                    (Some(0), Some("a"), Some("f"), None),
                    (Some(0), Some("a"), Some("f"), Some("{")),
                    (Some(0), Some("a"), Some("f"), Some("}")),
                ],
                &[(Some(0), "f")],
            ),
            (
                "all so far",
                &[(Some(0), Some("a"), Some("ge"), None), (Some(0), Some("a"), Some("get"), None)],
                &[(Some(0), "get")],
            ),
            (
                "empty",
                &[(Some(0), Some("a"), Some("f"), None), (Some(0), None, Some(""), Some("{}"))],
                &[(Some(0), "f")],
            ),
            (
                "another number",
                &[(Some(0), Some("a"), Some("f"), None), (Some(1), None, Some("g"), None)],
                &[(Some(0), "f"), (Some(1), "g")],
            ),
            (
                "another id",
                &[(Some(0), Some("a"), Some("f"), None), (Some(0), Some("b"), Some("g"), None)],
                &[(Some(0), "f"), (Some(0), "g")],
            ),
            (
                "without any mark",
                &[(None, None, Some("f"), None), (None, None, Some("g"), None)],
                &[(None, "f"), (None, "g")],
            ),
            (
                "without any mark, repeated",
                &[(None, None, Some("f"), None), (None, None, Some("f"), Some("{}"))],
                &[(None, "f")],
            ),
        ];
        for (server, pieces, expected) in table {
            let mut names = CallNames::default();
            let mut events = vec![];
            for (index, id, name, arguments) in pieces {
                let mut call = json!({"function": {}});
                if let Some(index) = index {
                    call["index"] = json!(index);
                }
                for (member, value) in [("name", name), ("arguments", arguments)] {
                    if let Some(value) = value {
                        call["function"][member] = json!(value);
                    }
                }
                if let Some(id) = id {
                    call["id"] = json!(id);
                }
                let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]});
                events.extend(names.take(Sse { event: None, data: chunk.to_string() }));
            }
            events.extend(names.end());
            let mut found: Vec<(Option<u64>, String)> = vec![];
            for event in events {
                let event: Value = serde_json::from_str(&event.data).expect("JSON");
                let call = &event["choices"][0]["delta"]["tool_calls"][0];
                if let Some(name) = call["function"]["name"].as_str().filter(|name| !name.is_empty()) {
                    found.push((call["index"].as_u64(), name.to_owned()));
                }
            }
            found.dedup();
            let expected: Vec<_> = expected.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
            assert_eq!(found, expected, "{server}");
        }
    }

    /// What a chunk says beside a piece of a name reaches the client, and a name belongs to its own choice.
    #[test]
    fn nothing_beside_a_name_is_lost() {
        let chunk = |choice: u64, delta: &Value| {
            let data = json!({"choices": [{"index": choice, "delta": delta}]}).to_string();
            Sse { event: None, data }
        };
        let call = |more: Value| {
            let mut call = json!({"index": 0, "function": {"name": "f", "arguments": ""}});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            call
        };
        let begun = json!({"tool_calls": [call(json!({"id": "a"}))]});
        for (delta, wanted) in [
            (json!({"content": "Hi", "tool_calls": [call(json!({}))]}), "Hi"),
            (json!({"reasoning_content": "hm", "tool_calls": [call(json!({}))]}), "hm"),
            (json!({"tool_calls": [call(json!({"extra_content": {"signature": "sig"}}))]}), "sig"),
        ] {
            let mut names = CallNames::default();
            let events = [names.take(chunk(0, &begun)), names.take(chunk(0, &delta))].concat();
            assert!(events.iter().any(|event| event.data.contains(wanted)), "{delta}");
            assert_eq!(events.len(), 2, "{delta}");
        }
        let mut names = CallNames::default();
        let own = json!({"tool_calls": [call(json!({}))]});
        let mut events = [names.take(chunk(0, &own)), names.take(chunk(1, &own))].concat();
        events.extend(names.end());
        assert_eq!(events.len(), 2, "a call of another choice");
    }
}
