//! What the tests of the configuration share.

mod documents;
mod errors;
mod installed;
mod secrets;
mod unusable;

use std::fs;
use std::path::{Path, PathBuf};

use super::load::{load_over, read_text as read};
use super::{Config, ConfigErrors, FamilyDefaults, Loaded, Location};
use crate::plugins::built_in::BuiltInPlugin;

/// A family as small as one can be, so that these tests do not depend on the real ones.
const FAMILY: BuiltInPlugin = BuiltInPlugin {
    name: "painter",
    wasm: b"",
    digest: gatehouse_model::Digest([0; 32]),
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

fn plain(text: &str) -> Config {
    read("gatehouse.toml", text, &[], &[]).map_err(|error| error.to_string()).unwrap().0
}

/// A configuration, and a data folder with these defaults of the installed family `surf`, if there are any.
struct Files(tempfile::TempDir);

impl Files {
    fn new(defaults: Option<&[u8]>, own: &str) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        if let Some(defaults) = defaults {
            fs::create_dir_all(files.defaults().parent().unwrap()).unwrap();
            fs::write(files.defaults(), defaults).unwrap();
        }
        fs::write(files.config(), own).unwrap();
        files
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn defaults(&self) -> PathBuf {
        self.path().join("data/defaults/surf.toml")
    }

    fn config(&self) -> PathBuf {
        self.path().join("gatehouse.toml")
    }

    fn load(&self) -> Result<Loaded, ConfigErrors> {
        self.load_with(None)
    }

    fn load_with(&self, brought: Option<FamilyDefaults>) -> Result<Loaded, ConfigErrors> {
        let (file, data) = (Some(self.config()), Some(self.path().join("data")));
        load_over(&[FAMILY], &Location { file, data, ..Location::default() }, brought)
    }
}

/// What a plugin brings.
fn brought(family: Option<&str>, text: &str) -> FamilyDefaults {
    let (name, text) = ("family.toml".to_owned(), text.to_owned());
    FamilyDefaults { family: family.map(str::to_owned), name, text }
}

/// Begins at `position` of that file, and ends with this remedy.
fn expect(error: &str, file: &str, position: &str, remedy: &str) {
    let position = format!("{file}:{position}");
    assert!(error.starts_with(&position), "expected {position}\n{error}");
    assert!(error.contains(&format!("remedy: {remedy}")), "expected {remedy}\n{error}");
}
