//! Small elements: states, copy buttons, empty pages, dialogs, bars; and fields of forms: label, help, value and error, tied together
//! for screen readers.

use gatehouse_model::{Credits, QuotaUse};
use maud::{Markup, html};

use crate::format::{credits_text, seconds};

/// How good a state is; decides colour and shape, never the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Ok,
    Warn,
    Error,
    Info,
    Neutral,
}

impl Tone {
    /// The class, and a shape of its own beside the word for those who see no colours.
    const fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Ok => ("chip ok", "●"),
            Self::Warn => ("chip warn", "▲"),
            Self::Error => ("chip error", "✕"),
            Self::Info => ("chip info", "◆"),
            Self::Neutral => ("chip", "○"),
        }
    }
}

/// A state: shape and word.
pub(crate) fn chip(tone: Tone, word: &str) -> Markup {
    let (class, mark) = tone.look();
    html! { span class=(class) { span aria-hidden="true" { (mark) } " " (word) } }
}

/// A block of text to paste, with a button that copies it.
pub(crate) fn paste(id: &str, label: &str, text: &str) -> Markup {
    html! {
        div.paste {
            pre tabindex="0" role="region" aria-label=(label) { code id=(id) { (text) } }
            button type="button" data-copies=(id) { "Copy" }
        }
    }
}

/// A page or table without rows.
pub(crate) fn empty(sentence: &str, button: Option<(&str, &str)>, command: &str) -> Markup {
    html! {
        div.empty {
            p { (sentence) }
            @if let Some((address, name)) = button { p { a.button.primary href=(address) { (name) } } }
            p.muted { "On the command line: " code { (command) } }
        }
    }
}

/// A button and the dialog it opens, with what it will do and the form that does it.
pub(crate) struct Confirm<'c> {
    pub(crate) id: &'c str,
    /// The verb on both buttons.
    pub(crate) button: &'c str,
    /// Names the thing.
    pub(crate) title: &'c str,
    /// What follows.
    pub(crate) consequence: &'c str,
    pub(crate) action: &'c str,
    pub(crate) danger: bool,
}

impl Confirm<'_> {
    /// With more fields in its form.
    pub(crate) fn with(&self, fields: &Markup) -> Markup {
        let title = format!("{}-title", self.id);
        html! {
            button type="button" .danger[self.danger] command="show-modal" commandfor=(self.id) { (self.button) }
            dialog id=(self.id) aria-labelledby=(title) {
                h2 id=(title) { (self.title) }
                p { (self.consequence) }
                form method="post" action=(self.action) {
                    (fields)
                    div.buttons {
                        button .danger[self.danger] .primary[!self.danger] { (self.button) }
                        button type="button" command="close" commandfor=(self.id) { "Cancel" }
                    }
                }
            }
        }
    }

    pub(crate) fn show(&self) -> Markup {
        self.with(&html! {})
    }
}

/// How far something is, in percent; nothing once it has ended.
pub(crate) fn progress(percent: Option<u64>) -> Markup {
    let Some(percent) = percent else { return html! { span.muted { "ended" } } };
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={ (percent) " %" } {
            rect.track width="100" height="6" rx="2" {}
            rect.fill width=(percent) height="6" rx="2" {}
        }
        span.num { (percent) " %" }
    }
}

/// What is used of a quota, and when it resets; `used` is what was used in all.
pub(crate) fn quota(used: Credits, quota: Option<QuotaUse>) -> Markup {
    let Some(QuotaUse { limit, used, resets }) = quota else {
        return html! { span.muted.num { "unlimited" br; (credits_text(used)) " used" } };
    };
    let share = percent(used, limit);
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={ (share) " % used" } {
            rect.track width="100" height="6" rx="2" {}
            rect .fill .full[share >= 90] width=(share) height="6" rx="2" {}
        }
        span.num { (credits_text(used)) " of " (credits_text(limit)) }
        @if let Some(resets) = resets { br; span.muted { "resets " (seconds(resets)) " UTC" } }
    }
}

/// Whole percent of a quota, at most 100.
fn percent(used: Credits, quota: Credits) -> u8 {
    let (used, quota) = (i128::from(used.0.max(0)), i128::from(quota.0.max(0)));
    if quota == 0 {
        return 100;
    }
    u8::try_from((used * 100 / quota).min(100)).unwrap_or(100)
}

/// What is wrong with one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems(Vec<(String, String)>);

impl Problems {
    pub(crate) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.0.push((field.to_owned(), message.into()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A refusal of the service: `field: what is wrong` belongs to that field, where the form has it.
    pub(crate) fn take(&mut self, message: &str, fields: &[&str]) {
        let named = message.split_once(": ").filter(|(field, _)| fields.contains(field));
        match named {
            Some((field, rest)) => self.add(field, rest),
            None => self.add("", message),
        }
    }

    pub(crate) fn of(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, message)| message.as_str())
    }

    /// What stands above a form: every problem, with a link to its field.
    pub(crate) fn summary(&self) -> Markup {
        self.summary_as("This could not be saved")
    }

    /// The same under another heading.
    pub(crate) fn summary_as(&self, heading: &str) -> Markup {
        html! {
            @if !self.0.is_empty() {
                div.problems role="alert" tabindex="-1" autofocus {
                    h2 { (heading) }
                    ul {
                        @for (field, message) in &self.0 {
                            li {
                                @if field.is_empty() { (message) }
                                @else { a href={ "#f-" (field) } { (field) ": " (message) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One line of text.
pub(crate) struct Field<'f> {
    pub(crate) name: &'f str,
    pub(crate) label: &'f str,
    pub(crate) help: &'f str,
    pub(crate) value: &'f str,
    pub(crate) required: bool,
    /// Digits are typed, so a phone shows its digits.
    pub(crate) decimal: bool,
}

impl Field<'_> {
    pub(crate) fn show(&self, problems: &Problems) -> Markup {
        let (id, problem) = (format!("f-{}", self.name), problems.of(self.name));
        let described = described(&id, self.help, problem);
        html! {
            div.field {
                label for=(id) { (self.label) @if self.required { span.muted { " (required)" } } }
                @if !self.help.is_empty() { p.help id={ (id) "-help" } { (self.help) } }
                input type="text" id=(id) name=(self.name) value=(self.value) required[self.required]
                    inputmode=[self.decimal.then_some("decimal")] autocomplete="off" spellcheck="false"
                    aria-describedby=[described] aria-invalid=[problem.map(|_| "true")];
                @if let Some(problem) = problem { p.problem id={ (id) "-problem" } { (problem) } }
            }
        }
    }
}

/// Several lines of text.
pub(crate) fn lines(name: &str, label: &str, help: &str, value: &str, problems: &Problems) -> Markup {
    let (id, problem) = (format!("f-{name}"), problems.of(name));
    html! {
        div.field {
            label for=(id) { (label) }
            p.help id={ (id) "-help" } { (help) }
            textarea id=(id) name=(name) rows="3" spellcheck="false" autocomplete="off"
                aria-describedby=[described(&id, help, problem)] aria-invalid=[problem.map(|_| "true")] { (value) }
            @if let Some(problem) = problem { p.problem id={ (id) "-problem" } { (problem) } }
        }
    }
}

/// One of several.
pub(crate) fn select(name: &str, label: &str, options: &[(&str, &str)], chosen: &str) -> Markup {
    let id = format!("f-{name}");
    html! {
        div.field {
            label for=(id) { (label) }
            select id=(id) name=(name) {
                @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } }
            }
        }
    }
}

fn described(id: &str, help: &str, problem: Option<&str>) -> Option<String> {
    let help = (!help.is_empty()).then(|| format!("{id}-help"));
    let problem = problem.map(|_| format!("{id}-problem"));
    let ids: Vec<String> = help.into_iter().chain(problem).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_bounded() {
        for (used, quota, expected) in [
            (0, 0, 100),
            (0, 10, 0),
            (1, 3, 33),
            (10, 10, 100),
            (30, 10, 100),
            (-5, 10, 0),
            (i64::MAX, 1, 100),
        ] {
            assert_eq!(percent(Credits(used), Credits(quota)), expected, "{used} of {quota}");
        }
    }

    #[test]
    fn a_refusal_goes_to_its_field() {
        let mut problems = Problems::default();
        problems.take("quota: expected zero or more", &["name", "quota"]);
        problems.take("elsewhere: wrong", &["name", "quota"]);
        assert_eq!(problems.of("quota"), Some("expected zero or more"));
        assert_eq!(problems.of(""), Some("elsewhere: wrong"));
        let field =
            Field { name: "quota", label: "Quota", help: "h", value: "<", required: true, decimal: true };
        let text = field.show(&problems).into_string();
        for part in [
            "aria-describedby=\"f-quota-help f-quota-problem\"",
            "aria-invalid=\"true\"",
            "value=\"&lt;\"",
            "for=\"f-quota\"",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
