//! Files in a bucket whose answers are cut off and whose requests fail.

use std::fmt;
use std::io::Write as _;
use std::sync::Mutex;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::{
    Attributes, CopyOptions, Extensions, GetResult, GetResultPayload, ListResult, ObjectMeta,
    PutMultipartOptions, PutOptions, PutResult, Result, UploadPart,
};

use super::*;

/// Keeps objects in memory, says what it was asked, and fails as it is told.
#[derive(Debug, Default)]
struct Faulty {
    kept: InMemory,
    asked: Arc<Mutex<Vec<String>>>,
    /// Bytes after which an answer breaks off, of one answer after the other.
    cuts: Mutex<Vec<usize>>,
    /// What is refused.
    refused: Vec<&'static str>,
    /// What an object becomes after its first answer.
    changes_to: Option<&'static str>,
}

fn ask(asked: &Mutex<Vec<String>>, refused: &[&'static str], what: &str) -> Result<()> {
    asked.lock().unwrap().push(what.to_owned());
    match refused.contains(&what) {
        true => Err(broken()),
        false => Ok(()),
    }
}

fn broken() -> object_store::Error {
    object_store::Error::Generic { store: "faulty", source: "it is broken".into() }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, to: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.kept.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let kept = self.kept.put_multipart_opts(to, options).await?;
        let (asked, refused) = (Arc::clone(&self.asked), self.refused.clone());
        Ok(Box::new(FaultyUpload { kept, asked, refused, parts: 0 }))
    }

    async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self.kept.get_opts(from, options).await?;
        self.asked.lock().unwrap().push(format!("{:?}", found.range));
        let (meta, range) = (found.meta.clone(), found.range.clone());
        let bytes = found.bytes().await?;
        let cut = {
            let mut cuts = self.cuts.lock().unwrap();
            (!cuts.is_empty()).then(|| cuts.remove(0))
        };
        let pieces = match cut {
            Some(cut) => vec![Ok(bytes.slice(..cut)), Err(broken())],
            None => vec![Ok(bytes)],
        };
        if let Some(content) = self.changes_to {
            self.kept.put(from, content.into()).await?;
        }
        let payload = GetResultPayload::Stream(stream::iter(pieces).boxed());
        Ok(GetResult {
            payload,
            meta,
            range,
            attributes: Attributes::new(),
            extensions: Extensions::default(),
        })
    }

    fn delete_stream(&self, of: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (asked, refused) = (Arc::clone(&self.asked), self.refused.clone());
        let asked = of.map(move |path| {
            let path = path?;
            ask(&asked, &refused, path.as_ref())?;
            Ok(path)
        });
        self.kept.delete_stream(asked.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.kept.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.kept.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.kept.copy_opts(from, to, options).await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    kept: Box<dyn MultipartUpload>,
    asked: Arc<Mutex<Vec<String>>>,
    refused: Vec<&'static str>,
    parts: usize,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.parts += 1;
        match ask(&self.asked, &self.refused, &format!("part {}", self.parts)) {
            Ok(()) => self.kept.put_part(data),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        ask(&self.asked, &self.refused, "complete")?;
        self.kept.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        ask(&self.asked, &self.refused, "abort")?;
        self.kept.abort().await
    }
}

fn files(store: Faulty) -> (BucketFiles, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::clone(&store.asked);
    (BucketFiles { store: Arc::new(store), address: "s3://files/a".to_owned() }, asked)
}

/// A service would refuse the last parts of a large store, hours into its upload.
#[test]
fn a_file_of_any_length_has_few_enough_parts() {
    for (length, part) in [(0, PART), (PART, PART), (PART * PARTS, PART), (1 << 40, (1 << 40) / PARTS + 1)] {
        assert_eq!(part_of(length) as u64, part, "{length}");
        assert!(length.div_ceil(part) <= 10_000);
    }
}

/// Another gateway's manifest would be lost, or a file that is longer than its manifest says would fill the disk.
#[tokio::test]
async fn what_another_one_wrote_is_not_overwritten_and_no_more_than_expected_is_read() {
    let (files, _) = files(Faulty::default());
    for (content, is_ours) in [("one", true), ("one", true), ("two", false), ("longer", false)] {
        let created = files.create("manifest.json", content.into()).await.unwrap();
        assert_eq!(created, is_ours, "{content}");
    }
    let folder = tempfile::tempdir().unwrap();
    for (expected, fits) in [(2, false), (4, false), (3, true)] {
        let read = files.download("manifest.json", &folder.path().join("file"), expected).await;
        assert_eq!(read.is_ok(), fits, "{read:?}");
        assert!(fits || matches!(read, Err(BucketFileError::OtherLength { found: 3, .. })));
    }
}

/// A restore of many gigabytes would begin again with each connection that breaks, never end where none brings anything, or
/// join the halves of two objects.
#[tokio::test]
async fn a_download_that_is_cut_off_goes_on_where_it_was() {
    let content = "0123456789";
    // Where answers break off, what the object becomes meanwhile, what is asked for, and whether it came.
    type Case = (&'static [usize], Option<&'static str>, &'static [&'static str], bool);
    let cases: [Case; 7] = [
        (&[], None, &["0..10"], true),
        (&[4], None, &["0..10", "4..10"], true),
        (&[4, 3, 2], None, &["0..10", "4..10", "7..10", "9..10"], true),
        // All came before the connection broke.
        (&[10], None, &["0..10"], true),
        (&[0], None, &["0..10"], false),
        (&[4, 0], None, &["0..10", "4..10"], false),
        (&[4], Some("abcdefghij"), &["0..10"], false),
    ];
    for (cuts, changes_to, expected, comes) in cases {
        let (files, asked) =
            files(Faulty { cuts: Mutex::new(cuts.to_vec()), changes_to, ..Faulty::default() });
        files.store.put(&Path::from("store"), content.into()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("store");
        let came = files.download("store", &to, content.len() as u64).await;
        assert_eq!(*asked.lock().unwrap(), expected, "{cuts:?} {changes_to:?}");
        assert_eq!(came.is_ok(), comes, "{cuts:?} {changes_to:?}: {came:?}");
        if let Ok((bytes, digest)) = came {
            assert_eq!(std::fs::read_to_string(&to).unwrap(), content, "{cuts:?}");
            assert_eq!((bytes, digest), (10, Digest::of(content.as_bytes())), "{cuts:?}");
        }
    }
}

/// Parts that no listing shows would be paid for until somebody looks for them.
#[tokio::test]
async fn an_upload_that_fails_is_aborted() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![7; 2 * PART as usize + 1]).unwrap();
    let whole: &[&str] = &["part 1", "part 2", "part 3", "complete"];
    for (refused, expected) in [
        (&[] as &[&str], whole.to_vec()),
        (&["part 1"], vec!["part 1", "abort"]),
        (&["part 3"], vec!["part 1", "part 2", "part 3", "abort"]),
        (&["complete"], [whole, &["abort"]].concat()),
        (&["part 2", "abort"], vec!["part 1", "part 2", "abort"]),
    ] {
        let (files, asked) = files(Faulty { refused: refused.to_vec(), ..Faulty::default() });
        let told = Mutex::new(0);
        let sent = files.upload("store", file.path(), &|bytes| *told.lock().unwrap() += bytes).await;
        assert_eq!(*asked.lock().unwrap(), expected, "{refused:?}");
        assert_eq!(sent.is_ok(), refused.is_empty(), "{refused:?}: {sent:?}");
        assert_eq!(files.is_empty().await.unwrap(), !refused.is_empty(), "{refused:?}");
        let parts = 3 - u64::from(expected.len() < 4 || refused == ["part 3"]);
        assert_eq!(*told.lock().unwrap() == 2 * PART + 1, parts == 3, "{refused:?}");
    }
}

/// A manifest would stay that names files which are gone: a backup that looks whole.
#[tokio::test]
async fn what_names_others_is_removed_before_them() {
    let written = ["pepper", "store", "manifest"].map(str::to_owned);
    for (refused, expected, left) in [
        (None, &["manifest", "store", "pepper"] as &[&str], 0),
        (Some("store"), &["manifest", "store", "pepper"], 1),
        (Some("manifest"), &["manifest"], 3),
    ] {
        let (files, asked) = files(Faulty { refused: refused.into_iter().collect(), ..Faulty::default() });
        for name in &written {
            files.store.put(&Path::from(name.as_str()), "x".into()).await.unwrap();
        }
        files.take_back(&written, "manifest").await;
        assert_eq!(*asked.lock().unwrap(), expected, "{refused:?}");
        assert_eq!(files.store.list(None).count().await, left, "{refused:?}");
    }
}
