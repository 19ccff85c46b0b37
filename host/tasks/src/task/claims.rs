//! The rules of names: a name belongs to one customer of the gateway, for good.
//!
//! A claim of a name that its customer owns already replaces the record. Names never end by themselves: what they
//! stand for lives at a provider, which alone knows when it ends. They survive the history of their task.

use gatehouse_model::{Claim, Task, UnixMs};

use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::storage::ledger_storage::{LedgerStorage, NameRecord};

/// Names one ending may claim.
pub const MAX_CLAIMS: usize = 64;
/// The longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// What the claims of one ending must be like.
pub(crate) fn check(claims: &[Claim]) -> Result<(), Rejection> {
    let malformed = |problem: String| Err(Rejection::malformed("ending.claims", problem));
    if claims.len() > MAX_CLAIMS {
        return malformed(format!("expected at most {MAX_CLAIMS} names, not {}", claims.len()));
    }
    for (index, Claim { name, .. }) in claims.iter().enumerate() {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            let length = name.len();
            return malformed(format!("name {index}: expected 1 to {MAX_NAME_BYTES} bytes, not {length}"));
        }
        if let Some(wrong) = name.chars().find(|letter| !letter.is_ascii_graphic()) {
            return malformed(format!(
                "name {index}: expected printable ASCII without spaces, not {wrong:?}"
            ));
        }
        if claims[..index].iter().any(|earlier| earlier.name == *name) {
            return malformed(format!("name {index}: expected each name once, not {name:?} again"));
        }
    }
    Ok(())
}

/// The rows the claims become, if no other customer has one of the names.
pub(crate) fn records<B: LedgerStorage>(
    storage: &B,
    task: &Task,
    claims: &[Claim],
    at: UnixMs,
) -> Ruling<Vec<NameRecord>, B> {
    for Claim { name, .. } in claims {
        if storage.name_owner(name)?.is_some_and(|owner| owner != task.customer) {
            return Err(Stop::Rejected(Rejection::NameTaken(name.clone())));
        }
    }
    let record = |claim: &Claim| NameRecord {
        customer: task.customer.clone(),
        claim: claim.clone(),
        task: task.id,
        claimed: at,
    };
    Ok(claims.iter().map(record).collect())
}
