//! Ids of tool calls that any protocol takes: Messages has letters, digits, `_` and `-` alone, and compatible servers make
//! ids of anything (`functions.Bash:0`). Such an id is written in those letters, and is itself again at its own provider.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Begins an id that stands for another.
const PREFIX: &str = "toolu_gw_";

/// The id in letters that Messages allows.
#[must_use]
pub fn encoded(id: &str) -> Cow<'_, str> {
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    // One that only looks like it stands for another would otherwise become that one.
    if is_plain && matches!(decoded(id), Cow::Borrowed(_)) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(id)))
}

/// The id that this one stands for.
#[must_use]
pub fn decoded(id: &str) -> Cow<'_, str> {
    let inner = id.strip_prefix(PREFIX).and_then(|rest| URL_SAFE_NO_PAD.decode(rest).ok());
    match inner.and_then(|inner| String::from_utf8(inner).ok()).filter(|inner| !inner.is_empty()) {
        Some(inner) => Cow::Owned(inner),
        None => Cow::Borrowed(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a provider would not know its own call again, or two calls would become one.
    #[test]
    fn every_id_comes_back_and_stays_distinct() {
        let ids =
            ["functions.Bash:0", "functions.Bash_0", "a|b", "a.b", "a:b", "\u{e9}", "call_1", "toolu_01Ab-c"];
        for id in ids {
            let there = encoded(id);
            assert!(
                there.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
                "{there}"
            );
            assert_eq!(decoded(&there), id);
            let again = encoded(&there).into_owned();
            assert_eq!(decoded(&again), there, "an id that stands for another is one too");
        }
        assert_eq!(encoded("call_1"), "call_1");
        let mut all: Vec<_> = ids.iter().map(|id| encoded(id)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ids.len());
    }
}
