//! The schema: made once, and never looked past.

use gatehouse_fault_injection::PostgresServer;

use super::connect;
use crate::error::OpenError;
use crate::postgres::migrate::{migrate, prepare};
use crate::postgres::{Node, Position, Server, Standby};

/// Both would make the tables, and one would fail.
#[tokio::test]
async fn two_that_open_an_empty_database_make_its_tables_once() {
    let url = PostgresServer::shared().database();
    let (mut one, mut other) = (connect(&url).await, connect(&url).await);
    let (first, second) = tokio::join!(prepare(&mut one), prepare(&mut other));
    first.unwrap();
    second.unwrap();
    assert_eq!(migrate(&mut one).await.unwrap(), Vec::<u32>::new());
    let found = PostgresServer::shared().ask(&url, "select value from meta where key = 'schema'");
    assert_eq!(found.trim(), "3");
}

/// An older binary would write rows that the newer one does not expect.
#[tokio::test]
async fn a_later_schema_is_refused() {
    let url = PostgresServer::shared().database();
    let mut client = connect(&url).await;
    prepare(&mut client).await.unwrap();
    client.batch_execute("update meta set value = 9 where key = 'schema'").await.unwrap();
    for found in [prepare(&mut client).await, migrate(&mut client).await.map(drop)] {
        assert!(matches!(found, Err(OpenError::Newer { found: 9, supported: 3 })), "{found:?}");
    }
}

/// A gateway would work with tables that it does not know, or the step of a release would not fit the one before.
#[tokio::test]
async fn a_schema_before_waits_for_its_migration() {
    let url = PostgresServer::shared().database();
    let mut client = connect(&url).await;
    prepare(&mut client).await.unwrap();
    // A standby beside a gateway of the release before goes on waiting.
    let before = "alter table node drop column process, drop column doubled; update meta set value = 2 where key = 'schema'; \
                  insert into lease values (0, 1, 'a', 0, now() + interval '1 h')";
    client.batch_execute(before).await.unwrap();
    let server = Server::parse(&url, None).unwrap();
    let mut standby = Standby::new(server.clone(), Node { name: "b".to_owned(), ..Node::default() });
    let waits = standby.look().await;
    assert!(matches!(&waits, Ok(Position::Taken(node)) if node.name == "a"), "{waits:?}");
    let refused = server.fleet().await;
    assert!(matches!(refused, Err(OpenError::Migrate { found: 2, supported: 3 })), "{refused:?}");
    assert_eq!(migrate(&mut client).await.unwrap(), [3]);
    let before = "drop table lease, node; update meta set value = 1 where key = 'schema'";
    client.batch_execute(before).await.unwrap();
    let refused = prepare(&mut client).await;
    assert!(matches!(refused, Err(OpenError::Migrate { found: 1, supported: 3 })), "{refused:?}");
    assert_eq!(migrate(&mut client).await.unwrap(), [2, 3]);
    prepare(&mut client).await.unwrap();
}

/// Half of the tables would be there, and the next start would fail at the first of them.
#[tokio::test]
async fn a_database_of_something_else_stays_as_it_is() {
    let url = PostgresServer::shared().database();
    let mut client = connect(&url).await;
    client.batch_execute("create table customer (name text)").await.unwrap();
    let refused = prepare(&mut client).await.unwrap_err().to_string();
    assert!(refused.contains("step 1 of the schema: relation \"customer\" already exists"), "{refused}");
    let tables =
        PostgresServer::shared().ask(&url, "select count(*) from pg_tables where schemaname = 'public'");
    assert_eq!(tables.trim(), "1");
}
