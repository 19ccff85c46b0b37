//! The body of a creation: the fields of Seedance 2.0 and their values. Fields of other models are refused.

use serde_json::Value;

use super::content::{self, Content};
use crate::ark::refusal::{ArkDialect, Refusal};
use crate::common::schema::{self, Field, Kind, fields, object};

/// A model, by its names on both clouds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArkModel {
    names: [&'static str; 2],
    resolutions: &'static [&'static str],
}

const MODELS: [ArkModel; 3] = [
    ArkModel {
        names: ["doubao-seedance-2-0-260128", "dreamina-seedance-2-0-260128"],
        resolutions: &["480p", "720p", "1080p", "4k"],
    },
    ArkModel {
        names: ["doubao-seedance-2-0-fast-260128", "dreamina-seedance-2-0-fast-260128"],
        resolutions: &["480p", "720p"],
    },
    ArkModel {
        names: ["doubao-seedance-2-0-mini-260615", "dreamina-seedance-2-0-mini-260615"],
        resolutions: &["480p", "720p"],
    },
];

const BODY: &[Field] = &fields! {
    model: Kind::Text,
    content: Kind::List(&Kind::Variants("type", content::ITEMS), 1, 16),
    resolution?: Kind::Word(&["480p", "720p", "1080p", "4k"]),
    ratio?: Kind::Word(&["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"]),
    duration?: Kind::Integer(-1, 15),
    seed?: Kind::Integer(-1, 4_294_967_295),
    generate_audio?: Kind::Flag,
    return_last_frame?: Kind::Flag,
    watermark?: Kind::Flag,
    tools?: Kind::List(&object! { type: Kind::Word(&["web_search"]) }, 0, 8),
    callback_url?: Kind::Text,
    service_tier?: Kind::Word(&["default"]),
    execution_expires_after?: Kind::Integer(3600, 259_200),
    priority?: Kind::Integer(0, 9),
    safety_identifier?: Kind::Text,
};
/// Fields of other models: refused with a value, while the provider's SDK writes a null into each that its user leaves out.
const OF_OTHER_MODELS: [&str; 5] =
    ["draft", "camera_fixed", "frames", "output_format", "omni_reference_task_type"];

/// A body that passed the schema.
pub(crate) struct CreateRequest {
    pub(crate) model: String,
    pub(crate) content: Content,
    pub(crate) resolution: String,
    pub(crate) ratio: String,
    pub(crate) seconds: u64,
}

/// Reads a body.
pub(crate) fn read(body: &Value) -> Result<CreateRequest, Refusal> {
    let Some(given) = body.as_object() else {
        return Err(Refusal::new(400, "InvalidParameter", "The request body is not a JSON object."));
    };
    let mut given = given.clone();
    given.retain(|name, value| !(value.is_null() && OF_OTHER_MODELS.contains(&name.as_str())));
    schema::check_fields::<ArkDialect>("", &given, BODY, "")?;
    let name = schema::text(body, "model").to_owned();
    let Some(model) = MODELS.iter().find(|model| model.names.contains(&name.as_str())) else {
        let message = format!("The model or endpoint {name} does not exist or you do not have access to it.");
        return Err(Refusal::new(404, "InvalidEndpointOrModel.NotFound", message));
    };
    let resolution = body["resolution"].as_str().unwrap_or("720p").to_owned();
    if !model.resolutions.contains(&resolution.as_str()) {
        let message = format!("The parameter resolution {resolution} is not valid for the model {name}.");
        return Err(Refusal::invalid("resolution", message));
    }
    let seconds = match body["duration"].as_i64().unwrap_or(5) {
        // The model decides.
        -1 => 5,
        seconds @ 4.. => seconds.unsigned_abs(),
        _ => return Err(Refusal::invalid("duration", "The parameter duration must be 4 to 15, or -1.")),
    };
    Ok(CreateRequest {
        content: content::read(body)?,
        ratio: body["ratio"].as_str().unwrap_or("adaptive").to_owned(),
        model: name,
        resolution,
        seconds,
    })
}
