//! Builds the programs for every platform with an old C library, by cargo-zigbuild and the compiler of Zig. Both come from
//! PyPI, into a directory below `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::program_set::{GLIBC_OLDEST, PackagePlatform};
use crate::process::{cargo, run as run_program};
use crate::setup;

const PINS: &[setup::Pin] = &[("cargo-zigbuild", "0.24.0"), ("ziglang", "0.17.0")];

/// Builds the programs and returns their directory.
pub(super) fn build(
    root: &Path,
    platform: &PackagePlatform,
    profile: &str,
) -> anyhow::Result<PathBuf> {
    let python = setup::ensure_python_packages(&root.join("target/package-tools"), PINS)?;
    let target = platform.target;
    run_program(Command::new("rustup").current_dir(root).args(["target", "add", target]))
        .with_context(|| format!("the standard library for {target} cannot be installed"))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(python.with_file_name("")).chain(std::env::split_paths(&path));
    // The paths of this machine would show in messages, and make two builds differ.
    let cargo_home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let cargo_home = cargo_home.context("neither CARGO_HOME nor HOME is set")?;
    let flags = format!(
        "--remap-path-prefix={}=haft --remap-path-prefix={cargo_home}=cargo",
        root.display()
    );
    let target_dir = root.join("target/package-build");
    let mut build = cargo();
    build.current_dir(root).args(["zigbuild", "--locked", "--package", "haft-cli", "--bins"]);
    build.args(["--profile", profile, "--target", &format!("{target}.{GLIBC_OLDEST}")]);
    build.arg("--target-dir").arg(&target_dir);
    run_program(build.env("PATH", std::env::join_paths(path)?).env("RUSTFLAGS", flags))?;
    // Cargo names the directory of the profile `dev` after its purpose.
    let directory = if profile == "dev" { "debug" } else { profile };
    Ok(target_dir.join(target).join(directory))
}
