//! The state of an avatar task, kept as JSON between its steps.

use gatehouse_sdk::{Affinity, Blame, Failure, UnixMs};
use serde::{Deserialize, Serialize};

use crate::avatar::params::NewAsset;
use crate::avatar::request::{AvatarRequest, GroupChoice};

/// Bytes that the text of a problem may have as JSON. A request takes at most 44 of the host's 64 KiB (`request::MAX_BYTES`),
/// each of 20 assets another 218 bytes beside this text (its id has at most 128), and everything else some 800.
const MAX_PROBLEM: usize = 750;

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
        Self { whose, text: shortened(&failure.message) }
    }
}

/// The beginning of a text, as far as it has no more than [`MAX_PROBLEM`] bytes as JSON.
fn shortened(text: &str) -> String {
    let mut bytes = 0;
    let fits = |letter: &char| {
        bytes += match *letter {
            '"' | '\\' => 2,
            letter if letter.is_control() => 6,
            letter => letter.len_utf8(),
        };
        bytes <= MAX_PROBLEM
    };
    text.chars().take_while(fits).collect()
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
    pub(crate) fn new(mut request: AvatarRequest) -> Self {
        let (doing, group) = match &request.group {
            GroupChoice::Default => (Doing::FindGroup, None),
            GroupChoice::New(_) => (Doing::MakeGroup, None),
            GroupChoice::Known(id) => (Doing::MakeAsset(0), Some(id.clone())),
        };
        let asset =
            |of: NewAsset| Asset { of, id: None, status: Status::Processing, problem: None, faults: 0 };
        Self {
            assets: std::mem::take(&mut request.assets).into_iter().map(asset).collect(),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a task of an older version is too large for its state after a few reviews.
    #[test]
    fn an_older_state_loses_its_second_copy_of_the_assets() {
        let of = json!({"url": "https://example.com/face.png", "name": "face"});
        let asset = json!({"of": of, "id": "asset-1", "status": "Processing", "problem": null, "faults": 0});
        let mut older = json!({
            "request": {"group": "default", "project": "default", "asset_type": "Image", "assets": [of], "account": null},
            "doing": {"poll": 0}, "until": 1_002_000, "group": "group-1", "assets": [asset], "account": "account-1",
            "since": 1_000_000, "unreachable": null, "rests": 0,
        });
        let read: AvatarState = serde_json::from_value(older.clone()).unwrap();
        assert_eq!(read.assets[0].of.name, "face");
        // An older version reads the list all the same.
        older["request"]["assets"] = json!([]);
        assert_eq!(serde_json::to_value(read).unwrap(), older);
    }

    #[test]
    fn a_problem_is_cut_by_its_bytes() {
        for (letter, kept) in [("n", 750), ("\"", 375), ("\u{6f22}", 250), ("\u{1}", 125)] {
            let text = letter.repeat(800);
            assert_eq!(shortened(&text), letter.repeat(kept));
            assert!(serde_json::to_string(&shortened(&text)).unwrap().len() <= MAX_PROBLEM + 2);
        }
        assert_eq!(shortened("it was rejected"), "it was rejected");
    }
}
