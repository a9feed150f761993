//! Running other programs: what was started is named in every error, and output is text.
//!
//! It knows nothing of what the programs do; each command composes its own calls.

use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Runs a program with our own standard streams and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = command_line(command);
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a program and returns its standard output; the rest is shown only when it fails.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let line = command_line(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed ({}):\n{}", output.status, stderr.trim_end());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{line}` printed text that is not UTF-8"))
}

/// Returns whether a program starts and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the very Cargo that started us, so that a toolchain override reaches every step.
///
/// Cargo tells a program about its package by variables. They are removed: build scripts that look at these variables would
/// run again, and all that depends on them would be built again, whenever a build follows one by hand.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

fn command_line(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command_and_show_its_stderr() {
        let err = capture(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]))
            .expect_err("exit 3 is a failure");
        assert_eq!(
            err.to_string(),
            "`sh -c echo broken >&2; exit 3` failed (exit status: 3):\nbroken"
        );
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_succeed() {
        assert!(!succeeds(&mut Command::new("no-such-program-anywhere")));
        assert!(succeeds(&mut Command::new("true")));
        assert!(!succeeds(&mut Command::new("false")));
    }
}
