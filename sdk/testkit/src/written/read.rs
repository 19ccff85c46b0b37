//! Reads a written script: JSON values one after another, with comments between them.

use std::path::Path;
use std::time::Duration;

use gatehouse_sdk::{Cause, Outage};
use serde::Deserialize;
use serde_json::Value;

use super::text::{EventWritten, TextWritten, TranslateWritten};
use super::values::{
    ContextWritten, DirectWritten, FindingWritten, MergeWritten, MigrateWritten, OutageWritten,
    RenderWritten, ReplyWritten, SplitWritten, SubmissionWritten,
};
use crate::lines::{Ask, Expect, Feed, Line, Position};
use crate::script::Script;

/// One value of the file. Lines without an argument are bare strings: `"start"`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Written {
    Context(ContextWritten),
    Later { ms: u64 },
    Submit(SubmissionWritten),
    Start,
    Joined(String),
    Reply(ReplyWritten),
    Outage(#[serde(with = "OutageWritten")] Outage),
    Probed(Vec<FindingWritten>),
    Timer,
    Cancel,
    Deadline,
    Lost(String),
    Render(RenderWritten),
    Migrate(MigrateWritten),
    Merge(MergeWritten),
    Split(SplitWritten),
    Text(TextWritten),
    Translate(TranslateWritten),
    Direct(DirectWritten),
    Answer(ReplyWritten),
    Events(Vec<EventWritten>),
    End,
    Expect(Value),
}

impl Script {
    /// Reads a script file.
    ///
    /// # Errors
    /// The file system's, or the line and what is wrong with it.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text, file)
    }

    /// Reads a script's text; `file` is the name in messages.
    ///
    /// # Errors
    /// The line and what is wrong with it.
    ///
    /// ```
    /// # use gatehouse_testkit::Script;
    /// let script = r#"
    ///     ## A refused request.
    ///     {"submit": {"surface": "images.generate", "body": {}}}
    ///     {"expect": {"refused": {"field": "prompt"}}}
    /// "#;
    /// assert!(Script::parse(script, "refused.play".as_ref()).is_ok());
    /// let problem = Script::parse("\n\"go\"", "bad.play".as_ref()).err().unwrap();
    /// assert!(problem.starts_with("bad.play:2: unknown variant `go`, expected one of"));
    /// ```
    pub fn parse(text: &str, file: &Path) -> Result<Self, String> {
        let mut script = Self::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            if rest.starts_with('#') {
                rest = rest.split_once('\n').map_or("", |(_, after)| after);
                continue;
            }
            let before = text.len() - rest.len();
            let line = 1 + text[..before].matches('\n').count();
            let wrong = |line: usize, problem: &str| format!("{}:{line}: {problem}", file.display());
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            let value = match values.next() {
                Some(Ok(value)) => value,
                Some(Err(error)) => return Err(wrong(line + error.line() - 1, &error.to_string())),
                None => break,
            };
            rest = &rest[values.byte_offset()..];
            let written = serde_json::from_value(value).map_err(|error| wrong(line, &error.to_string()))?;
            script
                .push(written, Position::File(file.to_owned(), line))
                .map_err(|problem| wrong(line, &problem))?;
        }
        if script.lines.is_empty() {
            return Err(format!("{}: expected at least one line, got none", file.display()));
        }
        Ok(script)
    }

    fn push(&mut self, written: Written, place: Position) -> Result<(), String> {
        let line = match written {
            Written::Context(context) if self.lines.is_empty() => {
                self.cx = context.over(&self.cx);
                return Ok(());
            }
            Written::Context(_) => return Err("`context` stands before all other lines".to_owned()),
            Written::Later { ms } => Line::Later(Duration::from_millis(ms)),
            Written::Submit(request) => Line::Submit(request.into()),
            Written::Start => Line::Feed(Feed::Start),
            Written::Joined(brief) => Line::Feed(Feed::Joined(brief.into_bytes())),
            Written::Reply(reply) => Line::Feed(Feed::Reply(reply.try_into()?)),
            Written::Outage(outage) => Line::Feed(Feed::Outage(outage)),
            Written::Probed(found) => Line::Feed(Feed::Probed(found.into_iter().map(Into::into).collect())),
            Written::Timer => Line::Feed(Feed::Timer),
            Written::Cancel => Line::Feed(Feed::Cancel(Cause::Client)),
            Written::Deadline => Line::Feed(Feed::Cancel(Cause::Deadline)),
            Written::Lost(reason) => Line::Feed(Feed::Lost(reason)),
            Written::Render(render) => {
                Line::Ask(Ask::Render(render.surface.clone(), Box::new(render.view(self.cx.now))))
            }
            Written::Migrate(migrate) => Line::Ask(Ask::Migrate(migrate.from, migrate.state()?)),
            Written::Merge(merge) => Line::Ask(Ask::Merge(merge.key, merge.items)),
            Written::Split(split) => Line::Ask(Ask::Split(split.key, split.items, split.reply.try_into()?)),
            Written::Text(request) => Line::Ask(Ask::Text(Box::new(request.try_into()?))),
            Written::Translate(request) => Line::Ask(Ask::Translate(Box::new(request.try_into()?))),
            Written::Direct(request) => Line::Ask(Ask::Direct(Box::new(request.into()))),
            Written::Answer(reply) => Line::Ask(Ask::Answer(reply.try_into()?)),
            Written::Events(events) => Line::Ask(Ask::Events(events.into_iter().map(Into::into).collect())),
            Written::End => Line::Ask(Ask::End),
            Written::Expect(part) if part.is_object() => Line::Expect(Expect::Part(part)),
            Written::Expect(other) => {
                return Err(format!("`expect`: expected an object such as {{\"call\": {{}}}}, got {other}"));
            }
        };
        self.lines.push((line, place));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_reads() {
        let text = include_str!("every_line.play");
        let script = Script::parse(text, "every_line.play".as_ref()).unwrap();
        let names: Vec<&str> = script.lines.iter().map(|(line, _)| line.name()).collect();
        let expected = [
            "submit",
            "expect",
            "start",
            "later",
            "reply",
            "reply",
            "reply",
            "outage",
            "probed",
            "timer",
            "joined",
            "cancel",
            "deadline",
            "lost",
            "render",
            "migrate",
            "migrate",
            "merge",
            "split",
            "text",
            "text",
            "translate",
            "direct",
            "answer",
            "events",
            "end",
        ];
        assert_eq!(names, expected);
        assert_eq!((script.cx.seed, script.cx.now.0, script.cx.customer.as_str()), (9, 5_000, "c1"));
        assert_eq!(script.lines[2].1.to_string(), "every_line.play:18");
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            ("", "s.play: expected at least one line, got none"),
            ("# only a comment", "s.play: expected at least one line, got none"),
            ("\"start\"\n\n{\"later\": }", "s.play:3: expected value"),
            ("\"begin\"", "s.play:1: unknown variant `begin`, expected one of `context`, `later`, `submit`"),
            ("{\"submit\": {\"surface\": \"a\"}}", "s.play:1: missing field `body`"),
            (
                "{\"submit\": {\"surface\": \"a\", \"body\": {}, \"parent\": 1}}",
                "s.play:1: unknown field `parent`",
            ),
            (
                "{\"reply\": {\"status\": 200, \"json\": 1, \"text\": \"\"}}",
                "s.play:1: expected one of `json`",
            ),
            ("{\"reply\": {\"status\": 200, \"headers\": {\"a\": 1}}}", "s.play:1: the header \"a\""),
            ("\"start\" {\"context\": {}}", "s.play:1: `context` stands before all other lines"),
            ("{\"expect\": \"call\"}", "s.play:1: `expect`: expected an object"),
            (
                "{\"migrate\": {\"from\": 1}}",
                "s.play:1: `migrate`: expected the state as one of `json` and `text`",
            ),
            (
                "{\"text\": {\"surface\": \"a\", \"body\": {}, \"route\": {\"provider\": \"p\", \"protocol\": \"chat\"}}}",
                "s.play:1: expected `model` in the body or in `route`, got neither",
            ),
            (
                "{\"text\": {\"surface\": \"a\", \"body\": {}, \"route\": {\"provider\": \"p\", \"protocol\": \"other\"}}}",
                "s.play:1: unknown variant `other`, expected `messages` or `chat`",
            ),
            ("{\"events\": [{\"event\": \"ping\"}]}", "s.play:1: missing field `data`"),
        ] {
            let problem = Script::parse(text, "s.play".as_ref()).err().unwrap_or_default();
            assert!(problem.starts_with(expected), "{text}: {problem}");
        }
    }
}
