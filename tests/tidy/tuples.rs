//! No parameter is a tuple in which two parts have one type: nothing says which is which where a function is called.
//!
//! Sizes in pixels are let off, which everybody gives width first. Tests are left out, but for fixtures.

use syn::visit::{self, Visit};
use syn::{FnArg, ItemMod, Signature, Type};

use crate::circles::{crate_folders, is_test, own_files};
use crate::{assert_none, shown};

/// What the rule is about: code that is shipped or built on.
const SOURCES: &[&str] = &["host/", "plugins/", "sdk/"];

/// The functions that break the rule.
#[derive(Default)]
struct Swappable(Vec<String>);

impl<'ast> Visit<'ast> for Swappable {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        if signature.inputs.iter().any(is_swappable) {
            self.0.push(signature.ident.to_string());
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_swappable(parameter: &FnArg) -> bool {
    let FnArg::Typed(parameter) = parameter else { return false };
    let Type::Tuple(tuple) = &*parameter.ty else { return false };
    let parts: Vec<&Type> = tuple.elems.iter().collect();
    let is_size = parts.len() == 2 && parts.iter().all(|part| is_named(part, "u32"));
    !is_size && parts.iter().enumerate().any(|(at, part)| parts[..at].contains(part))
}

fn is_named(part: &Type, name: &str) -> bool {
    matches!(part, Type::Path(path) if path.path.is_ident(name))
}

#[test]
fn no_parameter_is_a_tuple_with_one_type_twice() {
    let mut broken = Vec::new();
    for folder in crate_folders() {
        let name = shown(&folder);
        let is_source = SOURCES.iter().any(|source| name.starts_with(source)) && !name.contains("/tests/");
        if is_source {
            let files = own_files(&folder);
            let found = files.iter().flat_map(|(_, text)| swappable(text));
            broken.extend(found.map(|function| format!("{name}: {function}")));
        }
    }
    assert_none("functions with a tuple in which two parts have one type", &broken);
}

#[test]
fn a_tuple_is_seen_wherever_a_function_is() {
    for (text, expected) in [
        ("fn a((one, other): (u8, u8)) {}", &["a"][..]),
        ("struct S; impl S { fn a(&self, both: (&str, u8, &str)) {} }", &["a"]),
        ("trait T { fn a(both: (A<u8>, A<u8>)); }", &["a"]),
        ("fn a(both: (A<u8>, A<u16>), one: u8, other: u8) {}", &[]),
        ("fn a((width, height): (u32, u32)) {}", &[]),
        ("#[cfg(test)] mod tests { fn a(both: (u8, u8)) {} }", &[]),
    ] {
        assert_eq!(swappable(text), expected, "{text}");
    }
}

fn swappable(text: &str) -> Vec<String> {
    let mut found = Swappable::default();
    found.visit_file(&syn::parse_file(text).expect("a file of Rust"));
    found.0
}
