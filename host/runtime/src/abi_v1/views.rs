//! The call of the `views` interface.

use gatehouse_guest::Guest;
use gatehouse_model::{Context, Json, TaskView};
use wasmtime::Store;

use super::contract::bindings::exports::gatehouse::family::views as wit;
use super::convert::Convert as _;
use super::exports::{Family, missing};
use super::lower;

/// `views.view`.
pub(crate) fn view(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    surface: &str,
    view: TaskView,
) -> wasmtime::Result<Json> {
    let function = family.exports.view.ok_or_else(|| missing("views"))?;
    let view: wit::TaskView = view.convert();
    let json: String = family.call(store, function, (&lower::context(cx), surface, &view))?;
    Ok(json.into())
}
