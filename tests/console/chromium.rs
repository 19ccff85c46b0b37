//! The browser and its driver: found, or installed, and started on a port of its own.

use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::packages::install_if_missing;

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
        install_if_missing(&["chromium", "chromedriver"], &["chromium", "chromium-driver"]).await;
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
