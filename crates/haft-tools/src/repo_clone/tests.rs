use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn a_clone_is_judged_by_its_host_its_place_and_its_command() {
    let tool = repo_clone();
    let judged = |input: Value| match tool.accesses(&input) {
        Ok(accesses) => serde_json::to_string(&accesses).unwrap(),
        Err(err) => err.message,
    };
    expect![[r#"[{"capability":"net.fetch","host":"example.org"},{"capability":"fs.write","path":"-vendor/a"},{"capability":"shell.run","command":{"argv":["git","clone","--","https://Example.org/a","./-vendor/a"]}}]"#]]
        .assert_eq(&judged(json!({"url": "https://Example.org/a", "path": "-vendor/a"})));
    for (path, expect) in [("..", "names no new directory"), ("/", "names no new directory")] {
        let message = judged(json!({"url": "https://example.org/a", "path": path}));
        assert!(message.contains(expect), "{message}");
    }
}

#[test]
fn no_place_is_taken_for_an_option() {
    for (path, expect) in [
        ("-x", ["./-x", "./.-x.haft-partial", "."]),
        ("a/b/", ["./a/b", "./a/.b.haft-partial", "./a"]),
        ("-a/b", ["./-a/b", "./-a/.b.haft-partial", "./-a"]),
        ("./a", ["./a", "./.a.haft-partial", "."]),
        ("../a", ["../a", "../.a.haft-partial", ".."]),
        ("/r/a", ["/r/a", "/r/.a.haft-partial", "/r"]),
    ] {
        let ClonePaths { target, partial, parent: around } = ClonePaths::from_path(path).unwrap();
        assert_eq!([target, partial, around], expect, "{path}");
    }
}

#[test]
fn git_is_told_to_run_nothing_of_what_it_fetches() {
    let input = RepoCloneInput {
        url: "https://a.example/b".to_owned(),
        path: "b".to_owned(),
        depth: Some(1),
    };
    let words = git_words(&input, &GitRemote::parse(&input.url).unwrap()).join(" ");
    expect!["-c protocol.allow=never -c protocol.https.allow=always -c http.followRedirects=initial -c credential.helper= -c core.askPass= -c core.hooksPath=/dev/null -c submodule.recurse=false clone --quiet --template= --no-recurse-submodules --depth=1 -- https://a.example/b"].assert_eq(&words);
}

#[test]
fn the_depth_has_a_bound() {
    let contract = repo_clone().valid_contract().unwrap().clone();
    let depth = &contract.parameters["properties"]["depth"];
    assert_eq!((&depth["minimum"], &depth["maximum"]), (&json!(1), &json!(DEPTH_MAX)));
}
