//! The answer to a request for embeddings. What the provider sent keeps its bytes, but for the model's name and vectors
//! in another encoding than the client's.

use gatehouse_sdk::{Answered, TextFailure, Usage};
use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::json::{Object, Raw, Writer, quote, quoted};
use gatehouse_text_protocols::usage::{TokenCounts, is_odd};

use super::vector;
use crate::state::{EmbeddingsAsked, State};

/// A whole answer, which has no error in it.
pub(crate) fn answer(
    state: &State,
    asked: &EmbeddingsAsked,
    whole: &Object<'_>,
    body: &str,
) -> Result<Answered, TextFailure> {
    let Some(data) = whole.items("data") else {
        return Err(unreadable("it has no `data`", body));
    };
    // Clients pair vectors with inputs by their order.
    if data.len() != asked.inputs {
        let what = format!("it has {} vectors for {} inputs", data.len(), asked.inputs);
        return Err(unreadable(&what, body));
    }
    let mut out = Writer::new(body.len() + 128);
    let input = input(whole);
    let (mut has_object, mut has_model, mut has_usage) = (false, false, false);
    for (name, raw) in whole.iter() {
        match name {
            "data" => {
                write_vectors(&data, asked, out.name(name))
                    .ok_or_else(|| unreadable("a vector of it cannot be read", body))?;
            }
            // Clients read two whole numbers.
            "usage" if input.is_some() && !whole.object(name).is_some_and(|given| is_standard(&given)) => {}
            "model" => {
                has_model = true;
                quote(&state.model, out.name(name));
            }
            _ => {
                has_object |= name == "object";
                has_usage |= name == "usage";
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
    if let Some(input) = input.filter(|_| !has_usage) {
        out.member("usage", &format!("{{\"prompt_tokens\":{input},\"total_tokens\":{input}}}"));
    }
    Ok(Answered {
        body: out.done(),
        usage: input.map(|input| Usage { input, ..Usage::default() }),
        ..Answered::default()
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
            Some(converted) => out.push_str(&item.with("embedding", &converted)),
        }
    }
    out.push(']');
    Some(())
}

/// The tokens of the input; a count of none is no count. What some servers count as written was read, too.
fn input(whole: &Object<'_>) -> Option<u64> {
    let Usage { input, output, cached, .. } = TokenCounts::of_completion(whole).settled(0).usage();
    Some(input.saturating_add(output).saturating_add(cached)).filter(|input| *input > 0)
}

/// Whether a `usage` has the counts that clients read, as they read them.
fn is_standard(usage: &Object<'_>) -> bool {
    ["prompt_tokens", "total_tokens"].iter().all(|name| usage.count(name).is_some_and(|count| count > 0))
        && !is_odd(usage)
}
