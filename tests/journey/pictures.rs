//! Result pictures by pixel: four tiles and the grid, from a proxy that links to the tiles and from one that does not.

use gatehouse_harness::run;
use serde_json::json;

use crate::journey::scene::{Scene, is_of, links, picture};

#[test]
fn a_grid_becomes_four_pictures_in_order() {
    run(async {
        let scene = Scene::start().await;
        for prompt in ["a kite --v 7", "a kite [[links]]", "a kite --ar 3:2"] {
            let task = scene.end("imagine", &json!({"prompt": prompt})).await;
            let made = scene.latest();
            let tiles = links(&task);
            assert_eq!(tiles.len(), 4, "{task}");
            for (link, colour) in tiles.iter().zip(&made.colours) {
                let tile = picture(link).await;
                assert_eq!((tile.width(), tile.height()), made.size, "{prompt}");
                assert!(is_of(&tile, *colour), "{prompt}: {link}");
            }
            let view = scene.view(task["id"].as_str().expect("an id")).await;
            let shown: Vec<_> =
                view["image_urls"].as_array().expect("links").iter().filter_map(|it| it.as_str()).collect();
            assert_eq!(shown.len(), 4, "{view}");
            assert!(is_of(&picture(shown[2]).await, made.colours[2]), "tile 3 has the third colour");
            let grid = picture(view["grid_image_url"].as_str().expect("the grid")).await;
            assert_eq!((grid.width(), grid.height()), (made.size.0 * 2, made.size.1 * 2));
            for (at, (x, y)) in [(0, 0), (1, 0), (0, 1), (1, 1)].into_iter().enumerate() {
                assert_eq!(
                    grid.get_pixel(x * made.size.0, y * made.size.1).0,
                    made.colours[at],
                    "{prompt} {at}"
                );
            }
        }
    });
}

#[test]
fn links_of_results_are_the_gateways_own() {
    run(async {
        let scene = Scene::start().await;
        for prompt in ["a kite", "a kite [[links]] [[delivery-503]]"] {
            let task = scene.end("imagine", &json!({"prompt": prompt})).await;
            let view = scene.view(task["id"].as_str().expect("an id")).await;
            let own = format!("http://{}/v1/media/", scene.gateway.public);
            assert!(links(&task).iter().all(|link| link.starts_with(&own)), "{task}");
            for text in [task.to_string(), view.to_string()] {
                let files = scene.sandbox.midjourney().files.as_str();
                assert!(
                    !text.contains(files) && !text.contains("sandbox-key") && !text.contains("/attachments/"),
                    "{text}"
                );
            }
        }
    });
}
