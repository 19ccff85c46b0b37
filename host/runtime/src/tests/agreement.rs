//! A check and an installation agree: whatever a check passes, an installation takes, and what it refuses, an installation
//! refuses at the same stage for the same reason.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU32;

use gatehouse_model::Digest;
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use serde_json::{Value, json};

use crate::tests::common::{claiming, ready, rebuilt, without_canary};
use crate::{
    Companion, Config, DeployError, DeployReport, Inventory, OwnPath, Package, Removal, SignedComponent,
    SigningKey,
};

/// A plugin as an author may hand it over, and the configuration that it meets.
#[derive(Clone, Debug)]
struct Case {
    claims: Value,
    /// Another build of it.
    mark: Option<u8>,
    package: Option<Package>,
    signature: Option<&'static str>,
    cut: bool,
    has_price: bool,
    has_provider: bool,
    has_route: bool,
    requires_signature: bool,
    is_disabled: bool,
    settings: Value,
    call_ms: u32,
    component_mib: u32,
    removal: Removal,
    brings_configuration: bool,
}

fn self_test(body: &str, expect: &str) -> Value {
    json!([{"surface": "images.generate", "body": body, "expect": expect}])
}

/// Changes of the manifest: sound ones, false ones, and versions that the stages after it refuse.
fn claims() -> impl Strategy<Value = Value> {
    let model = |aliases: &[&str], surface: &str| json!([{"id": "unruly-1", "aliases": aliases, "surfaces": [surface]}]);
    let sound = prop::sample::select(vec![json!({}), json!({"version": "1.2.4"})]);
    let any = prop::sample::select(vec![
        json!({"version": "one"}),
        json!({"family": "other", "models": [{"id": "other-1", "surfaces": ["images.generate"]}],
               "surfaces": [{"name": "images.generate", "schema": {"type": "object"}}]}),
        // The models of another family.
        json!({"family": "other"}),
        json!({"models": model(&[], "images.generate")}),
        json!({"models": model(&["unruly"], "images.unknown")}),
        json!({"state_version": 2, "reads_state": [1]}),
        json!({"reads_state": [1]}),
        json!({"price_keys": ["unruly.dear"]}),
        json!({"self_tests": self_test("ok", "refused")}),
        json!({"self_tests": self_test("ok", "accepted")}),
        json!({"settings_schema": {"type": "object", "additionalProperties": false, "properties": {"size": {"type": "integer"}}}}),
        json!({"settings_schema": {"type": "no type"}}),
        json!({"flaw": "loops"}),
        json!({"attack": "panic"}),
    ]);
    prop_oneof![sound, any]
}

fn package() -> impl Strategy<Value = Option<Package>> {
    let sound = Package { licence: Some("MIT".to_owned()), ..Package::default() };
    let lying = Package { manifest: Some("{\"family\": \"unruly\"}".to_owned()), ..sound.clone() };
    prop::option::weighted(0.2, prop::sample::select(vec![sound.clone(), sound, lying]))
}

fn cases() -> impl Strategy<Value = Case> {
    let faulty = prop::sample::select(vec![json!({"size": 1}), json!({"size": "1"}), json!({"sise": 1})]);
    let settings = prop_oneof![3 => Just(json!({})), 1 => faulty];
    let host = (
        any::<[bool; 6]>(),
        prop_oneof![9 => Just(100), 1 => Just(1)],
        prop_oneof![9 => Just(24), 1 => Just(1)],
        settings,
    );
    let plugin = (
        claims(),
        prop::option::weighted(0.2, Just(1)),
        package(),
        prop::option::weighted(0.1, Just("not a signature")),
        prop::bool::weighted(0.1),
    );
    (plugin, host, any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        |(
            (claims, mark, package, signature, cut),
            (flags, call_ms, component_mib, settings),
            may_remove,
            is_disabled,
        )| {
            // Mostly a gateway that has what is needed.
            let [price, provider, route, any, signed, brings_configuration] = flags;
            Case {
                claims,
                mark,
                package,
                signature,
                cut,
                has_price: price || any,
                has_provider: provider || any,
                has_route: route || any,
                requires_signature: signed && !any,
                is_disabled,
                settings,
                call_ms,
                component_mib,
                removal: if may_remove { Removal::Allowed } else { Removal::Refused },
                brings_configuration,
            }
        },
    )
}

impl Case {
    fn wasm(&self) -> Vec<u8> {
        let mut wasm = claiming(&self.claims);
        if let Some(mark) = self.mark {
            wasm = rebuilt(&wasm, mark);
        }
        if let Some(package) = &self.package {
            wasm = package.write(&wasm).unwrap();
        }
        if self.cut {
            wasm.truncate(wasm.len() / 2);
        }
        wasm
    }

    fn configure(&self, config: &mut Config) {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let taken = OwnPath { path: "/v1/images/generations".to_owned(), text: None };
        config.inventory = Some(Inventory {
            own_paths: if self.has_route { vec![] } else { vec![taken] },
            providers: all(if self.has_provider { &["mock"] } else { &[] }),
            optional: [].into(),
            prices: all(if self.has_price { &["unruly.image"] } else { &[] }),
            ..Inventory::default()
        });
        config.trust.required = self.requires_signature;
        config.trust.keys = [("us".to_owned(), key().public())].into();
        if self.is_disabled {
            config.disabled.insert("unruly".to_owned());
        }
        config.settings.insert("unruly".to_owned(), self.settings.clone());
        config.limits.call_ms = NonZeroU32::new(self.call_ms).unwrap();
        config.limits.component_mib = NonZeroU32::new(self.component_mib).unwrap();
    }
}

fn key() -> SigningKey {
    SigningKey::mint(&gatehouse_harness::TestSeed::counting_from(7))
}

/// A configuration that comes with the version; nothing of it has to be kept here.
struct Brought(Config);

impl Companion for Brought {
    fn config(&self) -> &Config {
        &self.0
    }

    fn keep(&self, _: &str, _: &Digest) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: &str, _: &Digest) {}

    fn apply(&self) {}
}

/// What an operator reads: the reason, and each stage with its end.
fn told(outcome: &Result<DeployReport, DeployError>) -> (String, Vec<&'static str>) {
    match outcome {
        Ok(report) => (String::new(), report.stages.iter().map(|stage| stage.name).collect()),
        Err(error) => (error.to_string(), error.stages.iter().map(|stage| stage.name).collect()),
    }
}

#[test]
fn whatever_a_check_passes_an_installation_takes() {
    let (dir, service, _) = ready();
    let (passed, refused) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Cases { cases: 24, failure_persistence: None, ..Cases::default() });
    let run = runner.run(&cases(), |case| {
        let mut configured = without_canary(dir.path());
        case.configure(&mut configured);
        let brought = case.brings_configuration.then(|| Brought(configured.clone()));
        let companion = brought.as_ref().map(|brought| brought as &dyn Companion);
        if companion.is_none() {
            service.configure(configured);
        }
        let wasm = case.wasm();
        let signed = key().sign(&wasm).to_string();
        let signature = case.signature.or_else(|| case.requires_signature.then_some(signed.as_str()));
        let component = SignedComponent { wasm: &wasm, signature };
        let checked = service.check_with(component, case.removal, companion);
        let installed = service.install_with(component, case.removal, companion);
        prop_assert_eq!(told(&checked), told(&installed));
        prop_assert_eq!(checked.is_ok(), installed.is_ok());
        let count = if installed.is_ok() { &passed } else { &refused };
        count.set(count.get() + 1);
        Ok(())
    });
    run.unwrap_or_else(|failed| panic!("{failed}"));
    // About two in five pass: one of 24 always does.
    assert!(passed.get() > 0 && refused.get() > 0, "{} passed, {} refused", passed.get(), refused.get());
}
