//! A machine to install packages on: systemd as process 1 over the files of this machine, whose own stay as they are. The script
//! `machine` says how. Needs root, and Debian's `systemd` and `dpkg-dev`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};

use gatehouse_harness::until_some;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::packages::install_if_missing;

/// It goes with this value, however the test ends.
pub(crate) struct Machine {
    script: Child,
    /// Its process 1, as this machine counts.
    systemd: String,
    shared: TempDir,
    _root: TempDir,
}

impl Machine {
    /// Boots it, and waits until it is up.
    pub(crate) async fn boot() -> Self {
        let programs = ["systemd-analyze", "unshare", "nsenter", "dpkg-shlibdeps"];
        install_if_missing(&programs, &["systemd", "util-linux", "dpkg-dev"]).await;
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let (shared, root) = (folder(), folder());
        // The service's user reads what stands in it.
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        let script =
            Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packaging/machine"))
                .arg(format!("gatehouse-test-{}", std::process::id()))
                .args([root.path(), shared.path()])
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .expect("bash");
        let pid = shared.path().join("pid");
        let booting = "a machine of its own boots: it needs root, who may make namespaces and mount";
        let systemd =
            until_some(booting, async || fs::read_to_string(&pid).ok().filter(|pid| pid.ends_with('\n')));
        let systemd = systemd.await.trim().to_owned();
        let machine = Self { script, systemd, shared, _root: root };
        until_some("systemd is up", async || {
            let state = machine.try_run("systemctl", &["is-system-running", "--wait"]).await;
            ["running\n", "degraded\n"].contains(&text(&state.stdout).as_str()).then_some(())
        })
        .await;
        machine
    }

    /// The folder that it has as `/mnt`.
    pub(crate) fn shared(&self) -> &Path {
        self.shared.path()
    }

    /// Runs a program as root; its standard output.
    pub(crate) async fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.try_run(program, arguments).await;
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{program} {arguments:?}: {out}{err}");
        out
    }

    /// The same, also where it fails.
    pub(crate) async fn try_run(&self, program: &str, arguments: &[&str]) -> Output {
        let namespaces = ["--mount", "--pid", "--ipc", "--uts", "--cgroup", "--"];
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.systemd]).args(namespaces).arg(program).args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive").current_dir("/").output().await.expect("nsenter")
    }

    /// Switches it off.
    pub(crate) async fn off(mut self) -> ExitStatus {
        // What asks for it ends with it.
        let _ = self.try_run("systemctl", &["--force", "--force", "poweroff"]).await;
        self.script.wait().await.expect("a child")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
