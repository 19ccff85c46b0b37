//! What the family says of itself.

use std::collections::BTreeSet;

use chat::{Chat, EMBEDDINGS, RESPONSES, SURFACE};
use gatehouse_sdk::{Family, Protocol, Refusal, Verdict};
use serde_json::{Value, json};

use crate::chat::{asked, body, both, refusal, written, written_to};

#[test]
fn the_manifest_has_three_surfaces_and_no_models_of_its_own() {
    let about = Chat::about();
    assert_eq!(about.family, "chat");
    let surfaces: Vec<&str> = about.surfaces.iter().map(|surface| surface.name.as_str()).collect();
    assert_eq!(surfaces, [SURFACE, RESPONSES, EMBEDDINGS]);
    assert!(about.models.is_empty() && about.providers.is_empty() && about.price_keys.is_empty());
}

#[test]
fn every_self_test_holds_with_both_protocols() {
    for protocol in [Protocol::Chat, Protocol::Messages] {
        for test in Chat::about().self_tests {
            let request = written_to(&test.surface, protocol, json!({}), &test.body);
            let got = both().prepare::<Chat>(&request);
            assert_eq!(got.is_ok(), test.expect == Verdict::Accepted, "{protocol:?} {}: {got:?}", test.body);
        }
    }
}

#[test]
fn another_surface_is_not_served() {
    let text_request = written_to("messages.create", Protocol::Chat, json!({}), &body(json!({})));
    assert!(matches!(both().prepare::<Chat>(&text_request), Err(Refusal::NotFound(_))));
}

/// Every published field is checked: a value that no field accepts is refused by name.
#[test]
fn every_published_field_is_checked() {
    let schema = Chat::about().surfaces[0].parsed_schema();
    let fields: BTreeSet<&String> = schema["properties"].as_object().expect("properties").keys().collect();
    assert_eq!(fields.len(), 36);
    for field in fields {
        let values = [json!([[7]]), json!({"type": [7]}), json!(-1.5e300)];
        let judged = values.into_iter().filter(|value| {
            let body = body(json!({field.as_str(): value}));
            both().prepare::<Chat>(&written(Protocol::Chat, json!({}), &body.to_string())).is_err()
        });
        assert!(judged.count() > 0, "{field} is published and not judged");
    }
    let required: Vec<&str> =
        schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(required, ["model", "messages"]);
    for field in required {
        let (named, _) = refusal(asked(Protocol::Chat, json!({}), json!({field: null})));
        assert_eq!(named, field);
    }
}
