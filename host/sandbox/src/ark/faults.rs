//! Faults on demand: markers in a prompt (data plane) or in the name of a group or an asset (control plane).
//!
//! `:K` limits a fault to the first K creations of that very text, or to the first K polls of that task.

use crate::common::faults::{EVER, NONE, Number, Target, Times, faults};

faults! {
    Authentication "401" Times(EVER), Submit "creation answers 401 AuthenticationError (every time, or the first K with [[401:K]])";
    Overdue "403-overdue" Times(EVER), Submit "creation answers 403 AccountOverdueError";
    Denied "403" Times(EVER), Submit "creation answers 403 AccessDenied";
    NotOpen "404-model" Times(EVER), Submit "creation answers 404 ModelNotOpen";
    NoEndpoint "404-endpoint" Times(EVER), Submit "creation answers 404 InvalidEndpointOrModel.NotFound";
    Invalid "400" Times(EVER), Submit "creation answers 400 InvalidParameter";
    TextModerated "moderated-text" Times(EVER), Submit "creation answers 400 InputTextSensitiveContentDetected";
    ImageModerated "moderated-image" Times(EVER), Submit "creation answers 400 InputImageSensitiveContentDetected";
    FaceModerated "moderated-face" Times(EVER), Submit "creation answers 400 InputImageSensitiveContentDetected.PrivacyInformation";
    PolicyModerated "moderated-policy" Times(EVER), Submit "creation answers 400 InputImageSensitiveContentDetected.PolicyViolation";
    VideoModerated "moderated-video" Times(EVER), Submit "creation answers 400 InputVideoSensitiveContentDetected";
    TooMany "429" Times(EVER), Submit "creation answers 429 RateLimitExceeded.EndpointRPMExceeded";
    TooManyOfModel "429-model" Times(EVER), Submit "creation answers 429 ModelAccountRpmRateLimitExceeded";
    Quota "429-quota" Times(EVER), Submit "creation answers 429 QuotaExceeded";
    Overloaded "429-overloaded" Times(EVER), Submit "creation answers 429 ServerOverloaded";
    Loading "429-loading" Times(EVER), Submit "creation answers 429 ModelLoadingError";
    Broken "500" Times(EVER), Submit "creation answers 500 InternalServiceError";
    Unavailable "503-html" Times(EVER), Submit "creation answers 503 with an HTML page";
    NoPlan "no-plan" Times(EVER), Submit "an asset or a group is refused with 403 SubscriptionRequired";
    Reset "submit-reset" Times(EVER), Submit "the connection closes before the creation is looked at";
    ReceiptGarbage "garbage-submit" NONE, Receipt "it is accepted, the reply is not JSON";
    ReceiptHang "submit-hang" NONE, Receipt "it is accepted, the reply never comes";
    ReceiptCut "submit-cut" NONE, Receipt "it is accepted, the connection closes without a reply";
    Slow "slow" Number, Time "it takes N milliseconds";
    NeverReady "never-ready" NONE, Time "the task runs for ever, the review never ends";
    AlwaysQueued "always-queued" NONE, Time "the task stays in the queue";
    FirstPollNotFound "first-poll-404" Times(1), Poll "the first poll (or the first K) answers 404";
    PollBroken "poll-500" Times(1), Poll "the first poll (or the first K) answers 500";
    PollTooMany "poll-429" Times(1), Poll "the first poll (or the first K) answers 429";
    PollDenied "poll-401" Times(EVER), Poll "every poll (or the first K) answers 401";
    PollMalformed "malformed-json" Times(1), Poll "the first poll (or the first K) answers 200 with broken JSON";
    PollOddStatus "unknown-status" Times(2), Poll "the first two polls (or the first K) have a status nobody knows";
    OutputModerated "moderated-output" NONE, Ending "the task fails with OutputVideoSensitiveContentDetected";
    OutputPolicy "moderated-output-policy" NONE, Ending "the task fails with OutputVideoSensitiveContentDetected.PolicyViolation";
    AudioModerated "moderated-audio" NONE, Ending "the task fails with OutputAudioSensitiveContentDetected";
    Failed "error" NONE, Ending "the task fails with InternalServiceError";
    Expired "expired" NONE, Ending "the task expires";
    Cancelled "cancelled" NONE, Ending "the task ends as cancelled";
    Rejected "reject" NONE, Ending "the review of the asset fails";
    NoLastFrame "no-last-frame" NONE, File "the result has no last frame although it was asked for";
    DeadLink "dead-link" NONE, File "every link is dead on arrival";
    DeadFrame "dead-frame" NONE, File "the link of the last frame is dead on arrival";
    ForeignLink "foreign-link" NONE, File "the link is on a host that is not the provider's";
    PrivateLink "private-link" NONE, File "the link points into a private network";
    WrongType "wrong-type" NONE, File "the file is an HTML page";
    FileUnavailable "delivery-503" Times(1), File "the first download (or the first K) answers 503";
}
