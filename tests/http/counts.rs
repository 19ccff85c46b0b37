//! How much one client may have at once: connections of an address, requests of a key.

use gatehouse_harness::Connection;

use crate::cases::{live, submit};
use crate::{Scene, run};

/// A submission that waits to be asked for its body, so that it is known to be under way.
async fn under_way(scene: &Scene) -> Connection {
    let rest = "Expect: 100-continue\r\nContent-Length: 21\r\n\r\n";
    let mut client = Connection::open(scene.address()).await;
    client.send(submit(rest).replace("KEY", &scene.caller.bearer())).await;
    assert_eq!(client.read().await.expect("an answer").status, 100);
    client
}

#[test]
fn connections_of_one_address() {
    run(async {
        let scene = Scene::start("[server.limits]\nconnections_per_ip = 3").await;
        let request = live("Host: a\r\n");
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut client = Connection::open(scene.address()).await;
            client.send(&request).await;
            assert_eq!(client.read().await.expect("an answer").status, 200);
            held.push(client);
        }
        for _ in 0..20 {
            let mut client = Connection::open(scene.address()).await;
            client.send(&request).await;
            assert!(client.read().await.is_none(), "a connection too many was answered");
        }
        for client in &mut held {
            client.send(&request).await;
            assert_eq!(client.read().await.expect("an answer").status, 200);
        }
        drop(held);
        // The gateway learns of the closed connections in its own time.
        loop {
            let mut client = Connection::open(scene.address()).await;
            client.send(&request).await;
            if client.read().await.is_some() {
                break;
            }
        }
    });
}

#[test]
fn requests_of_one_key() {
    run(async {
        let scene = Scene::start("[server.limits]\nrequests_per_key = 2").await;
        let mut held = [under_way(&scene).await, under_way(&scene).await];
        let refused = scene.caller.send("GET", "/v1/models", &[], "").await;
        assert_eq!((refused.status, refused.header("retry-after").is_empty()), (429, false));
        let other = scene.house.open_account("other", "1").await;
        assert_eq!(other.send("GET", "/v1/models", &[], "").await.status, 200, "another key is another's");
        for client in &mut held {
            client.send("{\"model\":\"none-such\"}").await;
            assert_eq!(client.read().await.expect("an answer").status, 400);
        }
        scene.serves_honest_requests().await;
    });
}
