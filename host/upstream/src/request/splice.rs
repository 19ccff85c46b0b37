//! Where a JSON body asks for blobs. Pure.
//!
//! A string value that is exactly `blob:<id>` becomes a `data:` URI, one that is exactly `blob:<id>:base64` bare
//! base64, and one that is exactly `blob:<id>:text` the blob's text. The scan never parses: it looks for an unescaped
//! quote before `blob:`, which in valid JSON can only open a string, and takes the string only when the id and the
//! closing quote follow at once.

use gatehouse_model::BlobId;
use memchr::memmem;

const OPENING: &[u8] = b"\"blob:";
const BASE64: &str = ":base64";
const TEXT: &str = ":text";

/// What takes a string's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpliceForm {
    DataUri,
    Base64,
    Text,
}

/// One string to be replaced: everything between its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) blob: BlobId,
    pub(crate) form: SpliceForm,
}

/// The splices of a valid JSON text, in order.
pub(crate) fn splices(json: &[u8]) -> Vec<Splice> {
    memmem::find_iter(json, OPENING).filter_map(|at| splice(json, at)).collect()
}

fn splice(json: &[u8], quote: usize) -> Option<Splice> {
    let backslashes = json[..quote].iter().rev().take_while(|&&byte| byte == b'\\').count();
    if backslashes % 2 == 1 {
        return None;
    }
    let start = quote + 1;
    let end = start + memchr::memchr(b'"', &json[start..])?;
    let text = std::str::from_utf8(&json[start..end]).ok()?;
    let forms = [(BASE64, SpliceForm::Base64), (TEXT, SpliceForm::Text)];
    let named = forms.into_iter().find_map(|(end, form)| Some((text.strip_suffix(end)?, form)));
    let (name, form) = named.unwrap_or((text, SpliceForm::DataUri));
    let blob = crate::request::body::named(name)?;
    let is_key = json[end + 1..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
    (!is_key).then_some(Splice { range: start..end, blob, form })
}

#[cfg(test)]
mod tests {
    use gatehouse_harness::TestSeed;
    use gatehouse_model::UnixMs;
    use proptest::prelude::*;

    use super::*;

    fn id() -> BlobId {
        BlobId::new(UnixMs(1_767_225_600_123), &TestSeed::constant(0x5a))
    }

    #[test]
    fn only_whole_string_values_are_spliced() {
        use SpliceForm::{Base64 as B, DataUri as D, Text as T};
        let id = id();
        for (json, expected) in [
            (format!(r#"{{"a":"blob:{id}"}}"#), vec![D]),
            (format!(r#"{{"a":"blob:{id}:base64"}}"#), vec![B]),
            (format!(r#"["blob:{id}","blob:{id}:base64","blob:{id}:text", "blob:{id}" ]"#), vec![D, B, T, D]),
            (format!(r#""blob:{id}""#), vec![D]),
            (format!(r#"{{"a":"see blob:{id}"}}"#), vec![]),
            (format!(r#"{{"a":"blob:{id} "}}"#), vec![]),
            (format!(r#"{{"a":"blob:{id}:hex"}}"#), vec![]),
            (format!(r#"{{"blob:{id}" : 1}}"#), vec![]),
            (format!(r#"{{"a":"\"blob:{id}"}}"#), vec![]),
            (format!(r#"{{"a":"\"blob:{id}\""}}"#), vec![]),
            (format!(r#"{{"a":"\\","b":"blob:{id}"}}"#), vec![D]),
            (format!(r#"{{"a":"\\\"blob:{id}"}}"#), vec![]),
            (r#"{"a":"blob:blob_short"}"#.to_owned(), vec![]),
            (r#"{"a":"blob:"#.to_owned(), vec![]),
            (String::new(), vec![]),
        ] {
            let found: Vec<SpliceForm> = splices(json.as_bytes()).iter().map(|splice| splice.form).collect();
            assert_eq!(found, expected, "{json}");
        }
    }

    proptest! {
        /// What JSON itself says are the string values equal to the reference is what the scan finds.
        #[test]
        fn the_scan_agrees_with_a_parser(texts in proptest::collection::vec("[\"\\\\a:{,}\\[]{0,5}", 0..6), at in 0_usize..6) {
            let mut values: Vec<String> = texts;
            let reference = format!("blob:{}", id());
            values.insert(at.min(values.len()), reference.clone());
            let json = serde_json::to_vec(&values).unwrap();
            let found = splices(&json);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(&json[found[0].range.clone()], reference.as_bytes());
        }

        #[test]
        fn no_input_makes_it_panic(json in proptest::collection::vec(any::<u8>(), 0..200)) {
            splices(&json);
        }
    }
}
