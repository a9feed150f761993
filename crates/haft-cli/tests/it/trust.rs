//! A manifest that was found in a workspace may narrow, and widen only once it is trusted.

use expect_test::expect;

use crate::asking::answered;
use crate::terminal::Terminal;
use crate::world::World;

/// A call that needs what the manifests here grant; the flag comes before what they say of presets.
const LS: [&str; 5] = ["call", "bash", r#"{"cmd":"ls"}"#, "--preset", "ask"];
const ALLOW: &str = "[[permissions]]\npermission = \"bash\"\naction = \"allow\"\n";
const WIDE: &str = "\
allow_network = true
preset = \"full\"
roots = [\"../home\"]
limits.output_bytes = 300000
requires.net.hosts = [\"a.b\"]

[[permissions]]
permission = \"bash\"
action = \"allow\"

[[permissions]]
permission = \"fs.read\"
pattern = \"src\"
action = \"deny\"
";

#[test]
fn what_nobody_trusted_only_narrows() {
    let world = World::with_files();
    world.write("work/haft.toml", WIDE);
    world.check(&LS, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          roots = ["../home"]
          preset = "full"
          allow_network = true
          limits.output_bytes = 300000
          requires = {"net":{"hosts":["a.b"]}}
          allow bash "*"

        hint: haft trust /world/work/haft.toml

        error: no person can be asked here, so the call is denied: bash needs approval for shell.run of "ls": no rule matches, and then the answer is ask; the rule `allow bash "ls"` would allow it; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "bash"
        pattern = "ls $"
        action = "allow"

        hint: haft call --allow bash bash '{"cmd":"ls"}' --preset ask
        --- status 3
    "#]]);
    world.check(&["call", "read", r#"{"path":"src/main.rs"}"#], &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          roots = ["../home"]
          preset = "full"
          allow_network = true
          limits.output_bytes = 300000
          requires = {"net":{"hosts":["a.b"]}}
          allow bash "*"

        hint: haft trust /world/work/haft.toml

        error: read is denied fs.read of "src/main.rs": the manifest rule `deny fs.read "src"` decides; what the manifest denies only the manifest can allow
        --- status 3
    "#]]);
}

#[test]
fn what_is_trusted_holds_until_it_changes() {
    let world = World::with_files();
    world.write("work/haft.toml", WIDE);
    world.check(
        &["trust"],
        &expect![[r#"
        /world/work/haft.toml is trusted; it grants:
          roots = ["../home"]
          preset = "full"
          allow_network = true
          limits.output_bytes = 300000
          requires = {"net":{"hosts":["a.b"]}}
          allow bash "*"
        --- status 0
    "#]],
    );
    world.check(
        &LS,
        &expect![[r#"
        haft.toml
        notes.txt
        src
        --- status 0
    "#]],
    );
    world.write("work/haft.toml", &WIDE.replace("a.b", "a.c"));
    let shown = world.shown(&world.haft(&LS).output().unwrap());
    assert!(shown.contains("changed since you trusted it"), "{shown}");
    assert!(shown.ends_with("--- status 3\n"), "{shown}");
    world.write("work/haft.toml", WIDE);
    world.check(
        &["trust", "--revoke"],
        &expect![[r#"
        /world/work/haft.toml is not trusted
        --- status 0
    "#]],
    );
    let shown = world.shown(&world.haft(&LS).output().unwrap());
    assert!(shown.contains("is not trusted") && shown.ends_with("--- status 3\n"), "{shown}");
}

#[test]
fn what_changed_is_shown_and_confirmed_once() {
    let world = World::with_files();
    world.write("work/haft.toml", "# Mine.\npreset = \"ask\"\n");
    world.run(&["trust"]);
    world.write("work/haft.toml", "# Mine.\npreset = \"full\"\nallow_network = true\n");
    world.check(&LS, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml changed since you trusted it. haft ignores these settings of it:
          preset = "full"
          allow_network = true

        hint: haft trust /world/work/haft.toml

        error: no person can be asked here, so the call is denied: bash needs approval for shell.run of "ls": no rule matches, and then the answer is ask; the rule `allow bash "ls"` would allow it; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "bash"
        pattern = "ls $"
        action = "allow"

        hint: haft call --allow bash bash '{"cmd":"ls"}' --preset ask
        --- status 3
    "#]]);
    expect![[r#"
        /world/work/haft.toml changed since you trusted it:
           # Mine.
          -preset = "ask"
          +preset = "full"
          +allow_network = true
        Trust it with these changes? [y]es, [n]o: n
        error: /world/work/haft.toml is not trusted with its present content
        --- stdout
        --- status 1
    "#]]
    .assert_eq(&answered(&world, &["trust"], &["n\n"]));
    assert!(world.shown(&world.haft(&LS).output().unwrap()).contains("changed since"));
    expect![[r#"
        /world/work/haft.toml changed since you trusted it:
           # Mine.
          -preset = "ask"
          +preset = "full"
          +allow_network = true
        Trust it with these changes? [y]es, [n]o: y
        --- stdout
        /world/work/haft.toml is trusted; it grants:
          preset = "full"
          allow_network = true
        --- status 0
    "#]]
    .assert_eq(&answered(&world, &["trust"], &["y\n"]));
    assert!(!world.shown(&world.haft(&LS).output().unwrap()).contains("haft ignores"));
    // haft asks no person about trusted content, or without a terminal.
    expect![[r#"
        --- stdout
        /world/work/haft.toml is trusted; it grants:
          preset = "full"
          allow_network = true
        --- status 0
    "#]]
    .assert_eq(&answered(&world, &["trust"], &[]));
    world.write("work/haft.toml", "# Mine.\npreset = \"ask\"\n");
    world.check(
        &["trust"],
        &expect![[r#"
        /world/work/haft.toml is trusted; it grants nothing beyond the defaults
        --- status 0
    "#]],
    );
    world.write("work/haft.toml", "# Mine.\npreset = \"workspace\"\n");
    world.run(&["trust", "--revoke"]);
    world.check(&["trust", "--json"], &expect![[r#"
        {"path":"/world/work/haft.toml","sha256":"d015eb2769bd72e979e0fe40cc4ab167849af6791e4a4dbd72e02fbe6a040f10","trusted":true,"grants":[]}
        --- status 0
    "#]]);
}

#[test]
fn contents_that_were_trusted_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_files();
    world.run(&["init"]);
    let kept = crate::world::names(&world.path("state/trust"));
    assert_eq!(kept.len(), 2, "{kept:?}");
    for name in kept {
        let path = world.path("state/trust").join(name);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn trust_is_about_one_place() {
    let world = World::with_files();
    world.write("work/haft.toml", ALLOW);
    world.write("home/haft.toml", ALLOW);
    world.check(&["trust", "../home/haft.toml", "--json"], &expect![[r#"
        {"path":"/world/home/haft.toml","sha256":"c858cdee6e6550761f6e77b53d176e90284bddf9e8724c2add8524e154c2d5e5","trusted":true,"grants":["allow bash \"*\""]}
        --- status 0
    "#]]);
    world.check(&LS, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          allow bash "*"

        hint: haft trust /world/work/haft.toml

        error: no person can be asked here, so the call is denied: bash needs approval for shell.run of "ls": no rule matches, and then the answer is ask; the rule `allow bash "ls"` would allow it; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "bash"
        pattern = "ls $"
        action = "allow"

        hint: haft call --allow bash bash '{"cmd":"ls"}' --preset ask
        --- status 3
    "#]]);
}

#[test]
fn a_link_to_what_is_trusted_elsewhere_is_not_trusted_here() {
    let world = World::with_files();
    world.write("home/haft.toml", ALLOW);
    world.run(&["trust", "../home/haft.toml"]);
    std::os::unix::fs::symlink("../home/haft.toml", world.path("work/haft.toml")).unwrap();
    world.check(&LS, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          allow bash "*"

        hint: haft trust /world/work/haft.toml

        error: no person can be asked here, so the call is denied: bash needs approval for shell.run of "ls": no rule matches, and then the answer is ask; the rule `allow bash "ls"` would allow it; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "bash"
        pattern = "ls $"
        action = "allow"

        hint: haft call --allow bash bash '{"cmd":"ls"}' --preset ask
        --- status 3
    "#]]);
    world.check(
        &["call", "read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
            one
            two
            three
            --- stderr
            warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
              allow bash "*"

            hint: haft trust /world/work/haft.toml

            --- status 0
        "#]],
    );
}

#[test]
fn what_cannot_be_read_cannot_be_trusted() {
    let world = World::with_files();
    world.check(
        &["trust"],
        &expect![[r#"
        --- stderr
        error: there is no haft.toml in /world/work or above it

        hint: haft init
        --- status 2
    "#]],
    );
    world.check(
        &["trust", "none.toml"],
        &expect![[r#"
        --- stderr
        error: manifest none.toml cannot be read: No such file or directory (os error 2)
        --- status 2
    "#]],
    );
    world.write("work/haft.toml", "preset = \"fuller\"\n");
    world.check(&["trust"], &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:1:10: unknown variant `fuller`, expected one of `read-only`, `ask`, `workspace`, `full`
          |
        1 | preset = "fuller"
          |          ^^^^^^^^
        --- status 2
    "#]]);
    world.check(
        &["trust", "--revoke"],
        &expect![[r#"
        /world/work/haft.toml is not trusted
        --- status 0
    "#]],
    );
}

#[test]
fn an_ask_does_not_soften_what_the_preset_denies() {
    let world = World::with_files();
    world.write("work/haft.toml", "[[permissions]]\npermission = \"fs.write\"\n");
    let args = ["call", "write", r#"{"path":"a","content":""}"#, "--preset", "read-only"];
    world.check(&args, &expect![[r#"
        --- stderr
        warning: the preset read-only denies, so `ask fs.write "*"` of a manifest that is not trusted does not hold
        error: write is denied fs.write of "a": the preset rule `deny fs.write "*"` decides; the rule `allow write "a"` would allow it

        hint: haft call --allow write write '{"path":"a","content":""}' --preset read-only
        --- status 3
    "#]]);
}

#[test]
fn init_writes_what_it_trusts_and_overwrites_nothing() {
    let world = World::with_files();
    world.check(
        &["init"],
        &expect![[r#"
        wrote /world/work/haft.toml

        next:
          haft call read path=README.md    see how a call is answered
          haft permissions list            see what agents may do here
          haft mcp                         offer the tools to an MCP client, which starts this
          haft log                         see what was done
        --- status 0
    "#]],
    );
    assert!(world.read("work/haft.toml").lines().count() <= 15);
    world.check(
        &["call", "read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    world.check(
        &["init"],
        &expect![[r#"
        --- stderr
        error: /world/work/haft.toml exists already and is left as it is

        hint: mv /world/work/haft.toml /world/work/haft.toml.old && haft init
        --- status 2
    "#]],
    );
    world.check(
        &["init", "--json", "--root", "src"],
        &expect![[r#"
        {"path":"/world/work/src/haft.toml"}
        --- status 0
    "#]],
    );
    assert_eq!(world.read("work/src/haft.toml"), world.read("work/haft.toml"));
    world.check(
        &["init", "--root", "new place"],
        &expect![[r#"
        --- stderr
        error: there is no directory new place: make it first

        hint: mkdir -p 'new place' && haft init --root 'new place'
        --- status 2
    "#]],
    );
    world.check(
        &["init", "--root", "notes.txt"],
        &expect![[r#"
        --- stderr
        error: notes.txt is no directory: name one with --root
        --- status 2
    "#]],
    );
    world.check(
        &["trust"],
        &expect![[r#"
        /world/work/haft.toml is trusted; it grants nothing beyond the defaults
        --- status 0
    "#]],
    );
}

#[test]
fn init_asks_a_person_three_questions() {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&["init"]));
    for (question, answer) in [
        ("Answer [work]: ", "perhaps\n"),
        ("Answer [work]: ", "ask\n"),
        ("[none]: ", "docs.rs\n"),
        ("[.env]: ", "\n"),
    ] {
        terminal.wait_for(question);
        terminal.type_text(answer);
    }
    let (shown, printed, status) = terminal.finish(child);
    assert_eq!(status, Some(0), "{shown}");
    assert!(
        shown.contains("Answer read, work or ask.") && printed.contains("\nnext:\n"),
        "{shown}"
    );
    expect![[r#"
        # What agents may do in this directory and below it.
        # Every setting: docs/cli.md, or haft init --all-settings in an empty directory.
        preset = "ask"
        # Neither tools nor commands read these files.
        permissions = [{ permission = "fs.read", pattern = ".env", action = "deny" }]
        # Hosts that commands and tools may reach.
        requires.net.hosts = ["docs.rs"]
    "#]]
    .assert_eq(&world.read("work/haft.toml"));
    // haft trusts what it wrote.
    assert!(world.run(&["permissions", "list"]).contains("deny"), "{shown}");
}
