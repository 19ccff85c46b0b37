//! The modal route: the prompt and the picture that finish an inpaint task, which it joins. Its brief is what the waiting
//! task gets.

use garde::Validate;
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Accepted, Facts, Refusal, Status as TaskStatus, Submission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::{Action, Speed};
use crate::billing::{self, MODEL};
use crate::job::{Input, ModalRequest};
use crate::record::{Record, Status};
use crate::request::engine;
use crate::request::fields::Fields;
use crate::request::parent::invalid;
use crate::request::pictures::{input, refuse};
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
    /// Where to paint: a picture that is white where it is painted again, scaled to the picture's own size. PNG, JPEG or
    /// WebP as URL, `data:` URI or base64.
    #[garde(skip)]
    mask_url: Option<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    #[schemars(extend("default" = "relax"))]
    speed: Option<Speed>,
}

pub(crate) fn submit<S>(fields: &Fields, request: &Submission) -> Result<Accepted<S>, Refusal> {
    let params: ModalParams = fields.params()?;
    let prompt = params.prompt.as_deref().unwrap_or_default().trim();
    let arguments = engine::of_prompt(prompt, params.speed).map_err(|invalid| fields.invalid(invalid))?;
    let record = waiting(request)?;
    let speed = speed(fields, &params, &record, arguments.speed)?;
    let area = params.mask_url.as_deref().map(|source| area(fields, source, &request.blobs)).transpose()?;
    let modal = ModalRequest { prompt: arguments.prompt, area, speed, picture: picture(request, &record) };
    let charge = billing::charge(Action::Modal, record.version, modal.speed);
    // The step is paid once: an earlier request has paid for it, and its file could not be used.
    let charge = if record.paid.is_some() { charge.times(0) } else { charge };
    rules::check_size(&modal)?;
    let brief = serde_json::to_vec(&modal).unwrap_or_default();
    Ok(Accepted::joining(MODEL, charge).brief(brief))
}

/// The speed of the step. Where an earlier request has paid for it, the speed of that one counts.
fn speed(fields: &Fields, params: &ModalParams, record: &Record, wanted: Speed) -> Result<Speed, Refusal> {
    match record.paid {
        Some(paid) if wanted != paid && (params.speed.is_some() || wanted != Speed::Relax) => {
            let problem = format!(
                "expected {}, the speed of the modal request that is already paid, got the string {:?}",
                paid.name(),
                wanted.name()
            );
            refuse(fields, "speed", problem)
        }
        Some(paid) => Ok(paid),
        None => Ok(wanted),
    }
}

/// The pixels of the picture that is painted: the parent's own, or the one that the waiting task shows.
fn picture(request: &Submission, record: &Record) -> Option<(u32, u32)> {
    let shown = || request.parent()?.media.first().and_then(|facts| facts.width.zip(facts.height));
    record.picture.or_else(shown)
}

/// The file that says where to paint. An embedded one is checked at once.
fn area(fields: &Fields, source: &str, blobs: &[Facts]) -> Result<Input, Refusal> {
    let area = input(fields, "mask_url", source, blobs)?;
    let refused = |problem: String| Refusal::invalid(&area.field, problem);
    if let Some(facts) = source::blob(&area.source, blobs) {
        scaled_to(facts, None).map_err(refused)?;
    }
    if let Some(Source::Embedded(file)) = Source::of(&area.source) {
        is_picture(&file.facts()).map_err(refused)?;
    }
    Ok(area)
}

const PICTURE: &str = "expected a PNG, JPEG or WebP picture";

fn is_picture(facts: &Facts) -> Result<(), String> {
    if ["image/png", "image/jpeg", "image/webp"].contains(&facts.mime.as_str()) {
        return Ok(());
    }
    Err(format!("{PICTURE}, got {}", facts.mime))
}

/// The pixels to which a file is scaled to fit the picture. It is written anew even where it has them: its PNG may have 16 bits,
/// transparency or an orientation, which a provider reads in ways of its own.
///
/// # Errors
/// It cannot be used; a sentence for the client.
pub(crate) fn scaled_to(facts: &Facts, picture: Option<(u32, u32)>) -> Result<(u32, u32), String> {
    is_picture(facts)?;
    let Some(own) = facts.width.zip(facts.height) else {
        return Err(format!("{PICTURE}, got one whose size cannot be read"));
    };
    Ok(picture.unwrap_or(own))
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
            let action = record.action;
            Err(invalid(format!("{expected}, got the task of {action}, whose modal request has come")))
        }
        Some(Record { action, .. }) => {
            Err(invalid(format!("{expected}, got the task of {action}, which is {}", parent.status.as_str())))
        }
        None => Err(invalid(format!("{expected}, got one that is {}", parent.status.as_str()))),
    }
}
