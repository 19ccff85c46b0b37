//! What the texts of forms stand for and which fields may be lists, by the schemas of the families. Never reads a form.

use std::sync::Arc;

use gatehouse_model::{About, FormFields, FormTypes, FormValue, RouteInfo, SurfaceInfo};
use gatehouse_schema::{Field, Kind, Reader};

/// The forms of a family's route: those of its models.
pub(crate) fn of_route(about: &About, route: &RouteInfo) -> FormTypes {
    let usual = Arc::new(form_fields(about, &route.surface));
    let served = about.models.iter().filter(|model| model.surfaces.contains(&route.surface));
    let names = served.flat_map(|model| std::iter::once(&model.id).chain(&model.aliases));
    FormTypes { by_model: names.map(|name| (name.clone(), Arc::clone(&usual))).collect(), usual }
}

/// Whether a field of a surface may be a list. Where the schema does not say, any value may come.
#[must_use]
pub fn takes_list(surface: &SurfaceInfo, field: &str) -> bool {
    let fields = fields_of(&surface.schema);
    fields.iter().find(|own| own.name == field).is_none_or(|own| may_be_list(&own.kind))
}

fn may_be_list(kind: &Kind) -> bool {
    match kind {
        Kind::List { .. } | Kind::Json => true,
        Kind::Variants(forms) => forms.iter().any(|form| may_be_list(&form.kind)),
        _ => false,
    }
}

/// What the texts of a form stand for, by the schema of the surface.
fn form_fields(about: &About, surface: &str) -> FormFields {
    let schema = about.surfaces.iter().find(|own| own.name == surface).map(|own| own.schema.as_str());
    let fields = fields_of(schema.unwrap_or_default());
    fields.iter().map(|field| (field.name.clone(), form_value(&field.kind))).collect()
}

fn fields_of(schema: &str) -> Vec<Field> {
    let schema = serde_json::from_str(schema).unwrap_or_default();
    Reader::new(&schema).fields(&schema)
}

fn form_value(kind: &Kind) -> FormValue {
    let one = FormValue::default();
    match kind {
        Kind::Text { .. } | Kind::Json => FormValue::text(),
        Kind::Boolean => FormValue { boolean: true, ..one },
        Kind::Number { .. } => FormValue { number: true, ..one },
        Kind::Object(_) | Kind::Map(_) => FormValue { object: true, ..one },
        Kind::List { item, .. } => FormValue { items: Some(Box::new(form_value(item))), ..one },
        Kind::Variants(forms) => forms.iter().map(|form| form_value(&form.kind)).fold(one, FormValue::or),
        Kind::Choice(values) => FormValue {
            text: values.iter().any(|choice| choice.value.is_string()),
            boolean: values.iter().any(|choice| choice.value.is_boolean()),
            number: values.iter().any(|choice| choice.value.is_number()),
            ..one
        },
    }
}

/// Takes the fields of `model` for requests that name none.
pub(crate) fn prefer(forms: &mut FormTypes, model: &str) {
    if let Some(fields) = forms.by_model.get(model) {
        forms.usual = Arc::clone(fields);
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ModelInfo, specified_routes};
    use serde_json::{Value, json};

    use super::*;

    fn forms(model: &str, speed: Value) -> FormTypes {
        let route = RouteInfo { surface: "speak".to_owned(), form: true, ..specified_routes()[0].clone() };
        let schema = json!({"type": "object", "properties": {"speed": speed}}).to_string();
        let info = ModelInfo {
            id: model.to_owned(),
            aliases: vec![format!("{model}-latest")],
            surfaces: vec!["speak".to_owned()],
            modality: None,
        };
        let surface = SurfaceInfo { name: "speak".to_owned(), schema, ..SurfaceInfo::default() };
        let about = About { models: vec![info], surfaces: vec![surface], ..About::default() };
        of_route(&about, &route)
    }

    /// Without it a form would be read by the schema of another family than the one that its model belongs to.
    #[test]
    fn a_form_is_read_by_the_schema_of_its_models_family() {
        let mut all = forms("a", json!({"type": "number"}));
        all.by_model.extend(forms("b", json!({"type": "string"})).by_model);
        let is_number = |all: &FormTypes, model: Option<&str>| all.of(model)["speed"].number;
        assert!(is_number(&all, None) && is_number(&all, Some("a-latest")) && is_number(&all, Some("c")));
        assert!(!is_number(&all, Some("b-latest")));
        prefer(&mut all, "b");
        assert!(!is_number(&all, None));
    }

    #[test]
    fn a_schema_says_whether_a_field_may_be_a_list() {
        let list = json!({"type": "array", "items": {"type": "string"}});
        for (schema, expected) in [
            (json!({"type": "string"}), false),
            (json!({"type": ["string", "null"]}), false),
            (list.clone(), true),
            (json!({"anyOf": [{"type": "string"}, list]}), true),
            (json!(true), true),
        ] {
            let schema_of = json!({"type": "object", "properties": {"follows": schema}}).to_string();
            let surface = SurfaceInfo { schema: schema_of, ..SurfaceInfo::default() };
            assert_eq!(takes_list(&surface, "follows"), expected, "{schema}");
            assert!(takes_list(&surface, "other"));
        }
    }

    #[test]
    fn a_schema_says_what_a_field_may_be() {
        let number = FormValue { number: true, ..FormValue::default() };
        let list = |item: FormValue| FormValue { items: Some(Box::new(item)), ..FormValue::default() };
        for (schema, expected) in [
            (json!({"type": "integer"}), number.clone()),
            (json!({"type": "string"}), FormValue::text()),
            (json!({"enum": ["a", 1]}), number.clone().or(FormValue::text())),
            (json!({"type": "array", "items": {"type": "number"}}), list(number.clone())),
            (json!({"anyOf": [{"type": "string"}, {"type": "number"}]}), number.or(FormValue::text())),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
                FormValue::text().or(list(FormValue::text())),
            ),
        ] {
            assert_eq!(forms("a", schema.clone()).of(None)["speed"], expected, "{schema}");
        }
    }
}
