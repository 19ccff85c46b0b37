//! The login: a page that everybody may read. Its script posts the token from the address's fragment.

use gatehouse_admin::{ConsoleRefusal, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::parts::shell::document;
use crate::request::{PageRequest, Theme};

/// `GET /login`.
pub(crate) fn show(request: &PageRequest) -> Response<ResponseBody> {
    page(StatusCode::OK, request.theme, None)
}

/// A login that failed.
pub(crate) fn refused(refusal: &ConsoleRefusal<'_>) -> Response<ResponseBody> {
    page(refusal.status, Theme::of(&refusal.parts.headers), Some(&refusal.message))
}

fn page(status: StatusCode, theme: Theme, problem: Option<&str>) -> Response<ResponseBody> {
    document(status, theme, "Log in", &["login.js"], &form(problem))
}

fn form(problem: Option<&str>) -> Markup {
    html! {
        main.login #content {
            h1 { "Gatehouse" }
            @if let Some(problem) = problem {
                div.problems role="alert" { p { (problem) } }
            }
            form #login method="post" action="/session" data-fresh[problem.is_none()] {
                div.field {
                    label for="token" { "Login link or token" }
                    p.help #token-help {
                        "The gateway prints a link when it starts. For another one: " code { "gatehouse console link" }
                    }
                    input #token type="password" name="token" required autocomplete="off" aria-describedby="token-help";
                }
                button.primary { "Log in" }
            }
        }
    }
}
