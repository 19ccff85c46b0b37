//! Faults on demand: markers in the prompt, each for one failure of the provider.
//!
//! `:K` limits a fault to the first K submissions of that very prompt, the first K polls of that operation, or the first K
//! downloads of its files. Faults of a submission come after all checks.

use crate::common::faults::{EVER, NONE, Number, Target, Times, errors, faults};
use crate::veo::refusal::Refusal;

faults! {
    Invalid "400" Times(EVER), Submit "a submission answers 400 INVALID_ARGUMENT (every time, or the first K with [[400:K]])";
    InvalidInList "400-list" Times(EVER), Submit "the same inside a list";
    Private "400-private" Times(EVER), Submit "a submission answers 400 INVALID_ARGUMENT and names the project";
    Blocked "blocked" Times(EVER), Submit "a submission answers 400 INVALID_ARGUMENT with a support code";
    Precondition "400-precondition" Times(EVER), Submit "a submission answers 400 FAILED_PRECONDITION";
    Token "401" Times(EVER), Submit "a submission answers 401 UNAUTHENTICATED";
    Denied "403" Times(EVER), Submit "a submission answers 403 PERMISSION_DENIED";
    Retired "404" Times(EVER), Submit "a submission answers 404 NOT_FOUND: the model is no longer available";
    Rate "429" Times(EVER), Submit "a submission answers 429 RESOURCE_EXHAUSTED";
    Broken "500" Times(EVER), Submit "a submission answers 500 INTERNAL";
    Unavailable "503" Times(EVER), Submit "a submission answers 503 UNAVAILABLE";
    Proxy "503-html" Times(EVER), Submit "a submission answers 503 with an HTML page";
    SubmitGarbage "garbage-submit" NONE, Receipt "the operation is begun, the reply is not JSON";
    SubmitHang "submit-hang" NONE, Receipt "the operation is begun, the reply never comes";
    SubmitCut "submit-cut" NONE, Receipt "the operation is begun, the connection closes without a reply";
    WithoutName "no-name" NONE, Receipt "the operation is begun, the reply has no name";
    Slow "slow" Number, Time "the operation takes N milliseconds";
    NeverReady "never-ready" NONE, Time "the operation never ends";
    PollUnknown "poll-404" Times(1), Poll "the first poll (or the first K) answers 404 NOT_FOUND";
    PollDenied "poll-403" Times(1), Poll "the first poll (or the first K) answers 403 PERMISSION_DENIED";
    PollRate "poll-429" Times(1), Poll "the first poll (or the first K) answers 429 RESOURCE_EXHAUSTED";
    PollBroken "poll-500" Times(1), Poll "the first poll (or the first K) answers 500 INTERNAL";
    PollUnavailable "poll-503" Times(1), Poll "the first poll (or the first K) answers 503 with an HTML page";
    PollMalformed "malformed-json" Times(1), Poll "the first poll (or the first K) answers 200 with broken JSON";
    PollExplicit "not-done" Times(2), Poll "the first two polls (or the first K) answer `done: false`";
    PollHollow "hollow" Times(1), Poll "the first poll (or the first K) answers `done` without response and error";
    Filtered "filtered" NONE, Ending "the filters take every video";
    SomeFiltered "filtered-some" Number, Ending "the filters take N of the videos";
    NoVideo "no-video" NONE, Ending "the operation ends without a video and without a reason";
    LateInvalid "error-3" NONE, Ending "the operation ends with INVALID_ARGUMENT";
    LateBlocked "error-3-blocked" NONE, Ending "the operation ends with INVALID_ARGUMENT and a support code";
    LateDenied "error-7" NONE, Ending "the operation ends with PERMISSION_DENIED";
    LateExhausted "error-8" NONE, Ending "the operation ends with RESOURCE_EXHAUSTED";
    LateBroken "error-13" NONE, Ending "the operation ends with INTERNAL";
    Large "mib" Number, Size "each file has N MiB";
    WrongType "wrong-type" NONE, File "a video is an HTML page";
    Truncated "truncated-file" NONE, File "a video ends in the middle";
    DownloadDenied "delivery-403" Times(1), Link "the first download (or the first K) answers 403";
    DownloadUnavailable "delivery-503" Times(1), Link "the first download (or the first K) answers 503";
    ForeignLink "foreign-link" NONE, Link "the address is on a host that is not the provider's";
    RedirectAway "redirect-away" NONE, Link "the address redirects into a private network";
}

/// The error of a marker, of an answer or of an operation.
pub(super) fn error(fault: Marker) -> Refusal {
    let (status, name, message) = errors! { fault;
        Invalid | InvalidInList | LateInvalid => (400, "INVALID_ARGUMENT", "parameters.seed is not acceptable");
        Private => (400, "INVALID_ARGUMENT", "Project sandbox cannot use publishers/google/models/veo-3.1.");
        Blocked | LateBlocked => (400, "INVALID_ARGUMENT", "The prompt could not be submitted, it may violate the usage guidelines. Support codes: 61493863");
        Precondition => (400, "FAILED_PRECONDITION", "Billing is not enabled for the project sandbox.");
        Token => return unauthenticated();
        Denied | PollDenied | LateDenied | DownloadDenied => (403, "PERMISSION_DENIED", "Permission denied on resource project sandbox.");
        Retired => (404, "NOT_FOUND", "The model veo-3.1 is no longer available.");
        PollUnknown => (404, "NOT_FOUND", "The operation was not found.");
        Rate | PollRate | LateExhausted => (429, "RESOURCE_EXHAUSTED", "Quota exceeded for online prediction requests.");
        Unavailable | DownloadUnavailable => (503, "UNAVAILABLE", "The service is currently unavailable.");
        _ => (500, "INTERNAL", "Internal error encountered.");
    };
    Refusal::new(status, name, message)
}

/// A request without a valid credential.
pub(super) fn unauthenticated() -> Refusal {
    Refusal::new(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
}
