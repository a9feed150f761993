use expect_test::{Expect, expect};

use super::sandbox::{
    SANDBOX_FILE_BYTES_MAX, SANDBOX_FILE_BYTES_MIN, SANDBOX_OPEN_FILES_MAX, SANDBOX_OPEN_FILES_MIN,
    SANDBOX_PROCESSES_MAX, SANDBOX_PROCESSES_MIN, SANDBOX_TEMP_BYTES_MAX, SANDBOX_TEMP_BYTES_MIN,
};
use super::watchdog::WATCHDOG_TIMEOUT_MS_DEFAULT;
use super::*;

fn parse(text: &str) -> Result<Manifest, String> {
    let path = Path::new("haft.toml");
    read::read(text, ExampleChecks::Checked)
        .map_err(|problems| problem::report("manifest", path, text, problems))
}

fn check_problems(text: &str, expect: &Expect) {
    expect.assert_eq(&parse(text).expect_err("the manifest has problems"));
}

#[test]
fn an_empty_manifest_says_nothing() {
    assert_eq!(parse(""), Ok(Manifest::default()));
    assert_eq!(parse("# nothing\n"), Ok(Manifest::default()));
}

#[test]
fn everything_can_be_said() {
    let manifest = parse(
        r#"
root = "src"
roots = ["../shared"]
profile = "smithers"
preset = "read-only"
asks = "wait"
tools = ["read", "shop.order"]
python = [{ dir = "tools", interpreter = ".venv", workers = 2 }]
allow_network = true
limits = { output_bytes = 1, timeout_ms = 2, listed_tools = 3, shown_chars = 1000, answer_ms = 5000 }
durability = { on_repeat = "recall", journal = "postgres://db/haft", keep_days = 36500, keep_bytes = 1 }
scope = { run = "nightly", node = "build", iteration = 0, attempt = 1 }
model = { name = "openai/m", base_url = "https://a.example/v1", key_variable = "MY_KEY", timeout_ms = 3600000, idle_ms = 1 }
agent = { default = "plan", context_tokens = 8000, output_tokens = 1, max_steps = 1 }
[requires.fs]
read = ["{user-data}/notes/**"]
[[permissions]]
permission = "bash"
pattern = "git status"
action = "allow"
match = ["git status --short"]
"#,
    );
    expect![[r#"
        Manifest {
            root: Some(
                "src",
            ),
            roots: [
                "../shared",
            ],
            profile: Some(
                Smithers,
            ),
            preset: Some(
                ReadOnly,
            ),
            asks: Some(
                Wait,
            ),
            tools: Some(
                [
                    ToolId(
                        "read",
                    ),
                    ToolId(
                        "shop.order",
                    ),
                ],
            ),
            requires: RequirementSet {
                fs: FsRequirement {
                    read: [
                        "{user-data}/notes/**",
                    ],
                    write: [],
                },
                net: NetRequirement {
                    hosts: [],
                },
                shell: [],
                capabilities: [],
            },
            limits: ManifestLimits {
                output_bytes: Some(
                    1,
                ),
                timeout_ms: Some(
                    2,
                ),
                listed_tools: Some(
                    3,
                ),
                shown_chars: Some(
                    1000,
                ),
                answer_ms: Some(
                    5000,
                ),
            },
            durability: DurabilitySection {
                on_repeat: Some(
                    Recall,
                ),
                journal: Some(
                    "postgres://db/haft",
                ),
                keep_days: Some(
                    36500,
                ),
                keep_bytes: Some(
                    1,
                ),
            },
            scope: ScopeSection {
                run: Some(
                    "nightly",
                ),
                node: Some(
                    "build",
                ),
                iteration: Some(
                    0,
                ),
                attempt: Some(
                    1,
                ),
            },
            model: ModelSection {
                name: Some(
                    "openai/m",
                ),
                base_url: Some(
                    "https://a.example/v1",
                ),
                key_variable: Some(
                    "MY_KEY",
                ),
                images: None,
                input_cents: None,
                output_cents: None,
                cached_cents: None,
                timeout_ms: Some(
                    3600000,
                ),
                idle_ms: Some(
                    1,
                ),
            },
            plan: PlanSection {
                parallel: None,
                tools: {},
            },
            agent: AgentSection {
                name: Some(
                    "plan",
                ),
                context_tokens: Some(
                    8000,
                ),
                output_tokens: Some(
                    1,
                ),
                max_steps: Some(
                    1,
                ),
            },
            allow_network: Some(
                true,
            ),
            network: NetworkSection {
                proxy: None,
            },
            network_guard: None,
            sandbox: SandboxSection {
                memory_bytes: None,
                processes: None,
                temp_bytes: None,
                file_bytes: None,
                open_files: None,
                control_groups: false,
                readable: [],
                protect: [],
                unprotect: [],
            },
            skills: SkillsSection {
                paths: [],
            },
            snapshots: SnapshotsSection {
                enabled: None,
                exclude: [],
                repositories: None,
                file_bytes: None,
                files: None,
                ignored_bytes: None,
                ignored_files: None,
            },
            python: [
                PythonEntry {
                    dir: "tools",
                    interpreter: Some(
                        ".venv",
                    ),
                    interpreter_place: None,
                    package_root: None,
                    readable: [],
                    workers: Some(
                        2,
                    ),
                    idle_ms: None,
                    memory_bytes: None,
                },
            ],
            lsp: {},
            mcp: {},
            commands: [],
            watchdogs: [],
            notify: [],
            web_search: WebSearchSection {
                providers: [],
                calls_max: None,
                timeout_ms: None,
            },
            reference_watchdog: None,
            permissions: [
                Rule {
                    permission: "bash",
                    pattern: "git status",
                    action: Allow,
                    when: None,
                    match_examples: [
                        "git status --short",
                    ],
                    not_match_examples: [],
                },
            ],
        }
    "#]]
    .assert_debug_eq(&manifest.unwrap());
}

#[test]
fn unknown_keys_are_all_named_with_the_nearest_known_one() {
    check_problems(
        r#"
allow_netwrok = true
colour = "red"
[limits]
timeout = 5
timeoutms = 5
[requires.fs]
raed = []
[[permissions]]
permision = "bash"
"#,
        &expect![[r#"
            manifest haft.toml has 6 problems

            haft.toml:2:1: unknown key "allow_netwrok": did you mean "allow_network"?
              |
            2 | allow_netwrok = true
              | ^^^^^^^^^^^^^

            haft.toml:3:1: unknown key "colour": expected one of agent, allow_network, asks, commands, durability, limits, lsp, mcp, model, network, network_guard, notify, permissions, plan, preset, profile, python, reference_watchdog, requires, root, roots, sandbox, scope, skills, snapshots, tools, watchdogs, web_search
              |
            3 | colour = "red"
              | ^^^^^^

            haft.toml:5:1: unknown key "timeout": did you mean "timeout_ms"?
              |
            5 | timeout = 5
              | ^^^^^^^

            haft.toml:6:1: unknown key "timeoutms": did you mean "timeout_ms"?
              |
            6 | timeoutms = 5
              | ^^^^^^^^^

            haft.toml:8:1: unknown key "raed": did you mean "read"?
              |
            8 | raed = []
              | ^^^^

            haft.toml:10:1: unknown key "permision": did you mean "permission"?
               |
            10 | permision = "bash"
               | ^^^^^^^^^
        "#]],
    );
}

#[test]
fn wrong_kinds_are_all_named() {
    check_problems(
        r#"
allow_network = "yes"
root = 3
roots = "a"
tools = ["read", 4, "Read"]
profile = "smith"
preset = "workspce"
limits = 5
permissions = [{ permission = "bash", action = "permit" }, 7, {}]
requires = { fs = [] }
"#,
        &expect![[r#"
            manifest haft.toml has 11 problems

            haft.toml:2:17: invalid type: string "yes", expected true or false
              |
            2 | allow_network = "yes"
              |                 ^^^^^

            haft.toml:3:8: invalid type: integer `3`, expected a text
              |
            3 | root = 3
              |        ^

            haft.toml:4:9: expected a list, found a text
              |
            4 | roots = "a"
              |         ^^^

            haft.toml:5:18: invalid type: integer `4`, expected a text
              |
            5 | tools = ["read", 4, "Read"]
              |                  ^

            haft.toml:5:21: tool id "Read" is not valid: expected lower-case words of letters, digits and underscores, joined by dots, starting with a letter, at most 64 characters
              |
            5 | tools = ["read", 4, "Read"]
              |                     ^^^^^^

            haft.toml:6:11: unknown profile "smith": expected "contract" or "smithers"
              |
            6 | profile = "smith"
              |           ^^^^^^^

            haft.toml:7:10: unknown variant `workspce`, expected one of `read-only`, `ask`, `workspace`, `full`
              |
            7 | preset = "workspce"
              |          ^^^^^^^^^^

            haft.toml:8:10: invalid type: integer `5`, expected a table
              |
            8 | limits = 5
              |          ^

            haft.toml:9:48: unknown variant `permit`, expected one of `allow`, `ask`, `deny`
              |
            9 | permissions = [{ permission = "bash", action = "permit" }, 7, {}]
              |                                                ^^^^^^^^

            haft.toml:9:60: invalid type: integer `7`, expected a table
              |
            9 | permissions = [{ permission = "bash", action = "permit" }, 7, {}]
              |                                                            ^

            haft.toml:9:63: missing field `permission`
              |
            9 | permissions = [{ permission = "bash", action = "permit" }, 7, {}]
              |                                                               ^^
        "#]],
    );
}

#[test]
fn bounds_are_named_and_hold_at_the_bound() {
    let text = |bytes: usize, timeout: u64| {
        format!("[limits]\noutput_bytes = {bytes}\ntimeout_ms = {timeout}\n")
    };
    assert!(parse(&text(10_485_760, 3_600_000)).is_ok());
    assert!(parse(&text(1, 1)).is_ok());
    assert!(parse("limits.shown_chars = 1000").is_ok());
    assert!(parse("limits.shown_chars = 10485760").is_ok());
    check_problems(
        "limits.shown_chars = 999",
        &expect![[r#"
            manifest haft.toml has 1 problem

            haft.toml:1:22: shown_chars: expected 1000 to 10485760 characters (SHOWN_CHARS_MIN, OUTPUT_BYTES_MAX)
              |
            1 | limits.shown_chars = 999
              |                      ^^^
        "#]],
    );
    check_problems(
        &text(10_485_761, 3_600_001),
        &expect![[r#"
        manifest haft.toml has 2 problems

        haft.toml:2:16: output_bytes: expected 1 to 10485760 bytes (OUTPUT_BYTES_MAX)
          |
        2 | output_bytes = 10485761
          |                ^^^^^^^^

        haft.toml:3:14: timeout_ms: expected 1 to 3600000 milliseconds (TIMEOUT_MS_MAX)
          |
        3 | timeout_ms = 3600001
          |              ^^^^^^^
    "#]],
    );
    check_problems(
        &text(0, 0),
        &expect![[r#"
        manifest haft.toml has 2 problems

        haft.toml:2:16: output_bytes: expected 1 to 10485760 bytes (OUTPUT_BYTES_MAX)
          |
        2 | output_bytes = 0
          |                ^

        haft.toml:3:14: timeout_ms: expected 1 to 3600000 milliseconds (TIMEOUT_MS_MAX)
          |
        3 | timeout_ms = 0
          |              ^
    "#]],
    );
}

#[test]
fn the_sandbox_and_watchdogs_can_be_said() {
    let manifest = parse(
        r#"
network_guard = "strict"
reference_watchdog = false
[sandbox]
memory_bytes = 1073741824
readable = ["/srv/data"]
protect = ["deploy/*.key"]
unprotect = [".idea/**", ".ENVRC"]
[[watchdogs]]
program = ["./watch", "--strict"]
[[watchdogs]]
program = ["guard"]
timeout_ms = 100
"#,
    );
    let manifest = manifest.unwrap();
    assert_eq!(manifest.network_guard, Some(NetworkGuardName::Strict));
    assert_eq!(manifest.reference_watchdog, Some(false));
    let defaults = haft_sandbox::ResourceLimits::default();
    let expect = haft_sandbox::ResourceLimits { memory_bytes: 1_073_741_824, ..defaults };
    assert_eq!(manifest.sandbox.resources(), expect);
    let protected = manifest.sandbox.protected();
    for (path, is_protected) in
        [("deploy/live.key", true), (".git/config", true), (".idea/a", false), (".envrc", false)]
    {
        assert_eq!(protected.matching(Path::new(path)).is_some(), is_protected, "{path}");
    }
    let placed = |index: usize| manifest.watchdogs[index].clone().resolve_paths(Path::new("/work"));
    assert_eq!(placed(0).program, ["/work/./watch", "--strict"]);
    assert_eq!(placed(0).timeout_ms, WATCHDOG_TIMEOUT_MS_DEFAULT);
    assert_eq!(placed(1).program, ["guard"]);
    assert_eq!(placed(1).timeout_ms, 100);
}

fn sandbox_of([memory, processes, temp, file, open]: [u64; 5]) -> String {
    format!(
        "[sandbox]\nmemory_bytes = {memory}\nprocesses = {processes}\ntemp_bytes = {temp}\n\
         file_bytes = {file}\nopen_files = {open}\n"
    )
}

#[test]
fn lower_bounds_of_the_sandbox_are_named_and_hold_at_the_bound() {
    let least = [
        SANDBOX_MEMORY_BYTES_MIN,
        SANDBOX_PROCESSES_MIN,
        SANDBOX_TEMP_BYTES_MIN,
        SANDBOX_FILE_BYTES_MIN,
        SANDBOX_OPEN_FILES_MIN,
    ];
    assert!(parse(&sandbox_of(least)).is_ok());
    check_problems(
        &sandbox_of(least.map(|value| value - 1)),
        &expect![[r#"
        manifest haft.toml has 5 problems

        haft.toml:2:16: memory_bytes: expected 16777216 to 1099511627776 bytes, found 16777215
          |
        2 | memory_bytes = 16777215
          |                ^^^^^^^^

        haft.toml:3:13: processes: expected 8 to 65536 processes, found 7
          |
        3 | processes = 7
          |             ^

        haft.toml:4:14: temp_bytes: expected 1048576 to 1099511627776 bytes, found 1048575
          |
        4 | temp_bytes = 1048575
          |              ^^^^^^^

        haft.toml:5:14: file_bytes: expected 1048576 to 17592186044416 bytes, found 1048575
          |
        5 | file_bytes = 1048575
          |              ^^^^^^^

        haft.toml:6:14: open_files: expected 64 to 1048576 files, found 63
          |
        6 | open_files = 63
          |              ^^
    "#]],
    );
}

#[test]
fn upper_bounds_of_the_sandbox_are_named_and_hold_at_the_bound() {
    let most = [
        SANDBOX_MEMORY_BYTES_MAX,
        SANDBOX_PROCESSES_MAX,
        SANDBOX_TEMP_BYTES_MAX,
        SANDBOX_FILE_BYTES_MAX,
        SANDBOX_OPEN_FILES_MAX,
    ];
    assert!(parse(&sandbox_of(most)).is_ok());
    check_problems(
        &sandbox_of(most.map(|value| value + 1)),
        &expect![[r#"
        manifest haft.toml has 5 problems

        haft.toml:2:16: memory_bytes: expected 16777216 to 1099511627776 bytes, found 1099511627777
          |
        2 | memory_bytes = 1099511627777
          |                ^^^^^^^^^^^^^

        haft.toml:3:13: processes: expected 8 to 65536 processes, found 65537
          |
        3 | processes = 65537
          |             ^^^^^

        haft.toml:4:14: temp_bytes: expected 1048576 to 1099511627776 bytes, found 1099511627777
          |
        4 | temp_bytes = 1099511627777
          |              ^^^^^^^^^^^^^

        haft.toml:5:14: file_bytes: expected 1048576 to 17592186044416 bytes, found 17592186044417
          |
        5 | file_bytes = 17592186044417
          |              ^^^^^^^^^^^^^^

        haft.toml:6:14: open_files: expected 64 to 1048576 files, found 1048577
          |
        6 | open_files = 1048577
          |              ^^^^^^^
    "#]],
    );
}

#[test]
fn what_cannot_be_a_watchdog_or_a_name_is_said() {
    check_problems(
        r#"
unsafe_no_sandbox = true
network_guard = "loose"
[sandbox]
protect = ["/absolute"]
processes = 5000000000
[[watchdogs]]
program = []
[[watchdogs]]
program = [""]
[[watchdogs]]
program = ["a"]
timeout_ms = 0
[[watchdogs]]
program = ["a"]
timeout_ms = 60001
[[watchdogs]]
timeout_ms = 60000
"#,
        &expect![[r#"
            manifest haft.toml has 9 problems

            haft.toml:2:1: unsafe_no_sandbox cannot be set in a manifest, which travels with the workspace: set HAFT_UNSAFE_NO_SANDBOX=true for haft itself
              |
            2 | unsafe_no_sandbox = true
              | ^^^^^^^^^^^^^^^^^

            haft.toml:3:17: unknown variant `loose`, expected one of `kernel`, `standard`, `strict`
              |
            3 | network_guard = "loose"
              |                 ^^^^^^^

            haft.toml:5:11: protect: protected name "/absolute" has the component ""; write names separated by single slashes, which match at any depth
              |
            5 | protect = ["/absolute"]
              |           ^^^^^^^^^^^^^

            haft.toml:6:13: processes: expected 8 to 65536 processes, found 5000000000
              |
            6 | processes = 5000000000
              |             ^^^^^^^^^^

            haft.toml:7:1: program: expected the program and its arguments, found none
              |
            7 | [[watchdogs]]
              | ^^^^^^^^^^^^^

            haft.toml:9:1: program: expected the program and its arguments, found none
              |
            9 | [[watchdogs]]
              | ^^^^^^^^^^^^^

            haft.toml:11:1: timeout_ms: expected 1 to 60000 milliseconds, found 0
               |
            11 | [[watchdogs]]
               | ^^^^^^^^^^^^^

            haft.toml:14:1: timeout_ms: expected 1 to 60000 milliseconds, found 60001
               |
            14 | [[watchdogs]]
               | ^^^^^^^^^^^^^

            haft.toml:17:1: missing field `program`
               |
            17 | [[watchdogs]]
               | ^^^^^^^^^^^^^
        "#]],
    );
    let report = parse("sandbox.unprotect = [\".envrcs\"]").unwrap_err();
    assert!(report.contains("unprotect: \".envrcs\" is not among the protected names"), "{report}");
    let watchdogs = |count: usize| "[[watchdogs]]\nprogram = [\"a\"]\n".repeat(count);
    assert!(parse(&watchdogs(WATCHDOGS_MAX)).is_ok());
    assert!(parse(&watchdogs(WATCHDOGS_MAX + 1)).unwrap_err().contains("at most 16 watchdogs"));
}

#[test]
fn rules_may_hold_under_a_condition() {
    let rule = |when: &str, action: &str| {
        parse(&format!(
            "[[permissions]]\npermission = \"bash\"\naction = {action:?}\nwhen = {when:?}\n"
        ))
    };
    assert!(rule("sandboxed", "allow").unwrap().permissions[0].when.is_some());
    assert!(rule("sandboxed", "deny").is_err());
    assert!(rule("sunny", "allow").is_err());
}

#[test]
fn rules_are_checked_with_their_examples() {
    check_problems(
        r#"
[[permissions]]
permission = "bash"
pattern = "git push"
match = ["git pull"]

[[permissions]]
permission = "fs.read"
pattern = "~/notes"
action = "deny"
"#,
        &expect![[r#"
            manifest haft.toml has 2 problems

            haft.toml:2:1: manifest rule `ask bash "git push"`: its match example "git pull" does not match the pattern
              |
            2 | [[permissions]]
              | ^^^^^^^^^^^^^^^

            haft.toml:7:1: manifest rule `deny fs.read "~/notes"`: pattern "~/notes" cannot be used: ~ is not expanded: write an absolute path, or [~] for a name that begins so
              |
            7 | [[permissions]]
              | ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    check_problems(
        "root = \"a\ntools = [\n",
        &expect![[r#"
        manifest haft.toml has 2 problems

        haft.toml:1:10: invalid basic string, expected `"`
          |
        1 | root = "a
          |          ^

        haft.toml:2:10: unclosed array, expected `]`
          |
        2 | tools = [
          |          ^
    "#]],
    );
    check_problems(
        "root = \"a\"\nroot = \"b\"\n",
        &expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:1: duplicate key
          |
        2 | root = "b"
          | ^^^^
    "#]],
    );
}

#[test]
fn what_a_stranger_wrote_cannot_control_the_terminal() {
    let report = parse("\"a\u{9b}31mb\" = 1 # \u{85}\u{202e}\n").unwrap_err();
    assert!(
        !report.chars().any(|character| character.is_control() && character != '\n'),
        "{report:?}"
    );
}

#[test]
fn many_problems_are_counted() {
    let text: String = (0..25).map(|number| format!("key_{number} = 1\n")).collect();
    let report = parse(&text).unwrap_err();
    assert!(report.starts_with("manifest haft.toml has 25 problems\n"), "{report}");
    assert!(report.ends_with("\nand 5 more\n"), "{report}");
    assert_eq!(report.matches("unknown key").count(), 20);
}

#[test]
fn only_a_file_of_bounded_size_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    let write = |bytes: u64| {
        let text = format!("#{}", "a".repeat(usize::try_from(bytes).unwrap() - 1));
        std::fs::write(&path, text).unwrap();
    };
    write(MANIFEST_BYTES_MAX);
    assert!(ManifestFile::read(&path).is_ok());
    write(MANIFEST_BYTES_MAX + 1);
    let err = ManifestFile::read(&path).unwrap_err();
    assert!(err.message.ends_with("it has more than 1048576 bytes"), "{}", err.message);
    let err = ManifestFile::read(directory.path()).unwrap_err();
    assert!(err.message.ends_with("it is not a file"), "{}", err.message);
}

#[test]
fn the_nearest_manifest_is_found_going_up() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("a/b/c");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(directory.path().join("a").join(FILE_NAME), "").unwrap();
    let found = ManifestFile::discover(&deep).unwrap().unwrap();
    assert_eq!(found.directory(), directory.path().canonicalize().unwrap().join("a"));
    std::fs::write(deep.join(FILE_NAME), "root = 3").unwrap();
    let found = ManifestFile::discover(&deep).unwrap().unwrap();
    assert_eq!(found.directory(), deep.canonicalize().unwrap());
}

#[test]
fn durability_has_bounds() {
    check_problems(
        "[durability]\nkeep_days = 0\njournal = \"\"\n",
        &expect![[r#"
        manifest haft.toml has 2 problems

        haft.toml:2:13: keep_days: expected 1 to 36500 days, found 0
          |
        2 | keep_days = 0
          |             ^

        haft.toml:3:11: journal: expected a file or a URL, found an empty text
          |
        3 | journal = ""
          |           ^^
    "#]],
    );
    check_problems(
        "[durability]\nkeep_days = 36501\non_repeat = \"never\"\n",
        &expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:3:13: unknown variant `never`, expected one of `warn`, `refuse`, `recall`
          |
        3 | on_repeat = "never"
          |             ^^^^^^^
    "#]],
    );
    check_problems(
        "[durability]\nkeep_days = 36501\n",
        &expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:13: keep_days: expected 1 to 36500 days, found 36501
          |
        2 | keep_days = 36501
          |             ^^^^^
    "#]],
    );
    check_problems(
        "[durability]\nkeep_bytes = 0\njournal = \"mysql://a:secret@b/c\"\n",
        &expect![[r#"
            manifest haft.toml has 2 problems

            haft.toml:2:14: keep_bytes: expected at least 1 byte, found 0, which would keep nothing
              |
            2 | keep_bytes = 0
              |              ^

            haft.toml:3:11: journal: expected the path of a file, or a URL that begins with postgres:// or postgresql://; found one that begins with mysql://
              |
            3 | journal = "mysql://a:***@b/c"
              |           ^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
    check_problems(
        "[durability]\njournals = \"postgres://a:secret@b/c\"\n",
        &expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:1: unknown key "journals": did you mean "journal"?
          |
        2 | journals = "postgres://a:***@b/c"
          | ^^^^^^^^
    "#]],
    );
}

#[test]
fn snapshots_have_bounds_and_patterns() {
    check_problems(
        "[snapshots]\nfiles = 0\nfile_bytes = 0\nexclude = [\n  \"*.o\",\n  \"[a\",\n  \"\",\n  \"#x\",\n]\n",
        &expect![[r##"
            manifest haft.toml has 5 problems

            haft.toml:2:9: files: expected 1 to 10000000 files, found 0
              |
            2 | files = 0
              |         ^

            haft.toml:3:14: file_bytes: expected 1 to 1073741824 bytes, found 0
              |
            3 | file_bytes = 0
              |              ^

            haft.toml:6:3: exclude: expected a pattern, found "[a" with a [ that no ] follows: one that is meant is written \[
              |
            6 |   "[a",
              |   ^^^^

            haft.toml:7:3: exclude: expected a pattern, found an empty text
              |
            7 |   "",
              |   ^^

            haft.toml:8:3: exclude: expected a pattern, found the comment "#x": a name that begins with # is written \#
              |
            8 |   "#x",
              |   ^^^^
        "##]],
    );
    let fine =
        "[snapshots]\nignored_files = 0\nignored_bytes = 0\nexclude = [\"!a\", \"\\\\#x\"]\n";
    assert!(read::read(fine, ExampleChecks::Checked).is_ok());
}

#[test]
fn providers_of_searches_are_checked() {
    let check =
        |text: &str, expect: Expect| check_problems(&format!("[web_search]\n{text}"), &expect);
    check(
        "calls_max = 0\ntimeout_ms = 3600001",
        expect![[r#"
        manifest haft.toml has 2 problems

        haft.toml:2:13: calls_max: expected 1 to 10000 searches, found 0
          |
        2 | calls_max = 0
          |             ^

        haft.toml:3:14: timeout_ms: expected 1 to 3600000 milliseconds, found 3600001
          |
        3 | timeout_ms = 3600001
          |              ^^^^^^^
    "#]],
    );
    check(
        "providers = [{ kind = \"google\" }, { kind = \"searxng\" }]",
        expect![[r#"
        manifest haft.toml has 2 problems

        haft.toml:2:13: kind: unknown kind "google": expected "searxng", "brave" or "tavily"
          |
        2 | providers = [{ kind = "google" }, { kind = "searxng" }]
          |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        haft.toml:2:13: searxng: url: expected where the instance is, such as "https://searx.example.org"
          |
        2 | providers = [{ kind = "google" }, { kind = "searxng" }]
          |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
}

#[test]
fn no_key_is_set_in_a_manifest_or_shown() {
    let check =
        |text: &str, expect: Expect| check_problems(&format!("[web_search]\n{text}"), &expect);
    check(
        "providers = [{ kind = \"brave\", url = \"https://u:p@a.b\" }]",
        expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:13: brave: url: it holds a user name or a password, and neither is ever sent: leave them out
          |
        2 | providers = [{ kind = "brave", url = "https://u:***@a.b" }]
          |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
    check(
        "providers = [{ kind = \"brave\", key_variable = \"sk-123abc\" }]",
        expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:13: key_variable: expected the name of an environment variable, in capitals, and not a key
          |
        2 | providers = [{ kind = "brave", key_variable = "***" }]
          |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
    check(
        "providers = [{ kind = \"tavily\", key = \"tvly-123abc\" }]",
        expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:33: a key cannot be set in a manifest, which travels with the workspace: put it into the provider's environment variable, such as BRAVE_API_KEY, or into one that key_variable names
          |
        2 | providers = [{ kind = "tavily", key = "***" }]
          |                                 ^^^
    "#]],
    );
    check(
        "providers = [{ kind = \"tavily\", timeout_ms = 1 }]",
        expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:33: unknown key "timeout_ms": expected one of key_variable, kind, url
          |
        2 | providers = [{ kind = "tavily", timeout_ms = 1 }]
          |                                 ^^^^^^^^^^
    "#]],
    );
    let eleven = ["{ kind = \"brave\" }"; 11].join(", ");
    check(
        &format!("providers = [{eleven}]"),
        expect![[r#"
        manifest haft.toml has 1 problem

        haft.toml:2:13: expected at most 10 providers, found 11
          |
        2 | providers = [{ kind = "brave" }, { kind = "brave" }, { kind = "brave" }, { kind = "brave" }, { kind = "brave" }, { kind 
          |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
    let most = ["{ kind = \"brave\" }"; 10].join(", ");
    let most =
        format!("[web_search]\ncalls_max = 10000\ntimeout_ms = 3600000\nproviders = [{most}]");
    assert_eq!(parse(&most).unwrap().web_search.providers.len(), 10);
}

#[test]
fn every_mistake_in_one_directory_of_python_tools_is_named() {
    check_problems(
        r#"
[[python]]
dirs = "tools"
interpreter = 3
readable = ["a", 5]
workers = 0
idle_ms = "long"
memory_bytes = 1
[[python]]
dir = 4
"#,
        &expect![[r#"
            manifest haft.toml has 8 problems

            haft.toml:2:1: missing field `dir`
              |
            2 | [[python]]
              | ^^^^^^^^^^

            haft.toml:3:1: unknown key "dirs": did you mean "dir"?
              |
            3 | dirs = "tools"
              | ^^^^

            haft.toml:4:15: invalid type: integer `3`, expected a text
              |
            4 | interpreter = 3
              |               ^

            haft.toml:5:18: invalid type: integer `5`, expected a text
              |
            5 | readable = ["a", 5]
              |                  ^

            haft.toml:6:11: workers: expected 1 to 16 processes, found 0
              |
            6 | workers = 0
              |           ^

            haft.toml:7:11: invalid type: string "long", expected a whole number
              |
            7 | idle_ms = "long"
              |           ^^^^^^

            haft.toml:8:16: memory_bytes: expected 16777216 to 1099511627776 bytes, found 1
              |
            8 | memory_bytes = 1
              |                ^

            haft.toml:10:7: invalid type: integer `4`, expected a text
               |
            10 | dir = 4
               |       ^
        "#]],
    );
}
