//! Imports between the folders of one crate form no circle; the files of one folder may know each other.
//!
//! An arrow goes from a file to the file that declares what it imports; re-exports of `lib.rs` and `mod.rs` are
//! followed to their source. A face that only re-exports its own children draws no arrow. Test modules are left out. Arrows
//! are compared level by level: the children of one folder, files and folders, form no circle that a folder is part of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

use crate::{assert_none, files_below, root};

/// Folders that are one crate each, below the top of the tree.
const SOURCES: &[&str] = &["host", "plugins", "sdk", "tests"];
/// Longest row of re-exports that is followed.
const MAX_HOPS: u32 = 8;

/// One file: what it imports, and what it re-exports by name.
#[derive(Default)]
pub(crate) struct File {
    is_face: bool,
    pub(crate) imports: Vec<Vec<String>>,
    exports: BTreeMap<String, Vec<String>>,
}

/// A module path, such as `["exec", "threads"]`.
pub(crate) type Module = Vec<String>;

/// The files of a crate.
pub(crate) type Crate = BTreeMap<Module, File>;

/// What imports what.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn no_two_folders_import_each_other() {
    let mut found = Vec::new();
    for folder in crate_folders() {
        let circles = circles_of_folders(&arrows(&read_crate(&folder)));
        found
            .extend(circles.iter().map(|circle| format!("{}: {}", crate::shown(&folder), circle.join(", "))));
    }
    assert_none("import circles between folders of a crate", &found);
}

#[test]
fn a_circle_is_found_between_folders_and_through_a_re_export() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let files = files.iter().map(|(path, text)| parse(path, text)).collect();
        let found: Vec<String> =
            circles_of_folders(&arrows(&files)).iter().map(|circle| circle.join(" ")).collect();
        assert_eq!(found, expected);
    };
    let face = ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::B;");
    let (a, b) = (("a/mod.rs", "mod d; use crate::B; struct A;"), ("b.rs", "use crate::{A, c::C};"));
    let d = ("a/d.rs", "use super::A;");
    check(&[face, a, d, b], &["a b"]);
    check(&[face, ("a.rs", "use crate::B; struct A;"), b], &[]);
    check(&[face, a, d, ("b.rs", "struct B;")], &[]);
    check(&[face, ("a/mod.rs", "mod d; struct A;"), ("a/d.rs", "use crate::B;"), b], &["a b"]);
    check(&[face, ("a/mod.rs", "mod d; struct A;"), d], &[]);
    let nested = [
        ("a/d/mod.rs", "use crate::a::e::E;"),
        ("a/e/f.rs", "use crate::a::d::D;"),
        ("a/e/mod.rs", "mod f;"),
    ];
    check(&[&[face, ("a/mod.rs", "mod d; mod e;")][..], &nested].concat(), &["a/d a/e"]);
    let in_tests = "#[cfg(test)] mod tests { use crate::A; } struct B;";
    check(&[face, a, d, ("b.rs", in_tests)], &[]);
}

/// Every folder that holds the sources of one crate.
pub(crate) fn crate_folders() -> BTreeSet<PathBuf> {
    let roots = SOURCES.iter().flat_map(|folder| files_below(&root().join(folder), "rs"));
    roots
        .filter(|path| path.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs"))
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect()
}

/// The files below a folder by their paths in it, but for tests and those of crates inside it.
pub(crate) fn own_files(folder: &Path) -> Vec<(String, String)> {
    let inside: Vec<PathBuf> =
        crate_folders().into_iter().filter(|other| other != folder && other.starts_with(folder)).collect();
    let own = files_below(folder, "rs")
        .into_iter()
        .filter(|path| !inside.iter().any(|other| path.starts_with(other)));
    let sources = own.filter_map(|path| {
        let below = path.strip_prefix(folder).expect("a path below its folder").display().to_string();
        let is_test = below.split('/').any(|part| part == "tests") || below.ends_with("tests.rs");
        let text = || std::fs::read_to_string(&path).expect("a readable file");
        (!is_test && !below.contains("fixtures/")).then(|| (below, text()))
    });
    sources.collect()
}

fn read_crate(folder: &Path) -> Crate {
    own_files(folder).iter().map(|(path, text)| parse(path, text)).collect()
}

/// Whether an item is compiled for tests alone.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

pub(crate) fn parse(path: &str, text: &str) -> (Module, File) {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_face = module.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str()));
    if is_face {
        module.pop();
    }
    let mut file = File { is_face, ..File::default() };
    file.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
    (module, file)
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_export = !matches!(item.vis, Visibility::Inherited);
        self.take(&item.tree, &mut Vec::new(), is_export);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 && ["crate", "super"].contains(&names[0].as_str()) {
            self.imports.push(names);
        }
        visit::visit_path(self, path);
    }
}

impl File {
    fn take(&mut self, tree: &UseTree, before: &mut Vec<String>, is_export: bool) {
        let depth = before.len();
        let (last, shown_as) = match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.take(&path.tree, before, is_export);
                before.truncate(depth);
                return;
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.take(tree, before, is_export));
                return;
            }
            UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
            UseTree::Glob(_) => ("*".to_owned(), "*".to_owned()),
        };
        let path: Vec<String> = before.iter().cloned().chain([last]).collect();
        if is_export {
            self.exports.insert(shown_as, path.clone());
        }
        self.imports.push(path);
    }
}

/// Each file's arrows to other files of its crate.
fn arrows(files: &Crate) -> Arrows {
    let mut arrows = Arrows::new();
    for (module, file) in files {
        let re_exports: BTreeSet<&Vec<String>> = file.exports.values().collect();
        let targets = file.imports.iter().filter_map(|path| {
            let target = declared_in(files, module, path, 0)?;
            let own_child = file.is_face && target.starts_with(module) && re_exports.contains(path);
            (target != *module && !own_child).then_some(target)
        });
        arrows.insert(module.clone(), targets.collect::<BTreeSet<_>>());
    }
    arrows
}

/// The file that declares what `path` names when `module` imports it; `None` outside the crate.
pub(crate) fn declared_in(files: &Crate, module: &[String], path: &[String], hops: u32) -> Option<Module> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let full: Module = match path.first().map(String::as_str)? {
        "crate" => path[1..].to_vec(),
        "self" => [module, &path[1..]].concat(),
        "super" => [&module[..module.len().checked_sub(ups)?], &path[ups..]].concat(),
        _ => {
            let full = [module, path].concat();
            files.contains_key(&full[..=module.len()]).then_some(full)?
        }
    };
    let known = (0..=full.len()).rev().find(|&length| files.contains_key(&full[..length]))?;
    let (holder, rest) = full.split_at(known);
    let export = rest.first().and_then(|name| files[holder].exports.get(name));
    export
        .filter(|_| hops < MAX_HOPS)
        .and_then(|export| declared_in(files, holder, export, hops + 1))
        .or_else(|| Some(holder.to_vec()))
}

/// The circles among the children of each folder, those of files alone left out.
fn circles_of_folders(arrows: &Arrows) -> Vec<Vec<String>> {
    let is_folder =
        |module: &Module| arrows.keys().any(|other| other.len() > module.len() && other.starts_with(module));
    let mut levels: BTreeMap<Module, Arrows> = BTreeMap::new();
    for (from, to) in arrows.iter().flat_map(|(from, targets)| targets.iter().map(move |to| (from, to))) {
        let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
        // A folder and what is in it are one.
        if let (Some(from), Some(to)) = (from.get(..=common), to.get(..=common)) {
            let level = levels.entry(from[..common].to_vec()).or_default();
            level.entry(from.to_vec()).or_default().insert(to.to_vec());
            level.entry(to.to_vec()).or_default();
        }
    }
    let found = levels.values().flat_map(circles);
    let with_folders = found.filter(|circle| circle.iter().any(is_folder));
    with_folders.map(|circle| circle.iter().map(|module| module.join("/")).collect()).collect()
}

/// Groups of modules that reach each other: strongly connected components of more than one module.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|module| (module, reachable(arrows, module))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for module in arrows.keys() {
        if found.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let back = reached[module].iter().filter(|other| reached[**other].contains(module));
        let circle: BTreeSet<Module> = back.map(|other| (*other).clone()).collect();
        if !circle.is_empty() {
            found.push(circle);
        }
    }
    found
}

fn reachable<'a>(arrows: &'a Arrows, from: &Module) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Module> = arrows[from].iter().collect();
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            open.extend(arrows.get(module).into_iter().flatten());
        }
    }
    seen
}
