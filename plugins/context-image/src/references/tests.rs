//! The form of references, and a table for the 9 MP rule from both sides.

use gatehouse_sdk::Blame;

use super::*;
use crate::sizes::RATIOS;

#[test]
fn base64_becomes_a_data_uri_and_only_own_blobs_pass() {
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
    let own = Facts { blob: Some("blob:1".to_owned()), ..Facts::new(MediaKind::Image, "image/png", 9) };
    let entries = vec!["HTTPS://e.com/A".to_owned(), base64.to_owned(), "blob:1".to_owned()];
    assert_eq!(
        sources(entries.clone(), std::slice::from_ref(&own)).unwrap(),
        ["https://e.com/A", &format!("data:image/png;base64,{base64}"), "blob:1",]
    );
    let invalid = sources(entries, &[]).unwrap_err();
    assert_eq!(invalid.field.as_deref(), Some("image_urls[2]"));
}

fn picture_of(width: u32, height: u32, blob: Option<&str>) -> Finding {
    let facts = Facts {
        width: Some(width),
        height: Some(height),
        blob: blob.map(str::to_owned),
        ..Facts::new(MediaKind::Image, "image/png", 100)
    };
    Finding { source: "https://e.com/a".to_owned(), found: Ok(facts) }
}

#[test]
fn nine_megapixels_from_both_sides() {
    let square = Size::Ratio(&RATIOS[0]);
    let check = |size: Size, pictures: &[(u32, u32)], expected: Option<(u64, u64)>| {
        let findings: Vec<_> = pictures.iter().map(|&(w, h)| picture_of(w, h, None)).collect();
        let message = settle(size, &findings).err().map(|failure| failure.message);
        let expected = expected.map(|(output, sum)| {
            format!(
                "`image_urls`: expected output and references to have at most 9437184 pixels together \
                 (9 MP), got {output} for the output and {sum} for the references"
            )
        });
        assert_eq!(message, expected, "{pictures:?}");
    };
    // 1 MP of output leaves exactly 8 MP.
    check(square, &[(4096, 2048)], None);
    check(square, &[(4096, 2049)], Some((1_048_576, 8_392_704)));
    check(square, &[(2048, 1024); 4], None);
    check(square, &[(2048, 1024), (2048, 1024), (2048, 1024), (2049, 1024)], Some((1_048_576, 8_389_632)));
    check(square, &[(u32::MAX, u32::MAX); 4], Some((1_048_576, u64::MAX)));
    // 16:9 is 1392x752 = 1046784: 1792 pixels more for the references.
    check(Size::Ratio(&RATIOS[3]), &[(4096, 2048), (1792, 1)], None);
    check(Size::Ratio(&RATIOS[3]), &[(4096, 2048), (1793, 1)], Some((1_046_784, 8_390_401)));
    // `auto` follows the first picture: 16:9 again, whatever the second one is.
    check(Size::Auto, &[(16, 9), (4096, 2048), (1648, 1)], None);
    check(Size::Auto, &[(16, 9), (4096, 2048), (1649, 1)], Some((1_046_784, 8_390_401)));
}

#[test]
fn a_kept_picture_goes_out_as_base64_and_another_as_it_came() {
    let findings = [picture_of(10, 10, Some("blob:7")), picture_of(10, 10, None)];
    assert_eq!(settle(Size::Auto, &findings).unwrap(), ["blob:7:base64", "https://e.com/a"]);
}

#[test]
fn what_is_no_picture_ends_the_task() {
    let refused = |finding: Finding| {
        let failure = settle(Size::Auto, &[picture_of(9, 9, None), finding]).unwrap_err();
        assert_eq!(failure.blame, Blame::Request);
        failure.message
    };
    for (kind, mime, size, got) in [
        (MediaKind::Video, "video/mp4", Some(5), "video/mp4"),
        (MediaKind::Other, "image/svg+xml", None, "image/svg+xml"),
        (MediaKind::Image, "image/heic", Some(9), "image/heic"),
        (MediaKind::Image, "image/png", Some(0), "image/png of unreadable size"),
    ] {
        let facts = Facts { width: size, height: size, ..Facts::new(kind, mime, 100) };
        let message = refused(Finding { source: "https://e.com/a".to_owned(), found: Ok(facts) });
        assert_eq!(message, format!("`image_urls[1]`: expected a PNG, JPEG or WebP image, got {got}"));
    }
    let reason = "could not be fetched: the server answered 404";
    let message = refused(Finding { source: String::new(), found: Err(reason.to_owned()) });
    assert_eq!(message, format!("dependency unavailable: `image_urls[1]`: {reason}"));
}
