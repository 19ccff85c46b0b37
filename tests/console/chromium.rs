//! The browser and its driver: found, or installed, and started on a port of its own.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// A running driver; killed when dropped.
pub(crate) struct Driver {
    pub(crate) address: SocketAddr,
    _process: Child,
}

impl Driver {
    /// Starts the driver.
    pub(crate) async fn start() -> Self {
        install_if_missing().await;
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver starts");
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let port = loop {
            let line = lines.next_line().await.expect("readable output").expect("the driver says its port");
            if let Some((_, rest)) = line.split_once("started successfully on port ") {
                break rest.trim_end_matches('.').parse::<u16>().expect("a port");
            }
        };
        // Without a reader the driver would block on a full pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { address: SocketAddr::from(([127, 0, 0, 1], port)), _process: process }
    }
}

/// Installs the packages where this is Debian and root, once for all tests that run at the same time.
async fn install_if_missing() {
    let is_there = || ["chromium", "chromedriver"].iter().all(|program| in_path(program));
    let lock =
        File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium.lock")).expect("a lock file");
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
        && run("apt-get", &[&["install", "-qy", "--no-install-recommends"][..], &PACKAGES].concat()).await;
    assert!(
        installed && is_there(),
        "these tests need the packages {}: install them",
        PACKAGES.join(" and ")
    );
}

fn in_path(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}
