//! Help, completions and the documents that are made of them.

use expect_test::expect;

use crate::world::World;

#[test]
fn the_version_and_a_missing_command() {
    let world = World::new();
    world.check(
        &["--version"],
        &expect![[r#"
        haft VERSION
        --- status 0
    "#]],
    );
    world.check(
        &["tols"],
        &expect![[r#"
        --- stderr
        error: unrecognized subcommand 'tols'

          tip: a similar subcommand exists: 'tools'

        Usage: haft [OPTIONS] <COMMAND>

        For more information, try '--help'.
        --- status 2
    "#]],
    );
    world.check(
        &["runs"],
        &expect![[r#"
        --- stderr
        Show the records of the journal, and manage them

        Usage: haft runs [OPTIONS] <COMMAND>

        Commands:
          list    List the latest runs, the newest first
          show    Show a run and its calls in their order
          tail    Follow calls as they are recorded
          export  Write runs and calls as lines of JSON
          verify  Check the journal for corruption
          settle  Settle a call that may or may not have happened
          prune   Remove old runs with all that belongs to them
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help (see more with '--help')

        Global options, such as --root, --preset, --allow and --json: see haft --help
        --- status 2
    "#]],
    );
}

#[test]
fn words_that_people_try_lead_to_the_command() {
    let world = World::new();
    let tip = |args: &[&str]| {
        let shown = world.shown(&world.haft(args).output().unwrap());
        let tip = shown.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        assert!(shown.ends_with("--- status 2\n"), "{shown}");
        tip.unwrap_or("none").to_owned()
    };
    let one = |command: &str| format!("a similar subcommand exists: '{command}'");
    assert_eq!(tip(&["forbid", "fs.read", ".env"]), one("permissions deny"));
    assert_eq!(tip(&["tail"]), one("runs tail"));
    assert_eq!(tip(&["watch", "--json"]), one("runs tail"));
    let both = "some similar subcommands exist: 'permissions allow', 'permissions deny'";
    assert_eq!(tip(&["permissions", "add", "bash"]), both);
    assert_eq!(tip(&["policy", "forbid"]), one("permissions deny"));
    assert!(!tip(&["sessions", "add"]).contains("permissions"));
}

#[test]
fn every_shell_gets_completions() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.run(&["completions", shell]);
        assert!(script.contains("COMPLETE") && script.contains("haft"), "{shell}: {script}");
    }
    world.check(
        &["completions", "csh"],
        &expect![[r#"
        --- stderr
        error: invalid value 'csh' for '<SHELL>'
          [possible values: bash, elvish, fish, powershell, zsh]

          tip: a similar value exists: 'zsh'

        For more information, try '--help'.
        --- status 2
    "#]],
    );
}

#[test]
fn every_command_has_a_manual_page() {
    let world = World::new();
    assert_eq!(world.run(&["man-pages", "."]), "");
    let headings = HEADINGS.iter().filter_map(|heading| heading.strip_prefix("## haft"));
    let mut expected: Vec<String> =
        headings.map(|command| format!("haft{}.1", command.replace(' ', "-"))).collect();
    expected.sort();
    let pages = std::fs::read_dir(world.path("work")).unwrap();
    let mut pages: Vec<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort();
    assert_eq!(pages, expected);
    let page = world.read("work/haft-call.1");
    assert!(page.contains(".TH haft-call 1") && page.contains("haft call"), "{page}");
    assert!(
        !page.contains("allow\\-network"),
        "shared options are in the page of haft alone: {page}"
    );
    assert!(world.read("work/haft.1").contains("allow\\-network"));
    world.check(
        &["man-pages", "missing"],
        &expect![[r#"
        --- stderr
        error: the pages cannot be written into missing: No such file or directory (os error 2)
        --- status 2
    "#]],
    );
}

/// Returns the words that a shell offers for the last one of a line, without options.
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let mut command = world.haft(&[&["--"], words].concat());
    let index = (words.len() - 1).to_string();
    command.env("COMPLETE", "fish").env("_CLAP_COMPLETE_INDEX", index);
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let words = output.lines().map(|line| line.split('\t').next().unwrap_or_default());
    words.filter(|word| !word.starts_with('-')).map(str::to_owned).collect()
}

#[test]
fn runs_tools_and_agents_are_completed() {
    let world = World::with_files();
    world.run(&["call", "--run", "nightly", "read", "path=notes.txt"]);
    assert_eq!(offered(&world, &["haft", "show", ""]), ["last", "nightly"]);
    assert_eq!(offered(&world, &["haft", "undo", "ni"]), ["nightly"]);
    assert_eq!(offered(&world, &["haft", "call", "gr"]), ["grep"]);
    assert!(offered(&world, &["haft", "agent", "--agent", "b"]).contains(&"build".to_owned()));
    assert!(offered(&world, &["haft", "sand"]).contains(&"sandbox".to_owned()));
}

/// The headings of the reference: every command in the order of the help.
const HEADINGS: &[&str] = &[
    "# The command line",
    "## haft",
    "## haft call",
    "## haft bash",
    "## haft sandbox",
    "## haft do",
    "## haft tools",
    "## haft tools list",
    "## haft tools search",
    "## haft tools add",
    "## haft tools show",
    "## haft plan",
    "## haft plan run",
    "## haft plan resume",
    "## haft plan check",
    "## haft plan show",
    "## haft plan make",
    "## haft log",
    "## haft show",
    "## haft runs",
    "## haft runs list",
    "## haft runs show",
    "## haft runs tail",
    "## haft runs export",
    "## haft runs verify",
    "## haft runs settle",
    "## haft runs prune",
    "## haft asks",
    "## haft asks list",
    "## haft asks show",
    "## haft asks allow",
    "## haft asks reject",
    "## haft asks answer",
    "## haft diff",
    "## haft undo",
    "## haft inspect",
    "## haft connect",
    "## haft mcp",
    "## haft mcp add",
    "## haft mcp list",
    "## haft mcp remove",
    "## haft mcp test",
    "## haft mcp login",
    "## haft mcp logout",
    "## haft serve",
    "## haft permissions",
    "## haft permissions list",
    "## haft permissions explain",
    "## haft permissions check",
    "## haft permissions allow",
    "## haft permissions deny",
    "## haft permissions ask",
    "## haft permissions export",
    "## haft permissions test",
    "## haft permissions preset",
    "## haft permissions remove",
    "## haft registry",
    "## haft registry check",
    "## haft registry list",
    "## haft registry sync",
    "## haft registry add",
    "## haft agent",
    "## haft acp",
    "## haft sessions",
    "## haft sessions list",
    "## haft sessions show",
    "## haft sessions export",
    "## haft sessions fork",
    "## haft sessions rewind",
    "## haft agents",
    "## haft agents list",
    "## haft agents show",
    "## haft agents check",
    "## haft skills",
    "## haft skills list",
    "## haft skills show",
    "## haft skills check",
    "## haft skills instructions",
    "## haft doctor",
    "## haft init",
    "## haft trust",
    "## haft completions",
    "## Settings",
];

#[test]
fn the_reference_has_every_command_and_no_machine() {
    let world = World::new();
    let text = world.run(&["help-markdown"]);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, HEADINGS);
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    // A row of a table stays on one line.
    let is_row = |line: &str| line.starts_with('|');
    assert!(text.lines().all(|line| line.chars().count() <= 100 || is_row(line)), "{text}");
    let mut wide = world.haft(&["help-markdown"]);
    wide.env("COLUMNS", "300").env("HAFT_ROOT", "/somewhere").env("TERM", "xterm");
    assert_eq!(String::from_utf8(wide.output().unwrap().stdout).unwrap(), text);
}

#[test]
fn the_page_of_protected_paths_has_both_tables() {
    let world = World::new();
    let text = world.run(&["help-markdown", "protected-paths"]);
    for row in ["| Cargo | `.cargo/config`", "| uv | `$PYX_CREDENTIALS_DIR`", "## Hidden places"] {
        assert!(text.contains(row), "{row}: {text}");
    }
}

#[test]
fn colour_only_where_it_is_asked_for() {
    let world = World::new();
    let errors = |args: &[&str], variable: Option<(&str, &str)>| {
        let output = world.haft(args).envs(variable).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let args = ["tools", "show", "raed"];
    assert!(!errors(&args, None).contains('\u{1b}'));
    let always = ["tools", "show", "raed", "--color", "always"];
    assert!(errors(&always, None).starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "));
    let never = ["tools", "show", "raed", "--color", "never"];
    assert!(!errors(&never, Some(("CLICOLOR_FORCE", "1"))).contains('\u{1b}'));
}
