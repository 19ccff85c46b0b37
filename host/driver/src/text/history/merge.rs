//! A request with what came before it: which earlier items it names, and its body with them inside. Pure.

use std::collections::HashSet;

use gatehouse_model::Json;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::body::SHOWN;
use crate::errors::SubmitError;

/// What a request says of its conversation. Values of a wrong type are left for the plugin to refuse.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The response that it goes on from.
    pub(super) previous: Option<String>,
    /// Whether its response is to be kept.
    pub(super) store: bool,
    /// Ids of items in its input that stand for earlier ones, in their order, each once.
    pub(super) references: Vec<String>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    previous_response_id: Option<&'a RawValue>,
    store: Option<&'a RawValue>,
}

/// What tells a reference from an item. A reference may come without its type.
#[derive(Deserialize)]
struct ItemHead<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
}

impl<'a> Body<'a> {
    fn read(json: &'a str) -> Result<Self, SubmitError> {
        serde_json::from_str(json)
            .map_err(|error| SubmitError::invalid(format!("the request body cannot be read: {error}")))
    }

    fn items(&self) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.input?.get()).ok()
    }
}

/// The item that a reference stands for.
fn referenced(item: &RawValue) -> Option<String> {
    let head: ItemHead<'_> = serde_json::from_str(item.get()).ok()?;
    let is_reference = match head.kind.as_deref() {
        Some(kind) => kind == "item_reference",
        None => head.role.is_none(),
    };
    head.id.filter(|_| is_reference)
}

impl Wanted {
    /// What a body says.
    ///
    /// # Errors
    /// It cannot be read, or it names an item twice: each time a few bytes would stand for many.
    pub(super) fn of(json: &str) -> Result<Self, SubmitError> {
        let body = Body::read(json)?;
        let items = body.items().unwrap_or_default();
        let previous = body.previous_response_id.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let references: Vec<String> = items.into_iter().filter_map(referenced).collect();
        if let Some(id) = repeated(&references) {
            let id: String = id.chars().take(SHOWN).collect();
            // In the words of OpenAI, whose clients look for them.
            let message = format!(
                "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
            );
            return Err(SubmitError::Invalid { field: Some("input".to_owned()), message });
        }
        Ok(Self { previous, store: body.store.is_none_or(|raw| raw.get() != "false"), references })
    }
}

/// The first of the ids that is there for the second time.
fn repeated(ids: &[String]) -> Option<&String> {
    let mut seen = HashSet::with_capacity(ids.len());
    ids.iter().find(|id| !seen.insert(id.as_str()))
}

/// A request with its conversation.
#[derive(Debug)]
pub(super) struct Merged {
    /// The body, `history` at its end: of two members of one name the last counts.
    pub(super) json: Json,
    /// The request's own items, the earlier ones in place of references; JSON of an array. Empty where the input is none.
    pub(super) input: Vec<u8>,
}

/// Puts `history` (items, JSON without brackets) and the `referenced` items into a body. Without `store` the body says so.
pub(super) fn merge(
    json: &str,
    history: &str,
    referenced_items: &[&str],
    store: bool,
) -> Result<Merged, SubmitError> {
    let body = Body::read(json)?;
    let mut earlier = referenced_items.iter().copied();
    let input = match (body.items(), body.input) {
        (Some(items), _) => {
            let items = items.into_iter().map(|item| match referenced(item) {
                Some(_) => earlier.next().unwrap_or("null"),
                None => item.get(),
            });
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        (None, Some(text)) if text.get().starts_with('"') => {
            format!("[{{\"type\":\"message\",\"role\":\"user\",\"content\":{}}}]", text.get())
        }
        (None, _) => String::new(),
    };
    let mut edits: Vec<(&RawValue, &str)> = Vec::new();
    if let (Some(raw), false) = (body.input, referenced_items.is_empty()) {
        edits.push((raw, &input));
    }
    let mut more = format!(",\"history\":[{history}]");
    match body.store {
        Some(raw) if !store => edits.push((raw, "false")),
        None if !store => more.push_str(",\"store\":false"),
        _ => {}
    }
    edits.sort_unstable_by_key(|(raw, _)| raw.get().as_ptr() as usize);
    let mut out = String::with_capacity(json.len() + more.len() + input.len());
    let mut done = 0;
    for (raw, new) in edits {
        let from = raw.get().as_ptr() as usize - json.as_ptr() as usize;
        out.push_str(&json[done..from]);
        out.push_str(new);
        done = from + raw.get().len();
    }
    let end = json.rfind('}').unwrap_or(json.len());
    out.push_str(&json[done..end]);
    out.push_str(&more);
    out.push('}');
    Ok(Merged { json: out.into(), input: input.into_bytes() })
}

/// The items of an array, JSON without its brackets.
pub(super) fn inner(array: &str) -> &str {
    let array = array.trim();
    array.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn merged(body: &str, history: &str, items: &[&str], store: bool) -> (Value, Value) {
        let merged = merge(body, history, items, store).unwrap();
        let input = serde_json::from_slice(&merged.input).unwrap_or(Value::Null);
        (serde_json::from_str(&merged.json).unwrap_or_else(|error| panic!("{error}: {body}")), input)
    }

    #[test]
    fn what_a_request_wants_is_read() {
        let check = |body: Value, previous: Option<&str>, store: bool, references: &[&str]| {
            let wanted = Wanted::of(&body.to_string()).unwrap();
            assert_eq!((wanted.previous.as_deref(), wanted.store), (previous, store), "{body}");
            assert_eq!(wanted.references, references, "{body}");
        };
        check(json!({"model": "m", "input": "hi"}), None, true, &[]);
        check(json!({"input": "hi", "store": null, "previous_response_id": null}), None, true, &[]);
        check(json!({"store": false, "previous_response_id": "resp_1"}), Some("resp_1"), false, &[]);
        check(json!({"previous_response_id": 7, "store": "no"}), None, true, &[]);
        let input = json!([
            {"type": "item_reference", "id": "rs_1"}, {"id": "msg_1"}, {"type": null, "id": "msg_2"},
            {"role": "user", "content": "x", "id": "msg_3"}, {"type": "message", "id": "msg_4"}, 7,
        ]);
        check(json!({"input": input}), None, true, &["rs_1", "msg_1", "msg_2"]);
    }

    /// Without it a body of a megabyte names a response of a megabyte twenty thousand times.
    #[test]
    fn an_item_is_named_once() {
        let reference = |id: &str| json!({"type": "item_reference", "id": id});
        let long = "x".repeat(300);
        for (input, id) in [
            (json!([reference("msg_1"), {"role": "user", "content": "x"}, reference("msg_1")]), "msg_1"),
            (json!([reference("a"), reference("b"), {"id": "b"}]), "b"),
            (json!([reference(&long), reference(&long)]), &long[..200]),
        ] {
            let found = Wanted::of(&json!({"input": input}).to_string()).unwrap_err();
            let SubmitError::Invalid { field, message } = found else { panic!("{found}") };
            assert_eq!(field.as_deref(), Some("input"));
            let expected = format!(
                "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
            );
            assert_eq!(message, expected);
        }
        // An item that only has the id of another one stands for nothing else.
        let input = json!([reference("msg_1"), {"type": "message", "id": "msg_1"}]);
        assert_eq!(Wanted::of(&json!({"input": input}).to_string()).unwrap().references, ["msg_1"]);
    }

    #[test]
    fn a_body_gets_what_came_before_and_keeps_the_rest() {
        let (body, input) = merged(r#" {"model":"m","input":"h\u0069"} "#, r#"{"a":1}"#, &[], true);
        assert_eq!(body, json!({"model": "m", "input": "hi", "history": [{"a": 1}]}));
        assert_eq!(input, json!([{"type": "message", "role": "user", "content": "hi"}]));

        let text = r#"{"store" : true, "input": [{"id":"x"}, {"role":"user","content":"}"}], "model":"m"}"#;
        let (body, input) = merged(text, "", &[r#"{"b":2}"#], false);
        let items = json!([{"b": 2}, {"role": "user", "content": "}"}]);
        assert_eq!(body, json!({"model": "m", "store": false, "input": items, "history": []}));
        assert_eq!(input, items);

        // A client's own member of that name never counts: the last of two does.
        let own = merge(r#"{"history":[{"role":"system"}],"input":"x"}"#, "", &[], false).unwrap();
        assert!(own.json.ends_with(r#","history":[],"store":false}"#), "{}", &*own.json);
        assert!(merge(r#"{"input":"x","input":"y"}"#, "", &[], true).is_err());
        assert_eq!(inner(" [ 1,2 ] "), "1,2");
        assert_eq!(inner("[]"), "");
    }
}
