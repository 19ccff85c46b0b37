//! Texts of a simulated world: who asks for them, what they hear, and what may come of their money. A hold always
//! ends: settled, given back, or let go by its expiry after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_driver::{
    CheckedBody, CompletionRequest, CompletionResponse, ModelConfig, SubmitError, TextConfig, TextError, TextStream,
};
use gatehouse_model::{Credits, Protocol, RequestId, UnixMs};
use gatehouse_store::Store;
use gatehouse_tasks::{EntryKind, HoldId, JournalEntry};
use serde_json::json;

use crate::book::{Book, sum};
use crate::clock::{Chance, Time};
use crate::customers::{ACCOUNTS, account, keys};
use crate::house::House;
use crate::plan::KEYS;
use crate::speaker::Speech;
use crate::world::World;

/// More rows than any account of a world has.
const ROWS: usize = 100_000;
/// A whole answer costs this: 32 tokens read and 37 written.
const WHOLE: Credits = Credits(32 * 3_000 + 37 * 15_000);
/// A hold lives as long as an answer that is no stream may take, and a minute; that of a stream longer.
const EXPIRY: Duration = Duration::from_secs(60 + 60);

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Messages,
    Chat,
}

pub(crate) const CLIENTS: [Client; 2] = [Client::Messages, Client::Chat];

impl Client {
    pub(crate) fn surface(self) -> &'static str {
        match self {
            Self::Messages => "messages.create",
            Self::Chat => "chat.completions",
        }
    }

    pub(crate) fn body(self, model: &str, words: &str, streaming: bool) -> Bytes {
        let mut body = json!({
            "model": model, "max_tokens": 400, "stream": streaming,
            "messages": [{"role": "user", "content": words}],
        });
        if self == Self::Chat && streaming {
            body["stream_options"] = json!({"include_usage": true});
        }
        body.to_string().into()
    }

    /// Whether an event tells the client that its answer is whole.
    pub(crate) fn is_last(self, name: Option<&str>, data: &str) -> bool {
        match self {
            Self::Messages => name == Some("message_stop"),
            Self::Chat => data == "[DONE]",
        }
    }
}

/// Somebody asks for a text.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub(crate) key: usize,
    /// Tells it apart; the provider reads it too.
    pub(crate) words: String,
    pub(crate) client: Client,
    /// What the model's provider speaks.
    pub(crate) speaks: Protocol,
    pub(crate) streaming: bool,
    /// After so many ms the client leaves.
    pub(crate) leaves: Option<u64>,
}

impl Talk {
    /// Whether such an answer to it is worth anything.
    fn is_delivered(&self, speech: Speech) -> bool {
        speech.delivers(self.speaks, self.streaming)
    }

    pub(crate) fn any(dice: &Chance, number: usize) -> Self {
        Self {
            key: dice.below(KEYS),
            words: format!("talk {number}"),
            client: CLIENTS[dice.below(2)],
            speaks: [Protocol::Messages, Protocol::Chat][dice.below(2)],
            streaming: !dice.once_in(3),
            leaves: dice.once_in(4).then(|| [10, 1_000, 20_000][dice.below(3)] * dice.below(10) as u64 / 5),
        }
    }
}

/// A request for a text, as the invariants remember it.
#[derive(Clone, Debug)]
pub(crate) struct Talked {
    talk: Talk,
    asked: UnixMs,
    /// Its client was told that the answer is whole.
    heard: bool,
    ended: Option<EntryKind>,
}

pub(crate) fn config() -> TextConfig {
    TextConfig { time_limit_s: 60, head_s: 5, idle_s: 20, stream_s: 60, drain_s: 5 }
}

/// A model of each protocol, named after it.
pub(crate) fn models() -> BTreeMap<String, ModelConfig> {
    let model = |speaks: Protocol| {
        let name = speaks.as_str();
        let prices = json!({"input": "3000", "output": "15000"});
        let model = json!({"provider": name, "protocol": name, "prices": prices});
        (name.to_owned(), serde_json::from_value(model).expect("a model"))
    };
    [model(Protocol::Messages), model(Protocol::Chat)].into()
}

/// Asks for a text and reads it; whether the whole of it was heard.
pub(crate) async fn talk(house: &House, talk: Talk) -> Result<bool, String> {
    let world = &house.world;
    let id = RequestId::new(world.time.now(), &*world.chance);
    let known = Talked { talk: talk.clone(), asked: world.time.now(), heard: false, ended: None };
    world.book().talks.insert(id, known);
    let body = talk.client.body(talk.speaks.as_str(), &format!("{};", talk.words), talk.streaming);
    let request = CompletionRequest {
        id,
        key: Arc::clone(&keys()[talk.key]),
        surface: talk.client.surface(),
        body: CheckedBody::parse(body, None).expect("a JSON object"),
        headers: vec![],
    };
    let leaving = async {
        match talk.leaves {
            Some(ms) => Time::pause(Duration::from_millis(ms)).await,
            None => pending().await,
        }
    };
    let heard = tokio::select! {
        biased;
        heard = hear(house, &talk, request) => heard,
        () = pin!(leaving) => {
            world.count("a client left before its text was whole");
            return Ok(false);
        }
    };
    if !house.is_open() {
        world.count("nobody heard the end of a text");
        return Ok(false);
    }
    world.say(format_args!("client: {:?} -> {heard:?}", talk.words));
    // An answer does not wait for the disk: until its charge is there, a crash forgets it.
    if house.driver.store().flush().await.is_err() || !house.is_open() {
        world.count("a text's charge was forgotten by a crash");
        return Ok(false);
    }
    let row = rows(house.driver.store(), talk_account(&talk))?
        .into_iter()
        .rfind(|row| row.hold == Some(HoldId::Request(id)));
    let end = row.map(|row| row.kind);
    // A clock that was set may have let the hold go before its time.
    let steady = world.time.set().0 == 0;
    let spoken = world.truth().spoken.get(&talk.words).and_then(|all| all.last().copied());
    let delivered = spoken.is_some_and(|speech| talk.is_delivered(speech));
    match heard {
        Ok(()) if end == Some(EntryKind::Settle) || (end == Some(EntryKind::Release) && !steady) => {
            if let Some(known) = world.book().talks.get_mut(&id) {
                known.heard = true;
            }
            Ok(true)
        }
        Ok(()) => Err(format!("{talk:?} was heard whole, and its hold is {end:?}")),
        Err(_) if end == Some(EntryKind::Hold) => Err(format!("{talk:?} failed, and its hold is open")),
        Err(_) if end == Some(EntryKind::Release) && steady && delivered => {
            Err(format!("{talk:?} was delivered in part, for nothing"))
        }
        Err(error) => expected(world, &error).map(|()| false).map_err(|what| format!("{talk:?}: {what}")),
    }
}

fn talk_account(talk: &Talk) -> usize {
    crate::customers::payer(talk.key)
}

async fn hear(house: &House, talk: &Talk, request: CompletionRequest) -> Result<(), TextError> {
    match house.driver.complete(request).await? {
        CompletionResponse::Whole(_) => Ok(()),
        CompletionResponse::Stream(stream) => read(talk, stream).await,
    }
}

async fn read(talk: &Talk, mut stream: TextStream) -> Result<(), TextError> {
    let mut whole = false;
    while let Some(batch) = poll_fn(|cx| stream.poll_next(cx)).await {
        whole = batch?.iter().any(|event| talk.client.is_last(event.event.as_deref(), &event.data));
    }
    // The end without a last word comes with the end of the process alone.
    if whole { Ok(()) } else { Err(TextError::Refused(SubmitError::Draining)) }
}

/// # Errors
/// Words no client may hear in this world.
fn expected(world: &World, error: &TextError) -> Result<(), String> {
    match error {
        TextError::Rejected { .. } => world.count("a text failed at its provider"),
        TextError::Timeout => world.count("a text took too long"),
        TextError::Unavailable { .. } => world.count("nobody could take a text"),
        TextError::Refused(SubmitError::KeyGone | SubmitError::Draining | SubmitError::Store(_)) => {}
        TextError::Refused(SubmitError::InsufficientBalance { needed, available }) if needed > available => {}
        TextError::Refused(SubmitError::QuotaExceeded { needed, remaining }) if needed > remaining => {}
        other => return Err(format!("it was refused: {other}")),
    }
    Ok(())
}

fn rows(store: &Store, number: usize) -> Result<Vec<JournalEntry>, String> {
    let mut rows = store.journal_of(&account(number), ROWS).map_err(|error| error.to_string())?;
    rows.reverse();
    Ok(rows)
}

/// Whether any hold is open once no task is live.
pub(crate) fn open(store: &Store) -> Result<bool, String> {
    store.examine().map(|report| report.holds > 0).map_err(|error| error.to_string())
}

/// After everything, where there were texts, one of each protocol goes all the way.
pub(crate) async fn last_talk(house: &House) -> Result<(), String> {
    if house.world.plan.speeches.is_empty() {
        return Ok(());
    }
    for speaks in [Protocol::Messages, Protocol::Chat] {
        let mut heard = false;
        // Only time ends a pause of the accounts.
        for _ in 0..10 {
            let words = format!("talk {}", 1_000_000 + house.world.time.gone());
            let last = Talk { key: 0, words, client: Client::Chat, speaks, streaming: true, leaves: None };
            heard = talk(house, last).await?;
            if heard || !house.is_open() {
                break;
            }
            Time::pause(Duration::from_secs(60)).await;
        }
        if !heard && house.is_open() {
            return Err(format!("I19: after everything no text comes from {speaks:?}"));
        }
    }
    Ok(())
}

impl Book {
    /// Checks the money of every text, and notes what the open ones hold.
    ///
    /// # Errors
    /// The first row that must not be.
    pub(crate) fn check_talks(&mut self, world: &World, store: &Store) -> Result<(), String> {
        for (words, all) in &world.truth().spoken {
            let again = all.len().checked_sub(1).map(|last| &all[..last]).unwrap_or_default();
            if again.iter().any(|speech| !speech.refuses()) {
                return Err(format!("{words:?} was asked for again: {all:?}"));
            }
        }
        let held = (0..ACCOUNTS.len()).map(|number| self.check_rows(world, rows(store, number)?));
        self.held_by_texts = held.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn check_rows(&mut self, world: &World, rows: Vec<JournalEntry>) -> Result<Credits, String> {
        let (mut open, mut ended) = (BTreeMap::new(), BTreeSet::new());
        for row in rows {
            let Some(HoldId::Request(id)) = row.hold else { continue };
            let known = self.talks.get_mut(&id).ok_or_else(|| format!("nobody asked for {id}"))?;
            if row.kind == EntryKind::Hold {
                if ended.contains(&id) || open.insert(id, row.movement.reserved).is_some() {
                    return Err(format!("{known:?} is held twice"));
                }
                continue;
            }
            let held = open.remove(&id).ok_or_else(|| format!("{known:?} ended twice"))?;
            ended.insert(id);
            if known.ended.is_none() {
                known.ended = Some(row.kind);
                check_end(world, known, &row, held).map_err(|what| format!("{known:?}: {what}"))?;
            }
        }
        Ok(sum(open.into_values()))
    }
}

/// The end of a hold, seen for the first time.
fn check_end(world: &World, known: &Talked, row: &JournalEntry, held: Credits) -> Result<(), String> {
    let truth = world.truth();
    let spoken = truth.spoken.get(&known.talk.words).map(Vec::as_slice).unwrap_or_default();
    if spoken.len() > 1 {
        world.count("a text went to another account");
    }
    let cost = row.movement.spent;
    if row.kind == EntryKind::Release {
        let expired = row.at >= known.asked.plus(EXPIRY);
        world.count(if expired { "a hold of a text ended by its expiry" } else { "a text was given back" });
        return if cost == Credits::ZERO && !known.heard {
            Ok(())
        } else {
            Err(format!("{cost} of it are gone"))
        };
    }
    let speech = spoken.last().filter(|speech| known.talk.is_delivered(**speech));
    let Some(speech) = speech else { return Err(format!("it cost {cost} after {spoken:?}")) };
    let stayed = known.talk.leaves.is_none();
    let right =
        if speech.is_whole() && stayed { cost == WHOLE } else { cost > Credits::ZERO && cost <= held };
    if !right {
        return Err(format!("it cost {cost} of {held} after {spoken:?}"));
    }
    world.count(if speech.is_whole() { "a text was paid for" } else { "a stream was cut and paid for" });
    Ok(())
}
