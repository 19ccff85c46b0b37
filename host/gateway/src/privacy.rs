//! What the process leaves to others on the machine: nothing it creates, no core dump of its memory, no log that
//! others may read. Never touches the data folder (`data_folder` does).

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, setrlimit, umask};

/// Which parts of memory the kernel puts into a core dump of this process.
const CORE_FILTER: &str = "/proc/self/coredump_filter";

/// Files that the process creates are its owner's alone, and it leaves no core dump. `report` gets a sentence for
/// what cannot be had.
pub(crate) fn close_process(report: &dyn Fn(&str)) {
    umask(Mode::RWXG | Mode::RWXO);
    if let Err(error) = without_core_dumps() {
        report(&format!(
            "core dumps could not be switched off, and one holds keys and customers' data: {error}; start the \
             gateway with a core limit of 0 (LimitCORE=0 in its unit)"
        ));
    }
}

/// The limit alone does not hold for dumps that the kernel pipes to a program; without any part of memory in it such
/// a dump holds no data.
fn without_core_dumps() -> io::Result<()> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    match cfg!(target_os = "linux") {
        true => fs::write(CORE_FILTER, "0"),
        false => Ok(()),
    }
}

/// Closes standard output and standard error to others where they are files: the log names keys and tasks, the
/// banner of sandbox mode prints its keys.
pub(crate) fn close_logs(report: &dyn Fn(&str)) {
    for (name, stream) in
        [("standard output", io::stdout().as_fd()), ("standard error", io::stderr().as_fd())]
    {
        match stream.try_clone_to_owned().and_then(|file| close_file(&File::from(file))) {
            Ok(None) => {}
            Ok(Some(mode)) => {
                report(&format!(
                    "others could read the file of {name} (mode {mode:04o}); now only its owner can"
                ));
            }
            Err(error) => {
                report(&format!(
                    "the file of {name} stays readable by others: {error}; run chmod 0600 on it as its owner"
                ));
            }
        }
    }
}

/// The mode that a regular file had, if it was changed.
fn close_file(file: &File) -> io::Result<Option<u32>> {
    let facts = file.metadata()?;
    let mode = facts.permissions().mode() & 0o7777;
    // Rights of the group alone are somebody's decision, such as for a program that ships logs.
    if !facts.is_file() || mode & 0o007 == 0 {
        return Ok(None);
    }
    file.set_permissions(Permissions::from_mode(mode & !0o077))?;
    Ok(Some(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, b"").unwrap();
        for (before, expected, after) in [
            (0o644, Some(0o644), 0o600),
            (0o600, None, 0o600),
            (0o640, None, 0o640),
            (0o602, Some(0o602), 0o600),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            let file = File::open(&path).unwrap();
            assert_eq!(close_file(&file).unwrap(), expected);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, after);
        }
        assert_eq!(close_file(&File::open("/dev/null").unwrap()).unwrap(), None);
        assert_eq!(close_file(&File::open(folder.path()).unwrap()).unwrap(), None);
    }
}
