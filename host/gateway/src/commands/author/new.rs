//! `gatehouse plugin new`: writes a family's folder that builds outside of this repository.
//!
//! The templates of a new family, in the binary. Each language has the same files: sources, `build.sh`, which writes
//! `family.wasm`, scripts in `play/`, `family.toml` and a README.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::commands::args::author::{Language, NewArgs};
use crate::terminal::{Exit, at, end};

pub(super) fn run(args: &NewArgs) -> Exit {
    let written = write(args).map(|folder| {
        format!(
            "{} is written. From there:\n  sh build.sh                              # writes family.wasm{}\n  \
             gatehouse plugin play play family.wasm   # plays its scripts\n  \
             gatehouse plugin mock play               # serves them as the provider of a gateway\n  \
             gatehouse plugin install family.wasm     # into a gateway; README.md says what it must know\n  \
             gatehouse plugin dev .                   # builds, plays and installs on every change\n",
            folder.display(),
            first_build(args.lang),
        )
    });
    end(written, Exit::Refused)
}

/// What a first build needs, beside time.
fn first_build(language: Language) -> &'static str {
    match language {
        Language::Rust => "; needs cargo, and the first time a registry",
        Language::Python => "; needs python3 with venv, and the first time a registry",
        Language::Js => "; needs node with npm, and the first time a registry",
    }
}

fn write(args: &NewArgs) -> Result<PathBuf, String> {
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    if folder.exists() {
        return Err(format!("{}: expected a folder that does not exist yet", folder.display()));
    }
    if args.lang != Language::Rust && (args.sdk.is_some() || args.git.is_some()) {
        return Err("--sdk and --git: only a Rust family depends on the SDK".to_owned());
    }
    let sdk = SdkSource::of(args)?;
    for (path, text) in files(args.lang) {
        let file = folder.join(&path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        fs::write(&file, fill(&path, text, &args.name, &sdk)).map_err(at(&file))?;
        if path == "build.sh" {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(at(&file))?;
        }
    }
    Ok(folder)
}

/// Where a Rust family finds the SDK.
enum SdkSource {
    Registry,
    Path(PathBuf),
    Git(String),
}

impl SdkSource {
    fn of(args: &NewArgs) -> Result<Self, String> {
        if let Some(url) = &args.git {
            return Ok(Self::Git(url.clone()));
        }
        let Some(path) = &args.sdk else { return Ok(Self::Registry) };
        let wrong = |why: String| format!("--sdk {}: expected the SDK's folder: {why}", path.display());
        let path = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let manifest =
            fs::read_to_string(path.join("Cargo.toml")).map_err(|error| wrong(error.to_string()))?;
        if !manifest.contains("name = \"gatehouse-sdk\"") {
            return Err(wrong("its Cargo.toml is that of another crate".to_owned()));
        }
        Ok(Self::Path(path))
    }

    /// The value of a dependency; `below` is the crate's folder inside the SDK's.
    fn dependency(&self, below: &str) -> String {
        match self {
            Self::Registry => format!("{:?}", env!("CARGO_PKG_VERSION")),
            Self::Path(sdk) => format!("{{ path = {:?} }}", sdk.join(below).display().to_string()),
            Self::Git(url) => format!("{{ git = {url:?} }}"),
        }
    }
}

const CRATE: &str = "gatehouse-family-template";
/// What the template needs as a member of this workspace, and a family elsewhere does not.
const WORKSPACE_HACK: &str = "gatehouse-workspace-hack = { path = \"../../../tests/workspace-hack\" }\n";
/// A workspace of its own, so that the folder may lie inside another one, and the profile of a small, fast component.
const OWN_WORKSPACE: &str = "
[workspace]

[profile.plugin]
inherits = \"release\"
opt-level = 3
lto = true
codegen-units = 1
panic = \"abort\"
strip = true
";

fn fill(path: &str, text: &str, name: &str, sdk: &SdkSource) -> String {
    match path {
        "Cargo.toml" => {
            let text = text
                .replace(CRATE, name)
                .replace(WORKSPACE_HACK, "")
                .replace("{ path = \"../..\" }", &sdk.dependency(""))
                .replace("{ path = \"../../testkit\" }", &sdk.dependency("testkit"));
            text + OWN_WORKSPACE
        }
        "tests/sketch.rs" => text.replace(&CRATE.replace('-', "_"), &name.replace('-', "_")),
        "build.sh" => text.replace(&CRATE.replace('-', "_"), &name.replace('-', "_")),
        "package.json" => text.replace(CRATE, name),
        "src/lib.rs" => text.replace("About::new(\"sketch\"", &format!("About::new({name:?}")),
        "app.py" | "family.js" => text.replace("FAMILY = \"sketch\"", &format!("FAMILY = {name:?}")),
        "README.md" => text.replacen("# A family to change", &format!("# {name}"), 1),
        _ => text.to_owned(),
    }
}

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
        let mut found: Vec<String> = fs::read_dir(folder)
            .expect("wit/v1")
            .map(|entry| entry.expect("a readable entry").file_name().display().to_string())
            .collect();
        found.sort();
        assert_eq!(found, CONTRACT.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
    }
}
