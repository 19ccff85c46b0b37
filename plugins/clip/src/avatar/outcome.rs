//! What clients read of an avatar task, while it runs and at its end, and the names that become theirs.

use gatehouse_sdk::{Blame, Claim, Ending, Failure, Outcome, View};
use serde_json::{Value, json};

use crate::avatar::state::{Asset, AvatarState, Status, Whose};
use crate::names::{Record, asset_url};

/// Assets that a failure names.
const NAMED: usize = 3;

fn element(asset: &Asset) -> Value {
    let id = asset.id.as_deref().unwrap_or_default();
    let url = asset.id.as_deref().map(asset_url).unwrap_or_default();
    let mut element =
        json!({"asset_id": id, "asset_url": url, "status": asset.status, "name": asset.of.name});
    if let Some(problem) = &asset.problem {
        element["error"] = json!(problem.text);
    }
    element
}

/// The client's `result`: spec, "Avatar-asset task result".
fn public(state: &AvatarState) -> Value {
    let list = |wanted: &[Status]| -> Vec<Value> {
        state.assets.iter().filter(|asset| wanted.contains(&asset.status)).map(element).collect()
    };
    let mut public = json!({
        "assets": list(&[Status::Processing, Status::Active, Status::Failed]),
        "usable_assets": list(&[Status::Active]),
        "failed_assets": list(&[Status::Failed]),
        "group_id": state.group,
    });
    if let [Asset { id: Some(id), .. }] = state.assets.as_slice() {
        public["asset_url"] = json!(asset_url(id));
    }
    public
}

fn private(state: &AvatarState) -> Value {
    json!({"group_id": state.group, "project": state.request.project})
}

/// The result so far.
pub(crate) fn view(state: &AvatarState) -> View {
    View::new(public(state), private(state))
}

/// The group, and every asset that can be used or may yet become usable.
fn claims(state: &AvatarState) -> Vec<Claim> {
    let claim = |name: String, record: &Record| Claim {
        name,
        private: json!(record),
        affinity: state.account.clone(),
    };
    let Some(group) = &state.group else { return Vec::new() };
    let of_group = claim(group.clone(), &Record::Group { project: state.request.project.clone() });
    let kept = state.assets.iter().filter(|asset| asset.status != Status::Failed);
    let of_assets = kept.filter_map(|asset| {
        let asset_type = state.request.asset_type.to_string();
        let record = Record::Asset { asset_type, group_id: group.clone() };
        Some(claim(asset_url(asset.id.as_deref()?), &record))
    });
    std::iter::once(of_group).chain(of_assets).collect()
}

/// Every asset is approved.
pub(crate) fn done(state: &AvatarState) -> Outcome {
    let outcome = Outcome::new(public(state)).private(private(state));
    Outcome { claims: claims(state), ..outcome }
}

/// A bad end; what was approved stays usable.
pub(crate) fn failed(state: &AvatarState, failure: Failure) -> Ending {
    Ending {
        public: Some(public(state)),
        private: Some(private(state)),
        claims: claims(state),
        ..Ending::from(failure)
    }
}

/// The failure of a task of which some assets failed: spec, "message states that some assets failed review".
pub(crate) fn some_failed(state: &AvatarState) -> Failure {
    let failed: Vec<_> =
        state.assets.iter().filter_map(|asset| Some((&asset.of.name, asset.problem.as_ref()?))).collect();
    let is_any = |whose: Whose| failed.iter().any(|(_, problem)| problem.whose == whose);
    let blame = if is_any(Whose::Review) {
        Blame::Moderation
    } else if is_any(Whose::Request) {
        Blame::Request
    } else {
        Blame::Upstream
    };
    let named = failed.iter().take(NAMED).map(|(name, problem)| format!("{name:?} ({})", problem.text));
    let named: Vec<_> = named.collect();
    let more =
        if failed.len() > NAMED { format!(" and {} more", failed.len() - NAMED) } else { String::new() };
    Failure { blame, message: format!("some assets failed review: {}{more}", named.join(", ")) }
}
