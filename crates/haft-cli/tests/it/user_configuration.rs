//! The user's own configuration: what it holds for all projects, who may write it, and how it goes together with a manifest.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;

use crate::permissions::listed;
use crate::world::World;

const FILE: &str = "home/.config/haft/haft.toml";
const RULES: &str = "\
[[permissions]]
permission = \"fs.read\"
pattern = \"secret.txt\"
action = \"deny\"

[[permissions]]
permission = \"bash\"
pattern = \"ls*\"
action = \"allow\"
";
const READ_SECRET: [&str; 3] = ["call", "read", r#"{"path":"secret.txt"}"#];
const LS: [&str; 3] = ["call", "bash", r#"{"cmd":"ls"}"#];

fn with_user(text: &str) -> World {
    let world = World::with_files();
    world.write("work/secret.txt", "hush\n");
    world.write(FILE, text);
    for place in [FILE, "home/.config/haft"] {
        let mode = if place == FILE { 0o644 } else { 0o755 };
        std::fs::set_permissions(world.path(place), Permissions::from_mode(mode)).unwrap();
    }
    world
}

#[test]
fn its_rules_hold_in_every_project_without_trust() {
    let world = with_user(&format!("preset = \"ask\"\n\n{RULES}"));
    world.check(&READ_SECRET, &expect![[r#"
        --- stderr
        error: read is denied fs.read of "secret.txt": the user rule `deny fs.read "secret.txt"` decides; that rule would have to change

        hint: haft permissions list --source
        --- status 3
    "#]]);
    world.check(
        &LS,
        &expect![[r#"
        notes.txt
        secret.txt
        src
        --- status 0
    "#]],
    );
    expect![[r#"
        user (/world/home/.config/haft/haft.toml)
          ACTION  PERMISSION  PATTERN     SOURCE
          deny    fs.read     secret.txt  /world/home/.config/haft/haft.toml:3
          allow   bash        ls*         /world/home/.config/haft/haft.toml:8

        preset (haft permissions preset ask)
          ACTION  PERMISSION   PATTERN         SOURCE
          allow   fs.read      {workspace}/**  haft permissions preset ask
          allow   todo         *               haft permissions preset ask
          allow   skill        *               haft permissions preset ask
          allow   tool_search  *               haft permissions preset ask
          allow   question     *               haft permissions preset ask
    "#]]
    .assert_eq(&listed(&world, &["permissions", "list", "--source"]));
    world.check(
        &["permissions", "check"],
        &expect![[r#"
            user rule `deny fs.read "secret.txt"`: held by the kernel
            7 rules can be used, nothing to report
            --- status 0
        "#]],
    );
    let doctor = world.run(&["doctor"]);
    assert!(doctor.contains("your configuration"), "{doctor}");
    assert_eq!(
        world.json(&["doctor", "--json"])["files"]["user_configuration"],
        world.path(FILE).to_str().unwrap()
    );
}

#[test]
fn it_comes_before_the_manifest_and_a_manifest_still_narrows() {
    let world = with_user("preset = \"full\"\n[model]\nname = \"openai/mine\"\n");
    world.write("work/haft.toml", "preset = \"ask\"\n[model]\nname = \"openai/theirs\"\n");
    world.run(&["trust"]);
    let doctor = world.json(&["doctor", "--json"]);
    assert_eq!(doctor["model"]["name"], "openai/mine", "{doctor}");
    assert!(listed(&world, &["permissions", "list"]).contains("haft permissions preset ask"));
    std::fs::remove_file(world.path("work/haft.toml")).unwrap();
    assert!(listed(&world, &["permissions", "list"]).contains("haft permissions preset full"));
}

#[test]
fn an_untrusted_manifest_weakens_nothing_of_it() {
    let world = with_user(RULES);
    // A rule for the tool is more exact than one for the capability, and an ask would lift the deny.
    world.write(
        "work/haft.toml",
        "preset = \"full\"\n[[permissions]]\npermission = \"read\"\npattern = \"secret.txt\"\naction = \"ask\"\n\
         [[permissions]]\npermission = \"read\"\naction = \"allow\"\n",
    );
    world.check(&READ_SECRET, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          preset = "full"
          allow read "*"

        hint: haft trust /world/work/haft.toml

        warning: your own configuration denies, so `ask read "secret.txt"` of a manifest that is not trusted does not hold
        error: read is denied fs.read of "secret.txt": the user rule `deny fs.read "secret.txt"` decides; that rule would have to change

        hint: haft permissions list --source
        --- status 3
    "#]]);
}

#[test]
fn a_server_of_the_user_is_there_in_every_project() {
    let world = World::with_files();
    world.check(&["mcp", "add", "--user", "time", "--", "./time"], &expect![[r#"
        wrote /world/home/.config/haft/haft.toml
        [mcp.time]
        command = ["/world/work/./time"]

        granted: nothing; what it may read, change and reach is for requires.fs.read, requires.fs.write and requires.net.hosts in its table to say
        see whether it works: haft mcp test time
        --- status 0
    "#]]);
    let mode = |path: &str| world.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(FILE), mode("home/.config/haft")), (0o600, 0o700));
    world.check(
        &["mcp", "list"],
        &expect![[r#"
        NAME  TOOLS  GRANTED  SERVER
        time  ?      nothing  /world/work/./time
        --- status 0
    "#]],
    );
    assert!(!world.path("work/haft.toml").exists());
    world.check(
        &["mcp", "remove", "--user", "time"],
        &expect![[r#"
        removed time from /world/home/.config/haft/haft.toml
        --- status 0
    "#]],
    );
    world.check(
        &["mcp", "list"],
        &expect![[r#"
        no MCP servers are configured; see haft mcp add --help
        --- status 0
    "#]],
    );
}

#[test]
fn a_change_of_what_haft_wrote_is_confirmed_once() {
    let world = World::with_files();
    world.check(
        &["init", "--user"],
        &expect![[r#"
        wrote /world/home/.config/haft/haft.toml
        --- status 0
    "#]],
    );
    world.check(&["init", "--user"], &expect![[r#"
        --- stderr
        error: /world/home/.config/haft/haft.toml exists already and is left as it is

        hint: mv /world/home/.config/haft/haft.toml /world/home/.config/haft/haft.toml.old && haft init --user
        --- status 2
    "#]]);
    world.check(
        &["permissions", "allow", "--user", "bash", "ls *"],
        &expect![[r#"
        added `allow bash "ls *"` for all of your projects, in /world/home/.config/haft/haft.toml
        --- status 0
    "#]],
    );
    world.check(&["permissions", "allow", "--user", "bash", "ls *"], &expect![[r#"
        known already: `allow bash "ls *"` for all of your projects, in /world/home/.config/haft/haft.toml
        --- status 0
    "#]]);
    let text = world.read(FILE);
    world.write(FILE, &format!("preset = \"full\"\n{text}"));
    // Settings that narrow hold at once, and the rest once the user confirms it.
    world.check(&["call", "--headless", "read", r#"{"path":"notes.txt"}"#], &expect![[r#"
        one
        two
        three
        --- stderr
        warning: /world/home/.config/haft/haft.toml changed since you trusted it. haft ignores these settings of it:
          preset = "full"
          allow bash "ls *"

        hint: haft trust /world/home/.config/haft/haft.toml

        --- status 0
    "#]]);
    world.check(&["permissions", "deny", "--user", "bash", "git push *"], &expect![[r#"
        added `deny bash "git push *"` for all of your projects, in /world/home/.config/haft/haft.toml
        /world/home/.config/haft/haft.toml is not trusted yet; trust it with: haft trust /world/home/.config/haft/haft.toml
        --- stderr
        warning: /world/home/.config/haft/haft.toml changed since you trusted it. haft ignores these settings of it:
          preset = "full"
          allow bash "ls *"

        hint: haft trust /world/home/.config/haft/haft.toml

        --- status 0
    "#]]);
    let file = world.path(FILE);
    world.check(&["trust", file.to_str().unwrap()], &expect![[r#"
        /world/home/.config/haft/haft.toml changed since you trusted it:
          +preset = "full"
           # Your own configuration of haft, for all of your projects. It comes before the haft.toml of a workspace.
           action = "allow"
          +
          +[[permissions]]
          +permission = "bash"
          +pattern = "git push *"
          +action = "deny"
        /world/home/.config/haft/haft.toml is trusted; it grants:
          preset = "full"
          allow bash "ls *"
        --- status 0
    "#]]);
    expect![[r#"
        user (/world/home/.config/haft/haft.toml)
          ACTION  PERMISSION  PATTERN
          allow   bash        ls *
          deny    bash        git push *
        preset (haft permissions preset full)
          ACTION  PERMISSION  PATTERN
          allow   *           *
    "#]]
    .assert_eq(&listed(&world, &["permissions", "list"]).replace("\n\n", "\n"));
    world.run(&["trust", "--revoke", file.to_str().unwrap()]);
    let shown = world.shown(&world.haft(&["permissions", "list"]).output().unwrap());
    assert!(shown.contains("is not trusted yet"), "{shown}");
}

#[test]
fn a_file_that_others_can_write_stops_haft() {
    let world = with_user(RULES);
    std::fs::set_permissions(world.path(FILE), Permissions::from_mode(0o664)).unwrap();
    world.check(&LS, &expect![[r#"
        --- stderr
        error: user configuration /world/home/.config/haft/haft.toml: other users can write /world/home/.config/haft/haft.toml, and so change what haft allows

        hint: chmod go-w /world/home/.config/haft/haft.toml
        --- status 2
    "#]]);
    std::fs::set_permissions(world.path(FILE), Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(world.path("home/.config/haft"), Permissions::from_mode(0o777))
        .unwrap();
    world.check(&["doctor"], &expect![[r#"
        --- stderr
        error: user configuration /world/home/.config/haft/haft.toml: other users can write /world/home/.config/haft, and so change what haft allows

        hint: chmod go-w /world/home/.config/haft
        --- status 2
    "#]]);
}

#[test]
fn settings_of_one_project_and_typing_mistakes_are_said() {
    let world = with_user("tools = [\"read\"]\n");
    world.check(&LS, &expect![[r#"
        --- stderr
        error: user configuration /world/home/.config/haft/haft.toml: tools cannot be set for all projects: expected only asks, mcp, model, notify, permissions, preset; put the rest into the haft.toml of a workspace
        --- status 2
    "#]]);
    let mistaken = "[[permissions]]\npermission = \"fs.raed\"\naction = \"deny\"\n\
                    [[permissions]]\npermission = \"elsewhere\"\naction = \"deny\"\n";
    world.write(FILE, mistaken);
    world.check(&["call", "read", r#"{"path":"notes.txt"}"#], &expect![[r#"
        one
        two
        three
        --- stderr
        warning: permissions of your own configuration: "fs.raed" names no tool and no capability: did you mean "fs.read"?
        --- status 0
    "#]]);
}

#[test]
fn neither_tools_nor_commands_change_it() {
    let world = with_user("preset = \"full\"\n");
    let root = world.path("home");
    let root = root.to_str().unwrap();
    let write = r#"{"path":".config/haft/haft.toml","content":"preset = \"full\""}"#;
    world.check(&["call", "--root", root, "write", write], &expect![[r#"
        --- stderr
        error: .config/haft/haft.toml is protected by ".config/haft/**", because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    let command = r#"{"cmd":"echo x >> .config/haft/haft.toml"}"#;
    let output = world.haft(&["call", "--root", root, "bash", command]).output().unwrap();
    assert!(!output.status.success(), "{}", world.shown(&output));
    assert_eq!(world.read(FILE), "preset = \"full\"\n");
    // It is not the manifest of the directory that it lies in.
    let mut list = world.haft(&["permissions", "list", "--json"]);
    let listed = list.current_dir(world.path("home/.config/haft")).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let scopes = listed["rules"].as_array().unwrap().iter().map(|rule| &rule["scope"]);
    assert!(scopes.clone().all(|scope| scope != "manifest"), "{listed}");
}

#[test]
fn trust_without_a_path_takes_it_if_only_that_is_not_trusted() {
    let world = with_user("preset = \"ask\"\n");
    world.run(&["trust", world.path(FILE).to_str().unwrap()]);
    world.write(FILE, "preset = \"full\"\n");
    let trusted = |world: &World| world.json(&["trust", "--json"])["path"].clone();
    world.write("work/haft.toml", "preset = \"full\"\n");
    assert_eq!(trusted(&world), world.path("work/haft.toml").to_str().unwrap());
    assert_eq!(trusted(&world), world.path(FILE).to_str().unwrap());
    // Nothing is left, so it is the one of the workspace again.
    assert_eq!(trusted(&world), world.path("work/haft.toml").to_str().unwrap());
    std::fs::remove_file(world.path("work/haft.toml")).unwrap();
    world.write(FILE, "preset = \"workspace\"\n");
    assert_eq!(trusted(&world), world.path(FILE).to_str().unwrap());
    world.check(
        &["trust"],
        &expect![[r#"
        --- stderr
        error: there is no haft.toml in /world/work or above it

        hint: haft init
        --- status 2
    "#]],
    );
}
