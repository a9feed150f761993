//! Servers that are packages, installed from local files: no registry is asked.

use std::process::Command;

use expect_test::expect;
use serde_json::json;

use super::{call, said};
use crate::world::World;

const SERVER: &str = include_str!("../../fixtures/mcp_servers/packaged.js");
/// Writes a wheel whose program is a Python module.
const WHEEL: &str = r#"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    about = "Metadata-Version: 2.1\nName: acme-notes\nVersion: 1.0\n"
    files = {
        "acme_notes.py": "import runpy, sys\ndef main():\n    sys.argv.append('well')\n    runpy.run_path(sys.argv[0] and %r, run_name='__main__')\n" % sys.argv[2],
        "acme_notes-1.0.dist-info/METADATA": about,
        "acme_notes-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "acme_notes-1.0.dist-info/entry_points.txt": "[console_scripts]\nacme-notes-mcp = acme_notes:main\n",
    }
    record = "".join(f"{name},,\n" for name in files)
    for name, text in {**files, "acme_notes-1.0.dist-info/RECORD": record}.items():
        wheel.writestr(name, text)
"#;

#[test]
fn a_package_of_npm_is_a_server_in_one_step() {
    let world = World::with_files();
    world.write("package/server.js", SERVER);
    let about = json!({
        "name": "@acme/server-packaged",
        "version": "1.0.0",
        "bin": {"acme-packaged": "server.js"},
        "scripts": {"install": "touch /tmp/haft-test-install-script && exit 1"},
    });
    world.write("package/package.json", &about.to_string());
    let packed = Command::new("npm")
        .args(["pack", "--silent", "--ignore-scripts"])
        .current_dir(world.path("package"))
        .env("HOME", world.path("home"))
        .output()
        .unwrap();
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let archive = world.path("package/acme-server-packaged-1.0.0.tgz");
    let archive = archive.to_str().unwrap();
    let args = ["mcp", "add", "packaged", "--npm", archive];
    let output = world.haft(&args).env("npm_config_offline", "true").output().unwrap();
    let shown = world.shown(&output);
    assert!(output.status.success(), "{shown}");
    let program = "/world/home/.local/share/haft/mcp/packaged/node_modules/.bin/acme-packaged";
    assert!(shown.contains(&format!("[mcp.packaged]\ncommand = [\"{program}\"]")), "{shown}");
    let answer = call(&world, "packaged_echo", &json!({"text": "hi"}));
    assert_eq!(said(&answer), r#""hi""#);
    assert!(answer["metadata"]["enforced"].is_object(), "{answer}");
    // A second one needs another name.
    world.check(
        &["mcp", "add", "packaged", "--npm", archive],
        &expect![[r#"
            --- stderr
            error: a server packaged is in /world/work/haft.toml already

            hint: haft mcp remove packaged
            --- status 2
        "#]],
    );
}

#[test]
fn a_package_of_pypi_is_a_server_in_one_step() {
    let world = World::with_files();
    let wheel = world.path("acme_notes-1.0-py3-none-any.whl");
    let script = world.path("work/hostile.py");
    world.write("work/hostile.py", super::HOSTILE);
    let made = Command::new("/usr/bin/python3")
        .args(["-c", WHEEL])
        .args([&wheel, &script])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let args = ["mcp", "add", "--pypi", wheel.to_str().unwrap(), "--read", "."];
    let output = world.haft(&args).env("PIP_NO_INDEX", "1").output().unwrap();
    let shown = world.shown(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("[mcp.acme_notes]\n"), "{shown}");
    let answer = call(&world, "acme_notes_echo", &json!({"text": "hi"}));
    assert_eq!(said(&answer), r#""hi""#);
}

#[test]
fn a_package_that_is_none_leaves_nothing() {
    let world = World::with_files();
    let missing = world.path("missing.tgz");
    let args = ["mcp", "add", "gone", "--npm", missing.to_str().unwrap()];
    let output = world.haft(&args).env("npm_config_offline", "true").output().unwrap();
    let shown = world.shown(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("error: npm failed with exit status: "), "{shown}");
    assert!(!world.path("home/.local/share/haft/mcp/gone").exists());
    assert!(!world.path("work/haft.toml").exists());
    let bare = world.haft(&["mcp", "add"]).output().unwrap();
    assert_eq!(bare.status.code(), Some(2), "{}", world.shown(&bare));
}
