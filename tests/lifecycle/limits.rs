//! Limits that the operating system sets for the process: the gateway lives within them, or says which key to change.

use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{Gateway, run};
use tokio::net::TcpStream;

use crate::lifecycle::{request, sandbox, script, setup};

/// The gateway behind a shell that sets a limit.
fn behind(limit: &str, folder: &Path) -> String {
    let text = format!("{limit}\nexec '{}' \"$@\"", env!("CARGO_BIN_EXE_gatehouse"));
    script(folder, &text).display().to_string()
}

/// Connections would take every descriptor otherwise: tasks would fail, and no command would reach the gateway.
#[test]
fn few_descriptors_leave_some_for_tasks_and_commands() {
    run(async {
        let (sandbox, folder) = (sandbox(Duration::ZERO).await, tempfile::tempdir().expect("a folder"));
        // Enough for 60 connections.
        let program = behind("ulimit -Sn 128; ulimit -Hn 312", folder.path());
        let gateway = Gateway::start(setup(&sandbox).run_by(&program)).await;
        let log = gateway.log_text();
        assert!(log.contains("60 are accepted") && log.contains("server.limits.connections"), "{log}");
        let caller = gateway.open_account("acme", "100").await;
        let task = caller.post("/v1/images/generations", &request("a red kite")).await.task_id();
        let mut idle = Vec::new();
        for _ in 0..50 {
            idle.push(TcpStream::connect(gateway.public).await.expect("a connection"));
        }
        assert_eq!(caller.end_of(&task).await["status"], "completed");
        assert!(gateway.command(&["account", "list"]).await.contains("acme"));
        drop(idle);
        gateway.expect_sound_ledger().await;
    });
}

/// `mmap failed to reserve` names nothing that an operator could change.
#[test]
fn too_little_address_space_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = behind("ulimit -v 1500000", folder.path());
    let mut serve = std::process::Command::new(program);
    serve.arg("serve").arg("--data").arg(folder.path().join("data")).current_dir(folder.path());
    let ended = serve.output().expect("the command runs");
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{text}");
    assert!(text.contains("plugins.limits.memory_mib") && text.contains("ulimit -v"), "{text}");
}
