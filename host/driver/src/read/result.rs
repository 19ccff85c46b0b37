//! A task's `result` as its client reads it, interim or final: placeholders become links.
//!
//! The stored form keeps `media:<n>` and `expires:<n>`, so that a link can begin with whatever name the
//! client reached the gateway by. Pure.

use gatehouse_model::{Media, Task};
use serde_json::Value;

/// The result of a task; `link` makes one product's link. `None` while there is no result.
pub(crate) fn render(task: &Task, link: impl Fn(&Media) -> String) -> Option<Vec<u8>> {
    fill_in(&task.public, &task.media, link)
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
}
