//! The history of deployments: all of them, or those of one family, and the report of one.

use std::time::Duration;

use gatehouse_admin::{DeploymentOutcomeView, DeploymentView, ResponseBody};
use gatehouse_model::UnixMs;
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{moment, span};
use crate::parts::elements::{Tone, chip};
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Reports on one page.
const ROWS: usize = 50;

/// `GET /deployments`, with `family`, and `before` for older reports.
pub(crate) async fn list(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (family, before) = (request.query.text("family"), request.query.text("before"));
    let wrong = |_| {
        let message = format!("before: expected the number of a report, got {before:?}");
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    };
    let position = (!before.is_empty()).then(|| before.parse()).transpose().map_err(wrong)?;
    let only = (!family.is_empty()).then(|| family.to_owned());
    let page = pages.service.deployments_page(only, position, ROWS).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/plugins", "Deployments");
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/plugins" { "Plugins" } }
            h1 { "Deployments" @if !family.is_empty() { " of " (family) } }
            p.muted { "By hand, by the watched folder, by a canary and by a start. The last 1,000 reports are kept." }
            @if !family.is_empty() { p { a href="/deployments" { "All families" } } }
            @if page.rows.is_empty() { p.muted { "No report is kept." } }
            @else { (table(&page.rows, request.now)) }
            @if let Some(next) = page.next {
                p { a href={ "/deployments?before=" (next) @if !family.is_empty() { "&family=" (family) } } { "Older" } }
            }
        },
    ))
}

/// `GET /deployments/<number>`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Result<Response<ResponseBody>, PageError> {
    let number = request.id.parse();
    let number: u64 = number.map_err(|_| PageError::not_found(format!("no deployment {}", request.id)))?;
    let report = pages.service.deployment(number)?;
    let title = format!("Deployment {number}");
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/plugins", &title);
    let family = report.family.as_deref();
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/plugins" { "Plugins" } " " a href="/deployments" { "Deployments" } }
            div.title { h1 { "Deployment " (number) } (outcome(report.outcome)) }
            dl.facts {
                dt { "Family" } dd { @if let Some(family) = family { a href={ "/deployments?family=" (family) } { (family) } } @else { span.muted { "unknown" } } }
                dt { "Version" } dd { (report.version.as_deref().unwrap_or("unknown")) }
                @if let Some(digest) = &report.digest { dt { "Digest" } dd { code { (short(digest)) } } }
                @if let Some(replaced) = &report.replaced { dt { "Replaced" } dd { code { (short(replaced)) } } }
                dt { "Order" } dd { (report.kind.as_str()) ", by " (report.who) }
                dt { "When" } dd { (moment(report.at.0, request.now)) }
            }
            @if let Some(reason) = &report.reason { div.problems { p { (reason) } } }
            h2 { "Stages" }
            @if report.stages.is_empty() { p.muted { "None was run." } }
            @else { (stages(&report)) }
        },
    ))
}

fn stages(report: &DeploymentView) -> Markup {
    html! {
        ol.stages {
            @for stage in &report.stages {
                li {
                    @match stage.verdict.as_str() {
                        "passed" => (chip(Tone::Ok, "passed")),
                        "refused" => (chip(Tone::Error, "refused")),
                        _ => (chip(Tone::Neutral, "skipped")),
                    }
                    " " strong { (stage.stage) } " "
                    span.muted { (span(Duration::from_millis(stage.took_ms))) }
                    @if !stage.note.is_empty() { p.note { (stage.note) } }
                }
            }
        }
    }
}

fn table(rows: &[DeploymentView], now: UnixMs) -> Markup {
    html! {
        div.scroll role="region" aria-label="Deployments" tabindex="0" {
            table.cards {
                caption { "Deployments" }
                thead { tr {
                    th scope="col" { "Report" } th scope="col" { "When" } th scope="col" { "Family" }
                    th scope="col" { "Version" } th scope="col" { "Outcome" } th scope="col" { "Order" } th scope="col" { "By" }
                } }
                tbody { @for report in rows { tr {
                    td.num { a href={ "/deployments/" (report.number) } { "Report " (report.number) } }
                    td data-label="When" { (moment(report.at.0, now)) }
                    td data-label="Family" { (report.family.as_deref().unwrap_or("unknown")) }
                    td data-label="Version" { (report.version.as_deref().unwrap_or("unknown")) }
                    td data-label="Outcome" { (outcome(report.outcome)) }
                    td data-label="Order" { (report.kind.as_str()) }
                    td data-label="By" { (report.who) }
                } } }
            }
        }
    }
}

fn outcome(outcome: DeploymentOutcomeView) -> Markup {
    let tone = match outcome {
        DeploymentOutcomeView::Switched => Tone::Ok,
        DeploymentOutcomeView::Unchanged => Tone::Neutral,
        DeploymentOutcomeView::Refused => Tone::Error,
    };
    chip(tone, outcome.as_str())
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
