//! The beginning of a body as operators read it: bounded, text only, and without what gives access: the values of queries
//! of URLs, which may be signed.

/// Bytes of an excerpt.
const MAX_EXCERPT: usize = 2048;
/// Bytes that are looked at for one: a character at the end may be cut in half, and a query become shorter.
pub(super) const LOOKED_AT: usize = 2 * MAX_EXCERPT;
/// In place of a query's value.
const LEFT_OUT: char = '…';

/// The beginning of a body, of which `bytes` are at least as many as are looked at, or all; `length` is that of all of it.
pub(super) fn excerpt(bytes: &[u8], length: u64) -> String {
    let text = match std::str::from_utf8(&bytes[..bytes.len().min(LOOKED_AT)]) {
        Ok(text) => text,
        Err(error) if bytes.len() > LOOKED_AT && error.valid_up_to() + 4 > LOOKED_AT => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return format!("({length} bytes that are no text)"),
    };
    let mut kept = without_query_values(text);
    kept.truncate(kept.floor_char_boundary(MAX_EXCERPT));
    kept
}

/// A text in which the queries of URLs and paths keep their names and lose their values.
pub(super) fn without_query_values(text: &str) -> String {
    if !text.contains('?') {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    // Whether the present word has a `/`, whether its query began, and whether a value in it did.
    let (mut is_address, mut in_query, mut in_value) = (false, false, false);
    for letter in text.chars() {
        let ends_word = letter.is_whitespace() || matches!(letter, '"' | '\'' | '<' | '>' | '`');
        if ends_word {
            (is_address, in_query, in_value) = (false, false, false);
        }
        match letter {
            '/' if !in_query => is_address = true,
            '?' if is_address && !in_query => in_query = true,
            // `\u0026` is an `&` in JSON.
            '&' | ';' | '\\' if in_query => in_value = false,
            '=' if in_query && !in_value => {
                kept.push('=');
                kept.push(LEFT_OUT);
                in_value = true;
                continue;
            }
            _ => {}
        }
        if !in_value {
            kept.push(letter);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> String {
        excerpt(bytes, bytes.len() as u64)
    }

    #[test]
    fn values_of_queries_are_left_out_and_nothing_else() {
        for (text, expected) in [
            ("/v1/jobs/5", "/v1/jobs/5"),
            ("/v1/jobs?id=5&signature=a%2Fb=", "/v1/jobs?id=…&signature=…"),
            ("https://h/p?x-sig=abc&flag&y=1#f", "https://h/p?x-sig=…&flag&y=…"),
            (r#"{"url":"https://h/p?k=v","n":"a = b"}"#, r#"{"url":"https://h/p?k=…","n":"a = b"}"#),
            (r#"{"url":"https://h/p?k=v\u0026l=w","n":1}"#, r#"{"url":"https://h/p?k=…\u0026l=…","n":1}"#),
            ("Is 1=1? Yes, x=y", "Is 1=1? Yes, x=y"),
            ("see https://h/?a=b c=d", "see https://h/?a=… c=d"),
        ] {
            assert_eq!(without_query_values(text), expected, "{text}");
        }
    }

    #[test]
    fn an_excerpt_is_bounded_text() {
        assert_eq!(all(b"{}"), "{}");
        assert_eq!(all(&[0xff, 0xfe, 1]), "(3 bytes that are no text)");
        let long = "é".repeat(10_000);
        assert_eq!(all(long.as_bytes()).len(), MAX_EXCERPT);
        // A character in half at the end of what is looked at.
        let shifted = format!("x{long}");
        assert_eq!(all(shifted.as_bytes()).len(), MAX_EXCERPT - 1);
        let signed = format!("/p?k={}", "s".repeat(5_000));
        assert_eq!(all(signed.as_bytes()), "/p?k=…");
    }
}
