//! What packages take along for people at a terminal: completions of shells and manual pages, both made of the grammar.

use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::cli::Cli;
use crate::terminal::{Exit, at, end, print_as_it_is};

/// Prints the script that a shell sources.
pub(super) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gatehouse", &mut script);
    print_as_it_is(&String::from_utf8_lossy(&script))
}

/// Writes `gatehouse.1` and a page for each command, such as `gatehouse-key-create.1`.
pub(super) fn man(folder: &Path) -> Exit {
    let written = write_pages(folder).map(|pages| format!("{pages} pages in {}\n", folder.display()));
    end(written.map_err(at(folder)), Exit::Broken)
}

fn write_pages(folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)?;
    let names = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
    let pages = names
        .filter(|name| name.as_ref().is_ok_and(|name| name.as_encoded_bytes().starts_with(b"gatehouse")));
    Ok(pages.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that is missing, or a hidden command that has one, is found by nobody else.
    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_pages(folder.path()).unwrap() > 40);
        let page = fs::read_to_string(folder.path().join("gatehouse-key-create.1")).unwrap();
        assert!(page.contains("quota") && page.contains(".TH"), "{page}");
        assert!(!folder.path().join("gatehouse-compile-component.1").exists());
    }
}
