//! `oci://registry/repository:tag@sha256:digest`, read. Pure.

use std::fmt;
use std::str::FromStr;

use gatehouse_model::Digest;
use url::Url;

use crate::client::origin::is_local;

const SCHEME: &str = "oci://";
const EXPECTED: &str = "expected oci://registry/repository:tag or oci://registry/repository@sha256:digest";
const MAX_BYTES: usize = 512;

/// Where a plugin is in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactReference {
    /// Host, and port where it is not the usual one.
    pub registry: String,
    /// The repository.
    pub repository: String,
    /// A name that the registry may move.
    pub tag: Option<String>,
    /// The digest of its manifest, which no registry can move.
    pub digest: Option<Digest>,
}

impl ArtifactReference {
    /// Whether `text` means to be one.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The same, pinned to a manifest.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }

    /// The name of its manifest in a request: the digest where there is one.
    pub(crate) fn manifest(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => format!("sha256:{digest}"),
            (None, tag) => tag.clone().unwrap_or_default(),
        }
    }

    /// The registry's API below `/v2/<repository>/`. Over http on this machine only.
    pub(crate) fn url(&self, rest: &str) -> Result<Url, url::ParseError> {
        let (registry, repository) = (&self.registry, &self.repository);
        let https = Url::parse(&format!("https://{registry}/v2/{repository}/{rest}"))?;
        if is_local(&https) {
            // Parsed anew: a port of one scheme may be the usual one of the other.
            Url::parse(&format!("http://{registry}/v2/{repository}/{rest}"))
        } else {
            Ok(https)
        }
    }
}

impl FromStr for ArtifactReference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{EXPECTED}, got {text:?}: {why}");
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with oci://"))?;
        if text.len() > MAX_BYTES {
            return Err(format!("{EXPECTED} of at most {MAX_BYTES} bytes"));
        }
        let (registry, rest) = rest.split_once('/').ok_or_else(|| wrong("it names no repository"))?;
        let (name, digest) = match rest.split_once('@') {
            Some((name, digest)) => {
                let digest = digest.strip_prefix("sha256:").and_then(|digest| digest.parse().ok());
                (name, Some(digest.ok_or_else(|| wrong("a digest is sha256: and 64 hex digits"))?))
            }
            None => (rest, None),
        };
        let (repository, tag) = match name.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (name, None),
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        let is_path = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if registry.is_empty() || !registry.bytes().all(is_host) {
            return Err(wrong("the registry is a host, with a port where it is not the usual one"));
        }
        let is_part = |part: &str| {
            part.bytes().all(is_path) && part.starts_with(|first: char| first.is_ascii_alphanumeric())
        };
        if !repository.split('/').all(is_part) {
            return Err(wrong("a repository is of lower-case letters, digits, and . _ - /"));
        }
        if tag.is_some_and(|tag| tag.is_empty() || tag.len() > 128 || !tag.bytes().all(is_tag)) {
            return Err(wrong("a tag is of letters, digits, and . _ -"));
        }
        if tag.is_none() && digest.is_none() {
            return Err(wrong("it has neither a tag nor a digest"));
        }
        let (registry, repository) = (registry.to_owned(), repository.to_owned());
        let reference = Self { registry, repository, tag: tag.map(str::to_owned), digest };
        reference.url("").map_err(|error| wrong(&error.to_string()))?;
        Ok(reference)
    }
}

impl fmt::Display for ArtifactReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.registry, self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@sha256:{digest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_and_written() {
        let digest = Digest::of(b"x");
        for (text, url) in [
            ("oci://localhost:5000/painter:1.0.0", "http://localhost:5000/v2/painter/manifests/1.0.0"),
            ("oci://127.0.0.1:80/a/b:x", "http://127.0.0.1/v2/a/b/manifests/x"),
            ("oci://[::1]:5000/a:x", "http://[::1]:5000/v2/a/manifests/x"),
            ("oci://ghcr.io/us/painter:v1", "https://ghcr.io/v2/us/painter/manifests/v1"),
            ("oci://localhost.example/a:x", "https://localhost.example/v2/a/manifests/x"),
        ] {
            let read: ArtifactReference = text.parse().unwrap();
            assert_eq!(
                (
                    read.to_string().as_str(),
                    read.url(&format!("manifests/{}", read.manifest())).unwrap().as_str()
                ),
                (text, url)
            );
            let pinned = read.pinned(digest).to_string();
            assert_eq!(pinned, format!("{text}@sha256:{digest}"));
            assert_eq!(pinned.parse::<ArtifactReference>().unwrap().manifest(), format!("sha256:{digest}"));
        }
    }

    /// Nothing in it may lead to another path or host.
    #[test]
    fn anything_else_is_refused_with_the_reason() {
        for (text, why) in [
            ("painter:1", "does not begin with oci://"),
            ("oci://ghcr.io", "names no repository"),
            ("oci://ghcr.io/painter", "neither a tag nor a digest"),
            ("oci://ghcr.io/painter:", "a tag is of letters"),
            ("oci://ghcr.io/../v2:x", "a repository is of lower-case"),
            ("oci://ghcr.io/Painter:x", "a repository is of lower-case"),
            ("oci://ghcr.io//a:x", "a repository is of lower-case"),
            ("oci://me@ghcr.io/a:x", "the registry is a host"),
            ("oci:///a:x", "the registry is a host"),
            ("oci://ghcr.io:port/a:x", "invalid port number"),
            ("oci://ghcr.io/a@sha256:12", "64 hex digits"),
            ("oci://ghcr.io/a:x?y", "a tag is of letters"),
        ] {
            let error = text.parse::<ArtifactReference>().unwrap_err();
            assert!(error.contains(why) && error.contains("expected oci://"), "{text}: {error}");
        }
    }
}
