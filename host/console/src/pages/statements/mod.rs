//! Statements: the ledger's rows, and usage by day, key and model; of all, of one customer or of one key, for a span of days.

mod ledger;
mod usage;

use std::ops::Range;

use gatehouse_admin::{OperationError, ResponseBody};
use gatehouse_model::{CustomerId, KeyId, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};
use url::form_urlencoded::Serializer;

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::parts::fields::Problems;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Rows on one page.
const ROWS: usize = 50;
/// Days that are shown where nobody says which.
const USUAL_DAYS: u32 = 30;
/// Fields of the filter.
const FILTER: [&str; 6] = ["of", "customer", "key", "model", "from", "to"];

/// Which statement.
struct Wanted<'q> {
    query: &'q Form,
    is_usage: bool,
    customer: Option<CustomerId>,
    key: Option<KeyId>,
    model: Option<String>,
    /// The first and the last day.
    days: (u32, u32),
}

/// `GET /statements`, with `of` (ledger or usage), `customer`, `key`, `model`, `from`, `to` (days, UTC) and `after`, where the
/// page begins.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let mut problems = Problems::default();
    let wanted = Wanted::read(&request.query, request.now, &mut problems);
    let (mut status, mut found) = (StatusCode::UNPROCESSABLE_ENTITY, html! {});
    if problems.is_empty() {
        let shown = match wanted.is_usage {
            true => usage::show(pages, &wanted).await,
            false => ledger::show(pages, &wanted, request.now).await,
        };
        match shown {
            Ok(rows) => (status, found) = (StatusCode::OK, rows),
            Err(OperationError::Invalid(message)) => problems.add("", message),
            Err(OperationError::NotFound(message)) => {
                status = StatusCode::NOT_FOUND;
                problems.add("", message);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/statements", "Statements");
    let tab = |of: &str, name: &str, is_shown: bool| {
        html! { a href=(wanted.address(Some(of), None)) aria-current=[is_shown.then_some("page")] { (name) } }
    };
    Ok(shell.page(
        status,
        &html! {
            div.title {
                h1 { "Statements" }
                @if problems.is_empty() { a.button href=(wanted.csv()) download { "Download as CSV" } }
            }
            nav.tabs aria-label="Kind of statement" {
                (tab("ledger", "Ledger", !wanted.is_usage))
                (tab("usage", "Usage", wanted.is_usage))
            }
            (wanted.toolbar())
            (problems.summary_as("There is no such statement"))
            (found)
        },
    ))
}

impl<'q> Wanted<'q> {
    fn read(query: &'q Form, now: UnixMs, problems: &mut Problems) -> Self {
        let text = |name: &str| Some(query.text(name)).filter(|text: &&'q str| !text.is_empty());
        let mut day = |name: &str, usual: u32| match text(name) {
            None => usual,
            Some(typed) => UnixMs::parse_date(typed).unwrap_or_else(|| {
                problems.add(name, format!("expected a day such as 2026-11-21, got {typed:?}"));
                usual
            }),
        };
        let last = day("to", now.day());
        let first = day("from", last.saturating_sub(USUAL_DAYS - 1));
        if first > last {
            problems.add("from", "expected a day that is not after the last one");
        }
        Self {
            query,
            is_usage: query.text("of") == "usage",
            customer: text("customer").map(CustomerId::from),
            key: text("key").map(|id| KeyId::from(id.trim_start_matches("sk-"))),
            model: text("model").map(str::to_owned),
            days: (first, last),
        }
    }

    /// The days as moments.
    fn created(&self) -> Range<UnixMs> {
        UnixMs::of_day(self.days.0)..UnixMs::of_day(self.days.1.saturating_add(1))
    }

    /// The same statement, the other kind of it, or where its next page begins.
    fn address(&self, of: Option<&str>, after: Option<&str>) -> String {
        let mut fields = Serializer::new(String::new());
        for name in FILTER {
            let value = of.filter(|_| name == "of").unwrap_or_else(|| self.query.text(name));
            if !value.is_empty() {
                fields.append_pair(name, value);
            }
        }
        if let Some(after) = after {
            fields.append_pair("after", after);
        }
        format!("/statements?{}", fields.finish())
    }

    /// Where the page begins.
    fn after(&self) -> Option<&str> {
        Some(self.query.text("after")).filter(|text| !text.is_empty())
    }

    /// The export of the admin API with the same filter.
    fn csv(&self) -> String {
        let mut fields = Serializer::new(String::new());
        let created = self.created();
        if let Some(customer) = &self.customer {
            fields.append_pair("customer", &customer.0);
        }
        if let Some(key) = &self.key {
            fields.append_pair("key", &key.0);
        }
        if let Some(model) = self.model.as_ref().filter(|_| self.is_usage) {
            fields.append_pair("model", model);
        }
        fields.append_pair("created_after", &created.start.to_string());
        fields.append_pair("created_before", &created.end.to_string());
        let file = if self.is_usage { "usage.csv" } else { "ledger.csv" };
        format!("/admin/v1/{file}?{}", fields.finish())
    }

    fn toolbar(&self) -> Markup {
        let search = |name: &str, label: &str| {
            html! {
                label for={ "f-" (name) } { (label) }
                input.short id={ "f-" (name) } type="search" name=(name) value=(self.query.text(name)) autocomplete="off" data-search[name == "customer"];
            }
        };
        let day = |name: &str, label: &str, day: u32| {
            html! {
                label for={ "f-" (name) } { (label) }
                input id={ "f-" (name) } type="date" name=(name) value=(UnixMs::of_day(day).date());
            }
        };
        html! {
            form.toolbar method="get" role="search" {
                input type="hidden" name="of" value=(if self.is_usage { "usage" } else { "ledger" });
                (search("customer", "Customer"))
                (search("key", "Key"))
                @if self.is_usage { (search("model", "Model")) }
                (day("from", "From", self.days.0))
                (day("to", "To", self.days.1))
                button { "Show" }
            }
        }
    }

    fn pager(&self, next: Option<&str>) -> Markup {
        html! {
            @if self.after().is_some() || next.is_some() {
                p.pager {
                    @if self.after().is_some() { a.button href=(self.address(None, None)) { "Newest" } " " }
                    @if next.is_some() { a.button href=(self.address(None, next)) { "Older" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_790_000_000_000);

    fn read(query: &str) -> (Vec<u32>, bool, String, String) {
        let (form, mut problems) = (Form::parse(query.as_bytes()), Problems::default());
        let wanted = Wanted::read(&form, NOW, &mut problems);
        let days = vec![wanted.days.0, wanted.days.1];
        (days, problems.is_empty(), wanted.address(None, Some("7")), wanted.csv())
    }

    #[test]
    fn a_statement_is_one_of_whole_days() {
        let today = NOW.day();
        assert_eq!(read("").0, [today - 29, today]);
        let (days, is_right, address, csv) =
            read("of=usage&customer=a%26b&key=sk-k&model=m&from=2026-09-01&to=2026-09-01&after=x");
        assert!(is_right);
        assert_eq!(days[0], days[1]);
        let filter = "of=usage&customer=a%26b&key=sk-k&model=m&from=2026-09-01&to=2026-09-01";
        assert_eq!(address, format!("/statements?{filter}&after=7"));
        assert_eq!(
            csv,
            "/admin/v1/usage.csv?customer=a%26b&key=k&model=m&created_after=2026-09-01T00%3A00%3A00.000Z\
             &created_before=2026-09-02T00%3A00%3A00.000Z"
        );
        // The ledger knows no models.
        assert!(
            !read("model=m").3.contains("model") && read("model=m").3.starts_with("/admin/v1/ledger.csv?")
        );
    }

    #[test]
    fn days_that_are_none_are_named() {
        for query in ["from=x", "to=2026-13-01", "from=2026-09-02&to=2026-09-01"] {
            assert!(!read(query).1, "{query}");
        }
    }
}
