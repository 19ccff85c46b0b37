//! The boxes that MP4 and MOV files consist of (ISO/IEC 14496-12, section 4): a length, a name, and content that is
//! often boxes again. Pure; never reads beyond what it is given.

/// The content of the first box of this name.
pub(crate) fn child<'a>(content: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    boxes(content).find(|(name, _)| name == wanted).map(|(_, content)| content)
}

/// The consecutive boxes of `content`, up to the first that does not fit.
pub(crate) fn boxes(content: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = content;
    std::iter::from_fn(move || {
        let name = rest.get(4..8)?.try_into().ok()?;
        // 0 means "to the end", 1 that a 64-bit length follows.
        let (head, length) = match word32(rest, 0)? {
            0 => (8, rest.len()),
            1 => (16, usize::try_from(word64(rest, 8)?).ok()?),
            length => (8, length as usize),
        };
        let (this, next) = rest.split_at_checked(length)?;
        let content = this.get(head..)?;
        rest = next;
        Some((name, content))
    })
}

/// The 32-bit number at a position; `None` beyond the end.
pub(crate) fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The 64-bit number at a position; `None` beyond the end.
pub(crate) fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
