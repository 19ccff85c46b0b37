//! Keys to send requests as: a page of those that work, all of them or those that somebody searches for.

use std::collections::BTreeMap;

use gatehouse_admin::{KeyQuery, KeyState};
use gatehouse_model::{CustomerId, Key, KeyId, UnixMs};

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;

/// Keys of one page.
const KEYS: usize = 100;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// A part of the name, the beginning of the id, or the customer.
    pub(super) find: String,
    /// The id before the first key of the page; empty for the first page.
    pub(super) after: String,
}

/// A page of keys.
pub(super) struct Keys {
    pub(super) search: Search,
    /// By id; those whose id begins with what was searched for stand first.
    pub(super) rows: Vec<Key>,
    /// Where the next page begins.
    pub(super) next: Option<KeyId>,
}

impl Search {
    pub(super) fn of(form: &Form) -> Self {
        Self { find: form.text("find").to_owned(), after: form.text("after").to_owned() }
    }
}

impl Keys {
    /// Reads a page of the keys that work at that moment.
    pub(super) async fn read(pages: &PageContext, search: Search, now: UnixMs) -> Result<Self, PageError> {
        let Search { find, after } = &search;
        let all = KeyQuery { customer: None, name: None, states: vec![KeyState::Active], at: now };
        let from = (!after.is_empty()).then(|| KeyId::from(after.as_str()));
        let service = &pages.service;
        if find.is_empty() {
            let page = service.keys.page(all, from, KEYS).await?;
            return Ok(Self { search, rows: page.rows, next: page.next });
        }
        let named = KeyQuery { name: Some(find.clone()), ..all.clone() };
        let named = service.keys.page(named, from.clone(), KEYS).await?;
        let owned = KeyQuery { customer: Some(CustomerId::from(find.as_str())), ..all.clone() };
        let owned = service.keys.page(owned, from, KEYS).await?;
        // Up to where both lists were looked at.
        let end = [&named.next, &owned.next].into_iter().flatten().min().cloned();
        let found = named.rows.into_iter().chain(owned.rows).map(|key| (key.id.clone(), key));
        let found: BTreeMap<KeyId, Key> =
            found.filter(|(id, _)| end.as_ref().is_none_or(|end| id <= end)).collect();
        let has_more = found.len() > KEYS;
        let page: Vec<Key> = found.into_values().take(KEYS).collect();
        let next = if has_more { page.last().map(|last| last.id.clone()) } else { end };
        let mut rows = Vec::new();
        if after.is_empty() {
            let begin = KeyId::from(find.trim_start_matches("sk-"));
            rows.extend(
                service.keys.get(&begin).await?.filter(|key| KeyState::of(key, now) == KeyState::Active),
            );
            let below = service.keys.page(all, Some(begin.clone()), KEYS).await?.rows;
            rows.extend(below.into_iter().take_while(|key| key.id.0.starts_with(&begin.0)));
        }
        let rest: Vec<Key> = page.into_iter().filter(|key| rows.iter().all(|one| one.id != key.id)).collect();
        rows.extend(rest);
        Ok(Self { search, rows, next })
    }
}
