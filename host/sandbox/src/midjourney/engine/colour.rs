//! Colours by hue: one saturation and lightness, so that a hue says all, and a test can tell hues apart by pixel.

/// Hues of a grid drawn from text lie this far apart.
const APART: u16 = 90;
/// Of a grid drawn from a picture: near its hue, so that it shows which tile it was made from.
const NEAR: [u16; 4] = [0, 18, 342, 36];

/// Degrees, below 360.
pub(crate) type Hue = u16;

/// Four hues for a grid drawn from text; the digest chooses them.
pub(crate) fn fresh(digest: &[u8]) -> Vec<Hue> {
    let first = u16::from(digest.first().copied().unwrap_or_default()) % APART;
    (0..4).map(|tile| first + tile * APART).collect()
}

/// Hues for what is made from a picture of that hue.
pub(crate) fn near(hue: Hue, count: usize) -> Vec<Hue> {
    NEAR.iter().take(count).map(|offset| (hue + offset) % 360).collect()
}

/// Red, green and blue of a hue.
pub(crate) fn rgb(hue: Hue) -> [u8; 3] {
    // Saturation 80 %, lightness 50 %.
    const LOW: u16 = 25;
    const SPAN: u16 = 205;
    let within = hue % 60;
    let rising = LOW + SPAN * within / 60;
    let falling = LOW + SPAN * (60 - within) / 60;
    let high = LOW + SPAN;
    let [r, g, b] = match hue % 360 / 60 {
        0 => [high, rising, LOW],
        1 => [falling, high, LOW],
        2 => [LOW, high, rising],
        3 => [LOW, falling, high],
        4 => [rising, LOW, high],
        _ => [high, LOW, falling],
    };
    [r, g, b].map(|channel| u8::try_from(channel).unwrap_or(u8::MAX))
}

/// The hue of any colour; 0 for a grey.
pub(crate) fn hue([r, g, b]: [u8; 3]) -> Hue {
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    let span = i32::from(high) - i32::from(low);
    if span == 0 {
        return 0;
    }
    let part = |a: u8, b: u8| (60 * (i32::from(a) - i32::from(b)) * 2 + span) / (2 * span);
    let degrees = match high {
        _ if high == r => part(g, b),
        _ if high == g => 120 + part(b, r),
        _ => 240 + part(r, g),
    };
    u16::try_from(degrees.rem_euclid(360)).unwrap_or_default()
}

/// The word for a hue.
pub(crate) fn word(hue: Hue) -> &'static str {
    const WORDS: [&str; 12] = [
        "red", "orange", "yellow", "lime", "green", "mint", "cyan", "azure", "blue", "violet", "magenta",
        "rose",
    ];
    WORDS[usize::from((hue + 15) % 360 / 30)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hues_and_colours_are_one_to_one() {
        let all: std::collections::BTreeSet<_> = (0..360).map(rgb).collect();
        assert_eq!(all.len(), 360);
        for degrees in 0..360 {
            let apart = (360 + degrees - hue(rgb(degrees))) % 360;
            assert!(apart <= 1 || apart == 359, "{degrees}: {}", hue(rgb(degrees)));
        }
        assert_eq!((hue([7, 7, 7]), word(0), word(240)), (0, "red", "blue"));
    }

    #[test]
    fn what_is_made_from_a_tile_is_nearer_to_it_than_to_the_others() {
        let apart = |a: Hue, b: Hue| a.abs_diff(b).min(360 - a.abs_diff(b));
        for first in 0..=255 {
            let grid = fresh(&[first]);
            for (at, tile) in grid.iter().enumerate() {
                for child in near(*tile, 4) {
                    let nearest = (0..4).min_by_key(|other| apart(grid[*other], child));
                    assert_eq!(nearest, Some(at), "{grid:?} {child}");
                }
            }
        }
    }
}
