//! What a session and a token reach of their listener: a stream of events ends with the session that opened it, and an answer
//! under way keeps its connection.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use gatehouse_driver::DryRun;
use gatehouse_harness::{Connection, TestClock};
use gatehouse_model::{CustomerId, Key, Recent};
use gatehouse_net::ServedBody;
use gatehouse_sample::audit;
use http::{Request, Response};

use super::parts;
use super::support::{Listener, WRITE, serve};
use crate::{
    AdminParts, AdminService, Config, Console, Logs, Pending, PublicApi, PublicEndpoint, PublicRefusal, Role,
};

/// More than the buffers of a connection take.
const LARGE: usize = 20_000_000;

/// A public API of which nothing but the logs is read.
struct OnlyLogs(Logs);

impl PublicApi for OnlyLogs {
    fn price(&self, _: String, _: Bytes, _: Option<CustomerId>) -> Pending<Result<DryRun, PublicRefusal>> {
        unreachable!("nothing is priced")
    }

    fn respond(&self, _: Arc<Key>, _: Request<Bytes>) -> Pending<Response<ServedBody>> {
        unreachable!("nothing is sent")
    }

    fn endpoints(&self) -> Vec<PublicEndpoint> {
        Vec::new()
    }

    fn logs(&self) -> Logs {
        self.0.clone()
    }
}

/// A listener with logs and a page that is large. Its clock is the service's, too.
async fn start(config: Config) -> Listener {
    let (parts, folder) = parts();
    let clock = TestClock::at(1_000);
    let service = AdminService::new(AdminParts { clock: clock.clone(), ..parts });
    let logs = Logs { requests: Arc::new(Recent::new(9, 999)), process: Arc::new(Recent::new(9, 999)) };
    service.connect(Arc::new(OnlyLogs(logs)));
    let listener = serve(config, "", service, folder, clock).await;
    let large = || async {
        let piece = || Ok::<_, Infallible>(Bytes::from(vec![b'x'; LARGE / 20]));
        Body::from_stream(stream::iter((0..20).map(move |_| piece())))
    };
    let router = axum::Router::new().route("/large", get(large));
    listener.server.show(Console { router, refuse: Box::new(|_| Response::default()) });
    listener
}

/// The cookie of a session that begins now.
fn log_in(listener: &Listener) -> String {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let header = listener.server.sessions().open_for(None, Role::Operator, address, false);
    header.to_str().unwrap().split(';').next().unwrap().to_owned()
}

async fn ask(listener: &Listener, path: &str, headers: &[(&str, &str)]) -> Connection {
    let mut client = Connection::open(listener.endpoint.address).await;
    client.request("GET", path, headers, b"").await;
    client
}

/// Without it somebody whose session was ended reads on what clients of the gateway do.
#[tokio::test]
async fn a_tail_ends_with_the_session_that_opened_it() {
    let ends: [fn(&Listener); 4] = [
        |listener| assert!(listener.server.sessions().end(1)),
        |listener| assert_eq!(listener.server.sessions().end_all(), 1),
        |listener| listener.clock.advance(Duration::from_secs(60 * 60)),
        |listener| listener.clock.advance(Duration::from_secs(12 * 60 * 60)),
    ];
    for end in ends {
        let listener = start(Config::default()).await;
        let cookie = log_in(&listener);
        let mut tail = ask(&listener, "/admin/v1/logs/tail", &[("cookie", &cookie)]).await;
        let head = tail.read_head().await.expect("a head");
        assert_eq!((head.status, head.header("content-type")), (200, "text/event-stream"));
        tail.read_until("\n\n").await;
        end(&listener);
        tail.until("0\r\n\r\n").await;
    }
}

/// Without it programs that have no credential cut short what a person or a command downloads.
#[tokio::test]
async fn an_answer_under_way_to_a_session_or_a_token_keeps_its_connection() {
    for (path, by_session) in [("/large", true), ("/admin/v1/audit.csv", false)] {
        let listener = start(Config { connections: 2.try_into().unwrap(), ..Config::default() }).await;
        let credential = match by_session {
            true => ("cookie", log_in(&listener)),
            false => ("authorization", format!("Bearer {}", listener.endpoint.token.reveal())),
        };
        if !by_session {
            // More rows than one page of the file has.
            for _ in 0..501 {
                let line = audit("x".repeat(LARGE / 500));
                listener.store.execute_deferred(line).await.unwrap().unwrap();
            }
            listener.store.flush().await.unwrap();
        }
        let mut held = ask(&listener, path, &[(credential.0, &credential.1)]).await;
        listener.clock.armed(WRITE).await;
        let mut strangers = Vec::new();
        for _ in 0..2 {
            let mut stranger = ask(&listener, "/livez", &[]).await;
            assert_eq!(stranger.read().await.expect("an answer").status, 200);
            strangers.push(stranger);
        }
        let whole = held.read().await.expect("an answer");
        assert!(whole.status == 200 && whole.body.len() >= LARGE, "{path}: {}", whole.body.len());
        assert!(strangers[0].closes().await, "the oldest one without an operation has given way");
    }
}
