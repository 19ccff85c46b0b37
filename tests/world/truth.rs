//! What the provider knows to be true: which submissions reached it, which it took, what became of them. Kept
//! apart from the house, which never sees it; and the weather, which is the same for everybody.

use std::collections::{BTreeMap, VecDeque};

use crate::speaker::Speech;

/// How the provider answers one arrival of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Takes it.
    Take,
    /// Takes it, and the answer is lost.
    TakeAndHangUp,
    /// Takes it, and answers nonsense.
    TakeAndBabble,
    /// Takes it, and answers after so many milliseconds.
    TakeSlowly(u64),
    /// Knows the token, and answers as for the first time.
    Again,
    /// Hangs up without having taken it.
    HangUp,
    /// 429, with `Retry-After` in seconds when there is one.
    TooMany(Option<u64>),
    /// An error of this status.
    Error(u16),
}

impl Answer {
    /// Whether the provider works on it from then on.
    fn takes(self) -> bool {
        matches!(self, Self::Take | Self::TakeAndHangUp | Self::TakeAndBabble | Self::TakeSlowly(_))
    }
}

/// How a job ends at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Ready,
    /// Ready, but its answer names no picture.
    Empty,
    /// The picture was stopped.
    Moderated,
    Error,
    Never,
    /// The provider forgets it.
    Lost,
}

/// What is going to happen to one prompt.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// One for each arrival; then it is taken.
    pub(crate) answers: VecDeque<Answer>,
    /// How long the provider works on it, ms.
    pub(crate) works: u64,
    pub(crate) end: End,
    /// So many fetches of the picture fail.
    pub(crate) broken_fetches: u32,
}

impl Fate {
    /// Everything goes well.
    pub(crate) fn fine() -> Self {
        Self { answers: VecDeque::new(), works: 5_000, end: End::Ready, broken_fetches: 0 }
    }
}

/// A submission that reached the provider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) answer: Answer,
}

/// A job the provider took.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) prompt: String,
    /// By which the provider recognises the submission when it comes again.
    pub(crate) token: Option<String>,
    /// When it is done, by what has gone by.
    pub(crate) done: u64,
    /// How often it was asked about.
    pub(crate) polls: u32,
}

/// The provider's book.
#[derive(Default)]
pub(crate) struct Truth {
    pub(crate) fates: BTreeMap<String, Fate>,
    pub(crate) arrivals: BTreeMap<String, Vec<Arrival>>,
    /// By id, the number of the job.
    pub(crate) jobs: Vec<Job>,
    pub(crate) weather: Weather,
    /// How texts are answered from now on, by their words.
    pub(crate) speeches: BTreeMap<String, VecDeque<Speech>>,
    /// How texts were answered.
    pub(crate) spoken: BTreeMap<String, Vec<Speech>>,
}

impl Truth {
    /// A submission has arrived; how it is answered, and the job's number if it was taken.
    pub(crate) fn arrive(&mut self, prompt: &str, token: Option<&str>, at: u64) -> (Answer, Option<usize>) {
        let known = self.jobs.iter().position(|job| token.is_some() && job.token.as_deref() == token);
        if let Some(job) = known.filter(|_| self.weather.storm(at).is_none()) {
            self.arrivals.entry(prompt.to_owned()).or_default().push(Arrival { answer: Answer::Again });
            return (Answer::Again, Some(job));
        }
        let fate = self.fates.get_mut(prompt);
        let fated = fate.and_then(|fate| fate.answers.pop_front()).unwrap_or(Answer::Take);
        let answer = self.weather.storm(at).map_or(fated, Answer::TooMany);
        self.arrivals.entry(prompt.to_owned()).or_default().push(Arrival { answer });
        let job = answer.takes().then(|| {
            let works = self.fates.get(prompt).map_or(1_000, |fate| fate.works);
            let (prompt, token) = (prompt.to_owned(), token.map(str::to_owned));
            self.jobs.push(Job { prompt, token, done: at + works, polls: 0 });
            self.jobs.len() - 1
        });
        (answer, job)
    }

    pub(crate) fn fate(&self, prompt: &str) -> Fate {
        self.fates.get(prompt).cloned().unwrap_or_else(Fate::fine)
    }

    /// Fetching that job's picture: whether it works this time.
    pub(crate) fn fetch(&mut self, job: usize) -> bool {
        let Some(prompt) = self.jobs.get(job).map(|job| job.prompt.clone()) else { return false };
        let Some(fate) = self.fates.get_mut(&prompt).filter(|fate| fate.broken_fetches > 0) else {
            return true;
        };
        fate.broken_fetches -= 1;
        false
    }

    /// How often that prompt was taken.
    pub(crate) fn taken(&self, prompt: &str) -> usize {
        self.arrivals.get(prompt).map_or(0, |all| all.iter().filter(|one| one.answer.takes()).count())
    }

    /// Arrivals after one the house could not be sure about (I13).
    pub(crate) fn repeated(&self, prompt: &str) -> usize {
        let unsure = |arrival: &&Arrival| !matches!(arrival.answer, Answer::TooMany(_));
        self.arrivals.get(prompt).map_or(0, |all| all.iter().rev().skip(1).filter(unsure).count())
    }

    /// A text is asked for; how it is answered.
    pub(crate) fn speak(&mut self, words: &str, at: u64) -> Speech {
        let fated = self.speeches.get_mut(words).and_then(VecDeque::pop_front).unwrap_or(Speech::Whole);
        let speech = self.weather.storm(at).map_or(fated, Speech::TooMany);
        self.spoken.entry(words.to_owned()).or_default().push(speech);
        speech
    }

    /// When that prompt's picture was ready, if it ever was by `now`.
    pub(crate) fn success(&self, prompt: &str, now: u64) -> Option<u64> {
        let good = matches!(self.fate(prompt).end, End::Ready);
        let job = self.jobs.iter().find(|job| job.prompt == prompt && job.done <= now && good)?;
        Some(job.done)
    }
}

/// What all callers of the provider meet, in spans of what has gone by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weather {
    /// No connection.
    pub(crate) dark: Vec<(u64, u64)>,
    /// 429 to everything, with that `Retry-After`.
    pub(crate) storms: Vec<(u64, u64, Option<u64>)>,
}

impl Weather {
    pub(crate) fn is_dark(&self, at: u64) -> bool {
        self.dark.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    pub(crate) fn storm(&self, at: u64) -> Option<Option<u64>> {
        self.storms.iter().find(|(from, to, _)| (*from..*to).contains(&at)).map(|(_, _, after)| *after)
    }
}
