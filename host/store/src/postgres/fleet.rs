//! The gateways of one database, as its tables `lease` and `node` have them: who is at work, who waits, and how the one takes the place
//! of the other. All moments are those of the server.
//!
//! The one at work has the advisory lock by its session, and the lease by its renewals. The end of its session frees the lock; a
//! process that is stopped or cut off keeps it, so its session is ended once the lease is over.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::sql::{Value, borrowed};

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

macro_rules! keep_node {
    () => {
        "on conflict (name) do update set address = excluded.address, version = excluded.version, \
         configuration = excluded.configuration, standby = excluded.standby, seen = excluded.seen"
    };
}

const TAKE: &str = concat!(
    "with began as (update home set epoch = epoch + 1 where home = 0 returning epoch, batch), ",
    "known as (insert into node values ($1, $2, $3, $4, false, clock_timestamp()) ",
    keep_node!(),
    "), old as (delete from node where seen < clock_timestamp() - interval '1 day' and name <> $1), ",
    "held as (insert into lease select 0, epoch, $1, pg_backend_pid(), clock_timestamp() + interval '10 s' from began ",
    "on conflict (home) do update set epoch = excluded.epoch, node = excluded.node, session = excluded.session, ",
    "expires = excluded.expires) ",
    "select epoch, batch, pg_backend_pid() from began"
);
const RENEW: &str = concat!(
    "with renewed as (update lease set expires = clock_timestamp() + interval '10 s' where home = 0 and epoch = $5 returning home), ",
    "known as (insert into node select $1, $2, $3, $4, false, clock_timestamp() from renewed ",
    keep_node!(),
    ") select exists (select from renewed)"
);
const WAIT: &str =
    concat!("insert into node values ($1, $2, $3, $4, true, clock_timestamp()) ", keep_node!());
const MOVE: &str = "update lease set session = pg_backend_pid() where home = 0 and epoch = $1";
const LEAVE: &str = "update lease set expires = clock_timestamp() where home = 0 and epoch = $1";
const LOOK: &str = concat!(
    "select epoch, node, address, coalesce(version, ''), coalesce(configuration, ''), ",
    "(extract(epoch from expires - clock_timestamp()) * 1000)::bigint, exists (select from pg_locks where ",
    lock_held!(),
    ") from (values (0)) one left join lease on home = 0 left join node on name = node"
);
// The lease first, so that no renewal comes between; only the session that it is of, which is not any that has the lock for a moment.
const END: &str = concat!(
    "with taken as (update lease set epoch = 0 where home = 0 and expires < clock_timestamp() returning session) ",
    "select pg_terminate_backend(pid) from pg_locks join taken on pid = session where ",
    lock_held!()
);
const PEPPER: &str = "select value from meta where key = 'pepper-check'";
const FLEET: &str = concat!(
    "select home.epoch, (extract(epoch from expires - clock_timestamp()) * 1000)::bigint, exists (select from pg_locks where ",
    lock_held!(),
    ") from home left join lease on lease.home = home.home where home.home = 0"
);
const NODES: &str = "
    select name, address, version, configuration, not standby and node = name,
        (extract(epoch from clock_timestamp() - seen) * 1000)::bigint
    from node
    left join lease on home = 0
    where seen > clock_timestamp() - interval '1 day' and name <> ''
    order by name
    limit 100";

/// Begins to write, for the session that has the lock: epoch and batch of `home`, and the number of the session.
pub(super) async fn take(client: &Client, node: &Node) -> Result<(i64, i64, i32), Error> {
    let row = client.query_typed_one(TAKE, &borrowed(&values(node))).await?;
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}

/// Renews the lease of an epoch; whether it was still this one's.
pub(super) async fn renew(client: &Client, node: &Node, epoch: i64) -> Result<bool, Error> {
    let mut values = values(node);
    values.push((Box::new(epoch), Type::INT8));
    client.query_typed_one(RENEW, &borrowed(&values)).await?.try_get(0)
}

/// Another session writes for the same epoch; whether the lease was still its.
pub(super) async fn move_session(client: &Client, epoch: i64) -> Result<bool, Error> {
    Ok(client.execute_typed(MOVE, &[(&epoch, Type::INT8)]).await? > 0)
}

/// Ends the lease of an epoch: nobody needs to wait for it.
pub(super) async fn leave(client: &Client, epoch: i64) -> Result<(), Error> {
    client.execute_typed(LEAVE, &[(&epoch, Type::INT8)]).await.map(drop)
}

/// Tells the others of a gateway that waits.
pub(super) async fn wait(client: &Client, node: &Node) -> Result<(), Error> {
    client.execute_typed(WAIT, &borrowed(&values(node))).await.map(drop)
}

/// The gateway that writes now.
pub(super) async fn look(client: &Client) -> Result<Held, Error> {
    let row = client.query_typed_one(LOOK, &[]).await?;
    let lease = match row.try_get::<_, Option<i64>>(0)? {
        None => None,
        Some(epoch) => Some(HeldLease {
            epoch,
            node: Node {
                name: row.try_get(1)?,
                address: row.try_get(2)?,
                version: row.try_get(3)?,
                configuration: row.try_get(4)?,
            },
            left: row.try_get(5)?,
        }),
    };
    Ok(Held { lease, locked: row.try_get(6)? })
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
            node: Node {
                name: row.try_get(0)?,
                address: row.try_get(1)?,
                version: row.try_get(2)?,
                configuration: row.try_get(3)?,
            },
            at_work: fleet.at_work && row.try_get::<_, Option<bool>>(4)?.unwrap_or(false),
            seen: milliseconds(row.try_get(5)?),
        });
    }
    Ok(fleet)
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
