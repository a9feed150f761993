//! The npm packages: one with the programs for each platform, and `haft`, which names them as optional dependencies and starts
//! the one that npm chose. No package has an install script.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::gzip::CompressedBytes;
use super::program_set::{PLATFORMS, PackagePlatform, ProgramSet};
use super::release::{DESCRIPTION, ReleaseFacts};
use super::tar::{self, ArchiveEntry};
use crate::files;

/// The oldest Node that npm's `libc` in packages came with.
const NODE_OLDEST: &str = ">=18";

/// Returns the package `haft`.
pub(super) fn main_package(root: &Path, release: &ReleaseFacts) -> anyhow::Result<ArchiveEntry> {
    let version = &release.version;
    let platforms = PLATFORMS.iter().map(|platform| (name(platform), json!(version)));
    let mut manifest = manifest("haft", release);
    manifest.insert("mcpName".to_owned(), json!(release.server_name()?));
    manifest.insert("bin".to_owned(), json!({"haft": "bin/haft.js"}));
    manifest.insert("engines".to_owned(), json!({"node": NODE_OLDEST}));
    manifest.insert("os".to_owned(), json!(["linux"]));
    manifest.insert("optionalDependencies".to_owned(), Value::Object(platforms.collect()));
    let packages: Map<String, Value> =
        PLATFORMS.iter().map(|platform| (platform.npm.to_owned(), json!(name(platform)))).collect();
    let launcher = files::read(&root.join("packaging/npm/haft.js"))?;
    let launcher = launcher.replace("{ PACKAGES }", &Value::Object(packages).to_string());
    let entries = vec![ArchiveEntry::program("bin/haft.js", launcher)];
    pack("haft", manifest, entries, release)
}

/// Returns the package with the programs for one platform.
pub(super) fn platform_package(
    set: &ProgramSet,
    release: &ReleaseFacts,
    bill: &str,
) -> anyhow::Result<ArchiveEntry> {
    let name = name(set.platform);
    let mut manifest = manifest(&name, release);
    manifest.insert("os".to_owned(), json!(["linux"]));
    manifest.insert("cpu".to_owned(), json!([set.platform.npm]));
    manifest.insert("libc".to_owned(), json!(["glibc"]));
    // Programs inside an archive cannot be started, which Yarn would try.
    manifest.insert("preferUnplugged".to_owned(), json!(true));
    let mut entries: Vec<ArchiveEntry> = set
        .programs
        .iter()
        .map(|(name, contents)| ArchiveEntry::program(format!("bin/{name}"), contents.as_slice()))
        .collect();
    entries.push(ArchiveEntry::file("haft.cdx.json", bill));
    pack(&name, manifest, entries, release)
}

/// Returns the name of the package for a platform.
fn name(platform: &PackagePlatform) -> String {
    format!("haft-linux-{}", platform.npm)
}

/// Returns the fields that all packages have.
fn manifest(name: &str, release: &ReleaseFacts) -> Map<String, Value> {
    let fields = [
        ("name", json!(name)),
        ("version", json!(release.version)),
        ("description", json!(DESCRIPTION)),
        ("license", json!(release.license)),
        ("repository", json!({"type": "git", "url": format!("git+{}.git", release.repository)})),
        ("homepage", json!(release.repository)),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn pack(
    name: &str,
    manifest: Map<String, Value>,
    mut entries: Vec<ArchiveEntry>,
    release: &ReleaseFacts,
) -> anyhow::Result<ArchiveEntry> {
    let manifest = format!("{}\n", serde_json::to_string_pretty(&manifest)?);
    entries.push(ArchiveEntry::file("package.json", manifest));
    entries.push(ArchiveEntry::file("README.md", release.readme.as_str()));
    entries.extend(release.license_files(""));
    for entry in &mut entries {
        entry.path = format!("package/{}", entry.path);
    }
    let archive = tar::archive(entries, release.time_s)?;
    let gzip = CompressedBytes::new(&archive, release.compression)?.into_gzip();
    Ok(ArchiveEntry::file(format!("{name}-{}.tgz", release.version), gzip))
}
