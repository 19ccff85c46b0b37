//! What a start does without because of a family, and what is an error wherever an operator asks.

use std::fs;

use super::{Files, brought};

const SOUND: &str = "[prices]\nwave = \"1\"\n[providers.sea]\nbase_url = \"https://sea.example\"\n";

/// A gateway that did not start because of one family would take all the others away with it.
#[test]
fn a_family_whose_part_is_wrong_is_off_and_the_start_goes_on() {
    let model =
        "[models.m]\nprovider = \"sea\"\nprotocol = \"chat\"\nprices = { input = \"1\", output = \"1\" }\n";
    for (defaults, own, what, remedy) in [
        ("[prices\n", "", "family \"surf\" is off", "check the quotes"),
        ("[server]\nlisten = \"[::]:1\"\n", "", "family \"surf\" is off", "set this in gatehouse.toml"),
        ("[prices]\nwave = \"much\"\n", "", "family \"surf\" is off", "correct the value"),
        ("[providers.sea]\nbase_url = 7\n", "", "family \"surf\" is off", "write it in double quotes"),
        (
            "[providers.sea]\nbase_ulr = \"https://sea\"\n",
            "",
            "family \"surf\" is off",
            "did you mean `base_url`?",
        ),
        ("[prices]\npaint = \"9\"\n", "", "family \"surf\" is off", "remove \"9\" here"),
        ("\u{0}", "", "family \"surf\" is off", ""),
        (model, "", "family \"surf\" is off", "name a provider of its own"),
        // Its text models go with the provider that it brings.
        (&SOUND.replace("sea", "lake"), model, "a text model is not served", "expected one of [providers]"),
    ] {
        let files = Files::new(Some(defaults.as_bytes()), own);
        let loaded = files.load().unwrap_or_else(|errors| panic!("{defaults}: {errors}"));
        let left_out = loaded.left_out();
        let is_told = left_out.iter().any(|line| line.contains(remedy));
        assert!(is_told && left_out.iter().all(|line| line.starts_with(what)), "{defaults}: {left_out:?}");
        assert_eq!(
            loaded.config.prices["paint"].credits.to_string(),
            "4",
            "the other family has its own price"
        );
        assert!(!loaded.config.models.contains_key("m"));
        let disabled = loaded.config.runtime(files.path().to_owned()).disabled;
        assert_eq!(disabled.contains("surf"), what.starts_with("family"), "{defaults}");
        let errors = loaded.whole().map(drop).unwrap_err().to_string();
        assert!(errors.contains("surf.toml") || errors.contains("gatehouse.toml:2"), "{errors}");
    }
}

/// Without it a family that is off takes the models with it that other providers serve.
#[test]
fn a_target_whose_provider_is_gone_leaves_the_model_to_the_others() {
    let own = "[models.m]\nprices = { input = \"1\", output = \"1\" }\ntargets = [\n  { provider = \"easel\", protocol = \"chat\" },\n  \
               { provider = \"sea\", protocol = \"chat\" },\n]\n";
    let files = Files::new(Some(SOUND.replace("sea", "lake").as_bytes()), own);
    let loaded = files.load().unwrap();
    let left_out = loaded.left_out();
    assert!(
        left_out.len() == 1 && left_out[0].starts_with("a target of a text model is not asked"),
        "{left_out:?}"
    );
    let targets = loaded.config.models["m"].targets.as_ref().expect("a list");
    assert_eq!(targets.iter().map(|target| target.provider.as_str()).collect::<Vec<_>>(), ["easel"]);
    let errors = loaded.whole().map(drop).unwrap_err().to_string();
    assert!(
        errors.contains("gatehouse.toml:5:5: models.m.targets[1].provider: expected one of [providers]"),
        "{errors}"
    );
}

#[test]
fn a_file_that_cannot_be_read_switches_its_family_off() {
    let files = Files::new(Some(b"\xff"), "");
    let left_out = files.load().unwrap().left_out();
    assert!(left_out.len() == 1 && left_out[0].contains("make it readable"), "{left_out:?}");
    // Others in its place repair it.
    let loaded = files.load_with(Some(brought(Some("surf"), SOUND))).unwrap().whole().unwrap();
    assert!(loaded.config.unusable_families.is_empty());
}

/// A misspelt setting did nothing, and a wrong type was found by the first client; a family's schema tells them here.
#[test]
fn settings_are_compared_with_the_schema_of_the_active_version() {
    let digest = gatehouse_model::Digest::of(b"surf");
    let schema = r#"{"type": "object", "additionalProperties": false, "properties": {"greeting": {"type": "string"}}}"#;
    let entry = serde_json::json!({"family": "surf", "version": "1.0.0", "state_version": 1, "settings_schema": schema});
    let active = serde_json::json!({"surf": {"digest": digest, "since": 1}});
    for (own, at, remedy) in [
        (
            "[plugins.settings.surf]\ngreting = \"hello\"\n",
            "toml:2:1: plugins.settings.surf.greting",
            "did you mean `greeting`?",
        ),
        (
            "[plugins.settings.surf]\ngreeting = 7\n",
            "toml:2:1: plugins.settings.surf.greeting",
            "write it in double quotes",
        ),
        (
            "[plugins.settings.other]\n\nx.api_key = \"hunter2\"\n",
            "toml:3:3: plugins.settings.other.x.api_key",
            "references of accounts",
        ),
        (
            "[plugins.settings.other]\nx = [{ password = \"hunter2\" }]\n",
            "toml:2:1: plugins.settings.other.x.0.password",
            "references of accounts",
        ),
    ] {
        let files = Files::new(Some(SOUND.as_bytes()), own);
        let plugins = files.path().join("data/plugins");
        fs::create_dir_all(&plugins).unwrap();
        fs::write(plugins.join("active.json"), active.to_string()).unwrap();
        fs::write(plugins.join(format!("{digest}.manifest.json")), entry.to_string()).unwrap();
        let loaded = files.load().unwrap();
        assert_eq!(loaded.config.unusable_families.len(), 1, "that family is off");
        let shown = format!("{}{:?}", loaded.effective(), loaded.effective_values());
        assert!(!shown.contains("hunter2"), "nobody reads it: {shown}");
        assert!(!format!("{:?}", loaded.config.plugins.settings).contains("hunter2"), "no task either");
        // A family that changes is not refused for it, on whatever line it is now.
        fs::write(files.config(), format!("\n{own}")).unwrap();
        let later = files.load().unwrap();
        assert!(later.clone().whole_but_for(Some(&loaded)).is_ok());
        later.whole_but_for(None).map(drop).unwrap_err();
        fs::write(files.config(), own).unwrap();
        let errors = loaded.whole().map(drop).unwrap_err().to_string();
        assert!(errors.contains(at) && errors.contains(remedy) && !errors.contains("hunter2"), "{errors}");
        // Another version of it, with another schema, is compared by its deployment.
        let loaded = files.load_with(Some(brought(Some("surf"), SOUND))).unwrap();
        assert_eq!(loaded.whole().is_ok(), own.contains("surf"));
    }
}

/// What an operator offers, and what the operator wrote, is refused as ever.
#[test]
fn errors_of_the_operators_own_text_are_errors() {
    let files = Files::new(Some(b"[prices\n"), "[server]\nlisen = 1\n");
    let errors = files.load().unwrap_err().to_string();
    assert!(
        errors.contains("did you mean `listen`?") && errors.contains("surf.toml:1"),
        "both are told: {errors}"
    );
    let files = Files::new(Some(SOUND.as_bytes()), "");
    for family in [None, Some("surf")] {
        files.load_with(Some(brought(family, "[prices\n"))).unwrap_err();
    }
}
