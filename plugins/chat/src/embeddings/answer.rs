//! The answer to a request for embeddings. What the provider sent keeps its bytes, but for the model's name and vectors
//! in another encoding than the client's.

use gatehouse_sdk::{Answered, Extra, TextFailure, Usage};
use gatehouse_text_protocols::json::{Object, Raw, Writer, quote, quoted};

use super::vector;
use crate::errors;
use crate::state::{EmbeddingsAsked, State};

/// A whole answer, which has no error in it.
pub(crate) fn answer(
    state: &State,
    asked: &EmbeddingsAsked,
    whole: &Object<'_>,
    body: &str,
) -> Result<Answered, TextFailure> {
    let Some(data) = whole.items("data") else {
        return Err(errors::unreadable("it has no `data`", body));
    };
    // Clients pair vectors with inputs by their order.
    if data.len() != asked.inputs {
        let what = format!("it has {} vectors for {} inputs", data.len(), asked.inputs);
        return Err(errors::unreadable(&what, body));
    }
    let mut out = Writer::new(body.len() + 128);
    let (mut has_object, mut has_model) = (false, false);
    for (name, raw) in whole.iter() {
        match name {
            "data" => {
                write_vectors(&data, asked, out.name(name))
                    .ok_or_else(|| errors::unreadable("a vector of it is none", body))?;
            }
            "model" => {
                has_model = true;
                quote(&state.model, out.name(name));
            }
            _ => {
                has_object |= name == "object";
                out.member(name, raw.get());
            }
        }
    }
    // Some compatible servers leave out members that every client expects.
    if !has_object {
        out.member("object", &quoted("list"));
    }
    if !has_model {
        quote(&state.model, out.name("model"));
    }
    Ok(Answered {
        body: out.done(),
        usage: usage(whole),
        counters: Vec::new(),
        output_bytes: 0,
        extra: Extra::new(),
    })
}

/// `None` when an item has no vector.
fn write_vectors(data: &[Raw<'_>], asked: &EmbeddingsAsked, out: &mut String) -> Option<()> {
    out.push('[');
    for (at, raw) in data.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let item = Object::parse(raw.get())?;
        let vector = item.get("embedding")?;
        match vector::converted(vector, asked.encoding)? {
            None => out.push_str(raw.get()),
            Some(converted) => {
                let members = item.iter().map(|(name, raw)| match name {
                    "embedding" => (name, converted.as_str()),
                    _ => (name, raw.get()),
                });
                out.push_str(&members.collect::<Writer>().done());
            }
        }
    }
    out.push(']');
    Some(())
}

/// The tokens of the input; a count of none is no count.
fn usage(whole: &Object<'_>) -> Option<Usage> {
    let usage = whole.object("usage")?;
    let input =
        ["prompt_tokens", "input_tokens", "total_tokens"].iter().find_map(|name| usage.count(name))?;
    (input > 0).then(|| Usage { input, ..Usage::default() })
}
