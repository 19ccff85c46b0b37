//! The money of texts: every hold ends once, and costs what was delivered.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Credits, UnixMs};
use gatehouse_sample::at_once;
use gatehouse_store::{StatementOf, StatementQuery, Store};
use gatehouse_tasks::{EntryKind, HoldId, JournalEntry};

use crate::customers::customer;
use crate::memory::{Memory, TextRecord, sum};
use crate::record::text_outcomes::TextOutcome;
use crate::simulation::Simulation;

/// More rows than any customer of a simulation has.
const MAX_ROWS: usize = 100_000;
/// The cost of a whole answer: 32 input tokens and 37 output tokens.
const WHOLE_ANSWER: Credits = Credits(32 * 3_000 + 37 * 15_000);

/// The customer's ledger rows, oldest first.
pub(crate) fn ledger_rows(store: &Store, number: usize) -> Result<Vec<JournalEntry>, String> {
    let (of, created) = (StatementOf::Customer(customer(number)), UnixMs(0)..UnixMs(u64::MAX));
    let query = StatementQuery { of, created, before: None, limit: MAX_ROWS };
    let page = at_once(store.statement(query)).map_err(|error| error.to_string())?;
    Ok(page.rows.into_iter().rev().map(|row| row.entry).collect())
}

/// Checks the money of every text, and records what the open ones hold.
///
/// # Errors
/// The first wrong row.
pub(crate) fn check_texts(
    memory: &mut Memory,
    simulation: &Simulation,
    rows: &[Vec<JournalEntry>],
) -> Result<(), String> {
    for (prompt, all) in &simulation.provider().text_answers {
        let again = all.len().checked_sub(1).map(|last| &all[..last]).unwrap_or_default();
        let text = memory.texts.values().map(|known| &known.text).find(|text| text.prompt == *prompt);
        let is_for_client = |answer: TextOutcome| text.is_some_and(|text| text.is_delivered(answer));
        if again.iter().any(|answer| !answer.has_ended() || is_for_client(*answer)) {
            return Err(format!("{prompt:?} was sent again: {all:?}"));
        }
    }
    let held = rows.iter().map(|rows| check_rows(memory, simulation, rows));
    memory.held_by_texts = held.collect::<Result<_, _>>()?;
    Ok(())
}

fn check_rows(
    memory: &mut Memory,
    simulation: &Simulation,
    rows: &[JournalEntry],
) -> Result<Credits, String> {
    let (mut open, mut ended) = (BTreeMap::new(), BTreeSet::new());
    for row in rows {
        let Some(HoldId::Request(id)) = row.hold else { continue };
        let known = memory.texts.get_mut(&id).ok_or_else(|| format!("no client sent {id}"))?;
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
            check_text_end(simulation, known, row, held).map_err(|what| format!("{known:?}: {what}"))?;
        }
    }
    Ok(sum(open.into_values()))
}

/// The end of a hold, seen for the first time.
fn check_text_end(
    simulation: &Simulation,
    known: &TextRecord,
    row: &JournalEntry,
    held: Credits,
) -> Result<(), String> {
    let provider = simulation.provider();
    let answers = provider.text_answers.get(&known.text.prompt).map(Vec::as_slice).unwrap_or_default();
    if answers.len() > 1 {
        simulation.count("a text went to another account");
    }
    let cost = row.movement.spent;
    if row.kind == EntryKind::Release {
        simulation.count(if known.sent < simulation.process_start() {
            "a hold of a text was released by the next process"
        } else {
            "a hold of a text was released"
        });
        return if cost == Credits::ZERO && !known.received {
            Ok(())
        } else {
            Err(format!("{cost} was charged"))
        };
    }
    // What was written until then is not known here, its input at least.
    if known.text.streaming && known.text.leaves.is_some() && cost > Credits::ZERO && cost <= held {
        simulation.count("a client left its stream and paid for what was written");
        return Ok(());
    }
    let answer = answers.last().filter(|answer| known.text.is_delivered(**answer));
    let Some(answer) = answer else { return Err(format!("it cost {cost} after {answers:?}")) };
    let stayed = known.text.leaves.is_none();
    let right =
        if answer.is_whole() && stayed { cost == WHOLE_ANSWER } else { cost > Credits::ZERO && cost <= held };
    if !right {
        return Err(format!("it cost {cost} of {held} after {answers:?}"));
    }
    simulation.count(if answer.is_whole() { "a text was paid for" } else { "a stream was cut and paid for" });
    Ok(())
}
