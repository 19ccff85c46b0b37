//! The pixels of a video by resolution and ratio.

/// Ratio, then width and height for 480p, 720p and 1080p. 4k has twice the sides of 1080p.
const SIZES: [(&str, [(u32, u32); 3]); 6] = [
    ("16:9", [(864, 496), (1280, 720), (1920, 1080)]),
    ("4:3", [(752, 560), (1112, 834), (1664, 1248)]),
    ("1:1", [(640, 640), (960, 960), (1440, 1440)]),
    ("3:4", [(560, 752), (834, 1112), (1248, 1664)]),
    ("9:16", [(496, 864), (720, 1280), (1080, 1920)]),
    ("21:9", [(992, 432), (1470, 630), (2205, 945)]),
];

/// Width and height, and the ratio that `adaptive` becomes.
pub(crate) fn size(ratio: &str, resolution: &str) -> (u32, u32, &'static str) {
    let (name, sizes) = SIZES.iter().find(|(name, _)| *name == ratio).unwrap_or(&SIZES[0]);
    let (width, height) = match resolution {
        "480p" => sizes[0],
        "720p" => sizes[1],
        "1080p" => sizes[2],
        _ => (sizes[2].0 * 2, sizes[2].1 * 2),
    };
    (width, height, name)
}
