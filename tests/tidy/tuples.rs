//! No parameter is a tuple: what it holds are parameters, or the fields of a small struct. A tuple names its parts only inside the
//! function, and nothing says which is which where it is called.
//!
//! Sizes in pixels are let off, which everybody gives width first; and traits' functions where they are implemented, as `From`
//! is. Tests are left out.

use syn::visit::{self, Visit};
use syn::{FnArg, ItemImpl, ItemMod, Signature, Type};

use crate::circles::{crate_folders, is_test, own_files};
use crate::{assert_none, shown};

/// What the rule is about: code that is shipped or built on.
const SOURCES: &[&str] = &["host/", "plugins/", "sdk/"];

/// The functions that break the rule.
#[derive(Default)]
struct Tupled(Vec<String>);

impl<'ast> Visit<'ast> for Tupled {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        let is_tuple = |parameter: &FnArg| matches!(parameter, FnArg::Typed(typed) if is_tuple(&typed.ty));
        if signature.inputs.iter().any(is_tuple) {
            self.0.push(signature.ident.to_string());
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        // A trait of our own is seen where it is defined.
        if item.trait_.is_none() {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_tuple(kind: &Type) -> bool {
    match kind {
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Tuple(tuple) => {
            let is_size = tuple.elems.len() == 2 && tuple.elems.iter().all(|part| is_named(part, "u32"));
            !is_size && !tuple.elems.is_empty()
        }
        _ => false,
    }
}

fn is_named(part: &Type, name: &str) -> bool {
    matches!(part, Type::Path(path) if path.path.is_ident(name))
}

#[test]
fn no_parameter_is_a_tuple() {
    let mut broken = Vec::new();
    for folder in crate_folders() {
        let name = shown(&folder);
        let is_source = SOURCES.iter().any(|source| name.starts_with(source)) && !name.contains("/tests/");
        if is_source {
            for (file, text) in own_files(&folder) {
                broken.extend(tupled(&text).iter().map(|function| format!("{name}/{file}: {function}")));
            }
        }
    }
    assert_none("functions with a tuple among their parameters", &broken);
}

#[test]
fn a_tuple_is_seen_wherever_a_function_is() {
    for (text, expected) in [
        ("fn a((one, other): (u8, u8)) {}", &["a"][..]),
        ("struct S; impl S { fn a(&self, both: &(&str, u8)) {} }", &["a"]),
        ("trait T { fn a(both: (A<u8>, B)); }", &["a"]),
        ("impl From<(u8, A)> for S { fn from(both: (u8, A)) -> S {} }", &[]),
        ("fn a(both: A<(u8, u16)>, one: u8, other: u8, nothing: ()) {}", &[]),
        ("fn a((width, height): (u32, u32)) {}", &[]),
        ("#[cfg(test)] mod tests { fn a(both: (u8, u8)) {} }", &[]),
    ] {
        assert_eq!(tupled(text), expected, "{text}");
    }
}

fn tupled(text: &str) -> Vec<String> {
    let mut found = Tupled::default();
    found.visit_file(&syn::parse_file(text).expect("a file of Rust"));
    found.0
}
