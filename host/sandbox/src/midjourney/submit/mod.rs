//! Submits: binding, rules, the codes of the answers, and the tasks they make.

pub(crate) mod answer;
mod body;
mod create;
mod draft;
mod image;
mod modal;
mod press;
mod video;

use serde_json::Value;

use answer::Answer;
use body::Body;
use draft::Origin;
pub(crate) use draft::SPEEDS;

use crate::midjourney::provider::Provider;
use crate::midjourney::refusal::Refusal;

const ROUTES: [&str; 10] =
    ["imagine", "blend", "describe", "edit", "edits", "action", "change", "simple-change", "modal", "video"];

/// Whether there is such a route behind `/mj/submit/`.
pub(crate) fn is_route(route: &str) -> bool {
    ROUTES.contains(&route)
}

/// Answers a submit.
pub(crate) async fn submit(
    provider: &Provider,
    account: usize,
    speed: Option<&'static str>,
    route: &str,
    sent: Value,
) -> Result<Answer, Refusal> {
    let body = Body::bind(&sent)?;
    let origin = Origin { provider, account, speed, route, sent };
    match route {
        "imagine" => create::imagine(origin, body).await,
        "blend" => create::blend(origin, body).await,
        "describe" => create::describe(origin, body).await,
        "edit" | "edits" => create::edits(origin, body).await,
        "video" => video::video(origin, body).await,
        "modal" => modal::modal(origin, body).await,
        "action" => press::action(origin, body),
        "change" => press::change(origin, body),
        _ => press::simple_change(origin, body),
    }
}
