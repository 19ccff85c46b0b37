//! The command line: which figure, how much of it, and which gateway.

use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "\
usage: gatehouse-bench FIGURE [COUNT] [OPTIONS]

figures: plugin   COUNT calls of the plugin, each in a fresh instance, in this process
         submit   COUNT submissions, accepted and handed to the provider
         life     COUNT submissions, until each result is copied
         poll     COUNT reads of a task
         live     COUNT live tasks: memory, CPU, lateness
         start    COUNT warm starts
         image    COUNT submissions with a picture of 20 MB in each

options: --gateway PATH      the gateway's binary (default: beside this one)
         --connections N     client connections (default: the figure's own)
         --pace-ms N         `live`: milliseconds between two polls of one task (default 30000)
         --window-s N        `live`: seconds to watch (default 60)";

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Image,
    Life,
    Live,
    Plugin,
    Poll,
    Start,
    Submit,
}

/// Everything that was asked for.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) figure: Figure,
    count: Option<usize>,
    gateway: Option<PathBuf>,
    connections: Option<usize>,
    pub(crate) pace: Duration,
    pub(crate) window: Duration,
}

impl Arguments {
    /// Reads the words behind the program's name; a mistake comes with the usage.
    pub(crate) fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let wrong = |what: String| format!("{what}\n\n{USAGE}");
        let mut words = words.into_iter();
        let figure = match words.next().as_deref() {
            Some("image") => Figure::Image,
            Some("life") => Figure::Life,
            Some("live") => Figure::Live,
            Some("plugin") => Figure::Plugin,
            Some("poll") => Figure::Poll,
            Some("start") => Figure::Start,
            Some("submit") => Figure::Submit,
            Some(other) => return Err(wrong(format!("expected a figure, got {other:?}"))),
            None => return Err(wrong("expected a figure, nothing came".to_owned())),
        };
        let (pace, window) = (Duration::from_secs(30), Duration::from_secs(60));
        let mut read = Self { figure, count: None, gateway: None, connections: None, pace, window };
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                read.count = Some(number(&word).map_err(wrong)?);
                continue;
            }
            let value = words.next().ok_or_else(|| wrong(format!("expected a value after {word}")))?;
            match word.as_str() {
                "--gateway" => read.gateway = Some(value.into()),
                "--connections" => read.connections = Some(number(&value).map_err(wrong)?),
                "--pace-ms" => read.pace = Duration::from_millis(number(&value).map_err(wrong)? as u64),
                "--window-s" => read.window = Duration::from_secs(number(&value).map_err(wrong)? as u64),
                _ => return Err(wrong(format!("there is no option {word}"))),
            }
        }
        Ok(read)
    }

    /// How many, or the figure's own number.
    pub(crate) fn count(&self, usual: usize) -> usize {
        self.count.unwrap_or(usual)
    }

    /// How many connections, or the figure's own number.
    pub(crate) fn connections(&self, usual: usize) -> usize {
        self.connections.unwrap_or(usual)
    }

    /// The gateway's binary, absolute: the gateway is started in a folder of its own.
    pub(crate) fn gateway(&self) -> PathBuf {
        let path = self.gateway.clone().unwrap_or_else(|| {
            std::env::current_exe().expect("a running program knows its file").with_file_name("gatehouse")
        });
        path.canonicalize().unwrap_or_else(|error| {
            panic!("{}: {error}; `cargo build --release` makes it, --gateway names another", path.display())
        })
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| format!("expected a number, got {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_line_is_read_whole() {
        let read = read("live 500 --pace-ms 250 --connections 3 --window-s 2").unwrap();
        assert_eq!((read.figure, read.count(1), read.connections(1)), (Figure::Live, 500, 3));
        assert_eq!((read.pace, read.window), (Duration::from_millis(250), Duration::from_secs(2)));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, named) in [
            ("", "nothing came"),
            ("fly", "\"fly\""),
            ("poll many", "\"many\""),
            ("poll 0", "\"0\""),
            ("poll --connections", "after --connections"),
            ("poll --speed 9", "--speed"),
        ] {
            let mistake = read(line).unwrap_err();
            assert!(mistake.contains(named) && mistake.contains("usage:"), "{line}: {mistake}");
        }
    }
}
