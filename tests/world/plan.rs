//! What is going to happen in a world: what clients and operators do and when, what the provider makes of each
//! prompt, and the weather. Made from a seed, or written out by a scenario.

use std::collections::{BTreeMap, VecDeque};

use gatehouse_model::Credits;

use crate::clock::Chance;
use crate::shelf;
use crate::speaker::Speech;
use crate::talks::Talk;
use crate::truth::{Answer, End, Fate, Weather};

/// Keys of the customers, see [`crate::customers`].
pub(crate) const KEYS: usize = 4;

/// One thing somebody does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A client submits.
    Submit(Wish),
    /// A client asks for a text.
    Talk(Talk),
    /// A client reads the task of that prompt.
    Read(String),
    /// A client waits so many ms for the end of that prompt's task.
    Await(String, u64),
    /// A client lists its tasks.
    List(usize),
    /// A client cancels the task of that prompt.
    Cancel(String),
    /// An operator activates a build.
    Swap(usize),
    /// An operator goes back with a family.
    RollBack(&'static str),
    /// An operator revokes a key.
    Revoke(usize),
    /// The wall clock is set by so many ms.
    Jump(i64),
    /// The link to that prompt's picture has ended, and the picture went with it.
    Gone(String),
    /// The house is stopped and started again, with other prices.
    Restart(i64),
}

/// A submission.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) key: usize,
    pub(crate) kind: Kind,
    /// Tells the task apart; the provider reads it too.
    pub(crate) prompt: String,
    /// The `Idempotency-Key`.
    pub(crate) token: Option<String>,
}

/// What a submission is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Good(&'static str),
    /// Accepted, to fail.
    Doomed,
    /// Refused.
    Invalid,
    /// For a model nobody has.
    Unknown,
}

/// Everything that is going to happen.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// When, by what has gone by, and what; in order.
    pub(crate) acts: Vec<(u64, Act)>,
    pub(crate) fates: BTreeMap<String, Fate>,
    /// How the provider answers each text, by its words.
    pub(crate) speeches: BTreeMap<String, VecDeque<Speech>>,
    pub(crate) weather: Weather,
    /// Whether the dice make accidents.
    pub(crate) rough: bool,
    /// The seed of the house's own randomness.
    pub(crate) seed: u64,
    /// Time limit of a task, s.
    pub(crate) limit_s: u32,
}

impl Plan {
    /// One task with that fate, submitted at once.
    pub(crate) fn of(fate: Fate) -> Self {
        Self::bare().with_task(100, "one", fate)
    }

    /// One task of the scribe with that prompt and fate.
    pub(crate) fn of_scribe(prompt: &str, fate: Fate) -> Self {
        Self::bare().with_task_of("scribe-1", 100, prompt, fate)
    }

    fn bare() -> Self {
        Self {
            acts: Vec::new(),
            fates: BTreeMap::new(),
            speeches: BTreeMap::new(),
            weather: Weather::default(),
            rough: false,
            seed: 1,
            limit_s: 120,
        }
    }

    pub(crate) fn with_task(self, at: u64, prompt: &str, fate: Fate) -> Self {
        self.with_task_of("ctx-pro", at, prompt, fate)
    }

    fn with_task_of(mut self, model: &'static str, at: u64, prompt: &str, fate: Fate) -> Self {
        self.fates.insert(prompt.to_owned(), fate);
        let wish = Wish {
            key: 0,
            kind: Kind::Good(model),
            prompt: prompt.to_owned(),
            token: Some(prompt.to_owned()),
        };
        self.with(at, Act::Submit(wish))
    }

    pub(crate) fn with(mut self, at: u64, act: Act) -> Self {
        self.acts.push((at, act));
        self.acts.sort_by_key(|(at, _)| *at);
        self
    }

    /// The price list, dearer by so many credits, or cheaper.
    #[expect(clippy::unused_self, reason = "a plan may come to have its own")]
    pub(crate) fn prices(&self, dearer: i64) -> BTreeMap<String, Credits> {
        let price =
            |(model, credits): (&str, i64)| (model.to_owned(), Credits((credits + dearer) * Credits::UNIT));
        [("ctx-pro", 4), ("ctx-max", 8), ("scribe-1", 3)].map(price).into()
    }

    /// What a seed makes of it.
    pub(crate) fn from_seed(seed: u64) -> Self {
        let dice = Chance::new(seed ^ 0x0070_6c61_6e00);
        let limit_s = [60, 120, 120, 300, 300, 1800][dice.below(6)];
        let mut plan = Self {
            acts: Vec::new(),
            fates: BTreeMap::new(),
            speeches: BTreeMap::new(),
            weather: weather(&dice),
            rough: true,
            seed: !seed,
            limit_s,
        };
        let tasks = 3 + dice.below(8);
        for number in 0..tasks {
            plan.add_task(&dice, number);
        }
        for _ in 0..dice.below(4) {
            let at = dice.below(90_000) as u64;
            let act = match dice.below(12) {
                0..=3 => Act::Swap(dice.below(shelf::OF_TASKS)),
                4 | 5 => Act::RollBack(shelf::BUILDS[dice.below(shelf::OF_TASKS)]),
                6 => Act::Revoke(1 + dice.below(KEYS - 1)),
                7 => Act::Jump(dice.below(400_000) as i64),
                8 => Act::Jump(-(dice.below(30_000) as i64)),
                _ => Act::Restart(dice.below(5) as i64 - 2),
            };
            plan = plan.with(at, act);
        }
        plan.add_talks(&Chance::new(seed ^ 0x7461_6c6b_7300));
        plan
    }

    /// One text, with those answers in turn.
    pub(crate) fn of_talk(talk: Talk, speeches: impl IntoIterator<Item = Speech>) -> Self {
        let mut plan = Self::bare();
        plan.speeches.insert(talk.words.clone(), speeches.into_iter().collect());
        plan.with(100, Act::Talk(talk))
    }

    fn add_talks(&mut self, dice: &Chance) {
        for number in 0..dice.below(7) {
            let talk = Talk::any(dice, number);
            self.speeches.insert(talk.words.clone(), Speech::any(dice));
            self.acts.push((dice.below(90_000) as u64, Act::Talk(talk)));
        }
        if dice.once_in(3) {
            let build = shelf::OF_TASKS + dice.below(shelf::BUILDS.len() - shelf::OF_TASKS);
            self.acts.push((dice.below(90_000) as u64, Act::Swap(build)));
        }
        self.acts.sort_by_key(|(at, _)| *at);
    }

    fn add_task(&mut self, dice: &Chance, number: usize) {
        let prompt = format!("picture {number}");
        let at = dice.below(60_000) as u64;
        let key = dice.below(KEYS);
        let kind = match dice.below(16) {
            0 => Kind::Doomed,
            1 => Kind::Invalid,
            2 => Kind::Unknown,
            3..=5 => Kind::Good("ctx-max"),
            6..=9 => Kind::Good("scribe-1"),
            _ => Kind::Good("ctx-pro"),
        };
        let token = dice.once_in(3).then(|| format!("token {}", dice.below(3)));
        let wish = Wish { key, kind, prompt: prompt.clone(), token: token.clone() };
        self.fates.insert(prompt.clone(), fate(dice));
        self.acts.push((at, Act::Submit(wish.clone())));
        if token.is_some() {
            // Clients that got no answer ask again, and some that did.
            self.acts.push((at + 1 + dice.below(20_000) as u64, Act::Submit(wish)));
        }
        for _ in 0..dice.below(4) {
            let then = at + dice.below(80_000) as u64;
            let act = match dice.below(8) {
                0..=2 => Act::Read(prompt.clone()),
                3 => Act::Await(prompt.clone(), dice.below(60_000) as u64),
                4 => Act::List(key),
                _ => Act::Cancel(prompt.clone()),
            };
            self.acts.push((then, act));
        }
        self.acts.sort_by_key(|(at, _)| *at);
    }
}

fn fate(dice: &Chance) -> Fate {
    let mut answers = VecDeque::new();
    while dice.once_in(3) && answers.len() < 3 {
        answers.push_back(Answer::TooMany([None, Some(1), Some(20), Some(240)][dice.below(4)]));
    }
    answers.push_back(match dice.below(16) {
        0 | 1 => Answer::TakeAndHangUp,
        2 => Answer::TakeAndBabble,
        // The house waits two minutes for an answer to a submission.
        3 | 4 => Answer::TakeSlowly(dice.below(180_000) as u64),
        5 => Answer::HangUp,
        6 => Answer::Error([400, 402, 422, 500, 503][dice.below(5)]),
        _ => Answer::Take,
    });
    Fate {
        answers,
        works: [1_000, 10_000, 30_000, 110_000][dice.below(4)] + dice.below(10_000) as u64,
        end: match dice.below(16) {
            0 => End::Empty,
            1 => End::Moderated,
            2 => End::Error,
            3 | 4 => End::Never,
            5 => End::Lost,
            _ => End::Ready,
        },
        broken_fetches: if dice.once_in(6) { dice.below(12) as u32 } else { 0 },
    }
}

fn weather(dice: &Chance) -> Weather {
    let span = || {
        let from = dice.below(90_000) as u64;
        (from, from + dice.below(60_000) as u64)
    };
    let mut weather = Weather::default();
    if dice.once_in(4) {
        weather.dark.push(span());
    }
    if dice.once_in(4) {
        let (from, to) = span();
        weather.storms.push((from, to, [None, Some(3), Some(30)][dice.below(3)]));
    }
    weather
}
