//! The provider's errors: `google.rpc.Status`, as the body of an answer and inside an operation. Messages for clients never
//! name the operator's account or the provider's models, and speak of the client's fields.

use gatehouse_sdk::job::Policy;
use gatehouse_sdk::provider::{meant_status, refused, says_spent};
use gatehouse_sdk::{Failure, Reply, log};
use serde_json::Value;

use super::moderation;

/// Fields of the provider, and the client's words for them.
const FIELDS: &[(&str, &str)] = &[
    ("instances[0].lastFrame", "last_frame_image"),
    ("instances[0].image", "first_frame_image"),
    ("instances[0].video", "the video"),
    ("instances[0].prompt", "prompt"),
    ("lastFrame", "last_frame_image"),
    ("durationSeconds", "duration"),
    ("sampleCount", "sample_count"),
    ("aspectRatio", "aspect_ratio"),
    ("negativePrompt", "negative_prompt"),
    ("personGeneration", "person_generation"),
    ("generateAudio", "generate_audio"),
    ("resizeMode", "resize_mode"),
    ("enhancePrompt", "enhance_prompt"),
    ("parameters.", ""),
];
/// Words that a client does not read: the message is then about the operator's side.
const PRIVATE: &[&str] = &["project", "veo", "publisher", "google", "gs:"];

/// What a client reads when the provider does not do it.
pub(crate) const POLICY: Policy = Policy {
    failed: "the upstream failed to generate the video",
    uncopied: "the finished video could not be fetched from the upstream",
    cancelled: "cancelled before it was started",
    ..Policy::DEFAULT
};

/// What an error means.
#[derive(Debug, PartialEq)]
pub(super) enum Meaning {
    /// Too many requests; nothing was done.
    Busy,
    /// The operator's account, key, project or model.
    Account,
    /// The client's request.
    Client(Failure),
    /// The provider itself.
    Other,
}

/// An error of the provider.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorStatus {
    /// Of HTTP in an answer, of gRPC in an operation.
    pub(super) code: i64,
    pub(super) message: String,
    /// The name of a gRPC code; in answers only.
    status: String,
    details: Vec<Value>,
}

impl ErrorStatus {
    /// Out of `{"error": {...}}`, or of a list of one such object. Empty when there is none, as on a proxy's page.
    pub(super) fn of(reply: &Reply) -> Self {
        let body: Value = reply.json().unwrap_or_default();
        let body = if body.is_array() { &body[0] } else { &body };
        Self::read(&body["error"])
    }

    /// An error, or its message alone. A member of another type says nothing; a number may be written as a text.
    pub(super) fn read(error: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let code = &error["code"];
        Self {
            code: code.as_i64().or_else(|| code.as_str()?.parse().ok()).unwrap_or_default(),
            message: text(if error.is_string() { error } else { &error["message"] }),
            status: text(&error["status"]),
            details: error["details"].as_array().cloned().unwrap_or_default(),
        }
    }

    /// The name of the gRPC code.
    fn name(&self) -> &str {
        match (self.status.as_str(), self.code) {
            ("", 3) => "INVALID_ARGUMENT",
            ("", 7) => "PERMISSION_DENIED",
            ("", 8) => "RESOURCE_EXHAUSTED",
            ("", 9) => "FAILED_PRECONDITION",
            ("", 11) => "OUT_OF_RANGE",
            ("", 16) => "UNAUTHENTICATED",
            (name, _) => name,
        }
    }

    /// What an answer with this error means.
    pub(super) fn meaning(&self, status: u16) -> Meaning {
        // An error may come with a status of success.
        match (meant_status(status, &self.code.to_string()), self.name()) {
            (429, _) if says_spent(&self.message) || self.is_over_for_the_day() => Meaning::Account,
            (429, _) => Meaning::Busy,
            (401..=404, _) => Meaning::Account,
            // Regions, billing and terms of the project.
            (400, "FAILED_PRECONDITION") => Meaning::Account,
            (400, "INVALID_ARGUMENT" | "OUT_OF_RANGE") => self.of_request(),
            _ => Meaning::Other,
        }
    }

    /// What it means inside an operation.
    pub(super) fn of_operation(&self) -> Meaning {
        // Filters stop videos with any code, that of an account among them.
        if moderation::is_by_filter(&self.message) {
            return self.of_request();
        }
        match self.name() {
            "INVALID_ARGUMENT" | "OUT_OF_RANGE" => self.of_request(),
            "PERMISSION_DENIED" | "UNAUTHENTICATED" | "FAILED_PRECONDITION" => Meaning::Account,
            "RESOURCE_EXHAUSTED" if says_spent(&self.message) => Meaning::Account,
            _ => Meaning::Other,
        }
    }

    fn of_request(&self) -> Meaning {
        if moderation::is_by_filter(&self.message) {
            let words = moderation::explanation([self.message.as_str()]);
            return Meaning::Client(Failure::moderation(words));
        }
        Meaning::Client(Failure::request(self.explanation()))
    }

    /// The provider's words in terms of the client's fields, where they are for clients at all.
    fn explanation(&self) -> String {
        refused(&self.message, FIELDS, PRIVATE)
    }

    /// Whether a quota of the day is used up, which no task waits for.
    fn is_over_for_the_day(&self) -> bool {
        let violations = self.details.iter().filter_map(|detail| detail["violations"].as_array()).flatten();
        let mut quotas = violations.filter_map(|violation| violation["quotaId"].as_str());
        quotas.any(|quota| quota.contains("PerDay"))
    }

    /// For the operator.
    pub(super) fn log(&self, what: &str, status: u16) {
        let status = status.to_string();
        log::warn(what, &[("status", &status), ("code", self.name()), ("message", &self.message)]);
    }

    /// The same where the operator must act.
    pub(super) fn log_account(&self, status: u16) {
        let status = status.to_string();
        let fields = [("status", status.as_str()), ("code", self.name()), ("message", &self.message)];
        log::error("the provider refused the operator's account, project or model", &fields);
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::Blame;
    use serde_json::json;

    use super::*;

    fn error(body: Value) -> ErrorStatus {
        ErrorStatus::of(&Reply::new(400, &body))
    }

    fn of(name: &str, message: &str) -> ErrorStatus {
        error(json!({"error": {"code": 400, "status": name, "message": message}}))
    }

    #[test]
    fn errors_stand_in_an_object_or_a_list() {
        let inside = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "bad"}});
        for body in [inside.clone(), json!([inside])] {
            assert_eq!(error(body).message, "bad");
        }
        for body in [json!({}), json!([]), json!("x"), json!({"error": "x"})] {
            assert_eq!(error(body.clone()).meaning(400), Meaning::Other, "{body}");
        }
    }

    #[test]
    fn what_a_status_means() {
        let blame = |meaning| match meaning {
            Meaning::Client(failure) => Some(failure.blame),
            _ => None,
        };
        assert_eq!(of("RESOURCE_EXHAUSTED", "x").meaning(429), Meaning::Busy);
        let spent = "Your prepayment credits are depleted.";
        assert_eq!(of("RESOURCE_EXHAUSTED", spent).meaning(429), Meaning::Account);
        for (quota, meaning) in [
            ("GenerateRequestsPerDayPerProjectPerModel", Meaning::Account),
            ("GenerateRequestsPerMinutePerProjectPerModel", Meaning::Busy),
        ] {
            let details = json!([{"violations": [{"quotaId": quota}]}]);
            let error = error(json!({"error": {"status": "RESOURCE_EXHAUSTED", "details": details}}));
            assert_eq!(error.meaning(429), meaning, "{quota}");
        }
        for (status, name) in [
            (401, "UNAUTHENTICATED"),
            (402, ""),
            (403, "PERMISSION_DENIED"),
            (404, "NOT_FOUND"),
            (400, "FAILED_PRECONDITION"),
        ] {
            assert_eq!(of(name, "x").meaning(status), Meaning::Account, "{status}");
        }
        for (status, name) in [(500, "INTERNAL"), (503, "UNAVAILABLE"), (504, "DEADLINE_EXCEEDED"), (302, "")]
        {
            assert_eq!(of(name, "x").meaning(status), Meaning::Other, "{status}");
        }
        let invalid = |message| blame(of("INVALID_ARGUMENT", message).meaning(400));
        assert_eq!(invalid("seed is odd"), Some(Blame::Request));
        assert_eq!(invalid("blocked. Support codes: 1"), Some(Blame::Moderation));
        // With a status of success.
        for (code, expected) in [(429, Meaning::Busy), (403, Meaning::Account), (500, Meaning::Other)] {
            assert_eq!(error(json!({"error": {"code": code}})).meaning(200), expected, "{code}");
        }
        let spent = ErrorStatus { code: 8, message: spent.to_owned(), ..ErrorStatus::default() };
        assert_eq!(spent.of_operation(), Meaning::Account);
        for (code, expected) in [
            (7, Meaning::Account),
            (9, Meaning::Account),
            (16, Meaning::Account),
            (8, Meaning::Other),
            (13, Meaning::Other),
        ] {
            let status = ErrorStatus { code, ..ErrorStatus::default() };
            assert_eq!(status.of_operation(), expected, "{code}");
        }
    }

    #[test]
    fn explanations_speak_of_the_clients_fields_only() {
        let shown = |message: &str| of("INVALID_ARGUMENT", message).explanation();
        assert_eq!(
            shown("parameters.durationSeconds must be 8"),
            "the upstream refused the request: duration must be 8"
        );
        for message in ["", "Project p is odd", "veo-3.1-generate-001 cannot", "https://cloud.example"] {
            assert_eq!(shown(message), "the upstream refused the request", "{message}");
        }
    }
}
