//! Graceful ends: SIGTERM finishes what is under way, a restart goes on with the rest.

use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_harness::{Gateway, run, serve_connections, until};
use tokio::io;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::lifecycle::{request, sandbox, setup, submits};

#[test]
fn a_restart_goes_on_where_the_last_process_stopped() {
    run(async {
        let sandbox = sandbox(Duration::from_millis(300)).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let mut tasks = Vec::new();
        for n in 0..12 {
            let answer = caller.post("/v1/images/generations", &request(&format!("kite {n}"))).await;
            tasks.push(answer.task_id());
        }
        let code = gateway.terminate().await;
        assert_eq!(code, Some(0), "a drained process ends well");
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        for task in &tasks {
            assert_eq!(caller.end_of(task).await["status"], "completed");
        }
        assert!(submits(&sandbox).values().all(|count| *count == 1));
        gateway.expect_sound_ledger().await;
    });
}

/// Passes on what comes in, and holds back what goes out until it is released.
async fn hold_answers(of: SocketAddr) -> (SocketAddr, watch::Sender<bool>) {
    let (released, watched) = watch::channel(false);
    let address = serve_connections(move |near| {
        let mut watched = watched.clone();
        async move {
            let far = TcpStream::connect(of).await.expect("a provider");
            let ((mut near_in, mut near_out), (mut far_in, mut far_out)) =
                (near.into_split(), far.into_split());
            let back = async {
                let _ = watched.wait_for(|released| *released).await;
                io::copy(&mut far_in, &mut near_out).await
            };
            let _ = tokio::join!(io::copy(&mut near_in, &mut far_out), back);
        }
    })
    .await;
    (address, released)
}

#[test]
fn a_call_that_may_not_be_made_twice_is_waited_for() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let provider = sandbox.context().submit.trim_start_matches("http://").parse().expect("an address");
        let (address, released) = hold_answers(provider).await;
        let held = format!("[providers.bfl]\nbase_url = \"http://{address}\"\n");
        let mut gateway = Gateway::start(setup(&sandbox).with(&held)).await;
        let caller = gateway.open_account("acme", "100").await;
        let task = caller.post("/v1/images/generations", &request("a red kite")).await.task_id();
        until("the provider has the job; its answer is on the way", async || {
            caller.task(&task).await;
            !submits(&sandbox).is_empty()
        })
        .await;
        gateway.signal("-TERM").await;
        let closed = async || TcpStream::connect(gateway.public).await.is_err();
        until("the listener is closed", closed).await;
        // Longer than anything else is given: only the call can hold the process now.
        assert!(!gateway.exits_within(Duration::from_secs(4)).await, "the answer was not waited for");
        released.send_replace(true);
        assert_eq!(gateway.wait_for_exit().await, Some(0));
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        let task = caller.end_of(&task).await;
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!((submits(&sandbox).values().sum::<usize>(), gateway.audit(&[]).await.len()), (1, 0));
    });
}

#[test]
fn operators_commands_work_with_and_without_a_running_gateway() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        gateway.open_account("acme", "12.5").await;
        let running = gateway.account("acme").await;
        gateway.terminate().await;
        assert_eq!(gateway.account("acme").await, running);
        assert_eq!(running["available"], 12_500_000);
        gateway.expect_sound_ledger().await;
        let plugins = gateway.command(&["plugin", "list"]).await;
        assert!(plugins.contains("context-image"), "{plugins}");
    });
}

#[test]
fn a_second_process_on_the_same_data_says_so() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let (_, text) = gateway.refused(&["serve"]).await;
        assert!(text.contains("another gatehouse process has this store open"), "{text}");
    });
}
