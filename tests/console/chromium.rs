//! The browser and its driver: found, or installed, and started on a port of its own.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// How often the driver is started before a test gives up.
const TRIES: usize = 20;

/// A running driver; killed when dropped.
pub(crate) struct Driver {
    pub(crate) address: SocketAddr,
    _process: Child,
}

impl Driver {
    /// Starts the driver. With port 0 it takes a free port of IPv6 and then asks for the same one of IPv4; where another
    /// process has that, it ends, and a new one is tried.
    pub(crate) async fn start() -> Self {
        install_if_missing().await;
        let mut said = Vec::new();
        for _ in 0..TRIES {
            match Self::try_start().await {
                Ok(driver) => return driver,
                Err(output) => said.push(output),
            }
        }
        panic!("chromedriver started {TRIES} times and never said its port: {said:#?}");
    }

    /// The running driver, or what it printed before it ended.
    async fn try_start() -> Result<Self, String> {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver starts");
        let mut errors = process.stderr.take().expect("piped");
        // Without a reader the driver would block on a full pipe.
        let errors = tokio::spawn(async move {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).await.expect("readable output");
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.expect("readable output") {
            if let Some((_, rest)) = line.split_once("started successfully on port ") {
                let port = rest.trim_end_matches('.').parse::<u16>().expect("a port");
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(Self { address: SocketAddr::from(([127, 0, 0, 1], port)), _process: process });
            }
            said.push_str(&line);
            said.push('\n');
        }
        Err(said + &errors.await.expect("the reader of the driver's output"))
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
