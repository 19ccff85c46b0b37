//! Every field of the submit body: accepted values and exact errors.

use super::*;
use crate::context::refusal::brief;

fn with(field: &str, value: Value) -> Value {
    let mut body = json!({ "prompt": "a red kite" });
    body[field] = value;
    body
}

#[test]
fn defaults() {
    let request = check(&json!({ "prompt": "a red kite", "width": 10, "nonsense": [1] })).expect("passes");
    #[rustfmt::skip]
    let expected = SubmitRequest {
        prompt: "a red kite".to_owned(), images: vec![], seed: None, ratio: None, format: Format::Png,
        upsampling: false, tolerance: 2, webhook_url: None,
    };
    assert_eq!(request, expected);
}

#[test]
fn accepted_values() {
    #[rustfmt::skip]
    let table = [
        ("prompt", json!("")), ("input_image", json!(null)), ("input_image_4", json!("text, whatever it says")),
        ("seed", json!(null)), ("seed", json!(-5)), ("seed", json!(18_446_744_073_709_551_615_u64)),
        ("seed", json!(42.0)), ("seed", json!("42")), ("seed", json!(true)), ("aspect_ratio", json!(null)),
        ("aspect_ratio", json!("21:9")), ("aspect_ratio", json!("9:21")), ("aspect_ratio", json!("3:7")),
        ("aspect_ratio", json!("700:300")), ("output_format", json!(null)), ("output_format", json!("webp")),
        ("prompt_upsampling", json!("yes")), ("prompt_upsampling", json!(1)), ("safety_tolerance", json!(0)),
        ("safety_tolerance", json!(6)), ("safety_tolerance", json!("6")), ("webhook_url", json!(null)),
        ("webhook_url", json!("https://hooks.example/x")), ("webhook_secret", json!("s")), ("n", json!(7)),
        ("size", json!({})),
    ];
    for (field, value) in table {
        let body = with(field, value);
        assert!(check(&body).is_ok(), "{body}: {:?}", check(&body));
    }
}

#[test]
fn lax_values_are_converted() {
    let body = json!({
        "prompt": "p", "seed": "7", "prompt_upsampling": "on", "safety_tolerance": 3.0,
        "aspect_ratio": "16:9", "output_format": "jpeg", "input_image_2": "b", "input_image": "a",
    });
    let request = check(&body).expect("passes");
    assert_eq!(request.seed, Some(7.into()));
    assert!(request.upsampling);
    assert_eq!((request.tolerance, request.ratio, request.format), (3, Some((16, 9)), Format::Jpeg));
    assert_eq!(request.images, [("input_image", "a".to_owned()), ("input_image_2", "b".to_owned())]);
}

#[test]
fn field_errors() {
    let empty = || json!({ "error": {} });
    let formats = || json!({ "expected": "'jpeg', 'png' or 'webp'" });
    let long = format!("https://hooks.example/{}", "x".repeat(2100));
    #[rustfmt::skip]
    let table = [
        ("prompt", json!(null), "string_type", TEXT, json!(null)),
        ("prompt", json!(5), "string_type", TEXT, json!(null)),
        ("input_image", json!(["x"]), "string_type", TEXT, json!(null)),
        ("input_image_2", json!(5), "string_type", TEXT, json!(null)),
        ("input_image_3", json!({}), "string_type", TEXT, json!(null)),
        ("input_image_4", json!(true), "string_type", TEXT, json!(null)),
        ("seed", json!([]), "int_type", "Input should be a valid integer", json!(null)),
        ("seed", json!("x"), "int_parsing", "Input should be a valid integer, unable to parse string as an integer",
         json!(null)),
        ("seed", json!(1.5), "int_from_float",
         "Input should be a valid integer, got a number with a fractional part", json!(null)),
        ("seed", json!(1e300), "int_parsing_size",
         "Unable to parse input string as an integer, exceeded maximum size", json!(null)),
        ("aspect_ratio", json!(1.5), "string_type", TEXT, json!(null)),
        ("aspect_ratio", json!("wide"), "value_error", FORM, empty()),
        ("aspect_ratio", json!("16x9"), "value_error", FORM, empty()),
        ("aspect_ratio", json!("0:9"), "value_error", FORM, empty()),
        ("aspect_ratio", json!("+16:9"), "value_error", FORM, empty()),
        ("aspect_ratio", json!(":"), "value_error", FORM, empty()),
        ("aspect_ratio", json!("22:9"), "value_error", RANGE, empty()),
        ("aspect_ratio", json!("9:22"), "value_error", RANGE, empty()),
        ("output_format", json!("gif"), "enum", ENUM, formats()),
        ("output_format", json!("PNG"), "enum", ENUM, formats()),
        ("output_format", json!(1), "enum", ENUM, formats()),
        ("prompt_upsampling", json!(null), "bool_type", "Input should be a valid boolean", json!(null)),
        ("prompt_upsampling", json!([]), "bool_type", "Input should be a valid boolean", json!(null)),
        ("prompt_upsampling", json!("maybe"), "bool_parsing", BOOL, json!(null)),
        ("prompt_upsampling", json!(2), "bool_parsing", BOOL, json!(null)),
        ("safety_tolerance", json!(null), "int_type", "Input should be a valid integer", json!(null)),
        ("safety_tolerance", json!(7), "less_than_equal", "Input should be less than or equal to 6",
         json!({ "le": 6 })),
        ("safety_tolerance", json!(-1), "greater_than_equal", "Input should be greater than or equal to 0",
         json!({ "ge": 0 })),
        ("webhook_url", json!(5), "url_type", "URL input should be a string or URL", json!(null)),
        ("webhook_url", json!("hooks"), "url_parsing", "Input should be a valid URL, relative URL without a base",
         json!({ "error": "relative URL without a base" })),
        ("webhook_url", json!(""), "url_parsing", "Input should be a valid URL, input is empty",
         json!({ "error": "input is empty" })),
        ("webhook_url", json!("ftp://hooks.example/"), "url_scheme", "URL scheme should be 'http' or 'https'",
         json!({ "expected_schemes": "'http' or 'https'" })),
        ("webhook_url", json!(long), "url_too_long", "URL should have at most 2083 characters",
         json!({ "max_length": 2083 })),
        ("webhook_secret", json!(5), "string_type", TEXT, json!(null)),
    ];
    for (field, value, kind, msg, ctx) in table {
        let body = with(field, value.clone());
        let mut expected =
            json!({ "type": kind, "loc": ["body", field], "msg": msg, "input": brief(&value) });
        if !ctx.is_null() {
            expected["ctx"] = ctx;
        }
        assert_eq!(check(&body), Err(vec![expected]), "{field}");
    }
}

const TEXT: &str = "Input should be a valid string";
const FORM: &str = "Value error, Aspect ratio must be in the format 'width:height'";
const RANGE: &str = "Value error, Aspect ratio must be between 21:9 and 9:21";
const ENUM: &str = "Input should be 'jpeg', 'png' or 'webp'";
const BOOL: &str = "Input should be a valid boolean, unable to interpret input";

#[test]
fn all_errors_come_together() {
    let field_errors = check(&json!({ "seed": "x", "safety_tolerance": 9 })).expect_err("three field_errors");
    let fields: Vec<_> =
        field_errors.iter().map(|entry| entry["loc"][1].as_str().expect("a field")).collect();
    assert_eq!(fields, ["prompt", "seed", "safety_tolerance"]);
    assert_eq!(field_errors[0]["type"], "missing");
    assert_eq!(field_errors[0]["msg"], "Field required");
    assert_eq!(field_errors[0]["input"], json!({ "seed": "x", "safety_tolerance": 9 }));
}

#[test]
fn bodies_must_be_objects() {
    for body in [json!([]), json!("x"), json!(5), json!(null)] {
        let field_errors = check(&body).expect_err("no object");
        assert_eq!(field_errors[0]["type"], "model_attributes_type", "{body}");
        assert_eq!(field_errors[0]["loc"], json!(["body"]));
    }
}

#[test]
fn long_inputs_are_not_sent_back_whole() {
    let body = json!({ "input_image": "x".repeat(100_000), "seed": "y".repeat(100_000) });
    let field_errors = Value::Array(check(&body).expect_err("no prompt"));
    assert!(field_errors.to_string().len() < 2000);
}
