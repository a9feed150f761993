//! Files that programs leave under protected names when haft is killed. The next haft finds and repairs them, and leaves the
//! user's own files alone. Tests in the sandbox crate cover how a scan judges new files.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use expect_test::{Expect, expect};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::{World, names};

const READ: &[&str] = &["call", "read", r#"{"path":"notes.txt"}"#];

/// A script that plants two things under protected names, and then waits until it is killed. The command line that runs it
/// does not show its actions.
const PLANT: &str = "mkdir -p .vscode && echo evil > .vscode/tasks.json && echo evil > .envrc && echo > fifo; cat fifo";

const RUN: &str = r#"{"cmd":"sh plant.sh"}"#;

/// Starts haft, and returns it when its program has planted something.
fn begin(world: &World, args: &[&str]) -> Child {
    let fifo = world.fifo("work/fifo");
    world.write("work/plant.sh", PLANT);
    let mut command: Command = world.haft(args);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The program opens it when everything is in place.
    fs::read(&fifo).unwrap();
    child
}

/// Kills haft in the middle of its call, and waits until nothing of the program is left, and until that can be told from
/// what is done next.
fn kill(world: &World, mut child: Child) {
    let underway = world.path("state/underway");
    let directories = names(&underway).into_iter().filter(|name| name != "door");
    let locks: Vec<File> =
        directories.map(|name| File::open(underway.join(name).join("helpers")).unwrap()).collect();
    assert!(!locks.is_empty(), "nothing is written down of the program");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    for lock in locks {
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let ended = lock.metadata().unwrap().modified().unwrap();
        // File systems take times from a clock that ticks every few milliseconds.
        let probe = world.path("home/probe");
        let now = || {
            fs::write(&probe, "").unwrap();
            probe.metadata().unwrap().modified().unwrap()
        };
        while now() <= ended {}
    }
}

fn check_next_start(world: &World, expect: &Expect) {
    world.check(READ, expect);
    // It is told, and looked at, once.
    let again = world.haft(READ).output().unwrap();
    assert_eq!(world.shown(&again), "one\ntwo\nthree\n--- status 0\n");
    assert_eq!(names(&world.path("state/underway")), ["door"]);
}

#[test]
fn what_a_command_left_is_put_right_by_the_next_start() {
    let world = World::with_files();
    let child = begin(&world, &["call", "--allow", "bash", "bash", RUN]);
    kill(&world, child);
    // The user's own work, after the command's end.
    world.write("work/.idea/workspace.xml", "mine");
    check_next_start(
        &world,
        &expect![[r#"
            one
            two
            three
            --- stderr
            warning: left by a command or tool whose haft was killed: /world/work/.envrc is protected by ".envrc" and was moved to /world/state/quarantine/1/.envrc
            warning: left by a command or tool whose haft was killed: /world/work/.vscode is protected by ".vscode/**" and was moved to /world/state/quarantine/2/.vscode
            --- status 0
        "#]],
    );
    assert!(!world.path("work/.envrc").exists() && !world.path("work/.vscode").exists());
    assert_eq!(world.read("work/.idea/workspace.xml"), "mine");
}

#[test]
fn what_a_python_tool_left_is_put_right_by_the_next_start() {
    let world = World::with_files();
    let body = "import subprocess; return subprocess.run(['sh', 'plant.sh']).returncode";
    let requires =
        r#""side_effect": True, "idempotent": True, "requires": {"fs": {"write": ["**"]}},"#;
    world.write("work/tools/plant.py", &super::python::tool("plant", requires, body));
    world.write("work/haft.toml", "[[python]]\ndir = \"tools\"\n");
    world.run(&["trust"]);
    let child = begin(&world, &["call", "--allow", "plant", "plant", "{}"]);
    kill(&world, child);
    check_next_start(
        &world,
        &expect![[r#"
            one
            two
            three
            --- stderr
            warning: left by a command or tool whose haft was killed: /world/work/.envrc is protected by ".envrc" and was moved to /world/state/quarantine/1/.envrc
            warning: left by a command or tool whose haft was killed: /world/work/.vscode is protected by ".vscode/**" and was moved to /world/state/quarantine/2/.vscode
            --- status 0
        "#]],
    );
    assert!(!world.path("work/.envrc").exists() && !world.path("work/.vscode").exists());
}

#[test]
fn what_a_living_haft_has_under_way_is_its_own_affair() {
    let world = World::with_files();
    let mut child = begin(&world, &["call", "--allow", "bash", "bash", RUN]);
    world.run(READ);
    assert_eq!(world.read("work/.envrc"), "evil\n");
    fs::write(world.path("work/fifo"), "").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!world.path("work/.envrc").exists());
}

#[test]
fn what_is_too_deep_is_moved_away_and_the_root_stays_usable() {
    let world = World::with_files();
    world.write(
        "work/plant.sh",
        "p=.; for i in $(seq 600); do p=$p/d; done; mkdir -p $p/evil/objects $p/evil/refs\n\
         echo 'ref: refs/heads/m' > $p/evil/HEAD; ln -s $p/evil tool\n\
         printf '[core]\\nbare = false\\nworktree = ..\\nfsmonitor = \"touch pwned; false\"\\n' > $p/evil/config\n",
    );
    let shown = world.shown(&world.haft(&["call", "bash", RUN_PLANT, "--json"]).output().unwrap());
    assert!(shown.contains("was moved to") && shown.contains("beyond a limit"), "{shown}");
    assert!(!world.path("work/tool/config").exists());
    let next = world.run(&["call", "bash", r#"{"cmd":"echo","args":["started"]}"#]);
    assert!(next.contains("started"), "{next}");
}

const RUN_PLANT: &str = r#"{"cmd":"bash","args":["plant.sh"]}"#;
