//! Media in a bucket of an S3 service: its settings, and how `object_store` reaches it over the connections of `upstream`.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use gatehouse_model::{Secret, SecretRef};
use gatehouse_upstream::{ServiceClient, ServiceError};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use serde::Deserialize;
use url::Url;

use crate::storage::objects::Error;
use crate::storage::uploads::Uploads;

/// How the address of a bucket begins.
pub(crate) const SCHEME: &str = "s3://";
/// Where a service that is not Amazon's usually has its buckets.
const REGION: &str = "us-east-1";
/// One request to the head of its answer: a part of 5 MiB over a slow line.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest silence within an answer's body.
const SILENCE: Duration = Duration::from_secs(30);

/// How often, and for how long, a request is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    most: usize,
    within: Duration,
}

/// For media, a client waits meanwhile.
pub(crate) const OF_MEDIA: Retries = Retries { most: 3, within: Duration::from_secs(15) };
/// For an operator's files nobody does, and much was sent or read before.
pub(crate) const OF_FILES: Retries = Retries { most: 10, within: Duration::from_mins(3) };

/// The `[media.s3]` and `[backup.s3]` tables: the service of an `s3://` address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct S3Config {
    /// Its address; absent: Amazon's, of the region.
    pub endpoint: Option<String>,
    /// The bucket's region; absent: `us-east-1`.
    pub region: Option<String>,
    /// Whether the bucket's name stands in the path; absent: where an endpoint is given.
    pub path_style: Option<bool>,
    /// The access key's id.
    pub access_key_id: Option<SecretRef>,
    /// The access key's secret.
    pub secret_access_key: Option<SecretRef>,
    /// The token of temporary credentials.
    pub session_token: Option<SecretRef>,
}

/// How a secret is looked up; the error says why not.
pub type Secrets<'a> = &'a dyn Fn(&SecretRef) -> Result<Secret<String>, String>;

/// A bucket that can be opened: names, address and credentials are there.
pub(crate) struct Bucket {
    /// The table that it is of, for messages.
    table: &'static str,
    /// For messages.
    pub(crate) name: String,
    prefix: String,
    endpoint: Url,
    /// What `object_store` is given: with the bucket's name in its host where the path has none.
    address: String,
    path_style: bool,
    region: String,
    key_id: Secret<String>,
    secret: Secret<String>,
    token: Option<Secret<String>>,
}

impl Bucket {
    /// The bucket of media; `None` where `url` is another kind of address.
    pub(crate) fn of(url: &str, s3: &S3Config, secrets: Secrets<'_>) -> Result<Option<Self>, Error> {
        match url.strip_prefix(SCHEME) {
            None if *s3 == S3Config::default() => Ok(None),
            None => Err(Error::StrayS3),
            Some(_) => match Self::at(url, s3, "media.s3", secrets) {
                Err(Error::BucketAddress(url)) => Err(Error::UnknownUrl(url)),
                found => found.map(Some),
            },
        }
    }

    /// The bucket of an `s3://` address, whose service `table` describes.
    pub(crate) fn at(
        url: &str,
        s3: &S3Config,
        table: &'static str,
        secrets: Secrets<'_>,
    ) -> Result<Self, Error> {
        let rest = url.strip_prefix(SCHEME).unwrap_or_default();
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket_name(name) {
            return Err(Error::BucketAddress(url.to_owned()));
        }
        let wrong = |key: &str, why: String| Error::S3 { key: format!("{table}.{key}"), why };
        let secret = |key: &'static str, reference: &Option<SecretRef>| match reference {
            Some(reference) => secrets(reference).map(Some).map_err(|why| wrong(key, why)),
            None => Ok(None),
        };
        let needed = |key: &'static str, found: Option<Secret<String>>| {
            found.ok_or_else(|| wrong(key, format!("an s3:// address needs it: {key} = {{ env = \"...\" }}")))
        };
        let region = s3.region.clone().unwrap_or_else(|| REGION.to_owned());
        let path_style = s3.path_style.unwrap_or_else(|| s3.endpoint.is_some());
        let base = s3.endpoint.clone().unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let endpoint = address(&base, (!path_style).then_some(name)).map_err(|why| wrong("endpoint", why))?;
        Ok(Self {
            table,
            name: name.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
            address: endpoint.as_str().trim_end_matches('/').to_owned(),
            endpoint,
            path_style,
            region,
            key_id: needed("access_key_id", secret("access_key_id", &s3.access_key_id)?)?,
            secret: needed("secret_access_key", secret("secret_access_key", &s3.secret_access_key)?)?,
            token: secret("session_token", &s3.session_token)?,
        })
    }

    /// Its objects, over what `connect` makes for its address. Nothing is sent yet.
    pub(crate) fn open(
        &self,
        connect: impl FnOnce(&Url) -> Result<ServiceClient, String>,
        retries: Retries,
    ) -> Result<(Arc<dyn ObjectStore>, Uploads), Error> {
        let wrong = |why: String| Error::S3 { key: format!("{}.endpoint", self.table), why };
        let connections = Connections(connect(&self.endpoint).map_err(wrong)?);
        let store = self.store(connections.clone(), retries).map_err(|error| wrong(error.to_string()))?;
        let mut address = self.endpoint.clone();
        if self.path_style
            && let Ok(mut path) = address.path_segments_mut()
        {
            path.pop_if_empty().push(&self.name);
        }
        let prefix = Path::from(self.prefix.as_str());
        let uploads = Uploads {
            store: store.clone(),
            connections,
            address,
            prefix: prefix.clone(),
            region: self.region.clone(),
        };
        Ok((Arc::new(PrefixStore::new(store, prefix)), uploads))
    }

    fn store(&self, connections: Connections, retries: Retries) -> object_store::Result<AmazonS3> {
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: retries.most,
            retry_timeout: retries.within,
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&self.name)
            .with_region(&self.region)
            .with_endpoint(&self.address)
            .with_virtual_hosted_style_request(!self.path_style)
            .with_allow_http(self.endpoint.scheme() == "http")
            .with_access_key_id(self.key_id.expose())
            .with_secret_access_key(self.secret.expose())
            .with_retry(retry)
            .with_http_connector(connections);
        if let Some(token) = &self.token {
            builder = builder.with_token(token.expose());
        }
        builder.build()
    }
}

/// As S3 has it, without the dots that break certificates of virtual hosts.
fn is_bucket_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    (3..=63).contains(&name.len()) && name.bytes().all(known)
}

/// The service's address, with the bucket in front of its host where it goes there.
fn address(text: &str, bucket: Option<&str>) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| format!("expected a URL, got {text:?}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("expected http or https, got {text:?}"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("expected no user name, no password and no query in it".to_owned());
    }
    if let Some(bucket) = bucket {
        let host = match url.host() {
            Some(url::Host::Domain(host)) => format!("{bucket}.{host}"),
            _ => return Err(format!("path_style = false needs a name for a host, got {text:?}")),
        };
        url.set_host(Some(&host)).map_err(|error| error.to_string())?;
    }
    Ok(url)
}

/// What a bucket's error says in a few words: a status with the service's code, or why there is no answer. Its own text is long,
/// and holds addresses.
pub(crate) fn said(error: &object_store::Error) -> String {
    let mut source: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(failed) = error.downcast_ref::<HttpError>() {
            return format!(
                "does not answer: {}",
                failed.source().map_or_else(|| failed.to_string(), ToString::to_string)
            );
        }
        source = error.source();
    }
    let text = error.to_string();
    let between = |begin: &str, end: &str| {
        let rest = &text[text.find(begin)? + begin.len()..];
        Some(rest[..rest.find(end)?].to_owned())
    };
    match (between("status code: ", ":"), between("<Code>", "</Code>")) {
        (Some(status), Some(code)) => format!("answered {status} ({code})"),
        (Some(status), None) => format!("answered {status}"),
        (None, Some(code)) => format!("answered {code}"),
        (None, None) => "answered what cannot be read".to_owned(),
    }
}

/// What `object_store` makes its client of.
#[derive(Clone)]
pub(crate) struct Connections(ServiceClient);

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections")
    }
}

impl HttpConnector for Connections {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connections {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.0.send(request, TIMEOUT).await.map_err(|error| {
            let kind = match error {
                ServiceError::NotSent(_) => HttpErrorKind::Connect,
                ServiceError::Timeout => HttpErrorKind::Timeout,
                _ => HttpErrorKind::Interrupted,
            };
            HttpError::new(kind, error)
        })?;
        Ok(response.map(body))
    }
}

/// A body whose silence ends it.
fn body(incoming: Incoming) -> HttpResponseBody {
    if incoming.is_end_stream() {
        return Bytes::new().into();
    }
    let frames = stream::unfold(Some(incoming), |incoming| async {
        let mut incoming = incoming?;
        let failed =
            |kind, why: &str| Some((Err(HttpError::new(kind, ServiceError::Broken(why.to_owned()))), None));
        match tokio::time::timeout(SILENCE, incoming.frame()).await {
            Err(_) => failed(HttpErrorKind::Timeout, "its body stopped"),
            Ok(None) => None,
            Ok(Some(Err(error))) => failed(HttpErrorKind::Interrupted, &error.to_string()),
            Ok(Some(Ok(frame))) => Some((Ok::<Frame<Bytes>, _>(frame), Some(incoming))),
        }
    });
    HttpResponseBody::new(StreamBody::new(frames))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{in_hand, secret};

    fn bucket(url: &str, change: impl Fn(&mut S3Config)) -> Result<Option<Bucket>, String> {
        let mut s3 = S3Config {
            access_key_id: secret("id"),
            secret_access_key: secret("sekret"),
            ..S3Config::default()
        };
        change(&mut s3);
        Bucket::of(url, &s3, &in_hand).map_err(|error| error.to_string())
    }

    #[test]
    fn the_bucket_stands_in_the_host_or_in_the_path() {
        let minio = |s3: &mut S3Config| s3.endpoint = Some("http://minio.internal:9000".to_owned());
        let found = |url, change: &dyn Fn(&mut S3Config)| {
            let bucket = bucket(url, change).unwrap().unwrap();
            (bucket.address, bucket.prefix, bucket.path_style)
        };
        for (url, change, address, prefix, path_style) in [
            (
                "s3://files",
                (&|_: &mut S3Config| ()) as &dyn Fn(&mut S3Config),
                "https://files.s3.us-east-1.amazonaws.com",
                "",
                false,
            ),
            (
                "s3://files/a/b/",
                &|s3| s3.region = Some("eu-central-1".to_owned()),
                "https://files.s3.eu-central-1.amazonaws.com",
                "a/b",
                false,
            ),
            ("s3://files", &|s3| s3.path_style = Some(true), "https://s3.us-east-1.amazonaws.com", "", true),
            ("s3://files/x", &minio, "http://minio.internal:9000", "x", true),
            (
                "s3://files",
                &|s3| {
                    minio(s3);
                    s3.path_style = Some(false);
                },
                "http://files.minio.internal:9000",
                "",
                false,
            ),
        ] {
            assert_eq!(found(url, change), (address.to_owned(), prefix.to_owned(), path_style), "{url}");
        }
        assert!(bucket("/var/lib/media", |s3| *s3 = S3Config::default()).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_used_is_named_by_its_key() {
        for (url, change, expected) in [
            ("s3://", (&|_: &mut S3Config| ()) as &dyn Fn(&mut S3Config), "media.url"),
            ("/var/lib/media", &|_| (), "media.s3: expected media.url"),
            ("s3://My_Bucket", &|_| (), "media.url"),
            (
                "s3://files",
                &|s3| s3.access_key_id = None,
                "media.s3.access_key_id: an s3:// address needs it",
            ),
            (
                "s3://files",
                &|s3| s3.secret_access_key = Some(SecretRef::Env("X".to_owned())),
                "media.s3.secret_access_key: it is not set",
            ),
            (
                "s3://files",
                &|s3| s3.endpoint = Some("minio:9000".to_owned()),
                "media.s3.endpoint: expected http or https",
            ),
            (
                "s3://files",
                &|s3| s3.endpoint = Some("https://u:sekret@minio".to_owned()),
                "media.s3.endpoint: expected no user name",
            ),
            (
                "s3://files",
                &|s3| {
                    s3.endpoint = Some("http://127.0.0.1:9".to_owned());
                    s3.path_style = Some(false);
                },
                "media.s3.endpoint: path_style = false needs a name",
            ),
        ] {
            let said = bucket(url, change).err().expect(url);
            assert!(said.starts_with(expected) && !said.contains("sekret@"), "{said}");
        }
    }
}
