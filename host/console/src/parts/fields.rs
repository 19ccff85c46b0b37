//! Fields of forms: label, help, value and error, tied together for screen readers.

use maud::{Markup, html};

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
