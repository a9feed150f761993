//! Packages of haft's programs: npm, PyPI, Debian and a tar.gz, with a bill of materials, checksums and a signature. All
//! three programs are in each package, side by side. The same programs give the same bytes.
//!
//! The formats are written here, by one file each, because their builders differ from machine to machine. Nothing is published
//! here; `.github/workflows/release.yml` does that.

mod debian;
mod gzip;
mod installed_files;
mod npm;
mod program_set;
mod release;
mod sbom;
mod server_json;
mod sums;
mod tar;
mod tar_gz;
mod wheel;
mod zigbuild;
mod zip;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use self::gzip::Compression;
use self::installed_files::PrintedTexts;
use self::program_set::{PLATFORMS, PROGRAMS, PackagePlatform, ProgramSet};
use self::release::ReleaseFacts;
use self::tar::ArchiveEntry;
use crate::files;
use crate::markers::grouped;
use crate::process::{capture, cargo, run as run_program};
use crate::usage::{UsageError, unexpected_argument};

/// The variable that names the file of the secret key of minisign.
const KEY_VARIABLE: &str = "HAFT_MINISIGN_KEY";
/// The profile of Cargo that releases are built with.
const RELEASE_PROFILE: &str = "release";

/// The parsed command line.
#[derive(Debug, Default)]
struct PackageRequest {
    /// Directories with programs that were built before, one for each platform.
    programs: Vec<PathBuf>,
    /// The platforms to build, if no programs are given.
    platforms: Vec<&'static PackagePlatform>,
    profile: Option<String>,
    out: Option<PathBuf>,
}

/// Runs `cargo xtask package`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let request = parse(arguments)?;
    let release = ReleaseFacts::read(root, Compression::Smallest)?;
    let mut dirs = request.programs;
    if dirs.is_empty() {
        let profile = request.profile.as_deref().unwrap_or(RELEASE_PROFILE);
        for platform in request.platforms {
            dirs.push(zigbuild::build(root, platform, profile)?);
        }
    }
    let sets = dirs.iter().map(|dir| ProgramSet::read(dir));
    let sets: Vec<ProgramSet> = sets.collect::<anyhow::Result<_>>()?;
    let out = request.out.unwrap_or_else(|| root.join("target/packages"));
    let packages = make(root, &sets, &release, &out)?;
    for (name, bytes) in packages {
        println!("{:>12}  {name}", grouped(bytes));
    }
    println!("in {}", out.display());
    match std::env::var_os(KEY_VARIABLE) {
        Some(key) => {
            // The program starts in the directory of the packages.
            let key = std::path::absolute(&key).context("the key has no path")?;
            sums::sign(&out, Path::new("minisign"), &key, &format!("haft {}", release.version))?;
        }
        None => eprintln!(
            "note: not signed; name the file of a secret key of minisign in {KEY_VARIABLE}"
        ),
    }
    if !release.has_repository() {
        eprintln!(
            "note: Cargo.toml has no `repository`, so the packages name {}; do not publish them",
            release.repository
        );
    }
    Ok(())
}

/// Makes packages of the programs that the tests built, and returns their directory.
pub(crate) fn make_for_tests(root: &Path) -> anyhow::Result<PathBuf> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let metadata: Value =
        serde_json::from_str(&capture(cargo().current_dir(root).args(arguments))?)
            .context("cargo metadata is not JSON")?;
    let target = metadata["target_directory"].as_str();
    let target = Path::new(target.context("cargo metadata names no target directory")?);
    let dir = target.join("test-packages");
    let programs = dir.join("programs");
    files::remove_dir(&dir)?;
    files::create_dir(&programs)?;
    for name in PROGRAMS {
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(programs.join(name)).arg(target.join("debug").join(name));
        run_program(&mut strip)?;
    }
    let packages = dir.join("packages");
    make_from(root, &programs, Compression::Fastest, &packages)?;
    files::remove_dir(&programs)?;
    Ok(packages)
}

/// Makes packages of released programs in `programs`, and returns name and size of each.
pub(crate) fn make_for_bench(
    root: &Path,
    programs: &Path,
    out: &Path,
) -> anyhow::Result<Vec<(String, u64)>> {
    make_from(root, programs, Compression::Smallest, out)
}

/// Returns the text of `server.json`.
pub(crate) fn server_json(root: &Path) -> anyhow::Result<String> {
    server_json::text(&ReleaseFacts::read(root, Compression::Smallest)?)
}

fn make_from(
    root: &Path,
    programs: &Path,
    compression: Compression,
    out: &Path,
) -> anyhow::Result<Vec<(String, u64)>> {
    let release = ReleaseFacts::read(root, compression)?;
    make(root, &[ProgramSet::read(programs)?], &release, out)
}

/// Writes all packages with their checksums into a directory, and returns name and size of each.
fn make(
    root: &Path,
    sets: &[ProgramSet],
    release: &ReleaseFacts,
    out: &Path,
) -> anyhow::Result<Vec<(String, u64)>> {
    files::create_dir(out)?;
    let texts = PrintedTexts::read(sets, &out.join(".work"))?;
    let bill = sbom::bill(root, release)?;
    let mut packages = vec![
        npm::main_package(root, release)?,
        ArchiveEntry::file(format!("haft-{}.cdx.json", release.version), bill.as_str()),
        ArchiveEntry::file("server.json", server_json::text(release)?),
    ];
    for set in sets {
        packages.push(npm::platform_package(set, release, &bill)?);
        packages.push(wheel::package(set, release, &bill)?);
        packages.push(debian::package(root, set, &texts, release, &bill)?);
        packages.push(tar_gz::package(set, &texts, release, &bill)?);
    }
    packages.sort_by(|one, other| one.path.cmp(&other.path));
    let is_twice = packages.windows(2).any(|pair| pair[0].path == pair[1].path);
    ensure!(!is_twice, "two directories have programs for the same platform");
    let (mut sums, mut written) = (String::new(), Vec::new());
    for package in &packages {
        let contents = package.contents.as_deref().unwrap_or_default();
        files::write(&out.join(&package.path), contents)?;
        let sum: String =
            sums::sha256(contents)?.iter().map(|byte| format!("{byte:02x}")).collect();
        sums.push_str(&format!("{sum}  {}\n", package.path));
        written.push((package.path.clone(), u64::try_from(contents.len())?));
    }
    files::write(&out.join(sums::SUMS), sums)?;
    Ok(written)
}

fn parse(arguments: &[String]) -> Result<PackageRequest, UsageError> {
    let mut request = PackageRequest::default();
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let mut value = |what: &str| {
            let missing = || UsageError(format!("`{flag}` needs {what}"));
            rest.next().filter(|value| !value.starts_with('-')).ok_or_else(missing)
        };
        match flag.as_str() {
            "--programs" => request.programs.push(value("the directory of the programs")?.into()),
            "--out" => request.out = Some(value("a directory")?.into()),
            "--profile" => request.profile = Some(value("the name of a profile")?.clone()),
            "--target" => {
                let known = PLATFORMS.each_ref().map(|platform| platform.target).join(" or ");
                let name = value(&known)?;
                let found = PLATFORMS.iter().find(|platform| platform.target == name);
                let unknown =
                    || UsageError(format!("`{name}` is no target of packages; use {known}"));
                request.platforms.push(found.ok_or_else(unknown)?);
            }
            other => return Err(unexpected_argument("package", other)),
        }
    }
    if !request.programs.is_empty() && (request.profile.is_some() || !request.platforms.is_empty())
    {
        let message =
            "`--programs` names programs that are built; leave out `--profile` and `--target`";
        return Err(UsageError(message.to_owned()));
    }
    if request.platforms.is_empty() {
        request.platforms = PLATFORMS.iter().collect();
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Result<PackageRequest, UsageError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn all_platforms_are_built_unless_some_are_named() {
        let targets = |line| {
            let platforms = request(line).expect("the line is right").platforms;
            platforms.iter().map(|platform| platform.target).collect::<Vec<_>>()
        };
        let all = PLATFORMS.each_ref().map(|platform| platform.target);
        assert_eq!(targets(""), all);
        assert_eq!(targets(&format!("--target {}", all[1])), [all[1]]);
    }

    #[test]
    fn the_same_programs_give_the_same_packages() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is below the root");
        let release = release::tests::release();
        let make = || -> anyhow::Result<Vec<ArchiveEntry>> {
            let set = ProgramSet {
                platform: &PLATFORMS[0],
                glibc: program_set::GLIBC_OLDEST,
                needs_compiler_library: false,
                programs: PROGRAMS.map(|name| (name, name.repeat(1_000).into_bytes())).into(),
            };
            let texts = PrintedTexts::for_tests();
            Ok(vec![
                npm::main_package(root, &release)?,
                npm::platform_package(&set, &release, "{}")?,
                wheel::package(&set, &release, "{}")?,
                debian::package(root, &set, &texts, &release, "{}")?,
                tar_gz::package(&set, &texts, &release, "{}")?,
            ])
        };
        let (first, second) = (make().unwrap(), make().unwrap());
        let names: Vec<&str> = first.iter().map(|package| package.path.as_str()).collect();
        assert_eq!(
            names,
            [
                "haft-1.2.3.tgz",
                "haft-linux-x64-1.2.3.tgz",
                "haft_runtime-1.2.3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                "haft_1.2.3_amd64.deb",
                "haft-1.2.3-x86_64-unknown-linux-gnu.tar.gz",
            ]
        );
        assert!(first == second, "two runs give different bytes");
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for (line, message) in [
            ("--frobnicate", "does not take"),
            ("--out", "needs a directory"),
            ("--programs --out x", "needs the directory of the programs"),
            ("--target riscv64gc-unknown-linux-gnu", "is no target of packages; use x86_64"),
            ("--programs x --profile quick", "leave out `--profile`"),
        ] {
            let err = request(line).expect_err(line);
            assert!(err.0.contains(message), "{line}: {err}");
        }
    }
}
