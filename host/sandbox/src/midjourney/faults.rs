//! Faults on demand: markers in the prompt, each for one failure of a task.
//!
//! A follow-up inherits the prompt of its parent and so its markers. `[[later:N]]` spares the task it is sent with and
//! the first N - 1 steps after it: an upscale is one step from its grid, an inpaint of that two, its modal three. A
//! prompt of a follow-up's own brings its own markers and counts from zero. `:K` limits a fault to the first K submits
//! of that very prompt and button, or to the first K reads of that task, whether by fetch or by list.

use crate::common::faults::{EVER, NONE, Number, Target, Times, faults};

faults! {
    NoAccount "3" Times(EVER), Submit "submit answers code 3, no account (every time, or the first K with [[3:K]])";
    Invalid "4" Times(EVER), Submit "submit answers code 4, a validation error (every time, or the first K)";
    QueueFull "9" Times(EVER), Submit "submit answers code 9, the queue is full (every time, or the first K)";
    OldQueueFull "23" Times(EVER), Submit "submit answers code 23, the queue is full (every time, or the first K)";
    Banned "24" Times(EVER), Submit "submit answers code 24, a banned word (every time, or the first K)";
    Binding "-1" Times(EVER), Submit "submit answers code -1, the body of another form (every time, or the first K)";
    Key "401" Times(EVER), Submit "submit answers 401 (every time, or the first K)";
    Forbidden "403" Times(EVER), Submit "submit answers 403 (every time, or the first K)";
    TooMany "429" Times(EVER), Submit "submit answers 429 (every time, or the first K)";
    Broken "500" Times(EVER), Submit "submit answers 500 in plain text (every time, or the first K)";
    Unavailable "503-html" Times(EVER), Submit "submit answers 503 with an HTML page (every time, or the first K)";
    Duplicate "21" NONE, Receipt "a press that repeats an earlier one answers code 21 with that one's task";
    Queued "22" NONE, Receipt "the task is accepted with code 22, as behind a queue";
    NoId "no-id" NONE, Receipt "the task is accepted, the reply does not name it";
    SubmitGarbage "garbage-submit" NONE, Receipt "the task is accepted, the reply is not JSON";
    SubmitHang "submit-hang" NONE, Receipt "the task is accepted, the reply never comes";
    SubmitCut "submit-cut" NONE, Receipt "the task is accepted, the connection closes without a reply";
    Slow "slow" Number, Time "the task takes N milliseconds";
    NeverReady "never-ready" NONE, Time "the task stays IN_PROGRESS";
    Lost "lost" Times(EVER), Poll "reads (or the first K) do not know the task: an empty body, null or 204 in turn";
    ReadBroken "poll-500" Times(1), Poll "the first read (or the first K) answers 500";
    ReadMalformed "malformed-json" Times(1), Poll "the first read (or the first K) answers 200 with broken JSON";
    OddStatus "unknown-status" Times(2), Poll "the first two reads (or the first K) tell status words nobody knows";
    EmptyStatus "empty-status" Times(2), Poll "the first two reads (or the first K) tell no status and no times";
    BannedWord "banned-word" NONE, Ending "the task fails by the proxy's own word filter";
    BannedPrompt "banned-prompt" NONE, Ending "the task fails by the engine's word filter";
    RunTimeout "run-timeout" NONE, Ending "the task fails as over its run limit";
    OldTimeout "task-timeout" NONE, Ending "the task fails as over its limit, in the older words";
    SubmitTimeout "submit-timeout" NONE, Ending "the task fails as submitted too late";
    Parameter "invalid-parameter" NONE, Ending "the task fails with an invalid parameter";
    BadLink "invalid-link" NONE, Ending "the task fails with an invalid link";
    ImageDenied "image-denied" NONE, Ending "the task fails with a denied image";
    EngineError "engine-error" NONE, Ending "the task fails with the engine's own error, which names an account";
    Filtered "output-filter" NONE, Ending "the task fails by the output filters";
    Unprocessed "not-processed" NONE, Ending "the task fails because the command was not processed";
    NoReason "no-reason" NONE, Ending "the task fails without a reason";
    Cancelled "cancelled" NONE, Ending "the task ends as CANCEL";
    Links "links" NONE, Form "the result has a link to each tile beside the grid";
    NoPicture "no-picture" NONE, Form "the task succeeds without a link to its picture";
    NoButtons "no-buttons" NONE, Form "the task succeeds without buttons";
    NoProgress "progress-null" NONE, Form "the progress is null until the end";
    OddProgress "odd-progress" NONE, Form "the progress is a text of the chat, not a percentage";
    DeadLink "dead-link" NONE, Link "every link is dead on arrival";
    ForeignLink "foreign-link" NONE, Link "the links are on a host that is not the provider's";
    PrivateLink "private-link" NONE, Link "the links point into a private network";
    WrongType "wrong-type" NONE, File "the files are HTML pages";
    Truncated "truncated-file" NONE, File "the connection closes in the middle of a file";
    FileUnavailable "delivery-503" Times(1), File "the first download (or the first K) answers 503";
    Later "later" Number, Begin "the other faults hold from the Nth step after this task on";
}

impl Faults {
    /// Those of a task that many steps after the task the prompt was sent with.
    pub(crate) fn after_steps(prompt: &str, steps: u32) -> Self {
        let mut faults = Self::of(prompt);
        if faults.number(Marker::Later).is_some_and(|first| u64::from(steps) < first) {
            faults.found.clear();
        }
        faults
    }

    /// Why the task fails, in the provider's words; `CANCEL` stands for that status.
    pub(crate) fn ending(&self) -> Option<&'static str> {
        Some(match self.at(Target::Ending)?.0 {
            Marker::BannedWord => "可能包含敏感词",
            Marker::BannedPrompt => {
                "[Banned prompt detected] The word you used is banned. Circumventing this filter may lead to a suspension."
            }
            Marker::RunTimeout => "执行超时 5 分钟",
            Marker::OldTimeout => "任务超时",
            Marker::SubmitTimeout => "任务提交超时",
            Marker::Parameter => "[Invalid parameter] `--ar 1:0` is not a valid aspect ratio",
            Marker::BadLink => "[Invalid link] Could not validate this link. Please try again later.",
            Marker::ImageDenied => {
                "[Image denied] One of the images you supplied was denied by our moderators."
            }
            Marker::EngineError => {
                "[Internal Server Error] Something went wrong on account 1118138338562560102, job failed"
            }
            Marker::Filtered => "Request cancelled due to output filters",
            Marker::Unprocessed => "Failed to process your command",
            Marker::Cancelled => "CANCEL",
            _ => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_spares_the_first_steps() {
        assert_eq!(Faults::after_steps("a kite [[later:2]] --v 7", 1).rest, "a kite  --v 7");
        for (steps, expected) in
            [(0, None), (1, None), (2, Some(Marker::NoAccount)), (3, Some(Marker::NoAccount))]
        {
            assert_eq!(Faults::after_steps("[[later:2]] [[3]]", steps).submit_fault(0), expected, "{steps}");
        }
    }
}
