//! Servers that are packages, installed from local files, or from a registry that the test is: no other one is asked.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

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

/// Returns an archive of a package of npm that is a server.
fn packed(world: &World) -> std::path::PathBuf {
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
    world.path("package/acme-server-packaged-1.0.0.tgz")
}

/// Serves a registry of npm with one package, and returns its address. It ends with the test.
fn npm_registry(archive: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let package = "@acme/server-packaged";
    let version = json!({
        "name": package,
        "version": "1.0.0",
        "bin": {"acme-packaged": "server.js"},
        "dist": {"tarball": format!("{address}packaged.tgz")},
    });
    let about = json!({
        "name": package,
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": version},
    });
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let body = match request.contains(".tgz") {
                true => archive.clone(),
                false => about.to_string().into_bytes(),
            };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes());
            let _ = stream.write_all(&body);
        }
    });
    address
}

#[test]
fn a_package_of_a_registry_is_installed_once_for_all_projects() {
    let world = World::with_files();
    let registry = npm_registry(std::fs::read(packed(&world)).unwrap());
    let none = "http://127.0.0.1:9/";
    let haft = |directory: &Path, registry: &str, args: &[&str]| -> Output {
        let mut command = world.haft(args);
        command.current_dir(directory).env("npm_config_registry", registry).output().unwrap()
    };
    let work = world.path("work");
    let add = ["mcp", "add", "--npm", "@acme/server-packaged", "--", "--quiet"];
    let added = haft(&work, &registry, &add);
    assert!(added.status.success(), "{}", world.shown(&added));
    let program =
        "{user-data}/haft/mcp/npm/@acme+server-packaged@1.0.0/node_modules/.bin/acme-packaged";
    let manifest = world.read("work/haft.toml");
    assert_eq!(manifest, format!("[mcp.packaged]\ncommand = [\"{program}\", \"--quiet\"]\n"));
    let answer = call(&world, "packaged_echo", &json!({"text": "hi"}));
    assert_eq!(said(&answer), r#""hi""#);

    // A second project needs no registry.
    world.write("second/notes.txt", "");
    let second = haft(&world.path("second"), none, &add);
    let shown = world.shown(&second);
    assert!(second.status.success(), "{shown}");
    assert!(shown.contains("@acme/server-packaged@1.0.0 is installed already"), "{shown}");
    assert_eq!(world.read("second/haft.toml"), manifest);

    // Neither does one that adds the server again.
    let removed = haft(&work, none, &["mcp", "remove", "packaged"]);
    expect![[r#"
        removed packaged from /world/work/haft.toml
        --- stderr
        its package stays, because other projects may use it; to remove it: rm -r /world/home/.local/share/haft/mcp/npm/@acme+server-packaged@1.0.0
        --- status 0
    "#]]
    .assert_eq(&world.shown(&removed));
    let again = haft(&work, none, &add);
    assert!(again.status.success(), "{}", world.shown(&again));
}

#[test]
fn a_server_of_a_colleague_says_how_it_is_installed() {
    let world = World::with_files();
    let registry = npm_registry(std::fs::read(packed(&world)).unwrap());
    let program =
        "{user-data}/haft/mcp/npm/@acme+server-packaged@1.0.0/node_modules/.bin/acme-packaged";
    let manifest = format!("[mcp.packaged]\ncommand = [\"{program}\"]\n");
    world.write("work/haft.toml", &manifest);
    world.run(&["trust"]);
    let missing = world.shown(&world.haft(&["mcp", "test", "packaged"]).output().unwrap());
    let hint = "hint: haft mcp add packaged --npm @acme/server-packaged@1.0.0\n";
    assert!(missing.contains("program not found") && missing.contains(hint), "{missing}");
    let listed = world.shown(&world.haft(&["tools", "list"]).output().unwrap());
    assert!(listed.contains(hint), "{listed}");
    let args = ["mcp", "add", "packaged", "--npm", "@acme/server-packaged@1.0.0"];
    let added = world.haft(&args).env("npm_config_registry", &registry).output().unwrap();
    let shown = world.shown(&added);
    assert!(added.status.success(), "{shown}");
    assert!(shown.starts_with("installed @acme/server-packaged@1.0.0 for the server packaged of /world/work/haft.toml, which stays as it is\n"), "{shown}");
    assert_eq!(world.read("work/haft.toml"), manifest);
    let answer = call(&world, "packaged_echo", &json!({"text": "hi"}));
    assert_eq!(said(&answer), r#""hi""#);
}

#[test]
fn a_package_of_npm_is_a_server_in_one_step() {
    let world = World::with_files();
    let archive = packed(&world);
    let archive = archive.to_str().unwrap();
    let args = ["mcp", "add", "packaged", "--npm", archive];
    let output = world.haft(&args).env("npm_config_offline", "true").output().unwrap();
    let shown = world.shown(&output);
    assert!(output.status.success(), "{shown}");
    let program = "{user-data}/haft/mcp/local/packaged/node_modules/.bin/acme-packaged";
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
    assert!(!world.path("home/.local/share/haft/mcp/local/gone").exists());
    assert!(!world.path("work/haft.toml").exists());
    let bare = world.haft(&["mcp", "add"]).output().unwrap();
    assert_eq!(bare.status.code(), Some(2), "{}", world.shown(&bare));
}
