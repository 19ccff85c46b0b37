//! The gateway itself: sessions, reload of the configuration, doctor.

use gatehouse_admin::{ResponseBody, SessionView};
use gatehouse_model::Credits;
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{count, credits, moment};
use crate::parts::elements::{Confirm, Tone, chip};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET /system`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Result<Response<ResponseBody>, PageError> {
    Ok(page(pages, request, StatusCode::OK, &html! {}))
}

/// `POST /system/reload`.
pub(crate) async fn reload(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (status, report) = match pages.service.reload_configuration().await {
        Ok(view) => {
            let groups = [
                ("Changed", &view.changed),
                ("Accounts", &view.accounts),
                ("Needs a restart", &view.needs_restart),
                ("Warnings", &view.warnings),
            ];
            let report = html! {
                div.report role="status" {
                    h2 { (chip(Tone::Ok, "in effect")) " The configuration was read again" }
                    @if groups.iter().all(|(_, lines)| lines.is_empty()) { p { "Nothing was different." } }
                    @for (name, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
                        h3 { (name) }
                        ul { @for line in *lines { li { code { (line) } } } }
                    }
                }
            };
            (StatusCode::OK, report)
        }
        Err(error) => {
            let error = PageError::from(error);
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

/// `POST /system/doctor`.
pub(crate) async fn examine(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let found = pages.service.examination().await?;
    let report = html! {
        div.report role="status" {
            @if found.sound {
                h2 { (chip(Tone::Ok, "sound")) " The ledger adds up" }
            } @else {
                h2 { (chip(Tone::Error, "findings")) " The ledger does not add up" }
                ul { @for finding in &found.findings { li { (finding) } } }
            }
            dl.facts {
                @for (name, number) in &found.counts { dt { (name) } dd.num { (count(*number)) } }
                dt { "imbalance" } dd { (credits(Credits(found.imbalance_micro))) }
            }
        }
    };
    Ok(page(pages, request, StatusCode::OK, &report))
}

/// `POST /system/sessions/<number>/end`.
pub(crate) async fn end_session(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let number =
        request.id.parse().map_err(|_| PageError::not_found(format!("no session {:?}", request.id)))?;
    match pages.sessions.end(number) {
        true => {
            pages.service.note_page("endSession", format!("sessions/{number}")).await;
            Ok(redirect("/system?done=ended"))
        }
        false => Err(PageError::not_found(format!("no session {number}; it may have ended already"))),
    }
}

/// `POST /system/sessions/end`.
pub(crate) async fn end_all_sessions(pages: &PageContext) -> Response<ResponseBody> {
    pages.sessions.end_all();
    pages.service.note_page("endSessions", "sessions".to_owned()).await;
    redirect("/login")
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
                td { (session.number) @if Some(session.number) == own { " " (chip(Tone::Info, "this one")) } }
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
