//! The bill of materials in the format CycloneDX: every crate inside the programs, with its version, licence and checksum. It
//! comes from Cargo's own resolution and the lock file, so it needs no other tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::program_set::PLATFORMS;
use super::release::ReleaseFacts;
use crate::files;
use crate::process::{capture, cargo};

/// The package that has the programs.
const CRATE: &str = "haft-cli";

/// Returns the bill as text.
pub(super) fn bill(root: &Path, release: &ReleaseFacts) -> anyhow::Result<String> {
    let mut metadata = cargo();
    metadata.current_dir(root).args(["metadata", "--format-version", "1", "--locked"]);
    for platform in &PLATFORMS {
        metadata.args(["--filter-platform", platform.target]);
    }
    let metadata: Value =
        serde_json::from_str(&capture(&mut metadata)?).context("cargo metadata is not JSON")?;
    let lock: toml::Table =
        files::read(&root.join("Cargo.lock"))?.parse().context("Cargo.lock is not TOML")?;
    let bill = document(&metadata, &checksums(&lock), release)?;
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

/// Returns the checksum of each name and version in a lock file.
fn checksums(lock: &toml::Table) -> BTreeMap<(&str, &str), &str> {
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.map(Vec::as_slice).unwrap_or_default().iter();
    packages
        .filter_map(|package| {
            let text = |key: &str| package.get(key)?.as_str();
            Some(((text("name")?, text("version")?), text("checksum")?))
        })
        .collect()
}

fn document(
    metadata: &Value,
    checksums: &BTreeMap<(&str, &str), &str>,
    release: &ReleaseFacts,
) -> anyhow::Result<Value> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let edges: BTreeMap<&str, BTreeSet<&str>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, linked(node)))).collect();
    let (top, _) = by_id
        .iter()
        .find(|(_, package)| package["name"] == CRATE)
        .with_context(|| format!("there is no package {CRATE}"))?;
    // Everything that the programs reach.
    let (mut reached, mut open) = (BTreeSet::new(), vec![*top]);
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    let url = |id: &str| by_id.get(id).map(|package| package_url(package)).unwrap_or_default();
    let mut parts: Vec<&str> = reached.iter().copied().filter(|id| id != top).collect();
    parts.sort_by_key(|id| url(id));
    let components = parts.iter().map(|id| component(by_id[id], checksums));
    let mut dependencies = Vec::new();
    for id in std::iter::once(top).chain(&parts) {
        let mut uses: Vec<String> = edges.get(id).into_iter().flatten().map(|id| url(id)).collect();
        uses.sort();
        dependencies.push(json!({"ref": url(id), "dependsOn": uses}));
    }
    let timestamp = release.date("+%Y-%m-%dT%H:%M:%SZ")?;
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp,
            "tools": {"components": [{"type": "application", "name": "cargo xtask package", "version": release.version}]},
            "component": {
                "type": "application",
                "bom-ref": url(top),
                "name": "haft",
                "version": release.version,
                "licenses": [{"expression": release.license}],
                "purl": url(top),
            },
        },
        "components": components.collect::<Vec<_>>(),
        "dependencies": dependencies,
    }))
}

/// Returns the dependencies of a package that are linked into a program; what only tests or build scripts use is not.
fn linked(node: &Value) -> BTreeSet<&str> {
    let dependencies = node["deps"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let is_linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
        kinds.iter().any(|kind| kind["kind"].is_null())
    };
    dependencies.filter(is_linked).filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

fn package_url(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    // A plus sign in a version means a blank in an address.
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

fn component(package: &Value, checksums: &BTreeMap<(&str, &str), &str>) -> Value {
    let text = |key: &str| package[key].as_str();
    let (name, version) = (text("name").unwrap_or_default(), text("version").unwrap_or_default());
    let url = package_url(package);
    let mut component = Map::new();
    let mut put = |key: &str, value: Value| component.insert(key.to_owned(), value);
    put("type", json!("library"));
    put("bom-ref", json!(url));
    put("name", json!(name));
    put("version", json!(version));
    if let Some(checksum) = checksums.get(&(name, version)) {
        put("hashes", json!([{"alg": "SHA-256", "content": checksum}]));
    }
    if let Some(license) = text("license") {
        // Old packages write a slash for «or».
        put("licenses", json!([{"expression": license.replace('/', " OR ")}]));
    }
    put("purl", json!(url));
    Value::Object(component)
}

#[cfg(test)]
mod tests {
    use super::super::release::tests::release;
    use super::*;

    #[test]
    fn the_bill_has_what_is_linked_and_no_more() {
        let kind = |kind: Value| json!([{"kind": kind, "target": null}]);
        let metadata = json!({
            "packages": [
                {"id": "cli", "name": CRATE, "version": "1.2.3"},
                {"id": "a", "name": "a", "version": "1.0.0+zip.1", "license": "MIT/Apache-2.0"},
                {"id": "b", "name": "b", "version": "2.0.0"},
                {"id": "test", "name": "test", "version": "3.0.0"},
            ],
            "resolve": {"nodes": [
                {"id": "cli", "deps": [
                    {"pkg": "a", "dep_kinds": kind(Value::Null)},
                    {"pkg": "test", "dep_kinds": kind(json!("dev"))},
                ]},
                {"id": "a", "deps": [{"pkg": "b", "dep_kinds": kind(Value::Null)}]},
                {"id": "b", "deps": []},
                {"id": "test", "deps": []},
            ]},
        });
        let lock: toml::Table =
            "[[package]]\nname = \"b\"\nversion = \"2.0.0\"\nchecksum = \"ab\"\n".parse().unwrap();
        let bill = document(&metadata, &checksums(&lock), &release()).unwrap();
        assert_eq!(
            bill["components"],
            json!([
                {
                    "type": "library", "bom-ref": "pkg:cargo/a@1.0.0%2Bzip.1", "name": "a", "version": "1.0.0+zip.1",
                    "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": "pkg:cargo/a@1.0.0%2Bzip.1",
                },
                {
                    "type": "library", "bom-ref": "pkg:cargo/b@2.0.0", "name": "b", "version": "2.0.0",
                    "hashes": [{"alg": "SHA-256", "content": "ab"}], "purl": "pkg:cargo/b@2.0.0",
                },
            ])
        );
        assert_eq!(
            bill["dependencies"],
            json!([
                {"ref": "pkg:cargo/haft-cli@1.2.3", "dependsOn": ["pkg:cargo/a@1.0.0%2Bzip.1"]},
                {"ref": "pkg:cargo/a@1.0.0%2Bzip.1", "dependsOn": ["pkg:cargo/b@2.0.0"]},
                {"ref": "pkg:cargo/b@2.0.0", "dependsOn": []},
            ])
        );
        assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
    }
}
