//! Usage over time: a chart, the same numbers as a table, and their sum. Days are UTC everywhere.

use std::collections::BTreeMap;

use gatehouse_admin::{UsageGroup, UsageGroups, UsagePeriod, UsageReport, UsageRequest, UsageSums};
use gatehouse_model::{Credits, CustomerId, KeyId, UnixMs};
use maud::{Markup, html};

use crate::error::Outcome;
use crate::form::Form;
use crate::format::{count, credits, credits_text, seconds};
use crate::parts::elements::empty;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

const DAY: u64 = 86_400_000;
const HOUR: u64 = 3_600_000;
/// Series of the chart; what comes after is their "others".
const SERIES: usize = 4;

/// How far back, and in what steps.
const RANGES: &[(&str, &str, u64, UsagePeriod)] = &[
    ("24h", "24 hours", DAY, UsagePeriod::Hour),
    ("7d", "7 days", 7 * DAY, UsagePeriod::Day),
    ("30d", "30 days", 30 * DAY, UsagePeriod::Day),
    ("365d", "a year", 365 * DAY, UsagePeriod::Day),
];

/// What a line of the chart stands for.
const GROUPS: &[(&str, &str)] = &[("model", "model"), ("customer", "customer"), ("key", "key")];

/// `GET /usage`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let query = &request.query;
    let range = RANGES.iter().find(|range| range.0 == query.text("range")).unwrap_or(&RANGES[2]);
    let by = GROUPS.iter().find(|group| group.0 == query.text("by")).unwrap_or(&GROUPS[0]).0;
    let (start, end) = bounds(request.now, range.2, range.3);
    let wanted = wanted(query, by, range.3, start..end);
    let report = request.pages.service.usage.report(&wanted).await?;
    let groups: Vec<(String, UsageSums)> = totals(&report, by);
    let shell = Shell::new(&request, "/usage", "Usage");
    let shell = Shell { files: &["vendor/uPlot.min.css", "vendor/uPlot.iife.min.js", "chart.js"], ..shell };
    Ok(shell.show(&html! {
        h1 { "Usage" }
        (toolbar(query, range.0, by))
        @if report.rows.is_empty() {
            (empty("No request has ended in this time.", None, "curl -H \"Authorization: Bearer $TOKEN\" $ADMIN/admin/v1/usage"))
        } @else {
            p.muted { "From " (seconds(start)) " to " (seconds(end)) " UTC, by when requests ended. Amounts in credits." }
            (chart(&report, &groups, by, range.3, start..end))
            (table(&groups, &report.total, by))
        }
    }))
}

/// Whole hours or days, the present one included.
fn bounds(now: UnixMs, back: u64, period: UsagePeriod) -> (UnixMs, UnixMs) {
    let unit = unit(period);
    let end = (now.0 / unit + 1) * unit;
    (UnixMs(end.saturating_sub(back)), UnixMs(end))
}

const fn unit(period: UsagePeriod) -> u64 {
    match period {
        UsagePeriod::Hour => HOUR,
        UsagePeriod::Day => DAY,
    }
}

fn wanted(query: &Form, by: &str, period: UsagePeriod, created: std::ops::Range<UnixMs>) -> UsageRequest {
    let text = |name| Some(query.text(name)).filter(|text| !text.is_empty());
    UsageRequest {
        groups: UsageGroups {
            period: Some(period),
            customer: by == "customer",
            key: by == "key",
            model: by == "model",
        },
        customer: text("customer").map(CustomerId::from),
        key: text("key").map(|id| KeyId::from(id.trim_start_matches("sk-"))),
        models: text("model").map(str::to_owned).into_iter().collect(),
        created,
    }
}

fn toolbar(query: &Form, range: &str, by: &str) -> Markup {
    html! {
        form.toolbar method="get" role="search" {
            label for="range" { "Time" }
            select #range name="range" { @for (value, text, ..) in RANGES { option value=(value) selected[*value == range] { (text) } } }
            label for="by" { "By" }
            select #by name="by" { @for (value, text) in GROUPS { option value=(value) selected[*value == by] { (text) } } }
            @for (name, label) in [("customer", "Customer"), ("key", "Key"), ("model", "Model")] {
                label for=(name) { (label) }
                input.short id=(name) type="search" name=(name) value=(query.text(name)) autocomplete="off" data-search[name == "customer"];
            }
            button { "Show" }
        }
    }
}

fn name_of(row: &UsageGroup, by: &str) -> String {
    let name = match by {
        "customer" => row.customer.as_ref().map(ToString::to_string),
        "key" => row.key.as_ref().map(ToString::to_string),
        _ => row.model.clone(),
    };
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// The sums of each model, customer or key, the most expensive first.
fn totals(report: &UsageReport, by: &str) -> Vec<(String, UsageSums)> {
    let mut sums: BTreeMap<String, UsageSums> = BTreeMap::new();
    for row in &report.rows {
        sums.entry(name_of(row, by)).or_default().add(&row.sums);
    }
    let mut groups: Vec<_> = sums.into_iter().collect();
    groups.sort_by_key(|(name, sums)| (std::cmp::Reverse(sums.settled), name.clone()));
    groups
}

/// What was spent in each hour or day: a table that the script draws a chart from, and that stays for those who read it.
fn chart(
    report: &UsageReport,
    groups: &[(String, UsageSums)],
    by: &str,
    period: UsagePeriod,
    range: std::ops::Range<UnixMs>,
) -> Markup {
    let mut names: Vec<&str> = groups.iter().take(SERIES).map(|(name, _)| name.as_str()).collect();
    let others = groups.len() > SERIES;
    if others {
        names.push("others");
    }
    let mut spent: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    let (step, mut at) = (unit(period), range.start.0);
    while at < range.end.0 {
        spent.insert(at, vec![0; names.len()]);
        at += step;
    }
    for row in &report.rows {
        let Some(cells) = row.since.and_then(|since| spent.get_mut(&since.0)) else { continue };
        let name = name_of(row, by);
        let at = names.iter().position(|known| *known == name).unwrap_or(names.len() - 1);
        if let Some(cell) = cells.get_mut(at) {
            *cell = cell.saturating_add(row.sums.settled.0);
        }
    }
    let moment =
        |at: u64| seconds(UnixMs(at)).get(..if step == DAY { 10 } else { 16 }).unwrap_or_default().to_owned();
    html! {
        figure {
            div #chart.chart role="img" aria-label="Credits spent over time; the same numbers stand in the table below" {}
            details.recipe {
                summary { "The chart as a table" }
                div.scroll role="region" aria-label="Spent over time" tabindex="0" {
                    table data-chart="chart" {
                        caption { "Credits spent, UTC" }
                        thead { tr { th scope="col" { "From" } @for name in &names { th.right scope="col" { (name) } } } }
                        tbody { @for (at, cells) in &spent {
                            tr { th scope="row" data-at=(at / 1000) { (moment(*at)) }
                                @for cell in cells { td.right.num data-micro=(cell) { (credits_text(Credits(*cell))) } } }
                        } }
                    }
                }
            }
        }
    }
}

fn table(groups: &[(String, UsageSums)], total: &UsageSums, by: &str) -> Markup {
    let row = |name: &Markup, sums: &UsageSums| {
        html! {
            tr {
                td.wide { (name) }
                td.right.num data-label="Requests" { (count(sums.requests)) }
                td.right.num.less { (count(sums.failures)) }
                td.right.num.less { (count(sums.input)) }
                td.right.num.less { (count(sums.cached)) }
                td.right.num.less { (count(sums.output)) }
                td.right.less { (credits(sums.refunded)) }
                td.right data-label="Spent" { (credits(sums.settled)) }
            }
        }
    };
    html! {
        h2 { "Sums" }
        div.scroll role="region" aria-label="Sums" tabindex="0" {
            table.cards {
                caption { "Sums of this time by " (by) }
                thead { tr {
                    th scope="col" { (by) }
                    @for name in ["Requests", "Failures", "Tokens in", "Cached", "Tokens out", "Given back", "Spent"] {
                        th.right scope="col" { (name) }
                    }
                } }
                tbody {
                    @for (name, sums) in groups { (row(&html! { bdi { (name) } }, sums)) }
                    (row(&html! { strong { "All" } }, total))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_is_whole_days_or_hours() {
        let now = UnixMs(1_790_000_123_456);
        let (start, end) = bounds(now, 7 * DAY, UsagePeriod::Day);
        assert!(start.0.is_multiple_of(DAY) && end.0.is_multiple_of(DAY) && end > now);
        assert_eq!(end.since(start), Duration::from_millis(7 * DAY));
        let (start, end) = bounds(now, DAY, UsagePeriod::Hour);
        assert!(start.0.is_multiple_of(HOUR) && end.0.is_multiple_of(HOUR) && end > now);
        assert_eq!(end.since(start), Duration::from_millis(DAY));
    }
}
