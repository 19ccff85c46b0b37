//! Submits that begin something: imagine, blend, describe, edits.

use serde_json::Value;

use super::answer::Answer;
use super::body::{Body, Dimensions, given};
use super::draft::{Origin, tile_size};
use super::image::{InputPicture, picture};
use crate::midjourney::engine::buttons::Kind;
use crate::midjourney::engine::prompt::{Prompt, described};
use crate::midjourney::refusal::Refusal;
use crate::midjourney::tasks::task::Hues;

pub(super) async fn imagine(mut origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let prompt = body.prompt()?.to_owned();
    let pictures = pictures(&mut origin, &body).await?;
    let mut task = origin.draft(&body, &prompt, 0);
    // Pictures become links in front of the prompt.
    let links = pictures.iter().map(|picture| match picture.record["url"].as_str() {
        Some(url) => format!("{url} "),
        None => format!("https://s.mj.run/{} ", picture.record["sha256"].as_str().unwrap_or_default()),
    });
    task.final_prompt = links.collect::<String>() + &prompt;
    origin.admit(task, "imagine")
}

pub(super) async fn blend(mut origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let count = body.base64_array.as_ref().map_or(0, Vec::len);
    if !(2..=5).contains(&count) {
        return Err(Refusal::invalid("base64List参数错误"));
    }
    let pictures = pictures(&mut origin, &body).await?;
    let mut task = origin.draft(&body, "", 0);
    let (width, height) = match body.dimensions.unwrap_or_default() {
        Dimensions::Portrait => (2, 3),
        Dimensions::Square => (1, 1),
        Dimensions::Landscape => (3, 2),
    };
    task.action = "BLEND";
    task.record.size = tile_size(width, height);
    task.source = Hues::Near(pictures[0].hue, 4);
    task.description =
        format!("/blend {} {count}", pictures[0].record["sha256"].as_str().unwrap_or_default());
    let key = origin.sent.to_string();
    origin.admit(task, &key)
}

pub(super) async fn describe(mut origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let (field, text) = match (given(&body.base64), given(&body.link)) {
        (Some(text), _) => ("base64", text),
        (None, Some(text)) => ("link", text),
        (None, None) => return Err(Refusal::invalid("base64不能为空")),
    };
    let picture = picture(origin.provider, text, field).await?;
    origin.sent[field] = picture.record.clone();
    let mut task = origin.draft(&body, "", 0);
    task.action = "DESCRIBE";
    task.kind = Kind::Texts;
    task.texts = Some(described(picture.hue, picture.width, picture.height));
    task.source = Hues::Same(picture.hue);
    task.record.size = tile_size(picture.width, picture.height);
    task.description = format!("/describe {}.png", picture.record["sha256"].as_str().unwrap_or("link"));
    let key = origin.sent.to_string();
    origin.admit(task, &key)
}

pub(super) async fn edits(mut origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let prompt = body.prompt()?.to_owned();
    let text = given(&body.image).ok_or_else(|| Refusal::invalid("image不能为空"))?;
    let picture = picture(origin.provider, text, "image").await?;
    origin.sent["image"] = picture.record.clone();
    let mut task = origin.draft(&body, &prompt, 0);
    task.action = "EDIT";
    task.source = Hues::Near(picture.hue, 4);
    if Prompt::parse(&task.faults.rest).ratio().is_none() {
        task.record.size = tile_size(picture.width, picture.height);
    }
    task.description = format!("/edit {prompt}");
    origin.admit(task, "edits")
}

/// The pictures of `base64Array`; the record keeps their facts only.
async fn pictures(origin: &mut Origin<'_>, body: &Body) -> Result<Vec<InputPicture>, Refusal> {
    let mut pictures = Vec::new();
    for text in body.base64_array.iter().flatten() {
        pictures.push(picture(origin.provider, text, "base64").await?);
    }
    if !pictures.is_empty() {
        origin.sent["base64Array"] = pictures.iter().map(|picture| picture.record.clone()).collect::<Value>();
    }
    Ok(pictures)
}
