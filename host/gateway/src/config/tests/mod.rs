//! What the tests of the configuration share.

mod documents;
mod errors;
mod installed;
mod unusable;

use super::Config;
use super::load::read_text as read;
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

/// Begins at `position`, and ends with this remedy.
fn expect(error: &str, position: &str, remedy: &str) {
    assert!(error.starts_with(position), "expected {position}\n{error}");
    assert!(error.contains(&format!("remedy: {remedy}")), "expected {remedy}\n{error}");
}
