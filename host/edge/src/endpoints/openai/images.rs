//! `images.generate` and `images.edit`: a picture task that is awaited within the request. The specification's path keeps its
//! receipt unless a header or the key asks for the bare shape.

use std::sync::Arc;

use gatehouse_model::{ChatFormat, FormFields, FormTypes, FormValue, Key, Task};
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::endpoints::openai::fields::Fields;
use crate::endpoints::openai::made::{self, Encoded, Submitted};
use crate::endpoints::{dry_run, jobs, media, text};
use crate::errors::{Form, Kind, Outcome, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::response::{self, ResponseBody};
use crate::routing::routes::Endpoint;

/// The families' surface.
const SURFACE: &str = "images.generate";
/// Names that families have for pictures to begin with, and for a ratio.
const PICTURES: [&str; 4] = ["image_urls", "image_url", "images", "image"];
const RATIOS: [&str; 2] = ["size", "aspect_ratio"];

/// How the client wants its pictures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Links,
    Base64,
}

/// Whether a submission of pictures is to be answered in OpenAI's shape.
pub(in crate::endpoints) fn is_wanted(request: &EndpointRequest<'_>, key: &Key) -> Result<bool, Refusal> {
    let is_surface = request.route.surface == SURFACE;
    Ok(is_surface && text::format(&request.parts.headers, key.chat_format)? == ChatFormat::Bare)
}

/// Makes pictures, of pictures where those are to be edited.
pub(in crate::endpoints) async fn generate(request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    answer(request, key).await.map_err(|refusal| refusal.in_form(Form::OpenAi))
}

async fn answer(mut request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let context = request.context;
    let is_edit = request.route.endpoint == Endpoint::EditImages;
    let form = is_edit.then(form);
    let mut fields = Fields::read(&mut request, &key, SURFACE, form.as_ref()).await?;
    let delivery = translate(&mut fields, is_edit)?;
    let receipt = match made::submit(&request, &key, SURFACE, fields).await? {
        Submitted::Task(receipt) => receipt,
        Submitted::DryRun(found) => return Ok(dry_run::answer(found, false)),
    };
    // The task has what it needs; the wait for it holds no part of the budget.
    drop(request.body.while_streamed());
    let task = made::completed(context, &key, receipt).await?;
    let response = match delivery {
        Delivery::Links => links(context, &task, &request.base_url),
        Delivery::Base64 => files(context, &task).await,
    };
    // They are made and paid for; a repetition would pay others.
    let mut response = response.map_err(|refusal| jobs::of_task(refusal.never_repeated(), receipt.task))?;
    made::name_task(&mut response, receipt);
    Ok(response)
}

/// What the texts of a form are that no family knows.
fn form() -> FormTypes {
    let list = FormValue { items: Some(Box::new(FormValue::text())), ..FormValue::default() };
    let number = FormValue { number: true, ..FormValue::default() };
    let fields: FormFields = [
        ("image", list.clone()),
        ("images", list),
        ("n", number.clone()),
        ("partial_images", number.clone()),
        ("output_compression", number),
        ("stream", FormValue { boolean: true, ..FormValue::default() }),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    FormTypes { usual: Arc::new(fields), ..FormTypes::default() }
}

/// Has the fields of the family, of those that the client sent.
fn translate(fields: &mut Fields, is_edit: bool) -> Result<Delivery, Refusal> {
    let delivery = match fields.take("response_format") {
        None => Delivery::Links,
        Some(Value::String(word)) if word == "url" => Delivery::Links,
        Some(Value::String(word)) if word == "b64_json" => Delivery::Base64,
        Some(other) => {
            return Err(jobs::wrong_field("response_format", "\"url\" or \"b64_json\"", &other));
        }
    };
    fields.translate_size(&RATIOS)?;
    fields.pass("n", &[1.into()])?;
    fields.pass("quality", &["auto".into(), "standard".into()])?;
    fields.pass("background", &["auto".into(), "opaque".into()])?;
    fields.pass("moderation", &["auto".into()])?;
    fields.pass("output_format", &[])?;
    fields.pass("output_compression", &[100.into()])?;
    fields.pass("style", &[])?;
    fields.pass("input_fidelity", &[])?;
    fields.drop_neutral("stream", &[false.into()])?;
    fields.drop_neutral("partial_images", &[0.into()])?;
    // A note about the client's own user.
    fields.take("user");
    if is_edit {
        let pictures = pictures(fields)?;
        fields.give_pictures("image", pictures, &PICTURES)?;
        fields.pass("mask", &[])?;
    }
    Ok(delivery)
}

/// The pictures of an edit: `image`, one or several, or `images` as JSON has them.
fn pictures(fields: &mut Fields) -> Result<Vec<Value>, Refusal> {
    let found = fields.take("image").or_else(|| fields.take("images"));
    let found = match found {
        None => return Err(Refusal::field("image", "image: expected one or several pictures, got none")),
        Some(Value::Array(several)) => several,
        Some(one) => vec![one],
    };
    found.into_iter().map(|picture| link_of(picture, "image")).collect()
}

/// A picture as families take it: an address or a `data:` URI.
pub(super) fn link_of(picture: Value, name: &'static str) -> Result<Value, Refusal> {
    let link = match picture {
        Value::Object(mut members) => members.remove("image_url").filter(Value::is_string),
        picture @ Value::String(_) => Some(picture),
        _ => None,
    };
    link.ok_or_else(|| {
        let message = format!("{name}: expected a file, or the address of one in `image_url`");
        Refusal::field(name, message)
    })
}

/// The pictures as links.
fn links(context: &EdgeContext, task: &Task, base: &str) -> Outcome {
    let result = context.backend.result(task, base).unwrap_or_default();
    let result: Value = serde_json::from_slice(&result).map_err(Refusal::internal)?;
    let data: Vec<Value> =
        made::links_of(&result, "images").into_iter().map(|link| json!({"url": link})).collect();
    Ok(response::json(&json!({"created": created(task), "data": data})))
}

/// The pictures in the answer itself.
async fn files(context: &EdgeContext, task: &Task) -> Outcome {
    let mut encoded = Encoded::default();
    encoded.text(format!("{{\"created\":{},\"data\":[", created(task)));
    for (number, picture) in made::files_of(task, "images").into_iter().enumerate() {
        let gone = || Refusal::new(Kind::NotFound, "the picture is no longer kept");
        let file = context.backend.result_file(picture, None).await;
        let file = file.map_err(|refusal| media::result_refusal(refusal, gone))?;
        encoded.text(if number == 0 { "{\"b64_json\":\"" } else { ",{\"b64_json\":\"" });
        encoded.file(file.length, file.body);
        encoded.text("\"}");
    }
    encoded.text("]}");
    let (pieces, bytes) = encoded.into_pieces();
    let mut response = response::json_text("");
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    *response.body_mut() = ResponseBody::Pieces(pieces, bytes);
    Ok(response)
}

fn created(task: &Task) -> u64 {
    task.finished.unwrap_or(task.created).seconds()
}
