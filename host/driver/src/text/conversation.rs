//! Which conversation a text request belongs to: by the key that its client gives prompt caches, by its session, or by the
//! first messages, which stay the same while a conversation grows.

use std::borrow::Cow;

use gatehouse_model::{Conversation, CustomerId, Json};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of a body that say so, of every surface.
#[derive(Deserialize)]
struct Opening<'a> {
    #[serde(borrow)]
    prompt_cache_key: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
    system: Option<&'a RawValue>,
    instructions: Option<&'a RawValue>,
    messages: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
}

/// Where clients of messages put the id of their session.
#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    user_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Role<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
}

/// The conversation of a request; `None` where its body does not tell.
pub(super) fn of_request(customer: &CustomerId, model: &str, body: &Json) -> Option<Conversation> {
    // A body that is no request of any surface is its plugin's to refuse.
    let opening: Opening<'_> = serde_json::from_str(body).ok()?;
    let (customer, model) = (customer.0.as_bytes(), model.as_bytes());
    if let Some(key) = opening.prompt_cache_key.filter(|key| key.get().len() > 2 && key.get() != "null") {
        return Some(Conversation::of(&[customer, model, b"key", key.get().as_bytes()]));
    }
    if let Some(session) = opening.metadata.and_then(session) {
        return Some(Conversation::of(&[customer, model, b"session", session.as_bytes()]));
    }
    let first = first_messages(opening.messages.or(opening.input)?.get());
    let head = [opening.system, opening.instructions].into_iter().flatten().map(RawValue::get);
    let texts: Vec<&str> = head.chain(first).collect();
    let mut fields: Vec<&[u8]> = vec![customer, model, b"messages"];
    fields.extend(texts.iter().map(|text| text.as_bytes()));
    Some(Conversation::of(&fields))
}

/// Some clients put a session into the id of the user; without the word it is the user's, who has many conversations.
fn session(metadata: &RawValue) -> Option<Cow<'_, str>> {
    let Metadata { user_id } = serde_json::from_str(metadata.get()).ok()?;
    user_id.filter(|id| id.contains("session"))
}

/// Up to the first message of the user. A text is one message.
fn first_messages(messages: &str) -> Vec<&str> {
    let Ok(all) = serde_json::from_str::<Vec<&RawValue>>(messages) else { return vec![messages] };
    let is_users = |message: &&RawValue| {
        serde_json::from_str::<Role<'_>>(message.get())
            .is_ok_and(|found| found.role.as_deref() == Some("user"))
    };
    let end = all.iter().position(is_users).map_or(1, |first| first + 1);
    all.into_iter().take(end).map(RawValue::get).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(body: &Value) -> Option<Conversation> {
        of_request(&CustomerId::from("acme"), "m", &body.to_string().into())
    }

    /// Without it each request of a conversation may go to another account, where nothing of it is cached.
    #[test]
    fn a_conversation_is_the_same_while_it_grows() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let system = json!({"role": "system", "content": "s"});
        let model = json!({"role": "assistant", "content": "a"});
        let chat = of(&json!({"messages": [system, user("hi")]}));
        assert!(chat.is_some());
        for (body, is_same) in [
            (json!({"messages": [system, user("hi"), model, user("more")], "stream": true}), true),
            (json!({"messages": [system, user("ho")]}), false),
            (json!({"messages": [user("hi")]}), false),
            (json!({"messages": [system, user("hi")], "system": "other"}), false),
            (json!({"messages": [system, user("hi")], "metadata": {"user_id": "u_session_1"}}), false),
            (json!({"messages": [system, user("hi")], "metadata": {"user_id": "u"}}), true),
            (json!({"messages": [system, user("hi")], "prompt_cache_key": null}), true),
        ] {
            assert_eq!(of(&body) == chat, is_same, "{body}");
        }
        let keyed = |text: &str| of(&json!({"input": text, "prompt_cache_key": "k"}));
        assert_eq!(keyed("one"), keyed("two"));
        assert_ne!(of(&json!({"input": "one"})), of(&json!({"input": "two"})));
        let session =
            |text: &str| of(&json!({"messages": [user(text)], "metadata": {"user_id": "u_session_1"}}));
        assert_eq!(session("one"), session("two"));
        assert_eq!(of(&json!({"prompt": "hi"})), None);
    }
}
