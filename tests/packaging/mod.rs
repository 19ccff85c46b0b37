//! What `host/packaging/` ships, judged by the programs that will read it: promtool the alerts and the dashboard's
//! expressions, systemd the units, dpkg the package, and a container's health check by the command that it runs.
//!
//! Needs Debian's `prometheus`, `systemd` and `dpkg-dev`; installs them where it may, fails and names them where it may not.

mod judged;
mod life;
mod machine;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gatehouse_harness::{Gateway, run};
use serde_json::{Value, json};

use crate::gateways::{sandbox, setup};
use crate::packages::install_if_missing;

/// How the names of metrics begin; those of labels do not.
const PREFIXES: [&str; 4] = ["gatehouse_", "gen_ai_client_", "gen_ai_server_", "process_"];

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

/// Both streams of a program that must end well.
fn passes(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("the program");
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    told
}

#[test]
fn prometheus_takes_alerts_and_dashboard() {
    run(install_if_missing(&["promtool"], &["prometheus"]));
    let folder = packaging().join("prometheus");
    passes("promtool", &["check", "config", "prometheus.yml"], &folder);
    passes("promtool", &["check", "rules", "alerts.yml"], &folder);
    passes("promtool", &["test", "rules", "alerts_test.yml"], &folder);
    // An expression of the dashboard is one of a rule, once Grafana has put its variables in.
    let expressions = expressions_of_dashboard();
    assert!(expressions.len() > 30, "{expressions:?}");
    let rules: Vec<Value> =
        expressions.iter().map(|expression| json!({"record": "x", "expr": expression})).collect();
    let scratch = tempfile::tempdir().expect("a folder");
    // JSON is YAML.
    let file = json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string();
    fs::write(scratch.path().join("dashboard.yml"), file).expect("a file");
    // Each records the same name: duplicates are what it is asked not to tell.
    passes("promtool", &["check", "rules", "--lint=none", "dashboard.yml"], scratch.path());
}

fn expressions_of_dashboard() -> Vec<String> {
    let text = fs::read_to_string(packaging().join("grafana/gatehouse.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions = targets.map(|target| target["expr"].as_str().expect("an expression"));
    expressions.map(|text| text.replace("$__rate_interval", "5m").replace("$instance", ".*")).collect()
}

/// An alert or a panel about a metric that is not there never fires and shows nothing; a metric of which no panel tells is no
/// fault.
#[test]
fn alerts_and_dashboard_name_metrics_that_are_there() {
    let alerts = fs::read_to_string(packaging().join("prometheus/alerts.yml")).expect("the alerts");
    let all = [alerts, expressions_of_dashboard().join("\n")].concat();
    let letters = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = all
        .split(|letter| !letters(letter))
        .filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)));
    let mut seen = 0;
    for word in words {
        let bare = ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end));
        let known = |name: &str| gatehouse_model::metric::ALL.iter().any(|metric| metric.name == name);
        assert!(known(word) || bare.is_some_and(known), "{word}");
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn systemd_takes_the_units() {
    run(install_if_missing(&["systemd-analyze"], &["systemd"]));
    let scratch = tempfile::tempdir().expect("a folder");
    for name in ["gatehouse.service", "gatehouse.socket"] {
        let unit = fs::read_to_string(packaging().join("systemd").join(name)).expect("a unit");
        // It looks for the program.
        let unit = unit.replace("/usr/local/bin/gatehouse", env!("CARGO_BIN_EXE_gatehouse"));
        fs::write(scratch.path().join(name), unit).expect("a file");
    }
    let units = ["./gatehouse.service", "./gatehouse.socket"];
    let told = passes(
        "systemd-analyze",
        &[&["verify", "--recursive-errors=no"][..], &units].concat(),
        scratch.path(),
    );
    assert!(!told.contains("Unknown key") && !told.contains("Failed to parse"), "{told}");
    // 0 is the least exposed, 100 the most; it fails above the threshold.
    let exposure = ["security", "--offline=true", "--threshold=30", "./gatehouse.service"];
    passes("systemd-analyze", &exposure, scratch.path());
}

/// A misspelt variable of a package ends the start of everybody who uses it.
#[test]
fn what_packages_set_in_the_environment_is_configuration() {
    let scratch = tempfile::tempdir().expect("a folder");
    let password = scratch.path().join("password");
    fs::write(&password, "sekret\n").expect("a file");
    for file in ["docker/compose.postgres.yml", "helm/gatehouse/templates/statefulset.yaml"] {
        let text = fs::read_to_string(packaging().join(file)).expect("a file of a package");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        command.arg("check-config").current_dir(scratch.path());
        // Nobody listens there.
        command.env("DATABASE_URL", "postgres://gatehouse:sekret@127.0.0.1:1/gatehouse?sslmode=verify-full");
        let variables = set_in(&text);
        assert!(variables.iter().any(|(name, _)| name.starts_with("GATEHOUSE__DATA__URL")), "{variables:?}");
        for (name, value) in variables {
            let value = value.replace("/run/secrets/database", &password.display().to_string());
            command.env(name, value.replace("@postgres/", "@127.0.0.1:1/"));
        }
        let output = command.output().expect("the program");
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && told.contains("the database cannot be used"), "{file}: {told}");
        assert!(!told.contains("sekret"), "{file}: {told}");
    }
}

/// The same for media in a bucket, which a check does not ask for.
#[test]
fn a_bucket_in_the_environment_is_configuration() {
    let scratch = tempfile::tempdir().expect("a folder");
    let secret = scratch.path().join("secret");
    fs::write(&secret, "sekret\n").expect("a file");
    let text = fs::read_to_string(packaging().join("docker/compose.minio.yml")).expect("a file of a package");
    let check = |wrong: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        command.arg("check-config").current_dir(scratch.path()).env("MINIO_USER", "gatehouse");
        let variables = set_in(&text);
        assert_eq!(variables.len(), 4, "{variables:?}");
        for (name, value) in variables {
            command.env(name, value.replace("/run/secrets/bucket", &secret.display().to_string()));
        }
        if let Some(name) = wrong {
            command.env(name, "x");
        }
        let output = command.output().expect("the program");
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!told.contains("sekret"), "{told}");
        (output.status.success(), told)
    };
    let (passes, told) = check(None);
    assert!(passes, "{told}");
    assert!(!check(Some("GATEHOUSE__MEDIA__S3__ENDPOIN")).0);
}

/// Variables and values, as compose files and Kubernetes have them; not those whose value a chart computes.
fn set_in(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let line = line.trim().trim_start_matches("- {name: ").trim_end_matches('}');
        let line = line.replacen(", value: ", ": ", 1);
        let (name, value) = line.split_once(": ")?;
        let is_set = name.starts_with("GATEHOUSE__") && !value.contains("{{");
        is_set.then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[test]
fn a_health_check_tells_a_ready_gateway_from_others() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        assert_eq!(gateway.command(&["health"]).await, "ready\n");
        assert_eq!(gateway.command(&["health", "--live"]).await, "alive\n");
        gateway.terminate().await;
        let gone = gateway.try_command(&["health"]).await;
        assert_eq!(gone.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&gone.stderr).contains("no gateway runs"), "{gone:?}");
    });
}
