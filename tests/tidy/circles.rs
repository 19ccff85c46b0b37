//! Imports between the files of one crate form no circle.
//!
//! An arrow goes from a file to the file that declares what it imports; re-exports of `lib.rs` and `mod.rs` are
//! followed to their source. A face that only re-exports its own children draws no arrow. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

use crate::{assert_none, files_below, root};

/// Folders that are one crate each, below the top of the tree.
const SOURCES: &[&str] = &["host", "plugins", "sdk", "tests"];
/// Longest row of re-exports that is followed.
const MAX_HOPS: u32 = 8;

/// One file: what it imports, and what it re-exports by name.
#[derive(Default)]
struct File {
    path: String,
    is_face: bool,
    imports: Vec<Vec<String>>,
    exports: BTreeMap<String, Vec<String>>,
}

/// The files of a crate by module path, such as `["exec", "threads"]`.
type Crate = BTreeMap<Vec<String>, File>;

#[test]
fn no_two_files_import_each_other() {
    let mut broken = Vec::new();
    for folder in crate_folders() {
        let files = read_crate(&folder);
        for circle in circles(&arrows(&files)) {
            let names: Vec<&str> = circle.iter().map(|module| files[module].path.as_str()).collect();
            broken.push(format!("{}: {}", crate::shown(&folder), names.join(", ")));
        }
    }
    assert_none("import circles between the files of a crate", &broken);
}

#[test]
fn a_circle_is_found_through_a_re_export() {
    let circle = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, text)| parse(path, text)).collect();
        circles(&arrows(&files)).into_iter().map(|circle| circle.len()).collect::<Vec<_>>()
    };
    let face = ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::B;");
    assert_eq!(circle(&[face, ("a.rs", "use crate::B; struct A;"), ("b.rs", "use crate::{A, c::C};")]), [2]);
    assert_eq!(circle(&[face, ("a.rs", "struct A;"), ("b.rs", "use super::a::A; struct B;")]), [0; 0]);
    assert_eq!(circle(&[face, ("a.rs", "struct A(crate::b::B);"), ("b.rs", "use crate::A;")]), [2]);
    let in_tests = "#[cfg(test)] mod tests { use crate::A; } struct B;";
    assert_eq!(circle(&[face, ("a.rs", "use crate::B;"), ("b.rs", in_tests)]), [0; 0]);
}

/// Every folder that holds the sources of one crate.
fn crate_folders() -> BTreeSet<std::path::PathBuf> {
    let roots = SOURCES.iter().flat_map(|folder| files_below(&root().join(folder), "rs"));
    roots
        .filter(|path| path.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs"))
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect()
}

fn read_crate(folder: &Path) -> Crate {
    let sources = files_below(folder, "rs").into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let below = path.strip_prefix(folder).expect("a path below its folder").display().to_string();
        let is_test = below.split('/').any(|part| part == "tests") || below.ends_with("tests.rs");
        (!is_test && !below.contains("fixtures/")).then(|| parse(&below, &text))
    });
    sources.collect()
}

fn parse(path: &str, text: &str) -> (Vec<String>, File) {
    let mut module: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_face = module.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str()));
    if is_face {
        module.pop();
    }
    let mut file = File { path: path.to_owned(), is_face, ..File::default() };
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
        let is_test = attributes.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
        });
        if !is_test {
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
fn arrows(files: &Crate) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let mut arrows = BTreeMap::new();
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
fn declared_in(files: &Crate, module: &[String], path: &[String], hops: u32) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let full: Vec<String> = match path.first().map(String::as_str)? {
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

/// Groups of files that reach each other: strongly connected components of more than one file.
fn circles(arrows: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<BTreeSet<Vec<String>>> {
    let reached: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        arrows.keys().map(|module| (module, reachable(arrows, module))).collect();
    let mut found: Vec<BTreeSet<Vec<String>>> = Vec::new();
    for module in arrows.keys() {
        if found.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let back = reached[module].iter().filter(|other| reached[**other].contains(module));
        let circle: BTreeSet<Vec<String>> = back.map(|other| (*other).clone()).collect();
        if !circle.is_empty() {
            found.push(circle);
        }
    }
    found
}

fn reachable<'a>(
    arrows: &'a BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
    from: &Vec<String>,
) -> BTreeSet<&'a Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Vec<String>> = arrows[from].iter().collect();
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            open.extend(arrows.get(module).into_iter().flatten());
        }
    }
    seen
}
