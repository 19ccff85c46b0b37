//! The end of a task: what the client reads, what is kept, and what it costs.

use gatehouse_sdk::Outcome;
use serde_json::json;

use crate::action::Action;
use crate::billing;
use crate::job::{Body, Job};
use crate::provider::result::Finished;
use crate::record::{Kind, Status};

/// The outcome; `confirmed` when a modal request finished the dialog.
pub(crate) fn outcome(job: &Job, id: &str, finished: Finished, confirmed: bool) -> Outcome {
    let Finished { completed, products, text } = finished;
    let links: Vec<_> = (0..completed.count).map(|number| format!("media:{number}")).collect();
    let mut public = json!({});
    let mut job = job.clone();
    match completed.kind {
        Kind::Text => {
            let text = text.unwrap_or_default();
            public["prompts"] = json!(prompts(&text));
            public["text"] = json!(text);
            // The client reads what is described where other tasks have their prompt.
            job.prompt = text;
        }
        Kind::Films => public["videos"] = json!([{"url": links, "expires_at": "expires:0"}]),
        Kind::Grid | Kind::Single => public["images"] = json!([{"url": links, "expires_at": "expires:0"}]),
    }
    if completed.has_grid {
        public["grid_image_url"] = json!(format!("media:{}", completed.count));
    }
    public["buttons"] = json!(completed.buttons);
    if !job.note.is_null() {
        public["metadata"] = job.note.clone();
    }
    let films = completed.count;
    let record = job.record(Status::Success, Some(id), Some(completed));
    let mut outcome = Outcome::new(public).private(record.to_value());
    outcome.products = products;
    if let Body::Video(film) = &job.body
        && let Ok(films) = u32::try_from(films)
        && films < film.batch_size
    {
        // Fewer films than were asked for cost less.
        return outcome.settle(billing::films(job.version, film.is_720p, films));
    }
    if confirmed && job.waits_for_client() && job.action != Action::Inpaint {
        // A zoom that the modal route finished has one charge: the one of the request that joined it.
        let charge = job.charge().times(0);
        return outcome.settle(charge);
    }
    outcome
}

/// The paragraphs of a description, without the keycap emoji of their numbers.
fn prompts(text: &str) -> Vec<String> {
    let bare = |paragraph: &str| {
        let numbered = paragraph.trim().trim_start_matches(|letter: char| letter.is_ascii_digit());
        let bare = numbered.trim_start_matches(['\u{fe0f}', '\u{20e3}']);
        // A number without a keycap belongs to the text.
        (if bare.len() == numbered.len() { paragraph } else { bare }).trim().to_owned()
    };
    text.split("\n\n").map(bare).filter(|paragraph| !paragraph.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_split_into_its_prompts() {
        let text = "1\u{fe0f}\u{20e3} a red kite --ar 1:1\n\n2\u{fe0f}\u{20e3} two kites\n\n3\u{20e3} 3 kites\n\n4 kites";
        assert_eq!(prompts(text), ["a red kite --ar 1:1", "two kites", "3 kites", "4 kites"]);
        assert_eq!(prompts(""), Vec::<String>::new());
    }
}
