//! The rules of axe-core, run in the page. Installed once under the target folder, exactly this version.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use gatehouse_model::Digest;
use serde_json::Value;

use crate::console::browser::Tab;

const VERSION: &str = "4.14.1";
const SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

/// The checks as one script.
pub(crate) struct Axe(String);

impl Axe {
    /// Installs it where it is missing.
    pub(crate) fn ready() -> Self {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join("console");
        std::fs::create_dir_all(&folder).expect("a folder for the package");
        let lock = File::create(folder.join("lock")).expect("a lock file");
        lock.lock().expect("the lock");
        let file = folder.join("node_modules/axe-core/axe.min.js");
        let is_right = || std::fs::read(&file).is_ok_and(|bytes| Digest::of(&bytes).to_string() == SHA256);
        if !is_right() {
            let package = format!("axe-core@{VERSION}");
            let arguments = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", &package];
            let installed =
                Command::new("npm").args(arguments).current_dir(&folder).output().expect("npm runs");
            assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
            assert!(is_right(), "axe-core {VERSION} has another sha256 than expected");
        }
        Self(std::fs::read_to_string(file).expect("a script"))
    }

    /// Every violation on the page: rule, elements, what to do.
    pub(crate) async fn violations(&self, tab: &Tab) -> Vec<String> {
        tab.run(&self.0).await;
        let found = tab
            .run_async(
                "const done = arguments[arguments.length - 1];
                 const tags = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
                 axe.run(document, { runOnly: { type: 'tag', values: tags } }).then((result) => done(
                   result.violations.flatMap((rule) => rule.nodes.map((node) =>
                     `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`))));",
            )
            .await;
        let rows = found.as_array().expect("a list");
        rows.iter().map(|row| row.as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// The widest element of a page that is wider than its window.
pub(crate) async fn overflow(tab: &Tab) -> Option<Value> {
    let found = tab
        .run(
            "const width = document.documentElement.clientWidth;
             if (document.documentElement.scrollWidth <= width) return null;
             const wide = [...document.querySelectorAll('body *')].filter((one) =>
               one.getBoundingClientRect().right > width + 1 && !one.closest('.scroll, pre'));
             return wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 120)).join(' | ') || 'something';",
        )
        .await;
    (!found.is_null()).then_some(found)
}
