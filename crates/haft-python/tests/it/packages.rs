//! Files that are modules of a package, files named like modules of the standard library, and
//! custom interpreters.

use std::path::Path;
use std::process::Command;

use expect_test::expect;
use haft_python::{ToolDirectory, WorkerOptions, interpreter_paths};
use serde_json::json;

use crate::stage::{Stage, checked, fixtures, shown};

fn package() -> ToolDirectory {
    ToolDirectory {
        package_root: Some(fixtures("package")),
        ..ToolDirectory::new(fixtures("package/smith/tools"))
    }
}

#[tokio::test]
async fn a_module_of_a_package_imports_from_it() {
    let stage = Stage::of_directory(&package(), WorkerOptions::default()).await;
    let envelope = stage.call("doubler", json!({"number": 1.5})).await;
    expect![[r#"
        ok: {"doubled":3.0,"module":"smith.tools.DOUBLER","same":true}
    "#]]
    .assert_eq(&shown(&envelope));
}

#[tokio::test]
async fn without_a_package_root_a_relative_import_is_a_problem() {
    let (_, checked) = checked(&ToolDirectory::new(fixtures("package/smith/tools"))).await;
    expect![[r#"
        DOUBLER.py:3: error: the file imports from its package, and no package_root is configured for the directory [package]
          mend: set package_root to the directory that holds the top package
        1 tool, 1 error, 0 warnings
    "#]].assert_eq(&checked.report());
}

#[tokio::test]
async fn a_file_named_like_a_module_hides_none_and_finds_its_neighbours() {
    let directory = ToolDirectory::new(fixtures("calls"));
    let stage = Stage::of_directory(&directory, WorkerOptions::default()).await;
    let envelope = stage.call("month_name", json!({"month": 2})).await;
    assert_eq!(shown(&envelope), "ok: \"hello February\"\n");
}

#[tokio::test]
async fn bytecode_beside_a_source_is_not_read() {
    let place = tempfile::tempdir().unwrap();
    let tools = place.path().canonicalize().unwrap().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let tool = "METADATA = {'name': 'shared', 'function': 'tell_shared', 'description': 'It tells.',\n\
                \x20   'parameters': {'type': 'object', 'properties': {}}}\n\n\n\
                def tell_shared():\n    import _shared\n    return _shared.WORDS\n";
    std::fs::write(tools.join("shared.py"), tool).unwrap();
    std::fs::write(tools.join("_shared.py"), "WORDS = 'the source'\n").unwrap();
    std::fs::write(tools.join("other"), "WORDS = 'the bytecode'\n").unwrap();
    // The interpreter does not compare this kind of bytecode with its source.
    let compiling = "import importlib.util, py_compile\n\
                     place = importlib.util.cache_from_source('_shared.py')\n\
                     kind = py_compile.PycInvalidationMode.UNCHECKED_HASH\n\
                     py_compile.compile('other', cfile=place, doraise=True, invalidation_mode=kind)\n";
    let python = |program: &str| {
        let output =
            Command::new("/usr/bin/python3").args(["-c", program]).current_dir(&tools).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    python(compiling);
    assert_eq!(python("import _shared; print(_shared.WORDS)"), "the bytecode\n");
    let directory = ToolDirectory::new(&tools);
    let stage = Stage::of_directory(&directory, WorkerOptions::default()).await;
    assert_eq!(shown(&stage.call("shared", json!({})).await), "ok: \"the source\"\n");
}

#[tokio::test]
async fn a_directory_has_the_interpreter_of_its_virtual_environment() {
    let place = tempfile::tempdir().unwrap();
    let environment = place.path().join("venv");
    make_environment(&environment);
    let directory = ToolDirectory {
        readable: interpreter_paths(&environment.join("bin/python")),
        interpreter: environment.join("bin/python"),
        ..package()
    };
    let stage = Stage::of_directory(&directory, WorkerOptions::default()).await;
    let envelope = stage.call("interpreter", json!({})).await;
    assert_eq!(shown(&envelope), "ok: {\"is_virtual\":true,\"installed\":\"there\"}\n");
}

fn make_environment(at: &Path) {
    let made = Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(at)
        .status()
        .unwrap();
    assert!(made.success(), "python3 cannot make virtual environments here");
    let packages = std::fs::read_dir(at.join("lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(packages.join("site-packages/installed_there.py"), "WHERE = 'there'\n").unwrap();
}
