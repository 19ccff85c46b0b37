//! The actions: what each needs, and what it answers.

use serde_json::{Value, json};

use super::errors::ControlError;
use crate::ark::faults::{Faults, Marker};
use crate::ark::library::{AssetNow, Library};
use crate::ark::media;
use crate::ark::provider::Provider;
use crate::ark::record::{ArkAsset, ArkGroup};
use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::schema::{items, text};

/// Limits of names and descriptions, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 300;

/// What an action answers, and the fault of its reply.
type Acted = Result<(Value, Option<Marker>), ControlError>;

/// One action of an account.
pub(crate) fn act(provider: &Provider, account: usize, action: &str, body: &Value) -> Acted {
    let (now, mut state) = (provider.now(), provider.table());
    let library = &mut state.library;
    library.count_call(account, action);
    let plain = |answer: Value| Ok((answer, None));
    match action {
        "CreateAssetGroup" => create_group(library, account, body, now),
        "GetAssetGroup" => match library.group(account, text(body, "Id")) {
            Some(group) => plain(group_view(group)),
            None => Err(ControlError::unknown("group")),
        },
        "ListAssetGroups" => plain(list_groups(library, account, body)),
        "CreateAsset" => create_asset(provider, library, account, body, now),
        "GetAsset" => get_asset(library, account, body, now),
        "ListAssets" => plain(list_assets(library, account, body, now)),
        "DeleteAsset" if library.delete(account, text(body, "Id")) => plain(json!({})),
        "DeleteAsset" => Err(ControlError::unknown("asset")),
        _ => Err(ControlError::new(404, "InvalidActionOrVersion", format!("There is no action {action}."))),
    }
}

/// A text field that is there, of at most so many characters.
fn required(body: &Value, field: &'static str, max: usize) -> Result<String, ControlError> {
    match body[field].as_str().filter(|value| !value.is_empty()) {
        None => Err(ControlError::missing(field)),
        Some(value) if value.chars().count() > max => {
            Err(ControlError::invalid(field, &format!("at most {max} characters")))
        }
        Some(value) => Ok(value.to_owned()),
    }
}

/// A field that may be absent.
fn optional(body: &Value, field: &'static str, usual: &str, max: usize) -> Result<String, ControlError> {
    if body[field].is_null() || body[field] == "" {
        return Ok(usual.to_owned());
    }
    required(body, field, max)
}

fn create_group(library: &mut Library, account: usize, body: &Value, now: u64) -> Acted {
    let name = required(body, "Name", MAX_NAME)?;
    let description = optional(body, "Description", "", MAX_DESCRIPTION)?;
    if optional(body, "GroupType", "AIGC", MAX_NAME)? != "AIGC" {
        return Err(ControlError::invalid("GroupType", "expected AIGC"));
    }
    let project = optional(body, "ProjectName", "default", MAX_NAME)?;
    if let Some(fault) = library.fault(&name) {
        return refused(fault);
    }
    let receipt = Faults::of(&name).fault(Target::Receipt);
    let id = library.add_group(ArkGroup { id: String::new(), account, name, description, project }, now);
    Ok((json!({ "Id": id }), receipt))
}

fn create_asset(provider: &Provider, library: &mut Library, account: usize, body: &Value, now: u64) -> Acted {
    let (group, url) = (required(body, "GroupId", MAX_NAME)?, required(body, "URL", 8192)?);
    let name = required(body, "Name", MAX_NAME)?;
    let asset_type = required(body, "AssetType", MAX_NAME)?;
    let project = optional(body, "ProjectName", "default", MAX_NAME)?;
    if !["Image", "Video", "Audio"].contains(&asset_type.as_str()) {
        return Err(ControlError::invalid("AssetType", "expected Image, Video or Audio"));
    }
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(ControlError::new(400, "InvalidParameter.URL", "The parameter URL is not a web url."));
    }
    let known = library.group(account, &group).is_some_and(|known| known.project == project);
    if !known {
        return Err(ControlError::unknown("group"));
    }
    if let Some(fault) = library.fault(&name) {
        return refused(fault);
    }
    let file = media::look(&url, &provider.addresses.samples);
    let verdict = match asset_type.as_str() {
        "Image" => media::check_image(file),
        "Video" => media::check_video(file, "720p").map(|_| ()),
        _ => media::check_sound(file).map(|_| ()),
    };
    let receipt = Faults::of(&name).fault(Target::Receipt);
    let asset =
        ArkAsset { id: String::new(), group, account, name, url, asset_type, project, status: String::new() };
    let id = library.add_asset(asset, verdict, now, provider.settings.job_ms());
    Ok((json!({ "Id": id }), receipt))
}

fn refused(fault: Marker) -> Acted {
    match fault {
        // Nothing was done.
        Marker::Reset => Ok((Value::Null, Some(Marker::ReceiptCut))),
        Marker::Unavailable => Ok((Value::Null, Some(Marker::Unavailable))),
        fault => Err(ControlError::of(fault)),
    }
}

fn get_asset(library: &mut Library, account: usize, body: &Value, now: u64) -> Acted {
    let id = required(body, "Id", MAX_NAME)?;
    let asset = library.asset_to_poll(account, &id).ok_or_else(|| ControlError::unknown("asset"))?;
    match asset.faults.poll_fault(count(&mut asset.polls)) {
        Some(Marker::FirstPollNotFound) => Err(ControlError::unknown("asset")),
        Some(Marker::PollTooMany) => Err(ControlError::of(Marker::TooMany)),
        Some(Marker::PollDenied) => Err(ControlError::of(Marker::Denied)),
        Some(Marker::PollMalformed) => Ok((Value::Null, Some(Marker::ReceiptGarbage))),
        Some(Marker::PollBroken) => Err(ControlError::of(Marker::Broken)),
        _ => Ok((asset_view(&asset.at(now)), None)),
    }
}

fn group_view(group: &ArkGroup) -> Value {
    json!({
        "Id": group.id, "Name": group.name, "Description": group.description, "GroupType": "AIGC",
        "ProjectName": group.project,
    })
}

fn asset_view(asset: &AssetNow<'_>) -> Value {
    let record = asset.record;
    let mut view = json!({
        "Id": record.id, "Name": record.name, "URL": record.url, "AssetType": record.asset_type,
        "GroupId": record.group, "ProjectName": record.project, "Status": asset.status,
    });
    if let Some(problem) = asset.problem {
        view["Error"] = json!({"Code": problem.code, "Message": problem.text});
    }
    view
}

/// A page of `found`, which has `PageNumber` and `PageSize`.
fn page(found: Vec<Value>, body: &Value) -> Value {
    let number = |field: &str, usual: u64| body[field].as_u64().filter(|number| *number > 0).unwrap_or(usual);
    let (number, size, total) = (number("PageNumber", 1), number("PageSize", 10).min(100), found.len());
    let skipped = usize::try_from((number - 1) * size).unwrap_or(usize::MAX);
    let items: Vec<Value> =
        found.into_iter().skip(skipped).take(usize::try_from(size).unwrap_or(10)).collect();
    json!({"Items": items, "TotalCount": total, "PageNumber": number, "PageSize": size})
}

/// Whether a list of the filter is absent or has the value.
fn admits(filter: &Value, field: &str, value: &str) -> bool {
    let wanted = items(filter, field);
    wanted.is_empty() || wanted.iter().any(|wanted| wanted == value)
}

/// A name in a filter is a part of the names found.
fn list_groups(library: &Library, account: usize, body: &Value) -> Value {
    let filter = &body["Filter"];
    let found = library
        .groups(account)
        .filter(|group| group.name.contains(text(filter, "Name")) && admits(filter, "GroupIds", &group.id));
    page(found.map(group_view).collect(), body)
}

fn list_assets(library: &Library, account: usize, body: &Value, now: u64) -> Value {
    let filter = &body["Filter"];
    let found = library.assets(account, now).filter(|asset| {
        asset.record.name.contains(text(filter, "Name"))
            && admits(filter, "GroupIds", &asset.record.group)
            && admits(filter, "Statuses", asset.status)
    });
    let mut found: Vec<Value> = found.map(|asset| asset_view(&asset)).collect();
    if body["SortOrder"] == "Desc" {
        found.reverse();
    }
    page(found, body)
}
