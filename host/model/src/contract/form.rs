//! What the texts of a form (`multipart/form-data`) stand for, by the schemas of the families that take one.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What a field of a form may be. Several at once are a union: a text that reads as one of the others is that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormValue {
    /// A text.
    pub text: bool,
    /// A number.
    pub number: bool,
    /// `true` or `false`.
    pub boolean: bool,
    /// An object, written as JSON.
    pub object: bool,
    /// A list of these, one a part; or one part with a list as JSON.
    pub items: Option<Box<FormValue>>,
}

/// The fields of a form. One that is not among them is a text.
pub type FormFields = BTreeMap<String, FormValue>;

/// The forms that one route takes: several families may serve it, each with its models and its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormTypes {
    /// Those of the family whose model is taken where a request names none.
    pub usual: Arc<FormFields>,
    /// Those of other families' models, by id and alias.
    pub by_model: BTreeMap<String, Arc<FormFields>>,
}

impl FormValue {
    /// A text alone.
    #[must_use]
    pub fn text() -> Self {
        Self { text: true, ..Self::default() }
    }

    /// Either of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let items = match (self.items, other.items) {
            (Some(one), Some(two)) => Some(Box::new(one.or(*two))),
            (one, two) => one.or(two),
        };
        Self {
            text: self.text || other.text,
            number: self.number || other.number,
            boolean: self.boolean || other.boolean,
            object: self.object || other.object,
            items,
        }
    }
}

impl FormTypes {
    /// The fields of a request for that model.
    #[must_use]
    pub fn of(&self, model: Option<&str>) -> &FormFields {
        model.and_then(|model| self.by_model.get(model)).unwrap_or(&self.usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_is_what_each_of_its_forms_is() {
        let number = FormValue { number: true, ..FormValue::default() };
        let list = |item: FormValue| FormValue { items: Some(Box::new(item)), ..FormValue::default() };
        let both = list(number.clone()).or(FormValue::text()).or(list(FormValue::text()));
        assert!(both.text && !both.number);
        assert_eq!(both.items.as_deref(), Some(&number.or(FormValue::text())));
    }
}
