//! The operator's document: parsed once, merged over the defaults of the families, overridden from the environment,
//! and read into typed sections. It knows the line of every value, for error messages, and the earlier names of
//! keys, which are still read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Origin};
use crate::environment::OVERRIDE;

/// One text and where its keys are.
#[derive(Clone)]
struct Text<'a> {
    name: &'a str,
    text: &'a str,
    spans: BTreeMap<String, Range<usize>>,
}

/// Keys under their earlier names: earlier path, current path. Both are in the same table.
pub(super) const RENAMED: [(&str, &str); 2] =
    [("plugins.watch", "plugins.canary"), ("server.leave_ms", "server.lame_duck_ms")];

/// Sections whose entries are independent of each other.
const ENTRIES: [&str; 3] = ["models", "prices", "providers"];

/// A document, the defaults under it and the overrides on top.
#[derive(Clone)]
pub(super) struct Document<'a> {
    own: Text<'a>,
    /// The defaults that came with installed families.
    installed: Vec<Text<'a>>,
    root: DeTable<'a>,
    variables: BTreeMap<String, String>,
}

impl<'a> Document<'a> {
    /// Parses `text`; `name` is the file's name in error messages.
    pub(super) fn parse(name: &'a str, text: &'a str) -> Result<Self, ConfigError> {
        let (mut root, errors) = DeTable::parse_recoverable(text);
        let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        if let Some(error) = errors.iter().min_by_key(|error| start(error)) {
            // Only the first: later ones are often its consequence.
            return Err(ConfigError::of_syntax(name, text, error));
        }
        let mut spans = BTreeMap::new();
        record_spans(&mut spans, "", root.get_ref());
        if let Some(old) = rename(root.get_mut()) {
            let new = current(old.to_owned());
            let span = spans.get(&new).cloned().unwrap_or_default();
            let problem = format!("`{old}` is the earlier name of `{new}`; keep one of the two");
            return Err(ConfigError::from_service(Origin::in_text(name, text, span), &new, &problem));
        }
        let own = Text { name, text, spans };
        Ok(Self { own, installed: Vec::new(), root: root.into_inner(), variables: BTreeMap::new() })
    }

    /// Merges `defaults` (a family's own document) under this one. The operator's values win: a price or a provider's
    /// key respans the default whole, because a merged `auth` table would be neither of the two.
    pub(super) fn add_defaults(&mut self, defaults: &DeTable<'a>) {
        for (section, value) in defaults {
            fill(&mut self.root, section, value, depth_of(section.get_ref()));
        }
    }

    /// The same for the defaults of an installed family, whose errors name their own file.
    pub(super) fn add_installed(&mut self, defaults: &Document<'a>) {
        self.add_defaults(&defaults.root);
        self.installed.push(defaults.own.clone());
    }

    /// The tables of the document.
    pub(super) fn root(&self) -> &DeTable<'a> {
        &self.root
    }

    /// `name:line` of a key that the operator set, or the variable.
    pub(super) fn setter(&self, path: &str) -> Option<String> {
        self.mentions(path).then(|| self.origin(path, None).place())
    }

    /// The same document with every default of `defaults`, at any depth, filled in.
    pub(super) fn over(&self, defaults: &DeTable<'a>) -> Self {
        let mut root = self.root.clone();
        for (key, value) in defaults {
            fill(&mut root, key, value, u8::MAX);
        }
        self.with_root(root)
    }

    fn with_root(&self, root: DeTable<'a>) -> Self {
        Self { root, ..self.clone() }
    }

    /// Takes out every provider that has accounts and no `base_url`, which a family would bring that is not installed.
    /// Returns their names.
    pub(super) fn take_providers_without_address(&mut self) -> Vec<String> {
        let Some(DeValue::Table(providers)) = self.root.get_mut("providers").map(Spanned::get_mut) else {
            return Vec::new();
        };
        let is_without = |provider: &DeValue<'_>| {
            provider.as_table().is_some_and(|it| it.contains_key("accounts") && !it.contains_key("base_url"))
        };
        let without = providers.iter().filter(|(_, provider)| is_without(provider.get_ref()));
        let names: Vec<String> = without.map(|(name, _)| name.get_ref().to_string()).collect();
        names.iter().for_each(|name| drop(providers.remove(name.as_str())));
        names
    }

    /// Gives every provider a table of accounts. A family's default provider has none, and is unused until the
    /// operator adds one.
    pub(super) fn give_accounts(&mut self) {
        let Some(DeValue::Table(providers)) = self.root.get_mut("providers").map(Spanned::get_mut) else {
            return;
        };
        for (_, provider) in providers.iter_mut() {
            if let DeValue::Table(provider) = provider.get_mut() {
                let key = Spanned::new(0..0, Cow::Borrowed("accounts"));
                provider.entry(key).or_insert_with(|| Spanned::new(0..0, DeValue::Table(DeTable::new())));
            }
        }
    }

    /// Whether the operator set `path`, in the file or in the environment.
    pub(super) fn mentions(&self, path: &str) -> bool {
        let inside = |known: &String| {
            known == path || known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
        };
        self.own.spans.keys().chain(self.variables.keys()).any(inside)
    }

    /// Overrides values from the environment's variables.
    pub(super) fn override_from(&mut self, environment: &'a [(String, String)]) {
        for (variable, text) in environment {
            let Some(rest) = variable.strip_prefix(OVERRIDE) else { continue };
            let path = current(rest.to_lowercase().replace("__", "."));
            set(&mut self.root, &path, scalar(text));
            self.variables.insert(path, variable.clone());
        }
    }

    /// Reads the whole into `T`, a struct of sections that may each be absent. Where that fails: what could be read, and
    /// the errors of every other section, or of every other entry of the sections that are lists of entries.
    pub(super) fn read_parts<T: DeserializeOwned + Default>(&self) -> (T, Vec<ConfigError>) {
        let whole = match self.read() {
            Ok(read) => return (read, Vec::new()),
            Err(error) => error,
        };
        let (mut sound, mut errors) = (self.clone(), Vec::new());
        for (section, entry) in self.parts() {
            if let Err(error) = self.only(&section, entry.as_deref()).read::<T>() {
                errors.push(error);
                sound.remove(&section, entry.as_deref());
            }
        }
        if errors.is_empty() {
            errors.push(whole);
        }
        (sound.read().unwrap_or_default(), errors)
    }

    /// The names of every section, or of every entry of it where they are independent.
    fn parts(&self) -> Vec<(String, Option<String>)> {
        let mut parts = Vec::new();
        for (section, value) in &self.root {
            let section = section.get_ref().to_string();
            match value.get_ref() {
                DeValue::Table(table) if ENTRIES.contains(&section.as_str()) => {
                    let names = table.keys().map(|name| name.get_ref().to_string());
                    parts.extend(names.map(|name| (section.clone(), Some(name))));
                }
                _ => parts.push((section, None)),
            }
        }
        parts
    }

    /// The same document with that section alone, or with that entry of it alone.
    fn only(&self, section: &str, entry: Option<&str>) -> Self {
        let named = self.root.iter().filter(|(name, _)| name.get_ref() == section);
        let mut root: DeTable<'a> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Some(entry) = entry
            && let Some(DeValue::Table(table)) = root.get_mut(section).map(Spanned::get_mut)
        {
            *table = table.remove_entry(entry).into_iter().collect();
        }
        self.with_root(root)
    }

    /// Takes a section out, or one entry of it.
    fn remove(&mut self, section: &str, entry: Option<&str>) {
        let Some(entry) = entry else {
            self.root.remove(section);
            return;
        };
        if let Some(DeValue::Table(table)) = self.root.get_mut(section).map(Spanned::get_mut) {
            table.remove(entry);
        }
    }

    /// Whether the document, its defaults included, has an entry of that name in a section, be it right or wrong.
    pub(super) fn has_entry(&self, section: &str, entry: &str) -> bool {
        let table = self.root.get(section).and_then(|section| section.get_ref().as_table());
        table.is_some_and(|table| table.contains_key(entry))
    }

    /// Reads one section; its default where it is not there. All others may be anything.
    pub(super) fn section<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ConfigError> {
        let mut read: BTreeMap<String, T> = self.only(name, None).read()?;
        Ok(read.remove(name).unwrap_or_default())
    }

    /// Reads one entry of a section; its default where it is not there. All others may be anything.
    pub(super) fn entry<T: DeserializeOwned + Default>(
        &self,
        section: &str,
        name: &str,
    ) -> Result<T, ConfigError> {
        let mut read: BTreeMap<String, BTreeMap<String, T>> = self.only(section, Some(name)).read()?;
        let entry = read.remove(section).and_then(|mut entries| entries.remove(name));
        Ok(entry.unwrap_or_default())
    }

    /// Reads the whole into `T`.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        let whole = Spanned::new(0..self.own.text.len(), self.root.clone());
        let reader = toml::Deserializer::from(whole);
        serde_path_to_error::deserialize(reader).map_err(|error| {
            let path = match error.path().to_string() {
                path if path == "." => String::new(),
                path => path,
            };
            let origin = self.origin(&path, error.inner().span());
            ConfigError::from_parser(origin, &path, error.inner().message())
        })
    }

    /// The error that a service found in the value at `path`.
    pub(super) fn error_at(&self, path: &str, message: &str) -> ConfigError {
        ConfigError::from_service(self.origin(path, None), path, message)
    }

    /// The origin of `path`, or of the nearest table around it.
    fn origin(&self, path: &str, span: Option<Range<usize>>) -> Origin {
        if let Some(variable) = around(path).find_map(|path| self.variables.get(path)) {
            return Origin::Variable(variable.clone());
        }
        let whole = |text: &'_ Text<'a>| text.spans.contains_key(path);
        // A value that the operator left to the defaults has its line there.
        let source = self.installed.iter().find(|one| !whole(&self.own) && whole(one)).unwrap_or(&self.own);
        let Text { name, text, spans } = source;
        let Some((found, span_of_key)) = around(path).find_map(|path| Some((path, spans.get(path)?))) else {
            return Origin::Absent((*name).to_owned());
        };
        // A parser's span is finer than a key's, but only valid for a key of the operator's file.
        let span = span.filter(|span| !span.is_empty() && (found == path || span.start >= span_of_key.start));
        Origin::in_text(name, text, span.unwrap_or_else(|| span_of_key.clone()))
    }
}

/// `a.b[0]`, `a.b`, `a`.
fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rfind(['.', '[']).map(|end| &path[..end]))
}

/// How many tables down an operator's value replaces a default of that section whole.
pub(super) fn depth_of(section: &str) -> u8 {
    if matches!(section, "providers" | "plugins") { 2 } else { 1 }
}

/// `path` with the current names.
fn current(path: String) -> String {
    let renamed = RENAMED.iter().find_map(|(old, new)| {
        let rest = path.strip_prefix(old)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{new}{rest}"))
    });
    renamed.unwrap_or(path)
}

/// Moves values to their current keys. A value whose current key is set too stays, and its earlier path is returned.
fn rename(root: &mut DeTable<'_>) -> Option<&'static str> {
    RENAMED.iter().find_map(|(old, new)| {
        let ((outer, old_key), (_, new_key)) = (old.rsplit_once('.')?, new.rsplit_once('.')?);
        let Some(DeValue::Table(table)) = root.get_mut(outer).map(Spanned::get_mut) else { return None };
        if table.contains_key(old_key) && table.contains_key(new_key) {
            return Some(*old);
        }
        let (key, value) = table.remove_entry(old_key)?;
        table.insert(Spanned::new(key.span(), Cow::Borrowed(new_key)), value);
        None
    })
}

fn record_spans(spans: &mut BTreeMap<String, Range<usize>>, outer: &str, table: &DeTable<'_>) {
    for (key, value) in table {
        let path =
            if outer.is_empty() { key.get_ref().to_string() } else { format!("{outer}.{}", key.get_ref()) };
        if let Some(inner) = value.get_ref().as_table() {
            record_spans(spans, &path, inner);
        }
        for (number, item) in value.get_ref().as_array().into_iter().flatten().enumerate() {
            if let Some(inner) = item.get_ref().as_table() {
                let path = format!("{path}[{number}]");
                record_spans(spans, &path, inner);
                spans.insert(path, item.span());
            }
        }
        spans.insert(current(path), key.span());
    }
}

fn fill<'a>(table: &mut DeTable<'a>, key: &Spanned<Cow<'a, str>>, value: &Spanned<DeValue<'a>>, depth: u8) {
    match (table.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref()) {
        (None, _) => {
            table.insert(key.clone(), value.clone());
        }
        (Some(DeValue::Table(own)), DeValue::Table(defaults)) if depth > 0 => {
            for (key, value) in defaults {
                fill(own, key, value, depth - 1);
            }
        }
        (Some(_), _) => {}
    }
}

fn set<'a>(table: &mut DeTable<'a>, path: &str, value: DeValue<'a>) {
    let key = |name: &str| Spanned::new(0..0, Cow::Owned(name.to_owned()));
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(key(path), Spanned::new(0..0, value));
        return;
    };
    let inner = table.entry(key(first)).or_insert_with(|| Spanned::new(0..0, DeValue::Table(DeTable::new())));
    if inner.get_ref().as_table().is_none() {
        *inner.get_mut() = DeValue::Table(DeTable::new());
    }
    if let DeValue::Table(inner) = inner.get_mut() {
        set(inner, rest, value);
    }
}

/// A number, a bool, a list or a quoted string where the text parses as one, else the text itself.
fn scalar(text: &str) -> DeValue<'_> {
    DeValue::parse(text).map_or(DeValue::String(Cow::Borrowed(text)), Spanned::into_inner)
}
