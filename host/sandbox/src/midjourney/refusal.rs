//! Refusals of submits: most are HTTP 200 with a code in the body; a few are HTTP errors without one.

use http::Response;
use serde_json::{Value, json};

use crate::common::server::{self, Body, UNAVAILABLE_PAGE};
use crate::midjourney::faults::Marker;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The code in the body.
    pub(crate) code: Option<i32>,
    mime: &'static str,
    body: String,
}

impl Refusal {
    fn coded(status: u16, code: i32, description: &str, properties: Value) -> Self {
        let body =
            json!({ "code": code, "description": description, "result": null, "properties": properties });
        Self { status, code: Some(code), mime: "application/json", body: body.to_string() }
    }

    fn plain(status: u16, mime: &'static str, body: &str) -> Self {
        Self { status, code: None, mime, body: body.to_owned() }
    }

    /// Code 4.
    pub(crate) fn invalid(description: &str) -> Self {
        Self::coded(200, 4, description, json!({}))
    }

    /// Code 3 with status 404: a task nobody knows, or another account's.
    pub(crate) fn not_found() -> Self {
        Self::coded(404, 3, "关联任务不存在或已失效", json!({}))
    }

    /// Code 9.
    pub(crate) fn queue_full() -> Self {
        Self::coded(200, 9, "提交失败，队列已满，请稍后重试", json!({}))
    }

    /// Code -1: the body did not bind. It has no `description`.
    pub(crate) fn binding(reason: &str) -> Self {
        let body =
            json!({ "success": false, "code": -1, "message": reason, "timestamp": 1_767_225_600_000_u64 });
        Self { status: 200, code: Some(-1), mime: "application/json", body: body.to_string() }
    }

    /// 401: no secret, or one nobody has.
    pub(crate) fn unauthorized() -> Self {
        Self::plain(401, "text/plain; charset=utf-8", "未登录")
    }

    pub(crate) fn too_large() -> Self {
        Self::plain(413, "text/plain", "")
    }

    /// 415: the framework binds JSON only.
    pub(crate) fn unsupported_type() -> Self {
        let body = r#"{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.16","title":"Unsupported Media Type","status":415}"#;
        Self::plain(415, "application/problem+json", body)
    }

    /// 500 in plain text, as after a crash.
    pub(crate) fn broken() -> Self {
        Self::plain(500, "text/plain; charset=utf-8", "Internal Server Error")
    }

    /// The refusal a marker asks for.
    pub(crate) fn of(fault: Marker, prompt: &str) -> Self {
        match fault {
            Marker::NoAccount => Self::coded(200, 3, "无可用的账号实例", json!({})),
            Marker::Invalid => Self::invalid("参数错误"),
            Marker::QueueFull => Self::queue_full(),
            Marker::OldQueueFull => {
                Self::coded(200, 23, "队列已满，请稍后尝试", json!({ "discordInstanceId": instance(0) }))
            }
            Marker::Banned => {
                Self::coded(200, 24, "可能包含敏感词", json!({ "promptEn": prompt, "bannedWord": "kite" }))
            }
            Marker::Binding => Self::binding("The JSON value could not be converted. Path: $.prompt"),
            Marker::Key => Self::unauthorized(),
            Marker::Forbidden => Self::plain(403, "text/plain; charset=utf-8", "未授权"),
            Marker::TooMany => Self::plain(429, "text/plain", "Too Many Requests"),
            Marker::Unavailable => Self::plain(503, "text/html", UNAVAILABLE_PAGE),
            _ => Self::broken(),
        }
    }

    /// The reply.
    pub(crate) fn response(self) -> Response<Body> {
        server::reply(self.status, self.mime, self.body)
    }
}

/// 405 and the method that is served.
pub(crate) fn not_allowed(method: &str) -> Response<Body> {
    server::with(server::reply(405, "text/plain", ""), "allow", method)
}

/// The engine's account behind an account of the proxy.
pub(crate) fn instance(account: usize) -> String {
    format!("11181383385625601{account:02}")
}
