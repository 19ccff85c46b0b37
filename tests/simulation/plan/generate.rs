//! Plans made from a seed.

use std::collections::VecDeque;

use crate::customers::KEY_COUNT;
use crate::plan::actions::{Action, OperatorRuling, Plan};
use crate::plan::requests::{CLIENTS, QuiltFields, Submission, SubmissionKind, TextCall};
use crate::plugins;
use crate::random::Random;
use crate::record::hook_record::HookAnswer;
use crate::record::outcomes::{Answer, JobEnd, Outages, TaskOutcome};
use crate::record::text_outcomes::{Protocol, TextOutcome};

impl Plan {
    /// The plan of a seed.
    pub(crate) fn from_seed(seed: u64) -> Self {
        let random = Random::new(seed ^ 0x0070_6c61_6e00);
        let limit_s = [60, 120, 120, 300, 300, 1800][random.below(6)];
        let mut plan = Self {
            outages: outages(&random),
            faults: true,
            seed: !seed,
            limit_s,
            asks: seed.is_multiple_of(3),
            webhook: seed.is_multiple_of(4).then(|| [HookAnswer::Status(500), HookAnswer::HangUp].into()),
            ..Self::bare()
        };
        let tasks = 3 + random.below(8);
        for number in 0..tasks {
            plan.add_task(&random, number);
        }
        for _ in 0..random.below(4) {
            let at = random.below(90_000) as u64;
            let action = match random.below(12) {
                0..=3 => Action::Activate(random.below(plugins::WITH_TASKS)),
                4 | 5 => Action::RollBack(plugins::FAMILIES[random.below(plugins::WITH_TASKS)]),
                6 => Action::Revoke(1 + random.below(KEY_COUNT - 1)),
                7 => Action::SetClock(random.below(400_000) as i64),
                8 => Action::SetClock(-(random.below(30_000) as i64)),
                _ => Action::Restart(random.below(5) as i64 - 2),
            };
            plan = plan.with(at, action);
        }
        plan.add_rulings(&Random::new(seed ^ 0x7275_6c65_7300));
        plan.add_texts(&Random::new(seed ^ 0x7461_6c6b_7300));
        plan.add_quilts(&Random::new(seed ^ 0x7175_696c_7400));
        plan
    }

    /// An operator who looks now and then.
    fn add_rulings(&mut self, random: &Random) {
        for _ in 0..if self.asks { random.below(6) } else { 0 } {
            let ruling = if random.once_in(3) { OperatorRuling::Fail } else { OperatorRuling::Truth };
            self.actions.push((random.below(120_000) as u64, Action::Rule(ruling)));
        }
    }

    fn add_texts(&mut self, random: &Random) {
        for number in 0..random.below(7) {
            let text = TextCall::any(random, number);
            self.text_outcomes.insert(text.prompt.clone(), TextOutcome::any(random));
            self.actions.push((random.below(90_000) as u64, Action::Text(text)));
        }
        if random.once_in(3) {
            let version = plugins::WITH_TASKS + random.below(plugins::WITH_TEXTS);
            self.actions.push((random.below(90_000) as u64, Action::Activate(version)));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// A request; clients without an answer send one with a token again, and some that had one.
    pub(super) fn add_request(&mut self, random: &Random, at: u64, action: Action, is_repeated: bool) {
        self.actions.push((at, action.clone()));
        if is_repeated {
            self.actions.push((at + 1 + random.below(20_000) as u64, action));
        }
    }

    fn add_task(&mut self, random: &Random, number: usize) {
        let prompt = format!("picture {number}");
        let at = random.below(60_000) as u64;
        let key = random.below(KEY_COUNT);
        let kind = match random.below(16) {
            0 => SubmissionKind::Doomed,
            1 => SubmissionKind::Invalid,
            2 => SubmissionKind::Unknown,
            3..=5 => SubmissionKind::Good("ctx-max"),
            6..=9 => SubmissionKind::Good("scribe-1"),
            _ => SubmissionKind::Good("ctx-pro"),
        };
        let token = random.once_in(3).then(|| format!("token {}", random.below(3)));
        let (is_repeated, quilt) = (token.is_some(), QuiltFields::default());
        let submission = Submission { key, kind, prompt: prompt.clone(), token, quilt };
        self.task_outcomes.insert(prompt.clone(), task_outcome(random));
        self.add_request(random, at, Action::Submit(submission), is_repeated);
        for _ in 0..random.below(4) {
            let then = at + random.below(80_000) as u64;
            let action = match random.below(8) {
                0..=2 => Action::Read(prompt.clone()),
                3 => Action::Await(prompt.clone(), random.below(60_000) as u64),
                4 => Action::List(key),
                _ => Action::Cancel(prompt.clone()),
            };
            self.actions.push((then, action));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }
}

impl TextCall {
    fn any(random: &Random, number: usize) -> Self {
        Self {
            key: random.below(KEY_COUNT),
            prompt: format!("prompt {number}"),
            client: CLIENTS[random.below(2)],
            protocol: [Protocol::Messages, Protocol::Chat][random.below(2)],
            streaming: !random.once_in(3),
            leaves: random
                .once_in(4)
                .then(|| [10, 1_000, 20_000][random.below(3)] * random.below(10) as u64 / 5),
        }
    }
}

pub(super) fn task_outcome(random: &Random) -> TaskOutcome {
    let mut answers = VecDeque::new();
    while random.once_in(3) && answers.len() < 3 {
        answers.push_back(Answer::TooMany([None, Some(1), Some(20), Some(240)][random.below(4)]));
    }
    answers.push_back(match random.below(16) {
        0 | 1 => Answer::TakeAndHangUp,
        2 => Answer::TakeAndAnswerGarbage,
        // The system waits two minutes for an answer to a submission.
        3 | 4 => Answer::TakeSlowly(random.below(180_000) as u64),
        5 => Answer::HangUp,
        6 => Answer::Error([400, 402, 422, 500, 503][random.below(5)]),
        _ => Answer::Take,
    });
    TaskOutcome {
        answers,
        works: [1_000, 10_000, 30_000, 110_000][random.below(4)] + random.below(10_000) as u64,
        end: match random.below(16) {
            0 => JobEnd::Empty,
            1 => JobEnd::Moderated,
            2 => JobEnd::Error,
            3 | 4 => JobEnd::Never,
            5 => JobEnd::Lost,
            _ => JobEnd::Ready,
        },
        broken_fetches: if random.once_in(6) { random.below(12) as u32 } else { 0 },
    }
}

fn outages(random: &Random) -> Outages {
    let span = || {
        let from = random.below(90_000) as u64;
        (from, from + random.below(60_000) as u64)
    };
    let mut outages = Outages::default();
    if random.once_in(4) {
        outages.unreachable.push(span());
    }
    if random.once_in(4) {
        let (from, to) = span();
        outages.rate_limits.push((from, to, [None, Some(3), Some(30)][random.below(3)]));
    }
    outages
}
