//! The JSON of operations and results: it reads back, and programs written for earlier releases still read it.

use std::num::NonZeroU32;

use gatehouse_model::{ChatFormat, Credits, Customer, CustomerId, Limits, UnixMs};
use serde_json::json;

use crate::{
    Component, FamilyDefaultsFile, KeyPatch, NewKey, Operation, OperationResult, PluginOffer, PluginState,
    Revealed,
};

fn new_key() -> NewKey {
    NewKey {
        customer: CustomerId::from("a"),
        name: "n".to_owned(),
        quota: Some(Credits(250_000)),
        models: vec!["ctx-pro".to_owned()],
        networks: vec!["10.0.0.0/8".parse().unwrap()],
        expires: Some(UnixMs(5)),
        chat_format: ChatFormat::Bare,
        limits: Limits { concurrency: NonZeroU32::new(2), ..Limits::default() },
        model_limits: [("ctx-pro".to_owned(), Limits::default())].into(),
        force: true,
    }
}

#[test]
fn every_operation_reads_back() {
    let customer = CustomerId::from("a");
    let amount = Credits(250_000);
    let all = [
        Operation::CustomerOpen { customer: customer.clone() },
        Operation::CustomerList,
        Operation::CustomerDeposit { customer: customer.clone(), amount, memo: String::new() },
        Operation::CustomerWithdraw { customer, amount, memo: "m".to_owned() },
        Operation::KeyCreate(new_key()),
        Operation::KeyList { customer: None, revoked: true },
        Operation::KeyEdit {
            key: "k".into(),
            revision: Some(3),
            patch: Box::new(KeyPatch { quota: Some(None), ..KeyPatch::default() }),
        },
        Operation::KeyRotate { key: "k".into(), overlap_ms: 5 },
        Operation::KeyRevoke { key: "k".into() },
        Operation::Doctor,
        Operation::Reload,
        Operation::ProviderList,
        Operation::ProviderDrain { provider: "p".to_owned(), account: "a".to_owned() },
        Operation::ProviderResume { provider: "p".to_owned(), account: "a".to_owned() },
        Operation::PluginCheck(PluginOffer {
            signature: Some("s".to_owned()),
            allow_removal: true,
            defaults: Some(FamilyDefaultsFile { name: "f.toml".to_owned(), text: "[prices]".to_owned() }),
            ..PluginOffer::of(Component(vec![0, 255]))
        }),
    ];
    for operation in all {
        let text = serde_json::to_string(&operation).unwrap();
        assert_eq!(serde_json::from_str::<Operation>(&text).unwrap(), operation, "{text}");
    }
    let unknown = r#"{"operation":"key-revoke","key":"k","softly":true}"#;
    assert!(serde_json::from_str::<Operation>(unknown).is_err());
}

#[test]
fn the_json_keeps_its_names() {
    let customer = Customer {
        id: CustomerId::from("a"),
        created: UnixMs(7),
        available: Credits(1),
        reserved: Credits::ZERO,
        spent: Credits::ZERO,
        deposited: Credits(1),
    };
    let one = OperationResult::Customer(customer.clone());
    assert_eq!(serde_json::to_value(&one).unwrap()["outcome"], "account");
    let all = serde_json::to_value(OperationResult::Customers { customers: vec![customer] }).unwrap();
    assert_eq!((&all["outcome"], &all["accounts"][0]["id"]), (&json!("accounts"), &json!("a")));
    let state = PluginState::RolledBack { at: UnixMs(1), reason: "r".to_owned() };
    assert_eq!(serde_json::to_value(state).unwrap(), json!({"state": "withdrawn", "at": 1, "reason": "r"}));
    assert_eq!(serde_json::to_value(new_key()).unwrap()["account"], "a");
    for (old, new) in [
        (r#"{"operation":"account-show","account":"a"}"#, r#"{"operation":"customer-show","customer":"a"}"#),
        (
            r#"{"operation":"key-list","account":"a","revoked":true}"#,
            r#"{"operation":"key-list","customer":"a","revoked":true}"#,
        ),
    ] {
        let read = |text| serde_json::from_str::<Operation>(text).unwrap();
        assert_eq!(read(old), read(new));
        assert_eq!(serde_json::to_string(&read(new)).unwrap(), old);
    }
}

#[test]
fn a_revealed_secret_does_not_print() {
    assert_eq!(format!("{:?}", Revealed("sk-secret".to_owned())), "(secret)");
}
