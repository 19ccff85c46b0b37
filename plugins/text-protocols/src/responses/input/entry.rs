//! One item of a conversation, and where it stands in the request.

use crate::check::{Checked, objects};
use crate::json::{Object, Raw};
use crate::path::Path;

/// The member in which the host writes the items before `input`.
pub(crate) const HISTORY: &str = "history";
pub(crate) const INPUT: &str = "input";

/// An item that has not been read yet.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) list: &'static str,
    pub(crate) at: usize,
    pub(crate) item: Object<'a>,
}

impl<'a> Entry<'a> {
    /// The items of a list.
    pub(crate) fn list(list: &'static str, raw: Raw<'a>) -> Checked<Vec<Self>> {
        let all = objects(&Path::BRACKETED.key(list), raw)?;
        Ok(all.into_iter().enumerate().map(|(at, item)| Self { list, at, item }).collect())
    }

    /// Its path, as a client reads it.
    pub(crate) fn name(&self) -> String {
        format!("{}[{}]", self.list, self.at)
    }

    /// Reads a part of it under its path.
    pub(crate) fn at<T>(&self, read: impl FnOnce(&Path<'_>, &Object<'a>) -> T) -> T {
        let list = Path::BRACKETED.key(self.list);
        read(&list.index(self.at), &self.item)
    }

    /// Its kind: the `type`, or what an item without one is.
    pub(crate) fn kind(&self) -> String {
        match self.item.text("type") {
            Some(kind) => kind.into_owned(),
            None if self.item.get("role").is_some() => "message".to_owned(),
            None if self.item.get("id").is_some() => "item_reference".to_owned(),
            None => String::new(),
        }
    }

    /// A text of it that is not empty; some clients write an empty one for none.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.item.text(name).filter(|text| !text.is_empty()).map(|text| text.into_owned())
    }
}
