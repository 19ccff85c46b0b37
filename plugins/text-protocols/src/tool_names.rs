//! Names of tools that a provider takes. Clients name tools of servers at length (`mcp__...`), and some with dots; a name that
//! does not fit is shortened, always to the same one, and the client reads its own again.

use std::borrow::Cow;

/// Letters of the longest name at a chat provider.
pub const CHAT_MAX: usize = 64;
/// Letters of the longest name at a Messages provider.
pub const MESSAGES_MAX: usize = 128;
/// Letters that tell shortened names apart: `_` and a number.
const MARK: usize = 11;

/// The name as a provider of names up to `max` letters takes it.
#[must_use]
pub fn fitted(name: &str, max: usize) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.len() <= max && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let kept = name.chars().take(max - MARK).map(|letter| if is_plain(letter) { letter } else { '_' });
    let kept: String = kept.collect();
    Cow::Owned(format!("{kept}_{:010x}", digest(name) & 0xff_ffff_ffff))
}

/// The fitted names that differ from the client's, with the client's.
#[must_use]
pub fn renamed<'n>(names: impl Iterator<Item = Cow<'n, str>>, max: usize) -> Vec<(String, String)> {
    let fitted = names.map(|name| (fitted(&name, max).into_owned(), name.into_owned()));
    fitted.filter(|(fitted, own)| fitted != own).collect()
}

/// The client's name of a tool.
#[must_use]
pub fn own<'n>(renamed: &'n [(String, String)], name: &'n str) -> &'n str {
    renamed.iter().find(|(fitted, _)| fitted == name).map_or(name, |(_, own)| own)
}

/// FNV-1a: the same in every version, so that a prompt cache knows the tools again, and what was sealed
/// before still opens.
pub(crate) fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a long name would be refused, or its call would not find its tool.
    #[test]
    fn long_and_odd_names_fit_and_come_back() {
        let long = format!("mcp__{}", "server_".repeat(12));
        let other = format!("{}x", &long[..long.len() - 1]);
        for name in [long.as_str(), &other, "a.b", "a:b", "\u{e9}", "plain"] {
            let there = fitted(name, CHAT_MAX).into_owned();
            assert!(there.len() <= CHAT_MAX && fitted(&there, CHAT_MAX) == there, "{there}");
            let all = renamed([Cow::Borrowed(name)].into_iter(), CHAT_MAX);
            assert_eq!(own(&all, &there), name);
        }
        assert_ne!(fitted(&long, CHAT_MAX), fitted(&other, CHAT_MAX));
        assert_ne!(fitted("a.b", CHAT_MAX), fitted("a:b", CHAT_MAX));
        assert_eq!(fitted(&long, MESSAGES_MAX), long);
    }
}
