//! The listener of the store: result files behind signed links that expire.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{HandlerResult, SIGN_IN_PAGE, reply, truncated, with, xml};
use crate::dashscope::faults::Marker;
use crate::dashscope::provider::Provider;
use crate::dashscope::signature;
use gatehouse_sandbox_files::Film;

/// The files listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(with(xml(405, "MethodNotAllowed"), "allow", "GET, HEAD"));
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    if !signature::opens(&provider.key, path, query, provider.now()) {
        return Ok(xml(403, "AccessDenied"));
    }
    let Some((id, film, fault)) = find(&provider, path) else { return Ok(xml(404, "NoSuchKey")) };
    match fault {
        Some(Marker::FileUnavailable) => return Ok(xml(503, "ServiceUnavailable")),
        Some(Marker::WrongType) => return Ok(reply(200, "text/html", SIGN_IN_PAGE)),
        _ => {}
    }
    let Ok(file) = tokio::task::spawn_blocking(move || film.mp4()).await else {
        return Ok(xml(500, "InternalError"));
    };
    if fault.is_some() {
        return Ok(truncated("video/mp4", &file.into()));
    }
    if request.method() == Method::GET
        && let Some(task) = provider.table().tasks.get_mut(&id)
    {
        task.record.deliveries = task.record.deliveries.saturating_add(1);
    }
    Ok(reply(200, "video/mp4", file))
}

/// The task of a path, its film, and the fault of this download.
fn find(provider: &Provider, path: &str) -> Option<(String, Film, Option<Marker>)> {
    let id = path.strip_prefix('/')?.strip_suffix(".mp4")?;
    let mut table = provider.table();
    let task = table.tasks.get_mut(id)?;
    Some((id.to_owned(), task.film, task.faults.at_after(Target::File, count(&mut task.downloads))))
}
