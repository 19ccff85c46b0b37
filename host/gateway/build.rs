//! Builds every plugin below `plugins/` and writes the table that embeds them into the binary.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_build::{build_plugins, discover, ensure_target, plugins_target_dir};
use sha2::{Digest as _, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize()?;
    // Sources only, and what plugins are linked with. A new plugin is in the lock file, too.
    let shared = [
        ".cargo/config.toml",
        "Cargo.lock",
        "Cargo.toml",
        "sdk/Cargo.toml",
        "sdk/build.rs",
        "sdk/src",
        "wit",
    ];
    shared.iter().for_each(|path| watch(&root.join(path)));
    for entry in fs::read_dir(root.join("plugins"))? {
        let folder = entry?.path();
        let parts = ["Cargo.toml", "build.rs", "family.toml", "src"].map(|part| folder.join(part));
        parts.iter().filter(|path| path.exists()).for_each(|path| watch(path));
    }
    let out = PathBuf::from(out_dir()?);
    if let Some(note) = ensure_target(&root)? {
        println!("cargo:warning={note}");
    }
    let mut table = String::from("/// Every plugin built with this binary, by name.\n");
    table.push_str("pub(crate) static PLUGINS: &[BuiltInPlugin] = &[\n");
    let plugins = discover(&root.join("plugins"))?;
    let folders: Vec<PathBuf> = plugins.iter().map(|plugin| plugin.dir.clone()).collect();
    let built = build_plugins(&root, &folders, &plugins_target_dir(&out))?;
    for (plugin, wasm) in plugins.iter().zip(built) {
        let family = plugin.dir.join("family.toml");
        if !family.is_file() {
            return Err(format!("{}: every plugin has a family.toml", family.display()).into());
        }
        // A copy of its own: the shared folder may be rebuilt while rustc reads this one.
        let copy = out.join(format!("{}.wasm", plugin.name));
        let component = fs::read(&wasm)?;
        fs::write(&copy, &component)?;
        let digest: [u8; 32] = Sha256::digest(&component).into();
        writeln!(
            table,
            "    BuiltInPlugin {{ name: {:?}, wasm: include_bytes!({copy:?}), digest: Digest({digest:?}), family_toml: include_str!({family:?}) }},",
            plugin.name,
        )?;
    }
    table.push_str("];\n");
    fs::write(out.join("plugins.rs"), table)?;
    println!("cargo:rustc-env=GATEHOUSE_VERSION={}", version());
    Ok(())
}

/// What `--version` says. Packages name their commit; a look at the repository would make every commit a build.
#[expect(clippy::disallowed_methods, reason = "packages name their commit in the environment")]
fn version() -> String {
    println!("cargo:rerun-if-env-changed=GATEHOUSE_COMMIT");
    let (version, profile) = (env!("CARGO_PKG_VERSION"), env::var("PROFILE").unwrap_or_default());
    match env::var("GATEHOUSE_COMMIT") {
        Ok(commit) if !commit.is_empty() => format!("{version} (commit {commit}, {profile})"),
        _ => format!("{version} ({profile})"),
    }
}

fn watch(path: &Path) {
    println!("cargo:rerun-if-changed={}", path.display());
}

#[expect(clippy::disallowed_methods, reason = "cargo passes the folder of build output in the environment")]
fn out_dir() -> Result<String, env::VarError> {
    env::var("OUT_DIR")
}
