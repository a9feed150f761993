//! Text from outside that a terminal would obey: on a terminal, haft escapes it wherever it is shown. Files and pipes get
//! data as it is.

use crate::terminal::Terminal;
use crate::world::World;

const ERASE: &str = "\u{1b}[2J\u{9b}31m";
const SPELLED_OUT: &str = "\\u{1b}[2J\\u{9b}31m";

/// A tool whose description and whose error would erase a screen.
const HOSTILE: &str = r#"METADATA = {
    "name": "hostile",
    "function": "run_hostile",
    "description": "Answers\x1b[2J\x9b31m nothing.",
    "parameters": {"type": "object", "properties": {}},
}


def run_hostile():
    raise ValueError("gone\x1b[2J\x9b31m")
"#;

const PLAN: &str = r#"{
  "nodes": [{"id": 0, "tool": "read", "inputs": {"path": "hostile.txt"}, "depends_on": []}],
  "final_output_node": 0
}"#;

#[test]
fn a_terminal_is_told_nothing_that_it_would_obey() {
    let world = World::with_files();
    world.write("work/hostile.txt", &format!("text{ERASE}\n"));
    world.write("work/tools/hostile.py", HOSTILE);
    world.write("work/plan.json", PLAN);
    let check = |args: &[&str]| {
        let mut terminal = Terminal::new();
        let child = terminal.start_whole(world.haft(args).args(["--python", "tools"]));
        let (shown, _, _) = terminal.finish(child);
        assert!(shown.contains(SPELLED_OUT), "{args:?}: {shown:?}");
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{args:?}: {shown:?}");
    };
    check(&["--color", "never", "tools", "list"]);
    check(&["--color", "never", "tools", "show", "hostile"]);
    check(&["--color", "never", "call", "hostile"]);
    check(&["--color", "never", "call", "read", r#"{"path":"hostile.txt"}"#]);
    check(&["--color", "never", "run", "plan.json"]);
}

#[test]
fn a_pipe_gets_data_as_it_is() {
    let world = World::with_files();
    world.write("work/hostile.txt", &format!("text{ERASE}\n"));
    world.write("work/plan.json", PLAN);
    let text = format!("text{ERASE}\n");
    assert_eq!(world.run(&["call", "read", r#"{"path":"hostile.txt"}"#]), text);
    assert_eq!(world.run(&["run", "plan.json"]), text);
}
