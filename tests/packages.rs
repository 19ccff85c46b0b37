//! Programs of Debian packages that tests need: found, or installed where this is Debian and root, once for all tests that run
//! at the same time.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

/// Installs the packages, unless their programs are there.
pub(crate) async fn install_if_missing(programs: &[&str], packages: &[&str]) {
    let is_there = || programs.iter().all(|program| in_path(program));
    let lock =
        File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages.lock")).expect("a lock file");
    tokio::task::block_in_place(|| lock.lock()).expect("the lock");
    if is_there() {
        return;
    }
    let run = async |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        command.status().await.is_ok_and(|status| status.success())
    };
    let installed = in_path("apt-get")
        && run("apt-get", &["update", "-q"]).await
        && run("apt-get", &[&["install", "-qy", "--no-install-recommends"][..], packages].concat()).await;
    assert!(
        installed && is_there(),
        "these tests need the packages {}: install them",
        packages.join(" and ")
    );
}

fn in_path(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}
