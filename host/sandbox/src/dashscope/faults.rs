//! Faults on demand: markers in the prompt, each for one failure of the provider.
//!
//! `:K` limits a fault to the first K creations of that very prompt, or to the first K polls of that task. Faults of a
//! creation come after all checks.
//!
//! The provider's HTTP errors, too: `{request_id, code, message}`, flat. The texts are our own.

use http::Response;
use serde_json::{Value, json};

use crate::common::faults::{EVER, NONE, Number, Target, Times, errors, faults};
use crate::common::kept::fresh_id;
use crate::common::server::{self, Body};

faults! {
    Key "401" Times(EVER), Submit "a creation answers 401 InvalidApiKey (every time, or the first K with [[401:K]])";
    Arrearage "arrearage" Times(EVER), Submit "a creation answers 400 Arrearage";
    Unpurchased "403" Times(EVER), Submit "a creation answers 403 AccessDenied.Unpurchased";
    ModelDenied "model-denied" Times(EVER), Submit "a creation answers 403 Model.AccessDenied";
    FreeTier "free-tier" Times(EVER), Submit "a creation answers 403 AllocationQuota.FreeTierOnly";
    NoModel "404" Times(EVER), Submit "a creation answers 404 ModelNotFound";
    Rate "429" Times(EVER), Submit "a creation answers 429 Throttling.RateQuota";
    Allocation "allocation" Times(EVER), Submit "a creation answers 429 Throttling.AllocationQuota";
    Throttled "throttling" Times(EVER), Submit "a creation answers 429 Throttling";
    Parameter "400" Times(EVER), Submit "a creation answers 400 InvalidParameter";
    ModelParameter "unknown-model" Times(EVER), Submit "a creation answers 400 InvalidParameter for the model";
    Inspection "inspection" Times(EVER), Submit "a creation answers 400 DataInspectionFailed";
    SnakeInspection "inspection-snake" Times(EVER), Submit "a creation answers 400 data_inspection_failed inside `error`";
    Infringement "infringement" Times(EVER), Submit "a creation answers 400 IPInfringementSuspect";
    Refused "url-refused" Times(EVER), Submit "a creation answers 400 InvalidURL.ConnectionRefused";
    FileSize "file-size" Times(EVER), Submit "a creation answers 400 InvalidFile.Size";
    Broken "500" Times(EVER), Submit "a creation answers 500 InternalError";
    Timeout "500-timeout" Times(EVER), Submit "a creation answers 500 InternalError.Timeout";
    Unavailable "503-html" Times(EVER), Submit "a creation answers 503 with an HTML page";
    CreateGarbage "garbage-submit" NONE, Receipt "the task is accepted, the reply is not JSON";
    CreateHang "submit-hang" NONE, Receipt "the task is accepted, the reply never comes";
    CreateCut "submit-cut" NONE, Receipt "the task is accepted, the connection closes without a reply";
    WithoutTask "no-task" NONE, Receipt "the task is accepted, the reply has no id";
    Slow "slow" Number, Time "the task takes N milliseconds, a quarter of them PENDING";
    Queued "queued" NONE, Time "the task stays PENDING";
    NeverReady "never-ready" NONE, Time "the task stays RUNNING";
    PollUnknown "first-poll-unknown" Times(1), Poll "the first poll (or the first K) answers 200 with UNKNOWN";
    PollSuspended "suspended" Times(2), Poll "the first two polls (or the first K) answer SUSPENDED";
    PollKey "poll-401" Times(1), Poll "the first poll (or the first K) answers 401 InvalidApiKey";
    PollRate "poll-429" Times(1), Poll "the first poll (or the first K) answers 429 Throttling.RateQuota";
    PollBroken "poll-500" Times(1), Poll "the first poll (or the first K) answers 500 InternalError";
    PollUnavailable "poll-503" Times(1), Poll "the first poll (or the first K) answers 503 with an HTML page";
    PollMalformed "malformed-json" Times(1), Poll "the first poll (or the first K) answers 200 with broken JSON";
    PollOddStatus "unknown-status" Times(2), Poll "the first two polls (or the first K) answer status words nobody knows";
    Moderated "moderated" NONE, Ending "the task ends as FAILED, DataInspectionFailed";
    Suspected "suspected" NONE, Ending "the task ends as FAILED, IPInfringementSuspect";
    Unreachable "unreachable" NONE, Ending "the task ends as FAILED, InvalidParameter.DataInspection";
    Format "bad-format" NONE, Ending "the task ends as FAILED, InvalidFile.Format";
    Frames "bad-fps" NONE, Ending "the task ends as FAILED, InvalidFile.FPS";
    LateParameter "late-parameter" NONE, Ending "the task ends as FAILED, InvalidParameter";
    Algorithm "error" NONE, Ending "the task ends as FAILED, InternalError.Algo.Failed";
    LateTimeout "late-timeout" NONE, Ending "the task ends as FAILED, InternalError.Timeout";
    LateArrearage "late-arrearage" NONE, Ending "the task ends as FAILED, Arrearage";
    LateThrottled "late-throttling" NONE, Ending "the task ends as FAILED, Throttling";
    Canceled "canceled" NONE, Ending "the task ends as CANCELED, by nobody's wish";
    Lost "forgotten" NONE, Ending "the task becomes UNKNOWN";
    NoVideo "no-video" NONE, Ending "the task ends as SUCCEEDED without a link";
    ExpiredLink "expired-link" NONE, Link "the first link is dead on arrival, the next poll's is fresh";
    DeadLink "dead-link" NONE, Link "every link is dead on arrival";
    ForeignLink "foreign-link" NONE, Link "the link is on a host that is not the provider's";
    PrivateLink "private-link" NONE, Link "the link points into a private network";
    WrongType "wrong-type" NONE, File "the file is an HTML page";
    Truncated "truncated-file" NONE, File "the connection closes in the middle of the file";
    FileUnavailable "delivery-503" Times(1), File "the first download (or the first K) answers 503";
}

/// The error of a marker, as HTTP status and code, or as the code of a failed task.
pub(super) fn error(fault: Marker) -> Refusal {
    let (status, code, message) = errors! { fault;
        Key | PollKey => (401, "InvalidApiKey", "Invalid API-key provided.");
        Arrearage | LateArrearage => (400, "Arrearage", "Access denied, please make sure your account is in good standing.");
        Unpurchased => (403, "AccessDenied.Unpurchased", "Access to model denied, please activate it.");
        ModelDenied => (403, "Model.AccessDenied", "Model access denied.");
        FreeTier => (403, "AllocationQuota.FreeTierOnly", "The free tier of the model is exhausted.");
        NoModel => (404, "ModelNotFound", "The model does not exist or you do not have access to it.");
        Rate | PollRate => (429, "Throttling.RateQuota", "Requests rate limit exceeded.");
        Allocation => (429, "Throttling.AllocationQuota", "Allocated quota exceeded.");
        Throttled | LateThrottled => (429, "Throttling", "Requests throttling triggered.");
        Parameter | LateParameter => (400, "InvalidParameter", "parameters.seed is not acceptable");
        ModelParameter => (400, "InvalidParameter", "Model not exist.");
        Inspection | Moderated => (400, "DataInspectionFailed", "Input or output data may contain inappropriate content.");
        SnakeInspection => (400, "data_inspection_failed", "Input data may be inappropriate.");
        Infringement | Suspected => (400, "IPInfringementSuspect", "Input data is suspected of being involved in IP infringement.");
        Unreachable => (400, "InvalidParameter.DataInspection", "Unable to download the media resource during inspection.");
        Refused => (400, "InvalidURL.ConnectionRefused", "The connection to input.img_url was refused.");
        FileSize => (400, "InvalidFile.Size", "The file is too large.");
        Format => (400, "InvalidFile.Format", "The format of the file is not supported.");
        Frames => (400, "InvalidFile.FPS", "The frame rate of the file is not supported.");
        Timeout | LateTimeout => (500, "InternalError.Timeout", "An internal timeout occurred.");
        Algorithm => (500, "InternalError.Algo.Failed", "The algorithm failed.");
        _ => (500, "InternalError", "An internal error has occurred, please try again later.");
    };
    Refusal::new(status, code, message)
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// 400 for a field.
    pub(super) fn parameter(message: impl Into<String>) -> Self {
        Self::new(400, "InvalidParameter", message)
    }

    pub(super) fn response(&self) -> Response<Body> {
        let body = json!({ "request_id": request_id(), "code": self.code, "message": self.message });
        server::json(self.status, &body)
    }
}

/// A new id for each answer.
pub(super) fn request_id() -> Value {
    fresh_id().map_or(Value::Null, Value::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_creations_are_refusals() {
        let of_creations = MARKERS.iter().filter(|row| row.group == Target::Submit);
        for row in of_creations.filter(|row| row.marker != Marker::Unavailable) {
            assert!((400..600).contains(&error(row.marker).status), "{}", row.name);
        }
    }
}
