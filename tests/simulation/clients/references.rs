//! What a quilt's request refers to, as the disk has it before the request is sent: a name of its customer is known for
//! good, a name of another never, and a finished quilt can be followed up.

use gatehouse_model::{Status, TaskId};

use crate::customers::keys;
use crate::plan::requests::Submission;
use crate::system::under_test::System;

/// What a request may refer to when it is sent.
pub(super) struct Before {
    /// The task that it follows up.
    pub(super) follows: Option<TaskId>,
    was_finished: bool,
    is_foreign: bool,
    owned: bool,
}

/// `None` where the request follows up a quilt whose receipt nobody has.
pub(super) fn before(system: &System, submission: &Submission) -> Option<Before> {
    let follows = match &submission.quilt.follows {
        Some(prompt) => Some(system.simulation.memory().promises.get(prompt)?.task),
        None => None,
    };
    let memory = system.simulation.memory();
    let customer = &keys()[submission.key].customer;
    let parent = follows.and_then(|task| memory.seen.get(&task)).map(|seen| &seen.task);
    let owned = submission.quilt.uses.is_some_and(|name| memory.names.get(name) == Some(customer));
    let was_finished = parent.is_some_and(|task| task.status == Status::Completed);
    let is_foreign = parent.is_some_and(|task| task.customer != *customer);
    Some(Before { follows, was_finished, is_foreign, owned })
}

impl Before {
    pub(super) fn refers(&self, submission: &Submission) -> bool {
        self.is_foreign || submission.quilt.uses.is_some()
    }

    /// It was accepted, so its name is owned by now.
    pub(super) fn accepted(&self, system: &System, submission: &Submission) -> Result<(), String> {
        if self.is_foreign {
            return Err(format!("I9: {submission:?} follows up a task of another customer"));
        }
        let Some(name) = submission.quilt.uses else { return Ok(()) };
        let owner = system.simulation.memory().names.get(name).cloned();
        if owner.as_ref() != Some(&keys()[submission.key].customer) {
            return Err(format!("names: {submission:?} was accepted, and {name} belongs to {owner:?}"));
        }
        system.simulation.count("a name was referred to");
        Ok(())
    }

    /// What it refers to is unknown.
    pub(super) fn unknown(&self, system: &System) -> Result<(), String> {
        if self.is_foreign {
            system.simulation.count("a task of another customer was not followed up");
            return Ok(());
        }
        system.simulation.count("a name was unknown");
        if self.owned { Err("names: a name of the customer is unknown".to_owned()) } else { Ok(()) }
    }

    /// The quilt it follows up is not finished.
    pub(super) fn unfinished(&self, system: &System) -> Result<(), String> {
        system.simulation.count("a quilt was not finished");
        if self.was_finished { Err("a finished quilt was not found".to_owned()) } else { Ok(()) }
    }
}
