//! The modal route: the prompt and the picture that finish an inpaint task, which it joins. Its brief is what the waiting
//! task gets.

use garde::Validate;
use gatehouse_sdk::{Accepted, InvalidParam, Refusal, Status as TaskStatus, Submission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::{Action, Speed};
use crate::billing::{self, MODEL};
use crate::job::ModalRequest;
use crate::record::{Record, Status};
use crate::request::engine;
use crate::request::fields::Fields;
use crate::request::parent::{invalid, status};
use crate::request::pictures::input;
use crate::request::rules;

/// The last step of an inpaint task.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct ModalParams {
    /// The inpaint task, which waits in MODAL.
    #[garde(skip)]
    #[serde(rename = "task_id")]
    _task_id: String,
    /// What to paint; the parent's prompt if there is none.
    #[garde(skip)]
    prompt: Option<String>,
    /// Where to paint: a PNG of the picture's own size, white where it is painted again. URL, `data:` URI or base64.
    #[garde(skip)]
    mask_url: Option<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    speed: Option<Speed>,
}

pub(crate) fn submit<S>(fields: &Fields, request: &Submission) -> Result<Accepted<S>, Refusal> {
    let params: ModalParams = fields.params()?;
    let prompt = params.prompt.as_deref().unwrap_or_default().trim();
    let arguments = engine::of_prompt(prompt, params.speed).map_err(|invalid| fields.invalid(invalid))?;
    let record = waiting(request)?;
    let source = params.mask_url.as_deref();
    let area = source.map(|source| input(fields, "mask_url", source, &request.blobs)).transpose()?;
    if let (Some(area), Some(picture)) = (&area, record.picture) {
        let known = request.blobs.iter().find(|facts| facts.blob.as_deref() == Some(&area.source));
        if let Some(facts) = known {
            check_area(&facts.mime, (facts.width, facts.height), picture)
                .map_err(|problem| InvalidParam::at(Some(&area.field), problem))?;
        }
    }
    let modal = ModalRequest { prompt: arguments.prompt, area, speed: arguments.speed };
    let charge = billing::charge(Action::Modal, record.version, modal.speed);
    rules::check_size(&modal)?;
    let brief = serde_json::to_vec(&modal).unwrap_or_default();
    Ok(Accepted::joining(MODEL, charge).brief(brief))
}

/// The record of a task that waits for this route.
fn waiting(request: &Submission) -> Result<Record, Refusal> {
    let expected = "expected an inpaint task that waits in MODAL";
    let Some(parent) = request.parent() else {
        return Err(invalid(format!("{expected}, got an empty string")));
    };
    let lives = !matches!(parent.status, TaskStatus::Completed | TaskStatus::Failed);
    match Record::of(parent).filter(|_| parent.family == MODEL) {
        Some(record) if record.status == Status::Modal && lives => {
            if parent.joining.is_empty() {
                return Ok(record);
            }
            let action = record.action.name();
            Err(invalid(format!("{expected}, got the task of {action}, whose modal request has come")))
        }
        Some(record) => {
            let action = record.action.name();
            Err(invalid(format!("{expected}, got the task of {action}, which is {}", status(parent))))
        }
        None => Err(invalid(format!("{expected}, got one that is {}", status(parent)))),
    }
}

/// The file that says where to paint: a PNG with the picture's own pixels.
pub(crate) fn check_area(
    mime: &str,
    (width, height): (Option<u32>, Option<u32>),
    picture: (u32, u32),
) -> Result<(), String> {
    if mime != "image/png" {
        return Err(format!("expected a PNG, got {mime}"));
    }
    match width.zip(height) {
        Some(size) if size != picture => Err(format!(
            "expected the picture's own size, {}x{} pixels, got {}x{}",
            picture.0, picture.1, size.0, size.1
        )),
        _ => Ok(()),
    }
}
