//! The calls of the `bulk` interface.

use gatehouse_guest::Guest;
use gatehouse_model::{Call, Context, Reply};
use wasmtime::Store;

use super::answers::Read as _;
use super::contract::bindings::gatehouse::family::upstream;
use super::convert::Convert as _;
use super::exports::{BulkExports, Family, missing};
use super::lower;

/// `bulk.merge`.
pub(crate) fn merge(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    key: &str,
    items: &[String],
) -> wasmtime::Result<Call> {
    let call: upstream::Call =
        family.call(store, exports(family)?.merge, (&lower::context(cx), key, items))?;
    Ok(call.read()?)
}

/// `bulk.split`.
pub(crate) fn split(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    key: &str,
    items: &[String],
    reply: Reply,
) -> wasmtime::Result<Vec<Option<Reply>>> {
    let reply: upstream::Reply = reply.convert();
    let replies: Vec<Option<upstream::Reply>> =
        family.call(store, exports(family)?.split, (&lower::context(cx), key, items, &reply))?;
    Ok(replies.read()?)
}

fn exports(family: &Family) -> wasmtime::Result<BulkExports> {
    family.exports.bulk.ok_or_else(|| missing("bulk"))
}
