//! The JSON of operations and results about plugins: it reads back, and programs written for earlier releases still read it.

use gatehouse_model::UnixMs;
use serde_json::json;

use crate::{Component, FamilyDefaultsFile, Operation, PluginState, Revealed};

#[test]
fn every_operation_reads_back() {
    let all = [
        Operation::PluginList,
        Operation::PluginActivate { version: "3f9a".to_owned(), allow_removal: true },
        Operation::PluginCheck {
            component: Component(vec![0, 255]),
            signature: Some("s".to_owned()),
            allow_removal: true,
            defaults: Some(FamilyDefaultsFile { name: "f.toml".to_owned(), text: "[prices]".to_owned() }),
        },
    ];
    for operation in all {
        let text = serde_json::to_string(&operation).unwrap();
        assert_eq!(serde_json::from_str::<Operation>(&text).unwrap(), operation, "{text}");
    }
    let unknown = r#"{"operation":"plugin-remove","version":"k","softly":true}"#;
    assert!(serde_json::from_str::<Operation>(unknown).is_err());
    let state = PluginState::RolledBack { at: UnixMs(1), reason: "r".to_owned() };
    assert_eq!(serde_json::to_value(state).unwrap(), json!({"state": "withdrawn", "at": 1, "reason": "r"}));
}

#[test]
fn a_revealed_secret_does_not_print() {
    assert_eq!(format!("{:?}", Revealed("sk-secret".to_owned())), "(secret)");
}
