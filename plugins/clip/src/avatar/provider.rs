//! The control plane: its calls, and what the answers mean. An error may come with any status, 200 among them.

use std::time::Duration;

use gatehouse_sdk::lenient::{is_error, word_of};
use gatehouse_sdk::{Call, Context, Failure, Reply};
use serde_json::{Value, json};

use crate::avatar::params::NewAsset;
use crate::avatar::request::GroupChoice;
use crate::avatar::state::{AvatarState, Doing};
use crate::upstream_error::{ErrorKind, UpstreamError};
use crate::video::provider::is_id;

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "ark-assets";
const VERSION: &str = "2024-01-01";
const TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a customer's pseudonym in the name of the default group.
const PSEUDONYM: usize = 32;

fn action(name: &str, body: &Value) -> Call {
    Call::post(NAME, format!("/?Action={name}&Version={VERSION}")).json(body).timeout(TIMEOUT)
}

/// The name of the group of a customer who names none.
fn default_group(cx: &Context) -> String {
    format!("default-{}", cx.customer.chars().take(PSEUDONYM).collect::<String>())
}

/// The next call. What makes something is sent once, what asks may be repeated.
pub(crate) fn call(cx: &Context, state: &AvatarState) -> Call {
    let project = &state.request.project;
    let call = match state.doing {
        Doing::FindGroup => {
            let filter = json!({"Name": default_group(cx), "GroupType": "AIGC"});
            let body = json!({"Filter": filter, "PageNumber": 1, "PageSize": 100, "ProjectName": project});
            // Harmless to repeat, and the first call of its task: another account may answer it.
            action("ListAssetGroups", &body).token()
        }
        Doing::MakeGroup => action("CreateAssetGroup", &new_group(cx, state)).once(),
        Doing::MakeAsset(at) => {
            let NewAsset { url, name } = &state.assets[at].of;
            let body = json!({
                "GroupId": state.group, "URL": url, "Name": name, "AssetType": state.request.asset_type,
                "ProjectName": project,
            });
            action("CreateAsset", &body).once()
        }
        Doing::Poll(at) => {
            action("GetAsset", &json!({"Id": state.assets[at].id, "ProjectName": project})).safe()
        }
    };
    call.affinity(state.account.clone())
}

fn new_group(cx: &Context, state: &AvatarState) -> Value {
    let (name, description) = match &state.request.group {
        GroupChoice::New(group) => (group.name.clone(), group.description.clone().unwrap_or_default()),
        GroupChoice::Default | GroupChoice::Known(_) => (default_group(cx), String::new()),
    };
    json!({
        "Name": name, "Description": description, "GroupType": "AIGC", "ProjectName": state.request.project,
    })
}

/// The outcome of an action.
pub(crate) enum Answer {
    Ok(Value),
    /// Too many requests; nothing was done.
    Busy,
    /// What is asked for does not exist, or not yet.
    Missing(Failure),
    Failed(ErrorKind, Failure),
}

/// Reads the envelope. `what` is what was to be done, for the client.
pub(crate) fn answer(reply: &Reply, what: &str) -> Answer {
    let body = reply.json::<Value>().unwrap_or_default();
    let error = match [&body["ResponseMetadata"]["Error"], &body["error"]].into_iter().find(|it| is_error(it))
    {
        Some(error) => UpstreamError::read(error),
        None if reply.is_success()
            && (body["ResponseMetadata"].is_object() || body["Result"].is_object()) =>
        {
            return Answer::Ok(body["Result"].clone());
        }
        None => UpstreamError::unreadable("the answer has neither a result nor an error"),
    };
    let kind = error.kind(reply.status);
    let failure = error.failure(kind, what, &[]);
    match kind {
        ErrorKind::Busy => Answer::Busy,
        ErrorKind::Request if reply.status == 404 => Answer::Missing(failure),
        kind => {
            error.log("an action on the asset library failed", reply.status);
            Answer::Failed(kind, failure)
        }
    }
}

/// The id in the result of a creation.
pub(crate) fn id(result: &Value) -> Option<String> {
    let id = ["Id", "AssetId"].iter().find_map(|name| word_of(&result[*name]))?;
    is_id(&id).then_some(id)
}

/// The customer's default group among those found. A filter finds parts of names, so the whole name is compared.
pub(crate) fn found_group(cx: &Context, state: &AvatarState, result: &Value) -> Option<String> {
    let name = default_group(cx);
    let items = result["Items"].as_array()?;
    let is_it = |item: &&Value| {
        let of_project = item["ProjectName"].as_str().is_none_or(|project| project == state.request.project);
        item["Name"] == *name && of_project
    };
    id(items.iter().find(is_it)?)
}

/// The state of an asset: its status in lower case, and why it failed.
pub(crate) fn review(result: &Value) -> (String, UpstreamError) {
    let status = result["Status"].as_str().unwrap_or_default();
    (status.trim().to_ascii_lowercase(), UpstreamError::read(&result["Error"]))
}
