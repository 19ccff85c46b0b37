//! Golden tests: an empty file, the documented example, a full file, typical errors, the environment.

use super::effective::EXAMPLE;
use super::load::read_text as read;
use super::renamed_keys::RENAMED;
use super::*;
use crate::plugins::built_in::{BuiltInPlugin, PLUGINS};
use crate::server::ServeError;

/// A family as small as one can be, so that these tests do not depend on the real ones.
const FAMILY: BuiltInPlugin = BuiltInPlugin {
    name: "painter",
    wasm: b"",
    family_toml: r#"
[prices]
"paint" = "4"
[providers.easel]
base_url = "https://easel.example"
auth = { header = "x-key" }
origins = ["https://*.easel.example"]
concurrency = 24
"#,
};

fn load_text(text: &str) -> Result<(Config, String), String> {
    read("gatehouse.toml", text, &[FAMILY], &[]).map_err(|error| error.to_string())
}

fn at(file: &std::path::Path) -> Location {
    Location { file: Some(file.to_owned()), data: None }
}

fn plain(text: &str) -> Config {
    read("gatehouse.toml", text, &[], &[]).map_err(|error| error.to_string()).unwrap().0
}

#[test]
fn an_empty_file_is_all_defaults() {
    assert_eq!(format!("{:?}", plain("")), format!("{:?}", Config::default()));
    let (config, _) = load_text("").unwrap();
    assert_eq!(config.prices["paint"].to_string(), "4");
    assert!(config.providers["easel"].accounts.is_empty());
}

#[test]
fn the_example_holds_the_defaults() {
    assert_eq!(format!("{:?}", plain(EXAMPLE)), format!("{:?}", Config::default()));
}

#[test]
fn the_example_names_every_key() {
    let sections = [
        "",
        "server",
        "server.limits",
        "server.tls",
        "admin",
        "data",
        "data.store",
        "tasks",
        "media",
        "fetch",
        "plugins",
        "plugins.limits",
        "plugins.canary",
        "log",
        "sandbox",
        "providers.bfl",
        "providers.bfl.accounts.main",
        "providers.x.auth.jwt",
        "providers.x.auth.hmac",
        "providers.x.auth.service_account",
    ];
    for section in sections {
        let head = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
        let error = toml::from_str::<Config>(&format!("{head}no_such_key = 1")).unwrap_err();
        let known = error.message().split('`').skip(3).step_by(2);
        let is_old = |key: &str| RENAMED.iter().any(|(old, _)| *old == format!("{section}.{key}"));
        for key in known.filter(|key| !key.is_empty() && !is_old(key)) {
            let (set, table) = (format!("{key} = "), format!("{key}]"));
            let named =
                EXAMPLE.contains(&set) || EXAMPLE.contains(&table) || EXAMPLE.contains(&format!("{key}."));
            assert!(named, "[{section}] {key} is not in the example");
        }
    }
}

#[test]
fn the_commented_keys_of_the_example_parse() {
    // Every commented line in the form of a setting parses. The certificate files need not exist.
    let setting = |line: &str| line.starts_with('[') || line.contains(" = ");
    let bare = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if setting(rest) && !rest.contains("GATEHOUSE__") && !rest.contains("<family>") => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    let text: Vec<String> = EXAMPLE.lines().map(bare).collect();
    let config: Config = toml::from_str(&text.join("\n")).unwrap();
    assert_eq!(config.providers["bfl"].accounts["main"].weight, Some(1));
    assert!(matches!(config.providers["vertex"].auth, gatehouse_upstream::Auth::ServiceAccount(_)));
    assert!(config.server.tls.is_some());
}

#[test]
fn the_defaults_of_the_built_in_families_load() {
    let (config, effective) = read("gatehouse.toml", "", PLUGINS, &[]).unwrap();
    assert!(!config.prices.is_empty() && !config.providers.is_empty());
    assert!(effective.contains("[providers.bfl]"), "{effective}");
}

#[test]
fn the_operators_values_replace_defaults_whole() {
    let text = r#"
[prices]
"paint" = "2.5"
[providers.easel]
auth = "bearer"
accounts.main.secret = { env = "EASEL" }
"#;
    let (config, effective) = load_text(text).unwrap();
    let easel = &config.providers["easel"];
    assert_eq!(config.prices["paint"].to_string(), "2.5");
    assert!(matches!(easel.auth, gatehouse_upstream::Auth::Bearer));
    assert_eq!((easel.base_url.as_str(), easel.concurrency), ("https://easel.example", 24));
    assert!(effective.contains("secret = \"(secret) from env EASEL\""), "{effective}");
    assert!(effective.contains("time_limit_s = 1800"), "{effective}");
}

#[test]
fn every_account_shows_how_it_authenticates() {
    let text = r#"
[providers.easel]
accounts.plain.secret = { env = "EASEL" }
[providers.easel.accounts.signed]
auth = { hmac = { form = "volcengine", region = "r", service = "s" } }
key_id = { env = "EASEL_ID" }
secret = { file = "/run/easel" }
"#;
    let (_, effective) = load_text(text).unwrap();
    let read: toml::Table = toml::from_str(&effective).unwrap();
    let account = |name: &str| read["providers"]["easel"]["accounts"][name].clone();
    assert_eq!(account("plain")["auth"]["header"].as_str(), Some("x-key"));
    assert_eq!(account("signed")["auth"]["hmac"]["form"].as_str(), Some("volcengine"));
    assert_eq!(account("signed")["key_id"].as_str(), Some("(secret) from env EASEL_ID"));
    assert_eq!(account("signed")["secret"].as_str(), Some("(secret) from file /run/easel"));
    let bare = "[providers.p]\nbase_url = \"https://p.example\"\naccounts.a.secret = { env = \"P\" }\n";
    let (_, effective) = load_text(bare).unwrap();
    let read: toml::Table = toml::from_str(&effective).unwrap();
    assert_eq!(read["providers"]["p"]["accounts"]["a"]["auth"].as_str(), Some("bearer"));
}

#[test]
fn a_configured_provider_needs_an_account() {
    let bare = "[providers.easel]\nconcurrency = 2\n";
    let error = load_text(bare).unwrap_err();
    assert!(
        error.starts_with("gatehouse.toml:1:") && error.contains("providers.easel.accounts.main"),
        "{error}"
    );
    assert!(load_text(&format!("{bare}[sandbox]\nenabled = true\n")).is_ok());
}

#[test]
fn errors_name_line_and_remedy() {
    let cases = [
        ("[server]\nlisen = \"127.0.0.1:1\"", "gatehouse.toml:2:1: server", "did you mean `listen`?"),
        (
            "[log]\nlevel = \"info\"\nformat = \"jsn\"",
            "gatehouse.toml:3:10: log.format",
            "did you mean `json`?",
        ),
        (
            "[tasks]\ntime_limit_s = \"30\"",
            "gatehouse.toml:2:16: tasks.time_limit_s",
            "write it without quotes",
        ),
        ("[prices]\npaint = 4.5", "gatehouse.toml:2:9: prices.paint", "write it in double quotes"),
        ("[prices]\npaint = \"-1\"", "gatehouse.toml:2:1: prices.paint", "correct the value"),
        ("[server]\nlisten = 127.0.0.1:8080", "gatehouse.toml:2:", "check the quotes, brackets"),
        (
            "[admin]\n\nlisten = \"0.0.0.0:9\"",
            "gatehouse.toml:3:1: admin.listen",
            "the admin listener is not encrypted",
        ),
        ("[log]\nlevel = \"x=loud\"", "gatehouse.toml:2:1: log.level", "correct the value"),
        ("[data]\nfolder = \"a\"\nfolder = \"b\"", "gatehouse.toml:3:1: ", "keep one of the two"),
        ("[servr]\n", "gatehouse.toml:1:2: ", "did you mean `server`?"),
        (
            "[fetch]\nallow_private = \"a\"",
            "gatehouse.toml:2:17: fetch.allow_private",
            "write a list: [ ... ]",
        ),
        (
            "[plugins.limits]\nmemory_mib = 0",
            "gatehouse.toml:2:14: plugins.limits.memory_mib",
            "correct the value",
        ),
    ];
    for (text, position, remedy) in cases {
        let error = load_text(text).unwrap_err();
        assert!(error.starts_with(position), "{text}\n{error}");
        assert!(error.contains(&format!("remedy: {remedy}")), "{text}\n{error}");
    }
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

fn defaults(family: &str, text: &str) -> FamilyDefaults {
    FamilyDefaults { family: Some(family.to_owned()), name: "family.toml".to_owned(), text: text.to_owned() }
}

/// Loads `text` over installed defaults.
fn load_over(text: &str, brought: FamilyDefaults) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gatehouse.toml");
    std::fs::write(&path, text).unwrap();
    let location = Location { file: Some(path), data: Some(folder.path().join("data")) };
    load_with(&location, &[FAMILY], vec![], Some(brought)).map_err(|errors| errors.to_string())
}

#[test]
fn installed_defaults_are_below_the_operators_values_and_above_the_built_in_ones() {
    let brought = "[prices]\npaint = \"7\"\nbrush = \"1\"\nown = \"1\"\n[providers.easel]\nconcurrency = 3\n\
                   [plugins.settings.f]\na = 1\n[plugins.limits_by_family.f]\nmemory_mib = 40\n";
    let own = "[prices]\nown = \"2\"\n[plugins.settings.other]\nb = 2\n\
               [providers.easel.accounts.main]\nsecret = { env = \"EASEL\" }\n";
    let loaded = load_over(own, defaults("f", brought)).unwrap();
    let config = &loaded.config;
    let price = |key: &str| config.prices[key].to_string();
    assert_eq!((price("paint"), price("brush"), price("own")), ("7".into(), "1".into(), "2".into()));
    let easel = &config.providers["easel"];
    assert_eq!((easel.concurrency, easel.base_url.as_str()), (3, "https://easel.example"));
    assert_eq!(config.plugins.settings.keys().collect::<Vec<_>>(), ["f", "other"]);
    assert_eq!(config.plugins.limits_by_family["f"].memory_mib.get(), 40);
    assert!(loaded.setter("prices.own").unwrap().ends_with("gatehouse.toml:2"));
    assert_eq!(loaded.setter("prices.brush"), None);
}

#[test]
fn defaults_with_more_than_a_family_may_bring_are_refused_with_their_line() {
    for (text, position, remedy) in [
        ("[server]\nlisten = \"0.0.0.0:1\"", "family.toml:1:2: server", "set this in gatehouse.toml"),
        (
            "[plugins]\nrequire_signature = false",
            "family.toml:2:1: plugins.require",
            "set this in gatehouse.toml",
        ),
        (
            "[plugins.trusted_keys]\nme = \"x\"",
            "family.toml:1:10: plugins.trusted",
            "set this in gatehouse.toml",
        ),
        (
            "[providers.p]\nbase_url = \"https://p\"\n[providers.p.accounts.main]\nsecret = \"hunter2\"",
            "family.toml:3:14: providers.p.accounts",
            "remove them here and add [providers.p.accounts.main]",
        ),
        (
            "[plugins.settings.f]\napi_key = \"hunter2\"",
            "family.toml:2:1: plugins.settings.f.api_key",
            "remove it here",
        ),
        (
            "[plugins.settings.g]\na = 1",
            "family.toml:1:19: plugins.settings.g",
            "a family brings its own only",
        ),
        ("[prices]\na = \"-1\"", "family.toml:2:1: prices.a", "correct the value"),
        (
            "[providers.p]\nbase_url = 7",
            "family.toml:2:12: providers.p.base_url",
            "write it in double quotes",
        ),
        ("[prices", "family.toml:1:", "check the quotes, brackets"),
    ] {
        let error = load_over("", defaults("f", text)).unwrap_err();
        assert!(error.starts_with(position), "{text}\n{error}");
        assert!(error.contains(&format!("remedy: {remedy}")), "{text}\n{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    // A key that only contains such a word.
    assert!(load_over("", defaults("f", "[plugins.settings.f]\nmax_tokens = 7")).is_ok());
}

#[test]
fn an_error_shows_its_line() {
    let error = load_text("[server]\nlisten = \"127.0.0.1:1\"\nport = 3 # no").unwrap_err();
    let expected = "gatehouse.toml:3:1: server";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("\n  3 | port = 3 # no\n    | ^\n  remedy: known here: "), "{error}");
}

#[test]
fn an_error_never_quotes_a_secret() {
    for text in [
        "[providers.easel.accounts.main]\nsecret = \"hunter2\"",
        "[providers.easel.accounts.main]\nsecret = { env = \"A\", inline = \"hunter2\" }",
        "[providers.easel.accounts.main]\nsecret = \"hunter2\nx",
        "[providers.easel.accounts.main]\nsecert = \"hunter2\"",
    ] {
        let error = load_text(text).unwrap_err();
        assert!(!error.contains("hunter2") && error.starts_with("gatehouse.toml:2:"), "{error}");
    }
}

#[test]
fn the_environment_overrides_and_errors_name_the_variable() {
    let variable = |name: &str, value: &str| (format!("GATEHOUSE__{name}"), value.to_owned());
    let load = |variables: &[(String, String)]| {
        read("gatehouse.toml", "[server]\nlisten = \"127.0.0.1:1\"", &[], variables)
            .map_err(|error| error.to_string())
    };
    let set = [
        variable("SERVER__LISTEN", "127.0.0.1:2"),
        variable("TASKS__TIME_LIMIT_S", "7"),
        variable("LOG__LEVEL", "debug"),
        ("PATH".to_owned(), "/bin".to_owned()),
    ];
    let (config, effective) = load(&set).unwrap();
    assert_eq!(config.server.listen, ["127.0.0.1:2".parse().unwrap()]);
    assert_eq!((config.tasks.time_limit_s, config.log.level.as_str()), (7, "debug"));
    assert!(effective.contains("127.0.0.1:2"), "{effective}");
    for (name, value) in [("TASKS__TIME_LIMIT_S", "soon"), ("SERVER__LISEN", "x"), ("LOG", "1")] {
        let error = load(&[variable(name, value)]).unwrap_err();
        assert!(error.contains(&format!("GATEHOUSE__{name}")), "{error}");
    }
}

#[test]
fn earlier_names_of_keys_are_read() {
    let text = "[server]\nleave_ms = 7\n[plugins.watch]\nwindow_s = 8\n";
    let config = plain(text);
    assert_eq!((config.server.lame_duck_ms, config.plugins.canary.window_s), (7, 8));
    let variables = [("GATEHOUSE__SERVER__LEAVE_MS".to_owned(), "9".to_owned())];
    let overridden = |text: &str| {
        let read = read("gatehouse.toml", text, &[], &variables).map_err(|error| error.to_string());
        read.map(|(config, effective)| (config.server.lame_duck_ms, effective.contains("leave_ms")))
    };
    assert_eq!(overridden(text), Ok((9, false)));
    assert_eq!(overridden("[server]\nlame_duck_ms = 7\n"), Ok((9, false)));
    for (text, position) in [
        ("[server]\nleave_ms = \"7\"\n", "gatehouse.toml:2:12: server.lame_duck_ms"),
        ("[server]\nleave_ms = 7\nlame_duck_ms = 8\n", "gatehouse.toml:2:1: server.lame_duck_ms"),
        ("[plugins.watch]\nfalts = 1\n", "gatehouse.toml:2:1: plugins.canary"),
    ] {
        let error = load_text(text).unwrap_err();
        assert!(error.starts_with(position), "{error}");
    }
}

#[test]
fn a_missing_secret_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gatehouse.toml");
    let text = "[providers.easel.accounts.main]\n\nsecret = { env = \"GATEHOUSE_TEST_UNSET_VARIABLE\" }\n";
    std::fs::write(&path, text).unwrap();
    let loaded = load(&at(&path), &[FAMILY], vec![]).unwrap();
    let Err(ServeError::Config(errors)) = crate::server::check(&loaded.config, false) else {
        panic!("expected an error about the secret");
    };
    let error = loaded.error_at(&errors[0].key, &errors[0].problem).to_string();
    assert!(error.contains("gatehouse.toml:3:1: providers.easel.accounts.main.secret: "), "{error}");
    assert!(error.contains("GATEHOUSE_TEST_UNSET_VARIABLE is not set"), "{error}");
}

#[test]
fn an_unusable_key_file_has_its_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (path, key) = (folder.path().join("gatehouse.toml"), folder.path().join("key.json"));
    let text = format!(
        "[providers.easel]\nauth = \"service_account\"\n[providers.easel.accounts.main]\nsecret = {{ file = {key:?} }}\n"
    );
    std::fs::write(&path, text).unwrap();
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
            std::fs::write(&key, content).unwrap();
        }
        let loaded = load(&at(&path), &[FAMILY], vec![]).unwrap();
        let Err(ServeError::Config(errors)) = crate::server::check(&loaded.config, false) else {
            panic!("expected an error about the key file");
        };
        let error = loaded.error_at(&errors[0].key, &errors[0].problem).to_string();
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
        assert!(error.starts_with("gatehouse.toml:2:") && error.contains("providers.easel.auth"), "{error}");
        assert!(error.contains(problem) && error.contains(&format!("remedy: {remedy}")), "{error}");
    }
}

#[test]
fn a_named_file_must_exist() {
    let missing =
        load(&at(std::path::Path::new("no/such/gatehouse.toml")), &[], vec![]).unwrap_err().to_string();
    assert!(missing.contains("no/such/gatehouse.toml") && missing.contains("remedy: "), "{missing}");
}
