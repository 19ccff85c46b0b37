//! Nobody else on the machine reads customers' data: modes of files, and core dumps.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatehouse_harness::{Gateway, run};

use crate::lifecycle::{request, sandbox, setup};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

/// The folder and everything below it.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(all_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn everything_that_is_written_is_its_owners() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "100").await;
        let task = caller.post("/v1/images/generations", &request("a red kite")).await.task_id();
        assert_eq!(caller.end_of(&task).await["status"], "completed");
        let data = gateway.folder().join("data");
        let open: Vec<_> = all_below(&data).into_iter().filter(|path| mode(path) & 0o077 != 0).collect();
        assert!(open.is_empty(), "others may use {open:?}");
        assert!(all_below(&data.join("media")).len() > 3, "a picture was kept");
        assert_eq!(mode(&gateway.folder().join("log")), 0o600);
        assert!(!gateway.log_text().contains("others could use"), "nothing was open before");
    });
}

#[test]
fn what_others_could_use_is_closed_at_the_next_start() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        gateway.terminate().await;
        let data = gateway.folder().join("data");
        let parts = || ["", "core.redb", "pepper", "plugins", "media"].map(|name| data.join(name));
        for part in parts() {
            let bits = if part.is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(&part, Permissions::from_mode(bits)).expect("opened to others");
        }
        gateway.restart().await;
        for part in parts() {
            assert_eq!(mode(&part) & 0o077, 0, "{}", part.display());
        }
        let log = gateway.log_text();
        for part in
            ["data/core.redb (mode 0644)", "data (mode 0755)", "data/media", "data/plugins (mode 0755)"]
        {
            let reported = log.lines().any(|line| line.contains("others could use") && line.contains(part));
            assert!(reported, "{part} in {log}");
        }
    });
}

#[test]
fn an_open_folder_of_other_things_is_refused_with_the_remedy() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let other = gateway.folder().join("other");
        fs::create_dir(&other).expect("a folder");
        fs::write(other.join("holiday.jpg"), b"").expect("a file");
        fs::set_permissions(&other, Permissions::from_mode(0o755)).expect("opened to others");
        let mut serve = std::process::Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        serve
            .arg("serve")
            .arg("--config")
            .arg(gateway.folder().join("gatehouse.toml"))
            .arg("--data")
            .arg(&other);
        let refused = serve.output().expect("the command runs");
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && text.contains("name a folder of its own"), "{text}");
        assert_eq!(mode(&other), 0o755, "left as it was");
    });
}

#[test]
fn a_crash_leaves_no_memory_behind() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let of_process = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", gateway.pid())).expect("a running process")
        };
        let limits = of_process("limits");
        let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).expect("a limit");
        assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>(), ["0", "0"], "{line}");
        // What the kernel pipes to a program has no such limit, but then nothing in it.
        assert_eq!(of_process("coredump_filter").trim(), "00000000");
    });
}
