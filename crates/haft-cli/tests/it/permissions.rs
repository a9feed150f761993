//! `haft permissions`: rules listed, explained, checked, added and exported, without a call being made.

use expect_test::expect;

use crate::world::World;

fn with_rules() -> World {
    let world = World::with_files();
    world.write(
        "work/agent.toml",
        "preset = \"ask\"\n\
         [[permissions]]\npermission = \"bash\"\npattern = \"git push*\"\naction = \"deny\"\n\
         match = [\"git push origin\"]\nnot_match = [\"git pull\"]\n\
         [[permissions]]\npermission = \"bash\"\npattern = \"ls*\"\naction = \"allow\"\n",
    );
    world
}

const CONFIG: [&str; 2] = ["--config", "agent.toml"];

fn args<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &CONFIG].concat()
}

/// Returns the list without what is the same for everybody.
pub(crate) fn listed(world: &World, args: &[&str]) -> String {
    let text = world.shown(&world.haft(args).output().unwrap());
    let sections = text.split("\n\n").filter(|section| {
        !section.starts_with("built-in") && !section.starts_with("protected names")
    });
    sections.collect::<Vec<_>>().join("\n\n") + "\n"
}

#[test]
fn rules_are_listed_with_where_they_come_from() {
    let world = with_rules();
    let text = listed(&world, &args(&["permissions", "list", "--allow", "todo"]));
    expect![[r#"
        session (command line)
          ACTION  PERMISSION  PATTERN
          allow   todo        *

        manifest (/world/work/agent.toml)
          ACTION  PERMISSION  PATTERN
          deny    bash        git push*
          allow   bash        ls*

        preset (haft permissions preset ask)
          ACTION  PERMISSION   PATTERN
          allow   fs.read      {workspace}/**
          allow   todo         *
          allow   skill        *
          allow   tool_search  *
          allow   question     *
    "#]]
    .assert_eq(&text);
    let listed = world.json(&args(&["permissions", "list", "--json"]));
    let rules = listed["rules"].as_array().unwrap();
    let of_manifest: Vec<_> = rules.iter().filter(|rule| rule["scope"] == "manifest").collect();
    assert_eq!(of_manifest.len(), 2);
    assert_eq!(of_manifest[0]["origin"], world.path("work/agent.toml").to_str().unwrap());
    assert_eq!(of_manifest[0]["pattern"], "git push*");
    assert!(listed["protected"].as_array().unwrap().contains(&".envrc".into()));
}

#[test]
fn calls_are_explained_without_being_made() {
    let world = with_rules();
    world.check(&args(&["permissions", "explain", "bash", r#"{"cmd":"git push"}"#]), &expect![[r#"
        bash would be refused

        1  input         passed
              it fits the schema of bash
        2  capabilities  passed
              all that it touches is inside what the tool and the agent may reach
        3  permissions   refused
              deny  bash is denied shell.run of "git push": the manifest rule `deny bash "git push*"` decides; what the manifest denies only the manifest can allow
        4  watchdogs     not reached
        5  person        not reached
        6  sandbox       not reached
        --- status 0
    "#]]);
    world.check(
        &args(&["permissions", "explain", "bash", r#"{"cmd":"ls"}"#]),
        &expect![[r#"
            bash would be executed

            1  input         passed
                  it fits the schema of bash
            2  capabilities  passed
                  all that it touches is inside what the tool and the agent may reach
            3  permissions   passed
                  allow bash may do shell.run of "ls": the manifest rule `allow bash "ls*"` decides
                  allow bash may do fs.read of ".": the preset rule `allow fs.read "{workspace}/**"` decides
            4  watchdogs     passed
            5  person        passed
                  no person needs to be asked
            6  sandbox       passed
                  the kernel confines every process of the call
            --- status 0
        "#]],
    );
    world.check(
        &args(&["permissions", "explain", "bash", r#"{"cmd":"rm a"}"#, "--json"]),
        &expect![[r#"
            {"tool":"bash","outcome":"ask","stages":[{"stage":"input","result":"passed","lines":["it fits the schema of bash"]},{"stage":"capabilities","result":"passed","lines":["all that it touches is inside what the tool and the agent may reach"]},{"stage":"permissions","result":"asked","lines":["ask   bash needs approval for shell.run of \"rm a\": no rule matches, and then the answer is ask; the rule `allow bash \"rm a\"` would allow it","ask   bash needs approval for fs.write of \"a\": no rule matches, and then the answer is ask; the rule `allow fs.write \"a\"` would allow it"]},{"stage":"watchdogs","result":"passed"},{"stage":"person","result":"asked","lines":["one question, with all reasons above"]},{"stage":"sandbox","result":"passed","lines":["the kernel confines every process of the call"]}],"accesses":[{"access":"shell.run of \"rm a\"","action":"ask","text":"bash needs approval for shell.run of \"rm a\": no rule matches, and then the answer is ask; the rule `allow bash \"rm a\"` would allow it"},{"access":"fs.write of \"a\"","action":"ask","text":"bash needs approval for fs.write of \"a\": no rule matches, and then the answer is ask; the rule `allow fs.write \"a\"` would allow it"}],"reasons":["bash needs approval for shell.run of \"rm a\": no rule matches, and then the answer is ask; the rule `allow bash \"rm a\"` would allow it","bash needs approval for fs.write of \"a\": no rule matches, and then the answer is ask; the rule `allow fs.write \"a\"` would allow it"]}
            --- status 0
        "#]],
    );
    world.check(
        &args(&["permissions", "explain", "bsh"]),
        &expect![[r#"
        --- stderr
        error: no tool is called "bsh": did you mean bash?

        hint: haft tools list
        --- status 2
    "#]],
    );
    world.check(
        &args(&["permissions", "explain", "bash", "{"]),
        &expect![[r#"
        --- stderr
        error: the input is not JSON: EOF while parsing an object at line 1 column 1

        hint: haft tools show bash
        --- status 2
    "#]],
    );
    world.check(
        &args(&["permissions", "explain", "bash", "{}"]),
        &expect![[r#"
        --- stderr
        error: invalid input for bash: cmd: required, but missing

        hint: haft tools show bash
        --- status 2
    "#]],
    );
    assert!(!world.path("state").exists(), "explaining leaves nothing behind");
}

#[test]
fn rules_that_never_decide_are_reported() {
    let world = with_rules();
    world.check(
        &args(&["permissions", "check"]),
        &expect![[r#"
            manifest rule `deny bash "git push*"`: held by words; no credential for git push is in reach
              haft does not see what a program starts by itself. This would hold:
                - no host: no rule grants one, so the kernel keeps commands off the network
                - no credential: commands reach no such file or variable; keep it so
                - no file: deny fs.read or fs.write on the files that it needs
            7 rules can be used, nothing to report
            --- status 0
        "#]],
    );
    let manifest = world.read("work/agent.toml");
    let twin = "[[permissions]]\npermission = \"bash\"\npattern = \"ls*\"\naction = \"allow\"\n";
    world.write("work/agent.toml", &format!("{manifest}{twin}"));
    world.check(
        &args(&["permissions", "check"]),
        &expect![[r#"
            manifest rule `deny bash "git push*"`: held by words; no credential for git push is in reach
              haft does not see what a program starts by itself. This would hold:
                - no host: no rule grants one, so the kernel keeps commands off the network
                - no credential: commands reach no such file or variable; keep it so
                - no file: deny fs.read or fs.write on the files that it needs
            manifest rule `allow bash "ls*"`: an earlier rule of the same scope says the same
            8 rules can be used, 1 never decides
            --- status 1
        "#]],
    );
    world.check(&args(&["permissions", "check", "--json"]), &expect![[r#"
        {"rules":8,"findings":[{"rule":"manifest rule `allow bash \"ls*\"`","why":"an earlier rule of the same scope says the same"}],"held":[{"rule":"manifest rule `deny bash \"git push*\"`","held_by":"words","reach":"no credential for git push is in reach","instead":["no host: no rule grants one, so the kernel keeps commands off the network","no credential: commands reach no such file or variable; keep it so","no file: deny fs.read or fs.write on the files that it needs"]}],"path_rules":[]}
        --- status 1
    "#]]);
}

#[test]
fn examples_are_tested_one_by_one() {
    let world = with_rules();
    world.check(
        &args(&["permissions", "test"]),
        &expect![[r#"
        manifest rule `deny bash "git push*"`
          ok    matches         git push origin
          ok    does not match  git pull

        2 examples, 0 failed
        --- status 0
    "#]],
    );
    let manifest = world.read("work/agent.toml").replace("git pull", "git push -f");
    world.write("work/agent.toml", &manifest);
    world.check(
        &args(&["permissions", "test"]),
        &expect![[r#"
        manifest rule `deny bash "git push*"`
          ok    matches         git push origin
          FAIL  does not match  git push -f

        2 examples, 1 failed
        --- status 1
    "#]],
    );
    world.check(&args(&["permissions", "test", "--json"]), &expect![[r#"
        {"examples":[{"scope":"manifest","rule":"deny bash \"git push*\"","example":"git push origin","expected":"match","found":"holds"},{"scope":"manifest","rule":"deny bash \"git push*\"","example":"git push -f","expected":"not_match","found":"fails"}],"failed":1}
        --- status 1
    "#]]);
}

#[test]
fn presets_are_printed_as_they_ship() {
    let world = World::with_files();
    for name in ["read-only", "ask", "workspace", "full"] {
        world.write("work/agent.toml", &world.run(&["permissions", "preset", name]));
        world.run(&args(&["permissions", "check", "--preset", "full"]));
    }
    world.check(
        &["permissions", "preset", "fuller"],
        &expect![[r#"
        --- stderr
        error: invalid value 'fuller' for '<NAME>'
          [possible values: read-only, ask, workspace, full]

          tip: a similar value exists: 'full'

        For more information, try '--help'.
        --- status 2
    "#]],
    );
}

#[test]
fn a_broken_file_of_rules_is_shown_where_it_breaks() {
    let world = World::with_files();
    let listed = world.json(&["permissions", "list", "--json"]);
    let file = listed["project_file"].as_str().unwrap();
    let root = world.path("work");
    std::fs::create_dir_all(world.path("state/projects")).unwrap();
    std::fs::write(file, format!("root = {root:?}\n[[permissions]]\npermission = 3\n")).unwrap();
    let shown = world.shown(&world.haft(&["permissions", "list"]).output().unwrap());
    assert!(shown.contains(".toml:3:14: invalid type: integer `3`, expected a text"), "{shown}");
    assert!(shown.ends_with("--- status 2\n"), "{shown}");
}

#[test]
fn what_holds_each_deny_is_said() {
    let world = World::with_files();
    world.write("work/.env", "A=1\n");
    world.write(
        "work/haft.toml",
        "[[permissions]]\npermission = \"fs.read\"\npattern = \".env\"\naction = \"deny\"\n\
         [[permissions]]\npermission = \"bash\"\npattern = \"git push\"\naction = \"deny\"\n",
    );
    world.check(
        &["permissions", "check"],
        &expect![[r#"
        manifest rule `deny fs.read ".env"`: held by the kernel
        manifest rule `deny bash "git push"`: held by words; no credential for git push is in reach
          haft does not see what a program starts by itself. This would hold:
            - no host: no rule grants one, so the kernel keeps commands off the network
            - no credential: commands reach no such file or variable; keep it so
            - no file: deny fs.read or fs.write on the files that it needs
        10 rules can be used, nothing to report
        --- status 0
    "#]],
    );
    world.check(&["permissions", "check", "--json"], &expect![[r#"
        {"rules":10,"findings":[],"held":[{"rule":"manifest rule `deny fs.read \".env\"`","held_by":"kernel"},{"rule":"manifest rule `deny bash \"git push\"`","held_by":"words","reach":"no credential for git push is in reach","instead":["no host: no rule grants one, so the kernel keeps commands off the network","no credential: commands reach no such file or variable; keep it so","no file: deny fs.read or fs.write on the files that it needs"]}],"path_rules":[{"rule":"manifest rule `deny fs.read \".env\"`","held_by_kernel":true}]}
        --- status 0
    "#]]);
    // The configuration of the repository holds a token, and a host is granted.
    world.write("work/.git/config", "[remote \"origin\"]\n\turl = https://ada:token@h.example/r\n");
    world.check(&["permissions", "check", "--allow-host", "h.example"], &expect![[r#"
        manifest rule `deny fs.read ".env"`: held by the kernel
        manifest rule `deny bash "git push"`: held by words; a credential for git push is in reach: .git/config
          haft does not see what a program starts by itself. This would hold:
            - no host: h.example is granted; grant none of them
            - no credential: take it out of .git/config
            - no file: deny fs.read or fs.write on the files that it needs
        11 rules can be used, nothing to report
        --- status 0
    "#]]);
    world.check(&["permissions", "check", "--unsafe-no-sandbox"], &expect![[r#"
        manifest rule `deny fs.read ".env"`: held by words; commands are not confined here
          haft does not see what a program starts by itself. This would hold:
            - the sandbox: haft doctor says what is missing
        manifest rule `deny bash "git push"`: held by words; a credential for git push is in reach: .git/config
          haft does not see what a program starts by itself. This would hold:
            - the sandbox: haft doctor says what is missing
            - no host: allow_network = false, and only the hosts that are needed
            - no credential: take it out of .git/config
            - no file: deny fs.read or fs.write on the files that it needs
        10 rules can be used, nothing to report
        --- stderr
        warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
        --- status 0
    "#]]);
    world.write(
        "work/haft.toml",
        "[[permissions]]\npermission = \"read\"\npattern = \".env\"\naction = \"deny\"\n\
         [[permissions]]\npermission = \"net.fetch\"\npattern = \"h.example\"\naction = \"deny\"\n\
         [[permissions]]\npermission = \"bash\"\naction = \"deny\"\n\
         [[permissions]]\npermission = \"bash\"\npattern = \"frobnicate *\"\naction = \"deny\"\n",
    );
    world.check(&["permissions", "check", "--allow-network"], &expect![[r#"
        manifest rule `deny read ".env"`: held by haft, for each call of the tool
          A wider rule:
            - deny fs.read ".env" also holds for other tools and commands
        manifest rule `deny net.fetch "h.example"`: held by words; commands use the network as it is
          haft does not see what a program starts by itself. This would hold:
            - no host: allow_network = false, and only the hosts that are needed
        manifest rule `deny bash "*"`: held by haft, for each call of the tool
        manifest rule `deny bash "frobnicate *"`: held by words; haft does not know where frobnicate keeps credentials
          haft does not see what a program starts by itself. This would hold:
            - no host: allow_network = false, and only the hosts that are needed
            - no credential: keep those of frobnicate out of the workspace
            - no file: deny fs.read or fs.write on the files that it needs
        12 rules can be used, nothing to report
        --- status 0
    "#]]);
}

#[test]
fn each_stage_is_explained() {
    let world = with_rules();
    let explain = |tool: &str, input: &str, more: &[&str]| {
        let words = [&["permissions", "explain", tool, input][..], more].concat();
        world.shown(&world.haft(&args(&words)).output().unwrap())
    };
    expect![[r#"
        bash would be refused

        1  input         passed
              it fits the schema of bash
        2  capabilities  passed
              all that it touches is inside what the tool and the agent may reach
        3  permissions   refused
              deny  bash is denied shell.run of "git push": the manifest rule `deny bash "git push*"` decides; what the manifest denies only the manifest can allow
        4  watchdogs     not reached
        5  person        not reached
        6  sandbox       not reached
        --- status 0
    "#]].assert_eq(&explain("bash", r#"{"cmd":"git push"}"#, &[]));
    expect![[r#"
        haft would ask about bash; without a terminal, it would refuse the call

        1  input         passed
              it fits the schema of bash
        2  capabilities  passed
              all that it touches is inside what the tool and the agent may reach
        3  permissions   asks
              ask   bash needs approval for shell.run of "rm notes.txt": no rule matches, and then the answer is ask; the rule `allow bash "rm notes.txt"` would allow it
              ask   bash needs approval for fs.write of "notes.txt": no rule matches, and then the answer is ask; the rule `allow fs.write "notes.txt"` would allow it
        4  watchdogs     passed
        5  person        asks
              one question, with all reasons above
        6  sandbox       passed
              the kernel confines every process of the call
        --- status 0
    "#]].assert_eq(&explain("bash", r#"{"cmd":"rm notes.txt"}"#, &[]));
    expect![[r#"
        write would be refused

        1  input         passed
              it fits the schema of write
        2  capabilities  refused
              CAPABILITY_DENIED: .git/config is protected, because others run or obey what it says: leave it, or tell the user what to change
        3  permissions   not reached
        4  watchdogs     not reached
        5  person        not reached
        6  sandbox       not reached

        what would change it
              unprotect = [".git/config"] under [sandbox] in haft.toml, for a person who may change it
        --- status 0
    "#]].assert_eq(&explain("write", r#"{"path":".git/config","content":""}"#, &[]));
    expect![[r#"
        todo would be executed

        1  input         passed
              it fits the schema of todo
        2  capabilities  passed
              all that it touches is inside what the tool and the agent may reach
        3  permissions   passed
              allow todo is allowed: the preset rule `allow todo "*"` decides
        4  watchdogs     passed
        5  person        passed
              no person needs to be asked
        6  sandbox       passed
              processes are not confined (unsafe_no_sandbox)
        --- stderr
        warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
        --- status 0
    "#]]
    .assert_eq(&explain("todo", r#"{"todos":[]}"#, &["--unsafe-no-sandbox"]));
}

#[test]
fn rules_are_added_exported_and_found_in_their_files() {
    let world = with_rules();
    world.check(
        &args(&["permissions", "allow", "bash", "cargo test *"]),
        &expect![[r#"
        added `allow bash "cargo test *"` for this project, in /world/state/projects/HASH.toml
        --- status 0
    "#]],
    );
    world.check(
        &args(&["permissions", "deny", "fs.write", "dist/**"]),
        &expect![[r#"
        added `deny fs.write "dist/**"` for this project, in /world/state/projects/HASH.toml
        --- status 0
    "#]],
    );
    world.check(
        &args(&["permissions", "ask", "net.fetch"]),
        &expect![[r#"
        added `ask net.fetch "*"` for this project, in /world/state/projects/HASH.toml
        --- status 0
    "#]],
    );
    world.check(
        &args(&["permissions", "deny", "fs.wirte", "dist"]),
        &expect![[r#"
        --- stderr
        error: "fs.wirte" names no tool and no capability: did you mean "fs.write"?

        hint: haft tools list
        --- status 2
    "#]],
    );
    world.check(
        &args(&["permissions", "allow", "bash", "a  b"]),
        &expect![[r#"
        added `allow bash "a  b"` for this project, in /world/state/projects/HASH.toml
        --- status 0
    "#]],
    );
    expect![[r#"
        project (/world/state/projects/HASH.toml)
          N  ACTION  PERMISSION  PATTERN       SOURCE
          1  allow   bash        cargo test *  /world/state/projects/HASH.toml:5
          2  deny    fs.write    dist/**       /world/state/projects/HASH.toml:10
          3  ask     net.fetch   *             /world/state/projects/HASH.toml:15
          4  allow   bash        a  b          /world/state/projects/HASH.toml:20

        manifest (/world/work/agent.toml)
          ACTION  PERMISSION  PATTERN    SOURCE
          deny    bash        git push*  /world/work/agent.toml:2
          allow   bash        ls*        /world/work/agent.toml:8

        preset (haft permissions preset ask)
          ACTION  PERMISSION   PATTERN         SOURCE
          allow   fs.read      {workspace}/**  haft permissions preset ask
          allow   todo         *               haft permissions preset ask
          allow   skill        *               haft permissions preset ask
          allow   tool_search  *               haft permissions preset ask
          allow   question     *               haft permissions preset ask
    "#]]
    .assert_eq(&listed(&world, &args(&["permissions", "list", "--source"])));
    let exported = world.run(&args(&["permissions", "export"]));
    expect![[r#"
        [[permissions]]
        permission = "bash"
        pattern = "cargo test *"
        action = "allow"

        [[permissions]]
        permission = "fs.write"
        pattern = "dist/**"
        action = "deny"

        [[permissions]]
        permission = "net.fetch"
        pattern = "*"
        action = "ask"

        [[permissions]]
        permission = "bash"
        pattern = "a  b"
        action = "allow"
    "#]]
    .assert_eq(&exported);
    // A manifest takes the exported rules.
    world.write("other/haft.toml", &exported);
    let file = world.path("other/haft.toml");
    world.run(&["permissions", "check", "--config", file.to_str().unwrap()]);
    world.run(&args(&["permissions", "remove", "1"]));
    assert!(!world.run(&args(&["permissions", "export"])).contains("cargo test"));
}

/// A deny that a person wrote is lifted by changing the rule: no advice leads around it.
#[test]
fn a_denied_call_gets_no_advice_around_the_rule() {
    let world = World::with_files();
    world.write("work/.env", "KEY=1\n");
    world.run(&["permissions", "deny", "fs.read", ".env"]);
    let read = ["call", "read", "path=.env"];
    world.check(
        &read,
        &expect![[r#"
        --- stderr
        error: read is denied fs.read of ".env": the project rule `deny fs.read ".env"` decides; that rule would have to change

        hint: haft permissions list --source
        --- status 3
    "#]],
    );
    let refused = world.haft(&[&read[..], &["--json"]].concat()).output().unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    let refusal = &envelope["metadata"]["refusal"];
    assert_eq!(refusal["decided_by"]["rule"]["scope"], "project", "{envelope}");
    assert!(refusal["remedies"].is_null(), "{envelope}");
    // A deny of the manifest also holds against the user who names the tool.
    world.write(
        "work/haft.toml",
        "[[permissions]]\npermission = \"fs.read\"\npattern = \".env\"\naction = \"deny\"\n",
    );
    world.check(
        &["call", "--allow", "read", "read", "path=.env"],
        &expect![[r#"
        --- stderr
        error: read is denied fs.read of ".env": the manifest rule `deny fs.read ".env"` decides; what the manifest denies only the manifest can allow
        --- status 3
    "#]],
    );
}

#[test]
fn the_former_name_of_the_command_still_works() {
    let world = with_rules();
    assert_eq!(world.run(&args(&["policy", "list"])), world.run(&args(&["permissions", "list"])));
    assert_eq!(
        world.run(&["policy", "preset", "ask"]),
        world.run(&["permissions", "preset", "ask"])
    );
}

#[test]
fn what_no_rule_decided_says_what_would_change_it() {
    let world = World::with_files();
    world.write("work/haft.toml", "network_guard = \"standard\"\n");
    let change = |tool: &str, input: &str| {
        let explained = world.json(&["permissions", "explain", "--json", tool, input]);
        explained["refusal"]["change"].as_str().unwrap_or_default().to_owned()
    };
    let check = |tool: &str, input: &str, expect: &str| {
        assert_eq!(change(tool, input), expect, "for {tool} {input}");
    };
    check(
        "write",
        r#"{"path":".git/config","content":""}"#,
        "unprotect = [\".git/config\"] under [sandbox] in haft.toml, for a person who may change it",
    );
    let journal = serde_json::json!({ "cmd": format!("cat {}/journal.sqlite", world.path("state").display()) });
    check(
        "bash",
        &journal.to_string(),
        "nothing: no setting shows credentials and haft's own state to a call",
    );
    let work = world.path("work");
    let nothing = |directory: &str| {
        let work = work.display();
        format!(
            "nothing: {directory} is no place to work in; have the user copy what is needed into {work}"
        )
    };
    check("read", r#"{"path":"/etc/passwd"}"#, &nothing("/etc"));
    check("bash", r#"{"cmd":"cd src && rm -rf /usr"}"#, &nothing("/usr"));
    let home = world.path("home").display().to_string();
    check("read", r#"{"path":"../home/a.txt"}"#, &nothing(&home));
    check(
        "read",
        r#"{"path":"../data/a.txt"}"#,
        &format!(
            "roots = [{:?}] in haft.toml, or --root for it alone",
            world.path("data").display().to_string()
        ),
    );
    check(
        "bash",
        r#"{"cmd":"npm test"}"#,
        "--allow-host HOST grants hosts and takes the list of names away; network_guard = \"kernel\" in haft.toml, or \
         --network-guard kernel, takes it away alone",
    );
    world.check(
        &["permissions", "explain", "read", r#"{"path":"/etc/passwd"}"#],
        &expect![[r#"
            read would be refused

            1  input         passed
                  it fits the schema of read
            2  capabilities  refused
                  TOOL_PATH_ESCAPE: path "/etc/passwd" is outside the workspace: use a path within /world/work
            3  permissions   not reached
            4  watchdogs     not reached
            5  person        not reached
            6  sandbox       not reached

            what would change it
                  nothing: /etc is no place to work in; have the user copy what is needed into /world/work
            --- status 0
        "#]],
    );
}

/// Commands reach such a host without a question, so tools do, too. Every rule comes before it.
#[test]
fn a_host_that_the_manifest_requires_needs_no_question() {
    let world = World::with_files();
    let explain = |manifest: &str| {
        world.write("work/haft.toml", manifest);
        world.run(&["trust", "--yes"]);
        let input = r#"{"url":"http://docs.example/"}"#;
        world.json(&["permissions", "explain", "web_fetch", input, "--json"])["outcome"].clone()
    };
    let requires = "[requires]\nnet.hosts = [\"docs.example\"]\n";
    let rule = |action: &str| {
        format!("{requires}[[permissions]]\npermission = \"net.fetch\"\naction = \"{action}\"\n")
    };
    for (manifest, expect) in [
        (String::new(), "ask"),
        (requires.to_owned(), "allow"),
        (format!("preset = \"ask\"\n{requires}"), "ask"),
        (rule("ask"), "ask"),
        (rule("deny"), "deny"),
        ("[requires]\nnet.hosts = [\"other.example\"]\n".to_owned(), "ask"),
    ] {
        assert_eq!(explain(&manifest), expect, "{manifest}");
    }
    world.write("work/haft.toml", requires);
    world.run(&["trust", "--yes"]);
    let rules = listed(&world, &["permissions", "list", "--source"]);
    let line = rules.lines().find(|line| line.contains("docs.example")).unwrap_or_default();
    assert!(line.contains("allow") && line.ends_with("/work/haft.toml"), "{rules}");
}
