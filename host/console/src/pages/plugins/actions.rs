//! What may be done to a family and to a version in the plugin store: activate, roll back, disable, enable, remove.

use gatehouse_admin::{OperationError, ResponseBody};
use http::{Response, StatusCode};
use maud::html;

use super::upload::stages;
use crate::context::PageContext;
use crate::error::PageError;
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `POST /plugins/<digest>/activate`.
pub(crate) async fn activate(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let allow_removal = request.form().is_on("allow_removal");
    let done = pages.service.activate_plugin(&request.id, allow_removal).await;
    show(pages, request, done, "activated")
}

/// `POST /plugins/<family>/rollback`.
pub(crate) async fn roll_back(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    show(pages, request, pages.service.roll_back_plugin(&request.id).await, "rolled-back")
}

/// `POST /plugins/<family>/disable`.
pub(crate) async fn disable(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    show(pages, request, pages.service.disable_family(&request.id).await, "family-disabled")
}

/// `POST /plugins/<family>/enable`.
pub(crate) async fn enable(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    show(pages, request, pages.service.enable_family(&request.id).await, "family-enabled")
}

/// `POST /plugins/<digest>/remove`.
pub(crate) async fn remove(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    show(pages, request, pages.service.remove_plugin(&request.id).await, "removed")
}

fn show<T>(
    pages: &PageContext,
    request: &PageRequest,
    outcome: Result<T, OperationError>,
    done: &str,
) -> Result<Response<ResponseBody>, PageError> {
    match outcome {
        Ok(_) => Ok(redirect(&format!("/plugins?done={done}"))),
        Err(OperationError::PluginRefused { reason, stages: all }) => {
            let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/plugins", "Version refused");
            Ok(shell.page(
                StatusCode::CONFLICT,
                &html! {
                    p.crumbs { a href="/plugins" { "Plugins" } }
                    h1 { "The version was refused" }
                    div.problems role="alert" { p { (reason) } }
                    p.muted { "The version that served before serves on." }
                    (stages(&all))
                },
            ))
        }
        Err(error) => Err(error.into()),
    }
}
