//! Result links: signature, content type, ranges, refusal of a changed link.

use gatehouse_harness::{run, send_to};
use serde_json::json;

use crate::api::{TestGateway, request};

#[test]
fn a_link_serves_its_file_only() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({}))).await;
        let image = &task["result"]["images"][0];
        let link = image["url"][0].as_str().expect("a link");
        let whole = send_to(link, &[]).await;
        assert_eq!(
            (whole.status, whole.header("content-type"), whole.header("accept-ranges")),
            (200, "image/png", "bytes")
        );
        assert_eq!(whole.header("x-content-type-options"), "nosniff");
        let size = whole.body.len();

        let born = task["completed"].as_u64().expect("seconds");
        let expires = image["expires_at"].as_u64().expect("seconds");
        assert!(expires >= born + 86_390 && expires <= born + 86_410, "24 hours: {born} {expires}");
        assert!(link.contains(&format!("expires={expires}")), "{link}");

        let ranges = [
            ("bytes=0-9", 206, 0..10),
            ("bytes=10-", 206, 10..size),
            ("bytes=-5", 206, size - 5..size),
            ("bytes=0-99999999", 206, 0..size),
            ("bytes=nonsense", 200, 0..size),
        ];
        for (range, status, part) in ranges {
            let answer = send_to(link, &[("range", range)]).await;
            assert_eq!((answer.status, answer.body.len()), (status, part.len()), "{range}");
            assert!(answer.body[..] == whole.body[part.clone()], "{range}: other bytes");
            if status == 206 {
                assert_eq!(
                    answer.header("content-range"),
                    format!("bytes {}-{}/{size}", part.start, part.end - 1)
                );
            }
        }
        let outside = send_to(link, &[("range", "bytes=99999999-")]).await;
        assert_eq!(
            (outside.status, outside.header("content-range")),
            (416, format!("bytes */{size}").as_str())
        );

        let last = link.chars().last().expect("a letter");
        let other = if last == '0' { '1' } else { '0' };
        let forged = [
            format!("{}{other}", &link[..link.len() - 1]),
            link.replace(&format!("expires={expires}"), &format!("expires={}", expires + 1)),
            link.replace("/v1/media/m_", "/v1/media/m_0"),
            link.split('?').next().expect("a path").to_owned(),
        ];
        for forged in forged {
            let answer = send_to(&forged, &[]).await;
            assert!([403, 404].contains(&answer.status), "{} {forged}", answer.status);
        }
    });
}
