//! The page of a request that failed: what failed and what to do.

use gatehouse_admin::{ResponseBody, SessionView};
use http::{Response, StatusCode};
use maud::html;

use crate::error::PageError;
use crate::kinds::plugins::stages;
use crate::parts::shell::Shell;
use crate::request::{PageContext, Theme};

/// Shows an error.
pub(crate) fn show(
    pages: &PageContext,
    session: Option<&SessionView>,
    theme: Theme,
    error: &PageError,
) -> Response<ResponseBody> {
    let title = match error.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::CONFLICT => "Refused",
        StatusCode::SERVICE_UNAVAILABLE => "Too much load",
        status if status.is_client_error() => "This request cannot be answered",
        _ => "The gateway failed",
    };
    let hint = match error.status {
        StatusCode::SERVICE_UNAVAILABLE => "Try again in a moment.",
        status if status.is_server_error() => "The gateway's log says more.",
        _ => "Nothing was changed.",
    };
    let is_sandbox = pages.facts.sandbox.is_some();
    let shell = Shell { title, section: "", theme, session, is_sandbox, done: None, files: &[] };
    shell.page(
        error.status,
        &html! {
            h1 { (title) }
            div.problems role="alert" { p { (error.message) } }
            p.muted { (hint) }
            @if !error.stages.is_empty() { (stages(&error.stages)) }
            p { a.button href="/" { "Home" } }
        },
    )
}
