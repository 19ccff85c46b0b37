//! Answers of requests with an `Idempotency-Key`, kept in memory so that a client whose connection broke gets the one it paid
//! for. A restart forgets them: what was under way is given back then, and a repetition is a new request.
//!
//! One budget bounds all of it, also what is being written down, and what of it its client has not taken. Where it is full, the
//! customer that has most of it gives way, its oldest answer first: the bytes go before the record, so that a repetition is
//! refused before it would be paid again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gatehouse_model::{CustomerId, Digest, KeyId, UnixMs};

use crate::errors::SubmitError;

/// The bytes of all kept answers.
const BUDGET: usize = 64 << 20;
/// The longest answer that is kept. README.md says so.
const LONGEST: usize = 8 << 20;
/// What a record takes beside its answer.
const RECORD: usize = 512;
/// What a piece takes beside its bytes, while an answer is written down or waits for its client.
pub(crate) const PIECE: usize = 64;

/// One whole answer.
#[derive(Clone)]
pub(crate) struct KeptAnswer {
    pub(crate) mime: String,
    pub(crate) body: Bytes,
    pub(crate) fresh_s: Option<u32>,
}

/// What a repetition is recognised by.
#[derive(Clone)]
pub(crate) struct Repetition {
    pub(crate) key: KeyId,
    /// Whose memory it takes.
    pub(crate) customer: CustomerId,
    /// A digest of the header.
    pub(crate) token: Digest,
    /// A digest of the request.
    pub(crate) fingerprint: Digest,
    pub(crate) expires: UnixMs,
}

/// The kept answers of all customers.
#[derive(Clone, Default)]
pub(crate) struct KeptAnswers(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    records: HashMap<Id, Record>,
    customers: HashMap<CustomerId, Share>,
    bytes: usize,
}

type Id = (KeyId, Digest);

struct Record {
    fingerprint: Digest,
    expires: UnixMs,
    answer: Answer,
}

enum Answer {
    UnderWay,
    Kept(KeptAnswer),
    /// It was paid for, and is too long or had to make room.
    Gone,
}

/// What a customer has of the budget.
#[derive(Default)]
struct Share {
    bytes: usize,
    /// Its answers, the oldest first.
    kept: VecDeque<Id>,
    /// Those of which only the record is left, the oldest first.
    gone: VecDeque<Id>,
}

/// What is known of a request.
pub(crate) enum Known {
    /// Its answer, again.
    Before(KeptAnswer),
    /// It is new. Dropped, it is forgotten.
    New(Keeping),
}

/// One answer while it is made.
pub(crate) struct Keeping {
    answers: KeptAnswers,
    of: Repetition,
    /// `None` once it has become too long.
    written: Option<Written>,
    /// What was counted for it then, until it is claimed.
    given_up: Option<Backlog>,
    is_paid: bool,
}

/// What pieces that wait for their client take of the budget, given back when it is dropped.
pub(crate) struct Backlog {
    answers: KeptAnswers,
    customer: CustomerId,
    bytes: usize,
}

/// An answer in the pieces that it came in. They are joined once it is whole: a vector that grows would hold up to twice as
/// much as is counted.
#[derive(Default)]
struct Written {
    pieces: Vec<Bytes>,
    length: usize,
}

impl Written {
    /// The memory that is counted for it.
    fn bytes(&self) -> usize {
        self.length + PIECE * self.pieces.len()
    }
}

impl KeptAnswers {
    /// Whether the request came before.
    pub(crate) fn begin(&self, of: Repetition, now: UnixMs) -> Result<Known, SubmitError> {
        if let Some(answer) = self.find(&of, now)? {
            return Ok(Known::Before(answer));
        }
        let mut answers = self.lock();
        answers.forget_expired(&of, now);
        // Checked again under the lock that takes it.
        if answers.records.contains_key(&of.id()) {
            return Err(SubmitError::AnswerUnderWay);
        }
        let record = Record { fingerprint: of.fingerprint, expires: of.expires, answer: Answer::UnderWay };
        answers.records.insert(of.id(), record);
        answers.take(&of.customer, RECORD);
        drop(answers);
        Ok(Known::New(Keeping {
            answers: self.clone(),
            of,
            written: Some(Written::default()),
            given_up: None,
            is_paid: false,
        }))
    }

    /// The answer of the same request, if it came before.
    pub(crate) fn find(&self, of: &Repetition, now: UnixMs) -> Result<Option<KeptAnswer>, SubmitError> {
        let answers = self.lock();
        match answers.records.get(&of.id()).filter(|record| record.expires > now) {
            None => Ok(None),
            Some(record) if record.fingerprint != of.fingerprint => Err(SubmitError::IdempotencyConflict),
            Some(Record { answer: Answer::Kept(answer), .. }) => Ok(Some(answer.clone())),
            Some(Record { answer: Answer::UnderWay, .. }) => Err(SubmitError::AnswerUnderWay),
            Some(Record { answer: Answer::Gone, .. }) => Err(SubmitError::AnswerNotKept { longest: LONGEST }),
        }
    }

    /// What all of it takes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Repetition {
    fn id(&self) -> Id {
        (self.key.clone(), self.token)
    }
}

impl Keeping {
    /// Writes a piece down. `false` once the answer is too long to be kept.
    pub(crate) fn write(&mut self, piece: &Bytes) -> bool {
        let Some(written) = &mut self.written else { return false };
        let fits = written.length + piece.len() <= LONGEST
            && self.answers.lock().take_with_room(&self.of.customer, PIECE + piece.len());
        if fits {
            written.length += piece.len();
            written.pieces.push(piece.clone());
        } else {
            let bytes = written.bytes();
            self.written = None;
            self.given_up = Some(self.backlog(bytes));
        }
        fits
    }

    /// What was counted for an answer that has just become too long; its client may not have taken all of it.
    pub(crate) fn give_up(&mut self) -> Option<Backlog> {
        self.given_up.take()
    }

    fn backlog(&self, bytes: usize) -> Backlog {
        Backlog { answers: self.answers.clone(), customer: self.of.customer.clone(), bytes }
    }

    /// Whether all of the answer so far is written down, so that it is worth having to its end without its client.
    pub(crate) fn is_whole(&self) -> bool {
        self.written.is_some()
    }

    /// Keeps what was written as the answer, which is paid, where it is not too long. `unsent` bytes of it wait for the client:
    /// they are counted beside it, or alone where there is no room for both.
    pub(crate) fn keep(mut self, mime: String, fresh_s: Option<u32>, unsent: usize) -> Option<Backlog> {
        let Some(written) = self.written.take() else {
            self.end(Answer::Gone);
            return None;
        };
        let (counted, needed) = (written.bytes(), written.length + unsent);
        let missing = needed.saturating_sub(counted);
        let has_room = self.answers.lock().take_with_room(&self.of.customer, missing);
        let answer = if has_room {
            self.answers.lock().give_back(&self.of.customer, counted + missing - needed);
            let body = Bytes::from(written.pieces.concat());
            Answer::Kept(KeptAnswer { mime, body, fresh_s })
        } else {
            self.answers.lock().give_back(&self.of.customer, counted.saturating_sub(unsent));
            Answer::Gone
        };
        let backlog = self.backlog(unsent);
        self.end(answer);
        Some(backlog)
    }

    /// Keeps that it is paid and that there is no answer.
    pub(crate) fn keep_nothing(mut self) {
        if let Some(written) = self.written.take() {
            self.answers.lock().give_back(&self.of.customer, written.bytes());
        }
        self.end(Answer::Gone);
    }

    fn end(&mut self, answer: Answer) {
        self.is_paid = true;
        let mut answers = self.answers.lock();
        let share = answers.customers.entry(self.of.customer.clone()).or_default();
        let queue = if matches!(answer, Answer::Kept(_)) { &mut share.kept } else { &mut share.gone };
        queue.push_back(self.of.id());
        if let Some(record) = answers.records.get_mut(&self.of.id()) {
            record.answer = answer;
        }
        while answers.bytes > BUDGET && answers.make_room(|_, _| true) {}
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if self.is_paid {
            return;
        }
        let mut answers = self.answers.lock();
        answers.records.remove(&self.of.id());
        answers.give_back(&self.of.customer, RECORD + self.written.as_ref().map_or(0, Written::bytes));
    }
}

impl Backlog {
    /// So much of it is left.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let sent = self.bytes.saturating_sub(bytes);
        self.bytes -= sent;
        self.answers.lock().give_back(&self.customer, sent);
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

impl Answers {
    fn take(&mut self, customer: &CustomerId, bytes: usize) {
        self.bytes += bytes;
        self.customers.entry(customer.clone()).or_default().bytes += bytes;
    }

    /// Takes them if there is room, or made by a customer that has no less: one that writes many answers at once takes nothing
    /// from those that have few, and no more than half of it all.
    fn take_with_room(&mut self, customer: &CustomerId, bytes: usize) -> bool {
        self.take(customer, bytes);
        loop {
            let own = self.customers.get(customer).map_or(0, |share| share.bytes);
            let is_too_much = own > BUDGET / 2;
            if self.bytes <= BUDGET && !is_too_much {
                return true;
            }
            let gives_way = |name: &CustomerId, share: &Share| {
                if is_too_much { name == customer } else { share.bytes >= own }
            };
            if !self.make_room(gives_way) {
                self.give_back(customer, bytes);
                return false;
            }
        }
    }

    fn give_back(&mut self, customer: &CustomerId, bytes: usize) {
        self.bytes -= bytes;
        let Some(share) = self.customers.get_mut(customer) else { return };
        share.bytes -= bytes;
        if share.bytes == 0 {
            self.customers.remove(customer);
        }
    }

    /// Drops the oldest of the customer that has most, of those who give way; whether there was one.
    fn make_room(&mut self, gives_way: impl Fn(&CustomerId, &Share) -> bool) -> bool {
        let full = self.customers.iter().filter(|(_, share)| share.oldest().is_some());
        let full = full.filter(|(name, share)| gives_way(name, share));
        let most = full.max_by_key(|(_, share)| share.bytes).map(|(name, _)| name.clone());
        let Some(most) = most else { return false };
        self.drop_oldest(&most);
        true
    }

    /// The bytes of the oldest answer; once no answer is left, the oldest record.
    fn drop_oldest(&mut self, customer: &CustomerId) {
        let Some(share) = self.customers.get_mut(customer) else { return };
        let freed = if let Some(id) = share.kept.pop_front() {
            share.gone.push_back(id.clone());
            let record = self.records.get_mut(&id);
            record.map_or(0, |record| std::mem::replace(&mut record.answer, Answer::Gone).bytes())
        } else if let Some(id) = share.gone.pop_front() {
            self.records.remove(&id);
            RECORD
        } else {
            return;
        };
        self.give_back(customer, freed);
    }

    /// The oldest of the customer that have expired, and the request's own wherever it stands.
    fn forget_expired(&mut self, of: &Repetition, now: UnixMs) {
        let is_over = |record: Option<&Record>| record.is_some_and(|record| record.expires <= now);
        while let Some(id) = self.customers.get(&of.customer).and_then(Share::oldest) {
            if !is_over(self.records.get(id)) {
                break;
            }
            self.drop_oldest(&of.customer);
        }
        let id = of.id();
        let Some(share) = self.customers.get_mut(&of.customer) else { return };
        if !is_over(self.records.get(&id)) || !(share.kept.contains(&id) || share.gone.contains(&id)) {
            return;
        }
        share.kept.retain(|other| *other != id);
        share.gone.retain(|other| *other != id);
        let freed = self.records.remove(&id).map_or(0, |record| RECORD + record.answer.bytes());
        self.give_back(&of.customer, freed);
    }
}

impl Share {
    /// What makes room first.
    fn oldest(&self) -> Option<&Id> {
        self.kept.front().or_else(|| self.gone.front())
    }
}

impl Answer {
    fn bytes(&self) -> usize {
        match self {
            Self::Kept(answer) => answer.body.len(),
            Self::UnderWay | Self::Gone => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(customer: &str, token: &str, body: &str) -> Repetition {
        Repetition {
            key: KeyId(customer.to_owned()),
            customer: CustomerId(customer.to_owned()),
            token: Digest::of(token.as_bytes()),
            fingerprint: Digest::of(body.as_bytes()),
            expires: UnixMs(100),
        }
    }

    fn new(answers: &KeptAnswers, of: Repetition) -> Keeping {
        match answers.begin(of, UnixMs(0)).unwrap() {
            Known::New(keeping) => keeping,
            Known::Before(_) => panic!("it came before"),
        }
    }

    fn piece(length: usize) -> Bytes {
        vec![0; length].into()
    }

    fn answered(answers: &KeptAnswers, of: Repetition, length: usize) {
        let mut keeping = new(answers, of);
        keeping.write(&piece(length));
        let _ = keeping.keep("audio/mpeg".to_owned(), None, 0);
    }

    /// The length of the answer, or the reason of the refusal.
    fn again(answers: &KeptAnswers, of: Repetition, now: u64) -> Result<Option<usize>, String> {
        let found = answers.find(&of, UnixMs(now)).map_err(|error| error.to_string())?;
        Ok(found.map(|answer| answer.body.len()))
    }

    /// Without it a client that lost its connection would pay twice, or be answered with what it did not ask for.
    #[test]
    fn a_repetition_gets_its_answer_once_it_is_there() {
        let answers = KeptAnswers::default();
        let first = new(&answers, of("a", "1", "x"));
        assert!(again(&answers, of("a", "1", "x"), 0).unwrap_err().contains("is still being answered"));
        drop(first);
        assert_eq!(again(&answers, of("a", "1", "x"), 0), Ok(None), "it failed, so it may be made again");
        answered(&answers, of("a", "1", "x"), 7);
        assert_eq!(again(&answers, of("a", "1", "x"), 0), Ok(Some(7)));
        assert!(again(&answers, of("a", "1", "y"), 0).unwrap_err().contains("a different request"));
        assert_eq!(again(&answers, of("b", "1", "x"), 0), Ok(None), "another key's");
        assert_eq!(again(&answers, of("a", "1", "x"), 100), Ok(None), "it has expired");
        assert!(matches!(answers.begin(of("a", "1", "x"), UnixMs(100)), Ok(Known::New(_))));
        assert_eq!(answers.lock().bytes, 0, "nothing is left of what expired or was dropped");
    }

    /// Without it an answer that comes in small pieces takes many times the memory that is counted.
    #[test]
    fn what_is_counted_is_what_is_held() {
        let answers = KeptAnswers::default();
        let mut small = new(&answers, of("a", "small", ""));
        for _ in 0..1000 {
            assert!(small.write(&piece(1)));
        }
        assert_eq!(answers.lock().bytes, RECORD + 1000 * (PIECE + 1));
        drop(small.keep("audio/mpeg".to_owned(), None, 0));
        assert_eq!(answers.lock().bytes, RECORD + 1000);
        let mut dropped = new(&answers, of("a", "dropped", ""));
        dropped.write(&piece(10));
        drop(dropped);
        let mut unpaid = new(&answers, of("a", "unpaid", ""));
        unpaid.write(&piece(10));
        unpaid.keep_nothing();
        assert_eq!(answers.lock().bytes, 2 * RECORD + 1000);
    }

    /// Without it clients that read slowly hold up to 8 MiB each that nothing counts: once keeping gave up, or once the answer
    /// made room for another.
    #[test]
    fn what_a_client_has_not_taken_is_counted_until_it_has() {
        let answers = KeptAnswers::default();
        let bytes = || answers.lock().bytes;
        let mut long = new(&answers, of("a", "long", ""));
        assert!(long.write(&piece(LONGEST)) && long.give_up().is_none() && !long.write(&piece(1)));
        let mut backlog = long.give_up().expect("it is too long");
        assert_eq!(bytes(), RECORD + PIECE + LONGEST);
        backlog.shrink_to(10);
        assert_eq!(bytes(), RECORD + 10);
        backlog.shrink_to(20);
        assert_eq!(bytes(), RECORD + 10, "what was given up is not counted again");
        long.keep_nothing();
        drop(backlog);
        assert_eq!(bytes(), RECORD);

        let mut whole = new(&answers, of("a", "whole", ""));
        whole.write(&piece(100));
        let backlog = whole.keep("audio/mpeg".to_owned(), None, 90);
        assert_eq!(bytes(), 2 * RECORD + 100 + 90);
        drop(backlog);
        assert_eq!(bytes(), 2 * RECORD + 100);

        // Without room for both the client gets its answer, and a repetition does not.
        let backlogs: Vec<_> = ["1", "2", "3"]
            .map(|token| {
                let mut keeping = new(&answers, of("b", token, ""));
                assert!(keeping.write(&piece(LONGEST - PIECE)), "{token}");
                keeping.keep("audio/mpeg".to_owned(), None, LONGEST).expect("its client waits for it")
            })
            .into();
        assert!((3 * LONGEST..BUDGET / 2).contains(&bytes()));
        assert!(again(&answers, of("b", "3", ""), 0).is_err());
        drop(backlogs);
        assert!(bytes() < LONGEST);
    }

    /// Without it answers would fill the memory, or one customer's would drive out those of all others.
    #[test]
    fn one_budget_holds_all_and_the_largest_share_gives_way() {
        let answers = KeptAnswers::default();
        let mut long = new(&answers, of("a", "long", ""));
        assert!(long.write(&piece(LONGEST)) && !long.write(&piece(1)) && !long.is_whole());
        let _ = long.keep("audio/mpeg".to_owned(), None, 0);
        assert!(again(&answers, of("a", "long", ""), 0).unwrap_err().contains("expected at most 8 MiB"));

        answered(&answers, of("b", "small", ""), 10);
        for token in 0..2 * BUDGET / LONGEST {
            answered(&answers, of("a", &token.to_string(), ""), LONGEST);
        }
        assert_eq!(again(&answers, of("b", "small", ""), 0), Ok(Some(10)));
        assert!(again(&answers, of("a", "0", ""), 0).is_err(), "its bytes made room, not its record");
        assert_eq!(again(&answers, of("a", "15", ""), 0), Ok(Some(LONGEST)));
        assert!(answers.lock().bytes <= BUDGET);

        // What is under way has no one to give way but what is done.
        let under_way: Vec<Keeping> = (0..BUDGET / LONGEST)
            .map(|token| {
                let mut keeping = new(&answers, of("c", &token.to_string(), ""));
                keeping.write(&piece(LONGEST));
                keeping
            })
            .collect();
        assert!(answers.lock().bytes <= BUDGET);
        assert_eq!(
            again(&answers, of("b", "small", ""), 0),
            Ok(Some(10)),
            "it has less than the one that writes"
        );
        assert_eq!(
            under_way.iter().filter(|keeping| keeping.is_whole()).count(),
            3,
            "half of it all, with the records"
        );
        drop(under_way);
        assert!(answers.lock().bytes <= BUDGET);
    }
}
