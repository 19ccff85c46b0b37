//! Every row of the error table in every form, byte for byte, against a golden file.

use std::fmt::Write as _;

use gatehouse_model::{RequestId, UnixMs};
use http_body_util::BodyExt;

use crate::errors::{Form, Kind, Refusal, error_table};

pub(in crate::tests) const EVERY: [Kind; 33] = [
    Kind::Invalid,
    Kind::UnknownModel,
    Kind::UnknownResponse,
    Kind::ContextTooLong,
    Kind::Moderated,
    Kind::Unauthenticated,
    Kind::InsufficientBalance,
    Kind::QuotaExceeded,
    Kind::Forbidden,
    Kind::ModelForbidden,
    Kind::NetworkForbidden,
    Kind::LinkExpired,
    Kind::NotFound,
    Kind::UnknownPath,
    Kind::ModelNotFound,
    Kind::WrongMethod,
    Kind::RequestTimeout,
    Kind::Conflict,
    Kind::TooLarge,
    Kind::WrongMediaType,
    Kind::BadRange,
    Kind::IdempotencyConflict,
    Kind::RateLimited,
    Kind::HeadTooLarge,
    Kind::Internal,
    Kind::BadGateway,
    Kind::UpstreamAccount,
    Kind::UpstreamTimeout,
    Kind::StillRunning,
    Kind::NotServed,
    Kind::Busy,
    Kind::Draining,
    Kind::DiskFull,
];

/// 2026-11-26, a quarter of a second before noon.
const NOW: UnixMs = UnixMs(1_795_694_399_750);

/// What a client reads when its quota resets at midnight: `retry-after` is not cut to a minute, or it would be wrong.
fn resets_soon() -> Refusal {
    Refusal::new(Kind::QuotaExceeded, "why").with_reset(Some(UnixMs(1_795_737_600_000)))
}

async fn render(refusal: Refusal, form: Form) -> String {
    let response = refusal.into_response(form, RequestId::from_bits(1), NOW);
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let header = |name| parts.headers.get(name).map_or("-", |value| value.to_str().unwrap());
    format!(
        "{form:?} {} retry={} after={}{}\n  {}\n",
        parts.status.as_u16(),
        header("x-should-retry"),
        header("retry-after"),
        parts
            .headers
            .get("x-quota-reset")
            .map_or_else(String::new, |at| format!(" reset={}", at.to_str().unwrap())),
        String::from_utf8(body.to_vec()).unwrap()
    )
}

#[tokio::test]
async fn every_error_matches_the_golden_file() {
    assert_eq!(error_table().len(), EVERY.len());
    let mut text = String::new();
    for kind in EVERY {
        writeln!(text, "# {kind:?}").unwrap();
        for form in [Form::Generic, Form::Journey, Form::Messages] {
            text += &render(Refusal::new(kind, "why"), form).await;
        }
    }
    text += "# with a field\n";
    text += &render(Refusal::field("n", "n: why"), Form::Generic).await;
    text += &render(Refusal::field("n", "n: why"), Form::Messages).await;
    text += "# with a reset\n";
    for form in [Form::Generic, Form::Journey, Form::Messages] {
        text += &render(resets_soon(), form).await;
    }
    text += "# with a field that newer clients leave out when they are told so\n";
    text += &render(Refusal::field("thread", "thread: why"), Form::Messages).await;
    assert_eq!(text, include_str!("errors.txt"), "\n{text}");
}

#[tokio::test]
async fn every_error_of_a_response_matches_the_golden_file() {
    let mut text = String::new();
    for kind in EVERY {
        writeln!(text, "# {kind:?}").unwrap();
        text += &render(Refusal::new(kind, "why"), Form::Responses).await;
        writeln!(text, "  in a stream {}", Refusal::new(kind, "why").in_response()).unwrap();
    }
    text += "# with a field\n";
    text += &render(Refusal::field("n", "n: why"), Form::Responses).await;
    text += "# with a reset\n";
    text += &render(resets_soon(), Form::Responses).await;
    assert_eq!(text, include_str!("errors_of_responses.txt"), "\n{text}");
}

#[test]
fn a_path_chooses_the_envelope_form() {
    for (path, form) in [
        ("/v1/messages", Form::Messages),
        ("/v1/messages/count_tokens", Form::Messages),
        ("/messages", Form::Messages),
        ("/v1/v1/messages", Form::Messages),
        ("/v1/messagesx", Form::Generic),
        ("/v1/responses", Form::Responses),
        ("/v1/responses/resp_1/input_items", Form::Responses),
        ("/responses", Form::Responses),
        ("/v1/journey/task_1", Form::Journey),
        ("/v1/journey/generations/blend", Form::Journey),
        ("/journey", Form::Journey),
        ("/v1/images/generations", Form::Generic),
        ("/v1/images/edits", Form::OpenAi),
        ("/v1/videos", Form::OpenAi),
        ("/v1/videos/task_1", Form::OpenAi),
        ("/v1/videos/task_1/content", Form::OpenAi),
        ("/v1/videos/task_1/remix", Form::Generic),
        ("/v1/videos/generations", Form::Generic),
        ("/v1/completions", Form::OpenAi),
        ("/v1/models", Form::Generic),
        ("/v1/models/m", Form::OpenAi),
        ("/v1/tasks/messages", Form::Generic),
        ("/", Form::Generic),
        ("*", Form::Generic),
    ] {
        assert_eq!(Form::of(path), form, "{path}");
    }
}
