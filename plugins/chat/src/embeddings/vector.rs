//! A vector in its two encodings: an array of numbers, and base64 of 32-bit floats, the lowest byte first.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_text_protocols::json::{JsonString, Raw, quoted};
use gatehouse_text_protocols::rules::VectorEncoding;

/// The vector in the other encoding; `None` inside when it is in `wanted` already, and outside when it is no vector.
pub(super) fn converted(vector: Raw<'_>, wanted: VectorEncoding) -> Option<Option<String>> {
    match (JsonString::of(vector), wanted) {
        (Some(_), VectorEncoding::Base64) => Some(None),
        (Some(text), VectorEncoding::Float) => numbers(&text.decoded()).map(Some),
        (None, _) if !vector.get().starts_with('[') => None,
        (None, VectorEncoding::Float) => Some(None),
        (None, VectorEncoding::Base64) => base64(vector).map(Some),
    }
}

fn numbers(text: &str) -> Option<String> {
    let bytes = STANDARD.decode(text).ok()?;
    let (floats, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let floats: Vec<f32> = floats.iter().map(|float| f32::from_le_bytes(*float)).collect();
    // JSON has no number for the others.
    if floats.iter().any(|float| !float.is_finite()) {
        return None;
    }
    serde_json::to_string(&floats).ok()
}

fn base64(vector: Raw<'_>) -> Option<String> {
    let floats: Vec<f32> = serde_json::from_str(vector.get()).ok()?;
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    Some(quoted(&STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn convert(json: &str, wanted: VectorEncoding) -> Option<Option<String>> {
        converted(serde_json::from_str::<&RawValue>(json).unwrap(), wanted)
    }

    #[test]
    fn each_encoding_becomes_the_other() {
        use VectorEncoding::{Base64, Float};
        let (floats, text) = ("[0.5,-1.0,0.1]", r#""AAAAPwAAgL/NzMw9""#);
        for (json, wanted, expected) in [
            (floats, Float, Some(None)),
            (text, Base64, Some(None)),
            (floats, Base64, Some(Some(text))),
            (text, Float, Some(Some(floats))),
            ("[0.5, -1, 1e-1]", Base64, Some(Some(text))),
            ("[]", Base64, Some(Some("\"\""))),
            (r#""AAAA""#, Float, None),
            (r#""AADAfw==""#, Float, None),
            (r#""?""#, Float, None),
            ("[null]", Base64, None),
            ("7", Float, None),
            ("null", Base64, None),
        ] {
            let expected = expected.map(|json| json.map(str::to_owned));
            assert_eq!(convert(json, wanted), expected, "{json} as {wanted:?}");
        }
    }
}
