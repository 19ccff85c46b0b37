//! In the place of addresses that are reserved for documentation (RFC 2606): in sandbox mode the simulation's own files, so that
//! every documented example runs as it is written, without a network. Without sandbox mode such a link fails as it would anyway.

use url::Url;

use crate::client::origin::is_within;

/// The reserved domains.
const DOMAINS: [&str; 3] = ["example.com", "example.net", "example.org"];

/// The file in the place of one, by how its name ends; a picture where that says nothing.
const FILES: [(&str, &str); 10] = [
    ("jpeg", "1024x1024.jpeg"),
    ("jpg", "1024x1024.jpeg"),
    ("webp", "1024x1024.webp"),
    ("mp4", "1280x720-5s.mp4"),
    ("m4v", "1280x720-5s.mp4"),
    ("mov", "1280x720-5s.mov"),
    ("mp3", "5s.mp3"),
    ("wav", "5s.wav"),
    ("m4a", "5s.m4a"),
    ("png", PICTURE),
];
const PICTURE: &str = "1024x1024.png";

/// What is fetched in the place of `url`; `samples` is the folder of the simulation's files.
pub(super) fn stand_in(samples: &str, url: &Url) -> Option<Url> {
    let host = url.host_str()?;
    if !DOMAINS.into_iter().any(|domain| is_within(host, domain)) {
        return None;
    }
    let ending = url.path().rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let file = FILES.iter().find(|(known, _)| *known == ending).map_or(PICTURE, |(_, file)| file);
    Url::parse(&format!("{samples}/{file}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it most documented examples with a file fail in sandbox mode.
    #[test]
    fn documented_addresses_are_files_of_the_simulation() {
        for (url, expected) in [
            ("https://example.com/face.png", Some(PICTURE)),
            ("https://cdn.Example.org/a/B.JPG?x=1.mp4", Some("1024x1024.jpeg")),
            ("http://example.net/film.mov", Some("1280x720-5s.mov")),
            ("https://example.com/song.mp3", Some("5s.mp3")),
            ("https://example.com", Some(PICTURE)),
            ("https://notexample.com/a.png", None),
            ("https://example.com.evil.test/a.png", None),
            ("https://example.invalid/a.png", None),
        ] {
            let found = stand_in("http://127.0.0.1:7/samples", &Url::parse(url).unwrap());
            let expected = expected.map(|file| format!("http://127.0.0.1:7/samples/{file}"));
            assert_eq!(found.map(String::from), expected, "{url}");
        }
    }
}
