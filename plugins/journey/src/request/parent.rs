//! The task that a request follows up: completed, of this family, and with something the follow-up can use. The host has
//! already checked that it is the customer's own.

use gatehouse_sdk::{Affinity, Facts, Refusal, Status, Submission};

use crate::billing::MODEL;
use crate::record::{Button, Completed, Kind, Record};
use crate::request::fields::Fields;
use crate::version::Version;

/// A completed task of this family.
pub(crate) struct Before {
    /// The provider's id.
    pub(crate) id: String,
    pub(crate) version: Option<Version>,
    pub(crate) prompt: String,
    pub(crate) result: Completed,
    pub(crate) account: Option<Affinity>,
    media: Vec<Facts>,
}

/// The field that names it.
pub(crate) const FIELD: &str = "task_id";

pub(crate) fn invalid(problem: impl AsRef<str>) -> Refusal {
    Refusal::invalid(FIELD, problem)
}

impl Before {
    /// The parent of a request whose `task_id` is a text.
    pub(crate) fn read(request: &Submission) -> Result<Self, Refusal> {
        let Some(parent) = request.parent() else {
            return Err(invalid("expected the id of a completed task, got an empty string"));
        };
        if parent.family != MODEL {
            return Err(invalid(format!("expected a journey task, got one of the model {}", parent.model)));
        }
        if parent.status != Status::Completed {
            let status = parent.status.as_str();
            return Err(invalid(format!("expected a completed task, got one that is {status}")));
        }
        let record = Record::of(parent);
        let Some(Record { id: Some(id), result: Some(result), version, prompt, .. }) = record else {
            return Err(invalid("expected a task that can be followed up, got one without a result"));
        };
        let (account, media) = (parent.affinity.clone(), parent.media.clone());
        Ok(Self { id, version, prompt, result, account, media })
    }

    /// Refuses a parent of another kind.
    pub(crate) fn expect_kind(&self, kinds: &[Kind], expected: &str) -> Result<(), Refusal> {
        if kinds.contains(&self.result.kind) {
            return Ok(());
        }
        Err(invalid(format!("expected {expected}, got {}", self.result.kind.words())))
    }

    /// The button for a follow-up.
    pub(crate) fn button(&self, prefix: &str, what: &str) -> Result<&Button, Refusal> {
        self.result.button(prefix).ok_or_else(|| invalid(lacks_button(self.version, what)))
    }

    /// The button of that id; it must be one of the parent's, and for this route.
    pub(crate) fn button_of_id(&self, fields: &Fields, id: &str, leads: &[&str]) -> Result<&Button, Refusal> {
        let refuse = |problem: String| Refusal::invalid(fields.written("custom_id"), problem);
        let Some(button) = self.result.buttons.iter().find(|button| button.custom_id == id) else {
            return Err(refuse(format!("expected a button of the task, got the string {:?}", shortened(id))));
        };
        if leads.iter().any(|lead| id.starts_with(lead)) {
            return Ok(button);
        }
        let expected: Vec<_> = leads.iter().map(|lead| format!("`{lead}...`")).collect();
        Err(refuse(format!(
            "expected a button for this route ({}), got the string {:?}",
            expected.join(", "),
            shortened(id)
        )))
    }

    /// One of its pictures as a file of the new task, counted from 0.
    pub(crate) fn picture(&self, index: usize) -> Result<&Facts, Refusal> {
        // A result whose link has ended is left out, and the others would move up.
        let all = self.result.count + usize::from(self.result.has_grid);
        match self.media.get(index).filter(|_| self.media.len() == all) {
            Some(facts) if facts.blob.is_some() => Ok(facts),
            _ => {
                Err(invalid("expected a task whose pictures are still kept, got one whose links have ended"))
            }
        }
    }

    /// The pixels of its only picture, as far as known.
    pub(crate) fn pixels(&self) -> Option<(u32, u32)> {
        let facts = self.media.first().filter(|_| self.result.kind == Kind::Single)?;
        facts.width.zip(facts.height)
    }
}

/// What a client reads when a task has no button for what it wants.
pub(crate) fn lacks_button(version: Option<Version>, what: &str) -> String {
    let version = version.map_or("its version", Version::name);
    format!("expected a task with the button for {what}, which {version} does not offer for this one")
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
