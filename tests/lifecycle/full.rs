//! A store whose file may not grow, which no other file's end helps: the process logs the reason and exits, and the next
//! start continues. A full disk is another matter, see `disk`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{Gateway, Setup, run};

use crate::lifecycle::{request, sandbox, script, setup, submits};

/// More submissions than fit into a new store's file.
const MOST: usize = 2000;

/// The gateway behind a shell that forbids files to grow, as long as `tight` exists: no file of the process may
/// get longer than twice the store's file at its start (the shell counts in 512 bytes). The signal that comes with it is ignored, so that
/// the process sees an error.
fn limited(folder: &Path, tight: &Path) -> String {
    let text = format!(
        "if [ -e '{}' ]; then\n  trap '' XFSZ\n  \
         ulimit -f $(( $(wc -c < \"$4/core.redb\") / 256 + 1 ))\nfi\nexec '{}' \"$@\"",
        tight.display(),
        env!("CARGO_BIN_EXE_gatehouse"),
    );
    script(folder, &text).display().to_string()
}

#[test]
fn a_file_that_may_not_grow_ends_the_process_and_a_restart_goes_on() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let folder = tempfile::tempdir().expect("a folder");
        let tight = folder.path().join("tight");
        let setup: Setup = setup(&sandbox).run_by(&limited(folder.path(), &tight));
        let mut gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "1000000").await;
        assert_eq!(gateway.terminate().await, Some(0));

        fs::write(&tight, "").expect("a file");
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        let mut receipts = Vec::new();
        for n in 0..MOST {
            let prompt = format!("kite {n} {}", "very ".repeat(4000));
            match caller.try_post("/v1/images/generations", &request(&prompt)).await {
                Ok(answer) if answer.status == 200 => receipts.push(answer.task_id()),
                // The store's failure is answered, or the process is gone already.
                Ok(answer) => {
                    assert!(answer.status >= 500, "{}", answer.json());
                    break;
                }
                Err(_) => break,
            }
        }
        assert!(
            (1..MOST).contains(&receipts.len()),
            "{} receipts before the file could not grow",
            receipts.len()
        );
        assert_eq!(gateway.wait_for_exit().await, Some(3), "the code of a failed store");

        fs::remove_file(&tight).expect("removed");
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        for task in &receipts {
            // A call that was under way may not be made again: it fails and costs nothing.
            let task = caller.end_of(task).await;
            assert!(task["status"] == "completed" || task["cost"] == 0.0, "{task}");
        }
        assert!(submits(&sandbox).values().all(|count| *count == 1));
        let last = caller.post("/v1/images/generations", &request("after all")).await;
        assert_eq!(last.status, 200, "{}", last.json());
        gateway.expect_sound_ledger().await;
    });
}
