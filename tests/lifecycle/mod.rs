//! Starts, stops and crashes of the real binary: acknowledged work survives, failed work costs
//! nothing, and the provider is never called twice for the same job.

mod acme;
mod admin;
mod admin_tls;
mod ambiguous;
mod backup;
mod disk;
mod full;
mod kill;
mod kill_joins;
mod limits;
mod metrics;
mod outgoing;
mod postgres;
mod price_import;
mod price_variants;
mod privacy;
mod reload;
mod restarts;
mod small_disk;
mod starts;
mod stop;
mod tls;
mod traces;
mod webhooks;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gatehouse_harness::variable;
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::gateways::{sandbox, setup};

/// The size of a test: small by default, larger through the environment.
fn setting(name: &str, usual: usize) -> usize {
    variable(name).map_or(usual, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name}: expected a number, not {text:?}"))
    })
}

/// A program below `folder` that starts the gateway in a way of its own.
fn script(folder: &Path, text: &str) -> PathBuf {
    let script = folder.join("gatehouse");
    fs::write(&script, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a script that may run");
    script
}

fn request(prompt: &str) -> Value {
    json!({"model": "ctx-pro", "prompt": prompt})
}

/// How often the provider was called for each prompt.
fn submits(sandbox: &Sandbox) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for submit in sandbox.context_record().submits {
        *counts.entry(submit.prompt).or_default() += 1;
    }
    counts
}
