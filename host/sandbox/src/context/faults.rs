//! Faults on demand: markers in the prompt, each for one failure of a job.
//!
//! `:K` limits a fault to the first K submits of that very prompt, or to the first K polls of that job. Faults of a
//! submit come after the checks of key and body. Faults of polls come in the order of the table:
//! `[[poll-500:2]][[first-poll-404]]` is one 404, then two 500s, then the result.

use crate::common::faults::{EVER, NONE, Number, Target, Times, faults};

faults! {
    Credits "402" Times(EVER), Submit "submit answers 402 (every time, or the first K with [[402:K]])";
    Key "403" Times(EVER), Submit "submit answers 403 (every time, or the first K)";
    Schema "422" Times(EVER), Submit "submit answers 422 with a list of field_errors (every time, or the first K)";
    TooMany "429" Times(EVER), Submit "submit answers 429 with Retry-After (every time, or the first K)";
    Broken "500" Times(EVER), Submit "submit answers 500 in plain text (every time, or the first K)";
    Unavailable "503-html" Times(EVER), Submit "submit answers 503 with an HTML page (every time, or the first K)";
    SubmitGarbage "garbage-submit" NONE, Receipt "the job is accepted, the reply is not JSON";
    SubmitHang "submit-hang" NONE, Receipt "the job is accepted, the reply never comes";
    SubmitCut "submit-cut" NONE, Receipt "the job is accepted, the connection closes without a reply";
    ForeignPoll "foreign-poll" NONE, Receipt "the polling_url is on a host that is not the provider's";
    Slow "slow" Number, Time "the job takes N milliseconds";
    NeverReady "never-ready" NONE, Time "the job stays Pending";
    FirstPollNotFound "first-poll-404" Times(1), Poll "the first poll (or the first K) answers 404, Task not found";
    PollNotFound "poll-404" Times(EVER), Poll "every poll (or the first K) answers 404, Task not found";
    PollBroken "poll-500" Times(1), Poll "the first poll (or the first K) answers 500";
    PollMalformed "malformed-json" Times(1), Poll "the first poll (or the first K) answers 200 with broken JSON";
    PollOddStatus "unknown-status" Times(2), Poll "the first two polls (or the first K) answer status words nobody knows";
    RequestModerated "moderated-input" NONE, Ending "the job ends as Request Moderated";
    ContentModerated "moderated-output" NONE, Ending "the job ends as Content Moderated";
    Error "error" NONE, Ending "the job ends as Error";
    ExpiredLink "expired-link" NONE, Link "the first link is dead on arrival, the next poll's is fresh";
    DeadLink "dead-link" NONE, Link "every link is dead on arrival";
    ForeignLink "foreign-link" NONE, Link "the link is on a host that is not the provider's";
    PrivateLink "private-link" NONE, Link "the link points into a private network";
    WrongType "wrong-type" NONE, File "the file is an HTML page";
    Truncated "truncated-image" NONE, File "the connection closes in the middle of the file";
    FileUnavailable "delivery-503" Times(1), File "the first download (or the first K) answers 503";
}
