//! The packages, installed from local files and used: by root and by another user where root runs the tests, else by the one
//! user there is. `cargo xtask test` makes them of the programs that these tests run. Nothing is fetched: what looks like a
//! registry is a directory that Python serves.

mod debian;
mod npm;
mod pypi;
mod stage;

use std::process::Command;

use serde_json::Value;

use stage::{PackageStage, packages, run};

#[test]
fn the_checksums_are_those_of_the_packages() {
    let listing =
        run(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(packages()));
    let checked = listing.lines().filter(|line| line.ends_with(": OK")).count();
    let files = std::fs::read_dir(packages()).unwrap().count();
    assert_eq!(checked, files - 1, "the checksums themselves are in no list: {listing}");
}

#[test]
fn a_tar_gz_is_unpacked_into_a_prefix() {
    for stage in PackageStage::for_each_user() {
        let archive =
            stage.package("x86_64-unknown-linux-gnu.tar.gz", "aarch64-unknown-linux-gnu.tar.gz");
        let prefix = stage.home().join(".local");
        run(stage.command("mkdir").arg(&prefix));
        run(stage
            .command("tar")
            .arg("-xzf")
            .arg(archive)
            .args(["--strip-components", "1", "-C"])
            .arg(&prefix));
        stage.use_haft(&prefix.join("bin/haft"));
        let page = run(stage
            .command("man")
            .args(["-P", "cat"])
            .arg(prefix.join("share/man/man1/haft-call.1")));
        assert!(page.contains("haft-call") && page.contains("SYNOPSIS"), "{page}");
        for completion in [
            "bash-completion/completions/haft",
            "fish/vendor_completions.d/haft.fish",
            "zsh/site-functions/_haft",
        ] {
            let text = std::fs::read_to_string(prefix.join("share").join(completion)).unwrap();
            assert!(text.contains("haft"), "{completion}");
        }
    }
}

#[test]
fn the_bill_of_materials_names_every_crate_and_its_licence() {
    let bill = std::fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().path());
    let bill = bill.into_iter().find(|path| path.to_string_lossy().ends_with(".cdx.json")).unwrap();
    let bill: Value = serde_json::from_slice(&std::fs::read(bill).unwrap()).unwrap();
    let names =
        |name: &str| bill["components"].as_array().unwrap().iter().any(|part| part["name"] == name);
    assert!(["haft-sandbox", "rusqlite", "ring", "rmcp"].into_iter().all(names));
    // Only tests use it, so that it is in no program.
    assert!(!names("proptest"));
    for part in bill["components"].as_array().unwrap() {
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
        let is_ours = part["name"].as_str().unwrap().starts_with("haft");
        assert_eq!(part["hashes"].is_null(), is_ours, "{part}");
    }
}
