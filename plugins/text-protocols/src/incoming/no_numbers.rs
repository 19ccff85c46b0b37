//! Words that some servers write where JSON has numbers: `NaN`, `Infinity`, `-Infinity`, as Python's writer does for the odds of a
//! token that cannot come. Each becomes `null`: no reader of JSON takes the answer otherwise.

const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The JSON with `null` in their place; `None` where it has no such word.
#[must_use]
pub fn without_number_words(json: &str) -> Option<String> {
    // One letter is found faster than a word, and most answers have neither.
    let has = |first: char, word: &str| json.contains(first) && json.contains(word);
    if !has('I', WORDS[1]) && !has('N', WORDS[2]) {
        return None;
    }
    let mut out = String::with_capacity(json.len());
    let (mut rest, mut has_changed) = (json, false);
    // Text is copied from one quotation mark to the next.
    while let Some(at) = rest.find(['"', '-', 'I', 'N']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let word = WORDS.iter().find(|word| rest.starts_with(**word));
        let length = match word {
            Some(word) => word.len(),
            None if rest.starts_with('"') => end_of_string(rest),
            None => 1,
        };
        has_changed |= word.is_some();
        out.push_str(if word.is_some() { "null" } else { &rest[..length] });
        rest = &rest[length..];
    }
    out.push_str(rest);
    has_changed.then_some(out)
}

/// Where a string ends that begins a text.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = !is_escaped && byte == b'\\';
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it one token that cannot come, or a count that a server could not make, loses a whole answer.
    #[test]
    fn words_for_numbers_are_null_and_texts_stay() {
        for (json, expected) in [
            (r#"{"a":NaN,"b":[Infinity,-Infinity,1e400]}"#, Some(r#"{"a":null,"b":[null,null,1e400]}"#)),
            (r#"{"a": "NaN and \"-Infinity", "NaN": -1}"#, None),
            (r#"{"a":"\\","b":NaN}"#, Some(r#"{"a":"\\","b":null}"#)),
            ("{\"a\":\"\u{e9}\",\"b\":-Infinity}", Some("{\"a\":\"\u{e9}\",\"b\":null}")),
            (r#"{"a":"NaN"#, None),
            (r#"{"a":1}"#, None),
        ] {
            assert_eq!(without_number_words(json).as_deref(), expected, "{json}");
        }
    }
}
