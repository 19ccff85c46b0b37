//! Connections against a real server: addresses, TLS, several servers, what a lost one means.

use gatehouse_fault_injection::{ConnectionCut, PostgresServer, Relay};
use gatehouse_model::Secret;

use super::connect::Server;
use super::failure::store_error;
use super::fleet::{self, Node};
use super::migrate::prepare;
use super::pool::{Reader, Readers};
use crate::error::{OpenError, StoreError};

fn server(url: &str) -> Server {
    Server::parse(url, None).unwrap()
}

/// A typing mistake would be ignored or, worse, would switch TLS off.
#[test]
fn an_address_is_checked() {
    let problem = |url: &str| match Server::parse(url, None) {
        Err(OpenError::Address { problem }) => problem,
        other => panic!("{url}: {other:?}"),
    };
    for (url, words) in [
        ("mysql://a/b", "expected postgres://"),
        ("postgres://me@host", "expected the name of a database"),
        ("postgres:///db", "expected a host"),
        ("postgres://me:pa@ss@host/db", "as %40 and %3F"),
        ("postgres://me:pa?ss@host/db", "as %40 and %3F"),
        ("postgres://me@host/db?sslmod=require", "unknown parameter \"sslmod\""),
        (
            "postgres://me@host/db?sslmode=full",
            "sslmode: expected disable, prefer, require, verify-ca or verify-full",
        ),
        ("postgres://me@host/db?sslrootcert=%2Fx", "sslrootcert: only require, verify-ca and verify-full"),
        ("postgres://me@host/db?sslmode=verify-full&sslrootcert=%2Fno%2Ffile", "sslrootcert: file /no/file"),
        ("postgres://me@host/db?password=sekret", "password: write it behind the user"),
        ("postgres://me@a,b:1,c/db?port=1,2", "3 hosts have"),
        ("postgres://me@host/db?connect_timeout=soon", "connect_timeout"),
        ("postgres://me:sekret@host:port/db", "port"),
    ] {
        let problem = problem(url);
        assert!(problem.contains(words) && !problem.contains("sekret"), "{url}: {problem}");
    }
    let twice = Server::parse("postgres://me:one@host/db", Some(&Secret::new("two".to_owned())));
    assert!(matches!(twice, Err(OpenError::Address { .. })), "{twice:?}");
}

#[test]
fn an_address_prints_without_its_password() {
    let server = server("postgresql://me:sekret@one,two:5433/db?target_session_attrs=any&sslmode=disable");
    assert!(server.has_password());
    assert_eq!(
        (server.to_string(), format!("{server:?}")),
        ("one:5432,two:5433/db".to_owned(), "Server(\"one:5432,two:5433/db\")".to_owned())
    );
}

/// A gateway would speak in the clear, or with any server that answers.
#[tokio::test]
async fn tls_is_used_and_proved_as_the_address_says() {
    let folder = tempfile::tempdir().unwrap();
    let (running, authority) = PostgresServer::start_with_tls("sekret");
    let roots = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let own = roots("own.pem", &authority.pem);
    let other = roots("other.pem", &other_authority());
    let by_name = running.database().replace("127.0.0.1", "localhost");
    let by_number = running.database();
    let password = Secret::new("sekret".to_owned());
    let outcome = async |url: &str, parameters: String, password: &Secret<String>| {
        let server = Server::parse(&format!("{url}?{parameters}"), Some(password)).unwrap();
        match server.connect().await {
            Ok(connected) => {
                let ssl = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
                let row = connected.client.query_one(ssl, &[]).await.unwrap();
                format!("encrypted {}", row.get::<_, String>(0))
            }
            Err(error) => {
                assert!(!error.passes, "{error}");
                error.reason
            }
        }
    };
    for (url, parameters, expected) in [
        (&by_name, "sslmode=require".to_owned(), "encrypted true"),
        (&by_name, "sslmode=prefer".to_owned(), "encrypted true"),
        (&by_name, "sslmode=disable".to_owned(), "pg_hba.conf"),
        (&by_name, format!("sslmode=verify-full&sslrootcert={own}"), "encrypted true"),
        (&by_name, format!("sslmode=verify-full&sslrootcert={other}"), "invalid peer certificate"),
        (&by_name, "sslmode=verify-full".to_owned(), "invalid peer certificate"),
        (&by_number, format!("sslmode=verify-full&sslrootcert={own}"), "invalid peer certificate"),
        (&by_number, format!("sslmode=verify-ca&sslrootcert={own}"), "encrypted true"),
        (&by_number, format!("sslmode=require&sslrootcert={other}"), "invalid peer certificate"),
    ] {
        let found = outcome(url, parameters.clone(), &password).await;
        assert!(found.contains(expected), "{parameters}: {found}");
    }
    let wrong = outcome(&by_name, "sslmode=require".to_owned(), &Secret::new("guess".to_owned())).await;
    assert!(wrong.contains("password authentication failed") && !wrong.contains("guess"), "{wrong}");
}

fn other_authority() -> String {
    let mut own = rcgen::CertificateParams::default();
    own.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    own.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
}

/// After a failover the gateway would go on asking a server that is gone, or one that takes no writes.
#[tokio::test]
async fn the_first_server_that_takes_writes_is_used() {
    let (first, second) = (PostgresServer::start(), PostgresServer::start());
    let url = second.database();
    let _ = first.ask(&first.database(), "ALTER DATABASE test_0 SET default_transaction_read_only = on");
    let both =
        url.replace(&second.address().to_string(), &format!("{},{}", first.address(), second.address()));
    let port = async |url: &str| {
        let connected = server(url).connect().await.map_err(|error| (error.passes, error.reason))?;
        let row = connected.client.query_one("SHOW port", &[]).await.unwrap();
        Ok::<_, (bool, String)>(row.get::<_, String>(0))
    };
    assert_eq!(port(&both).await.unwrap(), second.address().port().to_string());
    first.stop_immediately();
    assert_eq!(port(&both).await.unwrap(), second.address().port().to_string());
    second.stop_immediately();
    let (passes, reason) = port(&both).await.unwrap_err();
    let named = [&first, &second].iter().all(|server| reason.contains(&server.address().to_string()));
    assert!(passes && named, "{reason}");
}

/// An outage would be taken for a broken store, which ends the process.
#[tokio::test]
async fn a_lost_connection_passes_and_a_broken_rule_does_not() {
    let running = PostgresServer::start();
    let url = running.database();
    let relay = Relay::to(running.address());
    let server = server(&relay.url(&url, running.address()));
    let connected = server.connect().await.unwrap();
    let meaning = async |statement: &str| {
        connected.client.batch_execute(statement).await.map_err(|error| store_error("asking", &error))
    };
    let broken = meaning("SELECT 1 / 0").await;
    let expected = "asking: division by zero (SQLSTATE 22012)";
    assert!(matches!(&broken, Err(StoreError::Failed { reason }) if reason == expected), "{broken:?}");
    relay.cut_at(ConnectionCut::Request(b"SELECT 3"));
    assert_eq!(meaning("SELECT 2").await, Ok(()));
    assert_eq!((meaning("SELECT 3").await, relay.cuts()), (Err(StoreError::Unavailable), 1));
    assert_eq!(meaning("SELECT 4").await, Err(StoreError::Unavailable));
    assert!(connected.client.is_closed());

    let second = server.connect().await.unwrap();
    second.client.batch_execute("CREATE TABLE one (value int)").await.unwrap();
    relay.cut_at(ConnectionCut::Answer(b"COMMIT"));
    let lost = second.client.batch_execute("BEGIN; INSERT INTO one VALUES (1); COMMIT").await.unwrap_err();
    assert_eq!(store_error("writing", &lost), StoreError::Unavailable);
    // What the server had said is true.
    assert_eq!(running.ask(&url, "SELECT value FROM one"), "1");

    let third = server.connect().await.unwrap();
    running.end_sessions(&url);
    let ended = third.client.batch_execute("SELECT 1").await.unwrap_err();
    assert_eq!(store_error("asking", &ended), StoreError::Unavailable);
    running.stop_immediately();
    let away = server.connect().await.map(drop).unwrap_err();
    assert!(away.passes, "{away}");
    running.start_again();
    server.connect().await.unwrap();
}

/// Readers would open a connection each, or keep those of a server that is gone.
#[tokio::test]
async fn readers_share_connections_that_work() {
    let running = PostgresServer::start();
    let url = running.database();
    let readers = Readers::new(server(&url));
    let process = async || {
        let reader = readers.get().await?;
        let row = reader.query_one("SELECT pg_backend_pid()", &[]).await;
        reader.keep();
        row.map(|row| row.get::<_, i32>(0)).map_err(|error| store_error("reading", &error))
    };
    let first = process().await.unwrap();
    assert_eq!(process().await, Ok(first));
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(readers.get().await.unwrap());
    }
    let sessions = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'",
        url.rsplit('/').next().unwrap()
    );
    assert_eq!(running.ask("postgres://x/postgres", &sessions), "8");
    held.into_iter().for_each(Reader::keep);
    running.stop_immediately();
    // The first may have a connection whose end was not seen yet.
    for _ in 0..9 {
        assert_eq!(process().await, Err(StoreError::Unavailable));
    }
    running.start_again();
    assert_ne!(process().await.unwrap(), first);
    readers.close();
    assert_eq!(process().await, Err(StoreError::Closed));
}

/// Two gateways of one name would take the place of each other after each restart of the server, and nobody would know why.
#[tokio::test]
async fn two_that_run_with_one_name_are_noticed_and_a_restart_is_not() {
    let url = PostgresServer::shared().database();
    let mut client = server(&url).connect().await.unwrap().client;
    prepare(&mut client).await.unwrap();
    let node = Node { name: "a".to_owned(), ..Node::default() };
    let (first, is_doubled) = fleet::wait(&client, &node, None).await.unwrap();
    assert!(first < 0 && !is_doubled);
    // Started again.
    let (second, is_doubled) = fleet::wait(&client, &node, None).await.unwrap();
    assert!(second != first && !is_doubled);
    assert_eq!(fleet::wait(&client, &node, Some(second)).await.unwrap(), (second, false));
    let begun = fleet::take(&client, &node, None).await.unwrap().unwrap();
    assert!(!fleet::renew(&client, &node, begun.epoch).await.unwrap().is_doubled);
    let is_doubled = async || server(&url).fleet().await.unwrap().nodes[0].is_doubled;
    assert!(!is_doubled().await);
    // The one before runs still.
    assert_eq!(fleet::wait(&client, &node, Some(second)).await.unwrap(), (second, true));
    let renewal = fleet::renew(&client, &node, begun.epoch).await.unwrap();
    assert!(renewal.stands && renewal.is_doubled && is_doubled().await);
    let other = Node { name: "b".to_owned(), ..Node::default() };
    assert!(!fleet::renew(&client, &other, begun.epoch).await.unwrap().stands);

    // Three in rotation: each finds another one than it would if they were two.
    let node = Node { name: "c".to_owned(), ..Node::default() };
    let mut processes = Vec::new();
    for _ in 0..3 {
        let (process, is_doubled) = fleet::wait(&client, &node, None).await.unwrap();
        assert!(!is_doubled);
        processes.push(process);
    }
    for process in processes {
        assert_eq!(fleet::wait(&client, &node, Some(process)).await.unwrap(), (process, true));
    }
}
