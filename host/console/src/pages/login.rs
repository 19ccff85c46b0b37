//! The login: a page that everybody may read. Its script posts the token from the address's fragment; a link leads to the
//! operator's identity provider, where there is one.

use axum::response::IntoResponse as _;
use gatehouse_admin::{ConsoleRefusal, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::parts::shell::document;
use crate::request::{PageContext, PageRequest, Theme};

/// `GET /login`.
pub(crate) fn show(request: &PageRequest) -> Response<ResponseBody> {
    page(&request.pages, StatusCode::OK, request.theme, None)
}

/// `GET /login/arrived`: leads on to the console. A browser that comes from the identity provider's page sends its session only
/// from a page of ours.
pub(crate) fn arrived(request: &PageRequest) -> Response<ResponseBody> {
    let body = html! {
        main.login #content {
            h1 { "Gatehouse" }
            p role="status" { "You are logged in. " a href="/" { "Go on to the console" } }
        }
    };
    let page = document(StatusCode::OK, request.theme, "Logged in", &[], &body);
    ([("refresh", "0; url=/")], page).into_response()
}

/// A login that failed.
pub(crate) fn refused(pages: &PageContext, refusal: &ConsoleRefusal<'_>) -> Response<ResponseBody> {
    page(pages, refusal.status, Theme::of(&refusal.parts.headers), Some(&refusal.message))
}

fn page(
    pages: &PageContext,
    status: StatusCode,
    theme: Theme,
    problem: Option<&str>,
) -> Response<ResponseBody> {
    let body = form(pages.facts.identity_provider.as_deref(), problem);
    document(status, theme, "Log in", &["login.js"], &body)
}

fn form(provider: Option<&str>, problem: Option<&str>) -> Markup {
    html! {
        main.login #content {
            h1 { "Gatehouse" }
            @if let Some(problem) = problem {
                div.problems role="alert" { p { (problem) } }
            }
            @if let Some(provider) = provider {
                p { a.button.primary href="/login/oidc" { "Log in at " (provider) } }
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
