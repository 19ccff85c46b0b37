//! What a list or a page shows of an object: a member of its JSON, and how it is written.

use gatehouse_admin::Moment;
use gatehouse_model::{Credits, UnixMs};
use maud::{Markup, html};
use serde_json::Value;

use super::{encoded, text};
use crate::format::{count, credits, moment, plain, short_id};
use crate::request::PageRequest;

/// How a member is written.
#[derive(Clone, Copy)]
pub(crate) enum Show {
    /// As it is.
    Text,
    /// A word of a program.
    Code,
    /// Millionths of a credit.
    Credits,
    Count,
    Moment,
    /// Links to what has this id.
    Customer,
    Key,
    Task,
    /// The object, by its own words.
    Own(fn(&Value, &PageRequest) -> Markup),
    /// The link to the object's page, with these words in it.
    Page(fn(&Value) -> Markup),
}

/// A column of a list, or a line of a page.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) label: &'static str,
    member: &'static str,
    show: Show,
    pub(crate) class: Option<&'static str>,
    /// Left out where no row has it.
    is_optional: bool,
}

impl Column {
    pub(crate) const fn new(label: &'static str, member: &'static str, show: Show) -> Self {
        let class = match show {
            Show::Credits | Show::Count => Some("right"),
            Show::Page(_) => Some("wide"),
            _ => None,
        };
        Self { label, member, show, class, is_optional: false }
    }

    pub(crate) const fn own(label: &'static str, show: fn(&Value, &PageRequest) -> Markup) -> Self {
        Self::new(label, "", Show::Own(show))
    }

    /// Left out of tables in which no row has it.
    pub(crate) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// Whether it belongs to a table of these rows.
    pub(crate) fn is_of(&self, rows: &[Value]) -> bool {
        !self.is_optional || rows.iter().any(|row| self.has(row))
    }

    /// With the whole width of a card on a phone.
    pub(crate) const fn wide(self) -> Self {
        Self { class: Some("wide text"), ..self }
    }

    /// Left out on a phone.
    pub(crate) const fn less(self) -> Self {
        let class = if self.is_right() { "right less" } else { "less" };
        Self { class: Some(class), ..self }
    }

    pub(crate) const fn is_right(&self) -> bool {
        matches!(self.show, Show::Credits | Show::Count)
    }

    /// Whether there is anything to show.
    pub(crate) fn has(&self, value: &Value) -> bool {
        self.member.is_empty() || !value[self.member].is_null()
    }

    pub(crate) fn show(&self, value: &Value, address: &str, request: &PageRequest) -> Markup {
        let member = &value[self.member];
        match (self.show, member) {
            (Show::Own(show), _) => show(value, request),
            (Show::Page(words), _) => html! { a.row href=(address) { (words(value)) } },
            (_, Value::Null) => html! { span.muted { "none" } },
            (Show::Text, _) => html! { bdi { (plain(member)) } },
            (Show::Code, _) => html! { code { (plain(member)) } },
            (Show::Credits, _) => credits(Credits(member.as_i64().unwrap_or_default())),
            (Show::Count, _) => html! { span.num { (count(member.as_u64().unwrap_or_default())) } },
            (Show::Moment, _) => when(member, request),
            (Show::Customer, _) => customer(text(value, self.member)),
            (Show::Key, _) => key(text(value, self.member)),
            (Show::Task, _) => {
                html! { a href={ "/tasks/" (text(value, self.member)) } { (short_id(text(value, self.member))) } }
            }
        }
    }
}

/// A moment of the API.
pub(crate) fn at(value: &Value) -> Option<UnixMs> {
    Moment::parse(value.as_str()?).ok().map(|moment| moment.0)
}

/// A moment, as people say it.
pub(crate) fn when(value: &Value, request: &PageRequest) -> Markup {
    html! { @if let Some(at) = at(value) { (moment(at, request.now)) } @else { span.muted { "never" } } }
}

pub(crate) fn customer(id: &str) -> Markup {
    html! { a href={ "/customers/" (encoded(id)) } { bdi { (id) } } }
}

pub(crate) fn key(id: &str) -> Markup {
    html! { a href={ "/keys/" (encoded(id)) } { code { "sk-" (id) "…" } } }
}
