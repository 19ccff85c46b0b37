//! Every kind of invalid body, and the sentence the client reads.

use garde::Validate;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

#[derive(Debug, Deserialize, Validate)]
#[expect(dead_code, reason = "only read for its refusals")]
struct Params {
    #[garde(length(chars, min = 1, max = 80))]
    prompt: String,
    #[garde(range(min = 0, max = 6))]
    tolerance: Option<i64>,
    #[garde(skip)]
    small: Option<u8>,
    #[garde(skip)]
    strength: Option<f64>,
    #[garde(skip)]
    draft: Option<bool>,
    #[garde(skip)]
    format: Option<Format>,
    #[garde(length(max = 2), inner(inner(length(bytes, min = 3))))]
    images: Option<Vec<String>>,
    #[garde(dive)]
    shots: Option<Vec<Shot>>,
    #[garde(skip)]
    size: Option<Size>,
    #[garde(custom(unsupported("use `size`")))]
    width: Option<Value>,
}

#[derive(Debug, Deserialize, Validate)]
struct Shot {
    #[garde(range(min = 1))]
    seconds: i32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Png,
    Jpeg,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Size;

impl TryFrom<String> for Size {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == "big" { Ok(Self) } else { Err("expected big") }
    }
}

#[test]
fn every_invalid_field_is_a_sentence() {
    let with = |field: &str, value: Value| {
        let mut body = json!({"prompt": "a kite"});
        body[field] = value;
        body
    };
    let check = |body: Value, expected: &str| {
        let result = read::<Params>(&body).map(|_| ()).map_err(|invalid| invalid.to_string());
        assert_eq!(result, if expected.is_empty() { Ok(()) } else { Err(expected.to_owned()) }, "{body}");
    };

    check(json!({"prompt": "a kite", "unknown": 1}), "");
    check(json!([]), "expected a JSON object, got an array of 0");
    check(json!("text"), "expected a JSON object, got the string \"text\"");
    check(json!({}), "`prompt`: expected a value, got nothing");
    check(json!({"prompt": null}), "`prompt`: expected a string, got null");
    check(json!({"prompt": 3}), "`prompt`: expected a string, got 3");
    check(json!({"prompt": ""}), "`prompt`: expected a length of at least 1, got an empty string");
    check(
        json!({"prompt": "k".repeat(81)}),
        &format!("`prompt`: expected a length of at most 80, got the string \"{}...\"", "k".repeat(60)),
    );

    check(with("tolerance", json!(0)), "");
    check(with("tolerance", json!(6)), "");
    check(with("tolerance", Value::Null), "");
    check(with("tolerance", json!(7)), "`tolerance`: expected at most 6, got 7");
    check(with("tolerance", json!(-1)), "`tolerance`: expected at least 0, got -1");
    check(with("tolerance", json!("3")), "`tolerance`: expected an integer, got the string \"3\"");
    check(with("tolerance", json!(3.5)), "`tolerance`: expected an integer, got 3.5");
    check(with("tolerance", json!(3.0)), "");
    check(
        with("tolerance", json!(u64::MAX)),
        "`tolerance`: expected an integer from -9223372036854775808 to 9223372036854775807, \
         got 18446744073709551615",
    );
    check(with("small", json!(256)), "`small`: expected an integer from 0 to 255, got 256");
    check(with("strength", json!("x")), "`strength`: expected a number, got the string \"x\"");
    check(with("draft", json!("true")), "`draft`: expected true or false, got the string \"true\"");
    check(with("draft", json!(1)), "`draft`: expected true or false, got 1");

    check(with("format", json!("png")), "");
    check(with("format", json!("gif")), "`format`: expected `png` or `jpeg`, got the string \"gif\"");
    check(with("format", json!(5)), "`format`: expected a string, got 5");

    check(with("images", json!(["abc", "def"])), "");
    check(with("images", json!("abc")), "`images`: expected an array, got the string \"abc\"");
    check(with("images", json!(["abc", 1])), "`images[1]`: expected a string, got 1");
    check(
        with("images", json!(["abc", "x"])),
        "`images[1]`: expected a length of at least 3, got the string \"x\"",
    );
    check(
        with("images", json!(["abc", "abc", "abc"])),
        "`images`: expected a length of at most 2, got an array of 3",
    );
    check(with("shots", json!([{}])), "`shots[0].seconds`: expected a value, got nothing");
    check(with("shots", json!([{"seconds": 0}])), "`shots[0].seconds`: expected at least 1, got 0");
    check(with("shots", json!([3])), "`shots[0]`: expected an object, got 3");

    check(with("size", json!("big")), "");
    check(with("size", json!("huge")), "`size`: expected big, got the string \"huge\"");
    check(with("width", Value::Null), "");
    check(with("width", json!(5)), "`width`: not supported by this model, use `size`; got 5");
}

#[test]
fn a_long_string_is_cut_between_characters() {
    let text = "\u{e9}".repeat(100);
    assert_eq!(came(Some(&json!(text))), format!("the string \"{}...\"", "\u{e9}".repeat(60)));
}

#[test]
fn a_medium_is_a_link_or_a_file() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
    for (source, fits) in [
        ("https://example.com/a.png", true),
        ("HTTP://example.com", true),
        ("https://example.com/a%20b", true),
        ("https://example.com/a b", false),
        ("https://", false),
        ("ftp://example.com/a.png", false),
        ("gs://bucket/a.png", false),
        ("asset://abc", false),
        ("cat.png", false),
        ("", false),
        (format!("data:image/png;base64,{png}").as_str(), true),
        ("DATA:image/png;BASE64,iVBORw0KGgo=", true),
        (png, true),
        (format!("{png}A").as_str(), false),
        ("data:image/png,rawbytes", false),
        ("data:image/png;base64,", false),
        ("data:image/png;base64,iVB*ORw", false),
        ("data:image/png;base64,no commas allowed in here, really not", false),
        ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", true),
    ] {
        assert_eq!(link_or_file(source, &()).is_ok(), fits, "{source}");
    }
}
