//! `gatehouse plugin pack`, `push` and `inspect`: a plugin as one file, written, published and read. Only `pack` runs the
//! component, to ask for its manifest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_model::{Digest, escape_control_in_json};
use gatehouse_runtime::{ComponentRunner, Config, Package, interfaces};
use gatehouse_upstream::ArtifactReference;
use serde_json::{Value, json};

use super::args::author::PackArgs;
use super::artifact;
use super::offer::read_component;
use crate::config::{Loaded, Location};
use crate::plugins::signing;
use crate::terminal::{Exit, at, end};

/// Runs `plugin pack`; `load` reads the configuration, whose limits count, and prints its errors.
pub(super) fn pack(args: &PackArgs, load: impl FnOnce() -> Result<Loaded, Exit>) -> Exit {
    let config = match load() {
        Ok(loaded) => loaded.config.runtime(PathBuf::new()),
        Err(exit) => return exit,
    };
    end(write_packed(args, &config), Exit::Refused)
}

/// Runs `plugin push`.
pub(super) fn push(file: &Path, target: &ArtifactReference, location: &Location) -> Exit {
    let pushed = read_component(file).and_then(|wasm| {
        // Other files get nowhere.
        Inspection::of(&wasm).map_err(at(file))?;
        block_on(artifact::push(wasm, signing::signature_of(file, None)?, target, location))?
    });
    end(pushed.map(|pinned| format!("{pinned}\n")), Exit::Refused)
}

/// Runs `plugin inspect`.
pub(super) fn inspect(file: &Path, location: &Location, json: bool) -> Exit {
    let read = || match artifact::reference(file)? {
        Some(reference) => {
            let pulled = block_on(artifact::pull(&reference, location))??;
            Ok((pulled.component.to_vec(), Some(reference.pinned(pulled.digest))))
        }
        None => Ok::<_, String>((read_component(file)?, None)),
    };
    let text = read().and_then(|(wasm, pinned)| {
        let found = Inspection::of(&wasm).map_err(at(file))?;
        let head = pinned.as_ref().map(|pinned| format!("{pinned}\n")).unwrap_or_default();
        Ok(if json { found.json(pinned.as_ref()) } else { head + &found.text() })
    });
    end(text, Exit::Refused)
}

/// These commands ask no gateway, and so have no runtime yet.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| format!("the runtime could not start: {error}"))?.block_on(work))
}

/// Whatever is not named is looked for in the folder of the family.
fn with_found(args: &PackArgs) -> PackArgs {
    let folder = args.source.is_dir().then_some(&args.source);
    let found = |name: &str| folder.map(|folder| folder.join(name)).filter(|path| path.exists());
    PackArgs {
        source: folder.map_or_else(|| args.source.clone(), |folder| folder.join("family.wasm")),
        defaults: args.defaults.clone().or_else(|| found("family.toml")),
        licence: args.licence.clone().or_else(|| found("LICENSE")),
        play: args.play.clone().or_else(|| found("play")),
        output: args.output.clone(),
    }
}

/// Writes the file; the text for the author.
fn write_packed(args: &PackArgs, config: &Config) -> Result<String, String> {
    let parts = with_found(args);
    let wasm = read_component(&parts.source)?;
    let bare = Package::default().write(&wasm).map_err(at(&parts.source))?;
    let runner = ComponentRunner::load_with(&bare, config, None).map_err(at(&parts.source))?;
    let text = |path: &PathBuf| fs::read_to_string(path).map_err(at(path));
    let package = Package {
        manifest: Some(runner.manifest().map_err(at(&parts.source))?),
        defaults: parts.defaults.as_ref().map(text).transpose()?,
        licence: parts.licence.as_ref().map(text).transpose()?,
        play: parts.play.as_deref().map(scripts).transpose()?.unwrap_or_default(),
    };
    let packed = package.write(&bare).map_err(at(&parts.source))?;
    let family = &runner.about().family;
    let output = parts.output.unwrap_or_else(|| PathBuf::from(format!("{family}.gatehouse.wasm")));
    fs::write(&output, &packed).map_err(at(&output))?;
    let found = Inspection::of(&packed).map_err(at(&parts.source))?;
    Ok(format!("{}\n{}", output.display(), found.text()))
}

/// The scripts of a folder.
fn scripts(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() && name.ends_with(".play") {
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            found.insert(name.to_owned(), text);
        }
    }
    Ok(found)
}

/// What a file says of itself.
struct Inspection {
    bytes: usize,
    digest: Digest,
    imports: Vec<String>,
    exports: Vec<String>,
    package: Package,
}

impl Inspection {
    fn of(wasm: &[u8]) -> Result<Self, String> {
        let package = Package::read(wasm).map_err(|error| error.to_string())?;
        let (imports, exports) = interfaces(wasm)?;
        Ok(Self { bytes: wasm.len(), digest: Digest::of(wasm), imports, exports, package })
    }

    fn manifest(&self) -> Option<Value> {
        self.package.manifest.as_deref().map(|text| {
            // What nothing has checked yet is shown as it is.
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        })
    }

    fn json(&self, pinned: Option<&ArtifactReference>) -> String {
        let Package { defaults, licence, play, .. } = &self.package;
        let value = json!({
            "reference": pinned.map(ToString::to_string), "bytes": self.bytes, "sha256": self.digest, "imports": self.imports, "exports": self.exports,
            "manifest": self.manifest(), "defaults": defaults, "licence": licence, "play": play,
        });
        format!("{}\n", escape_control_in_json(&format!("{value:#}")))
    }

    fn text(&self) -> String {
        let Package { manifest, defaults, licence, play } = &self.package;
        let indented = |text: &str| text.lines().map(|line| format!("\n  {line}")).collect::<String>();
        let section = |name: &str, text: Option<String>| match text {
            Some(text) => format!("{name}:{text}\n"),
            None => format!("{name}: it has none\n"),
        };
        let scripts: Vec<&str> = play.keys().map(String::as_str).collect();
        let first = licence.as_deref().map(|text| {
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            format!(" {} ({} bytes)", line.trim(), text.len())
        });
        [
            format!("{} bytes, sha256 {}\n", self.bytes, self.digest),
            format!("imports: {}\n", self.imports.join(", ")),
            format!("exports: {}\n", self.exports.join(", ")),
            section(
                "manifest",
                manifest.as_ref().and_then(|_| self.manifest()).map(|it| indented(&format!("{it:#}"))),
            ),
            section("defaults", defaults.as_deref().map(indented)),
            section("licence", first),
            section("scripts", (!scripts.is_empty()).then(|| format!(" {}", scripts.join(", ")))),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an operator reads before a third party's code runs.
    #[test]
    fn a_file_is_shown_without_running_it() {
        let package = Package {
            manifest: Some("{\"family\":\"painter\"}".to_owned()),
            defaults: Some("[prices]\npaint = \"1\"\n".to_owned()),
            licence: Some("\nMIT License\n\nmore".to_owned()),
            play: BTreeMap::from([("draws.play".to_owned(), "\"start\"".to_owned())]),
        };
        // No code at all: nothing of it could run.
        let empty: &[u8] = b"\0asm\x0d\0\x01\0";
        let found = Inspection::of(&package.write(empty).expect("packed")).expect("read");
        let text = found.text();
        for part in
            ["  \"family\": \"painter\"", "  paint = \"1\"", "licence: MIT License (", "scripts: draws.play"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let value: Value = serde_json::from_str(&found.json(None)).expect("JSON");
        assert_eq!(
            (&value["manifest"]["family"], &value["play"]["draws.play"]),
            (&json!("painter"), &json!("\"start\""))
        );
        let bare = Inspection::of(empty).expect("read").text();
        assert!(bare.contains("manifest: it has none\ndefaults: it has none"), "{bare}");
        assert!(Inspection::of(b"text").is_err());
    }
}
