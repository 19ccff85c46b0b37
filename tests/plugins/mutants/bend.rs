//! Bodies as servers bend them: each place of a recorded answer in every wrong form, and the whole of it cut, wrapped or replaced.

use serde_json::{Map, Value};

/// What an error of a provider must not show to a client.
pub(super) const SECRETS: [&str; 3] = ["2100778899", "console.example.com", "sk-live-77"];

/// What is put in the place of a whole body: none of them has an answer.
pub(super) const NO_ANSWERS: [&str; 9] = [
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
    r#"{"error":{"code":"InvalidSubscription","message":"account 2100778899 has no subscription, see https://console.example.com/pay","type":"Forbidden"}}"#,
    r#"{"error":"account 2100778899: key sk-live-77 is not known"}"#,
    r#"{"type":"error","error":{"type":"api_error","message":"account 2100778899: out of order"}}"#,
    r#"{"code":500,"message":"account 2100778899: out of order","data":null}"#,
    r#"[{"error":{"code":503,"message":"account 2100778899: overloaded","status":"UNAVAILABLE"}}]"#,
    "",
    "null",
    "\"\"",
];

/// One way in which the value at a place is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bend {
    Absent,
    Null,
    /// A number or a switch as a text, a text as a number.
    OtherScalar,
    /// A list around a value, or the only one out of its list.
    OtherList,
    /// An object around a value, or a list as an object by numbers.
    OtherObject,
    /// One more member.
    Extra,
    /// The name in other letters.
    Case,
    /// The name twice, `null` first.
    Twice,
    /// A word that nobody knows.
    Unknown,
    Empty,
    /// Half of a character at the end of a text.
    Half,
}

pub(super) const BENDS: [Bend; 11] = [
    Bend::Absent,
    Bend::Null,
    Bend::OtherScalar,
    Bend::OtherList,
    Bend::OtherObject,
    Bend::Extra,
    Bend::Case,
    Bend::Twice,
    Bend::Unknown,
    Bend::Empty,
    Bend::Half,
];

/// A bent body.
#[derive(Debug)]
pub(super) struct Mutant {
    /// The JSON pointer of the place.
    pub(super) place: String,
    pub(super) bend: Bend,
    pub(super) body: String,
}

/// Every place of `whole` in every wrong form that differs from it.
pub(super) fn mutants(whole: &Value) -> Vec<Mutant> {
    let mut places = Vec::new();
    walk(whole, &mut String::new(), &mut places);
    let (mut all, plain) = (Vec::new(), whole.to_string());
    for place in places {
        for bend in BENDS {
            let mut body = String::new();
            write(whole, "", &place, bend, &mut body);
            if body != plain && !body.is_empty() {
                all.push(Mutant { place: place.clone(), bend, body });
            }
        }
    }
    all
}

fn walk(value: &Value, at: &mut String, places: &mut Vec<String>) {
    places.push(at.clone());
    let mut visit = |name: &str, value: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(name);
        walk(value, at, places);
        at.truncate(length);
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| visit(&number.to_string(), item));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| visit(name, member)),
        _ => {}
    }
}

/// Writes a value, with the place in its wrong form.
fn write(value: &Value, at: &str, place: &str, bend: Bend, out: &mut String) {
    if at == place && !matches!(bend, Bend::Absent | Bend::Case | Bend::Twice) {
        return out.push_str(&bent(value, bend));
    }
    let (open, close) = match value {
        Value::Array(_) => ('[', ']'),
        Value::Object(_) => ('{', '}'),
        _ => return out.push_str(&value.to_string()),
    };
    out.push(open);
    let begin = out.len();
    let separate = |out: &mut String| {
        if out.len() > begin {
            out.push(',');
        }
    };
    let listed = Map::default();
    let members = value.as_object().unwrap_or(&listed);
    let items = value.as_array().into_iter().flatten();
    for (number, item) in items.enumerate() {
        let inner = format!("{at}/{number}");
        if inner == place && bend == Bend::Absent {
            continue;
        }
        separate(out);
        write(item, &inner, place, bend, out);
    }
    for (name, member) in members {
        let inner = format!("{at}/{name}");
        let name = match (inner == place, bend) {
            (true, Bend::Absent) => continue,
            (true, Bend::Case) => name[..1].to_uppercase() + &name[1..],
            (true, Bend::Twice) => {
                separate(out);
                out.push_str(&format!("\"{name}\":null"));
                name.clone()
            }
            _ => name.clone(),
        };
        separate(out);
        out.push_str(&format!("\"{name}\":"));
        write(member, &inner, place, bend, out);
    }
    out.push(close);
}

fn bent(value: &Value, bend: Bend) -> String {
    match (bend, value) {
        (Bend::Null, _) => "null".to_owned(),
        (Bend::OtherScalar, Value::String(text)) => if text.is_empty() { "0" } else { "12" }.to_owned(),
        (Bend::OtherScalar, Value::Number(_) | Value::Bool(_)) => format!("\"{value}\""),
        (Bend::OtherList, Value::Array(items)) if items.len() == 1 => items[0].to_string(),
        (Bend::OtherList, Value::Object(_) | Value::String(_) | Value::Number(_)) => format!("[{value}]"),
        (Bend::OtherObject, Value::Array(items)) => {
            let members = items.iter().enumerate().map(|(number, item)| (number.to_string(), item.clone()));
            Value::Object(members.collect()).to_string()
        }
        (Bend::OtherObject, Value::String(_)) => format!(r#"{{"type":"text","text":{value}}}"#),
        (Bend::Extra, Value::Object(members)) => {
            let mut members = members.clone();
            members.insert("x_new_2027".to_owned(), serde_json::json!({"deep": [1, null, {"a": "b"}]}));
            Value::Object(members).to_string()
        }
        (Bend::Unknown, Value::String(text)) => Value::from(format!("{text}_2027")).to_string(),
        (Bend::Empty, Value::String(_)) => "\"\"".to_owned(),
        (Bend::Empty, Value::Array(_)) => "[]".to_owned(),
        (Bend::Empty, Value::Object(_)) => "{}".to_owned(),
        (Bend::Half, Value::String(_)) => {
            let text = value.to_string();
            format!("{}\\ud83d\"", &text[..text.len() - 1])
        }
        _ => value.to_string(),
    }
}
