//! The defaults that installed families bring.

use super::{Files, brought, expect};
use crate::config::{Loaded, check_own};

/// Loads `own` over the defaults of an installed family.
fn load_over(own: &str, family: &str, text: &str) -> Result<Loaded, String> {
    Files::new(None, own).load_with(Some(brought(Some(family), text))).map_err(|errors| errors.to_string())
}

#[test]
fn installed_defaults_are_below_the_operators_values_and_above_the_built_in_ones() {
    let brought = "[prices]\npaint = \"7\"\nbrush = \"1\"\nown = \"1\"\n[providers.easel]\nconcurrency = 3\n\
                   [plugins.settings.painter]\na = 1\n[plugins.limits_by_family.painter]\nmemory_mib = 40\n";
    let own = "[prices]\nown = \"2\"\n[plugins.settings.other]\nb = 2\n\
               [providers.easel.accounts.main]\nsecret = { env = \"EASEL\" }\n";
    let loaded = load_over(own, "painter", brought).unwrap();
    let config = &loaded.config;
    let price = |key: &str| config.prices[key].credits.to_string();
    assert_eq!((price("paint"), price("brush"), price("own")), ("7".into(), "1".into(), "2".into()));
    let easel = &config.providers["easel"];
    assert_eq!((easel.concurrency, easel.base_url.as_str()), (3, "https://easel.example"));
    assert_eq!(config.plugins.settings.keys().collect::<Vec<_>>(), ["other", "painter"]);
    assert_eq!(config.plugins.limits_by_family["painter"].memory_mib.get(), 40);
    assert!(loaded.setter("prices.own").unwrap().ends_with("gatehouse.toml:2"));
    assert_eq!(loaded.setter("prices.brush"), None);
}

#[test]
fn defaults_with_more_than_a_family_may_bring_are_refused_with_their_line() {
    for (text, position, remedy) in [
        ("[server]\nlisten = \"0.0.0.0:1\"", "1:2: server", "set this in gatehouse.toml"),
        ("[plugins]\nrequire_signature = false", "2:1: plugins.require", "set this in gatehouse.toml"),
        ("[plugins.trusted_keys]\nme = \"x\"", "1:10: plugins.trusted", "set this in gatehouse.toml"),
        (
            "[providers.p]\nbase_url = \"https://p\"\n[providers.p.accounts.main]\nsecret = \"hunter2\"",
            "3:14: providers.p.accounts",
            "remove them here and add [providers.p.accounts.main]",
        ),
        ("[plugins.settings.f]\napi_key = \"hunter2\"", "2:1: plugins.settings.f.api_key", "remove it here"),
        ("[plugins.settings.g]\na = 1", "1:19: plugins.settings.g", "a family brings its own only"),
        ("[prices]\na = \"-1\"", "2:1: prices.a", "correct the value"),
        ("[providers.p]\nbase_url = 7", "2:12: providers.p.base_url", "write it in double quotes"),
        ("[prices", "1:", "check the quotes, brackets"),
    ] {
        let error = load_over("", "f", text).unwrap_err();
        expect(&error, "family.toml", position, remedy);
        assert!(!error.contains("hunter2"), "{error}");
    }
    // A key that only contains such a word.
    assert!(load_over("", "f", "[plugins.settings.f]\nmax_tokens = 7").is_ok());
}

/// What belongs to another family, or borrows its accounts, is refused from anybody: a third party's defaults would take
/// the operator's secret elsewhere otherwise.
#[test]
fn defaults_of_what_is_another_familys_are_refused() {
    let easel = "[providers.easel.accounts.main]\nsecret = { env = \"EASEL\" }\n";
    for (text, position) in [
        ("[providers.easel]\nbase_url = \"http://127.0.0.1:1\"", "2:1: providers.easel.base_url"),
        ("[providers.easel]\norigins = [\"https://x\"]", "2:1: providers.easel.origins"),
        ("[providers.easel]\nauth = \"none\"", "2:1: providers.easel.auth"),
        ("[providers.easel]\nmedia_origins = [\"https://x\"]", "2:1: providers.easel.media_origins"),
        ("[prices]\npaint = \"0\"", "2:1: prices.paint"),
        ("[prices]\n\"paint@large\" = \"0\"", "2:1: prices.paint@large"),
        (
            "[providers.own]\nbase_url = \"https://own\"\naccounts_of = \"easel\"",
            "3:1: providers.own.accounts_of",
        ),
        (
            "[models.own]\nprovider = \"easel\"\nprotocol = \"chat\"\nprices = { input = \"0\", output = \"0\" }",
            "1:9: models.own",
        ),
    ] {
        let error = load_over(easel, "f", text).unwrap_err();
        assert!(error.starts_with(&format!("family.toml:{position}")), "expected {position}\n{error}");
    }
    // Its own family may, and what the operator sets is the operator's.
    load_over(easel, "painter", "[prices]\npaint = \"7\"\n[providers.easel]\nconcurrency = 3").unwrap();
    let own = format!("[prices]\npaint = \"2\"\n{easel}");
    let loaded = load_over(&own, "f", "[prices]\npaint = \"0\"").unwrap();
    assert_eq!(loaded.config.prices["paint"].credits.to_string(), "2");
}

/// A later version of a family, and a family that names a provider of the operator, cannot move an account's secret.
#[test]
fn where_the_secret_of_an_account_goes_is_not_taken_from_defaults() {
    let own = "[providers.kite]\nbase_url = \"https://kite\"\n[providers.kite.accounts.main]\nsecret = { env = \"K\" }\n\
               [providers.wave.accounts.main]\nsecret = { env = \"W\" }\n";
    let wave = "[prices]\nsurf = \"1\"\n[providers.wave]\nbase_url = \"https://wave\"\nauth = \"bearer\"\n";
    let before = load_over(own, "surf", wave).unwrap();
    for (text, expected) in [
        (wave.to_owned(), None),
        (wave.replace("surf = \"1\"", "\"surf@large\" = \"2\""), None),
        (wave.replace("https://wave", "https://evil"), Some("4:1: providers.wave.base_url")),
        (format!("{wave}origins = [\"https://evil\"]"), Some("6:1: providers.wave.origins")),
        (wave.replace("auth = \"bearer\"", ""), Some("providers.wave: `auth` is")),
        (format!("{wave}accounts_of = \"kite\""), Some("6:1: providers.wave.accounts_of")),
        (
            format!("{wave}[providers.kite]\norigins = [\"https://evil\"]"),
            Some("7:1: providers.kite.origins"),
        ),
        (wave.replace("surf =", "foil ="), Some("2:1: prices.foil")),
    ] {
        let about = gatehouse_model::About { price_keys: vec!["surf".to_owned()], ..about("surf") };
        let checked = load_over(own, "surf", &text)
            .and_then(|after| check_own(Some(&before), &after, &about).map_err(|errors| errors.to_string()));
        match expected {
            None => checked.unwrap(),
            Some(expected) => {
                let error = checked.unwrap_err();
                assert!(error.contains(expected), "expected {expected}\n{error}");
            }
        }
    }
}

fn about(family: &str) -> gatehouse_model::About {
    gatehouse_model::About {
        family: family.to_owned(),
        version: "1.0.0".to_owned(),
        state_version: 1,
        ..gatehouse_model::About::default()
    }
}
