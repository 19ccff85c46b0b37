//! What a list is asked for: fields above it by the names of parameters of the API, and one search field.

use gatehouse_model::UnixMs;
use maud::{Markup, html};

use crate::form::Form;
use crate::parts::elements::Problems;

/// Days of a list that nobody says the days of.
const USUAL_DAYS: u32 = 30;

/// A text that is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) placeholder: &'static str,
    /// What ids begin with for people.
    pub(crate) prefix: &'static str,
    /// Parameters of the API. A first page begins with what fits the earlier ones; pages go on by the last one.
    pub(crate) parameters: &'static [&'static str],
}

/// A field above the list, by the name of a parameter of the API.
#[derive(Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) how: How,
}

/// What a field is filled in with.
#[derive(Clone, Copy)]
pub(crate) enum How {
    /// A text; what ids begin with for people is taken off.
    Text(&'static str),
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A box that takes these values away.
    Unless(&'static [(&'static str, &'static str)]),
    /// Two days, with names and labels of their own.
    Days,
}

/// The first and the last day, UTC; the last thirty days where nobody says which.
pub(crate) const DAYS: Filter = Filter { name: "", label: "", how: How::Days };

impl Filter {
    /// The names of its fields.
    pub(super) fn names(&self) -> &[&'static str] {
        match self.how {
            How::Days => &["from", "to"],
            _ => std::slice::from_ref(&self.name),
        }
    }

    /// What the API is asked for.
    pub(super) fn sent(
        &self,
        query: &Form,
        now: UnixMs,
        problems: &mut Problems,
    ) -> Vec<(&'static str, String)> {
        let name = self.name;
        let given = Some(query.text(name)).filter(|text| !text.is_empty());
        match self.how {
            How::Text(prefix) => {
                let text = given.map(|text| text.strip_prefix(prefix).unwrap_or(text).to_owned());
                text.map(|text| (name, text)).into_iter().collect()
            }
            How::Flag if query.is_on(name) => vec![(name, "true".to_owned())],
            How::Choice(_) => given.map(|word| (name, word.to_owned())).into_iter().collect(),
            How::Unless(sends) if !query.is_on(name) => {
                sends.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
            }
            How::Days => {
                let (first, last) = days(query, now, problems);
                let end = UnixMs::of_day(last.saturating_add(1));
                vec![
                    ("created_after", UnixMs::of_day(first).to_string()),
                    ("created_before", end.to_string()),
                ]
            }
            How::Flag | How::Unless(_) => Vec::new(),
        }
    }

    pub(super) fn show(&self, query: &Form, now: UnixMs, is_first: bool) -> Markup {
        let Self { name, label, how } = self;
        match how {
            How::Text(_) => html! {
                label for=(name) { (label) }
                input.short id=(name) type="search" name=(name) value=(query.text(name)) autocomplete="off" data-search[is_first];
            },
            How::Flag | How::Unless(_) => html! {
                label.check { input type="checkbox" name=(name) value="true" checked[query.is_on(name)]; " " (label) }
            },
            How::Choice(words) => html! {
                label for=(name) { (label) }
                select id=(name) name=(name) {
                    option value="" { "any" }
                    @for word in *words { option value=(word) selected[query.text(name) == *word] { (word) } }
                }
            },
            How::Days => {
                let (first, last) = days(query, now, &mut Problems::default());
                html! { @for (name, label, day) in [("from", "From", first), ("to", "To", last)] {
                    label for=(name) { (label) }
                    input id=(name) type="date" name=(name) value=(UnixMs::of_day(day).date());
                } }
            }
        }
    }
}

/// The first and the last day that are meant.
fn days(query: &Form, now: UnixMs, problems: &mut Problems) -> (u32, u32) {
    let mut day = |name: &str, usual: u32| match query.text(name) {
        "" => usual,
        typed => UnixMs::parse_date(typed).unwrap_or_else(|| {
            problems.add("", format!("{name}: expected a day such as 2026-11-21, got {typed:?}"));
            usual
        }),
    };
    let last = day("to", now.day());
    let first = day("from", last.saturating_sub(USUAL_DAYS - 1));
    if first > last {
        problems.add("", "from: expected a day that is not after the last one");
    }
    (first, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_790_000_000_000);

    fn sent(query: &str) -> (Vec<String>, bool) {
        let (form, mut problems) = (Form::parse(query.as_bytes()), Problems::default());
        let sent = DAYS.sent(&form, NOW, &mut problems);
        (sent.into_iter().map(|(_, moment)| moment).collect(), problems.is_empty())
    }

    /// A statement of days that are cut in the middle cannot be summed up.
    #[test]
    fn days_are_whole_and_those_that_are_none_are_named() {
        let today = NOW.day();
        let usual = [today - 29, today + 1].map(|day| UnixMs::of_day(day).to_string()).to_vec();
        assert_eq!(sent(""), (usual, true));
        let one = ["2026-09-01T00:00:00.000Z", "2026-09-02T00:00:00.000Z"].map(str::to_owned).to_vec();
        assert_eq!(sent("from=2026-09-01&to=2026-09-01"), (one, true));
        for query in ["from=x", "to=2026-13-01", "from=2026-09-02&to=2026-09-01"] {
            assert!(!sent(query).1, "{query}");
        }
    }
}
