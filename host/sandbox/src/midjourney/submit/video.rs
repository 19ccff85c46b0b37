//! Films: from a picture, or longer ones from a film.

use serde_json::Value;

use super::answer::Answer;
use super::body::{Body, given};
use super::draft::Origin;
use super::image::picture;
use crate::midjourney::engine::buttons::Kind;
use crate::midjourney::refusal::Refusal;
use crate::midjourney::tasks::task::Hues;

/// A film's length, and what an extension adds.
pub(super) const FILM_MS: u64 = 5200;
pub(super) const LONGER_MS: u64 = 4000;

const TYPES: [(&str, u32); 2] = [("vid_1.1_i2v_480", 480), ("vid_1.1_i2v_720", 720)];

pub(super) async fn video(mut origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let prompt = body.prompt()?.to_owned();
    let motion = body.motion.as_deref().unwrap_or("low");
    if !["low", "high"].contains(&motion) {
        return Err(Refusal::invalid("motion参数错误"));
    }
    let name = body.video_type.as_deref().unwrap_or(TYPES[0].0);
    let found = TYPES.iter().find(|(known, _)| *known == name);
    let (video_type, side) = *found.ok_or_else(|| Refusal::invalid("videoType参数错误"))?;
    let batch = body.batch_size.unwrap_or(4);
    let count = usize::try_from(batch).ok().filter(|count| [1, 2, 4].contains(count));
    let count = count.ok_or_else(|| Refusal::invalid("batchSize参数错误"))?;
    let source = match (given(&body.action), given(&body.task_id)) {
        (Some("extend"), Some(id)) => longer(&origin, id, body.index)?,
        (None, None) => {
            let text = given(&body.image).ok_or_else(|| Refusal::invalid("image不能为空"))?;
            let first = picture(origin.provider, text, "image").await?;
            origin.sent["image"] = first.record.clone();
            (first.hue, film_size(first.width, first.height, side), FILM_MS, None)
        }
        // A task is named for an extension only.
        _ => return Err(Refusal::invalid("taskId参数错误")),
    };
    if let Some(text) = given(&body.end_image) {
        let last = picture(origin.provider, text, "endImage").await?;
        origin.sent["endImage"] = last.record;
    }
    let (hue, size, milliseconds, parent) = source;
    let mut task = origin.draft(&body, &prompt, 0);
    task.action = if parent.is_some() { "VIDEO_EXTEND" } else { "VIDEO" };
    task.kind = Kind::Films(count);
    task.source = Hues::Near(hue, count);
    task.record.size = size;
    task.record.parent = parent;
    task.video_type = Some(video_type);
    task.milliseconds = milliseconds;
    let end = match (origin.sent.get("endImage"), body.r#loop) {
        (Some(Value::Object(_)), _) => " --end url",
        (_, Some(true)) => " --end loop",
        _ => "",
    };
    task.final_prompt = format!("{prompt} --video 1 --motion {motion} --bs {count}{end}");
    task.description = format!("/video {}", task.final_prompt);
    origin.admit(task, "video")
}

/// Hue, size, length and id of the film to make longer.
type Source = (u16, (u32, u32), u64, Option<String>);

fn longer(origin: &Origin<'_>, id: &str, index: Option<i64>) -> Result<Source, Refusal> {
    let now = origin.provider.now();
    let mut tasks = origin.provider.table();
    let task = tasks.task(origin.account, id).ok_or_else(Refusal::not_found)?;
    if !task.has_succeeded(now) || !matches!(task.kind, Kind::Films(_) | Kind::Film) {
        return Err(Refusal::invalid("关联任务状态错误"));
    }
    let film = index.and_then(|index| task.hues.get(usize::try_from(index).ok()?).copied());
    let hue = film.ok_or_else(|| Refusal::invalid("index参数错误"))?;
    Ok((hue, task.record.size, task.milliseconds + LONGER_MS, Some(id.to_owned())))
}

/// The size of a film from a picture: its shorter side as asked for, both even.
pub(super) fn film_size(width: u32, height: u32, side: u32) -> (u32, u32) {
    let (width, height) = (width.max(1), height.max(1));
    let short = width.min(height);
    let scaled = |length: u32| (length.saturating_mul(side) / short / 2 * 2).clamp(2, 4096);
    (scaled(width), scaled(height))
}
