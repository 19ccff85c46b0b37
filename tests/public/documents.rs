//! The document of the API: it says what the loaded plugins say, changes with them, and shows a key what it may use.

use std::collections::BTreeSet;
use std::time::Duration;

use gatehouse_harness::{checks, component, run, run_together, send};
use gatehouse_schema::{Kind, Reader};
use serde_json::{Value, json};

use crate::public::{Scene, generators, schemas};

const DOCUMENT: &str = "/v1/openapi.json";

/// Every name of a property in a schema of the document, those of its forms included; references are followed.
fn names(document: &Value, schema: &Value, found: &mut BTreeSet<String>, depth: usize) {
    if depth > 8 {
        return;
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| document.pointer(&reference[1..])) {
        names(document, target, found, depth + 1);
    }
    found.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
    for form in ["allOf", "oneOf", "anyOf"].iter().flat_map(|word| schema[*word].as_array()).flatten() {
        names(document, form, found, depth + 1);
    }
}

fn shown(kind: &Kind, found: &mut BTreeSet<String>) {
    match kind {
        Kind::Object(fields) => found.extend(fields.iter().map(|field| field.name.clone())),
        Kind::Variants(variants) => variants.iter().for_each(|variant| shown(&variant.kind, found)),
        _ => {}
    }
}

/// None of them changes what the others see.
#[test]
fn the_document_serves_people_and_programs() {
    let start = async || Scene::start(Duration::ZERO).await;
    run_together(
        start,
        checks![names_every_family_and_field, schemas::lints_clean, generators::get_a_picture],
    );
}

async fn names_every_family_and_field(scene: &Scene) {
    let answer = send(scene.gateway.public, "GET", DOCUMENT, &[], "").await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "no-cache"));
    let document = answer.json();
    let families: Vec<&str> = document["x-gatehouse-plugins"]
        .as_array()
        .expect("plugins")
        .iter()
        .filter_map(|plugin| plugin["family"].as_str())
        .collect();
    for family in ["chat", "clip", "context-image", "imagine", "journey", "messages", "motion", "scene"] {
        assert!(families.contains(&family), "{family}");
    }
    let reader = Reader::new(&document);
    let mut bodies = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let schema = &methods["post"]["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            continue;
        }
        let forms = ["oneOf", "anyOf"].iter().find_map(|word| schema[*word].as_array());
        for form in forms.map_or_else(|| vec![schema], |forms| forms.iter().collect()) {
            let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
            names(&document, form, &mut written, 0);
            shown(&reader.kind(form), &mut read);
            assert_eq!(read, written, "{path}: each field has its row");
            bodies += 1;
        }
    }
    assert!(bodies > 25, "{bodies}");
    let models =
        document["components"]["schemas"]["chat.chat.completions"]["properties"]["model"]["enum"].clone();
    for model in ["over-chat", "over-messages", "over-messages-2"] {
        assert!(models.as_array().is_some_and(|all| all.contains(&json!(model))), "{model} in {models}");
    }
    // Text models are on the endpoints of their kind.
    let vectors = &document["components"]["schemas"]["chat.embeddings.create"]["properties"]["model"];
    assert_eq!(vectors["enum"], json!(["over-vectors"]));
    assert!(models.as_array().is_some_and(|all| !all.contains(&json!("over-vectors"))), "{models}");
    let answers = &document["paths"]["/v1/embeddings"]["post"]["responses"]["200"]["content"];
    assert!(answers.to_string().contains("#/components/schemas/EmbeddingList"), "{answers}");
    let body = json!({"model": "over-vectors", "input": ["a kite", "a hat"]});
    let answer = scene.caller.post("/v1/embeddings", &body).await.json();
    let outline = &document["components"]["schemas"]["EmbeddingList"];
    for name in outline["required"].as_array().expect("names").iter().filter_map(Value::as_str) {
        assert!(!answer[name].is_null(), "{name}: {answer}");
    }
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(2));
    // What never succeeds is not offered.
    assert!(document["paths"]["/v1/responses/{id}/cancel"].is_null());
    let page = send(scene.gateway.public, "GET", "/docs", &[], "").await;
    let html = page.text();
    assert_eq!(page.status, 200);
    for word in ["image_with_roles", "negative_prompt", "max_completion_tokens", "journey"] {
        assert!(html.contains(word), "{word}");
    }
}

#[test]
fn a_key_sees_its_models_and_a_swap_is_another_document() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let narrow = scene.gateway.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
        let seen = narrow.get(DOCUMENT).await.json();
        assert_eq!(
            seen["x-gatehouse-plugins"].as_array().map(Vec::len),
            Some(1),
            "{}",
            seen["x-gatehouse-plugins"]
        );
        let model = &seen["components"]["schemas"]["context-image.images.generate"]["properties"]["model"];
        assert_eq!(model["enum"], json!(["ctx-pro"]));
        assert!(seen["paths"]["/v1/chat/completions"].is_null());

        let before = scene.caller.get(DOCUMENT).await;
        let etag = before.header("etag").to_owned();
        let condition = [("if-none-match", etag.as_str())];
        assert_eq!(scene.caller.send("GET", DOCUMENT, &condition, "").await.status, 304);
        // A custom section changes the digest and nothing else.
        let other = [component("plugins/context-image").as_slice(), &[0, 3, 1, b'b', 1]].concat();
        let file = scene.gateway.folder().join("other.wasm");
        std::fs::write(&file, other).expect("a file");
        scene.gateway.command(&["plugin", "install", &file.display().to_string()]).await;
        let after = scene.caller.send("GET", DOCUMENT, &condition, "").await;
        assert_eq!(after.status, 200);
        assert_ne!(after.header("etag"), etag);
        let digest = |document: &Value| {
            let all = document["x-gatehouse-plugins"].as_array().expect("plugins").clone();
            all.into_iter().find(|one| one["family"] == "context-image").expect("the family")["digest"]
                .clone()
        };
        assert_ne!(digest(&before.json()), digest(&after.json()));
    });
}
