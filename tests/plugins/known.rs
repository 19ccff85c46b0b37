//! What the gateway knows of built-in families before a version of them has published its manifest, against their manifests.

use gatehouse_sdk::{About, Family};

/// The tables that warn of misspelt names in a configuration.
const TABLES: &str = include_str!("../../host/gateway/src/config/plausible.rs");

fn built_in() -> [About; 9] {
    [
        chat::Chat::about(),
        clip::Clip::about(),
        context_image::ContextImage::about(),
        generatecontent::GenerateContent::about(),
        imagine::Imagine::about(),
        journey::Journey::about(),
        messages::Messages::about(),
        motion::Motion::about(),
        scene::Scene::about(),
    ]
}

/// Without it a gateway on an empty folder would call a setting misspelt that its family reads, or pass one that it does not.
#[test]
fn the_settings_that_a_gateway_expects_are_those_of_the_manifests() {
    for about in built_in() {
        let schema = about.settings_schema.as_deref().unwrap_or("{}");
        let schema: serde_json::Value = serde_json::from_str(schema).expect("a schema");
        let mut keys: Vec<&str> =
            schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        let row = format!("({:?}, &{keys:?}),", about.family);
        assert!(TABLES.contains(&row), "SETTINGS of host/gateway/src/config/plausible.rs must have {row}");
    }
}

/// Without it a model that names a built-in dialect would be warned of.
#[test]
fn the_protocols_that_a_gateway_expects_are_those_that_families_speak() {
    for dialect in built_in().iter().flat_map(|about| &about.dialects) {
        let list = TABLES.lines().find(|line| line.starts_with("const PROTOCOLS")).expect("the list");
        assert!(list.contains(&format!("{dialect:?}")), "PROTOCOLS must have {dialect:?}: {list}");
    }
}
