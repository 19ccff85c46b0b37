//! A thousand slow heads and a thousand slow bodies at once, each with steady small progress.

use std::net::SocketAddr;

use futures_util::future::join_all;
use gatehouse_harness::{Connection, send, until};
use tokio::task::JoinHandle;

use crate::http::{TestGateway, run};

const EACH: usize = 1000;

/// Short enough to wait for, long enough to open two thousand connections before.
const LIMITS: &str = "[server.limits]\nconnections_per_ip = 3000\nrequests_per_key = 2000\n\
                      head_seconds = 12\nbody_idle_seconds = 12\nbody_seconds = 12\nidle_seconds = 100000";

/// Open connections, from the metrics.
async fn open_connections(admin: SocketAddr) -> usize {
    let metrics = send(admin, "GET", "/metrics", &[], "").await;
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("gatehouse_http_connections "));
    line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no gauge of connections in {text}"))
}

/// Opens a connection and sends the beginning of a request.
async fn begin(address: SocketAddr, bytes: String) -> Connection {
    let mut client = Connection::open(address).await;
    client.send(bytes).await;
    client
}

/// Waits for the end: the last status, 0 without one.
fn await_end(mut client: Connection) -> JoinHandle<u16> {
    tokio::spawn(async move {
        let mut status = 0;
        while let Some(reply) = client.read().await {
            status = reply.status;
        }
        status
    })
}

#[test]
fn a_thousand_slow_heads_and_bodies() {
    run(async {
        let gateway = TestGateway::start(LIMITS).await;
        let (address, admin, key) = (gateway.address(), gateway.process.admin(), gateway.caller.bearer());
        let head = "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nX-A: b".to_owned();
        let body = format!(
            "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nAuthorization: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
        );
        let mut heads = join_all((0..EACH).map(|_| begin(address, head.clone()))).await;
        let mut bodies = join_all((0..EACH).map(|_| begin(address, body.clone()))).await;
        while open_connections(admin).await < 2 * EACH {
            gateway.serves_valid_requests().await;
        }
        let job = serde_json::json!({"model": "ctx-pro", "prompt": "a lighthouse in fog"});
        for _ in 0..20 {
            gateway.serves_valid_requests().await;
            let submitted = gateway.caller.post("/v1/images/generations", &job).await;
            assert_eq!(submitted.status, 200, "{}", submitted.json());
            // A byte each, so that they are slow and not idle.
            join_all(heads.iter_mut().map(|client| client.send("b"))).await;
            join_all(bodies.iter_mut().map(|client| client.send(" "))).await;
        }
        let heads = heads.into_iter().map(await_end).collect::<Vec<_>>();
        let bodies = bodies.into_iter().map(await_end).collect::<Vec<_>>();
        for (ends, status) in [(heads, 0), (bodies, 408)] {
            for end in join_all(ends).await {
                assert_eq!(end.expect("a client that ran"), status);
            }
        }
        until("the slow connections are closed", async || open_connections(admin).await == 0).await;
        gateway.serves_valid_requests().await;
    });
}
