//! The defaults that installed families bring.

use super::{FAMILY, expect};
use crate::config::{FamilyDefaults, Loaded, Location, load_with};

fn defaults(family: &str, text: &str) -> FamilyDefaults {
    FamilyDefaults { family: Some(family.to_owned()), name: "family.toml".to_owned(), text: text.to_owned() }
}

/// Loads `text` over installed defaults.
fn load_over(text: &str, brought: FamilyDefaults) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gatehouse.toml");
    std::fs::write(&path, text).unwrap();
    let location =
        Location { file: Some(path), data: Some(folder.path().join("data")), ..Location::default() };
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
        expect(&error, position, remedy);
        assert!(!error.contains("hunter2"), "{error}");
    }
    // A key that only contains such a word.
    assert!(load_over("", defaults("f", "[plugins.settings.f]\nmax_tokens = 7")).is_ok());
}
