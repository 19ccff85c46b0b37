//! The provider's own record: which submissions reached it, which it took, what became of them. The system under
//! test never sees it; the oracle compares with it.

use std::collections::{BTreeMap, VecDeque};

use crate::record::hook_record::HookRecord;
use crate::record::outcomes::{Answer, JobEnd, ListAnswer, Outages, TaskOutcome};
use crate::record::text_outcomes::TextOutcome;

/// A job the provider took.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) prompt: String,
    /// The idempotency token: by it the provider recognises a repeated submission.
    pub(crate) token: Option<String>,
    /// When it is done, in elapsed milliseconds.
    pub(crate) done: u64,
    /// The account it belongs to.
    pub(crate) account: String,
    /// How often it was told to stop.
    pub(crate) stops: u32,
    pub(crate) stopped: bool,
}

/// A patch for a quilt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    /// How each that reached the provider was answered.
    pub(crate) arrivals: Vec<Answer>,
    /// By it the provider recognises a patch that was taken.
    token: Option<String>,
}

/// What the provider knows.
#[derive(Default)]
pub(crate) struct ProviderRecord {
    pub(crate) task_outcomes: BTreeMap<String, TaskOutcome>,
    /// By prompt, how each submission that reached the provider was answered.
    pub(crate) arrivals: BTreeMap<String, Vec<Answer>>,
    /// By id, the number of the job.
    pub(crate) jobs: Vec<Job>,
    /// By prompt, the patches that reached the provider.
    pub(crate) patches: BTreeMap<String, Patch>,
    /// How polls for several jobs are answered from now on.
    pub(crate) lists: VecDeque<ListAnswer>,
    pub(crate) outages: Outages,
    /// What came to the receiver of webhooks.
    pub(crate) hooks: HookRecord,
    /// How text requests are answered from now on, by prompt.
    pub(crate) text_outcomes: BTreeMap<String, VecDeque<TextOutcome>>,
    /// How text requests were answered, by prompt.
    pub(crate) text_answers: BTreeMap<String, Vec<TextOutcome>>,
}

impl ProviderRecord {
    /// A submission has arrived; how it is answered, and the job's number if it was taken.
    pub(crate) fn arrive(
        &mut self,
        prompt: &str,
        token: Option<&str>,
        account: &str,
        at: u64,
    ) -> (Answer, Option<usize>) {
        let known = self.jobs.iter().position(|job| token.is_some() && job.token.as_deref() == token);
        if let Some(job) = known.filter(|_| self.outages.rate_limit(at).is_none()) {
            self.arrivals.entry(prompt.to_owned()).or_default().push(Answer::Repeat);
            return (Answer::Repeat, Some(job));
        }
        let outcome = self.task_outcomes.get_mut(prompt);
        let planned = outcome.and_then(|outcome| outcome.answers.pop_front()).unwrap_or(Answer::Take);
        let answer = self.outages.rate_limit(at).map_or(planned, Answer::TooMany);
        self.arrivals.entry(prompt.to_owned()).or_default().push(answer);
        let job = answer.takes().then(|| {
            let works = self.task_outcomes.get(prompt).map_or(1_000, |outcome| outcome.works);
            self.jobs.push(Job {
                prompt: prompt.to_owned(),
                token: token.map(str::to_owned),
                done: at + works,
                account: account.to_owned(),
                stops: 0,
                stopped: false,
            });
            self.jobs.len() - 1
        });
        (answer, job)
    }

    /// A patch for that job has arrived; how it is answered. One that is taken takes its time, too.
    pub(crate) fn patch(&mut self, prompt: &str, token: Option<&str>, job: usize, at: u64) -> Answer {
        let limited = self.outages.rate_limit(at).map(Answer::TooMany);
        let patch = self.patches.entry(prompt.to_owned()).or_default();
        let is_known = token.is_some() && patch.token.as_deref() == token;
        let outcome = self.task_outcomes.get_mut(prompt).filter(|_| !is_known && limited.is_none());
        let works = outcome.as_ref().map_or(1_000, |outcome| outcome.works);
        let planned = outcome.and_then(|outcome| outcome.answers.pop_front()).unwrap_or(Answer::Take);
        let answer = limited.unwrap_or(if is_known { Answer::Repeat } else { planned });
        patch.arrivals.push(answer);
        if answer.takes() {
            patch.token = token.map(str::to_owned);
            let job = &mut self.jobs[job];
            job.done = job.done.max(at + works);
        }
        answer
    }

    pub(crate) fn outcome(&self, prompt: &str) -> TaskOutcome {
        self.task_outcomes.get(prompt).cloned().unwrap_or_else(TaskOutcome::success)
    }

    /// Fetching that job's picture: whether it works this time.
    pub(crate) fn fetch(&mut self, job: usize) -> bool {
        let Some(prompt) = self.jobs.get(job).map(|job| job.prompt.clone()) else { return false };
        let Some(outcome) = self.task_outcomes.get_mut(&prompt).filter(|outcome| outcome.broken_fetches > 0)
        else {
            return true;
        };
        outcome.broken_fetches -= 1;
        false
    }

    /// How often that prompt was taken.
    pub(crate) fn taken(&self, prompt: &str) -> usize {
        self.arrivals.get(prompt).map_or(0, |all| taken(all))
    }

    /// How often that prompt was taken and not stopped.
    pub(crate) fn works_on(&self, prompt: &str) -> usize {
        let stopped = self.jobs.iter().filter(|job| job.prompt == prompt && job.stopped).count();
        self.taken(prompt).saturating_sub(stopped)
    }

    /// Arrivals after one whose outcome the system could not know (I13).
    pub(crate) fn repeated(&self, prompt: &str) -> usize {
        self.arrivals.get(prompt).map_or(0, |all| repeated(all))
    }

    /// The same for a patch.
    pub(crate) fn patch_repeated(&self, prompt: &str) -> usize {
        self.patches.get(prompt).map_or(0, |patch| repeated(&patch.arrivals))
    }

    /// How often that patch was taken.
    pub(crate) fn patch_taken(&self, prompt: &str) -> usize {
        self.patches.get(prompt).map_or(0, |patch| taken(&patch.arrivals))
    }

    /// A text request has arrived; how it is answered.
    pub(crate) fn answer_text(&mut self, prompt: &str, at: u64) -> TextOutcome {
        let planned =
            self.text_outcomes.get_mut(prompt).and_then(VecDeque::pop_front).unwrap_or(TextOutcome::Whole);
        let answer = self.outages.rate_limit(at).map_or(planned, TextOutcome::TooMany);
        self.text_answers.entry(prompt.to_owned()).or_default().push(answer);
        answer
    }

    /// When that prompt's picture was ready, if it ever was by `now`.
    pub(crate) fn success(&self, prompt: &str, now: u64) -> Option<u64> {
        let good = matches!(self.outcome(prompt).end, JobEnd::Ready);
        let job = self.jobs.iter().find(|job| job.prompt == prompt && job.done <= now && good)?;
        Some(job.done)
    }
}

fn taken(arrivals: &[Answer]) -> usize {
    arrivals.iter().filter(|answer| answer.takes()).count()
}

fn repeated(arrivals: &[Answer]) -> usize {
    arrivals.iter().rev().skip(1).filter(|answer| !answer.says_not_taken()).count()
}
