//! From a submission to an accepted job, by surface.

use gatehouse_sdk::{Accepted, Refusal, Submission};

use crate::action::Action;
use crate::billing::MODEL;
use crate::job::{Job, USUAL_DURATION};
use crate::request::fields::Fields;
use crate::request::{follow_up, modal, pictures, rules, video};
use crate::state::State;

pub(crate) fn submit(request: &Submission) -> Result<Accepted<State>, Refusal> {
    let Some(action) = Action::of_surface(&request.surface) else {
        return Err(Refusal::NotFound(format!("no such route: {}", request.surface)));
    };
    let mut fields = Fields::read(&request.body)?;
    loop {
        let refusal = match judged(action, &fields, request) {
            Ok(accepted) => return Ok(accepted),
            Err(refusal) => refusal,
        };
        match &refusal {
            // A value of the client's note that is no argument is only a note.
            Refusal::Invalid { field: Some(field), .. } if fields.forget(field) => {}
            Refusal::Several(problems)
                if problems
                    .iter()
                    .filter_map(|problem| problem.field.as_deref())
                    .any(|field| fields.forget(field)) => {}
            _ => return with_fewer_notes(action, &fields, request).ok_or(refusal),
        }
    }
}

/// Judges the request again without one of the values that `metadata` added, each in turn, and then without all of them. `None`
/// where it is refused all the same: the refusal is about the request itself.
fn with_fewer_notes(action: Action, fields: &Fields, request: &Submission) -> Option<Accepted<State>> {
    let notes = fields.noted();
    let one_by_one = notes.iter().map(std::slice::from_ref);
    one_by_one.chain([notes.as_slice()]).filter(|left_out| !left_out.is_empty()).find_map(|left_out| {
        let mut fields = fields.clone();
        for written in left_out {
            fields.forget(written);
        }
        judged(action, &fields, request).ok()
    })
}

fn judged(action: Action, fields: &Fields, request: &Submission) -> Result<Accepted<State>, Refusal> {
    fields.known_media(action)?;
    let job = match action {
        Action::Imagine => pictures::imagine(fields, &request.blobs)?,
        Action::Blend => pictures::blend(fields, &request.blobs)?,
        Action::Describe => pictures::describe(fields, &request.blobs)?,
        Action::Edits => pictures::edits(fields, &request.blobs)?,
        Action::Video => video::video(fields, request)?,
        Action::RemixStrong | Action::RemixSubtle => follow_up::remix(action, fields, request)?,
        Action::Modal => return modal::submit(fields, request),
        _ => follow_up::press(action, fields, request)?,
    };
    let job = Job { note: fields.note(), ..job };
    rules::check_size(&job)?;
    Ok(Accepted::new(MODEL, job.charge(), State::Accepted(job)).expected(USUAL_DURATION))
}
