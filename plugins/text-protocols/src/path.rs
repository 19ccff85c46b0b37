//! JSON paths of request fields, for refusals. A path is written out only when a refusal needs it.
//! Chat clients read `messages[0].content`, Messages clients `messages.0.content`.

use std::fmt;

use gatehouse_sdk::Refusal;

/// How a path writes an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStyle {
    /// `messages[0]`.
    Brackets,
    /// `messages.0`.
    Dots,
}

/// The position of a value in a request.
#[derive(Clone, Copy, Debug)]
pub enum Path<'p> {
    /// The request body.
    Root(IndexStyle),
    /// A field of an object.
    Key(&'p Path<'p>, &'p str),
    /// An item of an array.
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    /// The body of a chat completion request.
    pub const BRACKETED: Path<'static> = Path::Root(IndexStyle::Brackets);
    /// The body of a Messages request.
    pub const DOTTED: Path<'static> = Path::Root(IndexStyle::Dots);

    /// A field below this path.
    #[must_use]
    pub fn key(&'p self, name: &'p str) -> Path<'p> {
        Path::Key(self, name)
    }

    /// An item below this path.
    #[must_use]
    pub fn index(&'p self, index: usize) -> Path<'p> {
        Path::Index(self, index)
    }

    /// A refusal in the form of a Messages provider, which clients match: the path, a colon, the sentence.
    #[must_use]
    pub fn sentence(&self, sentence: &str) -> Refusal {
        Refusal::Invalid { field: Some(self.to_string()), message: format!("{self}: {sentence}") }
    }

    /// How many names and numbers lead to the value.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Path::Root(_) => 0,
            Path::Key(parent, _) | Path::Index(parent, _) => parent.depth() + 1,
        }
    }

    fn style(&self) -> IndexStyle {
        match self {
            Path::Root(style) => *style,
            Path::Key(parent, _) | Path::Index(parent, _) => parent.style(),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(_) => Ok(()),
            Path::Key(Path::Root(_), name) => f.write_str(name),
            Path::Key(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => match (self.style(), parent) {
                (IndexStyle::Brackets, _) => write!(f, "{parent}[{index}]"),
                (IndexStyle::Dots, Path::Root(_)) => write!(f, "{index}"),
                (IndexStyle::Dots, _) => write!(f, "{parent}.{index}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_an_index_in_the_style_of_its_root() {
        for (root, expected) in
            [(Path::BRACKETED, "messages[3].content[0].text"), (Path::DOTTED, "messages.3.content.0.text")]
        {
            let (messages, content) = (root.key("messages"), "content");
            let message = messages.index(3);
            let content = message.key(content);
            let part = content.index(0);
            assert_eq!(part.key("text").to_string(), expected);
        }
    }
}
