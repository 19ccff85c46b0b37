//! Style, scripts and icons, built into the binary. Their address has a digest of all of them, so a browser keeps them
//! for ever and never mixes two releases; an address of another release answers with today's file.

use std::sync::LazyLock;

use axum::response::IntoResponse as _;
use gatehouse_admin::ResponseBody;
use gatehouse_model::Digest;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

/// What the addresses of all assets begin with.
pub(crate) const PREFIX: &str = "/admin/assets/";

/// One file.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    kind: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal: $kind:expr),* $(,)?) => {
        /// Every file below `assets/` but the notes about vendored ones.
        pub(crate) const ASSETS: &[Asset] = &[$(Asset {
            name: $name,
            kind: $kind,
            bytes: include_bytes!(concat!("../assets/", $name)),
        }),*];
    };
}

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

assets! {
    "chart.js": JS,
    "console.css": CSS,
    "console.js": JS,
    "copy.js": JS,
    "icon.svg": "image/svg+xml",
    "live.js": JS,
    "login.js": JS,
    "shortcuts.js": JS,
    "times.js": JS,
    "upload.js": JS,
    "vendor/uPlot.iife.min.js": JS,
    "vendor/uPlot.min.css": CSS,
}

/// A digest of every file, its name included.
static RELEASE: LazyLock<String> = LazyLock::new(|| {
    let fields: Vec<&[u8]> = ASSETS.iter().flat_map(|asset| [asset.name.as_bytes(), asset.bytes]).collect();
    Digest::of_fields(&fields).short()
});

/// The address of a file.
pub(crate) fn url(name: &str) -> String {
    format!("{PREFIX}{}/{name}", *RELEASE)
}

/// The file at an address below [`PREFIX`].
pub(crate) fn respond(path: &str) -> Option<Response<ResponseBody>> {
    let (release, name) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let asset = ASSETS.iter().find(|asset| asset.name == name)?;
    // A page of another release that is still open may ask for a file; it must not keep this one under that address.
    let cache = if release == *RELEASE { "public, max-age=31536000, immutable" } else { "no-cache" };
    Some(([(CACHE_CONTROL, cache), (CONTENT_TYPE, asset.kind)], asset.bytes).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => files(&entry.path(), &format!("{name}/"), found),
                false if name.ends_with(".md") => {}
                false => drop(found.insert(name)),
            }
        }
    }

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
    }

    #[test]
    fn every_file_is_served() {
        let mut found = BTreeSet::new();
        files(&folder(), "", &mut found);
        let listed: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(listed, found);
        for name in &listed {
            assert!(respond(&url(name)).is_some(), "{name}");
        }
        for path in ["", "/admin/assets/", "/admin/assets/x/none", "/admin/assets/x/../console.css"] {
            assert!(respond(path).is_none(), "{path}");
        }
        let cached =
            |path: &str| respond(path).unwrap().headers()[CACHE_CONTROL].to_str().unwrap().to_owned();
        assert!(cached(&url("console.css")).contains("immutable"));
        assert_eq!(cached("/admin/assets/older/console.css"), "no-cache");
    }

    #[test]
    fn they_stay_small() {
        let total: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(total <= 200 * 1024, "{total} bytes");
        for asset in
            ASSETS.iter().filter(|asset| !asset.name.starts_with("vendor/") && asset.name.ends_with(".js"))
        {
            let lines = asset.bytes.split(|byte| *byte == b'\n').count();
            assert!(lines <= 150, "{}: {lines} lines", asset.name);
        }
    }

    /// `VENDOR.md` names every vendored file with its sha256.
    #[test]
    fn vendored_files_are_what_their_list_says() {
        let list = std::fs::read_to_string(folder().join("vendor/VENDOR.md")).unwrap();
        for asset in ASSETS.iter().filter(|asset| asset.name.starts_with("vendor/")) {
            let file = asset.name.trim_start_matches("vendor/");
            let row = list.lines().find(|line| line.contains(&format!("`{file}`")));
            let row = row.unwrap_or_else(|| panic!("{file} is not in VENDOR.md"));
            assert!(row.contains(&Digest::of(asset.bytes).to_string()), "{file}: {row}");
        }
    }
}
