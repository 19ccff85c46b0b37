//! Takes a credential out of what a provider says, should it be echoed. Pure.
//!
//! A plugin never holds a credential, and what it is shown of a reply must not be the way around that: a
//! provider's error text quotes the refused key, a debugging endpoint returns the request's head. So the secret is
//! replaced wherever it stands plain or backwards, in base64 (both alphabets, wherever it begins among other
//! bytes) or in hex, each of these also behind percent signs or backslash escapes (`%2B`, `\u002b`, `\x2b`, `\/`).
//!
//! A secret that is too short or too uniform is not looked for: it would be found in innocent text ("test" in "none of the
//! tests"), and what is put there instead would break the answer. The operator is warned of it.
//!
//! What is by nature out of reach: a provider that gives the secret back in a form of its own, that is compressed,
//! encrypted, cut into pieces or spread over several replies. The holder of a key can always leak it; a provider's base
//! address and `origins` should therefore name APIs, and nothing that returns what it was sent.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use gatehouse_model::Secret;
use memchr::memmem::Finder;

/// What stands there instead.
const INSTEAD: &[u8] = b"(secret)";
/// A shorter encoded form would be found in innocent text.
const SHORTEST_FORM: usize = 8;
/// A shorter secret is not looked for: words of a text, of JSON and of protocols are that long.
const SHORTEST_SECRET: usize = 10;
/// The least bits of a secret that is looked for, by how often each of its bytes occurs in it.
const LEAST_BITS: f64 = 30.0;
/// A secret of letters of one case alone reads like a word; from this length on it is none.
const LONGER_THAN_WORDS: usize = 20;
/// Bytes of the longest escape, `\u0041`.
const ESCAPE: usize = 6;

/// The forms of the secrets of one call. Without a secret there is nothing to look for.
#[derive(Default)]
pub(crate) struct Redactor {
    forms: Vec<Finder<'static>>,
    /// The most bytes that one form, escaped, takes.
    reach: usize,
}

impl Redactor {
    pub(crate) fn of<'a>(secrets: impl IntoIterator<Item = &'a Secret<String>>) -> Self {
        let mut forms = vec![];
        let secrets = secrets.into_iter().map(|secret| secret.expose().as_bytes());
        for secret in secrets.filter(|secret| is_telling(secret)) {
            forms.push(secret.to_vec());
            forms.extend(encoded(secret).into_iter().filter(|form| form.len() >= SHORTEST_FORM));
        }
        forms.sort();
        forms.dedup();
        let reach = forms.iter().map(Vec::len).max().unwrap_or(0) * ESCAPE;
        Self { forms: forms.iter().map(|form| Finder::new(form).into_owned()).collect(), reach }
    }

    /// What takes out the secrets of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let forms = self.forms.iter().chain(&other.forms).cloned().collect();
        Self { forms, reach: self.reach.max(other.reach) }
    }

    /// Whether the secret stands in `bytes`.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        let is_plain = |bytes: &[u8]| self.forms.iter().any(|form| form.find(bytes).is_some());
        is_plain(bytes) || self.escapes(bytes).any(|signals| is_plain(&unescaped(bytes, signals).0))
    }

    /// `bytes` without the secret.
    pub(crate) fn clean(&self, bytes: Vec<u8>) -> Vec<u8> {
        let places = self.places(&bytes);
        if places.is_empty() { bytes } else { replace(&bytes, &places) }
    }

    /// Where the secret stands, in order and apart from each other.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found = self.plain(bytes);
        for signals in self.escapes(bytes) {
            let (text, starts) = unescaped(bytes, signals);
            found.extend(self.plain(&text).into_iter().map(|span| starts[span.start]..starts[span.end]));
        }
        found.sort_by_key(|span| span.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for span in found {
            match apart.last_mut().filter(|last| span.start <= last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => apart.push(span),
            }
        }
        apart
    }

    /// The kinds of escapes behind which the secret could stand, each by the signals that begin them.
    fn escapes(&self, bytes: &[u8]) -> impl Iterator<Item = &'static [u8]> {
        // Each kind by itself too: a secret may hold the other kind's signal.
        let kinds: [&[u8]; 3] = [b"%", b"\\", b"%\\"];
        let holds = |signal: &u8| memchr::memchr(*signal, bytes).is_some();
        kinds.into_iter().filter(move |signals| !self.forms.is_empty() && signals.iter().all(holds))
    }

    fn plain(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let each = |form: &Finder<'static>| {
            let length = form.needle().len();
            form.find_iter(bytes).map(move |at| at..at + length).collect::<Vec<_>>()
        };
        self.forms.iter().flat_map(each).collect()
    }
}

/// Whether a secret stands out from the text around it: long, and not the same few bytes or a word.
pub(crate) fn is_telling(secret: &[u8]) -> bool {
    let is_word = secret.iter().all(u8::is_ascii_lowercase) || secret.iter().all(u8::is_ascii_uppercase);
    secret.len() >= SHORTEST_SECRET
        && entropy(secret) >= LEAST_BITS
        && (!is_word || secret.len() >= LONGER_THAN_WORDS)
}

/// Shannon's, in bits, of all bytes together.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    #[expect(clippy::cast_precision_loss, reason = "a secret is far shorter than 2^53 bytes")]
    let length = bytes.len() as f64;
    let bits = |count: u32| f64::from(count) * (length / f64::from(count)).log2();
    counts.into_iter().filter(|count| *count > 0).map(bits).sum()
}

fn replace(bytes: &[u8], places: &[Range<usize>]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for span in places {
        clean.extend_from_slice(&bytes[done..span.start]);
        clean.extend_from_slice(INSTEAD);
        done = span.end;
    }
    clean.extend_from_slice(&bytes[done..]);
    clean
}

/// The secret backwards, in hex, and as much of its base64 as does not depend on what stands beside it.
fn encoded(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms =
        vec![secret.iter().rev().copied().collect(), hex.to_ascii_uppercase().into_bytes(), hex.into_bytes()];
    for (before, unsure) in [(0, 0), (1, 2), (2, 3)] {
        let bytes = [&[0; 2][..before], secret].concat();
        // The last digit holds bits of what follows, unless the secret ends with a group.
        let sure = bytes.len() * 8 / 6;
        for digits in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            forms.push(digits.as_bytes().get(unsure..sure).unwrap_or_default().to_vec());
        }
    }
    forms
}

/// The bytes with the escapes resolved that begin with one of `signals`, and where each of them began; one more start marks the
/// end. A malformed escape stands for itself.
fn unescaped(bytes: &[u8], signals: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut text, mut starts) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(bytes.len() + 1));
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = if signals.contains(&byte) { escape(&bytes[at..]) } else { None };
        let (meant, length) = escape.unwrap_or((byte, 1));
        text.push(meant);
        starts.push(at);
        at += length;
    }
    starts.push(bytes.len());
    (text, starts)
}

/// The byte an escape at the beginning of `bytes` means, and the escape's length.
fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let hex = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
    let (digits, length) = match bytes {
        [b'%', high, low, ..] => ([*high, *low], 3),
        [b'\\', b'u', b'0', b'0', high, low, ..] => ([*high, *low], 6),
        [b'\\', b'x', high, low, ..] => ([*high, *low], 4),
        [b'\\', next, ..] => return Some((*next, 2)),
        _ => return None,
    };
    match (hex(&digits), bytes) {
        (Some(byte), _) => Some((byte, length)),
        // It means the letter behind it.
        (None, [b'\\', next, ..]) => Some((*next, 2)),
        (None, _) => None,
    }
}

/// The same for bytes that come in pieces: holds back what may be the beginning of a secret.
pub(crate) struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
}

impl StreamRedactor {
    pub(crate) const fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// Takes a piece; gives what is safe to hand on, which may be nothing.
    pub(crate) fn feed(&mut self, piece: Bytes) -> Bytes {
        if self.redactor.forms.is_empty() {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        // Whatever begins before this point is here to its end.
        let mut safe = self.held.len().saturating_sub(self.redactor.reach);
        let places = self.redactor.places(&self.held);
        let whole = places.partition_point(|span| span.start < safe);
        safe = places[..whole].last().map_or(safe, |last| safe.max(last.end));
        let rest = self.held.split_off(safe);
        let clean = replace(&self.held, &places[..whole]);
        self.held = rest;
        clean.into()
    }

    /// What was held back, at the end.
    pub(crate) fn end(&mut self) -> Bytes {
        self.redactor.clean(std::mem::take(&mut self.held)).into()
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "sk+live/4f9=\"x\\";

    fn sample_redactor() -> Redactor {
        Redactor::of(Some(&Secret::new(SECRET.to_owned())))
    }

    fn cleaned(text: &str) -> String {
        String::from_utf8(sample_redactor().clean(text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn an_echoed_secret_is_masked_in_every_form() {
        let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let json = serde_json::to_string(SECRET).unwrap();
        let codes: String = SECRET.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        let backwards: String = SECRET.chars().rev().collect();
        for (text, expected) in [
            (String::new(), ""),
            ("nothing 100% \\ %zz \\u00".to_owned(), "nothing 100% \\ %zz \\u00"),
            (SECRET.to_owned(), "(secret)"),
            (format!("bad key {SECRET}, {SECRET}!"), "bad key (secret), (secret)!"),
            (SECRET[..8].to_owned(), "sk+live/"),
            (format!("<{percent}>"), "<(secret)>"),
            (format!("<{}>", percent.to_ascii_lowercase()), "<(secret)>"),
            (json, "\"(secret)\""),
            (format!("<{codes}>"), "<(secret)>"),
            (format!("<{}>", SECRET.replace('/', "%2f").replace('+', "%2b")), "<(secret)>"),
            (format!("<{}>", codes.replace("\\u002b", "%2b").replace("\\u002f", "\\/")), "<(secret)>"),
            (format!("<{hex}{}>", hex.to_ascii_uppercase()), "<(secret)>"),
            (format!("<{backwards}>"), "<(secret)>"),
        ] {
            assert_eq!(cleaned(&text), expected, "{text}");
            assert_eq!(sample_redactor().is_in(text.as_bytes()), expected.contains("(secret)"), "{text}");
        }
        assert_eq!(Redactor::default().clean(b"sk-live-1".to_vec()), b"sk-live-1");
    }

    #[test]
    fn a_secret_that_may_stand_in_innocent_text_is_not_looked_for() {
        let answer: &'static [u8] =
            br#"{"role": "assistant", "content": "none of the tests, 0000000000000000 times a password"}"#;
        for weak in ["test", "role", "assistant", "content", "password", "0000000000000000", " ", "s3cr3t"] {
            let secret = Secret::new(weak.to_owned());
            let redactor = Arc::new(Redactor::of(Some(&secret)));
            assert!(!is_telling(weak.as_bytes()) && !redactor.is_in(answer), "{weak}");
            assert_eq!(redactor.clean(answer.to_vec()), answer, "{weak}");
            let mut stream = StreamRedactor::new(redactor);
            let fed = [stream.feed(Bytes::from_static(answer)), stream.end()].concat();
            assert_eq!(fed, answer, "{weak}");
        }
        for telling in
            ["sk-live-4f9aX2", "sandbox-key", "AKLT0123456789", "q7 V.b2Lk_p", "correcthorsebatterystaple"]
        {
            let secret = Secret::new(telling.to_owned());
            let cleaned = Redactor::of(Some(&secret)).clean(format!("<{telling}>").into_bytes());
            assert_eq!(cleaned, b"<(secret)>", "{telling}");
        }
    }

    #[test]
    fn entropy_is_that_of_the_bytes() {
        for (text, expected) in
            [("", 0.0), ("aaaa", 0.0), ("abab", 4.0), ("abcd", 8.0), ("0123456789abcdef", 64.0)]
        {
            assert!((entropy(text.as_bytes()) - expected).abs() < 1e-9, "{text}");
        }
    }

    proptest! {
        /// Of base64 nothing is left that three further bytes would not have changed.
        #[test]
        fn no_alignment_hides_it(before in "[a-z]{0,7}", after in "[a-z]{0,7}", url in any::<bool>()) {
            let whole = format!("{before}{SECRET}{after}");
            let text = if url { URL_SAFE_NO_PAD.encode(&whole) } else { STANDARD.encode(&whole) };
            let left = cleaned(&text);
            prop_assert!(left.contains("(secret)"), "{}", left);
            prop_assert!(left.len() - 8 <= (before.len() + after.len()) * 4 / 3 + 8, "{}", left);
        }

        /// However the bytes come, what goes out is the same and holds no secret.
        #[test]
        fn pieces_are_masked_like_the_whole(cuts in proptest::collection::vec(1_usize..120, 0..40)) {
            let noise = "%2 \\u00 x".repeat(30);
            let codes: String = SECRET.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
            let whole = format!("{SECRET}{noise}{}{noise}{codes}{noise}", STANDARD.encode(SECRET));
            let mut redactor = StreamRedactor::new(Arc::new(sample_redactor()));
            let (mut rest, mut out) = (Bytes::from(whole.clone()), Vec::new());
            for cut in cuts {
                out.extend_from_slice(&redactor.feed(rest.split_to(cut.min(rest.len()))));
            }
            out.extend_from_slice(&redactor.feed(rest));
            out.extend_from_slice(&redactor.end());
            prop_assert_eq!(String::from_utf8(out).unwrap(), cleaned(&whole));
        }

        #[test]
        fn no_input_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut redactor = StreamRedactor::new(Arc::new(sample_redactor()));
            let fed = redactor.feed(Bytes::from(bytes.clone()));
            prop_assert_eq!([fed, redactor.end()].concat(), sample_redactor().clean(bytes));
        }
    }
}
