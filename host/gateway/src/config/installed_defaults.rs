//! The defaults of installed families, in the data folder as `defaults/<family>.toml`.
//!
//! A version that brings defaults has them staged first, as `defaults/<family>.<digest>.staged`. They count from the
//! moment that this version is listed as active, which is one write: so both are in effect or neither is, wherever a
//! crash comes between. [`settle`] then gives them their own name, or removes those of a version that was never listed.
//! Every file is readable by its owner alone. Never decides what defaults may say.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use gatehouse_files::{if_exists, remove_unfinished, rename_durable, write_atomic};
use gatehouse_model::Digest;
use gatehouse_runtime::active_versions;

use super::error::{ConfigError, ConfigErrors};
use super::family_defaults::FamilyDefaults;
use super::unusable::Unusable;

/// The end of the name of a staged file.
const STAGED: &str = "staged";

/// Keeps `text` for the version `digest` of `family`. Durable when it returns.
pub(crate) fn stage(data: &Path, family: &str, digest: &Digest, text: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder(data))?;
    write_atomic(&staged_path(data, family, digest), text.as_bytes())
}

/// Takes [`stage`] back: the version was not listed.
pub(crate) fn unstage(data: &Path, family: &str, digest: &Digest) -> io::Result<()> {
    fs::remove_file(staged_path(data, family, digest))
}

/// Removes the defaults of a family, if there are any.
pub(crate) fn forget(data: &Path, family: &str) -> io::Result<()> {
    if_exists(fs::remove_file(settled_path(data, family))).map(drop)
}

/// Gives every staged file that counts its own name, and removes the others and what a crash left of a write. Only for
/// the process that has the store.
///
/// # Errors
/// The file system's. What counts stays the same.
pub(crate) fn settle(data: &Path) -> io::Result<()> {
    if_exists(remove_unfinished(&folder(data)))?;
    let files = files(data)?;
    if files.staged.is_empty() {
        return Ok(());
    }
    let active = active_versions(data)?;
    for ((family, digest), path) in files.staged {
        if active.get(&family) == Some(&digest) {
            rename_durable(&path, &settled_path(data, &family))?;
        } else {
            tracing::warn!(family, %digest, "defaults of a plugin whose installation was interrupted are removed");
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The defaults of every installed family, in the order of their names, and the families whose file cannot be read.
pub(super) fn installed(data: &Path) -> Result<(Vec<FamilyDefaults>, Unusable), ConfigErrors> {
    let failed = |path: &Path, error: io::Error| {
        let remedy = "make it readable for the user that the gateway runs as (chown, chmod 0600); removing it would take the family\'s \
                      prices and provider away";
        ConfigError::of_file(&path.display().to_string(), error.to_string(), remedy)
    };
    let mut files = files(data).map_err(|error| failed(&folder(data), error))?;
    if !files.staged.is_empty() {
        let active = active_versions(data).map_err(|error| failed(data, error))?;
        files.staged.retain(|(family, digest), _| active.get(family) == Some(digest));
        files.settled.extend(files.staged.into_iter().map(|((family, _), path)| (family, path)));
    }
    let (mut read, mut unusable) = (Vec::new(), Unusable::default());
    for (family, path) in files.settled {
        match fs::read_to_string(&path) {
            Ok(text) => {
                read.push(FamilyDefaults { family: Some(family), name: path.display().to_string(), text });
            }
            Err(error) => unusable.add_family(&family, [failed(&path, error)]),
        }
    }
    Ok((read, unusable))
}

/// The files of the folder.
#[derive(Default)]
struct Files {
    /// By family.
    settled: BTreeMap<String, PathBuf>,
    /// By family and version.
    staged: BTreeMap<(String, Digest), PathBuf>,
}

fn files(data: &Path) -> io::Result<Files> {
    let mut files = Files::default();
    for entry in if_exists(fs::read_dir(folder(data)))?.into_iter().flatten() {
        let path = entry?.path();
        let (Some(stem), Some(end)) =
            (path.file_stem().and_then(|stem| stem.to_str()), path.extension().and_then(|end| end.to_str()))
        else {
            continue;
        };
        if end == "toml" {
            files.settled.insert(stem.to_owned(), path);
        } else if let (STAGED, Some((family, digest))) = (end, stem.rsplit_once('.'))
            && let Ok(digest) = digest.parse()
        {
            files.staged.insert((family.to_owned(), digest), path);
        }
    }
    Ok(files)
}

fn folder(data: &Path) -> PathBuf {
    data.join("defaults")
}

fn settled_path(data: &Path, family: &str) -> PathBuf {
    folder(data).join(format!("{family}.toml"))
}

fn staged_path(data: &Path, family: &str, digest: &Digest) -> PathBuf {
    folder(data).join(format!("{family}.{digest}.{STAGED}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A data folder whose list of active versions has `version` of the family `f`.
    fn data_with(version: &str) -> tempfile::TempDir {
        let data = tempfile::tempdir().unwrap();
        list(data.path(), version);
        data
    }

    fn list(data: &Path, version: &str) {
        let digest = Digest::of(version.as_bytes());
        fs::create_dir_all(data.join("plugins")).unwrap();
        let list = serde_json::json!({"f": {"digest": digest, "since": 1}});
        fs::write(data.join("plugins/active.json"), list.to_string()).unwrap();
    }

    /// Stages defaults that name their version.
    fn stage_for(data: &Path, version: &str) {
        stage(data, "f", &Digest::of(version.as_bytes()), version).unwrap();
    }

    fn in_effect(data: &Path) -> Vec<String> {
        installed(data).unwrap().0.into_iter().map(|one| one.text).collect()
    }

    fn names(data: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder(data)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn defaults_count_from_the_moment_that_their_version_is_listed() {
        let data = data_with("old");
        let data = data.path();
        settle(data).unwrap();
        assert!(in_effect(data).is_empty(), "without a folder");
        stage_for(data, "old");
        assert_eq!(in_effect(data), ["old"], "its version is active already");
        settle(data).unwrap();
        assert_eq!((names(data), in_effect(data)), (vec!["f.toml".to_owned()], vec!["old".to_owned()]));

        // Ended between the two writes, and after the second.
        stage_for(data, "new");
        assert_eq!(in_effect(data), ["old"]);
        list(data, "new");
        assert_eq!(in_effect(data), ["new"]);
        settle(data).unwrap();
        assert_eq!((names(data), in_effect(data)), (vec!["f.toml".to_owned()], vec!["new".to_owned()]));
    }

    #[test]
    fn an_interrupted_installation_leaves_no_file() {
        let data = data_with("old");
        let data = data.path();
        stage_for(data, "new");
        fs::write(folder(data).join(".x1.tmp"), "half").unwrap();
        assert!(in_effect(data).is_empty());
        settle(data).unwrap();
        assert!(names(data).is_empty());
        // The same version, installed later without defaults, has none.
        list(data, "new");
        assert!(in_effect(data).is_empty());

        stage_for(data, "next");
        unstage(data, "f", &Digest::of(b"next")).unwrap();
        assert!(names(data).is_empty());
    }

    #[test]
    fn files_are_for_their_owner_alone() {
        let data = data_with("old");
        stage_for(data.path(), "old");
        settle(data.path()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&settled_path(data.path(), "f")), 0o600);
        assert_eq!(mode(&folder(data.path())), 0o700);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_an_error_where_it_decides() {
        let data = data_with("old");
        let list = data.path().join("plugins/active.json");
        fs::write(&list, "{").unwrap();
        assert!(in_effect(data.path()).is_empty());
        stage_for(data.path(), "old");
        installed(data.path()).unwrap_err();
        settle(data.path()).unwrap_err();
        assert_eq!(names(data.path()).len(), 1, "kept until it can be decided");
    }
}
