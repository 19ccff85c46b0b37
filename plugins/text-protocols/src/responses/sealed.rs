//! `encrypted_content` of a reasoning item: a thinking block of a Messages provider, as the client carries it back.
//!
//! ```text
//! gh1.<checksum>.<base64 of {"customer", "upstream", "block"}>
//! ```
//! The block is signed by its provider, which refuses one that was altered; its text is what the client reads in the
//! summary anyway. So it needs no secrecy of its own. A damaged one, one of another customer or model, and one that another
//! gateway made is dropped without a word: the model then goes on without that thinking. The dots keep it from looking
//! like an embedded file.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::json::{Object, Writer, quote};
use crate::tool_names::digest;

const VERSION: &str = "gh1";

/// Whose thinking it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'o> {
    /// The host's name of the customer.
    pub(super) customer: &'o str,
    /// The provider's name of the model.
    pub(super) upstream: &'o str,
}

/// `block` is JSON of a thinking block.
pub(super) fn seal(owner: Owner<'_>, block: &str) -> String {
    let mut json = Writer::new(block.len() + 128);
    quote(owner.customer, json.name("customer"));
    quote(owner.upstream, json.name("upstream"));
    json.member("block", block);
    let payload = URL_SAFE_NO_PAD.encode(json.done());
    // Against damage, not against forgery.
    format!("{VERSION}.{:016x}.{payload}", digest(&payload))
}

/// The block, if this owner's was sealed in it and nothing is damaged.
pub(super) fn open(owner: Owner<'_>, sealed: &str) -> Option<String> {
    let (sum, payload) = sealed.strip_prefix(VERSION)?.strip_prefix('.')?.split_once('.')?;
    if u64::from_str_radix(sum, 16).ok()? != digest(payload) {
        return None;
    }
    let json = String::from_utf8(URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    let content = Object::parse(&json)?;
    let is_own = content.text("customer")? == owner.customer && content.text("upstream")? == owner.upstream;
    let block = content.object("block").filter(|_| is_own)?;
    let is_thinking = matches!(block.text("type")?.as_ref(), "thinking" | "redacted_thinking");
    is_thinking.then(|| content.get("block").map(|raw| raw.get().to_owned())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;

    #[test]
    fn only_its_owner_opens_it_and_only_undamaged() {
        let owner = Owner { customer: "c", upstream: "m" };
        let sealed = seal(owner, BLOCK);
        assert_eq!(open(owner, &sealed).as_deref(), Some(BLOCK));
        assert_eq!(open(Owner { customer: "d", ..owner }, &sealed), None);
        assert_eq!(open(Owner { upstream: "n", ..owner }, &sealed), None);
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(open(owner, &String::from_utf8(damaged).unwrap()), None, "byte {at}");
        }
        for foreign in ["", "gAAAAABo", "gh1.", "gh1.00.", "gh1.0000000000000000.AAAA"] {
            assert_eq!(open(owner, foreign), None, "{foreign}");
        }
        let other = seal(owner, r#"{"type":"text","text":"x"}"#);
        assert_eq!(open(owner, &other), None);
    }
}
