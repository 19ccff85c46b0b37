//! Values that fit their type and that no gateway works with: numbers of 0, numbers beyond sense, empty texts, paths of a shell.
//! Only what the operator set is judged.

use toml::{Table, Value};

/// Keys with a number that says nothing is ever done, kept or waited for when it is 0; `*` is any name.
const AT_LEAST_ONE: [&str; 27] = [
    "data.store.batch",
    "data.store.queue",
    "fairness.weights.*",
    "fetch.connect_timeout_ms",
    "media.link_hours",
    "media.max_blob_mib",
    "media.max_probe_mib",
    "media.max_result_mib",
    "media.probe_timeout_seconds",
    "media.result_timeout_seconds",
    "plugins.compiler.memory_mib",
    "plugins.compiler.seconds",
    "plugins.streams",
    "providers.*.concurrency",
    "providers.*.connect_timeout_ms",
    "providers.*.max_reply_mib",
    "providers.*.submit_timeout_ms",
    "providers.*.total_timeout_ms",
    "tasks.concurrency",
    "tasks.history_days",
    "tasks.steps",
    "tasks.time_limit_s",
    "tasks.time_limit_s_by_model.*",
    "tasks.waiting_files",
    "text.idle_s",
    "text.stream_s",
    "text.time_limit_s",
];

/// The most that a key may say. More is a slip of the pen: it is a start that breaks, a buffer that no machine has, a task that
/// outlives its files, or a moment after the year 9999.
const AT_MOST: [(&str, i64); 26] = [
    ("admin.connections", 1_000_000),
    ("data.min_free_mib", 4_294_967_295),
    ("data.store.batch", 1_000_000),
    ("data.store.queue", 10_000_000),
    ("fairness.weights.*", 100_000),
    ("fetch.min_bytes_per_second", 1 << 30),
    ("media.min_free_mib", 4_294_967_295),
    ("plugins.canary.percent", 100),
    ("plugins.compilers", 1024),
    ("plugins.streams", 4_294_967_295),
    ("plugins.threads", 1024),
    ("providers.*.accounts.*.concurrency", 1_000_000),
    ("providers.*.accounts.*.weight", 1_000_000),
    ("providers.*.concurrency", 1_000_000),
    ("server.limits.body_bytes_per_second", 1 << 30),
    ("server.limits.connections", 10_000_000),
    ("server.limits.handshakes", 1_000_000),
    ("server.limits.head_kib", 16_384),
    ("server.limits.header_list_kib", 16_384),
    ("server.limits.headers", 10_000),
    ("server.limits.streams", 1_000_000),
    ("tasks.concurrency", 10_000_000),
    ("tasks.steps", 1_000_000_000),
    ("tasks.time_limit_s", DAY_S),
    ("tasks.time_limit_s_by_model.*", DAY_S),
    ("tasks.waiting_files", 10_000_000),
];

/// Files of tasks are deleted not long after a day, those of a task that still waits for its provider too.
const DAY_S: i64 = 86_400;
const TEN_YEARS_S: i64 = 315_360_000;
/// The most in the unit that the name of a key ends with: a day of milliseconds, ten years of seconds, a hundred of hours and days,
/// a GiB of KiB, a TiB of MiB. A unit that was mistaken is found by it, and no moment or size that is made of it is too large to
/// be counted.
const UNITS: [(&str, i64); 7] = [
    ("_ms", 24 * 60 * 60 * 1000),
    ("_s", TEN_YEARS_S),
    ("seconds", TEN_YEARS_S),
    ("_hours", 876_000),
    ("_days", 36_500),
    ("_kib", 1 << 20),
    ("_mib", 1 << 20),
];

/// The most calls a second.
const MOST_RATE: f64 = 1e6;

/// A key, what is wrong with it, and after a semicolon the remedy.
pub(super) type Finding = (String, String);

/// Values that no gateway works with.
pub(super) fn impossible(table: &Table, is_set: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    each(table, &mut Vec::new(), &mut |path, value| {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(why) = problem(&parts, value) else { return };
        let key = path.join(".");
        if is_set(&key) {
            found.push((key, why));
        }
    });
    found
}

fn problem(path: &[&str], value: &Value) -> Option<String> {
    let rate = match value {
        Value::Float(rate) => Some(*rate),
        #[expect(clippy::cast_precision_loss, reason = "only compared with a bound")]
        Value::Integer(rate) => Some(*rate as f64),
        _ => None,
    };
    match value {
        _ if is_own(path) && path.last() == Some(&"rate_per_second") => rate
            .filter(|rate| !(*rate > 0.0 && *rate <= MOST_RATE))
            .map(|rate| format!("expected calls a second, above 0 and at most {MOST_RATE}, got {rate}")),
        Value::Integer(0) if AT_LEAST_ONE.iter().any(|pattern| is_at(path, pattern)) => Some(
            "expected at least 1, got 0; remove the line to have the default, or set how much is meant"
                .to_owned(),
        ),
        Value::Integer(number) => {
            let most = most_of(path).filter(|most| number > most)?;
            Some(format!("expected at most {most}, got {number}"))
        }
        Value::String(text) if is_own(path) => of_text(path, text),
        _ => None,
    }
}

fn of_text(path: &[&str], text: &str) -> Option<String> {
    if text.trim().is_empty() {
        // A header or a parameter that a provider is sent may be empty.
        let may_be_empty = matches!(path, ["providers", _, "headers" | "query", _]);
        return (!may_be_empty).then(|| {
            format!(
                "expected a text, got {text:?}; remove the line to have the default, or say what is meant"
            )
        });
    }
    let (own, rest) = shells_own(text)?;
    Some(format!(
        "expected a path, got {text:?}, and `{own}` is only known to shells; write the whole path, such as \"/home/me{rest}\""
    ))
}

fn most_of(path: &[&str]) -> Option<i64> {
    let known = AT_MOST.iter().find(|(pattern, _)| is_at(path, pattern));
    let by_unit =
        || UNITS.iter().find(|(unit, _)| is_own(path) && path.last().is_some_and(|key| key.ends_with(unit)));
    known.or_else(by_unit).map(|(_, most)| *most)
}

fn is_at(path: &[&str], pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('.').collect();
    parts.len() == path.len() && parts.iter().zip(path).all(|(part, key)| *part == "*" || part == key)
}

/// What a shell would replace at the beginning of a path, and the rest.
fn shells_own(text: &str) -> Option<(&str, &str)> {
    let own = ["~", "$HOME", "${HOME}"].into_iter().find(|own| text.starts_with(own))?;
    Some((own, text[own.len()..].trim_start_matches('~')))
}

/// Whether a value there is the gateway's, and no plugin's own.
fn is_own(path: &[&str]) -> bool {
    !matches!(path, ["plugins", "settings", ..] | ["models", _, "rules", ..])
}

fn each<'a>(table: &'a Table, path: &mut Vec<String>, visit: &mut impl FnMut(&[String], &'a Value)) {
    for (key, value) in table {
        let Value::Array(all) = value else {
            at_key(key.clone(), value, path, visit);
            continue;
        };
        for (at, one) in all.iter().enumerate() {
            let key = if one.is_table() { format!("{key}[{at}]") } else { key.clone() };
            at_key(key, one, path, visit);
        }
    }
}

fn at_key<'a>(
    key: String,
    value: &'a Value,
    path: &mut Vec<String>,
    visit: &mut impl FnMut(&[String], &'a Value),
) {
    path.push(key);
    match value {
        Value::Table(inner) => each(inner, path, visit),
        value => visit(path, value),
    }
    path.pop();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<Finding> {
        impossible(&text.parse().unwrap(), &|_| true)
    }

    /// A limit of 0 answers every request with an error, and a `~` makes a folder of that name.
    #[test]
    fn what_no_gateway_works_with_is_an_error() {
        let keys = |text| findings(text).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        for text in [
            "tasks.time_limit_s = 0",
            "tasks.time_limit_s_by_model.'motion-2.6' = 0",
            "tasks.time_limit_s = 86401",
            "tasks.time_limit_s_by_model.'motion-2.6' = 86401",
            "text.time_limit_s = 0",
            "providers.bfl.concurrency = 0",
            "data.folder = '~/data'",
            "data.folder = '$HOME/data'",
            "data.folder = ''",
            "server.public_url = ' '",
            "providers.bfl.accounts.main.secret.env = ''",
            "models.m.aliases = ['a', '']",
            "providers.bfl.total_timeout_ms = 9223372036854775807",
            "providers.bfl.connect_timeout_ms = 86400001",
            "providers.bfl.rate_per_second = 0.0",
            "providers.bfl.rate_per_second = nan",
            "providers.bfl.accounts.main.rate_per_second = 1e300",
            "sandbox.job_ms = 9223372036854775807",
            "media.max_result_mib = 4294967295",
            "plugins.streams = 9223372036854775807",
            "tasks.concurrency = 9223372036854775807",
            "data.store.queue = 9223372036854775807",
            "server.limits.headers = 4294967295",
            "plugins.canary.percent = 101",
            "fairness.weights.acme = 4294967295",
            "server.tls.certificate = '~/c'\nserver.tls.key = '/k'",
            "providers.bfl.accounts.main.secret.file = '~/s'",
        ] {
            assert_eq!(keys(text), [text.split(" = ").next().unwrap().replace('\'', "")], "{text}");
        }
        let of_target = keys("models.m.targets = [{}, { first_byte_s = 4294967295 }]");
        assert_eq!(of_target, ["models.m.targets[1].first_byte_s"]);
        for text in [
            "[text]\nhead_s = 0",
            "[plugins.settings.f]\nx = \"~/x\"\ny = \"\"\nz_s = 9223372036854775807",
            "[tasks]\ntime_limit_s = 1",
            "[tasks]\ntime_limit_s = 86400\ntime_limit_s_by_model = { m = 86400 }",
            "[data]\nmin_free_mib = 4294967295",
            "[providers.bfl]\nheaders = { x-team = \"\" }\ntotal_timeout_ms = 86400000\nrate_per_second = 0.1",
        ] {
            assert_eq!(findings(text), [], "{text}");
        }
    }
}
