//! The seventeen sizes of the model, and the choice of one for a request.

/// The model's own widths, and backwards the heights that go with them: about one megapixel each, from 3:7 to 7:3.
const SIDES: [u32; 17] =
    [672, 688, 720, 752, 800, 832, 880, 944, 1024, 1104, 1184, 1248, 1328, 1392, 1456, 1504, 1568];

fn sizes() -> impl Iterator<Item = (u32, u32)> {
    SIDES.into_iter().zip(SIDES.into_iter().rev())
}

/// The size without a ratio and without an image.
pub(crate) const DEFAULT: (u32, u32) = (1024, 1024);

/// The size whose ratio is nearest to `width:height`, measured on the ratio itself as the model's own code
/// does; the narrower one when two are equally near.
pub(crate) fn nearest(width: u32, height: u32) -> (u32, u32) {
    let ratio = f64::from(width) / f64::from(height);
    let distance = |(w, h): (u32, u32)| (ratio - f64::from(w) / f64::from(h)).abs();
    sizes().min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(DEFAULT)
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
        #[rustfmt::skip]
        let table = [
            ((1, 1), (1024, 1024)), ((4, 3), (1184, 880)), ((3, 4), (880, 1184)), ((16, 9), (1392, 752)),
            ((9, 16), (752, 1392)), ((3, 2), (1248, 832)), ((2, 3), (832, 1248)), ((21, 9), (1568, 672)),
            ((9, 21), (672, 1568)), ((5, 4), (1104, 944)), ((2, 1), (1456, 720)), ((4000, 100), (1568, 672)),
            ((1, 4000), (672, 1568)),
        ];
        for ((width, height), expected) in table {
            assert_eq!(nearest(width, height), expected, "{width}:{height}");
        }
    }

    #[test]
    fn every_size_is_its_own_nearest() {
        for (width, height) in sizes() {
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
