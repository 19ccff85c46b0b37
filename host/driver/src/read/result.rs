//! A task's `result` as its client reads it, interim or final: placeholders become links.
//!
//! The stored form keeps `media:<n>` and `expires:<n>`, so that a link can begin with whatever name the
//! client reached the gateway by. Pure.

use gatehouse_model::{Media, Status, Task};
use serde::Serialize;
use serde_json::Value;

/// What a family says of a task that waits for its client, beside the result.
const WAITING_FOR: &str = "waiting_for";
const WAITING_REASON: &str = "waiting_reason";

/// What a task waits for from its client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// What goes on with it, such as the name of a route.
    #[serde(rename = "waiting_for")]
    pub what: String,
    /// Why the last try did not do.
    #[serde(rename = "waiting_reason", skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result of a task; `link` makes one product's link. `None` while there is no result.
pub(crate) fn render(task: &Task, link: impl Fn(&Media) -> String) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(&task.public).ok()?;
    if let Value::Object(fields) = &mut value
        && task.status != Status::Completed
        && fields.remove(WAITING_FOR).is_some()
    {
        fields.remove(WAITING_REASON);
        if fields.is_empty() {
            return None;
        }
    }
    if value.is_null() {
        return None;
    }
    fill(&mut value, &task.media, &link);
    serde_json::to_vec(&value).ok()
}

/// What a living task waits for from its client; `None` when it goes on by itself.
pub(crate) fn waiting(task: &Task) -> Option<Waiting> {
    if task.status.is_final() || task.public.is_empty() {
        return None;
    }
    let public: Value = serde_json::from_slice(&task.public).ok()?;
    let text = |field: &str| public.get(field)?.as_str().map(str::to_owned);
    Some(Waiting { what: text(WAITING_FOR)?, why: text(WAITING_REASON) })
}

/// JSON with its placeholders filled in; `None` when it is none.
pub(crate) fn fill_in(json: &[u8], media: &[Media], link: impl Fn(&Media) -> String) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(json).ok()?;
    fill(&mut value, media, &link);
    serde_json::to_vec(&value).ok()
}

fn fill(value: &mut Value, media: &[Media], link: &impl Fn(&Media) -> String) {
    match value {
        Value::String(text) => {
            let numbered = |prefix: &str| {
                let n: usize = text.strip_prefix(prefix)?.parse().ok()?;
                media.get(n)
            };
            let filled = numbered("media:")
                .map(|media| Value::from(link(media)))
                .or_else(|| numbered("expires:").map(|media| Value::from(media.expires.seconds())));
            if let Some(filled) = filled {
                *value = filled;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, media, link)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, media, link)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{MediaId, UnixMs};
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_become_links_and_everything_else_stays() {
        let media = vec![Media {
            id: MediaId::from_bits(7),
            mime: "image/png".into(),
            bytes: 3,
            expires: UnixMs(86_400_999),
        }];
        let check = |mut value: Value, expected: Value| {
            fill(&mut value, &media, &|media: &Media| format!("http://host/{}", media.id));
            assert_eq!(value, expected);
        };
        let link = format!("http://host/{}", MediaId::from_bits(7));
        check(
            json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}),
            json!({"images": [{"url": [link], "expires_at": 86_400}]}),
        );
        check(
            json!(["media:1", "media:", "media:x", "a media:0", 1, null]),
            json!(["media:1", "media:", "media:x", "a media:0", 1, null]),
        );
    }

    /// A task with that view.
    fn shown(public: &str, status: Status) -> Task {
        Task { public: public.into(), status, ..gatehouse_sample::task(1, 1, 1, 1, UnixMs(0)) }
    }

    /// Without it a client reads `"result": null` of a running task, or what the task waits for as its result.
    #[test]
    fn a_result_is_absent_until_there_is_one() {
        let waiting = |what: &str, why: Option<&str>| {
            Some(Waiting { what: what.to_owned(), why: why.map(str::to_owned) })
        };
        let modal = r#"{"waiting_for":"modal","waiting_reason":"no file"}"#;
        let preview = r#"{"images":[1],"waiting_for":"modal"}"#;
        for (public, status, result, waits) in [
            ("", Status::Submitted, None, None),
            ("null", Status::Processing, None, None),
            ("null", Status::Completed, None, None),
            ("{}", Status::Processing, Some("{}"), None),
            (modal, Status::Processing, None, waiting("modal", Some("no file"))),
            (modal, Status::Failed, None, None),
            (preview, Status::Processing, Some(r#"{"images":[1]}"#), waiting("modal", None)),
            (preview, Status::Failed, Some(r#"{"images":[1]}"#), None),
            (preview, Status::Completed, Some(preview), None),
        ] {
            let task = shown(public, status);
            let rendered = render(&task, |_| String::new()).map(|json| String::from_utf8(json).unwrap());
            assert_eq!(rendered.as_deref(), result, "{public} {status:?}");
            assert_eq!(super::waiting(&task), waits, "{public} {status:?}");
        }
    }
}
