//! `videos.create`, `list`, `retrieve`, `delete` and `download_content`: video tasks as OpenAI's clients read them. A video's id is
//! that of its task.

use std::sync::Arc;

use gatehouse_driver::TaskFilter;
use gatehouse_model::{FailureKind, FormTypes, Key, Media, Status, Task, TaskFailure, TaskId, UnixMs, view};
use serde::Serialize;

use crate::backend::store_refusal;
use crate::endpoints::openai::fields::Fields;
use crate::endpoints::openai::images;
use crate::endpoints::openai::made::{self, Submitted};
use crate::endpoints::{dry_run, jobs, media, tasks};
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::EndpointRequest;
use crate::http::query::{Query, quoted};
use crate::response;

/// The families' surface, and what the names of all surfaces of videos begin with.
const SURFACE: &str = "videos.generate";
const SURFACES: &str = "videos.";
/// Names that families have for the first picture, for a ratio and for a length.
const PICTURES: [&str; 4] = ["first_frame_image", "image_urls", "image_url", "image"];
const RATIOS: [&str; 2] = ["aspect_ratio", "size"];
const LENGTHS: [&str; 1] = ["duration"];
/// Tasks that one look at the store reads, and the looks for one page: other tasks stand between the videos. A page without a
/// video would end its client's list, so that the first one is looked for ten times as far.
const BATCH: usize = 100;
const MAX_BATCHES: usize = 20;
const MAX_BATCHES_TO_FIRST: usize = 10 * MAX_BATCHES;

view! {
    /// OpenAI's video.
    #[derive(Serialize)]
    struct Video of (task: Task) where {
        let expires = task.media.iter().map(|media| media.expires).min();
        let failure = task.failure.filter(|_| task.status == Status::Failed);
    } {
        id: TaskId = task.id,
        object: &'static str = "video",
        model: String = task.model,
        status: &'static str = status(task.status),
        progress: u8 = task.progress,
        created_at: u64 = task.created.seconds(),
        completed_at: Option<u64> = task.finished.map(UnixMs::seconds),
        expires_at: Option<u64> = expires.map(UnixMs::seconds),
        error: Option<VideoError> = failure.map(VideoError::from),
    }
}

view! {
    #[derive(Serialize)]
    struct VideoError of (failure: TaskFailure) {
        code: &'static str = code(failure.kind),
        message: String = failure.message,
    }
}

#[derive(Serialize)]
struct Page {
    object: &'static str,
    data: Vec<Video>,
    has_more: bool,
    first_id: Option<TaskId>,
    last_id: Option<TaskId>,
}

#[derive(Serialize)]
struct Deleted {
    id: TaskId,
    object: &'static str,
    deleted: bool,
}

/// OpenAI's word for a status.
fn status(status: Status) -> &'static str {
    match status {
        Status::Submitted | Status::Pending => "queued",
        Status::Processing => "in_progress",
        Status::Completed => "completed",
        Status::Failed => "failed",
    }
}

fn code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Request => "invalid_request",
        FailureKind::Moderation => "moderation_blocked",
        FailureKind::Upstream => "upstream_error",
        FailureKind::Timeout => "timeout",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Limit => "rate_limit_exceeded",
        FailureKind::Internal => "server_error",
    }
}

/// Makes a video.
pub(in crate::endpoints) async fn create(mut request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let context = request.context;
    let mut fields = Fields::read(&mut request, &key, SURFACE, Some(&FormTypes::default())).await?;
    translate(&mut fields)?;
    let receipt = match made::submit(&request, &key, SURFACE, fields).await? {
        Submitted::Task(receipt) => receipt,
        Submitted::DryRun(found) => return Ok(dry_run::answer(found, false)),
    };
    let wait = tasks::preferred_wait(&request.parts.headers);
    // The task has what it needs; the wait for it holds no part of the budget.
    drop(request.body.while_streamed());
    let task = tasks::when_over(context, &key, receipt.task, wait).await;
    let task = tasks::of_receipt(task).map_err(|refusal| jobs::of_task(refusal, receipt.task))?;
    let mut response = response::json(&Video::from(task));
    made::name_task(&mut response, receipt);
    tasks::applied(&mut response, wait);
    Ok(response)
}

/// Has the fields of the family, of those that the client sent.
fn translate(fields: &mut Fields) -> Result<(), Refusal> {
    const SECONDS: &str = "seconds";
    if let Some(value) = fields.take(SECONDS) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let whole: Option<u32> = text.parse().ok();
        let seconds = whole.ok_or_else(|| {
            let message = format!("{SECONDS}: expected a whole number such as \"8\", got {}", quoted(&text));
            Refusal::field(SECONDS, message)
        })?;
        fields.rename(SECONDS, &seconds.into(), &LENGTHS)?;
    }
    fields.translate_size(&RATIOS)?;
    if let Some(picture) = fields.take("input_reference") {
        let link = images::link_of(picture, "input_reference")?;
        fields.give_pictures("input_reference", vec![link], &PICTURES)?;
    }
    Ok(())
}

/// A page of the caller's videos, newest first.
pub(in crate::endpoints) async fn list(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let query = Query::parse(request.parts.uri.query());
    let limit = query.page_limit()?;
    query.read("order", "desc, as the newest come first", |text| (text == "desc").then_some(()))?;
    let mut after: Option<TaskId> = query.parsed("after", "the id of a video")?;
    let (mut found, mut has_more): (Vec<Task>, bool) = (Vec::new(), true);
    for looks in 1.. {
        let filter = TaskFilter { after, limit: BATCH, ..TaskFilter::default() };
        let page = request.context.backend.tasks(key, &filter).await.map_err(store_refusal)?;
        after = page.tasks.last().map(|task| task.id);
        has_more = page.more;
        for task in page.tasks.into_iter().filter(is_video) {
            if found.len() <= limit
                && !request.context.backend.is_result_deleted(&task).await.map_err(media::refusal)?
            {
                found.push(task);
            }
        }
        let most_looks = if found.is_empty() { MAX_BATCHES_TO_FIRST } else { MAX_BATCHES };
        let is_enough = found.len() > limit || looks >= most_looks;
        if is_enough || !has_more || after.is_none() {
            break;
        }
    }
    has_more |= found.len() > limit;
    found.truncate(limit);
    let data: Vec<Video> = found.into_iter().map(Video::from).collect();
    let first_id = data.first().map(|video| video.id);
    // A page that found nothing yet says where the next one goes on.
    let last_id = data.last().map(|video| video.id).or_else(|| after.filter(|_| has_more));
    Ok(response::json(&Page { object: "list", data, has_more, first_id, last_id }))
}

/// One video.
pub(in crate::endpoints) async fn read(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    Ok(response::json(&Video::from(find(request, key).await?)))
}

/// The file of a video that has completed, or a part of it.
pub(in crate::endpoints) async fn content(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let query = Query::parse(request.parts.uri.query());
    query.read("variant", "video, which is all there is", |text| (text == "video").then_some(()))?;
    let task = find(request, key).await?;
    if task.status != Status::Completed {
        let message =
            format!("video {} is {}: only a completed one has a file", task.id, status(task.status));
        return Err(Refusal::new(Kind::Conflict, message));
    }
    let gone = || Refusal::new(Kind::NotFound, format!("the file of video {} is no longer kept", task.id));
    let film: &Media = made::files_of(&task, "videos").into_iter().next().ok_or_else(gone)?;
    let headers = &request.parts.headers;
    let tag = format!("\"{}\"", film.id);
    let range = media::range(headers, &tag);
    let file = request.context.backend.result_file(film, range).await;
    let file = file.map_err(|refusal| media::result_refusal(refusal, gone))?;
    Ok(media::respond(file, &task.id.to_string(), &tag, headers, request.context.clock.now()))
}

/// Deletes the files of a video that has completed. The task stays, as what was paid for.
pub(in crate::endpoints) async fn delete(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let task = find(request, key).await?;
    if task.status != Status::Completed {
        let id = task.id;
        let message = match task.status {
            Status::Failed => format!("video {id} has failed: it has no file to delete"),
            _ => format!("video {id} is in progress: POST /v1/tasks/{id}/cancel ends it"),
        };
        return Err(Refusal::new(Kind::Conflict, message));
    }
    request.context.backend.delete_result(&task).await.map_err(media::refusal)?;
    Ok(response::json(&Deleted { id: task.id, object: "video.deleted", deleted: true }))
}

/// The caller's video of that id. A task that makes something else does not count, nor does a deleted video.
async fn find(request: &EndpointRequest<'_>, key: &Key) -> Result<Task, Refusal> {
    let (backend, id) = (&request.context.backend, request.param);
    let unknown = || Refusal::new(Kind::NotFound, format!("unknown video {}", quoted(id)));
    let task = backend.task(key, id.parse().map_err(|_| unknown())?).await.map_err(store_refusal)?;
    let task = task.filter(is_video).ok_or_else(unknown)?;
    let is_deleted = backend.is_result_deleted(&task).await.map_err(media::refusal)?;
    if is_deleted { Err(unknown()) } else { Ok(task) }
}

fn is_video(task: &Task) -> bool {
    task.surface.starts_with(SURFACES)
}
