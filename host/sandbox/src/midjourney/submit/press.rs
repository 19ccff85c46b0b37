//! Presses of buttons: by custom id, and by action and index as older servers take them.

use super::answer::Answer;
use super::body::{Body, given};
use super::draft::{Origin, judge};
use crate::midjourney::engine::buttons::{self, Effect, Kind};
use crate::midjourney::engine::prompt::Prompt;
use crate::midjourney::faults::{Faults, Marker};
use crate::midjourney::refusal::Refusal;
use crate::midjourney::submit::video::{FILM_MS, LONGER_MS, film_size};
use crate::midjourney::tasks::task::{Hues, Plan, Task};

pub(super) fn action(origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let task_id = body.task_id()?.to_owned();
    let custom_id = given(&body.custom_id).ok_or_else(|| Refusal::invalid("customId不能为空"))?.to_owned();
    let parent = parent(&origin, &task_id)?;
    press(&origin, &body, &parent, &custom_id)
}

pub(super) fn change(origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let task_id = body.task_id()?.to_owned();
    let action = given(&body.action).ok_or_else(|| Refusal::invalid("action不能为空"))?.to_owned();
    changed(&origin, &body, &task_id, &action, body.index)
}

/// `<id> U2`, `<id> V4`, `<id> R`.
pub(super) fn simple_change(origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let refused = || Refusal::invalid("content参数错误");
    let (id, what) = given(&body.content).and_then(|it| it.trim().split_once(' ')).ok_or_else(refused)?;
    let (id, what) = (id.to_owned(), what.trim().to_uppercase());
    let index = what.get(1..).and_then(|digits| digits.parse().ok());
    let action = match what.as_bytes() {
        b"R" => "REROLL",
        [b'U', _] => "UPSCALE",
        [b'V', _] => "VARIATION",
        _ => return Err(refused()),
    };
    changed(&origin, &body, &id, action, index)
}

fn changed(
    origin: &Origin<'_>,
    body: &Body,
    id: &str,
    action: &str,
    index: Option<i64>,
) -> Result<Answer, Refusal> {
    let job = match action {
        "UPSCALE" => "upsample",
        "VARIATION" => "variation",
        "REROLL" => "reroll",
        _ => return Err(Refusal::invalid("action参数错误")),
    };
    let index = index.filter(|index| (1..=4).contains(index));
    if index.is_none() && action != "REROLL" {
        return Err(Refusal::invalid("index参数错误"));
    }
    let parent = parent(origin, id)?;
    if parent.kind != Kind::Grid {
        return Err(Refusal::invalid("关联任务不允许执行变化"));
    }
    let custom_id = match index.filter(|_| action != "REROLL") {
        Some(index) => format!("MJ::JOB::{job}::{index}::{}", parent.hash),
        None => format!("MJ::JOB::reroll::0::{}::SOLO", parent.hash),
    };
    press(origin, body, &parent, &custom_id)
}

/// The task whose button is pressed; it must have succeeded.
fn parent(origin: &Origin<'_>, id: &str) -> Result<Task, Refusal> {
    let now = origin.provider.now();
    let mut tasks = origin.provider.table();
    let task = tasks.task(origin.account, id).ok_or_else(Refusal::not_found)?;
    if !task.has_succeeded(now) {
        return Err(Refusal::invalid("关联任务状态错误"));
    }
    Ok(task.clone())
}

fn press(origin: &Origin<'_>, body: &Body, parent: &Task, custom_id: &str) -> Result<Answer, Refusal> {
    let effect = buttons::effect(parent.kind, parent.version, &parent.hash, custom_id);
    let effect = effect.ok_or_else(|| Refusal::invalid("customId参数错误"))?;
    if effect == Effect::Bookmark {
        return Ok(Answer::noted(&parent.record.id));
    }
    if Faults::after_steps(&parent.record.prompt, parent.steps + 1).has(Marker::Duplicate)
        && let Some(earlier) = origin.provider.table().earlier_press(&parent.record.id, custom_id)
    {
        return Ok(Answer::duplicate(earlier, origin.provider.now()));
    }
    let mut task = origin.draft(body, &parent.record.prompt, parent.steps + 1);
    let parsed = Prompt::parse(&task.faults.rest);
    let (version, failure) = judge(&parsed, false, Some(parent.version));
    task.version = version;
    task.failure = task.faults.ending().map(str::to_owned).or(failure);
    task.record.parent = Some(parent.record.id.clone());
    task.record.custom_id = Some(custom_id.to_owned());
    task.record.size = parent.record.size;
    make(&mut task, parent, effect, body.enable_remix == Some(true));
    origin.admit(task, custom_id)
}

/// Makes of the task what the button says.
fn make(task: &mut Task, parent: &Task, effect: Effect, remix: bool) {
    let hue = |tile: usize| parent.hues.get(tile - 1).copied().unwrap_or_default();
    let (width, height) = parent.record.size;
    let mut waits = false;
    task.source = Hues::Near(hue(1), 4);
    task.description =
        format!("/action {} {}", parent.record.id, task.record.custom_id.as_deref().unwrap_or_default());
    match effect {
        Effect::Upscale(tile) => {
            (task.action, task.kind, task.source) = ("UPSCALE", Kind::Single, Hues::Same(hue(tile)));
            task.description = format!("/up {} U{tile}", parent.record.id);
        }
        Effect::UpscaleLarge => {
            (task.action, task.kind, task.source) = ("UPSCALE_HD", Kind::LargeSingle, Hues::Same(hue(1)));
            task.record.size = (width * 2, height * 2);
        }
        Effect::Vary(tile) => {
            (task.action, task.source, waits) = ("VARIATION", Hues::Near(hue(tile), 4), remix);
            task.description = format!("/up {} V{tile}", parent.record.id);
        }
        Effect::Reroll => {
            task.action = if parent.action == "UPSCALE" { "IMAGINE" } else { parent.action };
            task.source = Hues::Fresh;
        }
        Effect::Inpaint => {
            (task.action, waits) = ("VARIATION", true);
            (task.record.prompt, task.final_prompt) = (String::new(), String::new());
        }
        Effect::CustomZoom => (task.action, waits) = ("ZOOM", true),
        Effect::Zoom => task.action = "OUTPAINT",
        Effect::Pan { sideways } => {
            (task.action, waits) = ("PAN", remix);
            task.record.size = if sideways { (width / 2 * 3, height) } else { (width, height / 2 * 3) };
        }
        Effect::Remix(tile) => {
            (task.action, task.source, waits) = ("VARIATION", Hues::Near(hue(tile), 4), remix);
        }
        Effect::Animate => {
            (task.action, task.kind, task.milliseconds) = ("VIDEO", Kind::Films(4), FILM_MS);
            task.video_type = Some("vid_1.1_i2v_480");
            task.record.size = film_size(width, height, 480);
        }
        Effect::ChooseFilm(film) => {
            (task.action, task.kind, task.source) = ("UPSCALE", Kind::Film, Hues::Same(hue(film)));
            task.video_type = Some("vid_1.1_i2v_480");
            task.milliseconds = parent.milliseconds;
        }
        Effect::ExtendFilm => {
            (task.action, task.kind) = ("VIDEO_EXTEND", Kind::Films(4));
            task.video_type = Some("vid_1.1_i2v_480");
            task.milliseconds = parent.milliseconds + LONGER_MS;
        }
        Effect::Imagine(text) => {
            waits = true;
            let prompt =
                parent.texts.as_ref().and_then(|texts| texts.get(text - 1)).cloned().unwrap_or_default();
            (task.record.prompt, task.final_prompt, task.inherited) =
                (prompt.clone(), prompt.clone(), prompt);
            task.source = Hues::Fresh;
        }
        Effect::Bookmark => {}
    }
    if waits {
        task.plan = Plan::Modal;
    }
}
