use std::os::unix::fs::symlink;

use super::*;

#[test]
fn toolchains_on_the_path_are_found_through_links() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    let home = base.join("home");
    for made in [
        "home/.cargo/bin",
        "home/.rustup/toolchains",
        "home/.local/bin",
        "home/documents",
        "tools/node-22/bin",
        "tools/node-22/lib/node_modules",
        "tools/lonely",
        "usual/go/bin",
        "usual/go/src",
        "usual/go/secrets",
    ] {
        std::fs::create_dir_all(base.join(made)).unwrap();
    }
    std::fs::write(base.join("usual/go/.npmrc"), "").unwrap();
    symlink(base.join("usual/go/secrets"), base.join("usual/go/share")).unwrap();
    std::fs::write(base.join("tools/node-22/bin/node"), "").unwrap();
    symlink(base.join("tools/node-22/bin/node"), home.join(".local/bin/node")).unwrap();
    std::fs::write(base.join("tools/lonely/program"), "").unwrap();
    symlink(base.join("tools/lonely/program"), home.join(".local/bin/program")).unwrap();
    let path = std::env::join_paths([
        home.join(".cargo/bin"),
        home.join(".local/bin"),
        base.join("usual/go/bin"),
        PathBuf::from("/usr/bin"),
        PathBuf::from("relative"),
        home.clone(),
        PathBuf::from("/"),
    ])
    .unwrap();
    let variable = move |name: &str| (name == "PATH").then(|| path.clone());
    let places = HostPaths::discover(variable, &home, &[]);
    let mut found: Vec<&Path> =
        places.readable.iter().filter_map(|place| place.strip_prefix(&base).ok()).collect();
    found.sort();
    let expect = [
        "home/.cargo",
        "home/.local/bin",
        "home/.rustup",
        "tools/lonely/program",
        "tools/node-22/bin",
        "tools/node-22/lib",
        "usual/go/bin",
        "usual/go/src",
    ];
    assert_eq!(found, expect.map(Path::new));
    assert!(places.readable.contains(&PathBuf::from("/usr")));
    assert!(!places.readable.iter().any(|place| home.starts_with(place)));
}

#[test]
fn the_workspace_does_not_decide_what_is_readable() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    let home = base.join("home");
    for made in [
        "home/.local/bin",
        "home/.local/share",
        "home/bin",
        "home/private/bin",
        "anybody/bin",
        "root/node_modules/.bin",
        "root/dist",
        "root/venv/bin",
        "tools/bin",
    ] {
        std::fs::create_dir_all(base.join(made)).unwrap();
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(base.join("anybody"), mode).unwrap();
    for file in ["home/private/bin/s.txt", "home/bin/mine", "anybody/bin/program"] {
        std::fs::write(base.join(file), "").unwrap();
    }
    let link = |target: &str, link: &str| symlink(base.join(target), base.join(link)).unwrap();
    link("home/private/bin/s.txt", "root/dist/tool");
    link("home/private/bin/s.txt", "root/node_modules/.bin/tool");
    link("root/dist/tool", "home/.local/bin/tool");
    link("home/bin/mine", "home/.local/bin/mine");
    link("anybody/bin/program", "home/.local/bin/program");
    link("home/private", "home/.local/bin/directory");
    link("root/venv", "tools/venv");
    let on_path = ["root/node_modules/.bin", "root/venv/bin", "tools/venv/bin", "home/.local/bin"];
    let path = std::env::join_paths(on_path.map(|path| base.join(path))).unwrap();
    let lies_in = base.clone();
    let variable = move |name: &str| match name {
        "PATH" => Some(path.clone()),
        "VIRTUAL_ENV" => Some(lies_in.join("root/venv").into()),
        "JAVA_HOME" => Some(lies_in.join("tools/venv").into()),
        _ => None,
    };
    let places = HostPaths::discover(variable, &home, &[base.join("root")]);
    let mut found: Vec<&Path> =
        places.readable.iter().filter_map(|place| place.strip_prefix(&base).ok()).collect();
    found.sort();
    let expect = ["anybody/bin/program", "home/.local/bin", "home/bin/mine"];
    assert_eq!(found, expect.map(Path::new));
}
