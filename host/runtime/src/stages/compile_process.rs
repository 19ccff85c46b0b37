//! The compiler as a process of its own: a component may make it use any amount of memory and time, and the gateway serves
//! meanwhile. Owns how the process is started, fed and judged; the program that is started calls
//! [`precompile`](crate::precompile).

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Output, Stdio};

use gatehouse_model::escape_control;

use crate::config::{CompilerLimits, CompilerProcess};
use crate::stages::report::StageError;

impl CompilerProcess {
    /// Machine code of a component, made by the program within `limits`.
    pub(crate) fn compile(&self, wasm: &[u8], limits: CompilerLimits) -> Result<Vec<u8>, StageError> {
        let failed =
            |error: std::io::Error| StageError::Host(format!("the compiler could not be started: {error}"));
        let mut child = Command::new(&self.program)
            .arg(self.argument)
            .args(["--memory-mib".to_owned(), limits.memory_mib.to_string()])
            .args(["--seconds".to_owned(), limits.seconds.to_string()])
            // What the gateway's environment holds is no compiler's business.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A compiler that ends early says why itself.
            drop(stdin.write_all(wasm));
        }
        let output = child.wait_with_output().map_err(failed)?;
        match outcome(&output, limits) {
            None => Ok(output.stdout),
            Some(why) => Err(StageError::Compile(why)),
        }
    }
}

/// What allocators say at their end.
const NO_MEMORY: [&str; 3] = ["memory allocation of", "out of memory", "Cannot allocate memory"];

/// The reason why the process made no code; `None` if it made some.
fn outcome(output: &Output, limits: CompilerLimits) -> Option<String> {
    let CompilerLimits { memory_mib, seconds } = limits;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return None;
    }
    Some(if NO_MEMORY.iter().any(|text| said.contains(text)) {
        format!(
            "the compiler needs more than {memory_mib} MiB for this component (`plugins.compiler.memory_mib`); make its \
             functions smaller, or raise the limit"
        )
    } else if out_of_time(output.status) {
        format!(
            "the compiler needs more than {seconds} s of processor time for this component (`plugins.compiler.seconds`); \
             make its functions smaller, or raise the limit"
        )
    } else if output.status.code() == Some(1) && !said.trim().is_empty() {
        said.trim().lines().map(escape_control).collect::<Vec<_>>().join("; ")
    } else {
        format!("the compiler ended with {}", output.status)
    })
}

/// The soft limit sends the first signal, the hard one the second.
fn out_of_time(status: ExitStatus) -> bool {
    const XCPU: i32 = 24;
    const KILL: i32 = 9;
    matches!(status.signal(), Some(XCPU | KILL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ends a compiler is named with the key that the operator can raise.
    #[test]
    fn the_end_of_a_compiler_is_explained() {
        let limits = CompilerLimits::default();
        let check = |raw: i32, said: &str, expected: Option<&str>| {
            let (status, stderr) = (ExitStatus::from_raw(raw), said.as_bytes().to_vec());
            let found = outcome(&Output { status, stdout: vec![], stderr }, limits);
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) if found.contains(expected) => {}
                _ => panic!("{raw} {said}: {found:?}"),
            }
        };
        check(0, "", None);
        check(6, "memory allocation of 4096 bytes failed", Some("plugins.compiler.memory_mib"));
        check(24, "", Some("plugins.compiler.seconds"));
        check(9, "", Some("plugins.compiler.seconds"));
        check(1 << 8, "not a \u{1b}[31mcomponent\nat 7\n", Some("not a \\u{1b}[31mcomponent; at 7"));
        check(11, "", Some("the compiler ended with signal: 11"));
    }

    /// The component's bytes arrive and the code comes back; a program that cannot be started is the host's failure.
    #[test]
    fn a_component_is_compiled_by_another_program() {
        let echo = CompilerProcess { program: "/bin/sh".into(), argument: "-c" };
        // `sh -c --memory-mib` refuses its own arguments, and says so.
        assert!(matches!(echo.compile(b"wasm", CompilerLimits::default()), Err(StageError::Compile(_))));
        let none = CompilerProcess { program: "/no/such/program".into(), argument: "x" };
        let error = none.compile(b"wasm", CompilerLimits::default()).unwrap_err();
        assert!(matches!(error, StageError::Host(_)), "{error}");
    }
}
