//! One key's bodies leave memory to the other keys of its customer and to other customers, and a fast start of a
//! body earns no patience.

use futures_util::future::{join_all, select_all};
use gatehouse_harness::{Caller, Connection, Response};
use serde_json::json;

use crate::http::{TestGateway, run};

const MIB: usize = 1 << 20;

/// Patience longer than the test; the smallest budget that a few connections fill: eight bodies, whose bytes count as four.
const SMALL_BUDGET: &str =
    "[server.limits]\nbody_mib = 1\nbodies_mib = 32\nbody_idle_seconds = 60\nbody_seconds = 100";
/// Connections of the key that wants everything: three times the budget.
const GREEDY: usize = 24;

/// A submission whose body of this length lacks the last byte.
fn all_but_a_byte(caller: &Caller, length: usize) -> String {
    format!(
        "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nAuthorization: {}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{{}",
        caller.bearer(),
        " ".repeat(length - 2)
    )
}

/// The answers to so many of these clients, in the order in which they come; the others stay open.
async fn first_answers(clients: Vec<Connection>, count: usize) -> (Vec<Response>, Vec<impl Future>) {
    let mut reading: Vec<_> = clients
        .into_iter()
        .map(|mut client| Box::pin(async move { (client.read().await.expect("an answer"), client) }))
        .collect();
    let mut answers = Vec::new();
    while answers.len() < count {
        let ((answer, _client), _, others) = select_all(reading).await;
        answers.push(answer);
        reading = others;
    }
    (answers, reading)
}

#[test]
fn one_key_leaves_room_for_others() {
    run(async {
        let gateway = TestGateway::start(SMALL_BUDGET).await;
        let sibling = gateway.process.make_key("acme", &["--unlimited"]).await;
        let other = gateway.process.open_account("other", "1000").await;
        let bytes = all_but_a_byte(&gateway.caller, MIB);
        let clients = join_all((0..GREEDY).map(async |_| {
            let mut client = Connection::open(gateway.address()).await;
            client.send(&bytes).await;
            client
        }))
        .await;
        // Whatever the rule, no more than eight fit.
        let (answers, open) = first_answers(clients, GREEDY - 8).await;
        for answer in answers {
            assert_eq!((answer.status, answer.header("retry-after")), (429, "1"), "{}", answer.text());
            assert!(answer.message().contains("this API key"), "{}", answer.text());
        }
        let body = json!({"model": "none-such", "prompt": " ".repeat(MIB - 1000)});
        for _ in 0..20 {
            for caller in [&sibling, &other] {
                let answer = caller.post("/v1/images/generations", &body).await;
                assert_eq!(answer.status, 400, "{}", answer.text());
            }
        }
        drop(open);
    });
}

#[test]
fn a_fast_start_earns_no_patience() {
    run(async {
        // By its start alone the body would have a quarter of an hour.
        let limits = "[server.limits]\nbody_mib = 1\nbody_idle_seconds = 4\nbody_seconds = 1000\n\
                      body_bytes_per_second = 1000";
        let gateway = TestGateway::start(limits).await;
        let mut client = Connection::open(gateway.address()).await;
        let bytes = all_but_a_byte(&gateway.caller, MIB);
        client.send(&bytes[..bytes.len() - 100_000]).await;
        let answer = loop {
            client.send(" ").await;
            let pause = async {
                for _ in 0..10 {
                    gateway.serves_valid_requests().await;
                }
            };
            tokio::select! {
                biased;
                answer = client.read() => break answer.expect("an answer"),
                () = pause => {}
            }
        };
        assert_eq!(answer.status, 408, "{}", answer.text());
    });
}
