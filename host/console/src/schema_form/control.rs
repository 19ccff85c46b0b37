//! Controls of fields: which one a field has, the names of its parts in a form, and the rows of a list with a button that adds one.

use gatehouse_schema::{Choice, Field, Kind, Variant};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::media;
use super::read::rows;
use super::render::{About, Shown, options};

/// Objects inside of objects that are shown as fields; deeper ones are JSON.
const MAX_DEPTH: usize = 2;
/// A text that may have more characters gets several lines.
const LONG: u64 = 200;
/// What the choice of a form is called that is none of the schema's: JSON.
pub(super) const AS_JSON: &str = "json";

/// A control.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control<'k> {
    /// One line of text.
    Line,
    /// Several lines of text.
    Lines,
    /// One of a few values.
    Choice(&'k [Choice]),
    /// Unset, yes or no.
    Boolean,
    /// Digits; whether it has no fraction.
    Number(bool),
    /// A row for each item.
    Rows(&'k Kind),
    /// The fields of an object for each item.
    Items(&'k [Field]),
    /// The fields of an object.
    Group(&'k [Field]),
    /// A name and a value a row.
    Pairs(&'k Kind),
    /// One of several forms.
    Variants(&'k [Variant]),
    /// A role and a text a row.
    Messages(&'k [Choice]),
    /// Any JSON.
    Json,
}

/// The control of a field with that widget, `depth` objects deep.
pub(super) fn control<'k>(widget: Option<&str>, name: &str, kind: &'k Kind, depth: usize) -> Control<'k> {
    match kind {
        Kind::Text { length, .. } if is_long(widget, name, length.max) => Control::Lines,
        Kind::Text { .. } => Control::Line,
        Kind::Choice(choices) => Control::Choice(choices),
        Kind::Boolean => Control::Boolean,
        Kind::Number { integer, .. } => Control::Number(*integer),
        Kind::List { item, .. } => match (&**item, roles(item)) {
            (_, Some(roles)) if name == "messages" || widget == Some("messages") => Control::Messages(roles),
            (item, _) if is_scalar(item) => Control::Rows(item),
            // JSON takes no files.
            (Kind::Object(fields), _) if depth < MAX_DEPTH && hold_media(fields, name) => {
                Control::Items(fields)
            }
            _ => Control::Json,
        },
        Kind::Object(fields) if depth < MAX_DEPTH && !fields.is_empty() => Control::Group(fields),
        Kind::Map(value) if is_scalar(value) => Control::Pairs(value),
        Kind::Variants(variants) if depth < MAX_DEPTH => Control::Variants(variants),
        Kind::Object(_) | Kind::Map(_) | Kind::Variants(_) | Kind::Json => Control::Json,
    }
}

/// The control of a field.
pub(super) fn of_field(field: &Field, depth: usize) -> Control<'_> {
    control(field.widget.as_deref(), &field.name, &field.kind, depth)
}

fn is_long(widget: Option<&str>, name: &str, max: Option<u64>) -> bool {
    let is_prose = widget == Some("text") || ["prompt", "input", "text", "content", "system"].contains(&name);
    is_prose && max.is_none_or(|max| max > LONG)
}

fn hold_media(fields: &[Field], within: &str) -> bool {
    fields.iter().any(|field| media::medium_of(field, within).is_some())
}

/// A field that a form always sends, because it has one value.
pub(super) fn is_constant(field: &Field) -> bool {
    field.required && matches!(&field.kind, Kind::Choice(choices) if choices.len() == 1)
}

/// Whether an item has a value beside what a form always sends.
pub(super) fn has_value(fields: &[Field], members: &Map<String, Value>) -> bool {
    let sent = |field: &Field| match members.get(&field.name) {
        Some(Value::Object(inside)) => !inside.is_empty(),
        Some(_) => !is_constant(field),
        None => false,
    };
    fields.iter().any(sent)
}

/// Whether one control without parts holds a value of this kind.
pub(super) fn is_scalar(kind: &Kind) -> bool {
    matches!(kind, Kind::Text { .. } | Kind::Choice(_) | Kind::Boolean | Kind::Number { .. })
}

/// The roles of messages, where an item is an object with a role and a content that may be a text.
fn roles(item: &Kind) -> Option<&[Choice]> {
    let Kind::Object(fields) = item else { return None };
    let named = |name: &str| fields.iter().find(|field| field.name == name).map(|field| &field.kind);
    let is_text = |kind: &Kind| matches!(kind, Kind::Text { .. });
    let takes_text = match named("content")? {
        Kind::Variants(variants) => variants.iter().any(|variant| is_text(&variant.kind)),
        kind => is_text(kind) || *kind == Kind::Json,
    };
    match named("role")? {
        Kind::Choice(roles) if takes_text => Some(roles),
        _ => None,
    }
}

/// The pointer of a member.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The name at the end of a pointer.
pub(super) fn last_name(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// The pointer of an item.
pub(super) fn item(pointer: &str, index: usize) -> String {
    format!("{pointer}/{index}")
}

/// The name of the text area of a value as JSON.
pub(super) fn json(pointer: &str) -> String {
    format!("{pointer}|json")
}

/// The name of the choice among forms.
pub(super) fn variant(pointer: &str) -> String {
    format!("{pointer}|form")
}

/// The name of a row's name.
pub(super) fn pair_name(pointer: &str, index: usize) -> String {
    format!("{pointer}|name/{index}")
}

/// The id of the control of that name.
pub(super) fn id(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    format!("f{}", name.chars().map(plain).collect::<String>())
}

impl Shown<'_> {
    /// Rows that are shown: those of the form, one more if wanted, and never none.
    fn count(&self, pointer: &str) -> usize {
        rows(self.form, pointer).max(1) + usize::from(self.more == pointer)
    }

    /// The rows of a list, with a button that adds one.
    fn list(&self, about: &About<'_>, row: impl Fn(usize) -> Markup) -> Markup {
        self.group(about, &html! {
            @for at in 0..self.count(about.name) { (row(at)) }
            button type="submit" name="more" value=(about.name) aria-label={ "Add a row to " (about.label) } { "Add a row" }
            " " span.help { "A row without a value is left out." }
            @if let Some(problem) = self.problem(about.name) { p.problem { (problem) } }
        })
    }

    pub(super) fn rows(&self, kind: &Kind, about: &About<'_>, depth: usize) -> Markup {
        self.list(about, |at| {
            let (name, label) = (item(about.name, at), format!("{} {}", about.label, at + 1));
            let row = About { medium: about.medium, ..About::plain(&name, &label, "") };
            self.without_problems().value(control(None, "", kind, depth), &row, depth)
        })
    }

    pub(super) fn items(&self, fields: &[Field], about: &About<'_>, depth: usize) -> Markup {
        let pointer = about.name;
        let count = self.count(pointer);
        // What is wrong in a row stands at its field; the rest is said of the list.
        let own: Vec<_> =
            self.problems.iter().filter(|(at, _)| !is_shown(fields, at, pointer, count)).cloned().collect();
        Shown { problems: &own, ..*self }.list(about, |at| {
            let (name, label) = (item(pointer, at), format!("{} {}", about.label, at + 1));
            self.group(
                &About::plain(&name, &label, ""),
                &html! {
                    @for field in fields { (self.field(field, &name, last_name(pointer), depth + 1)) }
                },
            )
        })
    }

    pub(super) fn pairs(&self, kind: &Kind, about: &About<'_>, depth: usize) -> Markup {
        let own = self.without_problems();
        self.list(about, |at| {
            let (key, name) = (pair_name(about.name, at), item(about.name, at));
            html! {
                (own.line(&About::plain(&key, &format!("Name {}", at + 1), ""), None))
                (own.value(control(None, "", kind, depth), &About::plain(&name, &format!("Value {}", at + 1), ""), depth))
            }
        })
    }

    pub(super) fn messages(&self, roles: &[Choice], about: &About<'_>) -> Markup {
        let own = self.without_problems();
        let roles = options(roles);
        // The user writes the first message.
        let user = roles.iter().find(|(_, word)| word == "user");
        let first: Vec<_> =
            user.into_iter().chain(roles.iter().filter(|one| Some(*one) != user)).cloned().collect();
        self.list(about, |at| {
            let row = item(about.name, at);
            html! {
                (own.select(&About::plain(&member(&row, "role"), &format!("Role {}", at + 1), ""), &first, false))
                (own.lines(&member(&row, "content"), &About::plain(&member(&row, "content"), &format!("Text {}", at + 1), "")))
            }
        })
    }
}

/// Whether that is in a field of a row that is shown.
fn is_shown(fields: &[Field], found: &str, pointer: &str, count: usize) -> bool {
    let inside = found.strip_prefix(pointer).and_then(|rest| rest.strip_prefix('/')?.split_once('/'));
    let Some((at, rest)) = inside else { return false };
    let named = |field: &Field| member("", &field.name)[1..] == *rest.split('/').next().unwrap_or_default();
    at.parse::<usize>().is_ok_and(|at| at < count) && fields.iter().any(named)
}
