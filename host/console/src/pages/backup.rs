//! Backups: how far the last one is, what it holds, and the form that begins another. The API makes it; it goes on whether
//! anybody looks or not.

use gatehouse_admin::{ApiRequest, ResponseBody};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::{Outcome, PageError};
use crate::form;
use crate::format::count;
use crate::parts::elements::{Tone, chip, empty, progress};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;
use crate::resource::text;

/// A page of a backup under way is loaded again after these seconds.
const REFRESH: HeaderValue = HeaderValue::from_static("2");

/// `GET /system/backup`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let (run, problem) = match request.ask(ApiRequest::get(&["backups"])).await {
        Ok(answer) => (Some(answer.body), None),
        Err(refusal) if refusal.status == 404 => (None, None),
        // The last one has failed, and this is why.
        Err(refusal) => (None, Some(refusal.message)),
    };
    let mut response = page(&request, StatusCode::OK, run.as_ref(), problem.as_deref());
    if run.is_some_and(|run| run["state"] == "running") {
        response.headers_mut().insert(HeaderName::from_static("refresh"), REFRESH);
    }
    Ok(response)
}

/// `POST /system/backup`: begins one.
pub(crate) async fn begin(request: PageRequest) -> Outcome {
    let form = request.form();
    let asked = ApiRequest::post(&["backups"]).json(&json!({"to": form.text("to").trim()}));
    match request.ask(asked).await {
        Ok(_) => Ok(redirect("/system/backup")),
        Err(refusal) => {
            let error = PageError::from(refusal);
            Ok(page(&request, error.status, None, Some(&error.message)))
        }
    }
}

fn page(
    request: &PageRequest,
    status: StatusCode,
    run: Option<&Value>,
    problem: Option<&str>,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, "/system", "Backups");
    shell.page(
        status,
        &html! {
            p.crumbs { a href="/system" { "System" } }
            h1 { "Backups" }
            @if let Some(problem) = problem {
                div.problems role="alert" { h2 { "No backup was made" } p { (problem) } }
            }
            @match run {
                Some(run) if run["state"] == "running" => (under_way(run)),
                Some(run) => (made(&run["backup"])),
                None if problem.is_none() => (empty("No backup was begun here since the gateway started.", None, "gatehouse backup FOLDER")),
                None => {},
            }
            @if request.is_operator() {
                h2 { "Another one" }
                form.stack method="post" action="/system/backup" {
                    (form::field(request.number))
                    div.field {
                        label for="to" { "Folder, or address of a bucket" }
                        p.help #to-help { "A folder on the gateway's machine, from its root, empty or not there yet: the gateway's process writes it. Or s3://bucket/prefix, below which there is nothing." }
                        input #to type="text" name="to" required autocomplete="off" aria-describedby="to-help";
                    }
                    button.primary { "Back up" }
                }
            }
        },
    )
}

fn under_way(run: &Value) -> Markup {
    let [done, of, sent, to_send] =
        ["done", "of", "sent_bytes", "bytes_to_send"].map(|name| run[name].as_u64().unwrap_or_default());
    let percent = (of > 0).then(|| (done.min(of) * 100) / of);
    html! {
        div.report role="status" {
            h2 { (chip(Tone::Info, "running")) " A backup is being made" }
            (progress(percent))
            p.muted { (count(done)) " of " (count(of)) " rows" }
            @if to_send > 0 { p.muted { (count(sent)) " of " (count(to_send)) " bytes are in the bucket" } }
        }
    }
}

fn made(backup: &Value) -> Markup {
    let number = |name: &str| count(backup[name].as_u64().unwrap_or_default());
    html! {
        div.report role="status" {
            h2 { (chip(Tone::Ok, "made")) " The last backup begun here is complete, and was checked" }
            dl.facts {
                dt { "Where it is" } dd { code { (text(backup, "location")) } }
                dt { "Shows the moment" } dd { (text(backup, "made")) }
                dt { "Files" } dd.num { (number("files")) }
                dt { "Bytes" } dd.num { (number("bytes")) }
                dt { "Rows" } dd.num { (number("rows")) }
                dt { "Entries of the ledger" } dd.num { (number("ledger_entries")) }
                dt { "Digest of the ledger" } dd { code { (text(backup, "ledger_digest")) } }
            }
        }
    }
}
