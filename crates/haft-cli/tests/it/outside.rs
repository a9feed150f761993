//! Places outside the roots that `requires` names with `{user-data}`, or that `--ad-hoc` names; and what is said of mistakes in
//! such patterns.

use serde_json::json;

use crate::world::World;

const GRANT: &str = "\
[requires.fs]
read = [\"{user-data}/notes/**\"]
write = [\"{user-data}/notes/**\"]

[[permissions]]
permission = \"fs.*\"
pattern = \"{user-data}/notes/**\"
action = \"allow\"
";

fn world(manifest: &str) -> World {
    let world = World::with_files();
    world.write("home/.local/share/notes/a.txt", "a note\n");
    world.write("home/.local/share/other.txt", "another file\n");
    world.write("work/haft.toml", manifest);
    world.run(&["trust"]);
    world
}

/// Calls a tool without a person to ask, and returns what can be seen.
fn call(world: &World, options: &[&str], tool: &str, input: &serde_json::Value) -> String {
    let input = input.to_string();
    let args = [options, &["call", "--headless", tool, &input]].concat();
    world.shown(&world.haft(&args).output().unwrap())
}

#[test]
fn what_user_data_stands_for_is_reached_by_tools_and_commands() {
    let world = world(GRANT);
    let notes = world.path("home/.local/share/notes");
    let note = notes.join("a.txt");
    let read = call(&world, &[], "read", &json!({ "path": note }));
    assert!(read.starts_with("a note"), "{read}");
    let cat = call(&world, &[], "bash", &json!({"cmd": format!("cat {}", note.display())}));
    assert!(cat.contains("a note"), "{cat}");
    let new = notes.join("new.txt");
    let write = call(&world, &[], "write", &json!({"path": new, "content": "written\n"}));
    assert!(write.contains("--- status 0"), "{write}");
    assert_eq!(world.read("home/.local/share/notes/new.txt"), "written\n");
    let cmd = format!("echo more >> {}", new.display());
    let append = call(&world, &[], "bash", &json!({ "cmd": cmd }));
    assert!(append.contains("--- status 0"), "{append}");
    assert_eq!(world.read("home/.local/share/notes/new.txt"), "written\nmore\n");

    // Nothing beside it.
    let beside = world.path("home/.local/share/other.txt");
    let read = call(&world, &[], "read", &json!({ "path": beside }));
    assert!(read.contains("is outside the workspace"), "{read}");
    let cmd = format!("cat {}/../other.txt", notes.display());
    let cat = call(&world, &["--preset", "full"], "bash", &json!({ "cmd": cmd }));
    assert!(!cat.contains("another file"), "{cat}");
}

#[test]
fn a_requirement_alone_allows_nothing() {
    let world = world("[requires.fs]\nread = [\"{user-data}/notes/**\"]\n");
    let note = world.path("home/.local/share/notes/a.txt");
    let read = call(&world, &[], "read", &json!({ "path": note }));
    assert!(read.contains("no rule matches") && read.contains("--- status 3"), "{read}");
    // A command that does not name the place does not see it.
    let find = r#"find / -name a.txt -path "*notes*" 2>/dev/null; true"#;
    let find = call(&world, &[], "bash", &json!({ "cmd": find }));
    assert!(!find.contains("a.txt"), "{find}");
    let read = call(&world, &["--preset", "full"], "read", &json!({ "path": note }));
    assert!(read.starts_with("a note"), "{read}");
    // It grants reading only.
    let write = json!({"path": note, "content": "changed"});
    let write = call(&world, &["--preset", "full"], "write", &write);
    assert!(write.contains("fs.write"), "{write}");
    assert_eq!(world.read("home/.local/share/notes/a.txt"), "a note\n");
}

#[test]
fn what_ad_hoc_names_is_read_by_tools_and_commands() {
    let world = World::with_files();
    world.write("elsewhere/data.csv", "a,b\n");
    world.write("elsewhere/secret.csv", "hidden\n");
    let file = world.path("elsewhere/data.csv");
    let flag = ["--ad-hoc", "../elsewhere/data.csv"];
    let read = call(&world, &flag, "read", &json!({ "path": file }));
    assert!(read.starts_with("a,b"), "{read}");
    let cmd = format!("cat {}; ls {}", file.display(), world.path("elsewhere").display());
    let cat = call(&world, &flag, "bash", &json!({ "cmd": format!("cat {}", file.display()) }));
    assert!(cat.contains("a,b"), "{cat}");
    let list = call(&world, &flag, "bash", &json!({ "cmd": cmd }));
    assert!(!list.contains("secret.csv"), "{list}");
    let beside = call(&world, &flag, "read", &json!({"path": world.path("elsewhere/secret.csv")}));
    assert!(beside.contains("is outside the workspace"), "{beside}");
    let without = call(&world, &[], "read", &json!({ "path": file }));
    assert!(without.contains("is outside the workspace"), "{without}");
    let none = call(&world, &["--ad-hoc", "none"], "read", &json!({ "path": file }));
    assert!(none.contains("ad-hoc file none cannot be used"), "{none}");
    assert!(none.contains("--- status 2"), "{none}");
}

#[test]
fn variables_are_checked_when_the_manifest_is_read() {
    let check = |manifest: &str, line: &str| {
        let world = World::with_files();
        world.write("work/haft.toml", manifest);
        for args in [&["tools", "list"][..], &["trust"], &["permissions", "list"]] {
            let shown = world.shown(&world.haft(args).output().unwrap());
            assert!(shown.contains(line), "{args:?}: {shown}");
        }
    };
    check(
        "[requires.fs]\nread = [\n  \"src/**\",\n  \"{workspce}/**\",\n]\n",
        "haft.toml:4:3: requires.fs.read: pattern \"{workspce}/**\" cannot be used: unknown variable {workspce}; did you mean {workspace}?",
    );
    check(
        "requires.net.hosts = [\"{workspace}\"]\n",
        "haft.toml:1:23: requires.net.hosts: pattern \"{workspace}\" cannot be used: hosts take no variables",
    );
    check(
        "[[commands]]\nid = \"x\"\nargv = [\"true\"]\nrequires = { fs = { write = [\"{home}/x\"] } }\n",
        "unknown variable {home}: expected {workspace}, {ad-hoc} or {user-data}",
    );
    check(
        "[mcp.files]\ncommand = \"true\"\nrequires.fs.read = [\"{ad_hoc}/x\"]\n",
        "haft.toml:3:21: requires.fs.read: pattern \"{ad_hoc}/x\" cannot be used: unknown variable {ad_hoc}; did you mean {ad-hoc}?",
    );
    check(
        "[[permissions]]\npermission = \"fs.read\"\npattern = \"{userdata}/x\"\n",
        "unknown variable {userdata}; did you mean {user-data}?",
    );
}
