//! What a provider's claims say of a person: a name for the audit record, and a role. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::Role;

/// Letters of a name that are kept.
const MAX_NAME: usize = 100;

/// Somebody the provider vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    /// For people, the log and the audit record.
    pub(crate) name: String,
    /// The highest role of its groups.
    pub(crate) role: Role,
}

/// The claims that OpenID Connect does not know by name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct MoreClaims {
    #[serde(flatten)]
    pub(super) all: Map<String, Value>,
}

impl openidconnect::AdditionalClaims for MoreClaims {}

/// The value of a claim; dots lead into objects, unless the name with its dots is a claim itself.
pub(super) fn claim<'v>(claims: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(found) = claims.get(path) {
        return Some(found);
    }
    let (outer, rest) = path.split_once('.')?;
    claim(claims.get(outer)?.as_object()?, rest)
}

/// The highest role among the groups that a claim lists; a text is one group.
pub(super) fn role_of(groups: &Value, roles: &BTreeMap<String, Role>) -> Option<Role> {
    let one = groups.as_str().into_iter();
    let many = groups.as_array().into_iter().flatten().filter_map(Value::as_str);
    one.chain(many).filter_map(|group| roles.get(group)).max().copied()
}

/// What a provider wrote, fit for a log line and a page: one line of bounded length.
pub(super) fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::config::sample;
    use super::*;

    /// Without it a person without a group could be let in, or an operator be a viewer.
    #[test]
    fn the_highest_role_of_the_groups_counts() {
        let roles = sample().roles;
        for (groups, expected) in [
            (json!(["support", "platform", "others"]), Some(Role::Operator)),
            (json!(["support"]), Some(Role::Viewer)),
            (json!("platform"), Some(Role::Operator)),
            (json!(["Platform", "plat", ""]), None),
            (json!([["platform"], {"platform": true}, 1]), None),
            (json!({"platform": true}), None),
            (json!([]), None),
            (json!(null), None),
        ] {
            assert_eq!(role_of(&groups, &roles), expected, "{groups}");
        }
    }

    #[test]
    fn a_claim_is_found_by_its_path() {
        let claims = json!({"groups": 1, "realm_access": {"roles": 2}, "https://x.example/groups": 3});
        let claims = claims.as_object().unwrap();
        for (path, expected) in [
            ("groups", Some(json!(1))),
            ("realm_access.roles", Some(json!(2))),
            ("https://x.example/groups", Some(json!(3))),
            ("groups.roles", None),
            ("realm_access.none", None),
            ("none", None),
        ] {
            assert_eq!(claim(claims, path).cloned(), expected, "{path}");
        }
    }

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(one_line("ada\n\u{1b}[31mroot"), "ada[31mroot");
        assert_eq!(one_line(&"x".repeat(500)).len(), MAX_NAME);
    }
}
