//! Tool calls in the chunks of a chat provider, in the standard form: numbered 0, 1, 2 within a choice, with
//! `id`, `type` and `name` once each, because clients join the pieces they read.

use gatehouse_text_protocols::json::{Object, Writer, quoted};

/// The calls of one choice so far; the position is the client's number.
#[derive(Default)]
pub(super) struct ToolCalls(Vec<Call>);

struct Call {
    /// The provider's number.
    at: Option<u64>,
    id: String,
    named: bool,
}

impl ToolCalls {
    /// One entry of `tool_calls`, rewritten. `seed` makes the id of a call that has none.
    pub(super) fn rewrite(&mut self, entry: &Object<'_>, seed: u64) -> String {
        let at = entry.unsigned("index");
        let id = entry.string("id").filter(|id| !id.is_empty()).map(|id| id.decoded().into_owned());
        let function = entry.object("function");
        let name = function.as_ref().and_then(|it| it.string("name")).filter(|name| !name.is_empty());
        let position = self.position(at, id.as_deref(), name.is_some());
        let fresh = position.is_none();
        let position = position.unwrap_or_else(|| {
            let id = id.unwrap_or_else(|| format!("call_{seed:016x}_{}", self.0.len()));
            self.0.push(Call { at, id, named: false });
            self.0.len() - 1
        });
        let call = &mut self.0[position];
        let mut out = Writer::new(128);
        out.member("index", &position.to_string());
        if fresh {
            out.member("id", &quoted(&call.id));
            out.member("type", entry.string("type").map_or("\"function\"", |kind| kind.quoted()));
        }
        for (member, raw) in entry.iter() {
            match member {
                "index" | "id" | "type" => {}
                "function" => {
                    let Some(function) = &function else { continue };
                    let mut inner = Writer::new(raw.get().len());
                    for (member, raw) in function.iter() {
                        if member != "name" || (!call.named && name.is_some()) {
                            inner.member(member, raw.get());
                        }
                    }
                    out.member(member, &inner.done());
                }
                _ => out.member(member, raw.get()),
            }
        }
        call.named |= name.is_some();
        out.done()
    }

    /// The call an entry belongs to. Numbers are not reliable: one server numbers every call 0, another sends
    /// a new id with every piece. Only an entry with both a new id and a name begins another call.
    fn position(&self, at: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let by_id = || self.0.iter().rposition(|call| id == Some(call.id.as_str()));
        let found = match (at, id) {
            (Some(_), _) => self.0.iter().rposition(|call| call.at == at),
            (None, Some(_)) => by_id(),
            (None, None) => self.0.len().checked_sub(1),
        }?;
        let other = named && id.is_some_and(|id| id != self.0[found].id);
        if other { by_id() } else { Some(found) }
    }
}
