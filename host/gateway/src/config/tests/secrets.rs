//! Secrets that are written in place of a reference: no message shows them, whatever field they are in.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::super::load::read_text;
use super::{FAMILY, load_text};
use crate::environment::OVERRIDE;

/// Every reference of the configuration.
const REFERENCES: [&str; 15] = [
    "admin.oidc.client_secret",
    "backup.s3.access_key_id",
    "backup.s3.secret_access_key",
    "backup.s3.session_token",
    "data.password",
    "data.url",
    "media.s3.access_key_id",
    "media.s3.secret_access_key",
    "outgoing.proxy_login",
    "providers.easel.accounts.main.key_id",
    "providers.easel.accounts.main.secret",
    "providers.easel.headers.x-team",
    "providers.easel.query.team",
    "server.acme.eab_hmac",
    "traces.headers.x-team",
];
/// Fields that may be a text, too.
const TEXTS: [&str; 3] = ["data.url", "providers.easel.headers.x-team", "providers.easel.query.team"];

/// Checks what is said of a document in which a secret stands.
fn expect_hidden(document: &str) {
    let error = load_text(document).map(drop).expect_err(document);
    assert!(!error.contains("hunter2"), "{document}\n{error}");
}

#[test]
fn a_secret_in_place_of_a_reference_is_never_quoted() {
    for path in REFERENCES {
        let (outer, key) = path.rsplit_once('.').unwrap();
        let (table, name) = outer.rsplit_once('.').unwrap_or(("", outer));
        let header = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
        // An address is shown where it has no password.
        let secret = if path == "data.url" { "postgres://me:hunter2@h/d" } else { "me:hunter2" };
        let values = [
            format!("\"{secret}\""),
            format!("{{ \"{secret}\" = \"x\" }}"),
            format!("{{ \"`{secret}\" = \"x\" }}"),
            format!("{{\n  \"{secret}\" = \"x\"\n}}"),
            format!("{{ env = \"A\", inline = \"{secret}\" }}"),
            format!("[\"{secret}\"]"),
            format!("\"{secret}"),
            secret.to_owned(),
            format!("\"\"\"\n{secret}"),
        ];
        for value in values.iter().skip(usize::from(TEXTS.contains(&path))) {
            expect_hidden(&format!("[{outer}]\n{key} = {value}\n"));
            expect_hidden(&format!("{header}{name} = {{ {key} = {value} }}\n"));
            expect_hidden(&format!("{header}{name} = {{\n  {key} = {value}\n}}\n"));
        }
        if !TEXTS.contains(&path) {
            let variable = format!("{OVERRIDE}{}", path.replace('.', "__").to_uppercase());
            let read = read_text("gatehouse.toml", "", &[FAMILY], &[(variable, secret.to_owned())]);
            let error = read.map(drop).expect_err(path).to_string();
            assert!(!error.contains("hunter2"), "{path}: {error}");
        }
    }
    for holder in ["providers.easel.accounts", "providers.easel.accounts.main", "providers.easel.headers"] {
        expect_hidden(&format!("{holder} = \"hunter2\"\n"));
    }
    for line in [
        "secret \"hunter2==\"",
        "secret: \"hunter2==\"",
        "[providers.easel.accounts.main.secret]\nhunter2 = \"x\"",
    ] {
        expect_hidden(&format!("[providers.easel.accounts.main]\n{line}\n"));
    }
    for document in [
        "traces.headers = \"hunter2\"\n",
        "traces = { headers = { x-team = hunter2 } }\n",
        "[traces.\"headers\"]\nx-team = \"hunter2\n",
        "[providers.easel]\nheaders = {\n  x-a = {\n    env = \"A\",\n  },\n  x-b = hunter2,\n}\n",
        "[providers.easel]\nheaders = { x-a = { env = \"A\" }, # }\n  x-b = hunter2,\n}\n",
        "[server]\npublic_url = \"https://me:hunter2@h\"\n",
        "[fleet]\naddress = \"https://me:hunter2@h\"\n",
        "[fetch]\nallow_private = \"http://me:hunter2@h\"\n",
    ] {
        expect_hidden(document);
    }
}

/// A new field would be missing above.
#[test]
fn every_reference_of_the_configuration_is_known_here() {
    let (mut fields, mut variants) = (BTreeSet::new(), 0);
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for_each_source(&host, &mut |text: &str| {
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            variants += usize::from(line.ends_with("(SecretRef),"));
            let Some((name, kind)) = line.split_once(": ") else { continue };
            let is_field = kind.contains("SecretRef") && !kind.contains('&') && !kind.contains("SecretRef::");
            if is_field {
                fields.insert(name.rsplit(' ').next().unwrap_or(name).to_owned());
            }
        }
    });
    assert!(fields.contains("proxy_login") && fields.len() > 8, "{fields:?}");
    let known: BTreeSet<&str> = REFERENCES.iter().flat_map(|path| path.split('.')).collect();
    fields.retain(|field| !known.contains(field.as_str()));
    assert!(fields.is_empty(), "add a row for each: {fields:?}");
    assert_eq!(variants, 2, "DatabaseUrl and ExtraValue; add rows for the fields of another one");
}

/// Every file of Rust below `folder`.
fn for_each_source(folder: &Path, look: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            for_each_source(&path, look);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            look(&fs::read_to_string(&path).unwrap());
        }
    }
}
