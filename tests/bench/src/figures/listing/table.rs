//! A table of reads: time, bytes, and the memory that they take while others are served.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gatehouse_harness::{Connection, Response, send};

use crate::gateway::BenchGateway;
use crate::process::Process;
use crate::report::{kibibytes, mebibytes, millis, row};

/// Reads of one path.
const READS: usize = 5;

/// Reads paths of the admin listener, and prints a row for each.
pub(super) struct Table<'g> {
    gateway: &'g BenchGateway,
    address: SocketAddr,
    headers: Vec<(String, String)>,
    slowest: (Duration, String),
    most: (u64, String),
    rows: usize,
}

impl<'g> Table<'g> {
    /// With the headers of every read.
    pub(super) fn new(gateway: &'g BenchGateway, title: &str, headers: Vec<(String, String)>) -> Self {
        row([title, "status", "middle", "slowest", "answer", "memory"]);
        let address = gateway.harness.admin();
        Self {
            gateway,
            address,
            headers,
            slowest: (Duration::ZERO, String::new()),
            most: (0, String::new()),
            rows: 0,
        }
    }

    /// Reads a path again and again; the last answer. Memory is what was resident at most meanwhile, above what was before.
    pub(super) async fn read(&mut self, path: &str) -> Response {
        let headers = self.headers();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let process = self.gateway.process();
        let before = self.forget_peak(&process);
        let (mut spans, mut last) = (Vec::new(), None);
        for _ in 0..READS {
            let began = Instant::now();
            last = Some(send(self.address, "GET", path, &headers, "").await);
            spans.push(began.elapsed());
        }
        let last = last.expect("it was read");
        assert!(last.status < 500, "{path}: {} {}", last.status, last.text());
        self.add(path, last.status, spans, last.body.len(), &process, before);
        last
    }

    /// Follows a stream until its first event.
    pub(super) async fn follow(&mut self, path: &str) {
        let headers = self.headers();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let process = self.gateway.process();
        let before = self.forget_peak(&process);
        let (mut spans, mut bytes, mut status) = (Vec::new(), 0, 0);
        for _ in 0..READS {
            let began = Instant::now();
            let mut connection = Connection::open(self.address).await;
            connection.request("GET", path, &headers, b"").await;
            status = connection.read_head().await.expect("a head").status;
            assert_eq!(status, 200, "{path}");
            bytes = connection.read_until("\n\n").await.len();
            spans.push(began.elapsed());
        }
        self.add(&format!("{path} (first event)"), status, spans, bytes, &process, before);
    }

    /// From now on only what comes counts for the peak; bytes resident now.
    fn forget_peak(&self, process: &Process) -> u64 {
        let path = format!("/proc/{}/clear_refs", self.gateway.harness.pid());
        std::fs::write(path, "5").expect("a process of the same user");
        process.resident()
    }

    fn headers(&self) -> Vec<(String, String)> {
        self.headers.clone()
    }

    fn add(
        &mut self,
        what: &str,
        status: u16,
        mut spans: Vec<Duration>,
        bytes: usize,
        process: &Process,
        before: u64,
    ) {
        spans.sort_unstable();
        let (middle, slowest) = (spans[spans.len() / 2], spans[spans.len() - 1]);
        let memory = process.peak().saturating_sub(before);
        let status = status.to_string();
        row([what, &status, &millis(middle), &millis(slowest), &kibibytes(bytes as u64), &mebibytes(memory)]);
        if slowest > self.slowest.0 {
            self.slowest = (slowest, what.to_owned());
        }
        if memory > self.most.0 {
            self.most = (memory, what.to_owned());
        }
        self.rows += 1;
    }

    /// Prints what stands out.
    pub(super) fn close(self) {
        crate::report::line("paths", self.rows);
        crate::report::line("slowest read", format!("{} {}", millis(self.slowest.0), self.slowest.1));
        crate::report::line("most memory", format!("{} {}", mebibytes(self.most.0), self.most.1));
    }
}
