//! The gateway itself: sessions, reload of the configuration, doctor, the other gateways of its database.

use gatehouse_admin::{ApiRequest, FleetView, NodeRole, NodeView, ResponseBody, SessionView};
use gatehouse_model::{Credits, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::error::{Outcome, PageError};
use crate::format::{count, credits, moment, plain};
use crate::parts::elements::{Confirm, Tone, chip};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET /system`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    Ok(page(&request, StatusCode::OK, &html! {}).await)
}

/// `POST /system/reload`.
pub(crate) async fn reload(request: PageRequest) -> Outcome {
    let (status, report) = match request.ask(ApiRequest::post(&["config", "reload"])).await {
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
    Ok(page(&request, status, &report).await)
}

/// `POST /system/doctor`: begins an examination, and waits for its end.
pub(crate) async fn examine(request: PageRequest) -> Outcome {
    let mut run = request.read(&["doctor"]).await?;
    while run["state"] == "running" {
        // Each look waits a moment by itself.
        run = request.ask(ApiRequest::get(&["doctor"]).query("run", &run["run"])).await?.body;
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
    Ok(page(&request, StatusCode::OK, &report).await)
}

/// `POST /system/sessions/<number>/end`.
pub(crate) async fn end_session(request: PageRequest) -> Outcome {
    let number =
        request.id.parse().map_err(|_| PageError::not_found(format!("no session {:?}", request.id)))?;
    match request.pages.sessions.end(number) {
        true => {
            note(&request, "endSession", format!("sessions/{number}")).await?;
            Ok(redirect("/system?done=ended"))
        }
        false => Err(PageError::not_found(format!("no session {number}; it may have ended already"))),
    }
}

/// `POST /system/sessions/end`.
pub(crate) async fn end_all_sessions(request: PageRequest) -> Outcome {
    request.pages.sessions.end_all();
    note(&request, "endSessions", "sessions".to_owned()).await?;
    Ok(redirect("/login"))
}

async fn note(request: &PageRequest, operation: &str, object: String) -> Result<(), PageError> {
    let commands = &request.pages.service.commands;
    Ok(commands.note(&request.caller(), operation, object, None, Vec::new()).await?)
}

async fn page(request: &PageRequest, status: StatusCode, report: &Markup) -> Response<ResponseBody> {
    let shell = Shell::new(request, "/system", "System");
    let address = request.address;
    shell.page(
        status,
        &html! {
            h1 { "System" }
            (report)
            dl.facts {
                dt { "Version" } dd { (env!("CARGO_PKG_VERSION")) }
                dt { "Clients connect to" } dd { code { (request.pages.facts.public_url) } }
                dt { "You come from" } dd { code { (address) } }
            }
            @if request.is_operator() {
                div.buttons {
                    form method="post" action="/system/reload" { button { "Read the configuration again" } }
                    form method="post" action="/system/doctor" { button { "Check the ledger" } }
                    a.button href="/system/backup" { "Backups" }
                }
            }
            (gateways(request).await)
            h2 { "Sessions" }
            (sessions(request))
        },
    )
}

/// The gateways of the database, or why they are not known; empty where the store is a file.
async fn gateways(request: &PageRequest) -> Markup {
    let answer = request.read(&["fleet"]).await;
    let fleet = answer.map(|fleet| serde_json::from_value(fleet).map_err(|error| error.to_string()));
    let body = match fleet {
        Ok(Ok(fleet)) => table_of_gateways(&fleet, request.now),
        Err(error) if error.status == StatusCode::NOT_FOUND => return html! {},
        Ok(Err(why)) | Err(PageError { message: why, .. }) => {
            html! { div.problems role="alert" { p { (why) } } }
        }
    };
    html! { h2 { "Gateways" } (body) }
}

fn table_of_gateways(fleet: &FleetView, now: UnixMs) -> Markup {
    let seen = |node: &NodeView| UnixMs(now.0.saturating_sub(node.seen_seconds_ago.saturating_mul(1000)));
    let row = |node: &NodeView| {
        let tone = match node.role {
            NodeRole::AtWork => Tone::Ok,
            NodeRole::Standby => Tone::Info,
            NodeRole::Gone => Tone::Neutral,
        };
        html! {
            tr {
                td { (node.name) }
                td data-label="Role" { (chip(tone, node.role.as_str())) }
                td data-label="Address" { @if let Some(address) = &node.address { code { (address) } } @else { "-" } }
                td data-label="Version" { (node.version) }
                td data-label="Configuration" { code { (node.configuration.get(..12).unwrap_or(&node.configuration)) } }
                td data-label="Last seen" { (moment(seen(node), now)) }
            }
        }
    };
    html! {
        @if !fleet.warnings.is_empty() {
            div.problems role="alert" { ul { @for warning in &fleet.warnings { li { (warning) } } } }
        }
        div.scroll role="region" aria-label="Gateways of the database" tabindex="0" {
            table.cards {
                caption { "Gateways of the database" }
                thead { tr {
                    @for name in ["Name", "Role", "Address", "Version", "Configuration", "Last seen"] { th scope="col" { (name) } }
                } }
                tbody { @for node in &fleet.nodes { (row(node)) } }
            }
        }
        p.muted {
            "Epoch " (fleet.epoch)
            @if fleet.is_at_work { ", " (fleet.lease_seconds) " s of the lease left" }
            ". On the command line: " code { "gatehouse fleet status" }
        }
    }
}

fn sessions(request: &PageRequest) -> Markup {
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
                tbody { @for session in &request.pages.sessions.list() { (row(session)) } }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An operator would not see on this page who is at work, who waits, or what is wrong with them.
    #[test]
    fn gateways_have_a_row_each_and_what_is_wrong_stands_above() {
        let node = |name: &str, role: &str, address: Option<&str>| {
            json!({
                "name": name, "role": role, "address": address, "version": "1.0.0", "configuration": "0123456789abcdef",
                "seen_seconds_ago": 75, "name_is_doubled": false,
            })
        };
        let fleet = json!({
            "epoch": 7, "is_at_work": true, "lease_seconds": 9, "configurations_differ": false,
            "warnings": ["their releases <differ>"],
            "nodes": [node("a", "at_work", Some("http://a:8080")), node("b", "standby", None), node("c", "gone", None)],
        });
        let shown = table_of_gateways(&serde_json::from_value(fleet).unwrap(), UnixMs(1_790_000_000_000))
            .into_string();
        let rows: Vec<&str> = shown.split("<tr>").skip(2).collect();
        assert_eq!(rows.len(), 3, "{shown}");
        let first =
            ["<td>a</td>", "at work", "http://a:8080", "1.0.0", "<code>0123456789ab</code>", "1 min ago"];
        assert!(first.iter().all(|part| rows[0].contains(part)), "{}", rows[0]);
        assert!(rows[1].contains("standby") && rows[2].contains("gone"), "{shown}");
        assert!(shown.contains("their releases &lt;differ&gt;"), "{shown}");
        assert!(shown.contains("Epoch 7, 9 s of the lease left"), "{shown}");
    }
}
