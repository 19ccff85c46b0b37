//! What the disk below the gateway's data takes to keep a page: the figure every durable request is read
//! beside.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::{Duration, Instant};

/// Half of the tries were faster than this, and the time 99 of 100 stayed below.
pub(crate) struct Sync {
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
}

/// Writes 4 KiB and calls fdatasync, over and over, in the place temporary folders are made in.
pub(crate) fn measure() -> Sync {
    const TRIES: usize = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = File::create(folder.path().join("pages")).expect("a file");
    file.write_all(&vec![1; 4096 * TRIES]).and_then(|()| file.sync_all()).expect("a written file");
    file.rewind().expect("a file");
    let mut spans: Vec<Duration> = (0..TRIES)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&[2; 4096]).and_then(|()| file.sync_data()).expect("a page kept");
            started.elapsed()
        })
        .collect();
    spans.sort_unstable();
    Sync { median: spans[TRIES / 2], p99: spans[TRIES * 99 / 100] }
}
