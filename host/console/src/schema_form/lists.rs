//! The controls of lists: a row for each item, and a button that adds one.

use gatehouse_schema::{Choice, Field, Kind};
use maud::{Markup, html};

use super::control::{control, item, last_name, member, pair_name};
use super::read::{item_rows, message_rows, rows};
use super::render::{About, Shown, options};

impl Shown<'_> {
    /// Rows that are shown: those of the form, one more if wanted, and never none.
    fn count(&self, present: usize, pointer: &str) -> usize {
        present.max(1) + usize::from(self.more == pointer)
    }

    fn more(&self, about: &About<'_>) -> Markup {
        html! {
            button type="submit" name="more" value=(about.name) aria-label={ "Add a row to " (about.label) } { "Add a row" }
            " " span.help { "A row without a value is left out." }
            @if let Some(problem) = self.problem(about.name) { p.problem { (problem) } }
        }
    }

    pub(super) fn rows(&self, kind: &Kind, about: &About<'_>, depth: usize) -> Markup {
        let pointer = about.name;
        let count = self.count(rows(self.form, pointer), pointer);
        self.group(about, &html! {
            @for at in 0..count {
                @let (name, label) = (item(pointer, at), format!("{} {}", about.label, at + 1));
                (self.without_problems().value(control(None, "", kind, depth), &About { medium: about.medium, ..About::plain(&name, &label, "") }, depth))
            }
            (self.more(about))
        })
    }

    pub(super) fn items(&self, fields: &[Field], about: &About<'_>, depth: usize) -> Markup {
        let pointer = about.name;
        let count = self.count(item_rows(self.form, pointer), pointer);
        // What is wrong in a row stands at its field; the rest is said of the list.
        let own: Vec<_> =
            self.problems.iter().filter(|(at, _)| !is_shown(fields, at, pointer, count)).cloned().collect();
        self.group(
            about,
            &html! {
                @for at in 0..count {
                    @let (name, label) = (item(pointer, at), format!("{} {}", about.label, at + 1));
                    (self.group(&About::plain(&name, &label, ""), &html! {
                        @for field in fields { (self.field(field, &name, last_name(pointer), depth + 1)) }
                    }))
                }
                (Shown { problems: &own, ..*self }.more(about))
            },
        )
    }

    pub(super) fn pairs(&self, kind: &Kind, about: &About<'_>, depth: usize) -> Markup {
        let pointer = about.name;
        let count = self.count(rows(self.form, pointer), pointer);
        let own = self.without_problems();
        self.group(about, &html! {
            @for at in 0..count {
                @let (key, name) = (pair_name(pointer, at), item(pointer, at));
                (own.line(&About::plain(&key, &format!("Name {}", at + 1), ""), None))
                (own.value(control(None, "", kind, depth), &About::plain(&name, &format!("Value {}", at + 1), ""), depth))
            }
            (self.more(about))
        })
    }

    pub(super) fn messages(&self, roles: &[Choice], about: &About<'_>) -> Markup {
        let pointer = about.name;
        let count = self.count(message_rows(self.form, pointer), pointer);
        let own = self.without_problems();
        let roles = options(roles);
        // Who writes a first message is the user.
        let user = roles.iter().find(|(_, word)| word == "user");
        let first: Vec<_> =
            user.into_iter().chain(roles.iter().filter(|one| Some(*one) != user)).cloned().collect();
        self.group(about, &html! {
            @for at in 0..count {
                @let row = item(pointer, at);
                (own.select(&About::plain(&member(&row, "role"), &format!("Role {}", at + 1), ""), &first, false))
                (own.lines(&member(&row, "content"), &About::plain(&member(&row, "content"), &format!("Text {}", at + 1), "")))
            }
            (self.more(about))
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
