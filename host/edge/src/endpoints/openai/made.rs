//! A task that its client waits for: submitted, awaited, and its end as an answer or an error in OpenAI's words. Files inside of
//! JSON are read and encoded piece by piece, so that a request holds no picture whole.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use gatehouse_driver::{DryRun, Receipt, SubmitRequest};
use gatehouse_model::{FailureKind, Key, Media, Status, Task};
use http::{HeaderValue, Response};
use serde_json::Value;

use crate::config::seconds;
use crate::endpoints::openai::fields::Fields;
use crate::endpoints::{jobs, tasks};
use crate::errors::{Kind, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::response::ResponseBody;

/// What became of a submission.
pub(super) enum Submitted {
    Task(Receipt),
    DryRun(DryRun),
}

/// Submits a request in OpenAI's shape. What the family refuses is told in the client's names of fields.
pub(super) async fn submit(
    request: &EndpointRequest<'_>,
    key: &Arc<Key>,
    surface: &'static str,
    mut fields: Fields,
) -> Result<Submitted, Refusal> {
    let (backend, body) = (&request.context.backend, fields.body().await?);
    let idempotency = jobs::idempotency(&request.parts.headers)?;
    let (key, report) = (Arc::clone(key), request.report.clone());
    let only_asks = body.is_dry_run();
    let job = SubmitRequest { key, surface, parent: None, body, idempotency, report };
    let submitted = match only_asks {
        true => backend.dry_run(job).await.map(Submitted::DryRun),
        false => backend.submit(job).await.map(Submitted::Task),
    };
    submitted.map_err(|error| jobs::submit_refusal(fields.in_clients_names(error)))
}

/// The task once it has completed, if it does within the time that a client waits. It goes on without its client, which a
/// refusal tells the task's id.
pub(super) async fn completed(context: &EdgeContext, key: &Key, receipt: Receipt) -> Result<Task, Refusal> {
    let ended = ended(context, key, receipt).await;
    ended.map_err(|refusal| jobs::of_task(refusal, receipt.task))
}

async fn ended(context: &EdgeContext, key: &Key, receipt: Receipt) -> Result<Task, Refusal> {
    let limit = seconds(context.config.limits.task_wait_seconds);
    let mut task = tasks::of_receipt(context.backend.task_when_over(key, receipt.task, limit).await)?;
    if let Some(failure) = task.failure.take().filter(|_| task.status == Status::Failed) {
        return Err(Refusal::new(kind(failure.kind), failure.message));
    }
    if task.status == Status::Completed {
        return Ok(task);
    }
    let id = task.id;
    let message = format!(
        "task {id} is still at work after {} seconds: it goes on, and GET /v1/tasks/{id} has its result; the same \
         request again would make another one",
        limit.as_secs()
    );
    Err(Refusal::new(Kind::StillRunning, message))
}

/// The error that a failed task is for a client that waits for it.
fn kind(failure: FailureKind) -> Kind {
    match failure {
        FailureKind::Request => Kind::Invalid,
        FailureKind::Moderation => Kind::Moderated,
        FailureKind::Upstream => Kind::BadGateway,
        FailureKind::Timeout => Kind::UpstreamTimeout,
        FailureKind::Cancelled => Kind::Conflict,
        FailureKind::Limit => Kind::RateLimited,
        FailureKind::Internal => Kind::Internal,
    }
}

/// Names the task in an answer.
pub(super) fn name_task(response: &mut Response<ResponseBody>, receipt: Receipt) {
    let id = HeaderValue::from_str(&receipt.task.to_string()).expect("an id is ASCII letters and digits");
    response.headers_mut().insert(jobs::TASK, id);
    jobs::mark_replayed(response, receipt.repeated);
}

/// The files of a result's list, such as `images`: what `url` of each of its elements lists.
pub(super) fn files_of<'t>(task: &'t Task, list: &str) -> Vec<&'t Media> {
    let result: Value = serde_json::from_slice(&task.public).unwrap_or_default();
    let number = |link: &Value| link.as_str()?.strip_prefix("media:")?.parse::<usize>().ok();
    links_of(&result, list).into_iter().filter_map(|link| task.media.get(number(link)?)).collect()
}

/// The links of a result's list.
pub(super) fn links_of<'v>(result: &'v Value, list: &str) -> Vec<&'v Value> {
    let elements = result.get(list).and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(|element| element.get("url")?.as_array()).flatten().collect()
}

/// The bytes of a file, in pieces.
type Pieces = BoxStream<'static, io::Result<Bytes>>;

/// A body that is made of texts and of files.
#[derive(Default)]
pub(super) struct Encoded {
    parts: Vec<Pieces>,
    bytes: u64,
}

impl Encoded {
    /// Adds a text as it is.
    pub(super) fn text(&mut self, text: impl Into<Bytes>) {
        let text = text.into();
        self.bytes += text.len() as u64;
        self.parts.push(stream::iter([Ok(text)]).boxed());
    }

    /// Adds a file of that many bytes.
    pub(super) fn file(&mut self, length: u64, pieces: Pieces) {
        self.bytes += length.div_ceil(3) * 4;
        self.parts.push(base64_of(pieces));
    }

    /// The pieces, and the bytes that they have in all.
    pub(super) fn into_pieces(self) -> (Pieces, u64) {
        (stream::iter(self.parts).flatten().boxed(), self.bytes)
    }
}

/// Each piece encoded, but for the bytes that the next one completes.
fn base64_of(pieces: Pieces) -> Pieces {
    let encoded = stream::try_unfold(Some((pieces, Vec::new())), |state| async move {
        let Some((mut pieces, mut left)) = state else { return Ok::<_, io::Error>(None) };
        let Some(piece) = pieces.try_next().await? else {
            return Ok(Some((Bytes::from(STANDARD.encode(&left)), None)));
        };
        left.extend_from_slice(&piece);
        let rest = left.split_off(left.len() / 3 * 3);
        Ok(Some((Bytes::from(STANDARD.encode(&left)), Some((pieces, rest)))))
    });
    encoded.try_filter(|piece| std::future::ready(!piece.is_empty())).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a picture is broken where one piece of it ends, or the length of the answer is wrong.
    #[tokio::test]
    async fn pieces_of_any_length_are_one_text() {
        let file: Vec<u8> = (0..=255).collect();
        for length in [1, 2, 3, 4, 7, 64, 256] {
            for total in [0, 1, 2, 3, 100, 256] {
                let file = &file[..total];
                let pieces: Vec<_> =
                    file.chunks(length).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
                let mut encoded = Encoded::default();
                encoded.text("<");
                encoded.file(total as u64, stream::iter(pieces).boxed());
                encoded.text(">");
                let (pieces, bytes) = encoded.into_pieces();
                let all: Vec<Bytes> = pieces.try_collect().await.unwrap();
                let expected = format!("<{}>", STANDARD.encode(file));
                assert_eq!((all.concat(), bytes), (expected.clone().into_bytes(), expected.len() as u64));
            }
        }
    }
}
