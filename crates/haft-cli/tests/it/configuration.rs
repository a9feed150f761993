//! `haft.toml`, flags and environment: what is found, what comes first, and what is said of mistakes.

use expect_test::expect;

use crate::built_in_tools;
use crate::world::World;

const READ: [&str; 3] = ["call", "read", r#"{"path":"notes.txt"}"#];

#[test]
fn the_nearest_manifest_decides_where_the_root_is() {
    let world = World::with_files();
    world.write("work/haft.toml", "");
    let mut command = world.haft(&READ);
    world.check_command(
        command.current_dir(world.path("work/src")),
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    world.write("work/src/haft.toml", "");
    let mut command = world.haft(&READ);
    world.check_command(
        command.current_dir(world.path("work/src")),
        &expect![[r#"
        --- stderr
        error: path "notes.txt" does not exist: use glob to find it
        --- status 1
    "#]],
    );
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_manifest() {
    let world = World::with_files();
    world.write("work/haft.toml", "tools = [\"read\"]\nprofile = \"contract\"\n");
    let list = |args: &[&str], variable: Option<(&str, &str)>| {
        let args: Vec<&str> = ["tools", "list"].iter().chain(args).copied().collect();
        let mut command = world.haft(&args);
        command.envs(variable);
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let ids = output.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        ids.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list(&[], None), "read");
    assert_eq!(list(&[], Some(("HAFT_TOOLS", "grep,glob"))), "glob grep");
    assert_eq!(list(&[], Some(("HAFT_TOOLS", ""))), "read");
    assert_eq!(list(&["--tools", "edit"], Some(("HAFT_TOOLS", "grep,glob"))), "edit");
}

#[test]
fn a_named_manifest_is_trusted_and_decides_where_the_root_is() {
    let world = World::with_files();
    world.write("elsewhere/agent.toml", "root = \"../work\"\npreset = \"full\"\n");
    let bash = ["call", "bash", r#"{"cmd":"ls"}"#, "--config", "../elsewhere/agent.toml"];
    world.check(
        &bash,
        &expect![[r#"
        notes.txt
        src
        --- status 0
    "#]],
    );
    let mut command = world.haft(&READ);
    command.env("HAFT_CONFIG", world.path("elsewhere/agent.toml")).current_dir(world.path("home"));
    world.check_command(
        &mut command,
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    world.check(
        &[READ.as_slice(), &["--config", "none.toml"]].concat(),
        &expect![[r#"
        --- stderr
        error: manifest none.toml cannot be read: No such file or directory (os error 2)
        --- status 2
    "#]],
    );
}

#[test]
fn rules_and_limits_hold() {
    let world = World::with_files();
    world.write(
        "work/agent.toml",
        "preset = \"ask\"\nlimits.output_bytes = 8\n\
         [[permissions]]\npermission = \"fs.read\"\npattern = \"src\"\naction = \"deny\"\n\
         [[permissions]]\npermission = \"bash\"\npattern = \"ls\"\naction = \"allow\"\n",
    );
    let check = |args: &[&str], expect: &expect_test::Expect| {
        let args: Vec<&str> =
            ["call", "--config", "agent.toml"].iter().chain(args).copied().collect();
        world.check(&args, expect);
    };
    check(
        &["read", r#"{"path":"src/main.rs"}"#],
        &expect![[r#"
        --- stderr
        error: read is denied fs.read of "src/main.rs": the manifest rule `deny fs.read "src"` decides; what the manifest denies only the manifest can allow
        --- status 3
    "#]],
    );
    check(
        &["--allow", "read", "read", r#"{"path":"src/main.rs"}"#],
        &expect![[r#"
        --- stderr
        error: read is denied fs.read of "src/main.rs": the manifest rule `deny fs.read "src"` decides; what the manifest denies only the manifest can allow
        --- status 3
    "#]],
    );
    check(
        &["grep", r#"{"pattern":"two"}"#],
        &expect![[r#"
            notes.tx
            [1 of 1 matches; all of it: /world/state/sessions/session_XXXXXXXXXXXXXXXXXXXXXXXXXX/1-grep.txt (read it with offset=2)]
            --- status 0
        "#]],
    );
    check(
        &["read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
            --- stderr
            error: file "notes.txt" has 14 bytes, and read takes at most 8 at once: give offset and limit (lines), or find the lines with grep
            --- status 1
        "#]],
    );
    check(
        &["bash", r#"{"cmd":"ls"}"#],
        &expect![[r#"
            agent.
            [17 bytes left out; all of it: /world/state/sessions/session_XXXXXXXXXXXXXXXXXXXXXXXXXX/1-bash.txt (read it with byte_offset=6)]
            c
            --- status 0
        "#]],
    );
}

#[test]
fn what_would_allow_a_call_is_said() {
    let world = World::with_files();
    world.write("work/agent.toml", "preset = \"ask\"\n");
    world.check(
        &["call", "--config", "agent.toml", "bash", r#"{"cmd":"rm notes.txt"}"#],
        &expect![[r#"
            --- stderr
            error: no person can be asked here, so the call is denied: bash needs approval for shell.run of "rm notes.txt": no rule matches, and then the answer is ask; the rule `allow bash "rm notes.txt"` would allow it; bash needs approval for fs.write of "notes.txt": no rule matches, and then the answer is ask; the rule `allow fs.write "notes.txt"` would allow it; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
            [[permissions]]
            permission = "bash"
            pattern = "rm notes.txt $"
            action = "allow"
            [[permissions]]
            permission = "fs.write"
            pattern = "notes.txt"
            action = "allow"

            hint: haft call --allow bash --config agent.toml bash '{"cmd":"rm notes.txt"}'
            --- status 3
        "#]],
    );
}

#[test]
fn less_confinement_is_said_at_every_start() {
    let world = World::with_files();
    world.write("work/agent.toml", "sandbox.unprotect = [\".envrc\"]\n");
    let args = ["permissions", "test", "--config", "agent.toml", "--unsafe-no-sandbox"];
    world.check(
        &args,
        &expect![[r#"
            0 examples, 0 failed
            --- stderr
            warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
            warning: not protected any more (sandbox.unprotect): .envrc
            --- status 0
        "#]],
    );
    let mut command = world.haft(&["permissions", "test"]);
    world.check_command(
        command.env("HAFT_UNSAFE_NO_SANDBOX", "true"),
        &expect![[r#"
            0 examples, 0 failed
            --- stderr
            warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
            --- status 0
        "#]],
    );
    let mut command = world.haft(&["permissions", "test"]);
    world.check_command(
        command.env("HAFT_UNSAFE_NO_SANDBOX", "0"),
        &expect![[r#"
        0 examples, 0 failed
        --- status 0
    "#]],
    );
    let mut command = world.haft(&["permissions", "test"]);
    let output = command.env("HAFT_UNSAFE_NO_SANDBOX", "maybe").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_workspace_cannot_switch_the_sandbox_off() {
    let world = World::with_files();
    world.write("work/haft.toml", "unsafe_no_sandbox = true\n");
    world.check(&["permissions", "test"], &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:1:1: unsafe_no_sandbox cannot be set in a manifest, which travels with the workspace: set HAFT_UNSAFE_NO_SANDBOX=true for haft itself
          |
        1 | unsafe_no_sandbox = true
          | ^^^^^^^^^^^^^^^^^
        --- status 2
    "#]]);
    world.write("work/haft.toml", "sandbox.unprotect = [\".envrc\"]\nnetwork_guard = \"kernel\"\n");
    world.check(
        &["permissions", "test"],
        &expect![[r#"
        0 examples, 0 failed
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          network_guard = "kernel"
          sandbox.unprotect = [".envrc"]

        hint: haft trust /world/work/haft.toml

        --- status 0
    "#]],
    );
}

#[test]
fn a_host_that_is_none_is_refused() {
    let world = World::with_files();
    world.check(&["permissions", "check", "--allow-host", "https://docs.rs"], &expect![[r#"
        --- stderr
        error: pattern "https://docs.rs" cannot be used: expected a host such as example.com, *.example.com for all below it, a range such as 10.0.0.0/8, or *
        --- status 2
    "#]]);
    world.check(
        &["permissions", "check", "--allow-host", "*.docs.rs"],
        &expect![[r#"
        9 rules can be used, nothing to report
        --- status 0
    "#]],
    );
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let world = World::with_files();
    world.write(
        "work/haft.toml",
        "allow_netwrok = true\nlimits.timeout_ms = \"1s\"\n\n[[permissions]]\npermission = \"bash\"\n\
         pattern = \"git push\"\nmatch = [\"git pull\"]\n",
    );
    world.check(&READ, &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 3 problems

        /world/work/haft.toml:1:1: unknown key "allow_netwrok": did you mean "allow_network"?
          |
        1 | allow_netwrok = true
          | ^^^^^^^^^^^^^

        /world/work/haft.toml:2:21: invalid type: string "1s", expected a whole number
          |
        2 | limits.timeout_ms = "1s"
          |                     ^^^^

        /world/work/haft.toml:4:1: manifest rule `ask bash "git push"`: its match example "git pull" does not match the pattern
          |
        4 | [[permissions]]
          | ^^^^^^^^^^^^^^^
        --- status 2
    "#]]);
    world.write("work/haft.toml", "tools = [\"read\", \"fly\"]\n");
    let shown = world.shown(&world.haft(&READ).output().unwrap());
    expect![[r#"
        --- stderr
        error: tools: no tool is called "fly": expected one of [built-in tools]
        --- status 2
    "#]]
    .assert_eq(&shown.replace(&built_in_tools::ids().join(", "), built_in_tools::PLACEHOLDER));
    world.write("work/haft.toml", "tools = [\n");
    world.check(
        &["tools", "list"],
        &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:1:10: unclosed array, expected `]`
          |
        1 | tools = [
          |          ^
        --- status 2
    "#]],
    );
}

#[test]
fn the_whole_machine_is_no_root() {
    let world = World::with_files();
    world.check(
        &["--root", "/", "call", "todo"],
        &expect![[r#"
        --- stderr
        error: root / cannot be used: commands cannot be confined to everything; name a directory

        hint: haft --root /path/to/a/directory
        --- status 2
    "#]],
    );
}

#[test]
fn a_manifest_that_cannot_be_protected_is_refused() {
    let world = World::with_files();
    world.write("work/a*b.toml", "");
    world.check(&["--config", "a*b.toml", "call", "todo"], &expect![[r#"
        --- stderr
        error: manifest /world/work/a*b.toml lies in a root and cannot be protected there: expected a path in UTF-8 without * and \; rename it, or keep it outside of the roots
        --- status 2
    "#]]);
}

/// Calls a tool with a watchdog, where a program of that name lies in the root and outside of it.
fn check_watchdog(program: &str, expect: &expect_test::Expect) {
    let world = World::with_files();
    world.write(
        "guards/guard",
        "#!/bin/sh\necho '{\"decision\":\"deny\",\"reason\":\"guarded\"}'\n",
    );
    world.write("work/guard", "#!/bin/sh\necho '{\"decision\":\"allow\"}'\n");
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    for guard in ["guards/guard", "work/guard"] {
        std::fs::set_permissions(world.path(guard), mode(0o755)).unwrap();
    }
    std::os::unix::fs::symlink("../work/guard", world.path("guards/link")).unwrap();
    let program = program.replace("/world", &world.path("").to_string_lossy());
    world.write(
        "agent.toml",
        &format!("root = \"work\"\nwatchdogs = [{{ program = {program} }}]\n"),
    );
    let mut command =
        world.haft(&["--config", "../agent.toml", "call", "read", r#"{"path":"notes.txt"}"#]);
    let path = [world.path("work"), world.path("guards"), "/usr/bin".into(), "/bin".into()];
    command.env("PATH", std::env::join_paths(path).unwrap());
    world.check_command(&mut command, expect);
}

#[test]
fn a_watchdog_that_the_workspace_could_replace_is_refused() {
    let check = check_watchdog;
    check(
        r#"["guard"]"#,
        &expect![[r#"
        --- stderr
        error: guarded
        --- status 3
    "#]],
    );
    check(
        r#"["guards/guard"]"#,
        &expect![[r#"
        --- stderr
        error: guarded
        --- status 3
    "#]],
    );
    check(
        r#"["work/guard"]"#,
        &expect![[r#"
        --- stderr
        error: watchdog "/world/work/guard" lies in a root, or is reached through one, where commands could replace it: move it elsewhere
        --- status 2
    "#]],
    );
    check(
        r#"["link"]"#,
        &expect![[r#"
        --- stderr
        error: watchdog "link" lies in a root, or is reached through one, where commands could replace it: move it elsewhere
        --- status 2
    "#]],
    );
    check(
        r#"["no-such-guard"]"#,
        &expect![[r#"
        --- stderr
        error: watchdog "no-such-guard" was not found: expected an executable file, by its path or by a name on PATH outside every root
        --- status 2
    "#]],
    );
    check(
        r#"["sh", "/world/work/guard"]"#,
        &expect![[r#"
        --- stderr
        error: watchdog "sh": its argument "/world/work/guard" lies in a root, or is reached through one, where commands could change it: move it elsewhere
        --- status 2
    "#]],
    );
    check(
        r#"["sh", "--file=/world/work/guard"]"#,
        &expect![[r#"
        --- stderr
        error: watchdog "sh": its argument "--file=/world/work/guard" lies in a root, or is reached through one, where commands could change it: move it elsewhere
        --- status 2
    "#]],
    );
}
