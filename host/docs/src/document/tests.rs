//! Documents of small APIs.

use gatehouse_model::{Digest, FamilyListing, SurfaceListing};
use serde_json::json;

use super::*;
use crate::api::{Answer, Content, ErrorCase, ErrorForm};

const ANSWERS: &[Content] = &[Content::Json(&["TaskReceipt"])];

fn submit(path: &'static str, surface: &'static str) -> Operation {
    Operation {
        method: "POST",
        path,
        id: surface.to_owned(),
        tag: "Images",
        summary: "Make images".to_owned(),
        description: "",
        path_parameter: "",
        parameters: &[],
        surface: Some(surface),
        own_body: None,
        model_in_body: true,
        makes_task: true,
        takes_forms: false,
        reads: None,
        view: None,
        answers: vec![Answer { status: 200, help: "Accepted.", contents: ANSWERS }],
        form: ErrorForm::Generic,
        security: Security::Key,
    }
}

fn family(name: &str, schema: &Value, models: &[&str], default: Option<&str>) -> FamilyListing {
    FamilyListing {
        family: name.to_owned(),
        version: "1.0.0".to_owned(),
        digest: Digest([0xab; 32]),
        views: vec![],
        price_keys: vec![],
        surfaces: vec![SurfaceListing {
            name: "images.generate".to_owned(),
            schema: schema.to_string(),
            result_schema: None,
            models: models.iter().map(|name| (*name).to_owned()).collect(),
            default_model: default.map(str::to_owned),
            example: Some(json!({"model": "other", "prompt": "a kite"}).to_string()),
        }],
    }
}

fn api(families: Vec<FamilyListing>) -> Api {
    let case = |status, reason, retry| ErrorCase {
        status,
        responses_status: status,
        type_word: "invalid_request_error",
        journey_word: "invalid_request_error",
        reason,
        messages_code: "invalid_request",
        retry,
    };
    Api {
        operations: vec![submit("/v1/images", "images.generate"), submit("/v1/videos", "videos.generate")],
        families,
        errors: vec![
            case(400, "invalid_request", false),
            case(503, "busy", true),
            case(503, "restarting", true),
        ],
    }
}

fn painter() -> Value {
    json!({
        "$schema": DIALECT,
        "$defs": {"Size": {"enum": ["1:1"]}, "Model": {"enum": ["painter-1"]}},
        "type": "object",
        "properties": {
            "model": {"$ref": "#/$defs/Model", "description": "Which one."},
            "prompt": {"type": "string"},
            "size": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]},
        },
        "required": ["model", "prompt"],
    })
}

/// A schema without the fields that every body may have.
fn without_host_fields(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties
            .retain(|name, _| !["dry_run", "callback_url", "user", "metadata"].contains(&name.as_str()));
    }
    schema
}

#[test]
fn the_host_writes_the_model_and_the_rest_is_the_plugins() {
    let found = document(&api(vec![family("painter", &painter(), &["painter-1", "painter-x"], None)]));
    let schemas = &found["components"]["schemas"];
    let properties = &schemas["painter.images.generate"]["properties"];
    assert_eq!(properties["dry_run"]["type"], "boolean");
    assert_eq!(properties["callback_url"]["maxLength"], 2048);
    assert!(
        properties["user"]["description"].is_string() && properties["metadata"]["description"].is_string()
    );
    assert_eq!(
        without_host_fields(&schemas["painter.images.generate"]),
        json!({
            "type": "object",
            "properties": {
                "model": {"type": "string", "enum": ["painter-1", "painter-x"], "description": "Which one."},
                "prompt": {"type": "string"},
                "size": {"anyOf": [
                    {"$ref": "#/components/schemas/painter.images.generate.Size"}, {"type": "null"},
                ]},
            },
            "required": ["model", "prompt"],
        })
    );
    assert!(schemas["painter.images.generate.Model"].is_null(), "nothing refers to it any more");
    let content = &found["paths"]["/v1/images"]["post"]["requestBody"]["content"]["application/json"];
    assert_eq!(content["examples"]["painter"]["value"], json!({"model": "painter-1", "prompt": "a kite"}));
    assert_eq!(content["schema"], json!({"$ref": "#/components/schemas/painter.images.generate"}));
    assert_eq!(found["x-gatehouse-plugins"][0]["family"], "painter");
    assert!(found["paths"]["/v1/videos"].is_null(), "no family serves it");
}

#[test]
fn several_families_are_told_apart_by_the_model() {
    let of = |default| {
        let families = vec![
            family("painter", &painter(), &["painter-1"], None),
            family("drawer", &json!(true), &["drawer-1"], default),
        ];
        let found = document(&api(families));
        let path = "/paths/~1v1~1images/post/requestBody/content/application~1json/schema";
        (found.pointer(path).cloned().unwrap_or_default(), found)
    };
    let (body, _) = of(None);
    assert_eq!(body["oneOf"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        body["discriminator"],
        json!({"propertyName": "model", "mapping": {
            "painter-1": "#/components/schemas/painter.images.generate",
            "drawer-1": "#/components/schemas/drawer.images.generate",
        }})
    );
    let (body, found) = of(Some("drawer-1"));
    assert!(body["discriminator"].is_null(), "a request may leave the model out");
    assert_eq!(body["oneOf"].as_array().map(Vec::len), Some(2));
    let drawer = &found["components"]["schemas"]["drawer.images.generate"];
    let model = &drawer["properties"]["model"];
    assert_eq!(
        (&drawer["required"], &model["description"]),
        (&json!([]), &json!("The model. Default: \"drawer-1\"."))
    );
}

#[test]
fn forms_of_models_that_the_caller_may_not_use_are_left_out() {
    let form = |model: &str| json!({"type": "object", "properties": {"model": {"const": model}}});
    let schema = json!({"oneOf": [form("m-1"), form("m-2")]});
    let found = document(&api(vec![family("painter", &schema, &["m-2"], None)]));
    let schemas = &found["components"]["schemas"];
    assert_eq!(schemas["painter.images.generate.m-2"]["properties"]["model"], json!({"const": "m-2"}));
    assert!(schemas["painter.images.generate.m-1"].is_null());
}

#[test]
fn a_form_that_adds_to_a_definition_lists_every_field() {
    let schema = json!({
        "$defs": {"First": {
            "type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"],
            "description": "Shared.",
        }},
        "oneOf": [{
            "$ref": "#/$defs/First", "type": "object", "description": "Its own.",
            "properties": {"model": {"const": "m-1"}}, "required": ["model"],
        }],
    });
    let found = document(&api(vec![family("painter", &schema, &["m-1"], None)]));
    let schemas = &found["components"]["schemas"];
    assert_eq!(
        without_host_fields(&schemas["painter.images.generate.m-1"]),
        json!({
            "type": "object", "description": "Its own.",
            "properties": {"model": {"const": "m-1"}, "prompt": {"type": "string"}}, "required": ["model", "prompt"],
        })
    );
    assert!(schemas["painter.images.generate.First"].is_null(), "nothing refers to it any more");
}

#[test]
fn errors_of_one_status_are_one_response_and_every_reference_leads_somewhere() {
    let found = document(&api(vec![family("painter", &painter(), &["painter-1"], None)]));
    let busy = &found["components"]["responses"]["Error503"];
    assert_eq!(busy["description"], "busy, restarting. The same request may succeed later.");
    assert!(busy["headers"]["retry-after"].is_object());
    assert!(found["components"]["schemas"]["MessagesError"].is_null(), "no operation has that form");
    let mut all = Vec::new();
    references(&found, "#/", &mut all);
    assert!(all.len() > 8);
    for name in all {
        assert!(found.pointer(&format!("/{name}")).is_some(), "{name}");
    }
}

/// Without it a client would learn only from an answer what it may read in one.
#[test]
fn what_requests_come_to_stands_where_it_is_looked_for() {
    let mut painter = family("painter", &painter(), &["painter-1"], None);
    let schema = json!({"$defs": {"Url": {"type": "string"}}, "type": "object", "properties": {"url": {"$ref": "#/$defs/Url"}}});
    painter.surfaces[0].result_schema = Some(schema.to_string());
    let mut api = api(vec![painter]);
    let found = document(&api);
    let reference = json!({"$ref": "#/components/schemas/painter.images.generate.result"});
    assert_eq!(found["paths"]["/v1/images"]["post"]["x-gatehouse-result"], reference);
    let schemas = &found["components"]["schemas"];
    let url = &schemas["painter.images.generate.result"]["properties"]["url"]["$ref"];
    assert_eq!(url, "#/components/schemas/painter.images.generate.result.Url");
    assert_eq!(schemas["painter.images.generate.result.Url"]["type"], "string");

    api.operations[0].answers[0].contents = &[Content::Bytes(&["*/*"]), Content::Json(&["DryRun"])];
    let content = &document(&api)["paths"]["/v1/images"]["post"]["responses"]["200"]["content"];
    assert_eq!(content["application/json"]["schema"]["anyOf"][0], reference);
}
