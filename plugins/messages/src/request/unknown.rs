//! Blocks of a type that only a Messages provider knows: results of its own tools, and what comes with later versions. What
//! they hold is not checked, but for the files in it, which have to be paid for.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::files::{MAX_PAGES, no_file_id, no_file_url};
use gatehouse_text_protocols::json::{Object, Raw, UniqueObject, items};
use gatehouse_text_protocols::path::Path;

use super::findings::Findings;

/// How deep a block is looked into; no provider's block is as deep.
const MAX_DEPTH: usize = 16;

/// Counts the pictures and documents in a block, and refuses files that the request does not embed.
///
/// # Errors
/// A file by its id, or a document by its link.
pub(super) fn check(at: &Path<'_>, block: &UniqueObject<'_>, findings: &mut Findings) -> Result<(), Refusal> {
    object(at, block, findings, MAX_DEPTH)
}

fn object(at: &Path<'_>, object: &Object<'_>, findings: &mut Findings, depth: usize) -> Result<(), Refusal> {
    if let Some(raw) = object.get("file_id") {
        if !findings.takes_file_ids {
            return Err(no_file_id(&at.key("file_id"), raw));
        }
        findings.count_pictures(MAX_PAGES);
    }
    let kind = object.text("type");
    if let Some(source) = object.object("source").filter(|_| kind.as_deref() == Some("document"))
        && source.text("type").as_deref() == Some("url")
    {
        if !findings.takes_file_urls {
            return Err(no_file_url(&at.key("source").key("url")));
        }
        findings.count_pictures(MAX_PAGES);
    }
    // A document that is embedded is counted as the base64 it is.
    findings.count_pictures(u32::from(kind.as_deref().is_some_and(|kind| kind.contains("image"))));
    object.iter().try_for_each(|(name, raw)| value(&at.key(name), raw, findings, depth))
}

fn value(at: &Path<'_>, raw: Raw<'_>, findings: &mut Findings, depth: usize) -> Result<(), Refusal> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    match raw.get().as_bytes().first() {
        Some(b'{') => Object::parse(raw.get()).map_or(Ok(()), |inner| object(at, &inner, findings, depth)),
        Some(b'[') => {
            let all = items(raw).unwrap_or_default();
            all.into_iter()
                .enumerate()
                .try_for_each(|(index, raw)| value(&at.index(index), raw, findings, depth))
        }
        _ => Ok(()),
    }
}
