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
        "tools/lonely",
        "usual/go/bin",
    ] {
        std::fs::create_dir_all(base.join(made)).unwrap();
    }
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
    let variable = |name: &str| (name == "PATH").then(|| path.clone());
    let places = Places::find(&variable, &home);
    let mut found: Vec<&Path> =
        places.readable.iter().filter_map(|place| place.strip_prefix(&base).ok()).collect();
    found.sort();
    let expect = [
        "home/.cargo",
        "home/.local/bin",
        "home/.rustup",
        "tools/lonely",
        "tools/node-22",
        "usual/go",
    ];
    assert_eq!(found, expect.map(Path::new));
    assert!(places.readable.contains(&PathBuf::from("/usr")));
    assert!(!places.readable.iter().any(|place| home.starts_with(place)));
}
