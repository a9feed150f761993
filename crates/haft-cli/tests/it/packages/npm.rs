//! The npm packages: from files, as `npx`, and from a registry, where npm itself chooses the platform.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::stage::{PackageStage, ServedDirectory, packages, run};
use crate::mcp_clients::client;

/// Returns the names of the two packages as npm packs them.
fn tarballs(stage: &PackageStage) -> [PathBuf; 2] {
    let version = env!("CARGO_PKG_VERSION");
    let main = stage.copy(&packages().join(format!("haft-{version}.tgz")));
    let [on_x86_64, on_aarch64] =
        ["x64", "arm64"].map(|processor| format!("haft-linux-{processor}-{version}.tgz"));
    [main, stage.package(&on_x86_64, &on_aarch64)]
}

/// Returns npm or npx, which fetch nothing and run no scripts of packages.
fn npm(stage: &PackageStage, program: &str) -> Command {
    let mut npm = stage.command(program);
    npm.args(["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    npm.env("NPM_CONFIG_UPDATE_NOTIFIER", "false")
        .env("NPM_CONFIG_CACHE", stage.path("home/cache"));
    npm
}

#[test]
fn npm_installs_from_files_and_npx_runs_them() {
    for stage in PackageStage::for_each_user() {
        let tarballs = tarballs(&stage);
        let prefix = stage.home().join("npm");
        run(npm(&stage, "npm")
            .args(["install", "--global", "--prefix"])
            .arg(&prefix)
            .args(&tarballs));
        let haft = prefix.join("bin/haft");
        stage.use_haft(&haft);
        // The status of the program is that of the launcher.
        let refused = stage.command(&haft).args(["call", "bash", "{\"cmd\": \"exit 3\"}"]).output();
        assert_eq!(refused.unwrap().status.code(), Some(1));
        let mut npx = npm(&stage, "npx");
        for tarball in &tarballs {
            npx.arg("--package").arg(tarball);
        }
        let version = run(npx.args(["--yes", "--", "haft", "--version"]));
        assert_eq!(version, concat!("haft ", env!("CARGO_PKG_VERSION"), "\n"));
    }
}

#[test]
fn newer_node_becomes_the_program() {
    let stage = PackageStage::new();
    let prefix = stage.home().join("npm");
    let mut install = npm(&stage, "npm");
    run(install.args(["install", "--prefix"]).arg(&prefix).args(tarballs(&stage)));
    let launcher = prefix.join("node_modules/haft/bin/haft.js");
    let node = client("HAFT_TEST_NODE");
    stage.use_haft_with(|| {
        let mut command = stage.command(&node);
        command.arg(&launcher);
        command
    });
}

#[test]
fn a_missing_platform_is_explained() {
    let stage = PackageStage::new();
    let [main, _] = tarballs(&stage);
    let prefix = stage.home().join("npm");
    run(npm(&stage, "npm").args(["install", "--omit=optional", "--prefix"]).arg(&prefix).arg(main));
    let output =
        stage.command(prefix.join("node_modules/.bin/haft")).arg("--version").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: the package haft-linux-"), "{stderr}");
    assert!(stderr.contains("\n\nhint: install haft again without --omit=optional"), "{stderr}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_registry_gives_each_machine_its_platform_and_no_other() {
    let stage = PackageStage::new();
    let registry = stage.path("registry");
    fs::create_dir(&registry).unwrap();
    let served = ServedDirectory::new(&registry);
    for tarball in tarballs(&stage) {
        publish(&tarball, &registry, &served.address, &[]);
        // The other platform's package differs from this one's in its name and its processor.
        let name = tarball.file_name().unwrap().to_string_lossy().into_owned();
        let others = [
            ("haft-linux-x64", "haft-linux-arm64", "arm64"),
            ("haft-linux-arm64", "haft-linux-x64", "x64"),
        ];
        for (here, other, processor) in others {
            if name.starts_with(here) {
                publish(
                    &tarball,
                    &registry,
                    &served.address,
                    &[("name", json!(other)), ("cpu", json!([processor]))],
                );
            }
        }
    }
    let prefix = stage.home().join("npm");
    let mut npm = stage.command("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--registry", &served.address, "--prefix"]);
    npm.env("NPM_CONFIG_UPDATE_NOTIFIER", "false")
        .env("NPM_CONFIG_CACHE", stage.path("home/cache"));
    run(npm.arg(&prefix).arg("haft"));
    stage.use_haft(&prefix.join("node_modules/.bin/haft"));
    let mut installed = crate::world::names(&prefix.join("node_modules"));
    installed.retain(|name| name.starts_with("haft"));
    let here = if cfg!(target_arch = "x86_64") { "haft-linux-x64" } else { "haft-linux-arm64" };
    assert_eq!(installed, ["haft", here]);
}

/// Puts a package into a directory as a registry serves it, with some fields of its manifest changed.
fn publish(tarball: &Path, registry: &Path, address: &str, changes: &[(&str, Value)]) {
    let manifest = run(Command::new("tar").arg("-xzOf").arg(tarball).arg("package/package.json"));
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    for (key, value) in changes {
        manifest[*key] = value.clone();
    }
    let (name, version) = (manifest["name"].clone(), manifest["version"].clone());
    let (name, version) = (name.as_str().unwrap(), version.as_str().unwrap());
    let file = format!("{name}-{version}.tgz");
    fs::copy(tarball, registry.join(&file)).unwrap();
    manifest["dist"] = json!({"tarball": format!("{address}/{file}")});
    let entry =
        json!({"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}});
    fs::write(registry.join(name), entry.to_string()).unwrap();
}
