//! Tiles: each with its own pixels and nothing else, in the format that came.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{Edit, Media, MediaKind, Product, Tile};
use image::{DynamicImage, GenericImageView, ImageDecoder, ImageFormat, ImageReader, Rgba, RgbaImage};
use proptest::prelude::*;

use super::*;
use crate::edit::tile::tile;
use crate::results::copy_result::ResultSources;
use crate::results::source::SaveError;

const PLENTY: u64 = 64 * 1024 * 1024;
const FORMATS: [(ImageFormat, &str); 3] =
    [(ImageFormat::Png, "image/png"), (ImageFormat::Jpeg, "image/jpeg"), (ImageFormat::WebP, "image/webp")];

/// A colour of its own for each tile, far from all others.
fn colour(column: u32, row: u32) -> Rgba<u8> {
    let level = |step: u32| u8::try_from(step * 60 % 256).unwrap();
    Rgba([level(column), level(row), level(column * 2 + row * 3 + 1), 255])
}

/// A grid of such tiles. `edges` are the first pixels of each column and row, worked out by the caller.
fn grid(columns: &[u32], rows: &[u32], width: u32, height: u32) -> DynamicImage {
    let index = |edges: &[u32], at: u32| edges.iter().filter(|edge| **edge <= at).count() as u32 - 1;
    let pixel = |x, y| colour(index(columns, x), index(rows, y));
    DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, pixel))
}

fn file(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    match format {
        ImageFormat::Jpeg => with_metadata(&picture.to_rgb8(), format, None, None),
        _ => file_of(picture, format),
    }
}

fn wanted(column: u8, row: u8, columns: u8, rows: u8) -> Tile {
    Tile { column, row, columns, rows }
}

fn near(one: Rgba<u8>, other: Rgba<u8>, most: u8) -> bool {
    one.0.iter().zip(other.0).all(|(one, other)| one.abs_diff(other) <= most)
}

#[test]
fn every_tile_has_its_own_colour_and_no_other() {
    for (width, height, columns, rows) in [
        // Multiples of eight keep JPEG's blocks apart, so that its colours are those of the tiles.
        (64, 48, &[0, 32][..], &[0, 24][..]),
        (96, 32, &[0, 32, 64], &[0]),
        // What does not divide falls to the last: 16 16 16 21, and 8 8 15.
        (69, 31, &[0, 17, 34, 51], &[0, 10, 20]),
        (5, 3, &[0, 1, 2, 3], &[0, 1, 2]),
    ] {
        for (format, mime) in FORMATS {
            let source = file(&grid(columns, rows, width, height), format);
            let (across, down) = (columns.len() as u8, rows.len() as u8);
            for (column, row) in (0..across).flat_map(|column| (0..down).map(move |row| (column, row))) {
                let bytes = tile(&source, &wanted(column, row, across, down), PLENTY).unwrap();
                let facts = crate::facts(&bytes);
                let (x, y) = (usize::from(column), usize::from(row));
                let across = columns.get(x + 1).unwrap_or(&width) - columns[x];
                let down = rows.get(y + 1).unwrap_or(&height) - rows[y];
                assert_eq!((facts.kind, facts.mime.as_str()), (MediaKind::Image, mime));
                assert_eq!((facts.width, facts.height), (Some(across), Some(down)), "{mime} {column} {row}");
                assert_eq!(image::guess_format(&bytes).unwrap(), format);
                let picture = image::load_from_memory_with_format(&bytes, format).unwrap();
                // JPEG mixes colours at the edges of blocks where tiles do not end with them.
                let exact = format != ImageFormat::Jpeg;
                let even = width % 32 == 0;
                if exact || even {
                    let expected = colour(column.into(), row.into());
                    let most = if exact { 0 } else { 6 };
                    let wrong = picture.pixels().find(|(.., pixel)| !near(*pixel, expected, most));
                    assert_eq!(wrong, None, "{mime} {column} {row}: expected {expected:?}");
                }
            }
        }
    }
}

#[test]
fn depth_grey_and_transparency_stay() {
    let mut deep = image::ImageBuffer::<image::Rgb<u16>, _>::new(6, 4);
    deep.enumerate_pixels_mut()
        .for_each(|(x, y, pixel)| pixel.0 = [x as u16 * 10_001, y as u16 * 7919, 65_535 - x as u16]);
    let deep = DynamicImage::ImageRgb16(deep);
    let clear =
        RgbaImage::from_fn(6, 4, |x, y| Rgba([x as u8 * 40, y as u8 * 60, 7, x as u8 * 50 + y as u8]));
    let clear = DynamicImage::ImageRgba8(clear);
    let grey = DynamicImage::ImageLuma8(clear.to_luma8());
    for (picture, format) in [
        (&deep, ImageFormat::Png),
        (&clear, ImageFormat::Png),
        (&clear, ImageFormat::WebP),
        (&grey, ImageFormat::Png),
    ] {
        let bytes = tile(&file(picture, format), &wanted(1, 1, 2, 2), PLENTY).unwrap();
        let cut = image::load_from_memory(&bytes).unwrap();
        assert_eq!(cut.color(), picture.color(), "{format:?}");
        for (x, y) in (0..3).flat_map(|x| (0..2).map(move |y| (x, y))) {
            // 16-bit channels, so that no depth is lost on the way.
            let (came, expected) = (cut.to_rgba16(), picture.to_rgba16());
            assert_eq!(came.get_pixel(x, y), expected.get_pixel(x + 3, y + 2), "{format:?} {x} {y}");
        }
    }
}

#[test]
fn a_colour_profile_stays_and_an_orientation_is_applied() {
    let picture = grid(&[0, 32], &[0, 16], 64, 32).to_rgb8();
    // As much of a profile as a reader looks at: the colour space is at 16.
    let profile = |space: &[u8; 4]| [&[0; 16][..], space, &[3; 108]].concat();
    let (kept, dropped) = (profile(b"RGB "), profile(b"CMYK"));
    for (format, mime) in FORMATS {
        let found = |profile: &[u8]| {
            let whole = with_metadata(&picture, format, Some(profile), None);
            let bytes = tile(&whole, &wanted(1, 0, 2, 2), PLENTY).unwrap();
            let mut decoder = ImageReader::with_format(Cursor::new(bytes), format).into_decoder().unwrap();
            decoder.icc_profile().unwrap()
        };
        assert_eq!((found(&kept), found(&dropped)), (Some(kept.clone()), None), "{mime}");
        // Turned right by 90 degrees: 32 x 64, and what was at the lower left is now at the upper left.
        let turned = with_metadata(&picture, format, Some(&kept), Some(6));
        let bytes = tile(&turned, &wanted(0, 0, 2, 2), PLENTY).unwrap();
        let cut = image::load_from_memory(&bytes).unwrap();
        assert_eq!(cut.dimensions(), (16, 32), "{mime}");
        assert!(cut.pixels().all(|(.., pixel)| near(pixel, colour(0, 1), 6)), "{mime}");
    }
}

async fn save(test: &TestMedia, source: &[u8], edit: Tile, mime: Option<&str>) -> Result<Media, String> {
    let source = format!("data:image/png;base64,{}", STANDARD.encode(source));
    let product = Product { source, mime: mime.map(str::to_owned), edit: Some(Edit::Tile(edit)) };
    super::save(test, &product).await
}

#[tokio::test]
async fn a_tile_is_kept_as_what_it_is() {
    let test = TestMedia::new(&[]);
    let source = file(&grid(&[0, 32], &[0, 24], 64, 48), ImageFormat::WebP);
    // The bytes decide, not the name.
    let media = save(&test, &source, wanted(1, 0, 2, 2), Some("image/jpeg")).await.unwrap();
    let bytes = content(&test, &media).await;
    assert_eq!((media.mime.as_str(), media.bytes), ("image/webp", bytes.len() as u64));
    let picture = image::load_from_memory(&bytes).unwrap();
    assert_eq!(picture.dimensions(), (32, 24));
    assert!(picture.pixels().all(|(.., pixel)| pixel == colour(1, 0)));
    assert_eq!(test.files().len(), 1, "{:?}", test.files());
}

#[tokio::test]
async fn what_has_no_such_tile_is_lost_with_a_reason() {
    let test = TestMedia::with(&[], Config { max_result_mib: 2, ..Config::default() });
    let whole = file(&grid(&[0, 32], &[0, 24], 64, 48), ImageFormat::Png);
    let cut_short = whole[..whole.len() / 2].to_vec();
    // 40,000 x 40,000 pixels in a few bytes.
    let mut bomb = whole.clone();
    bomb[16..24].copy_from_slice(&[0, 0, 0x9c, 0x40, 0, 0, 0x9c, 0x40]);
    let checksum = crc(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&checksum.to_be_bytes());
    let large = file(&DynamicImage::new_rgb8(1100, 700), ImageFormat::Png);
    let mp4 = b"\0\0\0\x18ftypisom\0\0\0\0isomavc1".to_vec();
    let gif = b"GIF89a\x01\0\x01\0\0\0\0;".to_vec();
    for (source, edit, reason) in [
        (&whole, wanted(0, 0, 0, 2), "a grid has at least one column and one row, got 0 x 2"),
        (
            &whole,
            wanted(2, 0, 2, 2),
            "the tile must lie in the grid of 2 x 2, counted from 0, got column 2, row 0",
        ),
        (
            &whole,
            wanted(0, 2, 2, 2),
            "the tile must lie in the grid of 2 x 2, counted from 0, got column 0, row 2",
        ),
        (&whole, wanted(0, 0, 65, 2), "the picture is 64 pixels wide, got 65 columns"),
        (&whole, wanted(0, 0, 2, 49), "the picture is 48 pixels high, got 49 rows"),
        (&mp4, wanted(0, 0, 2, 2), "only a PNG, JPEG or WebP picture has tiles, got video/mp4"),
        (&gif, wanted(0, 0, 2, 2), "only a PNG, JPEG or WebP picture has tiles, got image/gif"),
        (
            &b"<html>".to_vec(),
            wanted(0, 0, 2, 2),
            "only a PNG, JPEG or WebP picture has tiles, got bytes of no known kind",
        ),
        (
            &large,
            wanted(0, 0, 2, 2),
            "the picture of 1100 x 700 pixels takes 3 MiB decoded, at most 2 MiB are allowed",
        ),
    ] {
        let saved = save(&test, source, edit, None).await;
        assert_eq!(saved.err(), Some(format!("the result cannot be cut: {reason}")));
    }
    for source in [&cut_short, &bomb] {
        let reason = save(&test, source, wanted(0, 0, 2, 2), None).await.unwrap_err();
        assert!(reason.starts_with("the result cannot be cut: the picture"), "{reason}");
    }
    assert_eq!(test.files(), Vec::<String>::new());
}

/// CRC-32 of a PNG chunk, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// Each format as it is, once; what is changed in it is up to the test.
fn sources() -> &'static [Vec<u8>; 3] {
    static SOURCES: std::sync::OnceLock<[Vec<u8>; 3]> = std::sync::OnceLock::new();
    SOURCES.get_or_init(|| FORMATS.map(|(format, _)| file(&grid(&[0, 20], &[0, 15], 40, 30), format)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Broken pictures give a tile of the right size or a reason, within the memory that is allowed.
    #[test]
    fn no_picture_makes_it_panic(
        which in 0_usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        (column, row, columns, rows) in (0_u8..6, 0_u8..6, 0_u8..50, 0_u8..50),
    ) {
        let mut source = sources()[which].clone();
        for (at, byte) in changes {
            // The head is where the numbers are.
            let at = at.index(source.len().min(200));
            source[at] = byte;
        }
        let length = length.index(source.len() * 2).min(source.len());
        let edit = wanted(column, row, columns, rows);
        let checked = Edit::Tile(edit).check();
        let cut = if checked.is_ok() { tile(&source[..length], &edit, 1024 * 1024) } else { Err(String::new()) };
        if let Ok(bytes) = cut {
            let picture = image::load_from_memory(&bytes).unwrap();
            prop_assert!(picture.width() > 0 && picture.height() > 0);
        }
    }
}

#[tokio::test]
async fn a_grid_and_its_tiles_are_fetched_once() {
    let whole = grid(&[0, 8], &[0, 4], 16, 8);
    let bytes = file(&whole, ImageFormat::Png);
    let shown = bytes.clone();
    let server = serve(move |path| match path {
        "/grid" => (200, "image/png", shown.clone()),
        "/other" => (200, "image/png", png(2, 2)),
        _ => (404, "text/plain", vec![]),
    })
    .await;
    let test = TestMedia::new(&[server.address]);
    let part = |path: &str, edit: Option<Tile>| Product {
        source: format!("{}{path}", server.url()),
        mime: None,
        edit: edit.map(Edit::Tile),
    };
    let numbers = [(0, 0), (1, 0), (0, 1), (1, 1)];
    let mut products: Vec<_> =
        numbers.iter().map(|&(column, row)| part("/grid", Some(wanted(column, row, 2, 2)))).collect();
    products.extend([part("/grid", None), part("/other", None)]);
    let mut sources = ResultSources::new(&products, test.media.blobs_of([]));
    let mut saved = vec![];
    for product in &products {
        saved.push(test.media.save_one_of(&mut sources, product, "p").await.unwrap());
    }
    let paths: Vec<_> = server.received().iter().map(|request| request.path().to_owned()).collect();
    assert_eq!(paths, ["/grid", "/other"]);
    for (media, (column, row)) in saved.iter().zip(numbers) {
        let cut = image::load_from_memory(&content(&test, media).await).unwrap();
        assert!(cut.pixels().all(|(.., pixel)| near(pixel, colour(column.into(), row.into()), 0)));
    }
    assert_eq!(content(&test, &saved[4]).await, bytes);
    assert_eq!(test.files().len(), 7, "six results and the grid that the tiles were cut from");
    test.media.drop_sources(sources).await;
    assert!(test.files().iter().all(|file| file.starts_with("media/")), "{:?}", test.files());

    // A source that is lost is asked for again, by each of its products.
    let lost = [part("/gone", None), part("/gone", Some(wanted(0, 0, 2, 2)))];
    let mut sources = ResultSources::new(&lost, test.media.blobs_of([]));
    for product in &lost {
        let error = test.media.save_one_of(&mut sources, product, "p").await.unwrap_err();
        assert!(
            matches!(&error, SaveError::Lost(reason) if reason.ends_with("the server answered 404")),
            "{error}"
        );
    }
    assert_eq!(test.files().len(), 6);
}
