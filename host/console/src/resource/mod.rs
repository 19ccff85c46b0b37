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

use gatehouse_admin::Role;
use maud::{Markup, html};
use serde_json::Value;

use self::action::Action;
use self::column::Column;
use self::fields::Hint;
use self::filter::{Filter, Search};
use self::one::{Related, Secret};
use crate::format::plain;
use crate::request::PageRequest;

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
    /// Where the sums of its list are below `/admin/v1`, for the same filters; empty where they are in the
    /// list's own answer, if it has any.
    pub(crate) sums: &'static [&'static str],
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
    /// Operations of the API for a new one and for an edit, by path. A kind has the forms of both, or none.
    pub(crate) create: &'static str,
    pub(crate) edit: &'static str,
    pub(crate) hints: &'static [Hint],
    /// Boxes for flags of the API in those forms.
    pub(crate) flags: &'static [(&'static str, &'static str)],
    /// The control that names something else, which may not be there.
    pub(crate) refers: &'static str,
    /// What is shown once of a new one; without it, its own page.
    pub(crate) secret: Option<&'static Secret>,
    /// Whether an object has a page of its own. Actions of kinds without one stand in the rows of lists.
    pub(crate) has_page: bool,
    /// Its state, beside the heading.
    pub(crate) state: fn(&Value, &PageRequest) -> Markup,
    /// Its sums above the facts, or those of a list above its rows.
    pub(crate) figures: &'static [Column],
    pub(crate) facts: &'static [Column],
    /// What else stands on its page: links, warnings.
    pub(crate) more: fn(&Value, &PageRequest) -> Markup,
    pub(crate) actions: &'static [Action],
    /// Lists of other objects on its page.
    pub(crate) related: &'static [Related],
}

/// Several lists at one address: the value of a parameter, a name and the list for each.
pub(crate) struct Tabs {
    pub(crate) parameter: &'static str,
    pub(crate) all: &'static [(&'static str, &'static str, &'static Resource)],
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
        sums: &[],
        id: "id",
        name: "id",
        is_newest_first: false,
        rows: 50,
        search: None,
        filters: &[],
        columns: &[],
        empty: ("", ""),
        download: ("", ""),
        create: "",
        edit: "",
        hints: &[],
        flags: &[],
        refers: "",
        secret: None,
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

    /// The id of an object, as text; empty where it has none.
    pub(crate) fn id_of(&self, value: &Value) -> String {
        Some(&value[self.id]).filter(|id| !id.is_null()).map(plain).unwrap_or_default()
    }
}

/// A part of an address.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The text of a member; without one, an empty text.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// The values of a member that is a list; without one, none.
pub(crate) fn members<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value[member].as_array().map(Vec::as_slice).unwrap_or_default()
}
