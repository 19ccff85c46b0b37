//! Local clients of the admin listener that ask and read nothing: they hold neither a shutdown nor a command.

use std::io::ErrorKind;
use std::time::Duration;

use futures_util::future::join_all;
use gatehouse_harness::{Gateway, run, send};
use tokio::net::{TcpSocket, TcpStream};

use crate::lifecycle::{sandbox, setup};

/// As many connections as the listener has.
const ALL: usize = 64;
/// Round trips of another client without a byte taken of this one.
const STALLED: usize = 20;

/// A client that asks until the gateway takes no more, because it reads none of the answers.
async fn hold(gateway: &Gateway) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    socket.set_send_buffer_size(4096).expect("a small buffer");
    let stream = socket.connect(gateway.admin()).await.expect("a connection");
    let requests = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(1000);
    let (mut sent, mut stalled) = (0, 0);
    while stalled < STALLED {
        match stream.try_write(&requests[sent % requests.len()..]) {
            Ok(bytes) => (sent, stalled) = (sent + bytes, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => stalled += 1,
            // It gave way to another one.
            Err(_) => break,
        }
        assert_eq!(send(gateway.public, "GET", "/livez", &[], "").await.status, 200);
    }
    stream
}

#[test]
fn a_client_that_reads_nothing_does_not_hold_a_shutdown() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        let _held = hold(&gateway).await;
        gateway.signal("-TERM").await;
        assert_eq!(gateway.wait_for_exit().await, Some(0));
        gateway.restart().await;
        gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_key_is_revoked_beside_clients_that_read_nothing() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "100").await;
        let _held = join_all((0..ALL).map(|_| hold(&gateway))).await;
        let revoke = ["key", "revoke", caller.id()];
        let revoked = tokio::time::timeout(Duration::from_secs(60), gateway.command(&revoke)).await;
        revoked.expect("an answer while the others read nothing");
        assert_eq!(caller.get("/v1/models").await.status, 401);
    });
}
