//! Tool calls in the chunks of a chat provider, in the standard form: numbered 0, 1, 2 within a choice, with
//! `id`, `type` and `name` once each, because clients join the pieces they read.

use gatehouse_text_protocols::json::{Object, Writer, quoted};
use gatehouse_text_protocols::tools::{self, CallPiece, Taken};
use serde_json::value::RawValue;

/// The calls of one choice so far; the position is the client's number.
#[derive(Default)]
pub(super) struct ToolCalls {
    calls: tools::ToolCalls,
    /// Whether the client has the name, call by call.
    named: Vec<bool>,
    /// Whether it has anything of the arguments, call by call.
    argued: Vec<bool>,
}

impl ToolCalls {
    /// The list of a delta, rewritten, and once all are called what they lack. `None` where neither is there.
    pub(super) fn rewrite_all(
        &mut self,
        calls: Option<Vec<&RawValue>>,
        seed: u64,
        are_called: bool,
    ) -> Option<String> {
        let is_list = calls.is_some();
        let calls = calls.unwrap_or_default();
        let place = tools::places(calls.len());
        let mut all: Vec<String> = Vec::new();
        for (at, raw) in calls.iter().enumerate() {
            let Some(call) = Object::parse(raw.get()) else { continue };
            let mut rest = self.rewrite(&call, place(at), seed, &mut all);
            while let Some(more) = rest {
                rest = Object::parse(&more).and_then(|more| self.rewrite(&more, place(at), seed, &mut all));
            }
        }
        if are_called {
            all.extend(self.without_arguments());
        }
        (is_list || !all.is_empty()).then(|| format!("[{}]", all.join(",")))
    }

    /// Whether it is known of each call what is called.
    pub(super) fn are_named(&self) -> bool {
        self.named.iter().all(|is_named| *is_named)
    }

    /// Entries for the calls that end without arguments, which clients parse: each has none.
    fn without_arguments(&mut self) -> Vec<String> {
        let open: Vec<usize> = (0..self.argued.len()).filter(|at| !self.argued[*at]).collect();
        self.argued.fill(true);
        let entry = |at: usize| format!("{{\"index\":{at},\"function\":{{\"arguments\":\"{{}}\"}}}}");
        open.into_iter().map(entry).collect()
    }

    /// Adds one entry of `tool_calls`, rewritten; the entry of one more call that its arguments go on with. `seed` makes the id
    /// of a call that has none.
    fn rewrite(
        &mut self,
        entry: &Object<'_>,
        place: Option<u64>,
        seed: u64,
        all: &mut Vec<String>,
    ) -> Option<String> {
        let id = entry.string("id").filter(|id| !id.is_empty()).map(|id| id.decoded().into_owned());
        let function = entry.object("function");
        let name = function.as_ref().and_then(|it| it.string("name")).filter(|name| !name.is_empty());
        let said = name.map(|name| name.decoded());
        let arguments = function.as_ref().and_then(|it| it.text("arguments")).unwrap_or_default();
        let Taken { call: position, added, rest } = self.calls.take(&CallPiece {
            number: entry.unsigned("index"),
            place,
            id: id.as_deref(),
            name: said.as_deref(),
            arguments: &arguments,
        });
        // A call that shares the name of the last one.
        let shared = self.calls.name(position).filter(|_| name.is_none() && position == self.named.len());
        let shared = shared.map(quoted);
        let mut out = Writer::new(128);
        out.member("index", &position.to_string());
        if position == self.named.len() {
            self.named.push(false);
            self.argued.push(entry.get("function").is_none());
            let id = self.calls.id(position).map(str::to_owned);
            let id = id.unwrap_or_else(|| format!("call_{seed:016x}_{position}"));
            out.member("id", &quoted(&id));
            out.member("type", entry.string("type").map_or("\"function\"", |kind| kind.quoted()));
        }
        self.argued[position] |= !added.trim().is_empty();
        let named = &mut self.named[position];
        for (member, raw) in entry.iter() {
            match member {
                "index" | "id" | "type" => {}
                "function" => {
                    let Some(function) = &function else { continue };
                    let mut inner = Writer::new(raw.get().len());
                    if let Some(shared) = &shared {
                        inner.member("name", shared);
                    }
                    for (member, raw) in function.iter() {
                        if member == "arguments" && added != arguments {
                            inner.member(member, &quoted(&added));
                        } else if member != "name" || (!*named && name.is_some()) {
                            inner.member(member, raw.get());
                        }
                    }
                    out.member(member, &inner.done());
                }
                _ => out.member(member, raw.get()),
            }
        }
        *named |= name.is_some() || shared.is_some() || entry.get("custom").is_some();
        all.push(out.done());
        rest.map(|rest| with_arguments(entry, function.as_ref(), &rest))
    }
}

/// An entry with other arguments.
fn with_arguments(entry: &Object<'_>, function: Option<&Object<'_>>, arguments: &str) -> String {
    let mut inner = Writer::new(arguments.len() + 64);
    let name = function.and_then(|function| function.get("name"));
    inner.member("name", name.map_or("null", |name| name.get()));
    inner.string("arguments", arguments);
    let mut out = Writer::new(arguments.len() + 128);
    out.members(entry.iter().filter(|(name, _)| *name != "function"));
    out.member("function", &inner.done());
    out.done()
}
