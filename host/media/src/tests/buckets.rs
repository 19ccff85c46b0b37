//! Media in a bucket whose service is scripted: one that is gone is an outage, and what is read goes on where it was cut.

use std::sync::Mutex;

use gatehouse_harness::Received;
use gatehouse_upstream::{Blobs, OutgoingConfig, OutgoingRoute};
use tokio::io::AsyncWriteExt;

use super::*;
use crate::BucketFiles;
use crate::storage::bucket::S3Config;
use crate::storage::objects::{Error, StoreOutage};

/// A store over the bucket of a service.
fn over(service: SocketAddr) -> TestMedia {
    let config = Config { url: Some("s3://files".to_owned()), s3: s3(service), ..Config::default() };
    TestMedia::with(&[], config)
}

fn s3(service: SocketAddr) -> S3Config {
    S3Config {
        endpoint: Some(format!("http://{service}")),
        access_key_id: secret("id"),
        secret_access_key: secret("sekret"),
        ..S3Config::default()
    }
}

/// Without it a bucket that is gone reads as one without files: tasks go on as if theirs had never been.
#[tokio::test]
async fn a_bucket_that_is_gone_is_an_outage_and_a_file_that_is_gone_is_none() {
    for (code, is_outage) in [("NoSuchBucket", true), ("NoSuchKey", false)] {
        let service = Provider::start(move |request: &Received| {
            let text = match request.method.as_str() {
                "HEAD" => String::new(),
                _ => format!("<Error><Code>{code}</Code><Message>gone</Message></Error>"),
            };
            reply(404, &[("content-type", "application/xml")], text)
        })
        .await;
        let test = over(service.address);
        let objects = &test.media.0.objects;
        let path = object_store::path::Path::from("blobs/1/one");
        let found: [Result<bool, Error>; 4] = [
            objects.length(&path).await.map(|found| found.is_some()),
            objects.read(&path).await.map(|found| found.is_some()),
            objects.copy(&path, &object_store::path::Path::from("blobs/1/two")).await,
            objects.delete(&path).await.map(|()| false),
        ];
        for (at, found) in found.into_iter().enumerate() {
            match found {
                Ok(found) => assert!(!found && !is_outage, "{code} {at}"),
                Err(error) => {
                    assert_eq!((error.outage(), is_outage), (Some(StoreOutage::Bucket), true), "{code} {at}");
                }
            }
        }
    }
}

/// Without it a file that a provider takes late or slowly is lost with the connection it was opened on.
#[tokio::test]
async fn a_reading_goes_on_where_it_was_cut_as_long_as_something_comes() {
    const FILE: &[u8] = b"a red kite over the sea";
    for (step, is_whole) in [(3, true), (0, false)] {
        let service = serve_connections(move |mut connection| async move {
            let mut head = vec![];
            while !head.ends_with(b"\r\n\r\n") {
                connection.readable().await.unwrap();
                match connection.try_read_buf(&mut head) {
                    Ok(0) => return,
                    Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
                    _ => {}
                }
            }
            let head = String::from_utf8(head).unwrap();
            let asked = head.lines().find_map(|line| line.strip_prefix("range: bytes="));
            let begin: Option<usize> = asked.map(|range| range.split_once('-').unwrap().0.parse().unwrap());
            let (status, rest) = (if asked.is_some() { 206 } else { 200 }, &FILE[begin.unwrap_or(0)..]);
            // The first answer brings something in any case: what follows is a reading that stops.
            let sent = rest.len().min(if begin.is_some() { step } else { 3 });
            let length = rest.len();
            let range = begin.map_or_else(String::new, |begin| {
                format!("content-range: bytes {begin}-{}/{}\r\n", FILE.len() - 1, FILE.len())
            });
            let date = "last-modified: Thu, 01 Jan 2026 00:00:00 GMT";
            let text = format!("HTTP/1.1 {status} OK\r\ncontent-length: {length}\r\n{range}{date}\r\n\r\n");
            connection.write_all(text.as_bytes()).await.unwrap();
            connection.write_all(&rest[..sent]).await.unwrap();
        })
        .await;
        let test = over(service);
        let id = BlobId::new(test.clock.now(), &*test.media.0.seed);
        let open = test.media.blobs_of([id]).open(id).await.unwrap().expect("a file");
        let pieces: Vec<std::io::Result<Bytes>> = open.body.collect().await;
        assert_eq!(pieces.iter().all(Result::is_ok), is_whole, "{pieces:?}");
        let read = pieces.into_iter().flatten().collect::<Vec<_>>().concat();
        assert_eq!(read, if is_whole { FILE } else { &FILE[..3] });
    }
}

/// Without it the parts of an upload whose process was killed are paid for until somebody looks for them; or those of a gateway that
/// works go under its hands.
#[tokio::test]
async fn uploads_that_nobody_ends_go_once_their_files_would_have_expired() {
    let blob = |minutes: u64| {
        let id = BlobId::new(UnixMs(NEW_YEAR - minutes * 60_000), &TestSeed::default());
        crate::media_store::blob_path(id).to_string()
    };
    let result = |hours: i64| {
        let expires = UnixMs(NEW_YEAR.saturating_add_signed(hours * HOUR.cast_signed()));
        crate::links::path("media_1.png", expires).to_string()
    };
    let expired = [blob(27 * 60), blob(26 * 60 + 1), blob(26 * 60), result(-2)];
    let kept = [blob(26 * 60 - 1), blob(0), result(0), result(24), "media/1/another's".to_owned()];
    let mut all = [expired.as_slice(), &kept].concat();
    all.sort();
    for refuses in [false, true] {
        let left = Arc::new(Mutex::new(all.clone()));
        let uploads = Arc::clone(&left);
        let service = Provider::start(move |request: &Received| {
            let xml = &[("content-type", "application/xml")];
            let (target, mut left) = (request.target.as_str(), uploads.lock().unwrap());
            match request.method.as_str() {
                "GET" if !target.contains("uploads=") => reply(200, xml, "<ListBucketResult/>".to_owned()),
                "GET" if refuses => reply(403, xml, "<Error><Code>AccessDenied</Code></Error>".to_owned()),
                "GET" => {
                    let folder = if target.contains("prefix=blobs%2F") { "blobs/" } else { "media/" };
                    let below: Vec<_> = left.iter().filter(|key| key.starts_with(folder)).collect();
                    let upload = |key| format!("<Upload><Key>{key}</Key><UploadId>u1</UploadId></Upload>");
                    let page: String = below.iter().take(2).map(upload).collect();
                    let more = below.len() > 2;
                    let list = "ListMultipartUploadsResult";
                    reply(200, xml, format!("<{list}><IsTruncated>{more}</IsTruncated>{page}</{list}>"))
                }
                "DELETE" => {
                    left.retain(|key| target != format!("/files/{key}?uploadId=u1"));
                    reply(204, &[], String::new())
                }
                _ => reply(500, &[], String::new()),
            }
        })
        .await;
        over(service.address).media.sweep().await.expect("a bucket that tells nothing of them is no failure");
        let mut expected = if refuses { all.clone() } else { kept.to_vec() };
        expected.sort();
        assert_eq!(*left.lock().unwrap(), expected, "{refuses}");
    }
}

/// Without it a service that wants parts of one size, as Cloudflare R2 does, refuses every result and reply of more than two parts.
#[tokio::test]
async fn all_parts_of_a_file_but_the_last_are_of_one_size() {
    const PART: usize = 5 << 20;
    let service = Provider::start(|request: &Received| {
        let xml = &[("content-type", "application/xml")];
        match (request.method.as_str(), request.target.contains("uploads")) {
            ("POST", true) => {
                let text =
                    "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>";
                reply(200, xml, text)
            }
            ("PUT", _) => reply(200, &[("etag", "\"part\"")], ""),
            ("POST", _) => {
                let text =
                    "<CompleteMultipartUploadResult><ETag>\"file\"</ETag></CompleteMultipartUploadResult>";
                reply(200, xml, text)
            }
            _ => reply(500, &[], ""),
        }
    })
    .await;
    let file = Bytes::from(picture(16 << 20));
    let pieces: Vec<_> = file.chunks(1_000_003).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let blobs = over(service.address).media.blobs_of([]);
    blobs.save(futures_util::stream::iter(pieces).boxed()).await.unwrap();
    let seen = service.received();
    let parts: Vec<&Bytes> =
        seen.iter().filter(|request| request.method == "PUT").map(|request| &request.body).collect();
    let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    assert_eq!(sizes, [PART, PART, PART, (16 << 20) - 3 * PART]);
    let mut joined = Vec::with_capacity(file.len());
    parts.into_iter().for_each(|part| joined.extend_from_slice(part));
    assert!(file == joined, "together they are the file");
}

/// Without it an upload that fails leaves parts that are paid for and that no listing shows, or half of a file under its name.
#[tokio::test]
async fn an_upload_that_fails_is_aborted_and_says_where() {
    let service = Provider::start(|request: &Received| {
        let xml = &[("content-type", "application/xml")];
        match (request.method.as_str(), request.target.contains("uploads")) {
            ("POST", true) => {
                let text = "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>";
                reply(200, xml, text.to_owned())
            }
            ("DELETE", _) => reply(204, &[], String::new()),
            _ => reply(403, xml, "<Error><Code>AccessDenied</Code></Error>".to_owned()),
        }
    })
    .await;
    let outgoing = OutgoingConfig::default();
    let route = OutgoingRoute { extra_roots_file: None, outgoing: &outgoing, secrets: &in_hand };
    let s3 = s3(service.address);
    let files = BucketFiles::open("s3://backups/of/tests/", &s3, "backup.s3", &route).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for bytes in [9 << 20, 5] {
        let file = folder.path().join("store");
        std::fs::write(&file, vec![7; bytes]).unwrap();
        let error =
            files.upload("a/store", &file, &|_| panic!("it is not there")).await.unwrap_err().to_string();
        assert_eq!(error, "s3://backups/of/tests/a/store: the bucket answered 403 Forbidden (AccessDenied)");
        let seen = service.received();
        let aborts = seen
            .iter()
            .filter(|request| request.method == "DELETE" && request.target.contains("uploadId=u1"));
        // Of the first alone, which was longer than a part.
        assert_eq!(aborts.count(), 1, "{bytes}: {seen:?}");
    }
}
