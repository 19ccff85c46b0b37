//! A checked request: what goes to the provider, with every default of the specification written out. Part of the task's
//! state until the provider has accepted it.

mod motion26;
mod motion27;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use gatehouse_sdk::job::check_request;
use gatehouse_sdk::params::came;
use gatehouse_sdk::{Charge, Failure, Finding, InvalidParam, Submission};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::media_rules::Check;

/// The spec's default for both models.
const SECONDS: i64 = 5;
/// The usual duration of a task: the provider says one to five minutes.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(150);

/// The two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Model {
    #[serde(rename = "motion-2.6")]
    Motion26,
    #[serde(rename = "motion-2.7")]
    Motion27,
}

impl Model {
    /// The id clients use, which is its price key too.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Motion26 => "motion-2.6",
            Self::Motion27 => "motion-2.7",
        }
    }
}

/// What a video is made from. The provider has a model for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Text,
    Image,
    Effects,
}

/// As in the keys of the settings.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoRequest {
    pub(crate) model: Model,
    pub(crate) mode: Mode,
    pub(crate) input: Map<String, Value>,
    pub(crate) parameters: Map<String, Value>,
    /// Of the whole video; the most it may have, as long as it follows from a video that has not been looked at.
    pub(crate) seconds: u32,
    /// Whether it is 1080 pixels high, for the price.
    is_1080: bool,
    /// What must be looked at first.
    pub(crate) check: Option<Check>,
}

/// The price keys and the seconds of a video whose length follows from the one that it continues.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaterCharge {
    pub(crate) keys: Vec<String>,
    pub(crate) seconds: u32,
}

impl VideoRequest {
    /// Reads a request's body.
    pub(crate) fn read(request: &Submission) -> Result<Self, InvalidParam> {
        let body = &request.body;
        if !body.is_object() {
            return Err(InvalidParam::at(None, format!("expected a JSON object, got {}", came(Some(body)))));
        }
        let video = match Model::deserialize(&body["model"]) {
            Ok(Model::Motion26) => motion26::request(body, &request.blobs)?,
            Ok(Model::Motion27) => motion27::request(body, &request.blobs)?,
            Err(_) => {
                let problem =
                    format!("expected `motion-2.6` or `motion-2.7`, got {}", came(body.get("model")));
                return Err(InvalidParam::at(Some("model"), problem));
            }
        };
        check_request(&video).map(|()| video)
    }

    /// Billed per second and resolution (spec); the resolution's own price is the operator's choice.
    pub(crate) fn charge(&self) -> Charge {
        let model = self.model.id();
        let resolution = if self.is_1080 { "1080p" } else { "720p" };
        Charge::keys([format!("{model}@{resolution}"), model.to_owned()]).times(self.seconds.into())
    }

    /// What it costs, where less was found out than was held.
    pub(crate) fn later_charge(&self) -> Option<LaterCharge> {
        self.check.as_ref().filter(|check| check.seconds.is_none())?;
        Some(LaterCharge { keys: self.charge().lines.remove(0).keys, seconds: self.seconds })
    }

    /// What the host found at the source that has a rule.
    pub(crate) fn settle(&mut self, finding: &Finding) -> Result<(), Failure> {
        let Some(check) = &self.check else { return Ok(()) };
        if let Some(seconds) = check.settle(finding)? {
            self.seconds = seconds;
            put(&mut self.parameters, "duration", Some(seconds));
        }
        Ok(())
    }
}

/// Writes the fields that are there.
fn put(object: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.into());
    }
}

/// The same without fields that the spec ignores there, whatever stands in them.
fn without<'b>(body: &'b Value, ignored: &[&str]) -> Cow<'b, Value> {
    let mut body = Cow::Borrowed(body);
    if !ignored.is_empty()
        && let Some(fields) = body.to_mut().as_object_mut()
    {
        ignored.iter().for_each(|field| drop(fields.remove(*field)));
    }
    body
}

/// A rule's range says that it fits.
fn whole_seconds(duration: Option<i64>) -> u32 {
    u32::try_from(duration.unwrap_or(SECONDS)).unwrap_or(u32::MAX)
}

/// A prompt where there is nothing else to make a video from.
fn needed(prompt: Option<&str>) -> Result<(), InvalidParam> {
    if prompt.is_some_and(|prompt| !prompt.trim().is_empty()) {
        return Ok(());
    }
    let came = came(prompt.map(|prompt| json!(prompt)).as_ref());
    Err(InvalidParam::at(Some("prompt"), format!("expected a text that is not blank, got {came}")))
}

/// A field that must not be there because of another one.
fn conflict(field: &str, other: &str, value: &Value) -> InvalidParam {
    let problem = format!("expected nothing together with `{other}`, got {}", came(Some(value)));
    InvalidParam::at(Some(field), problem)
}

/// The same for a list.
fn list_conflict(field: &str, other: &str, length: usize) -> InvalidParam {
    conflict(field, other, &json!(vec![Value::Null; length]))
}
