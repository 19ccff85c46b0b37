//! SIGTERM and a new process, again and again under steady load: no connection is refused, no accepted request fails, no
//! task is lost, and no provider call is cut short.
//!
//! Five restarts at 200 requests a second; `GATEHOUSE_RESTARTS`, `GATEHOUSE_RATE` and `GATEHOUSE_BINARY` ask for
//! more, or for another build.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gatehouse_harness::{Caller, Gateway, PersistentClient, Response, run};
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

use crate::lifecycle::{request, sandbox, setting, setup, submits};

const CLIENTS: usize = 48;
/// Answers between one restart and the next.
const BETWEEN: usize = 200;
/// One request in so many waits for a task's end.
const PATIENT: usize = 8;

/// What one client saw.
#[derive(Default)]
struct Seen {
    tasks: Vec<String>,
    failures: Vec<String>,
    answers: usize,
    connections: usize,
    longest: Duration,
}

/// What all clients share.
struct Load {
    caller: Caller,
    over: AtomicBool,
    answers: AtomicUsize,
    more: Notify,
    pace: Duration,
}

#[test]
fn restarts_under_load_fail_no_request_and_lose_no_task() {
    run(async {
        let restarts = setting("GATEHOUSE_RESTARTS", 5);
        let rate = setting("GATEHOUSE_RATE", 200);
        let sandbox = sandbox(Duration::from_millis(300)).await;
        let mut gateway = Gateway::start(setup(&sandbox).with_inherited_socket()).await;
        let load = Arc::new(Load {
            caller: gateway.open_account("acme", "1000000").await,
            over: AtomicBool::new(false),
            answers: AtomicUsize::new(0),
            more: Notify::new(),
            pace: Duration::from_secs(1) * u32::try_from(CLIENTS).expect("few")
                / u32::try_from(rate).expect("few"),
        });
        let begun = Instant::now();
        let address = gateway.public;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| tokio::spawn(client(n, Arc::clone(&load), PersistentClient::new(address))))
            .collect();
        for restart in 1..=restarts {
            while load.answers.load(Ordering::SeqCst) < restart * BETWEEN {
                load.more.notified().await;
            }
            assert_eq!(gateway.terminate().await, Some(0), "restart {restart}");
            gateway.restart().await;
        }
        while load.answers.load(Ordering::SeqCst) < (restarts + 1) * BETWEEN {
            load.more.notified().await;
        }
        load.over.store(true, Ordering::SeqCst);
        let mut all = Seen::default();
        for client in clients {
            let seen = client.await.expect("no panic");
            all.tasks.extend(seen.tasks);
            all.failures.extend(seen.failures);
            all.answers += seen.answers;
            all.connections += seen.connections;
            all.longest = all.longest.max(seen.longest);
        }
        let took = begun.elapsed();

        let mut ends = PersistentClient::new(address);
        let mut lost = Vec::new();
        for task in &all.tasks {
            let end = ask(&mut ends, &load.caller, "GET", &format!("/v1/tasks/{task}"), "30", "").await;
            let task = end.expect("an answer").json();
            if task["data"]["status"] != "completed" {
                lost.push(task);
            }
        }
        println!(
            "{restarts} restarts, {} answers in {took:.1?} over {} connections, longest wait {:.0?}; \
             {} failures, {} tasks, {} lost",
            all.answers,
            all.connections,
            all.longest,
            all.failures.len(),
            all.tasks.len(),
            lost.len(),
        );
        assert!(all.failures.is_empty(), "failed requests: {:?}", all.failures);
        assert!(lost.is_empty(), "lost tasks: {lost:?}");
        assert!(submits(&sandbox).values().all(|count| *count == 1), "a job was asked for twice");
        assert_eq!(gateway.audit(&[]).await.len(), 0, "a restart on purpose leaves nothing ambiguous");
        gateway.expect_sound_ledger().await;
    });
}

/// Asks at its pace, on a connection it keeps: submissions, looks at the last task, and waits for its end.
async fn client(number: usize, load: Arc<Load>, mut connection: PersistentClient) -> Seen {
    let mut seen = Seen::default();
    let mut pace = tokio::time::interval(load.pace);
    // Who had to wait asks the sooner for it: the rate is the load's, not the gateway's.
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for round in 0_usize.. {
        pace.tick().await;
        if load.over.load(Ordering::SeqCst) {
            break;
        }
        if number.is_multiple_of(5) {
            // Some never keep a connection.
            seen.connections += connection.connections();
            connection = connection.fresh();
        }
        let asked = Instant::now();
        let patient = round % PATIENT == PATIENT - 1;
        let answer = match seen.tasks.last().filter(|_| round % 2 == 1) {
            Some(task) => {
                let wait = if patient { "5" } else { "0" };
                ask(&mut connection, &load.caller, "GET", &format!("/v1/tasks/{task}"), wait, "").await
            }
            None => {
                let body = request(&format!("kite {number}-{round}")).to_string();
                ask(&mut connection, &load.caller, "POST", "/v1/images/generations", "0", &body).await
            }
        };
        match answer {
            Ok(answer) if answer.status == 200 => {
                seen.answers += 1;
                seen.tasks.extend(answer.json()["data"][0]["task_id"].as_str().map(str::to_owned));
                load.answers.fetch_add(1, Ordering::SeqCst);
                load.more.notify_one();
            }
            Ok(answer) => seen.failures.push(format!("{} {}", answer.status, answer.json())),
            Err(error) => seen.failures.push(error),
        }
        if !patient {
            seen.longest = seen.longest.max(asked.elapsed());
        }
    }
    seen.connections += connection.connections();
    seen
}

async fn ask(
    connection: &mut PersistentClient,
    caller: &Caller,
    method: &str,
    path: &str,
    wait: &str,
    body: &str,
) -> Result<Response, String> {
    let (bearer, prefer) = (caller.bearer(), format!("wait={wait}"));
    let mut headers = vec![("authorization", bearer.as_str()), ("prefer", &prefer)];
    if !body.is_empty() {
        headers.push(("content-type", "application/json"));
    }
    let answer = connection.send(method, path, &headers, body.to_owned()).await;
    answer.map_err(|error| format!("{method} {path}: {error:?}"))
}
