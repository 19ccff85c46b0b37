//! What a mocked provider answers with: replies whose links lead back to it, sample files behind those links, and outages.

use std::collections::BTreeMap;

use bytes::Bytes;
use gatehouse_sandbox::scripted::{Answer, sample};
use gatehouse_testkit::{Body, Outage, Reply};
use http::Response;

use super::provider::reply;

/// More than a gateway reads of a reply without other limits.
const TOO_LARGE: usize = 9 << 20;

/// The links of the scripts, by the address they have here.
pub(super) struct Media {
    /// Link of a script, and the one in its place; the longest first, for one may begin with another.
    links: Vec<(String, String)>,
    /// Path, and the content type of the file there.
    files: BTreeMap<String, String>,
}

impl Media {
    /// Links that are called, and links of media with their types.
    pub(super) fn new<'a>(
        origin: &str,
        called: impl Iterator<Item = &'a str>,
        media: impl Iterator<Item = &'a (String, Option<String>)>,
    ) -> Self {
        let (mut links, mut files) = (BTreeMap::new(), BTreeMap::new());
        for (source, mime) in media {
            let Some(rest) = without_scheme(source) else { continue };
            let path = format!("/media/{rest}");
            links.insert(source.clone(), format!("{origin}{path}"));
            files.insert(path, mime.clone().unwrap_or_else(|| by_extension(rest).to_owned()));
        }
        for url in called {
            if let Some(rest) = without_scheme(url) {
                links.insert(url.to_owned(), format!("{origin}/url/{rest}"));
            }
        }
        let mut links: Vec<(String, String)> = links.into_iter().collect();
        links.sort_by_key(|(link, _)| std::cmp::Reverse(link.len()));
        Self { links, files }
    }

    /// The text with this provider's own links.
    pub(super) fn localised(&self, text: String) -> String {
        self.links.iter().fold(text, |text, (link, local)| text.replace(link, local))
    }

    /// The file at a path, if a script has one there.
    pub(super) fn file(&self, target: &str) -> Option<Response<Bytes>> {
        let mime = self.files.get(target)?;
        // A type of which no sample is made still has bytes: the host keeps any file.
        let bytes =
            sample(mime).unwrap_or_else(|| Bytes::from_static(b"a sample file of gatehouse plugin mock"));
        Some(reply(200, &[("content-type", mime)], bytes))
    }

    /// A script's reply, and its status.
    pub(super) fn reply(&self, given: &Reply) -> (Response<Bytes>, u16) {
        let mut headers: Vec<(&str, &str)> =
            given.headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
        let mime = headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| *value);
        let body = match &given.body {
            Body::Inline(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.localised(text.to_owned()).into(),
                Err(_) => Bytes::copy_from_slice(bytes),
            },
            // What the host kept of the reply: a file of its type.
            Body::Blob(_) => sample(mime.unwrap_or("image/png")).unwrap_or_default(),
        };
        if mime.is_none() {
            let is_json = serde_json::from_slice::<serde_json::Value>(&body).is_ok();
            headers.push(("content-type", if is_json { "application/json" } else { "text/plain" }));
        }
        (reply(given.status, &headers, body), given.status)
    }

    /// No reply. A listener cannot be unreachable, and the host makes no call that it refuses: both are a broken connection
    /// here.
    pub(super) fn outage(&self, outage: Outage) -> Answer {
        match outage {
            Outage::Timeout => Answer::Silence,
            Outage::TooLarge => Answer::Reply(reply(200, &[], Bytes::from(vec![b' '; TOO_LARGE]))),
            Outage::Unreachable | Outage::Broken | Outage::Refused => Answer::Broken,
        }
    }
}

fn without_scheme(url: &str) -> Option<&str> {
    url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
}

/// The type that the end of a link promises; a picture without one.
fn by_extension(link: &str) -> &'static str {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("mp4") => "video/mp4",
        Some("mov") => "video/quicktime",
        Some("wav") => "audio/wav",
        Some("mp3") => "audio/mpeg",
        Some("m4a") => "audio/mp4",
        _ => "image/png",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that a gateway could not fetch would end every mocked task with a lost result.
    #[test]
    fn links_lead_back_to_the_mock() {
        let files = [
            ("https://cdn.e/s7".to_owned(), None),
            ("https://cdn.e/s7.mp4?x=1".to_owned(), None),
            ("data:image/png;base64,AA==".to_owned(), None),
        ];
        let media = Media::new("http://127.0.0.1:9", ["https://api.e/jobs/7"].into_iter(), files.iter());
        let text = "[\"https://cdn.e/s7.mp4?x=1\", \"https://cdn.e/s7\", \"https://api.e/jobs/7\", \"https://other.e\"]";
        assert_eq!(
            media.localised(text.to_owned()),
            "[\"http://127.0.0.1:9/media/cdn.e/s7.mp4?x=1\", \"http://127.0.0.1:9/media/cdn.e/s7\", \
             \"http://127.0.0.1:9/url/api.e/jobs/7\", \"https://other.e\"]"
        );
        let film = media.file("/media/cdn.e/s7.mp4?x=1").unwrap();
        assert_eq!(film.headers()["content-type"], "video/mp4");
        assert!(media.file("/media/cdn.e/other").is_none());
    }
}
