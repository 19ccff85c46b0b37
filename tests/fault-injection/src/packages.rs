//! Programs of Debian packages that tests need: found, or installed where this is Debian and root, once for all tests that run
//! at the same time.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Installs the packages, unless what they bring is there.
///
/// # Panics
/// It is missing afterwards. The message says what to install.
pub fn install_unless(is_there: impl Fn() -> bool, packages: &[&str]) {
    let lock =
        OpenOptions::new().create(true).truncate(false).write(true).open(lock_file()).expect("a lock file");
    lock.lock().expect("the lock");
    if is_there() {
        return;
    }
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        // Runlevel 1: a service that a package brings is not started.
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("RUNLEVEL", "1")
            .stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let installed = in_path("apt-get")
        && run("apt-get", &["update", "-q"])
        && run("apt-get", &[&["install", "-qy", "--no-install-recommends"][..], packages].concat());
    assert!(
        installed && is_there(),
        "these tests need the packages {}: install them",
        packages.join(" and ")
    );
}

/// Whether a program is where Debian puts programs.
#[must_use]
pub fn in_path(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}

fn lock_file() -> PathBuf {
    std::env::temp_dir().join("gatehouse-tests-packages.lock")
}
