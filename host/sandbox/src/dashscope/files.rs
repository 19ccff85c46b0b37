//! The listener of the store: result files behind signed links that expire.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

use crate::common::faults::Target;
use crate::common::server::{HandlerResult, reply, truncated, with, xml};
use crate::dashscope::faults::Marker;
use crate::dashscope::provider::Provider;
use crate::dashscope::signature;

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
        Some(Marker::WrongType) => {
            return Ok(reply(200, "text/html", "<html><body>Sign in to continue</body></html>\n"));
        }
        _ => {}
    }
    let Ok(file) = tokio::task::spawn_blocking(move || film.mp4()).await else {
        return Ok(xml(500, "InternalError"));
    };
    if fault.is_some() {
        return Ok(truncated("video/mp4", &file.into()));
    }
    if request.method() == Method::GET
        && let Some(task) = provider.table().task(&id)
    {
        task.record.deliveries = task.record.deliveries.saturating_add(1);
    }
    Ok(reply(200, "video/mp4", file))
}

/// The task of a path, its film, and the fault of this download.
fn find(provider: &Provider, path: &str) -> Option<(String, gatehouse_sandbox_files::Film, Option<Marker>)> {
    let id = path.strip_prefix('/')?.strip_suffix(".mp4")?;
    let mut tasks = provider.table();
    let task = tasks.task(id)?;
    let earlier = task.downloads;
    task.downloads = earlier.saturating_add(1);
    Some((id.to_owned(), task.film, task.faults.at_after(Target::File, earlier)))
}
