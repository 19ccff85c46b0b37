//! The names this family claims for customers: assets (`asset://<id>`) and their groups. Owns the records kept with
//! them, and what a request may say of them. A name of another customer is as unknown as one that never existed.

use gatehouse_sdk::{Affinity, InvalidParam, Submission};
use serde::{Deserialize, Serialize};

/// What is kept with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Record {
    Asset {
        /// `Image`, `Video` or `Audio`.
        asset_type: String,
        group_id: String,
    },
    Group {
        project: String,
    },
}

/// The scheme of assets.
pub(crate) const SCHEME: &str = "asset";

/// The name of an asset, which is its URL too.
pub(crate) fn asset_url(id: &str) -> String {
    format!("{SCHEME}://{id}")
}

/// The account that has all the assets of a request: each a field, a name, and the type that can stand there.
pub(crate) fn account_of_assets<'a>(
    request: &Submission,
    assets: impl Iterator<Item = (&'a str, &'a str, &'static str)>,
) -> Result<Option<Affinity>, InvalidParam> {
    let mut account: Option<&Option<Affinity>> = None;
    for (field, name, expected) in assets {
        let wrong = |problem: String| Err(InvalidParam::at(Some(field), problem));
        let found = request.owned(name);
        let record = found.and_then(|owned| Record::deserialize(&owned.private).ok());
        let (Some(owned), Some(Record::Asset { asset_type, .. })) = (found, record) else {
            return wrong(format!("expected an approved asset of yours, got the unknown {name}"));
        };
        if asset_type != expected {
            return wrong(format!("expected an asset of the type {expected}, got {name} of {asset_type}"));
        }
        if account.is_some_and(|account| *account != owned.affinity) {
            return wrong(format!(
                "expected assets that can be used together, got {name}, which is kept apart from the others; \
                 please submit it again in the same group"
            ));
        }
        account = Some(&owned.affinity);
    }
    Ok(account.cloned().flatten())
}

/// The group of that id: its account and its project.
pub(crate) fn group(request: &Submission, id: &str) -> Result<(Option<Affinity>, String), InvalidParam> {
    let found = request.owned(id);
    let record = found.and_then(|owned| Record::deserialize(&owned.private).ok());
    match (found, record) {
        (Some(owned), Some(Record::Group { project })) => Ok((owned.affinity.clone(), project)),
        _ => Err(InvalidParam::at(
            Some("group_id"),
            format!("expected the id of a group of yours, got the unknown {id:?}"),
        )),
    }
}
