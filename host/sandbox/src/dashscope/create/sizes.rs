//! The size of a video: by the table of frame sizes, or as near to the input's ratio as its pixels allow.

use serde_json::Value;

/// Sides in pixels.
type Sides = (u32, u32);

/// Ratio, size at 720P, size at 1080P.
const FRAMES: [(&str, Sides, Sides); 5] = [
    ("16:9", (1280, 720), (1920, 1080)),
    ("9:16", (720, 1280), (1080, 1920)),
    ("1:1", (960, 960), (1440, 1440)),
    ("4:3", (1088, 832), (1632, 1248)),
    ("3:4", (832, 1088), (1248, 1632)),
];

/// A video's size.
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
    /// 720 or 1080.
    pub(super) name: u32,
    /// As `usage` tells it, for a text's video.
    pub(super) ratio: Option<String>,
}

/// The size of a video with these parameters; `shown` are the sides of its first picture, if it has one.
pub(super) fn of(parameters: &Value, shown: Option<Sides>) -> Size {
    if let Some(text) = parameters["size"].as_str() {
        for (ratio, small, large) in FRAMES {
            for ((width, height), name) in [(small, 720), (large, 1080)] {
                if text == format!("{width}*{height}") {
                    return Size { width, height, name, ratio: Some(ratio.to_owned()) };
                }
            }
        }
    }
    let is_small = parameters["resolution"] == "720P";
    let (name, pixels) = if is_small { (720, 1280.0 * 720.0) } else { (1080, 1920.0 * 1080.0) };
    if let Some((width, height)) = shown {
        let ratio = f64::from(width) / f64::from(height);
        let even = |side: f64| ((side / 2.0).round() as u32 * 2).max(2);
        let height = (pixels / ratio).sqrt();
        return Size { width: even(height * ratio), height: even(height), name, ratio: None };
    }
    let wanted = parameters["ratio"].as_str().unwrap_or("16:9");
    let (ratio, small, large) = FRAMES.into_iter().find(|(ratio, ..)| *ratio == wanted).unwrap_or(FRAMES[0]);
    let (width, height) = if is_small { small } else { large };
    Size { width, height, name, ratio: Some(ratio.to_owned()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes() {
        for (parameters, shown, expected) in [
            (json!({}), None, (1920, 1080, 1080)),
            (json!({"size": "832*1088"}), None, (832, 1088, 720)),
            (json!({"size": "1440*1440"}), None, (1440, 1440, 1080)),
            (json!({"resolution": "720P", "ratio": "4:3"}), None, (1088, 832, 720)),
            (json!({"resolution": "1080P", "ratio": "9:16"}), None, (1080, 1920, 1080)),
            (json!({"resolution": "720P"}), Some((1280, 720)), (1280, 720, 720)),
            (json!({"resolution": "720P"}), Some((500, 500)), (960, 960, 720)),
            (json!({}), Some((512, 4096)), (510, 4072, 1080)),
        ] {
            let size = of(&parameters, shown);
            assert_eq!((size.width, size.height, size.name), expected, "{parameters} {shown:?}");
        }
    }
}
