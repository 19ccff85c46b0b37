//! What may be done to a family and to a version in the plugin store: activate, roll back, disable, enable, remove.

use gatehouse_admin::{Operation, OperationError, ResponseBody};
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
    let operation = Operation::PluginActivate { version: request.id.clone(), allow_removal };
    perform(pages, request, operation, "activated").await
}

/// `POST /plugins/<family>/rollback`.
pub(crate) async fn roll_back(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let operation = Operation::PluginRollback { family: request.id.clone() };
    perform(pages, request, operation, "rolled-back").await
}

/// `POST /plugins/<family>/disable`.
pub(crate) async fn disable(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    perform(pages, request, Operation::PluginDisable { family: request.id.clone() }, "family-disabled").await
}

/// `POST /plugins/<family>/enable`.
pub(crate) async fn enable(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    perform(pages, request, Operation::PluginEnable { family: request.id.clone() }, "family-enabled").await
}

/// `POST /plugins/<digest>/remove`.
pub(crate) async fn remove(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    perform(pages, request, Operation::PluginRemove { version: request.id.clone() }, "removed").await
}

async fn perform(
    pages: &PageContext,
    request: &PageRequest,
    operation: Operation,
    done: &str,
) -> Result<Response<ResponseBody>, PageError> {
    match pages.service.perform(operation).await {
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
