//! A public S3 server that checks signatures, and a relay before it that can be closed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use gatehouse_harness::serve_connections;
use serde_json::Value;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::kit::{Set, Tool};

const SERVER: Set = Set { tool: Tool::Python, name: "bucket" };
/// The name of the bucket.
pub(crate) const BUCKET: &str = "gatehouse-media";

/// A server with one empty bucket. Dropping it ends the server.
pub(crate) struct BucketServer {
    process: Child,
    lines: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    /// Where it is, the access key and its secret.
    pub(crate) made: Value,
}

impl BucketServer {
    pub(crate) fn start() -> Self {
        let (python, scripts) = SERVER.ready();
        let mut process = Command::new(python)
            .arg(scripts.join("bucket_server.py"))
            .arg(BUCKET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = process.stdin.take().expect("piped");
        let mut output = BufReader::new(process.stdout.take().expect("piped"));
        let made = read(&mut output);
        Self { process, lines: Mutex::new((input, output)), made }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.made[name].as_str().expect("a text")
    }

    /// What it answers to a word: keys, or unfinished uploads.
    pub(crate) fn ask(&self, word: &str) -> Vec<String> {
        let mut lines = self.lines.lock().expect("one at a time");
        writeln!(lines.0, "{word}").expect("it reads");
        serde_json::from_value(read(&mut lines.1)).expect("a list of texts")
    }

    /// The tables that keep media in it, at this address.
    pub(crate) fn media(&self, address: &str) -> String {
        format!("[media]\nurl = \"s3://{BUCKET}/of/tests\"\n\n{}", self.service("media.s3", address))
    }

    /// The table that says how it is reached, at this address.
    pub(crate) fn service(&self, table: &str, address: &str) -> String {
        let write = |name: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), self.text(name)).expect("written");
            file.keep().expect("a file that stays").1.display().to_string()
        };
        format!(
            "[{table}]\nendpoint = \"{address}\"\naccess_key_id = {{ file = \"{}\" }}\nsecret_access_key = {{ file = \"{}\" }}\n\n",
            write("key"),
            write("secret"),
        )
    }
}

impl Drop for BucketServer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn read(output: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

/// Passes connections on to a server while it is open; closed, it ends those there are and every new one.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    pub(crate) open: watch::Sender<bool>,
}

impl Relay {
    pub(crate) async fn to(server: &str) -> Self {
        let server: SocketAddr = server.trim_start_matches("http://").parse().expect("an address");
        let (open, is_open) = watch::channel(true);
        let address = serve_connections(move |mut stream| {
            let mut is_open = is_open.clone();
            async move {
                if !*is_open.borrow_and_update() {
                    return;
                }
                let mut there = TcpStream::connect(server).await.expect("the server");
                tokio::select! {
                    _ = copy_bidirectional(&mut stream, &mut there) => {}
                    _ = is_open.wait_for(|open| !open) => {}
                }
            }
        })
        .await;
        Self { address, open }
    }
}
