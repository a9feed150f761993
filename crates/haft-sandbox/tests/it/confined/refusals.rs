//! Confinements that are refused before anything runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haft_sandbox::{Confinement, Mechanisms, Network, SandboxCommand, SandboxLayer, SpawnError};

use crate::spawn::Fixture;

async fn refusal(fixture: &Fixture, confinement: &Confinement) -> SpawnError {
    let command = fixture.command("touch").args(["it-ran"]);
    let error = fixture.launcher.spawn(command, confinement).await.err();
    assert!(!fixture.path("it-ran").exists());
    error.unwrap_or_else(|| panic!("it was started"))
}

#[tokio::test]
async fn a_proxy_without_namespaces() {
    let fixture = Fixture::new();
    let mechanisms = Mechanisms { namespaces: false, ..Mechanisms::ALL };
    let network = Network::Proxied;
    let confinement = Confinement { mechanisms, network, ..fixture.confinement() };
    let error = refusal(&fixture, &confinement).await;
    let SpawnError::Unenforceable { missing, .. } = &error else { panic!("{error:?}") };
    let layers: Vec<SandboxLayer> = missing.iter().map(|missing| missing.layer).collect();
    assert_eq!(layers, [SandboxLayer::Network]);
    assert!(error.to_string().contains("namespaces are disabled by the caller"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_granted() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("real/deep")).unwrap();
    symlink("real", fixture.path("link")).unwrap();
    let cases: [(&str, PathBuf); 3] = [
        ("nothing", fixture.path("missing")),
        ("a link", fixture.path("link")),
        ("a link on the way", fixture.path("link/deep")),
    ];
    for (what, path) in cases {
        let mut confinement = fixture.confinement();
        confinement.writable.push(path.clone());
        let error = refusal(&fixture, &confinement).await;
        let SpawnError::Confine { at, .. } = &error else { panic!("{what}: {error:?}") };
        assert_eq!(at, &format!("mounting {}", path.display()));
    }
}

#[tokio::test]
async fn what_would_not_mean_what_it_says() {
    let fixture = Fixture::new();
    let up = fixture.path("x").join("..");
    for path in ["/".into(), "relative".into(), up] {
        for list in ["writable", "readable", "hidden"] {
            let mut confinement = fixture.confinement();
            match list {
                "writable" => confinement.writable.push(path.clone()),
                "readable" => confinement.readable.push(path.clone()),
                _ => confinement.hidden.push(path.clone()),
            }
            if (list, path.as_path()) == ("hidden", Path::new("/")) {
                continue;
            }
            let error = refusal(&fixture, &confinement).await;
            assert!(matches!(error, SpawnError::Invalid { .. }), "{list} {path:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_seen_is_none_to_start_in() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    for path in [other.path(), Path::new("/proc"), Path::new("/tmp"), Path::new("/")] {
        let directory = fs::File::open(path).unwrap();
        let command = SandboxCommand::new("/usr/bin/true", directory.into());
        let error = fixture.launcher.spawn(command, &fixture.confinement()).await.err();
        assert!(matches!(error, Some(SpawnError::WorkingDirectory { .. })), "{path:?} {error:?}");
    }
}

#[tokio::test]
async fn programs_that_are_not_there() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    fs::copy("/usr/bin/true", other.path().join("true")).unwrap();
    for program in [other.path().join("true"), "no-such-program".into()] {
        let command = fixture.command(program.to_str().unwrap());
        let error = fixture.launcher.spawn(command, &fixture.confinement()).await.err();
        assert!(matches!(error, Some(SpawnError::NotFound { .. })), "{error:?}");
    }
    fs::write(fixture.path("plain"), "").unwrap();
    let error =
        fixture.launcher.spawn(fixture.command("./plain"), &fixture.confinement()).await.err();
    assert!(matches!(error, Some(SpawnError::Denied { .. })), "{error:?}");
}
