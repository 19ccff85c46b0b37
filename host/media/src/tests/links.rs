//! Signed links: they open what they name, for as long as they say, and nothing else.

use super::*;
use crate::links::{MediaFile, MediaRefusal};

async fn open(
    test: &TestMedia,
    (name, expires, signature): (&str, &str, &str),
    range: Option<&str>,
) -> Result<MediaFile, MediaRefusal> {
    test.media.open_link(name, expires, signature, range).await
}

#[tokio::test]
async fn a_link_opens_its_result_until_it_ends() {
    let test = TestMedia::new(&[]);
    let bytes = picture(700_000);
    let media = saved(&test, &bytes).await;
    assert_eq!(media.expires, UnixMs(NEW_YEAR + 24 * HOUR));
    let link = test.media.link("https://gw.example.com", &media);
    let begin = format!("https://gw.example.com/v1/media/{}.png?expires=1767312000&", media.id);
    assert!(link.starts_with(&begin), "{link}");
    let link = parts(&link);
    let file = open(&test, link, None).await.unwrap();
    assert_eq!((file.mime, file.length, file.range.clone()), ("image/png", 700_000, 0..700_000));
    let pieces: Vec<Bytes> = file.body.map(Result::unwrap).collect().await;
    assert!(pieces.iter().all(|piece| piece.len() <= 256 * 1024));
    assert_eq!(pieces.concat(), bytes);
    test.clock.advance_ms(24 * HOUR - 1);
    assert!(open(&test, link, None).await.is_ok());
    test.clock.advance_ms(1);
    assert_eq!(open(&test, link, None).await.err(), Some(MediaRefusal::Expired));
}

/// Without it a customer's deleted file would still open, or one that has ended would count as deleted.
#[tokio::test]
async fn a_deleted_result_is_gone_before_its_end() {
    let test = TestMedia::new(&[]);
    let (kept, deleted) = (saved(&test, &picture(1_000)).await, saved(&test, &picture(2_000)).await);
    for _ in 0..2 {
        test.media.delete_result(&deleted).await.unwrap();
        assert!(test.media.is_deleted(&deleted).await.unwrap());
        assert_eq!(test.media.open_result(&deleted, None).await.err(), Some(MediaRefusal::NotFound));
    }
    assert!(!test.media.is_deleted(&kept).await.unwrap());
    assert!(test.media.open_result(&kept, None).await.is_ok());
    test.clock.advance_ms(24 * HOUR);
    assert!(!test.media.is_deleted(&deleted).await.unwrap());
}

#[tokio::test]
async fn ranges_give_exactly_what_they_name() {
    let test = TestMedia::new(&[]);
    let bytes = picture(600_000);
    let media = saved(&test, &bytes).await;
    let link = test.media.link("https://gw.example.com", &media);
    let link = parts(&link);
    for (range, expected) in [
        ("bytes=0-0", 0..1),
        ("bytes=262143-262144", 262_143..262_145),
        ("bytes=100-", 100..600_000),
        ("bytes=-1", 599_999..600_000),
        ("bytes=599999-700000", 599_999..600_000),
        ("bytes=0-1,5-6", 0..600_000),
    ] {
        let file = open(&test, link, Some(range)).await.unwrap();
        assert_eq!((file.length, file.range.clone()), (600_000, expected.clone()), "{range}");
        let at = usize::try_from(expected.start).unwrap()..usize::try_from(expected.end).unwrap();
        assert_eq!(collect(file.body).await, bytes[at], "{range}");
    }
    let beyond = open(&test, link, Some("bytes=600000-")).await.err();
    assert_eq!(beyond, Some(MediaRefusal::BadRange(600_000)));
}

#[tokio::test]
async fn a_changed_link_opens_nothing() {
    let test = TestMedia::new(&[]);
    let media = saved(&test, &png(2, 2)).await;
    let other = saved(&test, &png(3, 3)).await;
    let link = test.media.link("https://gw.example.com", &media);
    let (name, expires, signature) = parts(&link);
    let other = test.media.link("https://gw.example.com", &other);
    let (other_name, ..) = parts(&other);
    let upper = signature.to_uppercase();
    let longer = format!("{signature}00");
    let mut flipped = signature.to_owned();
    flipped.replace_range(..1, if signature.starts_with('0') { "1" } else { "0" });
    for (name_, expires_, signature_) in [
        (other_name, expires, signature),
        (name, "1767312001", signature),
        (name, "01767312000", signature),
        (name, "", signature),
        (name, "soon", signature),
        (name, expires, flipped.as_str()),
        (name, expires, upper.as_str()),
        (name, expires, longer.as_str()),
        (name, expires, &signature[..62]),
        (name, expires, ""),
        (name, expires, "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"),
        (name.trim_end_matches(".png"), expires, signature),
        (&name.replace(".png", ".jpg"), expires, signature),
        (&name.to_lowercase(), expires, signature),
        (&format!("../{name}"), expires, signature),
        (&format!("{name}/"), expires, signature),
    ] {
        let outcome = open(&test, (name_, expires_, signature_), None).await.err();
        assert_eq!(outcome, Some(MediaRefusal::NotFound), "{name_} {expires_} {signature_}");
    }
    assert!(open(&test, (name, expires, signature), None).await.is_ok());
}

#[tokio::test]
async fn a_link_to_what_is_gone_finds_nothing() {
    let test = TestMedia::new(&[]);
    let media = saved(&test, &png(2, 2)).await;
    let link = test.media.link("https://gw.example.com", &media);
    std::fs::remove_dir_all(test.folder.path().join("media/media")).unwrap();
    let outcome = open(&test, parts(&link), None).await.err();
    assert_eq!(outcome, Some(MediaRefusal::NotFound));
}
