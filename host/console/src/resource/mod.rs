//! A kind of object of the admin API as the console shows it. One description (`kinds`) makes its list, its page, its forms
//! and what may be done to it; what a form asks for comes from the API's own schemas.
//!
//! Never decides what may be: the API does, and its refusals stand at their fields.

pub(crate) mod action;
pub(crate) mod column;
pub(crate) mod edit;
pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod list;
pub(crate) mod one;

#[cfg(test)]
mod tests;

use std::fmt;

use gatehouse_admin::Role;
use maud::{Markup, html};
use serde_json::Value;

use self::action::Action;
use self::column::{Column, Look};
use self::edit::Forms;
use self::filter::{Filter, Search};
use self::one::Related;

/// A kind of object.
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    /// The address of its list; an object's page is below it.
    pub(crate) path: &'static str,
    /// The page of the navigation it belongs to.
    pub(crate) section: &'static str,
    /// The kind as a heading, and one of it: `Keys`, `key`.
    pub(crate) names: (&'static str, &'static str),
    /// A sentence under the heading of the list.
    pub(crate) about: &'static str,
    /// Where its list is below `/admin/v1`, and what it is always asked for.
    pub(crate) api: &'static [&'static str],
    pub(crate) query: &'static [(&'static str, &'static str)],
    /// Several lists at one address.
    pub(crate) tabs: Option<&'static Tabs>,
    /// Who may see its list and its pages.
    pub(crate) role: Role,
    /// Whether its list follows what happens.
    pub(crate) live: bool,
    /// What all rows of its list come to.
    pub(crate) sums: Sums,
    /// The members with its id, and with what people call it.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// Whether the list begins with the newest.
    pub(crate) is_newest_first: bool,
    /// Rows on one page.
    pub(crate) rows: usize,
    pub(crate) search: Option<Search>,
    pub(crate) filters: &'static [Filter],
    pub(crate) columns: &'static [Column],
    /// What a list without rows says, and the command for the same. A kind that only stands on pages of others has none.
    pub(crate) empty: (&'static str, &'static str),
    /// The address of the list as a file, and the words on its button.
    pub(crate) download: (&'static str, &'static str),
    /// Forms for a new one and for an edit.
    pub(crate) forms: Option<Forms>,
    /// Whether an object has a page of its own.
    pub(crate) has_page: bool,
    /// Its state, beside the heading.
    pub(crate) state: fn(&Value, &Look<'_>) -> Markup,
    /// Its sums above the facts, or those of a list above its rows.
    pub(crate) figures: &'static [Column],
    pub(crate) facts: &'static [Column],
    /// What else stands on its page: links, warnings.
    pub(crate) more: fn(&Value, &Look<'_>) -> Markup,
    pub(crate) actions: &'static [Action],
    /// Lists of other objects on its page.
    pub(crate) related: &'static [Related],
}

/// Several lists at one address: the value of a parameter, a name and the list for each.
pub(crate) struct Tabs {
    pub(crate) parameter: &'static str,
    pub(crate) all: &'static [(&'static str, &'static str, &'static Resource)],
}

/// Where the sums of a list are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sums {
    /// In the list's own answer, if it has any.
    None,
    /// Below `/admin/v1`, for the same filters.
    At(&'static [&'static str]),
}

impl Resource {
    /// A list that is only read.
    pub(crate) const READ: Self = Self {
        path: "",
        section: "",
        names: ("", ""),
        about: "",
        api: &[],
        query: &[],
        tabs: None,
        role: Role::Viewer,
        live: false,
        sums: Sums::None,
        id: "id",
        name: "id",
        is_newest_first: false,
        rows: 50,
        search: None,
        filters: &[],
        columns: &[],
        empty: ("", ""),
        download: ("", ""),
        forms: None,
        has_page: false,
        state: |_, _| html! {},
        figures: &[],
        facts: &[],
        more: |_, _| html! {},
        actions: &[],
        related: &[],
    };

    /// The address of an object.
    pub(crate) fn address(&self, id: &str) -> String {
        format!("{}/{}", self.path, encoded(id))
    }

    /// The id of an object, as text.
    pub(crate) fn id_of(&self, value: &Value) -> String {
        plain(&value[self.id])
    }

    /// What may be done to it from there.
    pub(crate) fn actions_in(&self, is_row: bool) -> impl Iterator<Item = &'static Action> + use<> {
        self.actions.iter().filter(move |action| action.is_of_rows == is_row)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

/// A part of an address.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A value as text: a string without its quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The text of a member; without one, an empty text.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// The values of a member that is a list; without one, none.
pub(crate) fn members<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value[member].as_array().map(Vec::as_slice).unwrap_or_default()
}
