//! The files' listener: pictures and films of finished tasks, previews of running ones.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use hyper::body::Incoming;

use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{HandlerResult, reply, truncated, with};
use crate::midjourney::engine::colour::rgb;
use crate::midjourney::faults::Marker;
use crate::midjourney::link::{opens, parts};
use crate::midjourney::provider::Provider;
use crate::midjourney::tasks::task::Task;
use gatehouse_sandbox_files::{Film, Sheet};

/// What is drawn for a path.
enum Drawing {
    Picture(Sheet),
    Film(Film),
}

impl Drawing {
    /// Its type and its bytes.
    fn draw(&self) -> Option<(&'static str, Bytes)> {
        match self {
            Self::Picture(sheet) => Some(("image/png", sheet.encode().ok()?.into())),
            Self::Film(film) => Some(("video/mp4", film.mp4().into())),
        }
    }
}

/// The files listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(with(reply(405, "text/plain", "GET or HEAD"), "allow", "GET, HEAD"));
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    if !opens(&provider.key, path, query, provider.now()) {
        return Ok(reply(404, "text/plain", "This content is no longer available."));
    }
    let Some((id, drawing, fault)) = find(&provider, path) else {
        return Ok(reply(404, "text/plain", "Not Found"));
    };
    match fault {
        Some(Marker::FileUnavailable) => {
            return Ok(reply(503, "text/html", "<html><h1>503</h1></html>\n"));
        }
        Some(Marker::WrongType) => {
            return Ok(reply(200, "text/html", "<html>Sign in to continue</html>\n"));
        }
        _ => {}
    }
    let drawn = tokio::task::spawn_blocking(move || drawing.draw()).await.ok().flatten();
    let Some((mime, file)) = drawn else { return Ok(reply(500, "text/plain", "")) };
    if fault == Some(Marker::Truncated) {
        return Ok(truncated(mime, &file));
    }
    if let Some(task) = provider.table().any(&id).filter(|_| request.method() == Method::GET) {
        task.record.deliveries = task.record.deliveries.saturating_add(1);
    }
    Ok(reply(200, mime, file))
}

/// The task of a path, what its file shows, and the fault of this download.
fn find(provider: &Provider, path: &str) -> Option<(String, Drawing, Option<Marker>)> {
    let (id, name) = parts(path)?;
    let mut tasks = provider.table();
    let task = tasks.any(id)?;
    let drawing = drawing(task, name)?;
    Some((id.to_owned(), drawing, task.faults.at_after(Target::File, count(&mut task.downloads))))
}

fn drawing(task: &Task, name: &str) -> Option<Drawing> {
    let (columns, _) = task.tiles();
    let size = task.record.size;
    let tiles = task.hues.iter().map(|hue| rgb(*hue)).zip(1..);
    if name == "picture.png" {
        return Some(Drawing::Picture(Sheet { size, columns, tiles: tiles.collect() }));
    }
    if name == "preview.png" {
        // Small and darker, as pictures are before they are finished.
        let dark = tiles.map(|(colour, number)| (colour.map(|channel| channel / 2), number)).collect();
        return Some(Drawing::Picture(Sheet { size: (size.0 / 4, size.1 / 4), columns, tiles: dark }));
    }
    let (stem, extension) = name.split_once('.')?;
    let (kind, number) = stem.split_once('_')?;
    let tile = tiles.into_iter().find(|(_, at)| number.parse() == Ok(*at))?;
    match (kind, extension) {
        ("tile", "png") => Some(Drawing::Picture(Sheet { size, columns: 1, tiles: vec![tile] })),
        ("video", "mp4") if task.video_type.is_some() => {
            let (width, height) = size;
            let milliseconds = task.milliseconds;
            Some(Drawing::Film(Film { width, height, milliseconds, sound: false, colour: tile.0 }))
        }
        _ => None,
    }
}
