//! The gateways of one database, as its tables `lease` and `node` have them: who is at work, who waits, and how the one takes the place
//! of the other. All moments are those of the server.
//!
//! The one at work has the advisory lock by its session, and the lease by its renewals. The end of its session frees the lock; a
//! process that is stopped or cut off keeps it, so its session is ended once the lease is over. A session that ends alone leaves a lease
//! that lasts: nobody takes the place then who has not seen that end, and no command, since the one at work is about to come back.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::connect::Server;
use super::failure::{describe, passes};
use super::sql::{Value, borrowed};
use crate::error::OpenError;

/// What a gateway tells the others of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// It has one of its own; a command that takes the database for a moment has none.
    pub name: String,
    /// Where the others reach its public API.
    pub address: Option<String>,
    /// Its release.
    pub version: String,
    /// A digest of what it is configured to do.
    pub configuration: String,
}

/// A gateway, as its row has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownNode {
    /// What it told.
    pub node: Node,
    /// Whether it is the one at work.
    pub at_work: bool,
    /// Since it was seen last.
    pub seen: Duration,
    /// Whether two that run call themselves this.
    pub is_doubled: bool,
}

/// All gateways of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// How often another one, or the same one again, began to work.
    pub epoch: i64,
    /// What is left of the lease of the one at work.
    pub lease: Duration,
    /// Whether one is at work.
    pub at_work: bool,
    /// Those that were seen within the last day, by their names.
    pub nodes: Vec<KnownNode>,
}

/// The gateway that writes to a database.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// `None` where nobody ever did.
    pub(super) lease: Option<HeldLease>,
    /// Whether a session has the advisory lock.
    pub(super) locked: bool,
    /// Whether it is the one that the lease is of: commands and gateways that open the database have the lock for a moment, too.
    pub(super) by_holder: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeldLease {
    pub(super) epoch: i64,
    pub(super) node: Node,
    /// In milliseconds; below zero once it is over.
    pub(super) left: i64,
}

/// The session that has the lock: the two halves of its number.
macro_rules! lock_held {
    () => {
        "locktype = 'advisory' and classid = 1 and objid = 2871153536 and objsubid = 1 and granted \
         and database = (select oid from pg_database where datname = current_database())"
    };
}

macro_rules! node_columns {
    () => {
        "node (name, address, version, configuration, standby, seen, process)"
    };
}

macro_rules! keep_node {
    () => {
        "on conflict (name) do update set address = excluded.address, version = excluded.version, \
         configuration = excluded.configuration, standby = excluded.standby, seen = excluded.seen, \
         process = excluded.process"
    };
}

/// Whether that was a moment ago: each of the two writes every third second, or more often.
macro_rules! is_doubled {
    () => {
        "coalesce(doubled > clock_timestamp() - interval '20 s', false)"
    };
}

const TAKE: &str = concat!(
    "with began as (update home set epoch = epoch + 1 where home = 0 and not exists (select from lease ",
    "where home = 0 and expires > clock_timestamp() and node not in ('', $1) and epoch <> $5) returning epoch, batch), ",
    "known as (insert into ",
    node_columns!(),
    " select $1, $2, $3, $4, false, clock_timestamp(), epoch from began ",
    keep_node!(),
    "), old as (delete from node where seen < clock_timestamp() - interval '1 day' and name <> $1), ",
    "held as (insert into lease select 0, epoch, $1, pg_backend_pid(), clock_timestamp() + interval '10 s' from began ",
    "on conflict (home) do update set epoch = excluded.epoch, node = excluded.node, session = excluded.session, ",
    "expires = excluded.expires) ",
    "select epoch, batch, pg_backend_pid() from began"
);
const RENEW: &str = concat!(
    "with renewed as (update lease set expires = clock_timestamp() + interval '10 s' ",
    "where home = 0 and epoch = $5 and node = $1 returning epoch), ",
    "known as (insert into ",
    node_columns!(),
    " select $1, $2, $3, $4, false, clock_timestamp(), epoch from renewed ",
    keep_node!(),
    ", doubled = case when node.process <> excluded.process then excluded.seen else node.doubled end returning ",
    is_doubled!(),
    " as doubled) select exists (select from renewed), exists (select from known where doubled)"
);
// The first words of a process come after those of the one before it.
const WAIT: &str = concat!(
    "insert into ",
    node_columns!(),
    " values ($1, $2, $3, $4, true, clock_timestamp(), coalesce($5, -1 - floor(random() * 9e15)::bigint)) ",
    keep_node!(),
    ", doubled = case when $5 is not null and node.process <> excluded.process then excluded.seen else node.doubled end ",
    "returning process, ",
    is_doubled!(),
);
/// The name as well: a server that lost its last commits counts epochs again that others have had.
const MOVE: &str = "update lease set session = pg_backend_pid() where home = 0 and epoch = $1 and node = $2";
/// Not of its epoch any more: a renewal that is still on its way finds nothing.
const LEAVE: &str = "update lease set expires = clock_timestamp(), epoch = 0 where home = 0 and epoch = $1";
const HOLDER: &str = "
    select node, ceil(extract(epoch from expires - clock_timestamp()))::bigint
    from lease
    where home = 0 and expires > clock_timestamp() and node <> ''";
const LOOK: &str = concat!(
    "select epoch, node, address, coalesce(version, ''), coalesce(configuration, ''), ",
    "(extract(epoch from expires - clock_timestamp()) * 1000)::bigint, exists (select from pg_locks where ",
    lock_held!(),
    "), exists (select from pg_locks where ",
    lock_held!(),
    " and pid = lease.session) from (values (0)) one left join lease on home = 0 left join node on name = node"
);
// The lease first, so that no renewal comes between; only the session that it is of, which is not any that has the lock for a moment.
const END: &str = concat!(
    "with taken as (update lease set epoch = 0 where home = 0 and expires < clock_timestamp() returning session) ",
    "select pg_terminate_backend(pid) from pg_locks join taken on pid = session where ",
    lock_held!()
);
const END_SESSION: &str =
    concat!("select pg_terminate_backend(pid) from pg_locks where ", lock_held!(), " and pid = $1");
// Where the server does not tell what sessions do, each may be at work.
const IS_BUSY: &str = "select exists (select from pg_stat_activity where pid = $1 and datname = current_database() and state not like 'idle%')";
const PEPPER: &str = "select value from meta where key = 'pepper-check'";
const FLEET: &str = concat!(
    "select home.epoch, (extract(epoch from expires - clock_timestamp()) * 1000)::bigint, exists (select from pg_locks where ",
    lock_held!(),
    ") from home left join lease on lease.home = home.home where home.home = 0"
);
const NODES: &str = concat!(
    "select name, address, version, configuration, not standby and node = name, ",
    "(extract(epoch from clock_timestamp() - seen) * 1000)::bigint, ",
    is_doubled!(),
    " from node left join lease on home = 0 where seen > clock_timestamp() - interval '1 day' and name <> '' ",
    "order by name limit 100"
);

/// What a session has that begins to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Of `home`, as the batch.
    pub(super) epoch: i64,
    pub(super) batch: i64,
    /// Its number.
    pub(super) session: i32,
}

/// Begins to write, for the session that has the lock; `None` while the lease of another gateway lasts, which may be about to come back.
/// That of the epoch `ended` need not be waited for.
pub(super) async fn take(client: &Client, node: &Node, ended: Option<i64>) -> Result<Option<Begun>, Error> {
    let mut values = values(node);
    values.push((Box::new(ended.unwrap_or(-1)), Type::INT8));
    let row = client.query_typed_opt(TAKE, &borrowed(&values)).await?;
    let begun =
        |row: Row| Ok(Begun { epoch: row.try_get(0)?, batch: row.try_get(1)?, session: row.try_get(2)? });
    row.map(begun).transpose()
}

/// Refuses where the lease of a gateway lasts: one that has lost its session is about to come back.
///
/// # Errors
/// [`OpenError::Leased`]; the database's.
pub(super) async fn expect_no_lease(client: &Client, server: &Server) -> Result<(), OpenError> {
    let row = match client.query_typed_opt(HOLDER, &[]).await {
        // A database that is empty, or of a release before.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(()),
        row => row.map_err(|error| broken(&error))?,
    };
    let Some(row) = row else { return Ok(()) };
    let read = |row: Row| Ok((row.try_get(0)?, row.try_get(1)?));
    let (node, seconds) = read(row).map_err(|error: Error| broken(&error))?;
    Err(OpenError::Leased { database: server.to_string(), node, seconds })
}

/// The error of an opening.
pub(super) fn broken(error: &Error) -> OpenError {
    OpenError::Database { reason: describe(error), passes: passes(error) }
}

/// What became of a renewal.
pub(crate) struct Renewal {
    /// Whether the lease was still of its epoch.
    pub(super) stands: bool,
    /// Whether another process calls itself the same.
    pub(super) is_doubled: bool,
}

/// Renews the lease of an epoch.
pub(super) async fn renew(client: &Client, node: &Node, epoch: i64) -> Result<Renewal, Error> {
    let mut values = values(node);
    values.push((Box::new(epoch), Type::INT8));
    let row = client.query_typed_one(RENEW, &borrowed(&values)).await?;
    Ok(Renewal { stands: row.try_get(0)?, is_doubled: row.try_get(1)? })
}

/// Another session writes for the same epoch; whether the lease was still its.
pub(super) async fn move_session(client: &Client, node: &Node, epoch: i64) -> Result<bool, Error> {
    Ok(client.execute_typed(MOVE, &[(&epoch, Type::INT8), (&node.name, Type::TEXT)]).await? > 0)
}

/// Ends the lease of an epoch: nobody needs to wait for it.
pub(super) async fn leave(client: &Client, epoch: i64) -> Result<(), Error> {
    client.execute_typed(LEAVE, &[(&epoch, Type::INT8)]).await.map(drop)
}

/// Tells the others of a gateway that waits: the number of its process, by which it is known from then on, and whether another one calls
/// itself the same.
pub(super) async fn wait(client: &Client, node: &Node, process: Option<i64>) -> Result<(i64, bool), Error> {
    let mut values = values(node);
    values.push((Box::new(process), Type::INT8));
    let row = client.query_typed_one(WAIT, &borrowed(&values)).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// The gateway that writes now.
pub(super) async fn look(client: &Client) -> Result<Held, Error> {
    let row = client.query_typed_one(LOOK, &[]).await?;
    let lease = match row.try_get::<_, Option<i64>>(0)? {
        None => None,
        Some(epoch) => Some(HeldLease { epoch, node: node_at(&row, 1)?, left: row.try_get(5)? }),
    };
    Ok(Held { lease, locked: row.try_get(6)?, by_holder: row.try_get(7)? })
}

/// The check value of the pepper that the rows were made with, if one is kept.
pub(super) async fn pepper(client: &Client) -> Result<Option<i64>, Error> {
    let row = client.query_typed_opt(PEPPER, &[]).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// Takes a lease that is over from its holder, and ends the session that writes for it.
pub(super) async fn end(client: &Client) -> Result<(), Error> {
    client.query_typed(END, &[]).await.map(drop)
}

/// Ends a session of this process that the server has not noticed the end of: it has the lock still.
pub(super) async fn end_session(client: &Client, session: i32) -> Result<(), Error> {
    client.query_typed(END_SESSION, &[(&session, Type::INT4)]).await.map(drop)
}

/// Whether the server does something for a session.
pub(super) async fn is_busy(client: &Client, session: i32) -> Result<bool, Error> {
    client.query_typed_one(IS_BUSY, &[(&session, Type::INT4)]).await?.try_get(0)
}

/// All gateways.
pub(super) async fn fleet(client: &Client) -> Result<Fleet, Error> {
    let milliseconds =
        |value: Option<i64>| Duration::from_millis(u64::try_from(value.unwrap_or(0)).unwrap_or(0));
    let home = client.query_typed_one(FLEET, &[]).await?;
    let mut fleet = Fleet {
        epoch: home.try_get(0)?,
        lease: milliseconds(home.try_get(1)?),
        at_work: home.try_get(2)?,
        nodes: Vec::new(),
    };
    for row in client.query_typed(NODES, &[]).await? {
        fleet.nodes.push(KnownNode {
            node: node_at(&row, 0)?,
            at_work: fleet.at_work && row.try_get::<_, Option<bool>>(4)?.unwrap_or(false),
            seen: milliseconds(row.try_get(5)?),
            is_doubled: row.try_get(6)?,
        });
    }
    Ok(fleet)
}

/// The columns from that one on.
fn node_at(row: &Row, first: usize) -> Result<Node, Error> {
    Ok(Node {
        name: row.try_get(first)?,
        address: row.try_get(first + 1)?,
        version: row.try_get(first + 2)?,
        configuration: row.try_get(first + 3)?,
    })
}

/// `$1` to `$4` of the statements.
fn values(node: &Node) -> Vec<Value<'_>> {
    vec![
        (Box::new(&node.name), Type::TEXT),
        (Box::new(&node.address), Type::TEXT),
        (Box::new(&node.version), Type::TEXT),
        (Box::new(&node.configuration), Type::TEXT),
    ]
}
