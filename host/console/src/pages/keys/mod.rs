//! API keys: the list, one key, a new one, an edit, a rotation.

pub(crate) mod edit;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod one;
mod policy;
pub(crate) mod rotate;

use gatehouse_admin::KeyView;
use gatehouse_model::{Credits, UnixMs};
use maud::Markup;

use crate::parts::elements::{Tone, chip};

/// What a key can do now.
pub(super) fn state(key: &KeyView, now: UnixMs) -> Markup {
    let used_up = key.quota_use(now).is_some_and(|quota| quota.remaining() == Credits::ZERO);
    match (key.revoked, key.expires) {
        (Some(_), _) => chip(Tone::Neutral, "revoked"),
        (None, Some(expires)) if expires <= now => chip(Tone::Neutral, "expired"),
        _ if used_up => chip(Tone::Warn, "quota used up"),
        _ => chip(Tone::Ok, "active"),
    }
}
