//! Links of a request that lead where the gateway would not go: to a private host, another port, with a name and a password. A
//! plugin may hand a link on as it is written, and then the provider fetches it, so it is judged here as if it were fetched here.
//!
//! Only fields that hold media count, and the words of a prompt that image engines read as links. A text about such an address
//! is a text, and so are what a model has called a tool with and the schemas of tools. Pure: the judge comes from the caller.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::ingest::scan;

/// A link that must not be handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLink {
    /// Its place, such as `messages[0].content[1].image_url.url`.
    pub field: String,
    /// As the client wrote it.
    pub link: String,
    /// Whether it stands among the words of a prompt, which not every provider reads.
    pub in_text: bool,
    /// Why, in words a client may read.
    pub reason: String,
}

/// Bytes of the shortest link.
const SHORTEST: usize = "http://a".len();
/// Words in the names of fields that hold media. `server` is an address that a provider calls.
const WORDS: [&str; 23] = [
    "audio",
    "cref",
    "document",
    "dref",
    "file",
    "film",
    "frame",
    "image",
    "img",
    "mask",
    "movie",
    "music",
    "pdf",
    "photo",
    "pic",
    "picture",
    "ref",
    "reference",
    "server",
    "sound",
    "sref",
    "video",
    "voice",
];
/// Objects that are media under a name which does not say so.
const OWNERS: [&str; 2] = ["assets", "source"];
/// Fields whose texts an image engine reads for links.
const PROMPTS: [&str; 2] = ["prompt", "extra"];
/// The client's note, and what of it is read.
const NOTE: &str = "metadata";
const FLAGS: [&str; 3] = ["cref", "dref", "sref"];
/// What a model or an operator's tool wrote, or the shape of such a thing: nobody fetches its links.
const SKIPPED: [&str; 8] = [
    "action",
    "annotations",
    "arguments",
    "citations",
    "input_schema",
    "json_schema",
    "response_format",
    "schema",
];

/// The links of `json` that `judge` has something against.
pub(crate) fn bad_links(json: &str, judge: &dyn Fn(&str) -> Option<String>) -> Vec<BadLink> {
    let mut found = Found { judge, links: vec![] };
    // Most requests have no such text anywhere, and need no second parse.
    let is_suspect = |range: Range<usize>| suspects(json, range).iter().any(|link| judge(link).is_some());
    if scan::strings(json.as_bytes(), SHORTEST - 1).any(is_suspect)
        && let Ok(body) = serde_json::from_str::<Value>(json)
    {
        found.look(&body, "", "");
    }
    found.links
}

/// What of a text may be a link that somebody fetches.
fn suspects(json: &str, range: Range<usize>) -> Vec<String> {
    let raw = &json[range.clone()];
    let is_text = raw.contains([':', '\\']) && is_prompt(&json[..range.start - 1]);
    // The scheme's letters may be escaped.
    let is_plain = raw.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
    let is_escaped = raw.starts_with(['h', 'H', '\\']) && raw.bytes().take(4).any(|byte| byte == b'\\');
    if !is_text && !is_plain && !is_escaped {
        return vec![];
    }
    let text: Cow<'_, str> = match raw.contains('\\') {
        true => {
            serde_json::from_str(&json[range.start - 1..=range.end]).map_or_else(|_| "".into(), Cow::Owned)
        }
        false => raw.into(),
    };
    let links = if is_text { prompted(&text) } else { vec![text.as_ref()] };
    links.into_iter().filter(|link| is_link(link)).map(str::to_owned).collect()
}

/// Whether the value that begins behind `before` may be that of a prompt: its name may be escaped.
fn is_prompt(before: &str) -> bool {
    let name = before.trim_end().strip_suffix(':').map(str::trim_end).and_then(|name| name.strip_suffix('"'));
    name.is_some_and(|name| {
        let name = &name.as_bytes()[name.len().saturating_sub(64)..];
        PROMPTS.iter().any(|prompt| name.ends_with(prompt.as_bytes())) || name.contains(&b'\\')
    })
}

fn is_link(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && text.len() > scheme.len()
    })
}

/// The links of a prompt that an engine fetches: those before the text, and those that are values of its flags.
fn prompted(text: &str) -> Vec<&str> {
    let words = || text.split_whitespace();
    let is_flag = |word: &&str| word.starts_with("--") || word.starts_with('\u{2014}');
    let leading = words().take_while(|word| is_link(word));
    let flagged = words().skip_while(|word| !is_flag(word)).filter(|word| is_link(word));
    leading.chain(flagged).collect()
}

struct Found<'a> {
    judge: &'a dyn Fn(&str) -> Option<String>,
    links: Vec<BadLink>,
}

impl Found<'_> {
    /// Looks at the value at `path`, which is that of the field `name`, or in a list of it.
    fn look(&mut self, value: &Value, path: &str, name: &str) {
        match value {
            Value::String(text) if holds_media(name) => self.judge(text, path, false),
            Value::String(text) if PROMPTS.contains(&name) => {
                prompted(text).into_iter().for_each(|link| self.judge(link, path, true));
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.look(item, &format!("{path}[{at}]"), name);
                }
            }
            Value::Object(fields) => {
                let is_call =
                    fields.get("type").and_then(Value::as_str).is_some_and(|it| it.ends_with("tool_use"));
                // What is called `url` alone is a medium's where the object around it is one.
                let has_links = path.is_empty() || OWNERS.contains(&name) || holds_media(name);
                for (key, value) in fields {
                    let is_skipped = SKIPPED.contains(&key.as_str())
                        || (is_call && key == "input")
                        // The shape of a function's arguments, not the options of a picture.
                        || (key == "parameters" && fields.contains_key("name"))
                        // A client's own note, of which some families read flags.
                        || (path == NOTE && !FLAGS.contains(&key.as_str()));
                    if !is_skipped {
                        let dot = if path.is_empty() { "" } else { "." };
                        let is_other = is_link_name(key) && !has_links;
                        self.look(value, &format!("{path}{dot}{key}"), if is_other { "" } else { key });
                    }
                }
            }
            _ => {}
        }
    }

    fn judge(&mut self, link: &str, path: &str, in_text: bool) {
        if let Some(reason) = Some(link).filter(|link| is_link(link)).and_then(self.judge) {
            self.links.push(BadLink { field: path.to_owned(), link: link.to_owned(), in_text, reason });
        }
    }
}

fn is_link_name(name: &str) -> bool {
    ["url", "urls", "uri", "uris"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether the field holds a link that is fetched: `url`, `image_urls`, `imageUrl`, `first_frame_image`, `file2`.
fn holds_media(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_medium = |word: &str| {
        let word = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let word = word.strip_suffix('s').unwrap_or(word);
        let word = word.strip_suffix("url").or_else(|| word.strip_suffix("uri")).unwrap_or(word);
        WORDS.contains(&word) || word.strip_suffix('s').is_some_and(|word| WORDS.contains(&word))
    };
    is_link_name(&name) || name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_medium)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BAD: &str = "http://10.0.0.1/a.png";

    fn fields(body: &str) -> Vec<String> {
        let judge = |link: &str| link.contains("10.0.0.1").then(|| "no".to_owned());
        bad_links(body, &judge).into_iter().map(|link| link.field).collect()
    }

    /// Without it a provider that runs beside the gateway is made to fetch what only the operator's network may read.
    #[test]
    fn links_are_found_where_a_provider_would_fetch_them() {
        let part = |part: Value| json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, part]}]});
        let at = "messages[0].content[1]";
        for (body, field) in [
            (part(json!({"type": "image_url", "image_url": {"url": BAD}})), format!("{at}.image_url.url")),
            (part(json!({"type": "image_url", "image_url": BAD})), format!("{at}.image_url")),
            (part(json!({"type": "file", "file": {"file_data": BAD}})), format!("{at}.file.file_data")),
            (
                part(json!({"type": "image", "source": {"type": "url", "url": BAD}})),
                format!("{at}.source.url"),
            ),
            (part(json!({"type": "video_url", "video_url": {"url": BAD}})), format!("{at}.video_url.url")),
            (
                part(json!({"type": "tool_result", "content": [{"type": "image", "source": {"url": BAD}}]})),
                format!("{at}.content[0].source.url"),
            ),
            (
                json!({"input": [{"content": [{"type": "input_file", "file_url": BAD}]}]}),
                "input[0].content[0].file_url".to_owned(),
            ),
            (json!({"tools": [{"type": "mcp", "server_url": BAD}]}), "tools[0].server_url".to_owned()),
            (json!({"image_urls": ["https://e.com/a", BAD]}), "image_urls[1]".to_owned()),
            (
                json!({"image_with_roles": [{"url": BAD, "role": "first_frame"}]}),
                "image_with_roles[0].url".to_owned(),
            ),
            (json!({"assets": [{"url": "HTTP://10.0.0.1", "name": "a"}]}), "assets[0].url".to_owned()),
            (json!({"first_frame_image": BAD}), "first_frame_image".to_owned()),
            (json!({"imageUrl": BAD}), "imageUrl".to_owned()),
            (json!({"cref": BAD}), "cref".to_owned()),
            (json!({"metadata": {"sref": BAD}}), "metadata.sref".to_owned()),
            (json!({"prompt": format!("a cat --cref {BAD} --v 7")}), "prompt".to_owned()),
            (json!({"prompt": format!("https://e.com/a {BAD} a cat")}), "prompt".to_owned()),
            (json!({"extra": format!("--sref 7 {BAD}")}), "extra".to_owned()),
        ] {
            let text = body.to_string();
            let escaped = [("/", "\\/"), ("://", "\\u003a//"), ("http", "\\u0068ttp")];
            for written in escaped.map(|(plain, escaped)| text.replace(plain, escaped)).iter().chain([&text])
            {
                assert_eq!(fields(written), [field.as_str()], "{written}");
            }
        }
        assert_eq!(fields(&format!(r#"{{"\u0070rompt": "a --cref {BAD}"}}"#)), ["prompt"]);
    }

    /// Without it an agent that works on a local server could not tell its model about it.
    #[test]
    fn an_address_that_nobody_fetches_is_a_text() {
        for body in [
            json!({"messages": [{"role": "user", "content": BAD}]}),
            json!({"messages": [{"content": [{"type": "text", "text": BAD}]}]}),
            json!({"messages": [{"content": [{"type": "tool_use", "name": "fetch", "input": {"url": BAD}}]}]}),
            json!({"messages": [{"tool_calls": [{"function": {"arguments": {"url": BAD}}}]}]}),
            json!({"messages": [{"annotations": [{"url_citation": {"url": BAD}}]}]}),
            json!({"tools": [{"input_schema": {"properties": {"a": {"file": BAD}}}}]}),
            json!({"tools": [{"function": {"name": "f", "parameters": {"image": BAD}}}]}),
            json!({"prompt": format!("a browser that shows {BAD}")}),
            json!({"metadata": {"image": BAD, "url": BAD}}),
            json!({"script": {"target": {"url": BAD}}, "steps": [{"url": BAD}]}),
            json!({"webhook_url": BAD, "image_": "x", "": BAD}),
            json!({"user": BAD, "profile": BAD, "homepage": BAD}),
            json!({"image_urls": ["https://e.com/a"], "url": "ftp://10.0.0.1/a"}),
        ] {
            assert_eq!(fields(&body.to_string()), [""; 0], "{body}");
        }
    }
}
