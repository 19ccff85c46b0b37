//! The controls of a form, each with its label, its help, its limits and what is wrong with it.

use gatehouse_schema::{Choice, Field, Kind, Limits, Variant};
use maud::{Markup, html};
use serde_json::Value;

use super::control::{AS_JSON, Control, control, id, json, last_name, member, of_field, variant};
use super::media::Medium;
use super::media::{self, file_name};
use super::read::REST;
use crate::form::Form;
use crate::format::plain;

/// Fields that are shown at once; more optional ones are folded away.
const SHOWN: usize = 8;

/// A form as it is shown.
pub(crate) struct Shown<'s> {
    /// What stands in it.
    pub(crate) form: &'s Form,
    /// By pointer.
    pub(crate) problems: &'s [(String, String)],
    /// The list that gets one more row.
    pub(crate) more: &'s str,
}

/// A control's label and what is said of it.
pub(super) struct About<'a> {
    pub(super) name: &'a str,
    pub(super) label: &'a str,
    pub(super) required: bool,
    pub(super) help: String,
    pub(super) placeholder: String,
    pub(super) examples: &'a [Value],
    /// It takes the address of such a medium.
    pub(super) medium: Option<Medium>,
}

/// The controls of these fields.
pub(crate) fn render(fields: &[Field], shown: &Shown<'_>) -> Markup {
    let is_first = |at: usize, field: &Field| !field.deprecated && (field.required || at < SHOWN);
    let (first, rest): (Vec<_>, Vec<_>) =
        fields.iter().enumerate().partition(|(at, field)| is_first(*at, field));
    let in_use = rest.iter().any(|(_, field)| shown.is_in_use(&member("", &field.name)));
    html! {
        @for (_, field) in first { (shown.field(field, "", "", 0)) }
        @if !rest.is_empty() {
            details.more open[in_use] {
                summary { "More fields" }
                @for (_, field) in rest { (shown.field(field, "", "", 0)) }
            }
        }
        @if shown.form.given(REST).is_some() {
            (shown.lines(REST, &About::plain(REST, "Other members", "Members that the schema does not name, as a JSON object.")))
        }
    }
}

impl<'a> About<'a> {
    pub(super) fn plain(name: &'a str, label: &'a str, help: &str) -> Self {
        let help = help.to_owned();
        Self { name, label, required: false, help, placeholder: String::new(), examples: &[], medium: None }
    }

    /// Of a field in the object of that name, `depth` objects deep.
    fn of(field: &'a Field, pointer: &'a str, within: &str, depth: usize) -> Self {
        let limits = limits(&field.kind);
        let deprecated = field.deprecated.then(|| "Deprecated.".to_owned());
        let help = field.help.clone().into_iter().chain(deprecated).chain(limits).collect::<Vec<_>>();
        Self {
            name: pointer,
            label: field.title.as_deref().unwrap_or(&field.name),
            required: field.required,
            help: help.join(" "),
            placeholder: field.default.as_ref().map(plain).unwrap_or_default(),
            examples: &field.examples,
            medium: media::of(field, within, depth),
        }
    }

    fn label(&self) -> Markup {
        html! {
            (self.label)
            @if self.required { span.muted { " (required)" } }
            @if !self.placeholder.is_empty() { span.muted { " default " (self.placeholder) } }
        }
    }
}

impl Shown<'_> {
    /// Whether anything stands in a control or is wrong with it.
    fn is_in_use(&self, pointer: &str) -> bool {
        self.problem(pointer).is_some() || self.more == pointer || self.form.begins_with(pointer)
    }

    /// What is wrong with a value, or with anything inside of it.
    pub(super) fn problem(&self, pointer: &str) -> Option<String> {
        let below = |found: &str| {
            found.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found: Vec<&str> =
            self.problems.iter().filter(|(at, _)| below(at)).map(|(_, why)| why.as_str()).collect();
        (!found.is_empty()).then(|| found.join("; "))
    }

    pub(super) fn field(&self, field: &Field, pointer: &str, within: &str, depth: usize) -> Markup {
        let pointer = member(pointer, &field.name);
        let about = About::of(field, &pointer, within, depth);
        // An object that is there always has its constants.
        self.value(of_field(field, depth), &about, depth)
    }

    pub(super) fn value(&self, with: Control<'_>, about: &About<'_>, depth: usize) -> Markup {
        let pointer = about.name;
        if let (Some(_), false) = (self.form.given(&json(pointer)), matches!(with, Control::Variants(_))) {
            return self.json(about);
        }
        match with {
            Control::Line => self.line(about, None),
            Control::Number(integer) => self.line(about, Some(if integer { "numeric" } else { "decimal" })),
            Control::Lines => self.lines(pointer, about),
            Control::Boolean => {
                let words = [("true", "yes"), ("false", "no")];
                self.select(about, &words.map(|(value, word)| (value.to_owned(), word.to_owned())), true)
            }
            Control::Choice(choices) => {
                let is_constant = about.required && choices.len() == 1;
                self.select(about, &options(choices), !is_constant)
            }
            Control::Rows(kind) => self.rows(kind, about, depth),
            Control::Items(fields) => self.items(fields, about, depth),
            Control::Group(fields) => self.group(
                about,
                &html! {
                    @for field in fields { (self.field(field, pointer, last_name(pointer), depth + 1)) }
                },
            ),
            Control::Pairs(kind) => self.pairs(kind, about, depth),
            Control::Messages(roles) => self.messages(roles, about),
            Control::Variants(variants) => self.variants(variants, about, depth),
            Control::Json => self.json(about),
        }
    }

    /// Help, control and problem under a label.
    fn labelled(
        &self,
        about: &About<'_>,
        name: &str,
        input: impl Fn(&str, Option<&str>) -> Markup,
    ) -> Markup {
        let (id, problem) = (id(name), self.problem(about.name));
        let help = (!about.help.is_empty()).then(|| format!("{id}-help"));
        let wrong = problem.as_ref().map(|_| format!("{id}-problem"));
        let described: Vec<String> = help.iter().chain(&wrong).cloned().collect();
        let described = (!described.is_empty()).then(|| described.join(" "));
        html! {
            div.field {
                label for=(id) { (about.label()) }
                @if let Some(help) = &help { p.help id=(help) { (about.help) } }
                (input(&id, described.as_deref()))
                @if let (Some(wrong), Some(problem)) = (&wrong, &problem) { p.problem id=(wrong) { (problem) } }
            }
        }
    }

    pub(super) fn line(&self, about: &About<'_>, digits: Option<&str>) -> Markup {
        let name = about.name;
        let list = (!about.examples.is_empty()).then(|| format!("{}-examples", id(name)));
        let is_wrong = self.problem(name).map(|_| "true");
        let value = self.form.given(name).unwrap_or_default();
        self.labelled(about, name, |id, described| {
            html! {
                input type="text" id=(id) name=(name) value=(value) inputmode=[digits] placeholder=(about.placeholder)
                    list=[list.as_deref()] autocomplete="off" aria-describedby=[described] aria-invalid=[is_wrong];
                @if let Some(list) = &list {
                    datalist id=(list) { @for one in about.examples { option value=(plain(one)) {} } }
                }
                @if let Some(medium) = about.medium {
                    input type="file" name=(file_name(name)) accept=[medium.accept()] aria-label={ "File for " (about.label) };
                }
            }
        })
    }

    pub(super) fn lines(&self, name: &str, about: &About<'_>) -> Markup {
        let value = self.form.given(name).unwrap_or_default();
        let is_wrong = self.problem(about.name).map(|_| "true");
        let height = value.lines().count().clamp(3, 16);
        self.labelled(about, name, |id, described| {
            html! {
                textarea id=(id) name=(name) rows=(height) spellcheck="false" aria-describedby=[described]
                    aria-invalid=[is_wrong] { "\n" (value) }
            }
        })
    }

    fn json(&self, about: &About<'_>) -> Markup {
        let help = if about.help.is_empty() { "JSON.".to_owned() } else { format!("{} JSON.", about.help) };
        self.lines(&json(about.name), &About { help, placeholder: String::new(), ..*about })
    }

    pub(super) fn select(&self, about: &About<'_>, options: &[(String, String)], has_unset: bool) -> Markup {
        let (name, is_wrong) = (about.name, self.problem(about.name).map(|_| "true"));
        let chosen = self.form.given(name).unwrap_or_default();
        self.labelled(about, name, |id, described| {
            html! {
                select id=(id) name=(name) aria-describedby=[described] aria-invalid=[is_wrong] {
                    @if has_unset { option value="" { "unset" } }
                    @for (value, word) in options { option value=(value) selected[value == chosen] { (word) } }
                }
            }
        })
    }

    pub(super) fn group(&self, about: &About<'_>, inside: &Markup) -> Markup {
        html! {
            fieldset.group {
                legend { (about.label()) }
                @if !about.help.is_empty() { p.help { (about.help) } }
                (inside)
            }
        }
    }

    fn variants(&self, variants: &[Variant], about: &About<'_>, depth: usize) -> Markup {
        let pointer = about.name;
        let name = variant(pointer);
        let chosen = self.form.given(&name).unwrap_or_default();
        let mut words: Vec<(String, String)> = variants
            .iter()
            .enumerate()
            .map(|(at, one)| (at.to_string(), described(&one.name, one.help.as_deref())))
            .collect();
        words.push((AS_JSON.to_owned(), "as JSON".to_owned()));
        let of_choice = chosen.parse::<usize>().ok().and_then(|at| variants.get(at));
        let form_of = format!("Form of {}", about.label);
        self.group(about, &html! {
            (self.without_problems().select(&About::plain(&name, &form_of, ""), &words, true))
            button type="submit" name="do" value="form" aria-label={ "Show the fields of " (about.label) } { "Show its fields" }
            @if let Some(one) = of_choice {
                @let inside = About { medium: about.medium, ..About::plain(pointer, about.label, "") };
                (self.value(control(None, "", &one.kind, depth + 1), &inside, depth + 1))
            } @else if chosen == AS_JSON {
                (self.json(&About::plain(pointer, about.label, "")))
            } @else if let Some(problem) = self.problem(pointer) {
                p.problem { (problem) }
            }
        })
    }

    /// For parts whose problems stand at the whole.
    pub(super) fn without_problems(&self) -> Shown<'_> {
        Shown { problems: &[], ..*self }
    }
}

/// Values as JSON, and the words for them.
pub(super) fn options(choices: &[Choice]) -> Vec<(String, String)> {
    let word = |choice: &Choice| described(&plain(&choice.value), choice.help.as_deref());
    choices.iter().map(|choice| (choice.value.to_string(), word(choice))).collect()
}

fn described(word: &str, help: Option<&str>) -> String {
    match help.map(|help| help.lines().next().unwrap_or_default()) {
        Some(help) if !help.is_empty() => format!("{word}: {help}"),
        _ => word.to_owned(),
    }
}

/// The limits of a value as a sentence.
fn limits(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Text { length, .. } => Some(format!("{} characters.", range(length)?)),
        Kind::List { length, .. } => Some(format!("{} rows.", range(length)?)),
        Kind::Number { range: limits, .. } => Some(format!("{}.", range(limits)?)),
        _ => None,
    }
}

fn range<T: std::fmt::Display>(limits: &Limits<T>) -> Option<String> {
    match (&limits.min, &limits.max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("At least {min}")),
        (None, Some(max)) => Some(format!("At most {max}")),
        (None, None) => None,
    }
}
