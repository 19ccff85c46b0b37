//! Keeping blobs: durable, the task's own only, gone in time.

use futures_util::{FutureExt as _, stream};
use gatehouse_harness::until;
use gatehouse_model::{BlobId, CustomerId, MediaId, Probe, Product};
use gatehouse_upstream::Blobs;
use object_store::ObjectStore as _;
use object_store::memory::InMemory;
use tokio::runtime::Handle;

use super::*;
use crate::storage::objects::Error;
use crate::storage::sweep::Swept;

#[tokio::test]
async fn a_task_opens_its_own_blobs_and_no_others() {
    let test = TestMedia::new(&[]);
    let (own, foreign, empty) = (blob(&test, &png(5, 4)), blob(&test, b"other"), blob(&test, b""));
    test.media.keep(&[own.clone(), foreign.clone(), empty.clone()]).await.unwrap();
    let gone = BlobId::new(test.clock.now(), &*test.media.0.seed);
    let blobs = test.media.blobs_of([own.id, empty.id, gone]);
    let open = blobs.open(own.id).await.unwrap().unwrap();
    assert_eq!((open.mime.as_str(), open.length), ("image/png", own.bytes.len() as u64));
    assert_eq!(collect(open.body).await, own.bytes);
    let open = blobs.open(empty.id).await.unwrap().unwrap();
    assert_eq!((open.mime.as_str(), collect(open.body).await.len()), ("application/octet-stream", 0));
    assert!(blobs.open(foreign.id).await.unwrap().is_none());
    assert!(blobs.open(gone).await.unwrap().is_none());
}

#[tokio::test]
async fn streams_are_kept_whole_or_not_at_all() {
    let test = TestMedia::new(&[]);
    let blobs = test.media.blobs_of([]);
    let pieces = |last: std::io::Result<Bytes>| {
        let piece = Bytes::from(vec![3; 1_000_000]);
        let mut pieces: Vec<std::io::Result<Bytes>> = (0..12).map(|_| Ok(piece.clone())).collect();
        pieces.push(last);
        stream::iter(pieces).boxed()
    };
    let id = blobs.save(pieces(Ok(Bytes::from_static(b"end")))).await.unwrap();
    let open = blobs.open(id).await.unwrap().unwrap();
    assert_eq!(open.length, 12_000_003);
    assert_eq!(collect(open.body).await.len(), 12_000_003);
    let before = test.files();
    let error = blobs.save(pieces(Err(std::io::Error::other("cut off")))).await.unwrap_err();
    assert_eq!(error.to_string(), "cut off");
    assert_eq!(test.files(), before);
}

#[tokio::test]
async fn blobs_of_ended_tasks_are_dropped() {
    let test = TestMedia::new(&[]);
    let (one, other) = (blob(&test, b"one"), blob(&test, b"other"));
    test.media.keep(&[one.clone(), other.clone()]).await.unwrap();
    test.media.drop_blobs(&[one.id]).await;
    test.media.drop_blobs(&[one.id]).await;
    let blobs = test.media.blobs_of([one.id, other.id]);
    assert!(blobs.open(one.id).await.unwrap().is_none());
    assert!(blobs.open(other.id).await.unwrap().is_some());
}

/// Without it a disk that is full fills up with what was written of a reply before the file that did not fit.
#[tokio::test]
async fn what_was_written_beside_a_file_that_was_not_is_taken_back() {
    let test = TestMedia::new(&[]);
    let blobs = [blob(&test, b"one"), blob(&test, b"other"), blob(&test, b"third")];
    // What is in the way of the second.
    let path = crate::media_store::blob_path(blobs[1].id).to_string();
    std::fs::create_dir_all(test.folder.path().join("media").join(path).join("in the way")).unwrap();
    test.media.keep_for(&CustomerId::from("acme"), &blobs).await.unwrap_err();
    assert_eq!(test.files(), Vec::<String>::new());
}

/// Without it a file that is being written while its probe is given up stays for a day, and counts for its customer until then.
#[tokio::test]
async fn a_file_whose_probe_is_given_up_does_not_stay() {
    let test = TestMedia::new(&[]);
    let (state, objects, customer) = (&test.media.0, Arc::new(InMemory::new()), CustomerId::from("acme"));
    let media = MediaStore::over(
        objects.clone(),
        Config::default(),
        state.pepper.clone(),
        state.upstream.clone(),
        test.clock.clone(),
        Arc::clone(&state.seed),
    );
    let owner = media.blobs_of([]).of(&customer);
    let probe = Probe { source: "data:text/plain;base64,aGVsbG8=".to_owned(), keep: true };
    assert!(media.probe(&probe, &owner).now_or_never().is_none(), "it is being written");
    assert_eq!(owner.kept().len(), 1);
    media.drop_blobs(&owner.kept()).await;
    until("it is written", async || Handle::current().metrics().num_alive_tasks() == 0).await;
    let left: Vec<_> = objects.list(None).collect().await;
    assert!(left.is_empty(), "{left:?}");
    // What it held is free: with five bytes more it would be more than its share.
    media.reserve(&customer, &[blob(&test, b"hello")], Some(9)).unwrap();
    // The same of a file that came in a request.
    let embedded = [blob(&test, b"world")];
    assert!(media.keep(&embedded).now_or_never().is_none(), "it is being written");
    media.drop_blobs(&[embedded[0].id]).await;
    until("it is written", async || Handle::current().metrics().num_alive_tasks() == 0).await;
    let left: Vec<_> = objects.list(None).collect().await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_sweep_takes_what_is_over_and_nothing_else() {
    let test = TestMedia::new(&[]);
    let source = format!("data:;base64,{}", gatehouse_contract::encode_base64(&png(2, 2)));
    let product = Product { source, mime: None, edit: None };
    let (kept, customer) = (blob(&test, b"blob"), CustomerId::from("acme"));
    test.media.keep_for(&customer, std::slice::from_ref(&kept)).await.unwrap();
    save(&test, &product).await.unwrap();
    // A leftover of an upload that a crash cut off, in the blobs' day.
    let day = UnixMs(NEW_YEAR).day();
    let leftover = test.folder.path().join(format!("media/blobs/{day}/blob_X#1"));
    std::fs::write(&leftover, b"half").unwrap();

    let mut swept = vec![];
    for hours in [0, 24, 1, 1] {
        test.clock.advance_ms(hours * HOUR);
        swept.push(test.media.sweep().await.unwrap());
    }
    let nothing = Swept::default();
    // The link ends after 24 hours, its file an hour later; the blob after 26.
    assert_eq!(swept, [nothing, nothing, Swept { media: 1, blobs: 0 }, Swept { media: 0, blobs: 1 }]);
    assert!(leftover.exists());
    test.clock.advance_ms(48 * HOUR);
    assert_eq!(test.media.sweep().await.unwrap(), nothing);
    assert_eq!(test.files(), Vec::<String>::new());
    test.media.reserve(&customer, &[blob(&test, b"next")], Some(7)).expect("what is gone counts no more");
}

#[tokio::test]
async fn ids_tell_where_things_are() {
    let test = TestMedia::new(&[]);
    let kept = blob(&test, b"blob");
    test.media.keep(std::slice::from_ref(&kept)).await.unwrap();
    assert_eq!(test.files(), [format!("blobs/{}/{}", UnixMs(NEW_YEAR).day(), kept.id)]);
    assert!(kept.id.to_string().parse::<MediaId>().is_err());
}

#[test]
fn a_place_that_cannot_be_used_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let open = |url: &str| crate::storage::objects::Objects::in_folder(Some(url), folder.path());
    assert!(open(&format!("file://{}/media", folder.path().display())).is_ok());
    assert!(open(folder.path().join("other").to_str().unwrap()).is_ok());
    assert!(matches!(open("s3://bucket/media"), Err(Error::UnknownUrl(_))));
    assert!(matches!(open(""), Err(Error::UnknownUrl(_))));
    assert!(matches!(open(file.join("media").to_str().unwrap()), Err(Error::Folder { .. })));
}
