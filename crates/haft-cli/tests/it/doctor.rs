//! `haft doctor` on whatever machine the tests run on: that it says what is so, not what is so here.

use serde_json::{Value, json};

use crate::world::World;

/// Returns what is in the answer, and the status that goes with it.
fn asked(world: &World, args: &[&str]) -> (Value, Option<i32>) {
    let output = world.haft(args).output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|err| panic!("{err}: {}", world.shown(&output))), output.status.code())
}

#[test]
fn the_status_says_whether_everything_can_be_enforced() {
    let world = World::with_files();
    let (report, status) = asked(&world, &["doctor", "--json"]);
    let layers = report["layers"].as_array().unwrap();
    let is_full = layers.iter().all(|layer| layer["reach"] == "full");
    assert_eq!(report["enforceable"], is_full);
    assert_eq!(status, Some(if is_full { 0 } else { 1 }));
    assert_eq!(report["kernel"].as_array().unwrap().len(), 11);
    let (report, status) = asked(&world, &["doctor", "--json", "--unsafe-no-sandbox"]);
    assert_eq!((&report["enforceable"], &report["sandbox"]), (&false.into(), &"off".into()));
    assert_eq!(status, Some(1));
}

#[test]
fn places_are_those_of_this_world() {
    let world = World::with_files();
    world.write("home/.ssh/id_ed25519", "secret");
    world.write("home/.cargo/bin/cargo", "");
    let (report, _) = asked(&world, &["doctor", "--json", "--db", "other.sqlite"]);
    let path = |relative: &str| Value::from(world.path(relative).to_str().unwrap());
    assert!(report["hidden"].as_array().unwrap().contains(&path("home/.ssh")));
    assert!(report["readable"].as_array().unwrap().contains(&path("home/.cargo")));
    assert_eq!(report["files"]["state"], path("state"));
    assert_eq!(report["files"]["journal"], "other.sqlite");
    assert!(!world.path("state").exists(), "looking leaves nothing behind");
}

#[test]
fn a_state_directory_that_cannot_be_is_said() {
    let world = World::with_files();
    world.write("state", "a file where a directory should be");
    let (report, status) = asked(&world, &["doctor", "--json"]);
    let problem = format!("{} is no directory", world.path("state").display());
    assert_eq!(report["files"]["state_problem"], problem);
    assert_eq!(report["files"]["journal_problem"], problem);
    assert_eq!(status, Some(1));
    let text = world.haft(&["doctor"]).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("--  state "), "{text}");
    assert!(text.contains("no call is made"), "{text}");
}

#[test]
fn what_of_the_settings_comes_to_nothing_is_said() {
    let world = World::with_files();
    world.write(
        "work/src/agent.toml",
        "[sandbox]\nreadable = [\"/none\"]\nunprotect = [\".envrc\"]\n",
    );
    std::fs::create_dir(world.path("work/.git")).unwrap();
    let args = ["doctor", "--json", "--config", "src/agent.toml"];
    let (report, _) = asked(&world, &args);
    let (root, worktree) = (world.path("work/src"), world.path("work"));
    assert_eq!(report["not_readable"], json!([{ "path": "/none", "why": "it is not there" }]));
    assert_eq!(report["unprotected"], json!([".envrc"]));
    assert_eq!(report["writable"], json!([root]));
    assert_eq!(report["repositories_above"], json!([{ "root": root, "worktree": worktree }]));
    let stderr = String::from_utf8(world.haft(&args).output().unwrap().stderr).unwrap();
    let expect = "warning: not protected any more (sandbox.unprotect): .envrc\n\
                  warning: commands cannot read /none, which is not there (sandbox.readable)\n";
    assert_eq!(stderr, expect);
}

#[test]
fn whether_bash_runs_freely_depends_on_the_rules() {
    let world = World::with_files();
    let bash = |args: &[&str]| {
        let args = [&["doctor", "--json"], args].concat();
        asked(&world, &args).0["bash"].clone()
    };
    assert_eq!(bash(&["--preset", "full"])["freely"], true);
    let asks = bash(&["--preset", "ask"]);
    assert_eq!((&asks["freely"], &asks["preset"]), (&false.into(), &"ask".into()));
    assert!(asks["why"].as_str().unwrap().contains("no rule matches"), "{asks}");
    assert_eq!(bash(&["--tools", "read"])["why"], "the tool bash is not on offer");
}

#[test]
fn the_report_fits_a_terminal() {
    let world = World::with_files();
    let output = world.haft(&["doctor"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for heading in
        ["Sandbox", "Kernel", "Programs on PATH", "Commands see", "Files of haft", "bash"]
    {
        assert!(text.lines().any(|line| line == heading), "{heading} is missing:\n{text}");
    }
    // Paths and commands to be pasted are not broken.
    let is_breakable = |line: &&str| line.chars().count() > 80 && !line.trim_start().contains('/');
    assert_eq!(text.lines().find(is_breakable), None);
}

#[test]
fn the_model_and_its_key_are_told_and_never_the_key() {
    let world = World::with_files();
    let (report, _) = asked(&world, &["doctor", "--json"]);
    assert_eq!(report.get("model"), None);
    let args = ["doctor", "--json", "--model", "openai/gpt-5"];
    let (report, status) = asked(&world, &args);
    let expect = json!({
        "name": "openai/gpt-5", "key_variable": "OPENAI_API_KEY", "key_is_set": false,
        "problem": "there is no key: set OPENAI_API_KEY",
    });
    assert_eq!(report["model"], expect);
    assert_eq!(status, asked(&world, &["doctor", "--json"]).1);
    let mut command = world.haft(&["doctor"]);
    command.env("HAFT_MODEL", "openai/gpt-5").env("OPENAI_API_KEY", "sk-s3cret-s3cret");
    let text = world.shown(&command.output().unwrap());
    assert!(text.contains("openai/gpt-5; its key is in OPENAI_API_KEY"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    let pasted = ["doctor", "--model", "openai/m", "--base-url", "https://a:s3cret@b/v1"];
    let text = world.shown(&world.haft(&pasted).output().unwrap());
    assert!(text.contains("cannot be asked") && !text.contains("s3cret"), "{text}");
}

#[test]
fn what_python_tools_want_to_read_and_is_not_there_is_told() {
    let world = World::with_files();
    world.write("work/tools/notes.txt", "");
    world
        .write("work/haft.toml", "[[python]]\ndir = \"tools\"\nreadable = [\"data\", \"tools\"]\n");
    world.run(&["trust"]);
    let (report, _) = asked(&world, &["doctor", "--json"]);
    let missing = world.path("work").join("data");
    assert_eq!(report["python"][0]["not_readable"], json!([missing]));
    let text = world.shown(&world.haft(&["doctor"]).output().unwrap());
    assert!(text.contains("not readable          /world/work/data"), "{text}");
}
