//! The state of an avatar task, kept as JSON between its steps.

use gatehouse_sdk::{Affinity, Blame, Failure, UnixMs};
use serde::{Deserialize, Serialize};

use crate::avatar::params::NewAsset;
use crate::avatar::request::{AvatarRequest, GroupChoice};

/// The call that is out, or comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Doing {
    FindGroup,
    MakeGroup,
    /// The asset of that number.
    MakeAsset(usize),
    Poll(usize),
}

/// How far an asset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    /// Not made yet, or under review.
    Processing,
    Active,
    Failed,
}

/// One asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asset {
    pub(crate) of: NewAsset,
    /// The provider's id, once it is made.
    pub(crate) id: Option<String>,
    pub(crate) status: Status,
    /// Why it failed.
    pub(crate) problem: Option<Problem>,
    /// Unclear answers in a row.
    pub(crate) faults: u32,
}

/// Why an asset failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub(crate) whose: Whose,
    pub(crate) text: String,
}

/// Whose a failure is; [`Blame`] as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Whose {
    Review,
    Request,
    Upstream,
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let whose = match failure.blame {
            Blame::Moderation => Whose::Review,
            Blame::Request => Whose::Request,
            _ => Whose::Upstream,
        };
        Self { whose, text: failure.message }
    }
}

/// The state of an avatar task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvatarState {
    pub(crate) request: AvatarRequest,
    pub(crate) doing: Doing,
    /// Waits until then; `None` while a call is out.
    pub(crate) until: Option<UnixMs>,
    /// The group's id, once it is known.
    pub(crate) group: Option<String>,
    pub(crate) assets: Vec<Asset>,
    /// The account that has them.
    pub(crate) account: Option<Affinity>,
    /// Since when they are under review.
    pub(crate) since: Option<UnixMs>,
    /// Since when the provider is unreachable.
    pub(crate) unreachable: Option<UnixMs>,
    /// Waits in a row for the same call.
    pub(crate) rests: u32,
}

impl AvatarState {
    pub(crate) fn new(request: AvatarRequest) -> Self {
        let (doing, group) = match &request.group {
            GroupChoice::Default => (Doing::FindGroup, None),
            GroupChoice::New(_) => (Doing::MakeGroup, None),
            GroupChoice::Known(id) => (Doing::MakeAsset(0), Some(id.clone())),
        };
        let asset = |of: &NewAsset| Asset {
            of: of.clone(),
            id: None,
            status: Status::Processing,
            problem: None,
            faults: 0,
        };
        Self {
            assets: request.assets.iter().map(asset).collect(),
            account: request.account.clone(),
            request,
            doing,
            until: None,
            group,
            since: None,
            unreachable: None,
            rests: 0,
        }
    }

    /// The client's field of an asset's address.
    pub(crate) fn field(&self, at: usize) -> String {
        if self.assets.len() == 1 { "url".to_owned() } else { format!("assets[{at}].url") }
    }

    /// The next asset under review from that number on.
    pub(crate) fn under_review(&self, from: usize) -> Option<usize> {
        (from..self.assets.len()).find(|at| self.assets[*at].status == Status::Processing)
    }
}
