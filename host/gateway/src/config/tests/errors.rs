//! Errors: each with its line, what is wrong and the remedy, and never with a secret.

use std::fs;

use super::{Files, expect, load_text};
use crate::config::Location;
use crate::config::load::load_over;
use crate::server::ServeError;

/// The first error that the start finds in a file that reads.
fn error_at_start(files: &Files) -> String {
    let loaded = files.load().unwrap();
    match crate::server::check(&loaded.config, false) {
        Err(ServeError::Config(errors)) => loaded.error_at(&errors[0].key, &errors[0].problem).to_string(),
        _ => panic!("expected an error in the configuration"),
    }
}

#[test]
fn a_provider_that_cannot_be_used_is_a_warning_and_left_out() {
    let files = Files::new(None, "");
    let bare = "[providers.easel]\nconcurrency = 2\n";
    let sandbox = format!("{bare}[sandbox]\nenabled = true\n");
    let account = |name: &str| format!("[providers.{name}.accounts.main]\nsecret = {{ env = \"E\" }}\n");
    let cases: [(&str, Option<&[&str]>); 5] = [
        (bare, Some(&["toml:1:", "providers.easel: it has no account", "[providers.easel.accounts.main]"])),
        (&sandbox, None),
        (&account("easel"), None),
        (
            &account("eazel"),
            Some(&["toml:1:", "no `base_url`, so it is not used", "did you mean \"easel\"?"]),
        ),
        (&account("kling"), Some(&["providers.kling", "install the plugin that brings it"])),
    ];
    for (text, expected) in cases {
        fs::write(files.config(), text).unwrap();
        let loaded = files.load().unwrap();
        let warnings: Vec<String> = loaded.warnings.iter().map(|one| one.short()).collect();
        match (expected, &warnings[..]) {
            (None, []) => {}
            (Some(words), [one]) => assert!(words.iter().all(|word| one.contains(word)), "{text}: {one}"),
            _ => panic!("{text}: {warnings:?}"),
        }
        let usable = loaded.config.providers.values().all(|provider| !provider.base_url.is_empty());
        assert!(usable && loaded.config.providers.len() == 1, "{text}: the family's own alone");
    }
}

#[test]
fn errors_name_line_and_remedy() {
    let cases = [
        ("[server]\nlisen = \"127.0.0.1:1\"", "2:1: server", "did you mean `listen`?"),
        (
            "[server.tls]\ncertificate = \"c\"\nkey = \"k\"\n[server.acme]\ndomains = [\"a.example\"]",
            "4:9: server.acme",
            "remove the one that is not meant",
        ),
        (
            "[server.acme]\ndomains = [\"*.a\"]",
            "2:1: server.acme.domains",
            "an authority validates each name",
        ),
        ("[log]\nlevel = \"info\"\nformat = \"jsn\"", "3:10: log.format", "did you mean `json`?"),
        ("[tasks]\ntime_limit_s = \"30\"", "2:16: tasks.time_limit_s", "write it without quotes"),
        ("[prices]\npaint = 4.5", "2:9: prices.paint", "write it in double quotes"),
        (
            "[prices]\npaint = { credits = \"4\", per = 500 }",
            "2:32: prices.paint.per",
            "known here: 1, 1000, 1000000",
        ),
        (
            "[prices]\npaint = { credits = \"4\", pre = 1000 }",
            "2:26: prices.paint.pre",
            "known here: credits, per",
        ),
        ("[prices]\npaint = \"-1\"", "2:1: prices.paint", "correct the value"),
        ("[server]\nlisten = 127.0.0.1:8080", "2:", "check the quotes, brackets"),
        (
            "[admin]\n\nlisten = \"0.0.0.0:9\"",
            "3:1: admin.listen",
            "the admin listener is not encrypted: configure [admin.tls]",
        ),
        ("[admin.tls]\ncertificate = \"c\"\nkey = \"k\"", "1:", "add `client_ca = ...`"),
        ("[admin.tls]\nclient_ca = \"c\"", "1:", "add `certificate = ...`"),
        ("[admin.client]\nroot = \"c\"", "2:1: admin.client.root", "known here: ca, certificate"),
        ("[log]\nlevel = \"info,x=loud\"", "2:1: log.level", "write one of error, warn, info"),
        ("[log]\nlevel = \"verbose\"", "2:1: log.level", "write one of error, warn, info"),
        (
            "[tasks]\ntime_limit_s = 0",
            "2:1: tasks.time_limit_s: expected at least 1, got 0",
            "remove the line to have the default",
        ),
        (
            "[data]\nfolder = \"~/data\"",
            "2:1: data.folder",
            "write the whole path, such as \"/home/me/data\"",
        ),
        ("[data]\nfolder = \"a\"\nfolder = \"b\"", "3:1: ", "keep one of the two"),
        ("[servr]\n", "1:2: ", "did you mean `server`?"),
        ("[fetch]\nallow_private = \"a\"", "2:17: fetch.allow_private", "write a list: [ ... ]"),
        ("[plugins.limits]\nmemory_mib = 0", "2:14: plugins.limits.memory_mib", "correct the value"),
    ];
    for (text, position, remedy) in cases {
        expect(&load_text(text).unwrap_err(), "gatehouse.toml", position, remedy);
    }
}

/// Without it an operator looks for the wrong one of a list of targets.
#[test]
fn an_error_in_a_list_of_targets_has_its_line() {
    let model = |targets: &str| {
        format!("[models.m]\nprices = {{ input = \"1\", output = \"1\" }}\ntargets = [\n{targets}]\n")
    };
    let easel = "  { provider = \"easel\", protocol = \"chat\" },\n";
    for (targets, position, problem) in [
        (String::new(), "3:1: models.m.targets", "expected 1 to 16 targets, got 0"),
        (easel.repeat(2), "5:5: models.m.targets[1].provider", "got easel/m again"),
        (
            easel.to_owned() + "  { provider = \"lake\", protocol = \"chat\" },\n",
            "5:5: models.m.targets[1].provider",
            "expected one of [providers], got \"lake\"",
        ),
        (
            easel.to_owned() + "  { provider = \"easel\", protocol = \"Chat\" },\n",
            "5:36: models.m.targets[1].protocol",
            "got \"Chat\"",
        ),
        (
            "  { provider = \"easel\", protocol = \"chat\", wieght = 2 },\n".to_owned(),
            "4:44: models.m.targets[0]",
            "did you mean `weight`?",
        ),
    ] {
        let error = load_text(&model(&targets)).unwrap_err();
        let is_there = error.starts_with(&format!("gatehouse.toml:{position}"));
        assert!(is_there && error.contains(problem), "{targets}: {error}");
    }
    let without_prices = format!("[models.m]\ntargets = [\n{easel}]\n");
    expect(&load_text(&without_prices).unwrap_err(), "gatehouse.toml", "1:", "add `prices");
}

#[test]
fn every_error_is_reported_in_the_order_of_the_file() {
    let text = "[server]\nlisen = 1\n[prices]\na = \"-1\"\nb = 2.5\nc = \"-3\"\n[models.m]\nprovider = \"x\"\n\
                protocol = \"chat\"\nprices = { input = \"1\", output = \"-2\" }\n[log]\nformat = \"jsn\"\n\
                [providers.easel]\nconcurrency = \"many\"\n";
    let errors = load_text(text).unwrap_err();
    let lines: Vec<&str> = errors
        .lines()
        .filter_map(|line| line.strip_prefix("gatehouse.toml:")?.split_once(" ")?.1.split(':').next())
        .collect();
    let expected = [
        "server.lisen",
        "prices.a",
        "prices.b",
        "prices.c",
        "models.m.provider",
        "models.m.prices.output",
        "log.format",
        "providers.easel.concurrency",
    ];
    assert_eq!(lines, expected, "{errors}");
    assert_eq!(errors.matches("remedy: ").count(), expected.len(), "{errors}");
}

#[test]
fn an_error_shows_its_line() {
    let error = load_text("[server]\nlisten = \"127.0.0.1:1\"\nhttps = 3 # no").unwrap_err();
    let expected = "gatehouse.toml:3:1: server";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("\n  3 | https = 3 # no\n    | ^\n  remedy: known here: "), "{error}");
}

#[test]
fn an_error_never_quotes_a_secret() {
    for text in [
        "[providers.easel.accounts.main]\nsecret = \"hunter2\"",
        "[providers.easel.accounts.main]\nsecret = { env = \"A\", inline = \"hunter2\" }",
        "[providers.easel.accounts.main]\nsecret = \"hunter2\nx",
        "[providers.easel.accounts.main]\nsecert = \"hunter2\"",
        "[server.acme]\neab_hmac = { hunter2 = \"x\" }",
    ] {
        let error = load_text(text).unwrap_err();
        assert!(!error.contains("hunter2") && error.starts_with("gatehouse.toml:2:"), "{error}");
    }
}

#[test]
fn an_unusable_key_file_has_its_line_and_remedy() {
    let files = Files::new(None, "");
    let key = files.path().join("key.json");
    let text = format!(
        "[providers.easel]\nauth = \"service_account\"\n[providers.easel.accounts.main]\nsecret = {{ file = {key:?} }}\n"
    );
    fs::write(files.config(), text).unwrap();
    for (content, problem, remedy) in [
        (None, "No such file", "name a file that the gateway's user can read"),
        (
            Some("hunter2"),
            "expected a key file in JSON, got none (line 1, column 1)",
            "name the JSON key file",
        ),
        (
            Some("{\"private_key\": \"hunter2\"}"),
            "the key file has no `client_email`",
            "name the JSON key file",
        ),
        (
            Some("{\"client_email\": \"a@b\", \"private_key\": \"hunter2\"}"),
            "is not an RSA key of 2048 bits or more in PEM",
            "name the JSON key file",
        ),
    ] {
        if let Some(content) = content {
            fs::write(&key, content).unwrap();
        }
        let error = error_at_start(&files);
        assert!(error.contains("gatehouse.toml:4:1: providers.easel.accounts.main.secret: "), "{error}");
        assert!(error.contains(problem) && error.contains(&format!("remedy: {remedy}")), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn errors_within_auth_name_line_and_remedy() {
    for (auth, problem, remedy) in [
        (
            "auth = { hmac = { form = \"aws5\", region = \"r\", service = \"s\" } }",
            "unknown value `aws5`",
            "did you mean `aws4`?",
        ),
        (
            "auth = { hmac = { form = \"aws4\", service = \"s\" } }",
            "`region` is missing",
            "add `region = ...`",
        ),
        ("auth = { jwt = { lifetime = 3 } }", "unknown key `lifetime`", "did you mean `lifetime_s`?"),
        ("auth = { service_account = { token_url = 3 } }", "wrong type", "write it in double quotes"),
        ("auth = { service_acount = {} }", "unknown key `service_acount`", "did you mean `service_account`?"),
    ] {
        let text = format!("[providers.easel]\n{auth}\naccounts.main.secret = {{ env = \"A\" }}\n");
        let error = load_text(&text).unwrap_err();
        expect(&error, "gatehouse.toml", "2:", remedy);
        assert!(error.contains("providers.easel.auth") && error.contains(problem), "{error}");
    }
}

#[test]
fn a_named_file_must_exist() {
    let location = Location { file: Some("no/such/gatehouse.toml".into()), ..Location::default() };
    let missing = load_over(&[], &location, None).unwrap_err().to_string();
    assert!(missing.contains("no/such/gatehouse.toml") && missing.contains("remedy: "), "{missing}");
}
