//! Compiled code that came with the program, in a folder beside it: `PREFIX/lib/gatehouse/plugins` of `PREFIX/bin/gatehouse`. It is
//! used as long as it fits the engine, so a fresh installation compiles nothing of its own.
//!
//! Code is mapped and run as it is, so the folder counts only where those alone can write to it who could replace the program
//! itself: root, and the owner of the program. A package writes it; a running gateway never does.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gatehouse_model::Digest;

use crate::store::plugin_store::{PluginStore, code_name, whole};

/// The folder, seen from the program's.
const BESIDE: &str = "../lib/gatehouse/plugins";
/// Others may write.
const OPEN: u32 = 0o022;
/// In such a folder others may write, and cannot replace what is not theirs.
const STICKY: u32 = 0o1000;

/// A folder of code that came with the program.
#[derive(Clone, Debug)]
pub struct PackagedCode {
    dir: PathBuf,
    /// Who may own what is used.
    owners: [u32; 2],
}

impl PackagedCode {
    /// The folder beside `program`; `None` where that does not exist.
    pub fn beside(program: &Path) -> io::Result<Option<Self>> {
        let program = program.canonicalize()?;
        let beside = program.parent().map(|folder| folder.join(BESIDE));
        let dir = match beside.map(|dir| dir.canonicalize()) {
            Some(Ok(dir)) => dir,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(None),
        };
        let owners = [0, fs::metadata(&program)?.uid()];
        for folder in dir.ancestors() {
            let metadata = fs::metadata(folder)?;
            if !is_closed(&metadata, owners, true) {
                let why =
                    format!("others than root and the program's owner can write to {}", folder.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
        Ok(Some(Self { dir, owners }))
    }

    /// Keeps code in `dir`, for a package. What is there of another engine is removed.
    pub(crate) fn write(dir: &Path, digest: &Digest, engine_hash: &str, code: &[u8]) -> io::Result<()> {
        PluginStore::of_code(dir)?.keep_code(digest, engine_hash, code).map(drop)
    }

    /// Whether there is a file for that code, which may be of no use.
    pub(crate) fn has_code(&self, digest: &Digest, engine_hash: &str) -> bool {
        self.dir.join(code_name(digest, engine_hash)).is_file()
    }

    /// The code for that component and engine, if it is whole and nobody else can have written it.
    pub(crate) fn code(&self, digest: &Digest, engine_hash: &str) -> Option<PathBuf> {
        let path = self.dir.join(code_name(digest, engine_hash));
        let metadata = fs::symlink_metadata(&path).ok()?;
        if !(metadata.is_file() && is_closed(&metadata, self.owners, false)) {
            tracing::warn!(path = %path.display(), "others can write this code, so it is compiled again");
            return None;
        }
        whole(path)
    }
}

/// Whether nobody but `owners` can change it.
fn is_closed(metadata: &Metadata, owners: [u32; 2], is_folder: bool) -> bool {
    let mode = metadata.mode();
    owners.contains(&metadata.uid()) && (mode & OPEN == 0 || (is_folder && mode & STICKY != 0))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn open_to(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Without it another user of the machine runs machine code in the gateway's process.
    #[test]
    fn code_counts_only_where_nobody_else_can_write() {
        let prefix = tempfile::tempdir().unwrap();
        let (program, dir) =
            (prefix.path().join("bin/gatehouse"), prefix.path().join("lib/gatehouse/plugins"));
        fs::create_dir(prefix.path().join("bin")).unwrap();
        fs::write(&program, "a program").unwrap();
        assert!(PackagedCode::beside(&program).unwrap().is_none(), "there is no such folder");
        let digest = Digest::of(b"wasm");
        fs::create_dir_all(&dir).unwrap();
        PackagedCode::write(&dir, &digest, "engine", b"code").unwrap();
        let found = || PackagedCode::beside(&program).unwrap().unwrap().code(&digest, "engine");
        let file = found().unwrap();
        assert!(PackagedCode::beside(&program).unwrap().unwrap().code(&digest, "another").is_none());
        open_to(&file, 0o664);
        assert!(found().is_none(), "its group can write the file");
        open_to(&file, 0o644);
        assert!(found().is_some());
        for folder in [&dir, &prefix.path().join("lib")] {
            open_to(folder, 0o777);
            let error = PackagedCode::beside(&program).unwrap_err().to_string();
            assert!(error.contains(&folder.display().to_string()), "{error}");
            open_to(folder, 0o755);
        }
        fs::write(&file, b"bode").unwrap();
        assert!(found().is_none(), "it is not what was compiled");
        fs::rename(&file, dir.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.join("elsewhere"), &file).unwrap();
        assert!(found().is_none(), "it leads elsewhere");
    }
}
