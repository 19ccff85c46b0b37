//! A disk of a few MiB in memory, for one gateway, without any right of an administrator: a process keeps a namespace with
//! its mount, and a script runs the gateway and its commands there.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::lifecycle::script;

/// Keeps the mount until its standard input ends.
const KEEP: &str = "mount -t tmpfs -o size=\"$1\",mode=0700 none \"$0\" && echo mounted && read -r end";

/// The disk. Dropping it ends the mount.
pub(crate) struct SmallDisk {
    keeper: Child,
    mount: PathBuf,
    /// Starts the gateway's binary on the disk.
    pub(crate) script: PathBuf,
}

impl SmallDisk {
    /// Makes a disk of that many MiB below `folder`, for the data folder of `binary`; `None`, with the reason printed, where
    /// this machine allows no mount.
    #[expect(clippy::print_stdout, reason = "the test runner shows it")]
    pub(crate) fn make(folder: &Path, binary: &str, mib: usize) -> Option<Self> {
        let mount = folder.join("disk");
        fs::create_dir(&mount).expect("a folder");
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", KEEP])
            .arg(&mount)
            .arg(format!("{mib}m"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let stdout = keeper.stdout.take().expect("piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        if read.is_err() || line.trim() != "mounted" {
            println!("no disk can be mounted here: {read:?}, {:?}", keeper.wait());
            return None;
        }
        let (pid, at) = (keeper.id(), mount.display());
        let text = format!(
            "[ -e \"$4\" ] || [ -L \"$4\" ] || ln -s '{at}' \"$4\"\n\
             exec nsenter --target {pid} --user --preserve-credentials --mount '{binary}' \"$@\""
        );
        Some(Self { keeper, mount, script: script(folder, &text) })
    }

    /// A file of the disk, as processes outside of its namespace reach it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let inside = self.mount.strip_prefix("/").expect("an absolute path");
        Path::new("/proc").join(self.keeper.id().to_string()).join("root").join(inside).join(name)
    }

    /// Writes a file until the disk is full, then leaves so many KiB of it free again.
    pub(crate) fn fill(&self, left_kib: u64) {
        let mut file = fs::File::create(self.file("filler")).expect("a file");
        while file.write_all(&[1; 4096]).is_ok() {}
        let length = file.metadata().expect("its length").len();
        file.set_len(length.saturating_sub(left_kib * 1024)).expect("a shorter file");
    }

    /// Takes the file away again.
    pub(crate) fn empty(&self) {
        fs::remove_file(self.file("filler")).expect("removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The end of its input ends the keeper.
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}
