//! Golden documents: an empty file, the documented example, the environment, earlier names.

use gatehouse_admin::AdminClient;

use super::{load_text, plain};
use crate::config::differences::EXAMPLE;
use crate::config::document::RENAMED;
use crate::config::load::{load_admin_client, read_text as read};
use crate::config::{Config, Location};

#[test]
fn an_empty_file_is_all_defaults() {
    assert_eq!(format!("{:?}", plain("")), format!("{:?}", Config::default()));
    let (config, _) = load_text("").unwrap();
    assert_eq!(config.prices["paint"].credits.to_string(), "4");
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
        "admin.tls",
        "admin.client",
        "data",
        "data.store",
        "tasks",
        "media",
        "fetch",
        "plugins",
        "plugins.limits",
        "plugins.canary",
        "log",
        "outgoing",
        "traces",
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
    assert!(matches!(config.providers["veo"].auth, gatehouse_upstream::Auth::ServiceAccount(_)));
    assert!(config.server.tls.is_some());
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
    assert_eq!(config.prices["paint"].credits.to_string(), "2.5");
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
        // Another key that only begins like it.
        ("[plugins]\nwatch_folder = \"\"\n", "gatehouse.toml:2:1: plugins.watch_folder"),
    ] {
        let error = load_text(text).unwrap_err();
        assert!(error.starts_with(position), "{error}");
    }
}

#[test]
fn what_commands_present_is_read_whatever_else_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gatehouse.toml");
    let read = |text: &str, variables: &[(String, String)]| {
        std::fs::write(&file, text).unwrap();
        let (file, environment) = (Some(file.clone()), variables.to_vec());
        let location = Location { file, environment, ..Location::default() };
        load_admin_client(&location).map_err(|error| error.to_string())
    };
    let text = "[prices]\npaint = 4.5\n[admin]\nlisten = 7\n[admin.client]\nca = \"a\"\nkey = \"k\"\n";
    let variable = ("GATEHOUSE__ADMIN__CLIENT__CA".to_owned(), "b".to_owned());
    let client = read(text, &[variable]).unwrap();
    assert_eq!((client.ca, client.key), (Some("b".into()), Some("k".into())));
    assert_eq!(read("[log]\n", &[]).unwrap(), AdminClient::default());
    let error = read("[admin.client]\nname = \"x\"\n", &[]).unwrap_err();
    assert!(error.contains("admin.client.name"), "{error}");
    // An option of the command counts first.
    let option = AdminClient { key: Some("o".into()), ..AdminClient::default() };
    let client = option.or(read(text, &[]).unwrap());
    assert_eq!((client.ca, client.key), (Some("a".into()), Some("o".into())));
}
