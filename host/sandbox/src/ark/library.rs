//! Groups and assets of every account. Pure but for random ids: callers pass the time.

use std::collections::BTreeMap;

use crate::ark::faults::{Faults, Marker};
use crate::ark::media::Problem;
use crate::ark::record::{ArkAsset, ArkGroup};
use crate::common::clock::digits_of_time;
use crate::common::kept::random_word;
use crate::common::markers::Counts;

/// Calls kept for the record.
const MAX_CALLS: usize = 100_000;

/// An asset under review or past it.
pub(crate) struct Asset {
    record: ArkAsset,
    /// Why the review fails.
    verdict: Result<(), Problem>,
    /// When the review ends; `None` is never.
    over_at: Option<u64>,
    pub(crate) faults: Faults,
    /// Times it was asked for.
    pub(crate) polls: u32,
}

/// An asset as it is at a moment.
pub(crate) struct AssetNow<'a> {
    pub(crate) record: &'a ArkAsset,
    pub(crate) status: &'static str,
    /// Why it failed.
    pub(crate) problem: Option<&'a Problem>,
}

impl Asset {
    pub(crate) fn at(&self, now: u64) -> AssetNow<'_> {
        let is_over = self.over_at.is_some_and(|end| end <= now);
        let status = match &self.verdict {
            _ if !is_over => "Processing",
            Ok(()) => "Active",
            Err(_) => "Failed",
        };
        let problem = self.verdict.as_ref().err().filter(|_| is_over);
        AssetNow { record: &self.record, status, problem }
    }
}

/// All groups and assets, by id.
#[derive(Default)]
pub(crate) struct Library {
    groups: BTreeMap<String, ArkGroup>,
    assets: BTreeMap<String, Asset>,
    pub(crate) calls: Vec<(usize, String)>,
    /// Creations so far of each name with a fault.
    counts: Counts,
    made: u64,
}

impl Library {
    /// The fault of a creation with this name.
    pub(crate) fn fault(&mut self, name: &str) -> Option<Marker> {
        Faults::of(name).strike(&mut self.counts, name)
    }

    pub(crate) fn count_call(&mut self, account: usize, action: &str) {
        if self.calls.len() < MAX_CALLS {
            self.calls.push((account, action.to_owned()));
        }
    }

    /// Ids sort in the order in which they were made.
    fn id(&mut self, kind: &str, now: u64) -> String {
        self.made += 1;
        format!("{kind}-{}-{:06}{}", digits_of_time(now), self.made, random_word(5))
    }

    pub(crate) fn add_group(&mut self, mut group: ArkGroup, now: u64) -> String {
        let id = self.id("group", now);
        group.id.clone_from(&id);
        self.groups.insert(id.clone(), group);
        id
    }

    pub(crate) fn group(&self, account: usize, id: &str) -> Option<&ArkGroup> {
        self.groups.get(id).filter(|group| group.account == account)
    }

    pub(crate) fn groups(&self, account: usize) -> impl Iterator<Item = &ArkGroup> {
        self.groups.values().filter(move |group| group.account == account)
    }

    /// Takes a file into review, which takes `job_ms` and ends as `verdict` says, unless a marker says otherwise.
    pub(crate) fn add_asset(
        &mut self,
        mut asset: ArkAsset,
        verdict: Result<(), Problem>,
        now: u64,
        job_ms: u64,
    ) -> String {
        let faults = Faults::of(&asset.name);
        let over_at = faults.time(job_ms).map(|ms| now.saturating_add(ms));
        let rejected = faults.has(Marker::Rejected).then(Problem::sensitive);
        let verdict = rejected.map_or(verdict, Err);
        let id = self.id("asset", now);
        asset.id.clone_from(&id);
        self.assets.insert(id.clone(), Asset { record: asset, verdict, over_at, faults, polls: 0 });
        id
    }

    pub(crate) fn asset(&self, account: usize, id: &str, now: u64) -> Option<AssetNow<'_>> {
        let asset = self.assets.get(id).filter(|asset| asset.record.account == account)?;
        Some(asset.at(now))
    }

    pub(crate) fn asset_to_poll(&mut self, account: usize, id: &str) -> Option<&mut Asset> {
        self.assets.get_mut(id).filter(|asset| asset.record.account == account)
    }

    pub(crate) fn assets(&self, account: usize, now: u64) -> impl Iterator<Item = AssetNow<'_>> {
        let of_account = self.assets.values().filter(move |asset| asset.record.account == account);
        of_account.map(move |asset| asset.at(now))
    }

    pub(crate) fn delete(&mut self, account: usize, id: &str) -> bool {
        let is_known = self.assets.get(id).is_some_and(|asset| asset.record.account == account);
        is_known && self.assets.remove(id).is_some()
    }

    pub(crate) fn record(&self, now: u64) -> (Vec<ArkGroup>, Vec<ArkAsset>) {
        let shown =
            |asset: &Asset| ArkAsset { status: asset.at(now).status.to_owned(), ..asset.record.clone() };
        (self.groups.values().cloned().collect(), self.assets.values().map(shown).collect())
    }
}
