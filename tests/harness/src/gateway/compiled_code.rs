//! Compiled code of the built-in plugins, kept below the target folder and hard-linked into the data folders of all tests.
//!
//! A file's name is its component and its engine, so code outlives a relinked binary, and code of another plugin or engine
//! is never taken. The first start of a binary holds a lock until its code is kept: nobody compiles a component twice.
//! Never touches a data folder that has plugins. What tests install they share in a folder of each test program, without a lock:
//! the code of a component is there once it is asked for, since a gateway removes code that it has no component of. What
//! commands and tests of families have compiled is in a cache like an author's, from which all of these begin.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use gatehouse_model::Digest;

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The start of a gateway on a new data folder.
pub struct CompiledCode {
    plugins: PathBuf,
    kept: Option<Kept>,
}

/// Where code is kept, and the binary that wants it.
struct Kept {
    folder: PathBuf,
    cache: PathBuf,
    /// What the code of that binary is, a line for each file; the first line is the binary's own.
    list: PathBuf,
    binary: String,
    /// Held from the start of a binary whose code is not known until it is.
    lock: Option<File>,
}

impl CompiledCode {
    /// Links what is kept into the new data folder `data`. Blocks while another gateway of this binary compiles.
    ///
    /// # Panics
    /// When the folders cannot be written.
    #[must_use]
    pub fn link_into(data: &Path, binary: &Path) -> Self {
        let plugins = data.join("plugins");
        let mut kept = if plugins.exists() { None } else { Kept::of(binary) };
        if let Some(kept) = &mut kept {
            let names = kept.names().unwrap_or_else(|| kept.lock());
            DirBuilder::new().recursive(true).mode(0o700).create(&plugins).expect("a folder for plugins");
            kept.link(&names, &plugins);
        }
        Self { plugins, kept }
    }

    /// Links what is kept of that binary into a data folder that lost it.
    ///
    /// # Panics
    /// When the folder cannot be written.
    pub fn link_again(data: &Path, binary: &Path) {
        let Some(kept) = Kept::of(binary) else { return };
        kept.link(&kept.names().unwrap_or_default(), &data.join("plugins"));
    }

    /// Keeps what the started gateway has compiled.
    ///
    /// # Panics
    /// When the folders cannot be written.
    pub fn keep(self) {
        // Another start, which held the lock, has kept it.
        let Some(kept) = self.kept.filter(|kept| kept.lock.is_some()) else { return };
        let mut names = code_in(&self.plugins).expect("a readable folder");
        // Linked, and of no plugin of this binary.
        names.retain(|name| {
            let component = name.split('-').next().unwrap_or_default();
            self.plugins.join(format!("{component}.wasm")).exists()
        });
        for name in &names {
            link(&self.plugins.join(name), &kept.folder.join(name)).expect("a link to compiled code");
        }
        kept.write(&names).expect("a list of compiled code");
    }
}

impl Kept {
    /// Below the folder of what is built. `None` for a program elsewhere, such as one that starts the binary.
    fn of(binary: &Path) -> Option<Self> {
        let profile = binary.parent()?;
        let target = gatehouse_build::target_dir(profile)?;
        let facts = fs::metadata(binary).ok()?;
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (folder, cache) = (target.join("tmp/compiled-plugins"), cache_in(target));
        let list = folder.join(format!("{}.list", profile.file_name()?.display()));
        let binary = format!("{} {}", facts.len(), changed.as_nanos());
        Some(Self { folder, cache, list, binary, lock: None })
    }

    /// Links this code into a folder of plugins.
    fn link(&self, names: &BTreeSet<String>, plugins: &Path) {
        for name in names {
            link(&self.folder.join(name), &plugins.join(name)).expect("a link to compiled code");
        }
    }

    /// The code of the binary, if a start of it has told.
    fn names(&self) -> Option<BTreeSet<String>> {
        let text = fs::read_to_string(&self.list).ok()?;
        let (binary, names) = text.split_once('\n')?;
        (binary == self.binary).then(|| names.lines().map(str::to_owned).collect())
    }

    /// Waits until no other gateway compiles. Returns the code of the binary, or all that is kept where it is not known:
    /// then the lock stays.
    fn lock(&mut self) -> BTreeSet<String> {
        fs::create_dir_all(&self.folder).expect("a folder for compiled code");
        let lock = File::create(self.folder.join("lock")).expect("a lock file");
        lock.lock().expect("the lock");
        self.names().unwrap_or_else(|| {
            self.lock = Some(lock);
            // Nothing of it may have been compiled by a command or a test.
            drop(link_code(&self.cache.join(CODE), &self.folder, ""));
            code_in(&self.folder).expect("a readable folder")
        })
    }

    /// Writes the list, and removes code that is in no list any more.
    fn write(&self, names: &BTreeSet<String>) -> io::Result<()> {
        let lines: Vec<&str> = std::iter::once(&self.binary).chain(names).map(String::as_str).collect();
        let unfinished = self.list.with_extension("unfinished");
        fs::write(&unfinished, lines.join("\n"))?;
        fs::rename(&unfinished, &self.list)?;
        let mut listed = String::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "list") {
                listed.push_str(&fs::read_to_string(path)?);
            }
        }
        let unlisted = code_in(&self.folder)?.into_iter().filter(|name| !listed.contains(name.as_str()));
        unlisted.map(|name| self.folder.join(name)).try_for_each(fs::remove_file)
    }
}

/// What the tests of one program have compiled of the plugins that they install. What a data folder has when this is dropped,
/// later tests find.
pub struct SharedCode {
    plugins: PathBuf,
}

impl SharedCode {
    /// Of the folder of plugins below `data`.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { plugins: data.join("plugins") }
    }

    /// Links the code of all components whose digest begins like this into the folder, which is created where it is missing.
    ///
    /// # Panics
    /// When the folder cannot be written.
    pub fn lend(&self, digest: &str) {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.plugins).expect("a folder for plugins");
        let lend = |pool: &Path| link_code(pool, &self.plugins, digest);
        pool().map_or(Ok(()), lend).expect("links to compiled code");
        // Nothing of it may have been compiled by a command.
        drop(code_cache().map(|cache| lend(&cache)));
    }

    /// The same of each component among these arguments of a command, or in a family's folder among them.
    pub(super) fn lend_components(&self, arguments: &[&str]) {
        for argument in arguments.iter().map(Path::new) {
            let component = if argument.is_dir() { &argument.join("family.wasm") } else { argument };
            if component.extension().is_some_and(|kind| kind == "wasm")
                && let Ok(component) = fs::read(component)
            {
                self.lend(&Digest::of(&component).to_string());
            }
        }
    }
}

impl Drop for SharedCode {
    fn drop(&mut self) {
        // A data folder that is gone, or code that is replaced meanwhile, leaves nothing.
        drop(pool().map(|pool| link_code(&self.plugins, pool, "")));
    }
}

/// Where a command keeps compiled code below its user's cache: `gatehouse_play::CODE`.
const CODE: &str = "gatehouse/code";

fn cache_in(target: &Path) -> PathBuf {
    gatehouse_build::plugins_target_dir(target).join("cache")
}

/// The cache of the user who runs commands and tests: below the folder that plugins are built in. `None` for a program outside of
/// a target folder.
#[must_use]
pub fn user_cache() -> Option<PathBuf> {
    Some(cache_in(gatehouse_build::target_dir(&std::env::current_exe().ok()?)?))
}

/// Where commands of that user keep compiled code, and tests of families do.
#[must_use]
pub fn code_cache() -> Option<PathBuf> {
    Some(user_cache()?.join(CODE))
}

/// The folder of this program's code, below the target folder. Code of another day is compiled again: what nobody needs any
/// more goes.
fn pool() -> Option<&'static Path> {
    static POOL: OnceLock<Option<PathBuf>> = OnceLock::new();
    let open = || {
        let program = std::env::current_exe().ok()?;
        let pool = gatehouse_build::target_dir(&program)?.join("tmp/compiled-for").join(program.file_stem()?);
        fs::create_dir_all(&pool).expect("a folder for compiled code");
        for name in code_in(&pool).expect("a readable folder") {
            let path = pool.join(name);
            let age = fs::metadata(&path).and_then(|facts| facts.modified()).map(|made| made.elapsed());
            if age.is_ok_and(|age| age.is_ok_and(|age| age > A_DAY)) {
                // Another run of the program may have removed it.
                drop(fs::remove_file(path));
            }
        }
        Some(pool)
    };
    POOL.get_or_init(open).as_deref()
}

/// Links the code of components whose digest begins like this. Where the folders are on two file systems, each test compiles what
/// it needs.
fn link_code(from: &Path, to: &Path, digest: &str) -> io::Result<()> {
    let mut names = code_in(from)?;
    names.retain(|name| name.starts_with(digest));
    let passes = [io::ErrorKind::AlreadyExists, io::ErrorKind::CrossesDevices, io::ErrorKind::NotFound];
    names.iter().try_for_each(|name| match fs::hard_link(from.join(name), to.join(name)) {
        Err(error) if passes.contains(&error.kind()) => Ok(()),
        linked => linked,
    })
}

/// A hard link, or a copy where the folders are on two file systems.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => fs::copy(from, to).map(drop),
        outcome => outcome,
    }
}

/// The names of compiled code and its digests in a folder.
fn code_in(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().display().to_string();
        if name.contains(".cwasm") {
            names.insert(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a start finds in its data folder, and what is kept after it. Each plugin has a component and its code.
    fn start(target: &Path, binary: &Path, plugins: &[&str]) -> (Vec<String>, Vec<String>) {
        let data = tempfile::tempdir_in(target).unwrap();
        let code = CompiledCode::link_into(data.path(), binary);
        let folder = data.path().join("plugins");
        let linked = code_in(&folder).unwrap();
        for name in plugins {
            fs::write(folder.join(format!("{name}.wasm")), "").unwrap();
            if !linked.contains(&format!("{name}-e.cwasm")) {
                fs::write(folder.join(format!("{name}-e.cwasm")), *name).unwrap();
            }
        }
        code.keep();
        let kept = code_in(&target.join("tmp/compiled-plugins")).unwrap();
        (linked.into_iter().collect(), kept.into_iter().collect())
    }

    /// Without it each relinked binary would compile every plugin again, and old code would stay for ever.
    #[test]
    fn code_outlives_the_binary_and_goes_with_its_plugin() {
        let target = tempfile::tempdir().unwrap();
        fs::create_dir(target.path().join("debug")).unwrap();
        fs::write(target.path().join("debug/.cargo-lock"), "").unwrap();
        let binary = target.path().join("debug/gatehouse");
        let check = |plugins: &[&str], linked: &[&str], kept: &[&str]| {
            let (found, left) = start(target.path(), &binary, plugins);
            let named =
                |names: &[&str]| names.iter().map(|name| format!("{name}-e.cwasm")).collect::<Vec<_>>();
            assert_eq!((found, left), (named(linked), named(kept)));
        };
        fs::write(&binary, "1").unwrap();
        check(&["a", "b"], &[], &["a", "b"]);
        check(&["a", "b"], &["a", "b"], &["a", "b"]);
        fs::write(&binary, "relinked").unwrap();
        check(&["a", "c"], &["a", "b"], &["a", "c"]);
        let elsewhere = tempfile::tempdir().unwrap();
        let program = elsewhere.path().join("program");
        fs::write(&program, "").unwrap();
        CompiledCode::link_into(elsewhere.path(), &program).keep();
        assert!(!elsewhere.path().join("plugins").exists(), "a program outside of a target folder");
    }
}
