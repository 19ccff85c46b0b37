//! Prompts: links in front, text, flags at the end; what the engine refuses of them; and the four that describe a picture.

use super::colour::{self, Hue};
use super::version::Version;

/// A prompt, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// Name without the dashes, and the words after it.
    flags: Vec<(String, Vec<String>)>,
}

/// What stands after a flag.
enum Value {
    None,
    /// A whole number between two bounds.
    Whole(u64, u64),
    /// A number between two bounds.
    Decimal(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// `W:H`.
    Ratio,
    /// At least one word.
    Words,
    /// Any words, or none.
    Any,
}

use Value::{Any, Decimal, None as Nothing, Ratio, Whole, Word, Words};

/// Every flag with its short form.
const FLAGS: &[(&str, &str, Value)] = &[
    ("aspect", "ar", Ratio),
    ("bs", "bs", Word(&["1", "2", "4"])),
    ("chaos", "c", Whole(0, 100)),
    ("cref", "cref", Words),
    ("cw", "cw", Whole(0, 100)),
    ("draft", "draft", Nothing),
    ("dref", "dref", Words),
    ("dw", "dw", Whole(0, 100)),
    ("end", "end", Words),
    ("exp", "exp", Whole(0, 100)),
    ("fast", "fast", Nothing),
    ("hd", "hd", Nothing),
    ("iw", "iw", Decimal(0.0, 3.0)),
    ("motion", "motion", Word(&["low", "high"])),
    ("niji", "niji", Any),
    ("no", "no", Words),
    ("oref", "oref", Words),
    ("ow", "ow", Whole(0, 1000)),
    ("profile", "p", Any),
    ("quality", "q", Word(&["0.25", ".25", "0.5", ".5", "1", "2", "4"])),
    ("raw", "raw", Nothing),
    ("relax", "relax", Nothing),
    ("seed", "seed", Whole(0, 4_294_967_295)),
    ("sref", "sref", Words),
    ("stop", "stop", Whole(10, 100)),
    ("style", "style", Words),
    ("stylize", "s", Whole(0, 1000)),
    ("sw", "sw", Whole(0, 1000)),
    ("tile", "tile", Nothing),
    ("turbo", "turbo", Nothing),
    ("version", "v", Words),
    ("video", "video", Any),
    ("weird", "w", Whole(0, 3000)),
    ("zoom", "zoom", Decimal(1.0, 2.0)),
];

/// Keycap emoji of 1 to 4, which the texts of a describe begin with.
pub(crate) const KEYCAPS: [&str; 4] =
    ["1\u{fe0f}\u{20e3}", "2\u{fe0f}\u{20e3}", "3\u{fe0f}\u{20e3}", "4\u{fe0f}\u{20e3}"];

/// Flags and the first version that has them.
const SINCE: [(&str, (u8, u8)); 3] = [("raw", (5, 1)), ("draft", (7, 0)), ("hd", (8, 0))];

impl Prompt {
    pub(crate) fn parse(prompt: &str) -> Self {
        let mut parsed = Self::default();
        let mut text = Vec::new();
        for word in prompt.split_whitespace() {
            match (word.strip_prefix("--").or_else(|| word.strip_prefix('—')), parsed.flags.last_mut()) {
                (Some(name), _) => parsed.flags.push((name.to_lowercase(), Vec::new())),
                (None, Some((_, words))) => words.push(word.to_owned()),
                (None, None) => text.push(word),
            }
        }
        parsed.text = text.join(" ");
        parsed
    }

    /// The words after the last flag of that name, in either form.
    pub(crate) fn flag(&self, name: &str) -> Option<&[String]> {
        let (long, short, _) = FLAGS.iter().find(|(long, short, _)| [*long, *short].contains(&name))?;
        let found = self.flags.iter().rfind(|(flag, _)| [*long, *short].contains(&flag.as_str()));
        found.map(|(_, words)| words.as_slice())
    }

    /// The version it asks for, or the reason there is none.
    pub(crate) fn version(&self, niji_bot: bool) -> Result<Version, String> {
        let niji = self.flag("niji");
        if niji.is_some() || niji_bot && self.flag("v").is_none() {
            let name = niji.and_then(|words| words.first()).map_or("7", String::as_str);
            return Version::named(true, name)
                .ok_or_else(|| format!("[Invalid parameter] `--niji {name}` is not a valid version"));
        }
        let Some(words) = self.flag("v") else { return Ok(Version::USUAL) };
        Version::named(false, &words.join(" "))
            .ok_or_else(|| format!("[Invalid parameter] `--v {}` is not a valid version", words.join(" ")))
    }

    /// Width and height of `--ar`.
    pub(crate) fn ratio(&self) -> Option<(u32, u32)> {
        ratio(self.flag("ar")?.first()?)
    }

    /// What the engine refuses of it.
    pub(crate) fn check(&self, version: Version) -> Result<(), String> {
        for (name, words) in &self.flags {
            let Some((long, _, value)) = FLAGS.iter().find(|(long, short, _)| long == name || short == name)
            else {
                return Err(format!("[Invalid parameter] Unrecognized parameter(s): `--{name}`"));
            };
            let shown = format!("--{name} {}", words.join(" "));
            if !value.takes(words) {
                return Err(format!("[Invalid parameter] `{}` is not valid", shown.trim_end()));
            }
            let since = SINCE.iter().find(|(flag, _)| flag == long);
            if since.is_some_and(|(_, first)| version.number < *first) {
                return Err(format!("[Invalid parameter] `--{name}` is not compatible with `--{version}`"));
            }
        }
        Ok(())
    }
}

impl Value {
    fn takes(&self, words: &[String]) -> bool {
        let one = || if let [word] = words { Some(word.as_str()) } else { None };
        match self {
            Nothing => words.is_empty(),
            Whole(low, high) => {
                one().and_then(|word| word.parse().ok()).is_some_and(|number| (low..=high).contains(&&number))
            }
            Decimal(low, high) => {
                one().and_then(|word| word.parse().ok()).is_some_and(|number| (low..=high).contains(&&number))
            }
            Word(known) => one().is_some_and(|word| known.contains(&word)),
            Ratio => one().and_then(ratio).is_some(),
            Words => !words.is_empty(),
            Any => true,
        }
    }
}

/// `W:H`, both above zero.
fn ratio(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(':')?;
    let (width, height) = (width.parse().ok()?, height.parse().ok()?);
    (width > 0 && height > 0).then_some((width, height))
}

/// The texts of a describe: four prompts that would give such a picture.
pub(crate) fn described(hue: Hue, width: u32, height: u32) -> [String; 4] {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prompt: &str) -> Result<String, String> {
        let parsed = Prompt::parse(prompt);
        let version = parsed.version(false)?;
        parsed.check(version).map(|()| version.to_string())
    }

    #[test]
    fn prompts_are_taken_apart() {
        let prompt = Prompt::parse("a red  kite --ar 16:9 --no wind, rain --tile --V 6.1");
        assert_eq!((prompt.text.as_str(), prompt.ratio()), ("a red kite", Some((16, 9))));
        assert_eq!(prompt.flag("no"), Some(&["wind,".to_owned(), "rain".to_owned()][..]));
        assert_eq!((prompt.flag("tile"), prompt.flag("seed")), (Some(&[][..]), None));
        assert_eq!(
            Prompt::parse("--stylize 5 --s 7").flag("s"),
            Some(&["7".to_owned()][..]),
            "the last wins"
        );
    }

    #[test]
    fn versions_and_flags() {
        for (prompt, version) in [
            ("a kite", "v 7"),
            ("a kite --v 5.2", "v 5.2"),
            ("a kite --version 8.1 --hd", "v 8.1"),
            ("a kite --niji", "niji 7"),
            ("a kite --niji 6", "niji 6"),
            (
                "a kite --s 1000 --c 0 --w 3000 --q 0.25 --iw 1.5 --seed 4294967295 --stop 10 --style raw",
                "v 7",
            ),
            ("a kite --sref https://a.example/b.png --sw 0 --cref https://a.example/c.png --cw 100", "v 7"),
            ("a kite --raw --v 5.1", "v 5.1"),
        ] {
            assert_eq!(check(prompt), Ok(version.to_owned()), "{prompt}");
        }
        for (prompt, word) in [
            ("a kite --v 9", "--v 9"),
            ("a kite --niji 4", "--niji 4"),
            ("a kite --ar 16x9", "--ar 16x9"),
            ("a kite --ar 0:9", "--ar 0:9"),
            ("a kite --s 1001", "--s 1001"),
            ("a kite --c -1", "--c -1"),
            ("a kite --q 3", "--q 3"),
            ("a kite --iw 3.1", "--iw 3.1"),
            ("a kite --tile yes", "--tile yes"),
            ("a kite --no", "--no"),
            ("a kite --draft --v 6.1", "v 6.1"),
            ("a kite --hd", "v 7"),
            ("a kite --raw --v 5", "v 5"),
            ("a kite --speed fast", "--speed"),
        ] {
            let refused = check(prompt).expect_err(prompt);
            assert!(
                refused.starts_with("[Invalid parameter]") && refused.contains(word),
                "{prompt}: {refused}"
            );
        }
    }
}
