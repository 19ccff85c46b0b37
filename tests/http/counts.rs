//! Concurrency limits: connections of an address, requests of a key.

use gatehouse_harness::{Connection, until};

use crate::http::cases::{live, submit};
use crate::http::{TestGateway, run};

/// A submission under way: its client has got `100 Continue` and sent no body yet.
async fn under_way(gateway: &TestGateway) -> Connection {
    let rest = "Expect: 100-continue\r\nContent-Length: 21\r\n\r\n";
    let mut client = Connection::open(gateway.address()).await;
    client.send(submit(rest).replace("KEY", &gateway.caller.bearer())).await;
    assert_eq!(client.read().await.expect("an answer").status, 100);
    client
}

#[test]
fn connections_of_one_address() {
    run(async {
        let gateway = TestGateway::start("[server.limits]\nconnections_per_ip = 3").await;
        let request = live("Host: a\r\n");
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut client = Connection::open(gateway.address()).await;
            client.send(&request).await;
            assert_eq!(client.read().await.expect("an answer").status, 200);
            held.push(client);
        }
        for _ in 0..20 {
            let mut client = Connection::open(gateway.address()).await;
            client.send(&request).await;
            let refused = client.read().await.expect("an answer");
            assert_eq!((refused.status, refused.header("connection")), (429, "close"));
            assert_eq!(refused.header("retry-after"), "1");
        }
        for client in &mut held {
            client.send(&request).await;
            assert_eq!(client.read().await.expect("an answer").status, 200);
        }
        drop(held);
        // The gateway notices closed connections with a delay.
        until("a new client is served", async || {
            let mut client = Connection::open(gateway.address()).await;
            client.send(&request).await;
            client.read().await.is_some_and(|answer| answer.status == 200)
        })
        .await;
    });
}

#[test]
fn requests_of_one_key() {
    run(async {
        let gateway = TestGateway::start("[server.limits]\nrequests_per_key = 2").await;
        let mut held = [under_way(&gateway).await, under_way(&gateway).await];
        let refused = gateway.caller.get("/v1/models").await;
        assert_eq!((refused.status, refused.header("retry-after").is_empty()), (429, false));
        let other = gateway.process.open_account("other", "1").await;
        assert_eq!(other.get("/v1/models").await.status, 200, "the limit is per key");
        for client in &mut held {
            client.send("{\"model\":\"none-such\"}").await;
            assert_eq!(client.read().await.expect("an answer").status, 400);
        }
        gateway.serves_valid_requests().await;
    });
}
