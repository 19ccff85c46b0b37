//! The chain of README's curl lines: imagine, upscale 3, inpaint, modal, zoom, video. Each result is downloaded.

use gatehouse_harness::{run, send_to};
use serde_json::json;

use crate::journey::scene::{Scene, is_of, links, nearest, picture, uri};

#[test]
fn the_chain_of_the_readme() {
    run(async {
        let scene = Scene::start().await;
        let imagined = scene.end("imagine", &json!({"prompt": "a lighthouse at dawn --v 7"})).await;
        let colours = scene.latest().colours;
        for (link, colour) in links(&imagined).iter().zip(&colours) {
            assert!(is_of(&picture(link).await, *colour));
        }
        let upscaled = scene.end("upscale", &json!({"task_id": imagined["id"], "index": 3})).await;
        let third = picture(&links(&upscaled)[0]).await;
        assert!(is_of(&third, colours[2]), "tile 3 has the third colour");

        let waiting = scene.waiting(upscaled["id"].as_str().expect("an id")).await;
        let area = uri(third.width(), third.height(), [255, 255, 255]);
        let modal = json!({"task_id": waiting, "prompt": "a red door", "mask_url": area});
        assert_eq!(scene.submit("modal", &modal).await, waiting);
        let painted = scene.caller.end_of(&waiting).await;
        assert_eq!((&painted["status"], links(&painted).len()), (&json!("completed"), 4), "{painted}");
        for link in links(&painted) {
            assert_eq!(nearest(&colours, picture(&link).await.get_pixel(0, 0).0), 2);
        }
        let zoomed = scene.end("zoom", &json!({"task_id": upscaled["id"], "zoom_ratio": 2})).await;
        assert!(is_of(&picture(&links(&zoomed)[0]).await, colours[2]), "{zoomed}");

        let film = scene.end("video", &json!({"task_id": zoomed["id"], "index": 0, "prompt": "waves"})).await;
        let file = send_to(&links(&film)[0], &[]).await;
        assert_eq!(
            (file.status, file.header("content-type"), &file.body[4..8]),
            (200, "video/mp4", &b"ftyp"[..])
        );
        assert_eq!(nearest(&colours, scene.latest().colours[0]), 2);
        // What the painted grid becomes is followed up as any other grid.
        let again = scene.end("upscale", &json!({"task_id": waiting, "index": 1})).await;
        assert!(is_of(&picture(&links(&again)[0]).await, colours[2]), "{again}");
        assert_eq!(
            scene.gateway.account_without_holds("acme").await["spent"],
            24_000_000,
            "six jobs, the inpaint free"
        );
        scene.gateway.expect_sound_ledger().await;
    });
}
