//! The server: Debian's, in a folder of its own, on a free port of this machine, as a user that is not root.
//!
//! It ends with the test program, however that ends: a shell waits for the end of its input, which the program holds, and then stops the
//! server and removes the folder.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::packages::install_unless;

/// Below those that the system gives to connections that leave, so that a stopped server finds its own again.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
const TRIES: usize = 20;
/// The superuser, with and without a password.
const USER: &str = "gatehouse";
/// What is sure after a crash of the process does not depend on the disk's own cache, so nothing is synced.
const SETTINGS: &str = "fsync = off
full_page_writes = off
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = '64MB'
";
/// Stops the server in `$1` with the `pg_ctl` that is `$2` and removes the folder, once the input ends.
const GUARD: &str = r#"read -r _; "$2" stop -D "$1/data" -m immediate -s; cd /; rm -rf "$1""#;

/// A running server, unless it was stopped. It ends when dropped, and with the program.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    programs: PathBuf,
    owner: Option<(u32, u32)>,
    port: u16,
    databases: AtomicUsize,
    guard: Child,
}

/// The authority that a server's certificate is from.
#[derive(Debug)]
pub struct Authority {
    /// Its own certificate, in PEM.
    pub pem: String,
}

impl PostgresServer {
    /// The one that tests of a program share, each with a database of its own. Nobody stops it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts one that trusts everybody on this machine.
    ///
    /// # Panics
    /// It cannot be installed or started.
    #[must_use]
    pub fn start() -> Self {
        let server = Self::create("");
        server.start_again();
        server
    }

    /// Starts one that asks for a password, over TLS alone, with a certificate for `localhost`.
    ///
    /// # Panics
    /// As [`PostgresServer::start`].
    #[must_use]
    pub fn start_with_tls(password: &str) -> (Self, Authority) {
        let server = Self::create("ssl = on\n");
        let (authority, certificate, key) = certificates();
        server.write("data/server.crt", &certificate, 0o600);
        server.write("data/server.key", &key, 0o600);
        // The first line lets `psql` of these tests in.
        let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
        server.write("data/pg_hba.conf", rules, 0o600);
        server.start_again();
        server.sql("postgres", &format!("ALTER ROLE {USER} PASSWORD '{password}'"));
        (server, authority)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The address of a new, empty database.
    ///
    /// # Panics
    /// The server does not make it.
    #[must_use]
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The address of a new database that is as that of `template`, which nobody may be connected to.
    ///
    /// # Panics
    /// The server does not make it.
    #[must_use]
    pub fn copy_of(&self, template: &str) -> String {
        let (template, copy) =
            (name_of(template), format!("copy_{}", self.databases.fetch_add(1, Ordering::Relaxed)));
        self.sql("postgres", &format!("CREATE DATABASE {copy} TEMPLATE {template}"));
        self.url(&copy)
    }

    /// What a statement answers in the database of an address: a line a row, `|` between columns.
    ///
    /// # Panics
    /// The statement fails.
    #[must_use]
    pub fn ask(&self, url: &str, statement: &str) -> String {
        self.sql(name_of(url), statement)
    }

    /// Ends all sessions of the database of an address, as a failover does.
    pub fn end_sessions(&self, url: &str) {
        let name = name_of(url);
        let others = format!("datname = '{name}' AND pid <> pg_backend_pid()");
        self.sql(
            "postgres",
            &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"),
        );
    }

    /// Stops it as a crash does: sessions end in the middle, what was not committed is lost.
    ///
    /// # Panics
    /// It goes on.
    pub fn stop_immediately(&self) {
        let output = self.program("pg_ctl", ["stop", "-D", "data", "-m", "immediate", "-w"]);
        assert!(output.is_ok(), "the server does not stop: {output:?}");
    }

    /// Starts it on the port and with the data that it had.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_again(&self) {
        let mut failed = String::new();
        for _ in 0..TRIES {
            match self.program("pg_ctl", ["start", "-D", "data", "-w", "-s", "-t", "120", "-l", "log"]) {
                Ok(_) => return,
                Err(error) => failed = error,
            }
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("the server does not start: {failed}\n{log}");
    }

    fn create(settings: &str) -> Self {
        install_unless(|| programs().is_some(), &["postgresql"]);
        let programs = programs().expect("they are installed");
        let folder =
            tempfile::Builder::new().prefix("gatehouse-postgres-").tempdir().expect("a folder").keep();
        let owner = (fs::metadata(&folder).expect("the folder").uid() == 0).then(unprivileged);
        if let Some((user, group)) = owner {
            chown(&folder, Some(user), Some(group)).expect("the folder's owner");
        }
        let mut guard = command(OsStr::new("sh"), &folder, owner);
        guard.arg("-c").arg(GUARD).arg("sh").arg(&folder).arg(programs.join("pg_ctl")).stdin(Stdio::piped());
        let guard = guard.process_group(0).spawn().expect("a shell");
        let server =
            Self { folder, programs, owner, port: free_port(), databases: AtomicUsize::new(0), guard };
        let made = ["-D", "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
        let made = server.program("initdb", made);
        assert!(made.is_ok(), "no new server: {made:?}");
        let sockets = server.folder.display();
        let port = server.port;
        let own = format!("{SETTINGS}unix_socket_directories = '{sockets}'\nport = {port}\n{settings}");
        server.write("data/postgresql.auto.conf", &own, 0o600);
        server
    }

    fn write(&self, name: &str, content: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.folder.join(name);
        fs::write(&path, content).expect("a file of the server");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        if let Some((user, group)) = self.owner {
            chown(&path, Some(user), Some(group)).expect("its owner");
        }
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", self.address())
    }

    fn sql(&self, database: &str, statement: &str) -> String {
        let (folder, port) = (self.folder.display().to_string(), self.port.to_string());
        let arguments =
            ["-h", &folder, "-p", &port, "-U", USER, "-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1"];
        let output = self.program("psql", arguments.into_iter().chain(["-c", statement]));
        output.unwrap_or_else(|error| panic!("{statement}: {error}")).trim_end().to_owned()
    }

    /// Runs one of its programs to the end.
    fn program<'a>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, String> {
        let mut command = command(self.programs.join(name).as_os_str(), &self.folder, self.owner);
        command.args(arguments).stdin(Stdio::null());
        // A server that `pg_ctl` starts keeps its output open.
        let (out, errors) =
            (self.folder.join(format!("{name}.out")), self.folder.join(format!("{name}.err")));
        let is_server = name == "pg_ctl";
        let output = if is_server {
            let file =
                |path: &Path| fs::File::create(path).map(Stdio::from).map_err(|error| error.to_string());
            let status = command.stdout(file(&out)?).stderr(file(&errors)?).status();
            let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
            status.map(|status| (status, read(&out), read(&errors)))
        } else {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            command.output().map(|output| (output.status, text(&output.stdout), text(&output.stderr)))
        };
        let (status, out, errors) = output.map_err(|error| format!("{name}: {error}"))?;
        if status.success() { Ok(out) } else { Err(format!("{name}: {status}: {out}{errors}")) }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // The shell stops the server.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn command(program: &OsStr, folder: &Path, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C").env_remove("PGOPTIONS").env_remove("PGSERVICE");
    if let Some((user, group)) = owner {
        command.uid(user).gid(group);
    }
    command
}

/// The folder of the newest release that is installed.
fn programs() -> Option<PathBuf> {
    let releases = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let release = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = releases.map(|entry| entry.path()).filter_map(|path| Some((release(&path)?, path))).max()?;
    let programs = newest.1.join("bin");
    ["initdb", "pg_ctl", "psql"].iter().all(|name| programs.join(name).exists()).then_some(programs)
}

/// The user that Debian's package brings, or nobody.
fn unprivileged() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let mut ids = line.into_iter().flat_map(|line| line.split(':').skip(2)).filter_map(|id| id.parse().ok());
    match (ids.next(), ids.next()) {
        (Some(user), Some(group)) => (user, group),
        _ => (65_534, 65_534),
    }
}

fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    std::iter::repeat_with(|| fastrand::u16(PORTS)).take(10_000).find(is_free).expect("a free port")
}

fn name_of(url: &str) -> &str {
    let path = url.split('?').next().unwrap_or(url);
    path.rsplit('/').next().unwrap_or(path)
}

/// The authority, and certificate and key of the server.
fn certificates() -> (Authority, String, String) {
    let mut own = CertificateParams::default();
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer =
        CertifiedIssuer::self_signed(own, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let named = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = named.signed_by(&key, &issuer).expect("a certificate");
    (Authority { pem: issuer.pem() }, certificate.pem(), key.serialize_pem())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every run of the tests would leave a server behind.
    #[test]
    fn a_server_starts_stops_and_leaves_nothing() -> std::io::Result<()> {
        let server = PostgresServer::start();
        let url = server.database();
        server.sql(name_of(&url), "CREATE TABLE kept (value int)");
        server.sql(name_of(&url), "INSERT INTO kept VALUES (7)");
        server.stop_immediately();
        server.start_again();
        assert_eq!(server.ask(&url, "SELECT value FROM kept"), "7");
        assert_eq!(server.ask(&server.copy_of(&url), "SELECT value FROM kept"), "7");
        let (folder, address) = (server.folder.clone(), server.address());
        drop(server);
        assert!(!folder.exists());
        TcpListener::bind(address).map(drop)
    }
}
