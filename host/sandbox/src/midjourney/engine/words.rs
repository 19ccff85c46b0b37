//! The texts of a describe: four prompts for one picture.

use crate::midjourney::engine::colour::{self, Hue};

/// Keycap emoji of 1 to 4, which the texts begin with.
pub(crate) const KEYCAPS: [&str; 4] =
    ["1\u{fe0f}\u{20e3}", "2\u{fe0f}\u{20e3}", "3\u{fe0f}\u{20e3}", "4\u{fe0f}\u{20e3}"];

/// Four prompts that would give such a picture.
pub(crate) fn prompts(hue: Hue, width: u32, height: u32) -> [String; 4] {
    let colour = colour::word(hue);
    let divisor = greatest_common_divisor(width.max(1), height.max(1));
    let ratio = format!("{}:{}", width.max(1) / divisor, height.max(1) / divisor);
    [
        format!("a flat {colour} field, studio light, minimal --ar {ratio}"),
        format!("{colour} paper cut, soft shadow, top view --ar {ratio}"),
        format!("abstract poster in {colour}, screen print --ar {ratio}"),
        format!("macro photograph of {colour} velvet --ar {ratio}"),
    ]
}

/// The four as the proxy writes them: one text, paragraphs with their keycaps, a blank line between.
pub(crate) fn paragraphs(prompts: &[String; 4]) -> String {
    let numbered = KEYCAPS.iter().zip(prompts).map(|(keycap, prompt)| format!("{keycap} {prompt}"));
    numbered.collect::<Vec<_>>().join("\n\n")
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
