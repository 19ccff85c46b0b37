//! The provider's table of operations and of the files they made. Pure but for random ids: callers pass the time. Bounded: the
//! oldest operations are dropped, and their names are unknown from then on.

use std::collections::{HashMap, VecDeque};

use crate::common::faults::Target;
use crate::common::markers::Counts;
use crate::common::settings::Settings;
use crate::veo::check::{Order, Stored};
use crate::veo::faults::{Faults, Marker};
use crate::veo::record::{BegunVideo, DeclinedVideo};
use gatehouse_sandbox_files::Film;

/// Operations kept.
const MAX_OPERATIONS: usize = 100_000;
/// Refusals kept.
const MAX_DECLINED: usize = 10_000;
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

/// Where a file is read: one name for each.
pub(super) struct FileKey {
    pub(super) operation: String,
}

/// Operations and refusals.
#[derive(Default)]
pub(super) struct Operations {
    by_name: HashMap<String, Operation>,
    /// The operation of each file.
    files: HashMap<String, String>,
    /// Names, oldest first.
    order: VecDeque<String>,
    pub(super) accepted: u64,
    declined: VecDeque<DeclinedVideo>,
    /// Ends of the operations under way, by account.
    under_way: HashMap<usize, Vec<u64>>,
    /// Submissions so far of each prompt with a fault of submissions.
    counts: Counts,
    job_ms: u64,
    max_in_flight: usize,
}

impl Operations {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            job_ms: u64::try_from(settings.job_time.as_millis()).unwrap_or(u64::MAX),
            max_in_flight: settings.max_in_flight,
            ..Self::default()
        }
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
        let id = fresh_id().ok_or(Marker::Broken)?;
        let ends_at = faults.time(self.job_ms).map(|after| now.saturating_add(after));
        under_way.push(ends_at.unwrap_or(now + ABANDONED_MS));
        let name = format!("{parent}/operations/{id}");
        let receipt = faults.fault(Target::Receipt);
        (record.name, record.at, record.answered) = (name.clone(), now, receipt.is_none());
        let Order { film, samples, storage, .. } = order;
        let operation = Operation { record, film, storage, samples, faults, ends_at, tries: 0 };
        if self.order.len() == MAX_OPERATIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_name.remove(&oldest);
        }
        for at in 0..operation.samples {
            self.files.insert(file_name(&operation, &id, at), name.clone());
        }
        self.by_name.insert(name.clone(), operation);
        self.order.push_back(name.clone());
        self.accepted += 1;
        Ok((name, receipt))
    }

    /// Records a refusal.
    pub(super) fn decline(&mut self, declined: DeclinedVideo) {
        if self.declined.len() == MAX_DECLINED {
            self.declined.pop_front();
        }
        self.declined.push_back(declined);
    }

    /// An account's operation.
    pub(super) fn own(&mut self, name: &str, account: usize) -> Option<&mut Operation> {
        self.by_name.get_mut(name).filter(|operation| operation.record.account == account)
    }

    /// The operation behind a file of an account.
    pub(super) fn of_file(
        &mut self,
        file: &str,
        account: usize,
        now: u64,
    ) -> Option<(FileKey, &mut Operation)> {
        let name = self.files.get(file)?.clone();
        let operation = self.own(&name, account)?;
        let ended = operation.ends_at.is_some_and(|end| end <= now);
        ended.then_some((FileKey { operation: name }, operation))
    }

    /// A video that may be continued, by the name of its file.
    pub(super) fn stored(&mut self, file: &str, account: usize, now: u64) -> Option<Stored> {
        let (_, operation) = self.of_file(file, account, now)?;
        let film = operation.film;
        Some(Stored { milliseconds: film.milliseconds, is_tall: film.height > film.width })
    }

    /// Counts a complete download.
    pub(super) fn downloaded(&mut self, key: &FileKey) {
        if let Some(operation) = self.by_name.get_mut(&key.operation) {
            operation.record.downloads = operation.record.downloads.saturating_add(1);
        }
    }

    /// Operations and refusals, oldest first.
    pub(super) fn listed(&self) -> (Vec<BegunVideo>, Vec<DeclinedVideo>) {
        let operations = self.order.iter().filter_map(|name| Some(self.by_name.get(name)?.record.clone()));
        (operations.collect(), self.declined.iter().cloned().collect())
    }
}

/// The name of an operation's file: `gs://bucket/prefix/<id>/sample_0.mp4`, or one that nobody reads.
pub(super) fn file_name(operation: &Operation, id: &str, at: usize) -> String {
    match &operation.storage {
        Some(prefix) => format!("{}/{id}/sample_{at}.mp4", prefix.trim_end_matches('/')),
        None => format!("inline:{id}/{at}"),
    }
}

fn fresh_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}
