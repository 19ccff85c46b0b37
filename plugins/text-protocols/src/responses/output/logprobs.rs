//! Log probabilities of tokens: the entries of a chat completion as a response has them. Pure.

use crate::json::{Object, Raw, Writer};

/// The entries of a response, JSON without brackets; empty without any. What lacks its token or its number is left out.
pub(super) fn entries(of_chat: &[Raw<'_>]) -> String {
    let entries: Vec<String> = of_chat.iter().filter_map(|raw| entry(raw, true)).collect();
    entries.join(",")
}

/// One entry, or one of its alternatives. Some providers leave out the bytes, which clients of responses expect.
fn entry(raw: Raw<'_>, has_alternatives: bool) -> Option<String> {
    let given = Object::parse(raw.get())?;
    let mut out = Writer::new(raw.get().len() + 32);
    out.member("token", given.string("token")?.quoted());
    let bytes = given.get("bytes").filter(|raw| raw.get().starts_with('['));
    out.member("bytes", bytes.map_or("[]", |raw| raw.get()));
    out.member("logprob", given.get("logprob")?.get());
    if has_alternatives {
        let alternatives = given.items("top_logprobs").unwrap_or_default();
        let alternatives: Vec<String> =
            alternatives.into_iter().filter_map(|raw| entry(raw, false)).collect();
        out.member("top_logprobs", &format!("[{}]", alternatives.join(",")));
    }
    Some(out.done())
}
