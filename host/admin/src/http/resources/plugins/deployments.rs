//! `/deployments`: the reports of deployments, by hand, by the watched folder, by a canary and by a start.

use crate::api::deployment::DeploymentView;
use crate::http::call::{Call, Outcome};
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::request::query::{Form, Parameter, filter};
use crate::http::route::Route;
use crate::http::values::List;

const FAMILY: Parameter = filter("family", Form::Text, "Only of this family.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/deployments",
            "listDeployments",
            "Lists the reports of deployments, newest first; the last 1,000 are kept.",
            list,
        )
        .query(&[FAMILY])
        .paged()
        .returns::<List<DeploymentView>>(),
        Route::get("/deployments/{number}", "getDeployment", "Shows one report with its stages.", show)
            .returns::<DeploymentView>(),
    ]
}

async fn list(call: Call) -> Outcome {
    let before = call.position()?.map(|number| number.parse::<u64>()).transpose();
    let before = before.map_err(|_| ApiError::field("cursor", "cursor: it is not of this list"))?;
    let family = call.query.one("family").map(str::to_owned);
    let page = call.service.deployments_page(family, before, call.query.limit()).await?;
    Ok(call.list(page.rows, page.next.map(|number| number.to_string()).as_deref()))
}

async fn show(call: Call) -> Outcome {
    let text = call.path("number");
    let number = text.parse().map_err(|_| ApiError::not_found(format!("no deployment {text}")))?;
    Ok(Reply::json(&call.service.deployment(number)?))
}
