//! The fields of a form that a schema of the admin API describes: each member a control, from JSON to what people type and
//! back. A member of an object inside is a control of its own. Nothing is checked here but what cannot be read.

use std::time::Duration;

use gatehouse_admin::Moment;
use gatehouse_model::{Credits, UnixMs};
use gatehouse_schema::{Field as Member, Kind, Reader};
use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::error::PageError;
use crate::form::Form;
use crate::format::{credits_text, plain};
use crate::parts::elements::{Field, Problems, lines, select};

/// Other words for a control than those of the schema; empty ones leave the schema's.
#[derive(Clone, Copy)]
pub(crate) struct Hint {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) help: &'static str,
    /// It has to be given, whatever the schema says.
    pub(crate) required: bool,
}

/// What is typed into a control.
#[derive(Clone, Debug, PartialEq)]
enum Input {
    Line,
    /// Credits, for millionths of one.
    Credits,
    Number,
    /// A moment, or a time from now.
    Moment,
    /// A time, for milliseconds.
    Span,
    Flag,
    Choice(Vec<String>),
    /// Texts, one a line.
    Lines,
    /// Some of several; all of them where none is ticked.
    Some(Vec<String>),
    /// An object for each name: one a line, such as `name member=value`.
    Rows(Vec<Control>),
    Json,
}

/// A control.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Control {
    /// The name of its field in the form.
    name: String,
    /// Where its value is.
    path: Vec<String>,
    pub(crate) label: String,
    help: String,
    required: bool,
    nullable: bool,
    input: Input,
}

/// The controls of a form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Controls(pub(crate) Vec<Control>);

impl Hint {
    pub(crate) const fn of(name: &'static str, label: &'static str, help: &'static str) -> Self {
        Self { name, label, help, required: false }
    }

    /// Of a field that has to be filled in.
    pub(crate) const fn needed(name: &'static str, label: &'static str, help: &'static str) -> Self {
        Self { required: true, ..Self::of(name, label, help) }
    }
}

impl Controls {
    /// Of the body that this operation takes. The hints come first, in their order.
    ///
    /// # Errors
    /// There is no such operation with an object as its body.
    pub(crate) fn of(document: &Value, method: &str, path: &str, hints: &[Hint]) -> Result<Self, PageError> {
        let content = &document["paths"][path][method]["requestBody"]["content"];
        let schema =
            ["application/json", "application/merge-patch+json"].iter().find_map(|kind| content.get(*kind));
        let schema = schema.map_or(&Value::Null, |content| &content["schema"]);
        let Kind::Object(members) = Reader::new(document).kind(schema) else {
            return Err(PageError::failed(format!("{method} {path} takes no object")));
        };
        let mut controls = Vec::new();
        for member in &members {
            add(member, &[], &mut controls);
        }
        let place = |control: &Control| {
            hints.iter().position(|hint| hint.name == control.name).unwrap_or(hints.len())
        };
        controls.sort_by_key(place);
        for control in &mut controls {
            if let Some(hint) = hints.iter().find(|hint| hint.name == control.name) {
                control.required |= hint.required;
                for (words, own) in [(&mut control.label, hint.label), (&mut control.help, hint.help)] {
                    if !own.is_empty() {
                        own.clone_into(words);
                    }
                }
            }
        }
        Ok(Self(controls))
    }

    /// The same without one of them.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|control| !names.contains(&control.name.as_str()));
        self
    }

    /// The same for one of several forms on a page, whose names begin so.
    pub(crate) fn of_form(mut self, form: &str) -> Self {
        for control in &mut self.0 {
            control.name = format!("{form}_{}", control.name);
        }
        self
    }

    /// The object that the form means; what was left empty is null.
    pub(crate) fn read(&self, form: &Form, now: UnixMs, problems: &mut Problems) -> Value {
        let mut object = Value::Object(Map::new());
        for control in &self.0 {
            if control.required && form.text(&control.name).is_empty() {
                problems.add(&control.name, "is missing");
            }
            match control.read(form, now) {
                Ok(value) => put(&mut object, &control.path, value),
                Err(problem) => problems.add(&control.name, problem),
            }
        }
        object
    }

    /// The form that shows this object.
    pub(crate) fn fill(&self, object: &Value) -> Form {
        let mut form = Form::default();
        for control in &self.0 {
            match (&control.input, control.value(object)) {
                (_, Value::Null) => {}
                (Input::Some(_), Value::Array(words)) => {
                    words.iter().for_each(|word| form.push(&control.name, plain(word)));
                }
                (input, value) => form.push(&control.name, write(input, value)),
            }
        }
        form
    }

    /// What people read of this object, control by control.
    pub(crate) fn words<'c>(&'c self, object: &Value) -> Vec<(&'c str, String)> {
        let words = |control: &'c Control| {
            let value = control.value(object);
            let text = match (&control.input, value) {
                (_, Value::Null) => String::new(),
                (Input::Credits, value) => credits_text(Credits(value.as_i64().unwrap_or_default())),
                (Input::Some(_), Value::Array(all)) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
                (input, value) => write(input, value).replace('\n', ", "),
            };
            (control.label.as_str(), if text.is_empty() { "none".to_owned() } else { text })
        };
        self.0.iter().map(words).collect()
    }

    /// The objects by name that a patch would keep, unless it takes them away.
    pub(crate) fn take_away(&self, before: &Value, patch: &mut Value) {
        for control in self.0.iter().filter(|control| matches!(control.input, Input::Rows(_))) {
            let Some(old) = control.value(before).as_object() else { continue };
            let mut rows = control.value(patch).as_object().cloned().unwrap_or_default();
            for name in old.keys() {
                rows.entry(name.clone()).or_insert(Value::Null);
            }
            put(patch, &control.path, Value::Object(rows));
        }
    }

    /// Puts a refusal at the field that it is about; one about another thing at `other`.
    pub(crate) fn refuse(&self, param: &str, message: &str, other: &str, problems: &mut Problems) {
        let parts: Vec<&str> = param.split(['.', '[', ']']).collect();
        let found = parts.iter().rev().find_map(|part| {
            self.0.iter().find(|control| control.path.last().is_some_and(|last| last == part))
        });
        let short = message.strip_prefix(param).and_then(|rest| rest.strip_prefix(": "));
        let message = short.filter(|_| found.is_some()).unwrap_or(message);
        let other = self.0.iter().find(|control| control.path.last().is_some_and(|last| last == other));
        let field = found.or(other);
        problems.add(field.map_or("", |control| &control.name), message);
    }

    pub(crate) fn show(&self, form: &Form, problems: &Problems) -> Markup {
        html! { @for control in &self.0 { (control.show(form, problems)) } }
    }
}

/// Adds the controls of a member.
fn add(member: &Member, within: &[String], controls: &mut Vec<Control>) {
    let path: Vec<String> = within.iter().cloned().chain([member.name.clone()]).collect();
    if let (Kind::Object(members), true) = (&member.kind, within.is_empty()) {
        for inside in members {
            add(inside, &path, controls);
        }
        return;
    }
    let input = input_of(&member.name, &member.kind);
    let plain = member.name.trim_end_matches("_micro").trim_end_matches("_ms").to_owned();
    let mut label = plain.replace('_', " ");
    label[..1].make_ascii_uppercase();
    let (unit, form) = match &input {
        Input::Credits => (", credits", "At most six decimals."),
        Input::Moment => {
            ("", "A moment such as 2026-11-21T09:30:00Z, or a time from now such as 24h or 30d. Empty: none.")
        }
        Input::Span => ("", "Such as 24h or 7d."),
        Input::Lines | Input::Rows(_) => ("", "One a line."),
        _ => ("", ""),
    };
    controls.push(Control {
        name: plain,
        path,
        label: label + unit,
        help: [member.help.as_deref().unwrap_or_default(), form].join(" ").trim().to_owned(),
        required: member.required && !member.nullable && within.is_empty(),
        nullable: member.nullable,
        input,
    });
}

fn input_of(name: &str, kind: &Kind) -> Input {
    let words =
        |choices: &[gatehouse_schema::Choice]| choices.iter().map(|choice| plain(&choice.value)).collect();
    match kind {
        Kind::Text { format: Some(format), .. } if format == "date-time" => Input::Moment,
        Kind::Text { .. } => Input::Line,
        Kind::Number { .. } if name.ends_with("_micro") => Input::Credits,
        Kind::Number { .. } if name.ends_with("_ms") => Input::Span,
        Kind::Number { .. } => Input::Number,
        Kind::Boolean => Input::Flag,
        Kind::Choice(choices) => Input::Choice(words(choices)),
        Kind::List { item, .. } => match &**item {
            Kind::Text { .. } => Input::Lines,
            Kind::Choice(choices) => Input::Some(words(choices)),
            _ => Input::Json,
        },
        Kind::Map(item) => match &**item {
            Kind::Object(members) => {
                let mut controls = Vec::new();
                members.iter().for_each(|member| add(member, &[], &mut controls));
                Input::Rows(controls)
            }
            _ => Input::Json,
        },
        Kind::Object(_) | Kind::Variants(_) | Kind::Json => Input::Json,
    }
}

/// Puts a value where the path leads.
fn put(object: &mut Value, path: &[String], value: Value) {
    *path.iter().fold(object, |object, part| &mut object[part.as_str()]) = value;
}

/// A value as it is typed.
fn write(input: &Input, value: &Value) -> String {
    match (input, value) {
        (Input::Credits, value) => Credits(value.as_i64().unwrap_or_default()).to_string(),
        (Input::Span, value) => format!("{}s", value.as_u64().unwrap_or_default() / 1000),
        (Input::Lines, Value::Array(lines)) => lines.iter().map(plain).collect::<Vec<_>>().join("\n"),
        (Input::Rows(members), Value::Object(rows)) => {
            let row = |(name, row): (&String, &Value)| {
                let given = members.iter().filter(|member| !member.value(row).is_null());
                given.fold(name.clone(), |line, member| {
                    format!("{line} {}={}", member.name, write(&member.input, member.value(row)))
                })
            };
            rows.iter().map(row).collect::<Vec<_>>().join("\n")
        }
        (_, value) => plain(value),
    }
}

/// `90s`, `15m`, `24h`, `7d`; `0` means nothing.
fn span(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    let number: u64 = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(unit).map(Duration::from_secs)
}

/// What a line of text means; no text is null.
fn parse(input: &Input, text: &str, now: UnixMs) -> Result<Value, String> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    match input {
        Input::Credits => {
            text.parse::<Credits>().map(|amount| amount.0.into()).map_err(|error| error.to_string())
        }
        Input::Number => {
            text.parse::<i64>().map(Value::from).map_err(|_| format!("expected a whole number, got {text:?}"))
        }
        Input::Moment if text == "never" => Ok(Value::Null),
        Input::Moment => {
            let ahead = span(text).map(|span| Moment(now.plus(span)));
            let moment = ahead.map_or_else(|| Moment::parse(text), Ok);
            moment
                .map(|moment| moment.0.to_string().into())
                .map_err(|error| format!("{error}; or a time from now such as 30d"))
        }
        Input::Span => {
            let span = span(text).and_then(|span| u64::try_from(span.as_millis()).ok());
            span.map(Value::from).ok_or_else(|| format!("expected a time such as 24h or 7d, got {text:?}"))
        }
        Input::Flag => Ok(Value::Bool(true)),
        Input::Json => serde_json::from_str(text).map_err(|error| format!("expected JSON: {error}")),
        Input::Lines => {
            let words = text.split(|letter: char| letter == ',' || letter.is_whitespace());
            Ok(words.filter(|word| !word.is_empty()).collect())
        }
        Input::Rows(members) => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let rows: Result<Map<String, Value>, String> =
                lines.map(|line| row(members, line, now)).collect();
            rows.map(Value::Object)
        }
        Input::Choice(words) if words.iter().all(|word| word != text) => {
            Err(format!("expected one of {}, got {text:?}", words.join(", ")))
        }
        Input::Line | Input::Choice(_) | Input::Some(_) => Ok(text.into()),
    }
}

/// A name and its members, of which the first letters are enough. The others are null.
fn row(members: &[Control], line: &str, now: UnixMs) -> Result<(String, Value), String> {
    let names: Vec<String> = members.iter().map(|member| format!("{}=1", member.name)).collect();
    let wrong = || format!("expected such as model {}, got {line:?}", names.join(" "));
    let mut words = line.split_whitespace();
    let name = words.next().ok_or_else(wrong)?.to_owned();
    let mut object: Map<String, Value> =
        members.iter().map(|member| (member.name.clone(), Value::Null)).collect();
    let before = object.clone();
    for word in words {
        let (start, value) = word.split_once('=').ok_or_else(wrong)?;
        let member = members
            .iter()
            .find(|member| !start.is_empty() && member.name.starts_with(start))
            .ok_or_else(wrong)?;
        object.insert(member.name.clone(), parse(&member.input, value, now).map_err(|_| wrong())?);
    }
    if object == before { Err(wrong()) } else { Ok((name, Value::Object(object))) }
}

impl Control {
    /// Its value in an object.
    fn value<'v>(&self, object: &'v Value) -> &'v Value {
        self.path.iter().fold(object, |object, part| &object[part.as_str()])
    }

    fn read(&self, form: &Form, now: UnixMs) -> Result<Value, String> {
        match &self.input {
            Input::Flag => Ok((form.text(&self.name) == "true").into()),
            Input::Some(words) => {
                let chosen: Vec<&str> =
                    form.all(&self.name).filter(|word| words.iter().any(|known| known == word)).collect();
                Ok(if chosen.len() == words.len() { Value::Array(Vec::new()) } else { chosen.into() })
            }
            Input::Line if !self.nullable => Ok(form.text(&self.name).into()),
            input => parse(input, form.text(&self.name), now),
        }
    }

    fn show(&self, form: &Form, problems: &Problems) -> Markup {
        let Self { name, label, help, required, .. } = self;
        let value = form.text(name);
        match &self.input {
            Input::Flag => html! {
                label.check { input type="checkbox" name=(name) value="true" checked[value == "true"]; " " (label) }
                @if !help.is_empty() { p.help { (help) } }
            },
            Input::Choice(words) => {
                let options: Vec<(&str, &str)> =
                    words.iter().map(|word| (word.as_str(), word.as_str())).collect();
                html! {
                    (select(name, label, &options, value))
                    @if let Some(problem) = problems.of(name) { p.problem { (problem) } }
                }
            }
            Input::Some(words) => {
                let chosen: Vec<&str> = form.all(name).collect();
                html! {
                    fieldset {
                        legend { (label) }
                        @for word in words {
                            label.check {
                                input type="checkbox" name=(name) value=(word) checked[chosen.is_empty() || chosen.contains(&word.as_str())];
                                " " (word)
                            }
                        }
                    }
                }
            }
            Input::Lines | Input::Rows(_) | Input::Json => lines(name, label, help, value, problems),
            Input::Line | Input::Credits | Input::Number | Input::Moment | Input::Span => {
                let decimal = matches!(self.input, Input::Credits | Input::Number);
                Field { name, label, help, value, required: *required, decimal }.show(problems)
            }
        }
    }
}

/// What of a body says anything: an object to be made has no nulls and no empty texts.
pub(crate) fn given(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, given(value)));
            let is_given = |value: &Value| match value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Object(inside) => !inside.is_empty(),
                _ => true,
            };
            members.filter(|(_, value)| is_given(value)).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}
