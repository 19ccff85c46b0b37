//! Sizes in pixels as the words that families have for them: ratios, and numbers of lines. Pure.

/// How far a ratio may be from what was asked for: 1792x1024 is 16:9.
const RATIO_TOLERANCE: f64 = 0.03;
/// The same of the number of lines, by the pixels that there are in all.
const LINES_TOLERANCE: f64 = 0.1;

/// Width and height of `WxH`.
pub(super) fn pixels(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', 'X'])?;
    let side = |text: &str| text.parse().ok().filter(|side| (1..=65_536).contains(side));
    Some((side(width)?, side(height)?))
}

/// The ratio that those pixels have, of these, such as `16:9`.
pub(super) fn ratio<'a>(pixels: (u32, u32), of: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = f64::from(pixels.0) / f64::from(pixels.1);
    let read = |word: &str| {
        let (width, height) = word.split_once(':')?;
        let (width, height): (f64, f64) = (width.parse().ok()?, height.parse().ok()?);
        (width > 0.0 && height > 0.0).then_some(width / height)
    };
    nearest(wanted, RATIO_TOLERANCE, of.filter_map(|word| Some((word, read(word)?))))
}

/// The number of lines that a film of so many pixels has, of these, such as `720p`: 1280x720 and 960x960 have 720.
pub(super) fn lines<'a>(pixels: (u32, u32), of: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = (f64::from(pixels.0) * f64::from(pixels.1) * 9.0 / 16.0).sqrt();
    let read = |word: &str| match word.to_ascii_lowercase().as_str() {
        "4k" => Some(2160.0),
        word => word.strip_suffix('p')?.parse().ok(),
    };
    nearest(wanted, LINES_TOLERANCE, of.filter_map(|word| Some((word, read(word)?))))
}

fn nearest<'a>(wanted: f64, tolerance: f64, of: impl Iterator<Item = (&'a str, f64)>) -> Option<&'a str> {
    let distance = |found: f64| (found / wanted).ln().abs();
    let found = of.map(|(word, value)| (word, distance(value)));
    let found = found.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (found.1 <= tolerance.ln_1p()).then_some(found.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a client gets a picture of another shape than it asked for, or none.
    #[test]
    fn pixels_are_the_words_of_families() {
        let ratios = ["1:1", "16:9", "9:16", "3:2", "2:3", "adaptive"];
        let all_lines = ["480p", "720p", "1080P", "4k"];
        for (text, expected_ratio, expected_lines) in [
            ("1024x1024", Some("1:1"), Some("720p")),
            ("1536x1024", Some("3:2"), None),
            ("1024x1536", Some("2:3"), None),
            ("1792x1024", Some("16:9"), Some("1080P")),
            ("1280x720", Some("16:9"), Some("720p")),
            ("720x1280", Some("9:16"), Some("720p")),
            ("1024x1792", Some("9:16"), Some("1080P")),
            ("3840x2160", Some("16:9"), Some("4k")),
            ("960x960", Some("1:1"), Some("720p")),
            ("1000x100", None, None),
        ] {
            let pixels = pixels(text).unwrap();
            assert_eq!(ratio(pixels, ratios.into_iter()), expected_ratio, "{text}");
            assert_eq!(lines(pixels, all_lines.into_iter()), expected_lines, "{text}");
        }
        for text in ["", "x", "1024", "1024x", "0x1", "-1x1", "1x1x1", "16:9", "99999x1"] {
            assert_eq!(pixels(text), None, "{text}");
        }
    }
}
