//! Quilts of a plan: tasks that requests join, that claim names, and that refer to names and to each other.

use crate::customers::{KEY_COUNT, payer};
use crate::plan::actions::{Action, Plan};
use crate::plan::generate::task_outcome;
use crate::plan::requests::{PatchCall, QuiltFields, Submission, SubmissionKind};
use crate::plugins::QUILTS;
use crate::random::Random;
use crate::record::outcomes::{Answer, ListAnswer, TaskOutcome};

/// Every name that tasks claim.
pub(crate) const NAMES: [&str; 3] = ["asset://patchwork", "asset://lining", "asset://hem"];

impl Plan {
    /// One quilt, submitted with that key.
    pub(crate) fn with_quilt(
        mut self,
        at: u64,
        key: usize,
        prompt: &str,
        quilt: QuiltFields,
        outcome: TaskOutcome,
    ) -> Self {
        self.task_outcomes.insert(prompt.to_owned(), outcome);
        let (prompt, token) = (prompt.to_owned(), Some(prompt.to_owned()));
        let submission = Submission { key, kind: SubmissionKind::Good("quilt-1"), prompt, token, quilt };
        self.with(at, Action::Submit(submission))
    }

    /// A patch for the quilt of that prompt, sent with that key.
    pub(crate) fn with_patch(
        mut self,
        at: u64,
        key: usize,
        prompt: &str,
        joins: &str,
        outcome: TaskOutcome,
    ) -> Self {
        self.task_outcomes.insert(prompt.to_owned(), outcome);
        let (prompt, joins) = (prompt.to_owned(), joins.to_owned());
        let token = Some(prompt.clone());
        self.with(at, Action::Join(PatchCall { key, prompt, joins, token, has_rival: false }))
    }

    /// The same patch by two requests at once, one with each key.
    pub(crate) fn with_rival_patches(
        mut self,
        at: u64,
        keys: [usize; 2],
        prompt: &str,
        joins: &str,
        outcome: TaskOutcome,
    ) -> Self {
        self.task_outcomes.insert(prompt.to_owned(), outcome);
        for key in keys {
            let (prompt, joins) = (prompt.to_owned(), joins.to_owned());
            let token = Some(format!("{prompt} of {key}"));
            self = self.with(at, Action::Join(PatchCall { key, prompt, joins, token, has_rival: true }));
        }
        self
    }

    pub(super) fn add_quilts(&mut self, random: &Random) {
        if random.once_in(2) {
            return;
        }
        let (begin, owner) = (random.below(40_000) as u64, random.below(KEY_COUNT));
        for number in 0..1 + random.below(3) {
            // Close enough to be polled together.
            let key = if random.once_in(3) { random.below(KEY_COUNT) } else { owner };
            self.add_quilt(random, number, key, begin + random.below(4_000) as u64);
        }
        for _ in 0..8 {
            self.lists.push_back(match random.below(8) {
                0 => ListAnswer::HangUp,
                1 => ListAnswer::Error([429, 500, 503][random.below(3)]),
                2 => ListAnswer::Garbage,
                3 | 4 => ListAnswer::WithoutFirst,
                _ => ListAnswer::Whole,
            });
        }
        match random.below(6) {
            0 => self.actions.push((random.below(90_000) as u64, Action::Activate(QUILTS[1]))),
            1 => {
                let at = random.below(60_000) as u64;
                self.actions.push((at, Action::Activate(QUILTS[1])));
                self.actions.push((at + random.below(30_000) as u64, Action::RollBack("quilt")));
            }
            _ => {}
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    fn add_quilt(&mut self, random: &Random, number: usize, key: usize, at: u64) {
        let prompt = format!("quilt {number}");
        let mut quilt = QuiltFields {
            name: (!random.once_in(4)).then(|| NAMES[random.below(4) / 3]),
            ..QuiltFields::default()
        };
        match random.below(4) {
            0 if number > 0 => quilt.uses = Some(NAMES[0]),
            1 if number > 0 => quilt.follows = Some(format!("quilt {}", number - 1)),
            _ => {}
        }
        // What it refers to should be there by then, more often than not.
        let at = if quilt.uses.is_some() || quilt.follows.is_some() { at + 40_000 } else { at };
        let token = random.once_in(2).then(|| prompt.clone());
        let kind = SubmissionKind::Good("quilt-1");
        let is_repeated = token.is_some();
        let submission = Submission { key, kind, prompt: prompt.clone(), token, quilt };
        let outcome = task_outcome(random);
        let works = 1_000 + random.below(4_000) as u64;
        let outcome =
            if random.once_in(2) { TaskOutcome { works, ..TaskOutcome::success() } } else { outcome };
        self.task_outcomes.insert(prompt.clone(), outcome);
        self.add_request(random, at, Action::Submit(submission), is_repeated);
        for patch in 0..random.below(4) {
            self.add_patch(random, key, &format!("{prompt}, patch {patch}"), &prompt, at);
        }
        for _ in 0..random.below(3) {
            let then = at + random.below(80_000) as u64;
            let action = match random.below(4) {
                0 | 1 => Action::Cancel(prompt.clone()),
                2 => Action::Await(prompt.clone(), random.below(60_000) as u64),
                _ => Action::Read(prompt.clone()),
            };
            self.actions.push((then, action));
        }
    }

    fn add_patch(&mut self, random: &Random, key: usize, prompt: &str, joins: &str, at: u64) {
        let at = at + [1_000, 20_000, 60_000][random.below(3)] * random.below(100) as u64 / 100;
        // The customer's other key pays its own part.
        let others = (0..KEY_COUNT).filter(|other| payer(*other) == payer(key)).collect::<Vec<_>>();
        let key = others[random.below(others.len())];
        let token = random.once_in(2).then(|| prompt.to_owned());
        let (is_repeated, joins) = (token.is_some(), joins.to_owned());
        let patch = PatchCall { key, prompt: prompt.to_owned(), joins, token, has_rival: false };
        let mut outcome = task_outcome(random);
        if random.once_in(2) {
            // Most patches are taken; one that is not ends its quilt.
            outcome.answers = [Answer::Take].into();
        }
        outcome.works /= 4;
        self.task_outcomes.insert(prompt.to_owned(), outcome);
        self.add_request(random, at, Action::Join(patch), is_repeated);
    }
}
