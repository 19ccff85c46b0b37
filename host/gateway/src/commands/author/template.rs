//! The templates of a new family, in the binary. Each language has the same files: sources, `build.sh`, which writes
//! `family.wasm`, scripts in `play/`, `family.toml` and a README.

use crate::commands::args::author::Language;

/// A file's path below the folder, and its text.
pub(super) type File = (&'static str, &'static str);

macro_rules! files {
    ($root:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../", $root, "/", $path)))),+]
    };
}

const RUST: &[File] = files!("sdk/templates/rust":
    ".gitignore", "Cargo.toml", "README.md", "build.sh", "src/lib.rs", "tests/sketch.rs",
);
const PYTHON: &[File] = files!("sdk/templates/python":
    ".gitignore", "README.md", "app.py", "build.sh", "gatehouse.py", "requirements.txt",
);
const JS: &[File] = files!("sdk/templates/javascript":
    ".gitignore", "README.md", "build.sh", "family.js", "gatehouse.js", "package.json",
);
/// The same for every language: one family, one set of scripts.
const SHARED: &[File] = files!("sdk/templates/rust":
    "family.toml", "play/draws.play", "play/fails.play", "play/refuses.play", "play/retries.play",
);
const CONTRACT: &[File] = files!("wit/v1":
    "dialect.wit", "direct.wit", "jobs.wit", "manifest.schema.json", "manifest.wit", "parents.wit", "text.wit", "types.wit", "upstream.wit", "world.wit",
);

/// All files of a language's template.
pub(super) fn files(language: Language) -> Vec<(String, &'static str)> {
    let own = match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::Js => JS,
    };
    // The Rust SDK has the contract in it.
    let contract = if language == Language::Rust { &[] } else { CONTRACT };
    let plain = own.iter().chain(SHARED).map(|(path, text)| ((*path).to_owned(), *text));
    plain.chain(contract.iter().map(|(path, text)| (format!("wit/{path}"), *text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_contract_is_in_the_binary() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/v1");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .expect("wit/v1")
            .map(|entry| entry.expect("a readable entry").file_name().display().to_string())
            .collect();
        found.sort();
        assert_eq!(found, CONTRACT.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
    }
}
