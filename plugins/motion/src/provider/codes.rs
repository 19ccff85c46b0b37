//! The provider's error codes. Messages for clients never name the operator's account, and speak of the client's fields.

use gatehouse_sdk::Failure;
use gatehouse_sdk::provider::{is_account_code, meant_status, plain_code, refused, says_spent};

/// Beginnings of codes about the operator's account, key or model.
const ACCOUNT: [&str; 9] = [
    "accessdenied",
    "modelaccessdenied",
    "workspaceaccessdenied",
    "allocationquota",
    "modelnotfound",
    "modelnotexist",
    "modelnotsupported",
    "workspace",
    "appaccessdenied",
];
/// Beginnings of codes of a full server, which has taken nothing.
const BUSY: [&str; 4] = ["throttling", "modelservingerror", "requestratelimit", "toomanyrequests"];
/// Beginnings of codes about the request or its media.
const REQUEST: [&str; 8] = [
    "invalidparameter",
    "invalidurl",
    "invalidfile",
    "invalidimage",
    "invalidvideo",
    "invalidaudio",
    "badrequest",
    "audiodecoder",
];
/// The provider's fields in the client's words.
const FIELDS: [(&str, &str); 6] = [
    ("input.img_url", "image_urls[0]"),
    ("img_url", "image_urls[0]"),
    ("input.media", "image_urls, image_with_roles or video_urls"),
    ("first_clip", "video_urls[0]"),
    ("parameters.", ""),
    ("input.", ""),
];

/// What an error means.
#[derive(Debug, PartialEq)]
pub(super) enum Meaning {
    /// Too many requests, or too many tasks.
    Busy,
    /// The operator's account, key or model.
    Account,
    /// The client's request or media.
    Client(Failure),
    /// The provider itself.
    Other,
}

/// The meaning of a code. The same one comes in several spellings, so dots, dashes, underscores and case do not count;
/// without a known code the status decides.
pub(super) fn meaning(status: u16, code: &str, message: &str) -> Meaning {
    let (plain, status) = (plain_code(code), meant_status(status, code));
    let begins = |prefix: &str| plain.starts_with(prefix);
    let moderation = |what: &str| Meaning::Client(Failure::moderation(what));
    let is_busy = BUSY.iter().any(|prefix| begins(prefix)) || status == 429;
    if is_account_code(code) || is_busy && says_spent(message) {
        return Meaning::Account;
    }
    if is_busy {
        return Meaning::Busy;
    }
    if ACCOUNT.iter().any(|prefix| begins(prefix)) || matches!(status, 401..=403) {
        return Meaning::Account;
    }
    // A server that has failed blames the request for its own fault.
    let is_of_request = status < 500;
    if is_of_request && begins("invalidparameterdatainspection") {
        return Meaning::Client(Failure::request(
            "dependency unavailable: an image, video or sound of the request could not be fetched",
        ));
    }
    if begins("datainspectionfailed") {
        return moderation("the request or the generated video was stopped by content moderation");
    }
    if begins("ipinfringementsuspect") {
        return moderation(
            "the request or the generated video was stopped: suspected infringement of rights",
        );
    }
    // An unknown model is the operator's setting, and comes as a parameter.
    if begins("invalidparameter") && message.trim_start().to_ascii_lowercase().starts_with("model not exist")
    {
        return Meaning::Account;
    }
    if is_of_request && REQUEST.iter().any(|prefix| begins(prefix)) {
        return Meaning::Client(Failure::request(explanation(code, message)));
    }
    Meaning::Other
}

/// The provider's words in terms of the client's fields.
fn explanation(code: &str, message: &str) -> String {
    refused(if message.trim().is_empty() { code } else { message }, &FIELDS, &[])
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::Blame;

    use super::*;

    #[test]
    fn codes_mean_the_same_in_every_spelling() {
        let blame = |status, code, message| match meaning(status, code, message) {
            Meaning::Client(failure) => Some(failure.blame),
            _ => None,
        };
        for code in ["DataInspectionFailed", "data_inspection_failed", "DATA-INSPECTION-FAILED"] {
            assert_eq!(blame(400, code, ""), Some(Blame::Moderation), "{code}");
        }
        assert_eq!(blame(400, "IPInfringementSuspect", ""), Some(Blame::Moderation));
        let request = [
            "InvalidParameter",
            "InvalidParameter.DataInspection",
            "InvalidURL",
            "InvalidURL.ConnectionRefused",
            "InvalidFile.Size",
            "InvalidFile.Duration",
            "InvalidFile.Format",
            "InvalidFile.FPS",
            "invalid_parameter_error",
            "InvalidImage.FileFormat",
            "BadRequest.InputDownloadFailed",
            "BadRequest.UnsupportedFileFormat",
            "Audio.DecoderError",
        ];
        for code in request {
            assert_eq!(blame(400, code, "bad"), Some(Blame::Request), "{code}");
        }
        // Words of a prompt that is quoted say nothing of the account.
        for quoted in ["prompt: a bill overdue", "prompt: free trial", "bad prompt: model not exist"] {
            assert_eq!(blame(400, "InvalidParameter", quoted), Some(Blame::Request), "{quoted}");
        }
        let account = [
            (401, "InvalidApiKey", ""),
            (400, "Arrearage", ""),
            (403, "AccessDenied", ""),
            (403, "AccessDenied.Unpurchased", ""),
            (400, "Model.AccessDenied", ""),
            (403, "AllocationQuota.FreeTierOnly", ""),
            (429, "PostpaidBillOverdue", ""),
            (429, "PrepaidBillOverdue", ""),
            (429, "CommodityNotPurchased", ""),
            (429, "BudgetLimitExceeded", ""),
            (429, "Throttling.AllocationQuota", "Free tier only: the free quota is used up."),
            (400, "Workspace.AccessDenied", ""),
            (404, "ModelNotFound", ""),
            (404, "model_not_found", ""),
            (400, "model_not_supported", ""),
            (200, "401", ""),
            (400, "InvalidParameter", "Model not exist."),
            (401, "", ""),
            (402, "", ""),
            (403, "Anything", ""),
        ];
        for (status, code, message) in account {
            assert_eq!(meaning(status, code, message), Meaning::Account, "{status} {code}");
        }
        let busy = [
            (429, "Throttling.RateQuota"),
            (429, "Throttling.AllocationQuota"),
            (400, "Throttling"),
            (503, "ModelServingError"),
            (200, "429"),
            (429, ""),
        ];
        for (status, code) in busy {
            assert_eq!(meaning(status, code, ""), Meaning::Busy, "{status} {code}");
        }
        for (status, code) in [
            (500, "InternalError"),
            (500, "InternalError.Timeout"),
            (500, "InternalError.Algo.X"),
            (502, ""),
            (400, "Odd"),
            (400, "LoadBalancerError"),
            (400, "AudioServiceUnavailable"),
            (500, "InvalidParameter"),
            (500, "InvalidParameter.DataInspection"),
            (503, "Audio.DecoderError"),
        ] {
            assert_eq!(meaning(status, code, ""), Meaning::Other, "{status} {code}");
        }
    }

    #[test]
    fn explanations_speak_of_the_clients_fields() {
        let text =
            explanation("InvalidParameter", "input.img_url must not be empty; parameters.seed is too large");
        assert_eq!(
            text,
            "the upstream refused the request: image_urls[0] must not be empty; seed is too large"
        );
        assert_eq!(explanation("InvalidURL", " "), "the upstream refused the request: InvalidURL");
        assert_eq!(
            explanation("InvalidParameter", "account 12 has none"),
            "the upstream refused the request"
        );
    }
}
