//! Files given as inputs: kept by what their bytes are, read again through their link, collected after its end.

use super::*;
use crate::results::copy_result::InputError;

#[tokio::test]
async fn an_input_is_kept_and_collected_like_a_result() {
    let test = TestMedia::new(&[]);
    let bytes = Bytes::from(picture(300_000));
    let media = test.media.keep_input(&bytes).await.unwrap();
    assert_eq!((media.mime.as_str(), media.bytes), ("image/png", 300_000));
    assert_eq!(content(&test, &media).await, bytes);
    let link = test.media.link("http://127.0.0.1:8080", &media);
    let found = test.media.linked_file(&link).await.unwrap();
    assert_eq!(found, Some(("image/png", bytes)));
    for other in ["http://127.0.0.1:8080/v1/media/m_x.png", "https://example.com/a.png", "no link", ""] {
        assert_eq!(test.media.linked_file(other).await.unwrap(), None, "{other}");
    }
    // Under another signature it is nobody's.
    let last = link.chars().next_back().unwrap();
    let forged = format!("{}{}", &link[..link.len() - 1], if last == '0' { '1' } else { '0' });
    assert_eq!(test.media.linked_file(&forged).await.unwrap(), None);
    test.clock.advance_ms(24 * HOUR);
    assert_eq!(test.media.linked_file(&link).await.unwrap(), None);
    test.clock.advance_ms(2 * HOUR);
    test.media.sweep().await.unwrap();
    assert_eq!(test.files(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_no_medium_is_not_kept() {
    let test = TestMedia::new(&[]);
    let refused = async |bytes: Vec<u8>| test.media.keep_input(&Bytes::from(bytes)).await.unwrap_err();
    assert!(matches!(refused(vec![]).await, InputError::Empty));
    assert!(matches!(refused(b"<!doctype html>".to_vec()).await, InputError::Unknown));
    assert!(matches!(
        refused(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec()).await,
        InputError::Unknown
    ));
    let error = refused(picture(1024 * 1024 + 1)).await;
    assert!(matches!(error, InputError::TooLarge { max: 1_048_576, got: 1_048_577 }), "{error}");
    assert_eq!(error.to_string(), "expected at most 1 MiB, got 1048577 bytes");
    assert_eq!(test.files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_result_too_large_to_embed_stays_a_link() {
    let test = TestMedia::new(&[]);
    let media = saved(&test, &picture(1024 * 1024 + 1)).await;
    let link = test.media.link("http://127.0.0.1", &media);
    assert_eq!(test.media.linked_file(&link).await.unwrap(), None);
}
