//! The command line: which figure, how much of it, and which gateway.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Figures of the release build, one for each run
#[derive(Debug, Parser)]
#[command(name = "gatehouse-bench", arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// What to measure
    pub(crate) figure: Figure,
    /// How many of it [default: the figure's own number]
    count: Option<NonZeroUsize>,
    /// The gateway's binary [default: beside this one]
    #[arg(long, value_name = "PATH")]
    gateway: Option<PathBuf>,
    /// Client connections [default: the figure's own number]
    #[arg(long, value_name = "N")]
    connections: Option<NonZeroUsize>,
    /// `live`: milliseconds between two polls of one task
    #[arg(long, value_name = "N", default_value = "30000")]
    pace_ms: NonZeroU64,
    /// `live`: seconds to watch
    #[arg(long, value_name = "N", default_value = "60")]
    window_s: NonZeroU64,
    /// Keep the store in this empty database instead of a file
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The first process of the database's server, whose processor time is shown too
    #[arg(long, value_name = "PID", requires = "database")]
    pub(crate) server: Option<u32>,
    /// Text: protocol of the client
    #[arg(long, value_name = "NAME", default_value = "chat")]
    pub(crate) client: Protocol,
    /// Text: protocol of the provider
    #[arg(long, value_name = "NAME", default_value = "chat")]
    pub(crate) provider: Protocol,
}

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figure {
    /// Calls of the plugin, each in a fresh instance, in this process
    Plugin,
    /// Submissions, accepted and handed to the provider
    Submit,
    /// Submissions, until each result is copied
    Life,
    /// Reads of a task
    Poll,
    /// Live tasks: memory, CPU, lateness
    Live,
    /// Finished tasks, and a live one for each ten: every list of the admin API, every page of the console, and reads beside
    /// them
    Listing,
    /// Warm starts
    Start,
    /// Submissions with a picture of 20 MB in each
    Image,
    /// Text requests, answered whole
    Text,
    /// Text requests, answered by a stream of 50 events
    Stream,
    /// Text requests of 4 MB
    Large,
    /// Streams open at once: memory
    Crowd,
    /// Small requests beside a customer whose large ones are refused
    Flood,
    /// Swaps of the plugin under 200 submissions a second
    Swap,
    /// Text requests without traces, with a hundredth and with all of them traced, in turn
    Traces,
}

/// What is spoken with a text model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
}

impl Arguments {
    /// How many, or the figure's own number.
    pub(crate) fn count(&self, usual: usize) -> usize {
        self.count.map_or(usual, NonZeroUsize::get)
    }

    /// How many connections, or the figure's own number.
    pub(crate) fn connections(&self, usual: usize) -> usize {
        self.connections.map_or(usual, NonZeroUsize::get)
    }

    /// Between two polls of one task.
    pub(crate) fn pace(&self) -> Duration {
        Duration::from_millis(self.pace_ms.get())
    }

    /// How long to watch.
    pub(crate) fn window(&self) -> Duration {
        Duration::from_secs(self.window_s.get())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        let words = ["gatehouse-bench"].into_iter().chain(line.split_whitespace());
        Arguments::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_is_read_whole() {
        let read = read("live 500 --pace-ms 250 --connections 3 --window-s 2 --client messages").unwrap();
        assert_eq!((read.figure, read.count(1), read.connections(1)), (Figure::Live, 500, 3));
        assert_eq!((read.pace(), read.window()), (Duration::from_millis(250), Duration::from_secs(2)));
        assert_eq!((read.client, read.provider), (Protocol::Messages, Protocol::Chat));
    }

    #[test]
    fn errors_name_the_argument() {
        for (line, named) in [
            ("", "large, crowd, flood, swap, traces"),
            ("fly", "'fly'"),
            ("poll many", "'many'"),
            ("poll 0", "'0'"),
            ("poll --connections", "--connections"),
            ("poll --speed 9", "--speed"),
            ("text --client morse", "'morse'"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
