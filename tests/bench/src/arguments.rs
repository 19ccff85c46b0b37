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
         listing  COUNT finished tasks of one customer: a listing that matches nothing, and reads beside it
         start    COUNT warm starts
         image    COUNT submissions with a picture of 20 MB in each
         text     COUNT text requests, answered whole
         stream   COUNT text requests, answered by a stream of 50 events
         large    COUNT text requests of 4 MB
         crowd    COUNT streams open at once: memory
         swap     COUNT swaps of the plugin under 200 submissions a second

options: --gateway PATH      the gateway's binary (default: beside this one)
         --connections N     client connections (default: the figure's own)
         --pace-ms N         `live`: milliseconds between two polls of one task (default 30000)
         --window-s N        `live`: seconds to watch (default 60)
         --client NAME       text: protocol of the client, chat or messages (default chat)
         --provider NAME     text: protocol of the provider (default chat)";

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Crowd,
    Image,
    Large,
    Life,
    Listing,
    Live,
    Plugin,
    Poll,
    Start,
    Stream,
    Submit,
    Swap,
    Text,
}

/// What is spoken with a text model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Chat,
    Messages,
}

impl Protocol {
    /// As configuration has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
        }
    }

    /// Where requests go.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
        }
    }

    /// Whose path it is.
    pub(crate) fn of_path(path: &str) -> Self {
        if path == Self::Messages.path() { Self::Messages } else { Self::Chat }
    }

    fn of_word(word: &str) -> Result<Self, String> {
        let all = [Self::Chat, Self::Messages];
        let found = all.into_iter().find(|protocol| protocol.word() == word);
        found.ok_or_else(|| format!("expected chat or messages, got {word:?}"))
    }
}

const FIGURES: [(&str, Figure); 13] = [
    ("crowd", Figure::Crowd),
    ("image", Figure::Image),
    ("large", Figure::Large),
    ("life", Figure::Life),
    ("listing", Figure::Listing),
    ("live", Figure::Live),
    ("plugin", Figure::Plugin),
    ("poll", Figure::Poll),
    ("start", Figure::Start),
    ("stream", Figure::Stream),
    ("submit", Figure::Submit),
    ("swap", Figure::Swap),
    ("text", Figure::Text),
];

/// Everything that was counts for.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) figure: Figure,
    count: Option<usize>,
    gateway: Option<PathBuf>,
    connections: Option<usize>,
    pub(crate) pace: Duration,
    pub(crate) window: Duration,
    pub(crate) client: Protocol,
    pub(crate) provider: Protocol,
}

impl Arguments {
    /// Reads the arguments; an error carries the usage.
    pub(crate) fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let wrong = |what: String| format!("{what}\n\n{USAGE}");
        let mut words = words.into_iter();
        let Some(word) = words.next() else {
            return Err(wrong("expected a figure, nothing came".to_owned()));
        };
        let found = FIGURES.iter().find(|(name, _)| *name == word);
        let Some(&(_, figure)) = found else { return Err(wrong(format!("expected a figure, got {word:?}"))) };
        let (pace, window) = (Duration::from_secs(30), Duration::from_secs(60));
        let (client, provider) = (Protocol::Chat, Protocol::Chat);
        let mut read =
            Self { figure, count: None, gateway: None, connections: None, pace, window, client, provider };
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
                "--client" => read.client = Protocol::of_word(&value).map_err(wrong)?,
                "--provider" => read.provider = Protocol::of_word(&value).map_err(wrong)?,
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
    fn errors_name_the_argument() {
        for (line, named) in [
            ("", "nothing came"),
            ("fly", "\"fly\""),
            ("poll many", "\"many\""),
            ("poll 0", "\"0\""),
            ("poll --connections", "after --connections"),
            ("poll --speed 9", "--speed"),
            ("text --client morse", "\"morse\""),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(named) && error.contains("usage:"), "{line}: {error}");
        }
    }
}
