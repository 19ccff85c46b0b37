//! The seventeen sizes of the model, and the choice of one for a request.

/// The model's own list: about one megapixel each, from 3:7 to 7:3.
pub(crate) const SIZES: [(u32, u32); 17] = [
    (672, 1568),
    (688, 1504),
    (720, 1456),
    (752, 1392),
    (800, 1328),
    (832, 1248),
    (880, 1184),
    (944, 1104),
    (1024, 1024),
    (1104, 944),
    (1184, 880),
    (1248, 832),
    (1328, 800),
    (1392, 752),
    (1456, 720),
    (1504, 688),
    (1568, 672),
];

/// The size without a ratio and without an image.
pub(crate) const DEFAULT: (u32, u32) = (1024, 1024);

/// The size whose ratio is nearest to `width:height`, measured on the ratio itself as the model's own code
/// does; the narrower one when two are equally near.
pub(crate) fn nearest(width: u32, height: u32) -> (u32, u32) {
    let new_job = f64::from(width) / f64::from(height);
    let distance = |(w, h): (u32, u32)| (new_job - f64::from(w) / f64::from(h)).abs();
    SIZES.into_iter().min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(DEFAULT)
}

/// Megapixels with two decimals, as the provider reports them.
pub(crate) fn megapixels(pixels: u64) -> f64 {
    let hundredths = u32::try_from((pixels + 5000) / 10_000).unwrap_or(u32::MAX);
    f64::from(hundredths) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios() {
        for ((width, height), expected) in [
            ((1, 1), (1024, 1024)),
            ((4, 3), (1184, 880)),
            ((3, 4), (880, 1184)),
            ((16, 9), (1392, 752)),
            ((9, 16), (752, 1392)),
            ((3, 2), (1248, 832)),
            ((2, 3), (832, 1248)),
            ((21, 9), (1568, 672)),
            ((9, 21), (672, 1568)),
            ((5, 4), (1104, 944)),
            ((2, 1), (1456, 720)),
            ((4000, 100), (1568, 672)),
            ((1, 4000), (672, 1568)),
        ] {
            assert_eq!(nearest(width, height), expected, "{width}:{height}");
        }
    }

    #[test]
    fn every_size_is_its_own_nearest() {
        for (width, height) in SIZES {
            assert_eq!(nearest(width, height), (width, height));
        }
    }

    #[test]
    fn megapixels_have_two_decimals() {
        for (pixels, expected) in [(0, 0.0), (1_048_576, 1.05), (1_046_784, 1.05), (20_000_000, 20.0)] {
            assert!((megapixels(pixels) - expected).abs() < 1e-9, "{pixels}");
        }
    }
}
