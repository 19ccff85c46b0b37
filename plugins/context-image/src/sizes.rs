//! The nine ratios of an image, the pixels of each, and the ratio nearest to given pixels.

use serde::{Deserialize, Serialize};

/// A ratio of an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    /// As the client and the provider write it.
    pub(crate) name: &'static str,
    /// Width to height.
    terms: (u32, u32),
    /// The pixels of the image.
    output: (u32, u32),
}

/// In the specification's order, which decides ties.
pub(crate) const RATIOS: [Ratio; 9] = [
    Ratio { name: "1:1", terms: (1, 1), output: (1024, 1024) },
    Ratio { name: "4:3", terms: (4, 3), output: (1184, 880) },
    Ratio { name: "3:4", terms: (3, 4), output: (880, 1184) },
    Ratio { name: "16:9", terms: (16, 9), output: (1392, 752) },
    Ratio { name: "9:16", terms: (9, 16), output: (752, 1392) },
    Ratio { name: "3:2", terms: (3, 2), output: (1248, 832) },
    Ratio { name: "2:3", terms: (2, 3), output: (832, 1248) },
    Ratio { name: "21:9", terms: (21, 9), output: (1568, 672) },
    Ratio { name: "9:21", terms: (9, 21), output: (672, 1568) },
];

const AUTO: &str = "auto";

impl Ratio {
    /// Pixels of the image.
    pub(crate) fn pixels(&self) -> u64 {
        u64::from(self.output.0) * u64::from(self.output.1)
    }

    /// How far `width` x `height` is from this ratio: the larger of the two quotients, as a fraction.
    /// It grows with the distance of the logarithms, and unlike them it is exact everywhere.
    fn distance(&self, width: u32, height: u32) -> (u128, u128) {
        let across = u128::from(width) * u128::from(self.terms.1);
        let down = u128::from(height) * u128::from(self.terms.0);
        (across.max(down), across.min(down))
    }
}

/// The ratio nearest to `width` x `height`, both positive.
pub(crate) fn nearest(width: u32, height: u32) -> &'static Ratio {
    let mut best = &RATIOS[0];
    for ratio in &RATIOS[1..] {
        let (far, near) = ratio.distance(width, height);
        let (best_far, best_near) = best.distance(width, height);
        if far * best_near < best_far * near {
            best = ratio;
        }
    }
    best
}

/// The `size` a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum Size {
    /// The first reference's ratio, or 1:1 when there is none.
    Auto,
    /// One of the nine.
    Ratio(&'static Ratio),
}

impl Default for Size {
    fn default() -> Self {
        Self::Ratio(&RATIOS[0])
    }
}

impl TryFrom<String> for Size {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == AUTO {
            return Ok(Self::Auto);
        }
        if let Some(ratio) = RATIOS.iter().find(|ratio| ratio.name == text) {
            return Ok(Self::Ratio(ratio));
        }
        match pixels(&text) {
            Some((width, height)) => Ok(Self::Ratio(nearest(width, height))),
            None => Err("expected one of 1:1, 4:3, 3:4, 16:9, 9:16, 3:2, 2:3, 21:9, 9:21, auto, \
                         or pixels such as 1024x768"),
        }
    }
}

impl From<Size> for String {
    fn from(size: Size) -> Self {
        match size {
            Size::Auto => AUTO.to_owned(),
            Size::Ratio(ratio) => ratio.name.to_owned(),
        }
    }
}

/// `WxH`, both positive.
fn pixels(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', 'X'])?;
    let number = |digits: &str| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|&number| plain && number > 0)
    };
    Some((number(width)?, number(height)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<String> {
        Size::try_from(text.to_owned()).ok().map(String::from)
    }

    #[test]
    fn each_ratio_comes_out_as_the_specification_says() {
        let table: Vec<_> = RATIOS.iter().map(|ratio| (ratio.name, ratio.output)).collect();
        assert_eq!(
            table,
            [
                ("1:1", (1024, 1024)),
                ("4:3", (1184, 880)),
                ("3:4", (880, 1184)),
                ("16:9", (1392, 752)),
                ("9:16", (752, 1392)),
                ("3:2", (1248, 832)),
                ("2:3", (832, 1248)),
                ("21:9", (1568, 672)),
                ("9:21", (672, 1568)),
            ]
        );
        for ratio in &RATIOS {
            assert_eq!(ratio.name, format!("{}:{}", ratio.terms.0, ratio.terms.1));
            assert_eq!(read(ratio.name).as_deref(), Some(ratio.name));
        }
    }

    #[test]
    fn pixels_go_to_the_nearest_ratio() {
        let table = [
            ("1024x1024", "1:1"),
            ("1920x1080", "16:9"),
            ("1080X1920", "9:16"),
            ("1024x768", "4:3"),
            ("768x1024", "3:4"),
            ("3000x2000", "3:2"),
            ("1x4294967295", "9:21"),
            ("4294967295x1", "21:9"),
            ("4294967295x4294967295", "1:1"),
            // The border between 1:1 and 4:3 is at the square root of 4/3, 1.15470...
            ("1154x1000", "1:1"),
            ("1155x1000", "4:3"),
            // Between 16:9 and 21:9: the square root of 112/27, 2.03670...
            ("2036x1000", "16:9"),
            ("2037x1000", "21:9"),
        ];
        for (asked, expected) in table {
            assert_eq!(read(asked).as_deref(), Some(expected), "{asked}");
        }
        assert_eq!(read("auto").as_deref(), Some("auto"));
    }

    #[test]
    fn nonsense_is_no_size() {
        for text in [
            "",
            "big",
            "5:4",
            "1:1 ",
            "Auto",
            "x",
            "1024x",
            "x768",
            "0x768",
            "1024x0",
            "-1x5",
            "+1x5",
            "1e3x5",
            "1024x768x3",
            "1024 x 768",
            "4294967296x1",
            "1024*768",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    proptest! {
        /// The exact comparison agrees with logarithms wherever those can tell a difference.
        #[test]
        fn no_other_ratio_is_nearer(width in 1_u32.., height in 1_u32..) {
            let distance = |ratio: &Ratio| {
                let terms = f64::from(ratio.terms.0).ln() - f64::from(ratio.terms.1).ln();
                (f64::from(width).ln() - f64::from(height).ln() - terms).abs()
            };
            let chosen = distance(nearest(width, height));
            for ratio in &RATIOS {
                prop_assert!(chosen <= distance(ratio) + 1e-9, "{} is nearer", ratio.name);
            }
        }

        /// A rotated image gets the rotated ratio.
        #[test]
        fn a_turned_picture_gets_the_turned_ratio(width in 1_u32.., height in 1_u32..) {
            let (upright, turned) = (nearest(width, height), nearest(height, width));
            prop_assert_eq!((upright.terms.1, upright.terms.0), turned.terms);
        }
    }
}
