//! The provider's table of operations and of the files they made. Pure but for random ids: callers pass the time. Bounded: the
//! oldest operations are dropped, and their names are unknown from then on.

use std::collections::HashMap;
use std::io;

use crate::common::faults::Target;
use crate::common::kept::{ById, Latest, fresh_id};
use crate::common::markers::Counts;
use crate::common::settings::Settings;
use crate::common::shared::Table;
use crate::veo::check::{Order, Stored};
use crate::veo::faults::{Faults, Marker};
use crate::veo::record::{BegunVideo, DeclinedVideo, VeoRecord};
use crate::veo::tokens::Tokens;
use gatehouse_sandbox_files::Film;

/// An operation that never ends stops counting as under way.
const ABANDONED_MS: u64 = 1_800_000;

/// An operation.
pub(super) struct Operation {
    pub(super) record: BegunVideo,
    pub(super) film: Film,
    /// `gs://bucket/prefix/`.
    pub(super) storage: Option<String>,
    /// How many videos there are.
    pub(super) samples: usize,
    pub(super) faults: Faults,
    /// When it ends; `None` is never.
    pub(super) ends_at: Option<u64>,
    /// Downloads tried.
    pub(super) tries: u32,
}

/// Operations, refusals and tokens.
#[derive(Default)]
pub(crate) struct Operations {
    by_name: ById<Operation>,
    /// The operation of each file.
    files: HashMap<String, String>,
    accepted: u64,
    pub(super) declined: Latest<DeclinedVideo>,
    pub(super) tokens: Tokens,
    /// Ends of the operations under way, by account.
    under_way: HashMap<usize, Vec<u64>>,
    /// Submissions so far of each prompt with a fault of submissions.
    counts: Counts,
    job_ms: u64,
    max_in_flight: usize,
}

impl Operations {
    pub(super) fn new(settings: &Settings) -> io::Result<Self> {
        Ok(Self {
            tokens: Tokens::new()?,
            job_ms: settings.job_ms(),
            max_in_flight: settings.max_in_flight,
            ..Self::default()
        })
    }

    /// Begins an operation for a body that passed all checks and gives its name, or refuses it because of a marker or the
    /// account.
    pub(super) fn begin(
        &mut self,
        order: Order,
        mut record: BegunVideo,
        parent: &str,
        now: u64,
    ) -> Result<(String, Option<Marker>), Marker> {
        let faults = Faults::of(&order.prompt);
        if let Some(fault) = faults.strike(&mut self.counts, &order.prompt) {
            return Err(fault);
        }
        let under_way = self.under_way.entry(record.account).or_default();
        under_way.retain(|end| *end > now);
        if under_way.len() >= self.max_in_flight {
            return Err(Marker::Rate);
        }
        let id = fresh_id().map_err(|_| Marker::Broken)?;
        let ends_at = faults.time(self.job_ms).map(|after| now.saturating_add(after));
        under_way.push(ends_at.unwrap_or(now + ABANDONED_MS));
        let name = format!("{parent}/operations/{id}");
        let receipt = faults.fault(Target::Receipt);
        (record.name, record.at, record.answered) = (name.clone(), now, receipt.is_none());
        let Order { film, samples, storage, .. } = order;
        let operation = Operation { record, film, storage, samples, faults, ends_at, tries: 0 };
        for at in 0..operation.samples {
            self.files.insert(file_name(&operation, &id, at), name.clone());
        }
        self.by_name.insert(&name, operation);
        self.accepted += 1;
        Ok((name, receipt))
    }

    /// An account's operation.
    pub(super) fn own(&mut self, name: &str, account: usize) -> Option<&mut Operation> {
        self.by_name.get_mut(name).filter(|operation| operation.record.account == account)
    }

    /// The operation behind a file of an account.
    pub(super) fn of_file(&mut self, file: &str, account: usize, now: u64) -> Option<&mut Operation> {
        let name = self.files.get(file)?.clone();
        self.own(&name, account).filter(|operation| operation.ends_at.is_some_and(|end| end <= now))
    }

    /// A video that may be continued, by the name of its file.
    pub(super) fn stored(&mut self, file: &str, account: usize, now: u64) -> Option<Stored> {
        let film = self.of_file(file, account, now)?.film;
        Some(Stored { milliseconds: film.milliseconds, is_tall: film.height > film.width })
    }
}

impl Table for Operations {
    type Record = VeoRecord;

    fn record(&self, _: u64) -> VeoRecord {
        let operations = self.by_name.iter().map(|operation| operation.record.clone()).collect();
        let (declined, tokens) = (self.declined.listed(), self.tokens.count());
        VeoRecord { accepted: self.accepted, operations, declined, tokens }
    }
}

/// The name of an operation's file: `gs://bucket/prefix/<id>/sample_0.mp4`, or one that nobody reads.
pub(super) fn file_name(operation: &Operation, id: &str, at: usize) -> String {
    match &operation.storage {
        Some(prefix) => format!("{}/{id}/sample_{at}.mp4", prefix.trim_end_matches('/')),
        None => format!("inline:{id}/{at}"),
    }
}
