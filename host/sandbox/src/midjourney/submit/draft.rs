//! A task before it is admitted: its prompt read by the engine, its speed, its size.

use serde_json::Value;

use super::answer::{Answer, is_answered, receipt_fault};
use super::body::Body;
use crate::midjourney::engine::buttons::Kind;
use crate::midjourney::engine::prompt::Prompt;
use crate::midjourney::engine::version::Version;
use crate::midjourney::faults::Faults;
use crate::midjourney::provider::Provider;
use crate::midjourney::record::TaskRecord;
use crate::midjourney::refusal::Refusal;
use crate::midjourney::tasks::task::{Hues, Plan, Task};

/// Pixels of a tile: a quarter of the real side, so that drawing stays cheap.
const TILE_PIXELS: f64 = 512.0 * 512.0;

/// The speeds as records name them, and as paths and prompts do.
pub(crate) const SPEEDS: [(&str, &str); 3] = [("RELAX", "relax"), ("FAST", "fast"), ("TURBO", "turbo")];

/// Where a submit came from.
pub(super) struct Origin<'a> {
    pub(super) provider: &'a Provider,
    pub(super) account: usize,
    /// The speed in the path, as records name it.
    pub(super) speed: Option<&'static str>,
    pub(super) route: &'a str,
    /// The body as sent.
    pub(super) sent: Value,
}

impl Origin<'_> {
    /// A task of that prompt, so many steps after the task the prompt was sent with: a grid drawn from text, until the
    /// route says otherwise.
    pub(super) fn draft(&self, body: &Body, prompt: &str, steps: u32) -> Task {
        let faults = Faults::after_steps(prompt, steps);
        let parsed = Prompt::parse(&faults.rest);
        let bot = body.bot_type.unwrap_or_default();
        let (version, failure) = judge(&parsed, bot.name() == "NIJI_JOURNEY", None);
        let (width, height) = parsed.ratio().unwrap_or((1, 1));
        let record = TaskRecord {
            account: self.account,
            route: self.route.to_owned(),
            mode: self.mode(body, &parsed).to_owned(),
            prompt: prompt.to_owned(),
            body: self.sent.clone(),
            size: tile_size(width, height),
            ..TaskRecord::default()
        };
        Task {
            record,
            action: "IMAGINE",
            kind: Kind::Grid,
            version,
            hash: String::new(),
            description: format!("/imagine {prompt}"),
            final_prompt: prompt.to_owned(),
            state: body.state.clone(),
            bot: bot.name(),
            source: Hues::Fresh,
            hues: Vec::new(),
            texts: None,
            video_type: None,
            milliseconds: 0,
            plan: Plan::Runs { from: 0, end: None },
            failure: faults.ending().map(str::to_owned).or(failure),
            faults,
            inherited: prompt.to_owned(),
            steps,
            reads: 0,
            downloads: 0,
        }
    }

    /// The path's speed goes before the filter's, that before the prompt's.
    pub(super) fn mode(&self, body: &Body, prompt: &Prompt) -> &'static str {
        let filter = body.account_filter.as_ref().and_then(|filter| filter.modes.as_ref()?.first());
        let filtered = filter.and_then(|name| SPEEDS.into_iter().find(|(speed, _)| speed == name));
        let asked = filtered.or_else(|| SPEEDS.into_iter().find(|(_, flag)| prompt.flag(flag).is_some()));
        self.speed.or_else(|| asked.map(|(speed, _)| speed)).unwrap_or("FAST")
    }

    /// Admits a task; `key` tells it from others with the same prompt.
    pub(super) fn admit(&self, mut task: Task, key: &str) -> Result<Answer, Refusal> {
        let fault = receipt_fault(&task);
        task.record.answered = is_answered(fault);
        let (is_modal, prompt) = (task.plan == Plan::Modal, task.final_prompt.clone());
        let now = self.provider.now();
        let mut tasks = self.provider.table();
        tasks.strike(&task, key)?;
        let admitted = tasks.admit(task, now)?;
        Ok(if is_modal {
            Answer::modal(&admitted.id, &prompt, fault)
        } else {
            Answer::accepted(&admitted, self.account, fault)
        })
    }
}

/// The version of a prompt, and why the engine fails it. A follow-up without a version of its own has its parent's.
pub(super) fn judge(prompt: &Prompt, niji_bot: bool, parent: Option<Version>) -> (Version, Option<String>) {
    let own = prompt.flag("v").is_some() || prompt.flag("niji").is_some();
    match (parent.filter(|_| !own), prompt.version(niji_bot)) {
        (None, Err(reason)) => (Version::USUAL, Some(reason)),
        (Some(version), _) | (None, Ok(version)) => (version, prompt.check(version).err()),
    }
}

/// Width and height of one tile of that ratio: multiples of 8.
pub(super) fn tile_size(width: u32, height: u32) -> (u32, u32) {
    let (width, height) = (f64::from(width), f64::from(height));
    let scale = (TILE_PIXELS / (width * height)).sqrt();
    (eights(width * scale), eights(height * scale))
}

/// Rounded to a multiple of 8; at least 64, at most 4096.
fn eights(side: f64) -> u32 {
    // Printing a whole float gives its digits without a point, which spares a lossy cast.
    let eighths: u32 = format!("{:.0}", (side / 8.0).round()).parse().unwrap_or(8);
    (eighths * 8).clamp(64, 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_the_ratio_that_was_asked_for() {
        for (ratio, size) in [
            ((1, 1), (512, 512)),
            ((16, 9), (680, 384)),
            ((9, 16), (384, 680)),
            ((2, 3), (416, 624)),
            ((1000, 1), (4096, 64)),
        ] {
            assert_eq!(tile_size(ratio.0, ratio.1), size, "{ratio:?}");
        }
    }
}
