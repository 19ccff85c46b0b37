//! A store copied into a database and back is the store.

use redb::{Database, ReadableDatabase as _};

use super::{Pair, connect};
use crate::copy::CopyError;
use crate::error::OpenError;
use crate::examine::Progress;
use crate::file::pepper;
use crate::postgres::connect::Server;
use crate::postgres::copy::{copy_to_database, copy_to_file, from_file, to_file};
use crate::postgres::examine::examine;
use crate::postgres::migrate::prepare;
use crate::postgres::reads;
use crate::tests::Dump;
use gatehouse_fault_injection::PostgresServer;

#[tokio::test]
async fn every_row_comes_into_a_database_and_back() {
    let pair = Pair::filled().await;
    let database = pair.store.database().unwrap();
    pepper::fit_pepper(&database, 77).unwrap();
    let file = database.begin_read().unwrap();
    let url = PostgresServer::shared().database();
    let mut client = connect(&url).await;
    prepare(&mut client).await.unwrap();
    let progress = Progress::default();
    let copied = from_file(&mut client, &file, &progress).await.unwrap();
    let (checked, of) = progress.so_far();
    assert!(checked >= of && of > 100, "{checked} of {of}");

    let expected = crate::examine::examine(&file, &Progress::default()).unwrap();
    assert_eq!(examine(&mut client, &Progress::default()).await.unwrap(), expected);
    assert_eq!(reads::fit_pepper(&client, 77).await.unwrap(), pepper::PepperFit::Fits);
    // As the same commands leave them where they were played against a database.
    let tables = "select string_agg(relname, ' ' order by relname) from pg_class where relkind = 'r' and \
        relnamespace = 'public'::regnamespace and relname not in ('home', 'meta', 'list_length')";
    let server = PostgresServer::shared();
    for table in server.ask(&url, tables).split_whitespace() {
        let rows = format!(
            "select md5(coalesce(string_agg(t::text, ' ' order by t::text), '')), count(*) from {table} t"
        );
        assert_eq!(server.ask(&url, &rows), server.ask(&pair.url, &rows), "{table}");
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let back = to_file(&mut client, &path, &Progress::default()).await.unwrap();
    assert_eq!(back.mark, copied.mark);
    let database = Database::open(&path).unwrap();
    assert_eq!(Dump::of_database(&database), Dump::of_database(&pair.store.database().unwrap()));
    let file = database.begin_read().unwrap();
    assert_eq!(crate::examine::examine(&file, &Progress::default()).unwrap(), expected);
    assert_eq!(pepper::check_of(&file).unwrap(), Some(77));
}

/// A copy that was not finished would be taken for a store.
#[tokio::test]
async fn a_file_is_there_once_all_of_it_is() {
    let pair = Pair::filled().await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::parse(&pair.url, None).unwrap();
    let path = folder.path().join("core.redb");
    // A row that cannot be read, in the last table but one.
    pair.client.batch_execute("update ledger set kind = 'gift' where position = 5").await.unwrap();
    let failed = copy_to_file(&server, &path, &Progress::default()).await.unwrap_err().to_string();
    assert!(failed.contains("expected a kind of entry, found \"gift\""), "{failed}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    pair.client.batch_execute("update ledger set kind = 'deposit' where position = 5").await.unwrap();
    copy_to_file(&server, &path, &Progress::default()).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let again = copy_to_file(&server, &path, &Progress::default()).await.unwrap_err().to_string();
    assert!(again.contains("there is a store already"), "{again}");

    let other = Server::parse(&PostgresServer::shared().database(), None).unwrap();
    copy_to_database(&path, &other, &Progress::default()).await.unwrap();
    let again = copy_to_database(&path, &other, &Progress::default()).await.unwrap_err().to_string();
    assert!(again.contains("the database has rows already"), "{again}");
}

/// Rows of two stores in one database would be nobody's.
#[tokio::test]
async fn only_an_empty_database_that_nobody_uses_takes_a_copy() {
    let mut pair = Pair::filled().await;
    let database = pair.store.database().unwrap();
    let file = database.begin_read().unwrap();
    let refused = |outcome: Result<crate::StoreCopy, CopyError>| outcome.unwrap_err().to_string();
    let said = refused(from_file(&mut pair.client, &file, &Progress::default()).await);
    assert!(said.contains("the database has rows already"), "{said}");
    let other = connect(&pair.url).await;
    other.batch_execute("select pg_advisory_lock(7166120832)").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (server, path) = (Server::parse(&pair.url, None).unwrap(), folder.path().join("x"));
    let said = refused(copy_to_file(&server, &path, &Progress::default()).await);
    assert!(said.contains("another gateway is at work on it"), "{said}");
    // Its session has ended, and it is about to have another one.
    let lease = "select pg_advisory_unlock(7166120832); insert into lease values (0, 7, 'a', 0, now() + interval '1 minute')";
    other.batch_execute(lease).await.unwrap();
    let said = refused(copy_to_file(&server, &path, &Progress::default()).await);
    assert!(said.contains("the gateway a has lost its connection or crashed"), "{said}");
    assert!(matches!(server.migrate().await, Err(OpenError::Leased { .. })));
}
