//! The gateway itself: sessions, reload of the configuration, doctor.

use gatehouse_admin::{ApiRequest, ResponseBody, SessionView};
use gatehouse_model::Credits;
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::error::{Outcome, PageError};
use crate::format::{count, credits, moment};
use crate::parts::elements::{Confirm, Tone, chip};
use crate::parts::shell::{Shell, redirect};
use crate::request::{PageContext, PageRequest};
use crate::resource::plain;

/// `GET /system`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Response<ResponseBody> {
    page(pages, request, StatusCode::OK, &html! {})
}

/// `POST /system/reload`.
pub(crate) async fn reload(pages: &PageContext, request: &PageRequest) -> Outcome {
    let (status, report) = match pages.ask(request, ApiRequest::post(&["config", "reload"])).await {
        Ok(answer) => {
            let lines = |member: &str| answer.body[member].as_array().cloned().unwrap_or_default();
            let groups = [
                ("Changed", lines("changed")),
                ("Accounts", lines("accounts")),
                ("Needs a restart", lines("needs_restart")),
                ("Warnings", lines("warnings")),
            ];
            let report = html! {
                div.report role="status" {
                    h2 { (chip(Tone::Ok, "in effect")) " The configuration was read again" }
                    @if groups.iter().all(|(_, lines)| lines.is_empty()) { p { "Nothing was different." } }
                    @for (name, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
                        h3 { (name) }
                        ul { @for line in lines { li { code { (plain(line)) } } } }
                    }
                }
            };
            (StatusCode::OK, report)
        }
        Err(refusal) => {
            let error = PageError::from(refusal);
            let report = html! {
                div.problems role="alert" {
                    h2 { "Nothing was changed" }
                    pre { (error.message) }
                }
            };
            (error.status, report)
        }
    };
    Ok(page(pages, request, status, &report))
}

/// `POST /system/doctor`: begins an examination, and waits for its end.
pub(crate) async fn examine(pages: &PageContext, request: &PageRequest) -> Outcome {
    let mut run = pages.read(request, &["doctor"]).await?;
    while run["state"] == "running" {
        // Each look waits a moment by itself.
        run = pages.ask(request, ApiRequest::get(&["doctor"]).query("run", &run["run"])).await?.body;
    }
    let found = &run["report"];
    let report = html! {
        div.report role="status" {
            @if found["sound"] == true {
                h2 { (chip(Tone::Ok, "sound")) " The ledger adds up" }
            } @else {
                h2 { (chip(Tone::Error, "findings")) " The ledger does not add up" }
                ul { @for finding in found["findings"].as_array().into_iter().flatten() { li { (plain(finding)) } } }
            }
            dl.facts {
                @for (name, number) in found["counts"].as_object().into_iter().flatten() {
                    dt { (name) } dd.num { (count(number.as_u64().unwrap_or_default())) }
                }
                dt { "imbalance" } dd { (credits(Credits(found["imbalance_micro"].as_i64().unwrap_or_default()))) }
            }
        }
    };
    Ok(page(pages, request, StatusCode::OK, &report))
}

/// `POST /system/sessions/<number>/end`.
pub(crate) async fn end_session(pages: &PageContext, request: &PageRequest) -> Outcome {
    let number =
        request.id.parse().map_err(|_| PageError::not_found(format!("no session {:?}", request.id)))?;
    match pages.sessions.end(number) {
        true => {
            note(pages, request, ("endSession", format!("sessions/{number}"))).await?;
            Ok(redirect("/system?done=ended"))
        }
        false => Err(PageError::not_found(format!("no session {number}; it may have ended already"))),
    }
}

/// `POST /system/sessions/end`.
pub(crate) async fn end_all_sessions(pages: &PageContext, request: &PageRequest) -> Outcome {
    pages.sessions.end_all();
    note(pages, request, ("endSessions", "sessions".to_owned())).await?;
    Ok(redirect("/login"))
}

async fn note(pages: &PageContext, request: &PageRequest, about: (&str, String)) -> Result<(), PageError> {
    Ok(pages.service.commands.note(&request.caller(), about, None, Vec::new()).await?)
}

fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    report: &Markup,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/system", "System");
    let address = request.address;
    shell.page(
        status,
        &html! {
            h1 { "System" }
            (report)
            dl.facts {
                dt { "Version" } dd { (env!("CARGO_PKG_VERSION")) }
                dt { "Clients connect to" } dd { code { (pages.facts.public_url) } }
                dt { "You come from" } dd { code { (address) } }
            }
            @if request.is_operator() {
                div.buttons {
                    form method="post" action="/system/reload" { button { "Read the configuration again" } }
                    form method="post" action="/system/doctor" { button { "Check the ledger" } }
                    a.button href="/system/backup" { "Backups" }
                }
            }
            h2 { "Sessions" }
            (sessions(pages, request))
        },
    )
}

fn sessions(pages: &PageContext, request: &PageRequest) -> Markup {
    let own = request.session.as_ref().map(|session| session.number);
    let row = |session: &SessionView| {
        html! {
            tr {
                td { (session.number) @if let Some(name) = &session.name { " " (name) } @if Some(session.number) == own { " " (chip(Tone::Info, "this one")) } }
                td { (session.role) }
                td data-label="From" { code { (session.address) } }
                td data-label="Opened" { (moment(session.opened, request.now)) }
                td data-label="Last used" { (moment(session.used, request.now)) }
                td data-label="Ends" { (moment(session.ends, request.now)) }
                @if request.is_operator() {
                    td { form method="post" action={ "/system/sessions/" (session.number) "/end" } {
                        button aria-label={ "End session " (session.number) } { "End" }
                    } }
                }
            }
        }
    };
    html! {
        div.scroll role="region" aria-label="Open sessions" tabindex="0" {
            table.cards {
                caption { "Open sessions" }
                thead { tr {
                    @for name in ["Session", "Role", "From", "Opened", "Last used", "Ends"] { th scope="col" { (name) } }
                    @if request.is_operator() { th scope="col" { "Action" } }
                } }
                tbody { @for session in &pages.sessions.list() { (row(session)) } }
            }
        }
        p.muted { "Another person logs in with a link of their own: " code { "gatehouse console link --role viewer" } }
        @if request.is_operator() {
            (Confirm {
                id: "end-all",
                button: "End all sessions",
                title: "End every session",
                consequence: "Everybody is logged out at once, you too. A new link comes from `gatehouse console link`.",
                action: "/system/sessions/end",
                danger: true,
            }.show())
        }
    }
}
