//! Finds plugin crates, the name of their library, and the folder plugins are built in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::BuildError;

/// A plugin's crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginCrate {
    /// The name of its folder, which is the family's.
    pub name: String,
    /// Its folder.
    pub dir: PathBuf,
}

/// The plugin crates directly below `plugins_root`, by name.
///
/// # Errors
/// When the folder cannot be read.
pub fn discover(plugins_root: &Path) -> io::Result<Vec<PluginCrate>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(plugins_root)? {
        let entry = entry?;
        let dir = entry.path();
        if is_plugin(&dir.join("Cargo.toml")) {
            found.push(PluginCrate { name: entry.file_name().to_string_lossy().into_owned(), dir });
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a manifest is a plugin's: its library is a `cdylib`. Libraries that plugins share lie beside them.
fn is_plugin(manifest: &Path) -> bool {
    fs::read_to_string(manifest).is_ok_and(|text| {
        text.lines().map(str::trim).any(|line| line.starts_with("crate-type") && line.contains("\"cdylib\""))
    })
}

/// `<workspace target>/plugins`, from any path inside the target folder (a build script's `OUT_DIR`, a
/// test's own executable), so that build scripts and tests share one folder. Outside of a target folder it
/// is put beside `inside`.
#[must_use]
pub fn plugins_target_dir(inside: &Path) -> PathBuf {
    target_dir(inside).unwrap_or(inside).join("plugins")
}

/// cargo's target folder around a path. cargo marks one that it creates with `CACHEDIR.TAG`; one that was
/// there before the first build (a mounted cache) has only the `.cargo-lock` of each profile.
#[must_use]
pub fn target_dir(inside: &Path) -> Option<&Path> {
    let marked = |mark: &str| inside.ancestors().find(|dir| dir.join(mark).is_file());
    marked("CACHEDIR.TAG").or_else(|| marked(".cargo-lock")?.parent())
}

/// The file name cargo gives the library: `[lib] name`, else the package's with underscores.
pub(crate) fn lib_name(manifest: &Path) -> Result<String, BuildError> {
    name(manifest, &["[lib]", "[package]"]).map(|name| name.replace('-', "_"))
}

/// The name of the package.
pub(crate) fn package_name(manifest: &Path) -> Result<String, BuildError> {
    name(manifest, &["[package]"])
}

/// The `name` in the first of `tables` that has one.
fn name(manifest: &Path, tables: &[&str]) -> Result<String, BuildError> {
    let wrong = |why: String| BuildError::Manifest { path: manifest.to_owned(), why };
    let text = fs::read_to_string(manifest).map_err(|error| wrong(error.to_string()))?;
    let found = tables.iter().find_map(|table| name_in(&text, table));
    found.ok_or_else(|| wrong("has no `name` in [package]".to_owned()))
}

/// `name = "..."` of one table; enough of TOML for a manifest cargo itself has accepted.
fn name_in(manifest: &str, table: &str) -> Option<String> {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != table).skip(1);
    lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| key.trim() == "name")
        .and_then(|(_, value)| value.split('"').nth(1).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_named_as_cargo_names_it() {
        let check = |manifest: &str, expected: Option<&str>| {
            let name = name_in(manifest, "[lib]").or_else(|| name_in(manifest, "[package]"));
            assert_eq!(name.as_deref(), expected, "{manifest}");
        };
        check("[package]\nname = \"context-image\"\nversion = \"1\"\n", Some("context-image"));
        check("[package]\nname=\"a\"\n[lib]\nname = \"b\" # other\n", Some("b"));
        check("[package]\nname = \"a\"\n[lib]\ncrate-type = [\"cdylib\"]\n", Some("a"));
        check("[package]\nversion = \"1\"\n[dependencies]\nname = \"2\"\n", None);
    }

    #[test]
    fn plugins_of_this_workspace_are_found_by_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let found = discover(&root).unwrap();
        assert!(found.iter().any(|plugin| plugin.name == "context-image"), "{found:?}");
        assert!(
            found.iter().all(|plugin| plugin.name != "text-protocols"),
            "a library is no plugin: {found:?}"
        );
        assert!(found.is_sorted());
        assert!(discover(&root.join("none")).is_err());
    }

    #[test]
    fn one_plugins_folder_for_the_whole_target_folder() {
        let exe = std::env::current_exe().unwrap();
        let folder = plugins_target_dir(&exe);
        assert_eq!(folder, plugins_target_dir(exe.parent().unwrap()));
        assert_eq!(plugins_target_dir(Path::new("/nowhere/x")), Path::new("/nowhere/x/plugins"));
    }

    /// Otherwise each build script and each test would build all plugins in a folder of its own.
    #[test]
    fn a_target_folder_that_cargo_did_not_create_is_found() {
        let target = tempfile::tempdir().unwrap();
        let deps = target.path().join("debug/deps");
        fs::create_dir_all(&deps).unwrap();
        fs::write(target.path().join("debug/.cargo-lock"), "").unwrap();
        assert_eq!(plugins_target_dir(&deps.join("a_test-0123")), target.path().join("plugins"));
        fs::write(target.path().join("CACHEDIR.TAG"), "").unwrap();
        assert_eq!(plugins_target_dir(&deps.join("a_test-0123")), target.path().join("plugins"));
    }
}
