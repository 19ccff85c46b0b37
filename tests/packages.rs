//! Programs of Debian packages that tests need, installed where they are missing and tests may.

use gatehouse_fault_injection::{in_path, install_unless};

/// Installs the packages, unless their programs are there.
pub(crate) async fn install_if_missing(programs: &[&str], packages: &[&str]) {
    tokio::task::block_in_place(|| {
        install_unless(|| programs.iter().all(|program| in_path(program)), packages);
    });
}
