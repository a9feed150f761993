//! The wheel: with pip, pipx and uv, from the file and from an index.

use std::fs;
use std::path::PathBuf;

use super::stage::{PackageStage, ServedDirectory, run, tools};
use crate::mcp_clients::client;

/// The interpreter that every user of the machine may run.
const PYTHON: &str = "/usr/bin/python3";

fn wheel(stage: &PackageStage) -> PathBuf {
    stage.package("_x86_64.whl", "_aarch64.whl")
}

#[test]
fn pip_installs_the_programs_side_by_side() {
    let stage = PackageStage::new();
    let environment = stage.home().join("environment");
    run(stage.command(client("HAFT_TEST_PYTHON")).args(["-m", "venv"]).arg(&environment));
    let pip = || {
        let mut pip = stage.command(environment.join("bin/pip"));
        pip.arg("--disable-pip-version-check").args(["--quiet"]);
        pip
    };
    run(pip().args(["install", "--no-index"]).arg(wheel(&stage)));
    let bin = environment.join("bin");
    stage.use_haft(&bin.join("haft"));
    run(pip().arg("check"));
    // Every file that was installed is removed again.
    run(pip().args(["uninstall", "--yes", "haft-runtime"]));
    assert!(
        ["haft", "haft-agent", "haft-reader", "haft-runtime"]
            .iter()
            .all(|name| !bin.join(name).exists())
    );
}

#[test]
fn pipx_puts_haft_on_the_path() {
    let stage = PackageStage::new();
    let mut pipx = stage.command(tools().join("pipx"));
    pipx.env("PIPX_HOME", stage.path("home/pipx")).env("PIPX_BIN_DIR", stage.path("home/bin"));
    pipx.env("PIPX_DEFAULT_PYTHON", client("HAFT_TEST_PYTHON"));
    run(pipx.args(["install", "--pip-args=--no-index"]).arg(wheel(&stage)));
    stage.use_haft(&stage.path("home/bin/haft"));
}

#[test]
fn uv_runs_the_file_and_installs_it_as_a_tool() {
    for stage in PackageStage::for_each_user() {
        let wheel = wheel(&stage);
        let uv = stage.copy(&tools().join("uv"));
        let uv = || {
            let mut uv = stage.command(&uv);
            uv.args(["--offline", "--no-config"]).env("UV_PYTHON", PYTHON);
            uv.env("UV_CACHE_DIR", stage.path("home/cache"));
            uv
        };
        let version =
            run(uv().args(["tool", "run", "--from"]).arg(&wheel).args(["haft", "--version"]));
        assert_eq!(version, concat!("haft ", env!("CARGO_PKG_VERSION"), "\n"));
        run(uv()
            .args(["tool", "install"])
            .arg(&wheel)
            .env("UV_TOOL_BIN_DIR", stage.path("home/bin")));
        stage.use_haft(&stage.path("home/bin/haft"));
    }
}

#[test]
fn uvx_runs_the_package_by_its_name() {
    let stage = PackageStage::new();
    let wheel = wheel(&stage);
    let index = stage.path("index/haft-runtime");
    fs::create_dir_all(&index).unwrap();
    let name = wheel.file_name().unwrap().to_string_lossy().into_owned();
    fs::copy(&wheel, index.join(&name)).unwrap();
    fs::write(index.join("index.html"), format!("<a href=\"{name}\">{name}</a>")).unwrap();
    let served = ServedDirectory::new(&stage.path("index"));
    let uv = stage.copy(&tools().join("uv"));
    stage.use_haft_with(|| {
        let mut uvx = stage.command(&uv);
        uvx.args([
            "--no-config",
            "tool",
            "run",
            "--default-index",
            &served.address,
            "haft-runtime",
        ]);
        uvx.env("UV_PYTHON", PYTHON).env("UV_CACHE_DIR", stage.path("home/cache"));
        uvx
    });
}
