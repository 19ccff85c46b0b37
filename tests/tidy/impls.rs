//! A type has its own methods in four files at most: one with methods in more is a global variable that every one of them may
//! change. Implementations of traits are left out, and so are tests.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ItemEnum, ItemImpl, ItemMod, ItemStruct, Type};

use crate::circles::{Crate, Module, crate_folders, declared_in, is_test, own_files, parse};
use crate::{assert_none, shown};

/// Most files with methods of one type.
const MOST_FILES: usize = 4;

/// The types that a file declares, and those that it has methods of.
#[derive(Default)]
struct Types {
    declared: BTreeSet<String>,
    with_methods: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.declared.insert(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.declared.insert(item.ident.to_string());
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if let (None, Type::Path(path)) = (&item.trait_, &*item.self_ty) {
            self.with_methods.extend(path.path.segments.last().map(|last| last.ident.to_string()));
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

#[test]
fn no_type_has_methods_in_more_than_four_files() {
    let mut broken = Vec::new();
    for folder in crate_folders() {
        let spread = spread(&own_files(&folder)).into_iter();
        let many = spread.filter(|(_, count)| *count > MOST_FILES);
        broken.extend(many.map(|((_, name), count)| format!("{}: {name} in {count} files", shown(&folder))));
    }
    assert_none("types with methods in more than four files", &broken);
}

#[test]
fn methods_are_counted_by_type_and_traits_and_tests_are_not() {
    let check = |files: &[(&str, &str)], expected: &[(&str, usize)]| {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let found: Vec<(String, usize)> = spread(&files)
            .into_iter()
            .map(|((module, name), count)| ([module.join("/"), name].join(" "), count))
            .collect();
        let expected: Vec<(String, usize)> =
            expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        assert_eq!(found, expected);
    };
    let face = ("lib.rs", "mod a; mod b; mod c; pub use a::A;");
    let a = ("a.rs", "pub struct A; impl A { fn a() {} } impl A {}");
    check(&[face, a], &[("a A", 1)]);
    check(&[face, a, ("b.rs", "use crate::A; impl A {}")], &[("a A", 2)]);
    check(&[face, a, ("b.rs", "struct A<T>(T); impl<T> A<T> {}")], &[("a A", 1), ("b A", 1)]);
    check(&[face, ("b.rs", "use crate::A; impl Drop for A { fn drop(&mut self) {} }")], &[]);
    check(&[face, a, ("c.rs", "#[cfg(test)] mod tests { use crate::A; impl A {} }")], &[("a A", 1)]);
}

/// In how many files each type has methods, by the file that declares it.
fn spread(files: &[(String, String)]) -> BTreeMap<(Module, String), usize> {
    let parsed: Crate = files.iter().map(|(path, text)| parse(path, text)).collect();
    let mut spread = BTreeMap::new();
    for (path, text) in files {
        let (module, file) = parse(path, text);
        let mut types = Types::default();
        types.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
        for name in types.with_methods {
            let import = file.imports.iter().find(|import| import.last() == Some(&name));
            let import = import.filter(|_| !types.declared.contains(&name));
            let owner = import.and_then(|import| declared_in(&parsed, &module, import, 0));
            *spread.entry((owner.unwrap_or_else(|| module.clone()), name)).or_default() += 1;
        }
    }
    spread
}
