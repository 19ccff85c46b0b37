//! Compiled code of the built-in plugins, shared by the gateways of all tests: the first one compiles, and the data
//! folders of the others get a copy. The gateway finds each file by its component and engine and checks its digest, so
//! code of another build is never used. Never touches a data folder that has plugins.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Copies what is kept into a new data folder. Without it the gateway compiles.
pub(super) fn copy_into(data: &Path, binary: &Path) {
    let Some(kept) = folder(binary) else { return };
    let plugins = data.join("plugins");
    if plugins.exists() || !kept.exists() {
        return;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&plugins).expect("a folder for plugins");
    for (name, file) in files(&kept).expect("a readable folder") {
        fs::copy(file, plugins.join(name)).expect("a copy of compiled code");
    }
}

/// Keeps what a gateway has compiled, for the next ones.
pub(super) fn keep(data: &Path, binary: &Path) {
    let Some(kept) = folder(binary).filter(|kept| !kept.exists()) else { return };
    let parent = kept.parent().expect("a folder of folders");
    let unfinished =
        parent.join(format!("unfinished-{}-{:?}", std::process::id(), std::thread::current().id()));
    let copied = fs::create_dir_all(&unfinished).and_then(|()| {
        for (name, file) in files(&data.join("plugins"))? {
            fs::copy(file, unfinished.join(name))?;
        }
        fs::rename(&unfinished, &kept)
    });
    if copied.is_err() {
        // Another test was faster.
        drop(fs::remove_dir_all(&unfinished));
        return;
    }
    // Builds before this one.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.path() != kept && !entry.file_name().to_string_lossy().starts_with("unfinished") {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// The folder of that build of the binary, below the folder of what is built. `None` for a program that starts it.
fn folder(binary: &Path) -> Option<PathBuf> {
    let target = binary.parent()?.parent().filter(|target| target.join("CACHEDIR.TAG").exists())?;
    let facts = fs::metadata(binary).ok()?;
    let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(target.join("tmp/compiled-plugins").join(format!("{}-{}", facts.len(), changed.as_nanos())))
}

/// Compiled code and its digests.
fn files(folder: &Path) -> io::Result<Vec<(std::ffi::OsString, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().contains(".cwasm") {
            found.push((name, entry.path()));
        }
    }
    Ok(found)
}
