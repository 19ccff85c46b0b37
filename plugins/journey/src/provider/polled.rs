//! The answer to a poll: what the record of the task says.

use gatehouse_sdk::job::{Polled, Standing};
use gatehouse_sdk::{Failure, Reply};
use serde::Deserialize as _;
use serde_json::Value;

use crate::job::Job;
use crate::provider::failure;
use crate::provider::result::{self, Finished};
use crate::provider::task::Task;
use crate::record::Status;

/// What a record says clearly.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// Not finished; the percentage when there is one.
    Running(Status, Option<u8>),
    /// It waits for a dialog.
    Modal,
    Finished(Box<Finished>),
}

pub(crate) fn polled(reply: &Reply, job: &Job) -> Polled<Answer> {
    match reply.status {
        200..=299 => {}
        404 => return Polled::Missing,
        429 => return Polled::Busy,
        401..=403 => return Polled::Failed(failure::of_status(reply)),
        status => return Polled::Faulty(format!("HTTP {status}")),
    }
    // Servers answer an unknown id with nothing, with `null`, or with an empty object.
    if reply.text().trim().is_empty() {
        return Polled::Missing;
    }
    let record = match reply.json::<Value>() {
        Ok(Value::Null) => return Polled::Missing,
        Ok(record @ Value::Object(_)) => record,
        // Some servers answer with a list of the one record.
        Ok(Value::Array(mut records)) if records.len() == 1 => records.remove(0),
        Ok(_) => return Polled::Faulty("the answer is no record of a task".to_owned()),
        Err(error) => return Polled::Faulty(error.to_string()),
    };
    match Task::deserialize(record) {
        Ok(task) => read(&task, job),
        Err(error) => Polled::Faulty(error.to_string()),
    }
}

fn read(task: &Task, job: &Job) -> Polled<Answer> {
    if task.is_envelope() || (!task.has_id() && task.status().is_empty()) {
        return Polled::Missing;
    }
    let word = task.status();
    match Standing::of(&word) {
        Standing::Done => match result::finished(task, job) {
            Ok(finished) => Polled::Clear(Answer::Finished(Box::new(finished))),
            Err(reason) => Polled::Faulty(reason),
        },
        Standing::Failed => Polled::Failed(failure::of_text(task.fail_reason())),
        Standing::Expired => Polled::Failed(match task.fail_reason() {
            "" => Failure::upstream("Task timeout"),
            // Servers let a task run out whose engine has refused it.
            reason => failure::of_text(reason),
        }),
        Standing::Cancelled => Polled::Failed(Failure::upstream("the upstream cancelled the task")),
        Standing::Waiting | Standing::Working | Standing::Missing => going_on(&word, task),
    }
}

/// The protocol's own words.
fn going_on(word: &str, task: &Task) -> Polled<Answer> {
    match word {
        "MODAL" => Polled::Clear(Answer::Modal),
        // A fresh record has no status before the server has asked the engine.
        "NOT_START" | "" => Polled::Clear(Answer::Running(Status::NotStart, None)),
        "SUBMITTED" => Polled::Clear(Answer::Running(Status::Submitted, task.progress())),
        // "IN_PROGRESS", and whatever newer words mean: the host's deadline ends what never ends.
        _ => Polled::Clear(Answer::Running(Status::InProgress, task.progress())),
    }
}
