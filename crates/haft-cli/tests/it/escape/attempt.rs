//! Makes the attempts, each in each configuration, and finds out which layer stopped it. The expectations are defined
//! elsewhere.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

use super::case::{Attack, Case, Configuration, Control};
use super::world::World;

/// How many configurations are tried at one time.
const WORKERS: usize = 3;
/// Calls of one race, where every layer is on; files are opened the same way in all configurations.
const RACE_CALLS: usize = 250;
/// Calls of one race elsewhere.
const RACE_CALLS_ELSEWHERE: usize = 40;
/// Rounds of a race, at most, where no layer is on; one is nearly always enough.
const CONTROL_RACE_ROUNDS: usize = 100;

/// The result of an attempt.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// It was not made here.
    NotRun,
    Stopped {
        by: Layer,
        #[expect(dead_code, reason = "it is shown where the outcome is not the expected one")]
        said: String,
    },
    #[expect(dead_code, reason = "it is shown where the outcome is not the expected one")]
    Out { ways: Vec<String>, said: String },
}

/// Who stopped an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// A tool that opens nothing outside of its grant, or the check of what a call is seen to access.
    Capabilities,
    /// A rule, or a question without a person to answer it.
    Rules,
    /// The network guard.
    Guard,
    Watchdog,
    /// It ran, and nothing came of it.
    Kernel,
    /// It ran without the kernel's confinement, and haft's own supervision and bounds were enough.
    Runtime,
    /// The call was refused because the confinement that it needs is not there.
    Refused,
}

/// All outcomes.
pub(super) struct Attempts(Vec<(Configuration, Vec<Outcome>)>);

impl Attempts {
    /// Returns the outcomes of the case with that number.
    pub(super) fn of(&self, index: usize) -> impl Iterator<Item = (Configuration, &Outcome)> {
        self.0.iter().map(move |(configuration, outcomes)| (*configuration, &outcomes[index]))
    }
}

impl Outcome {
    pub(super) fn is_out(&self) -> bool {
        matches!(self, Self::Out { .. })
    }

    pub(super) fn ran(&self) -> bool {
        !matches!(self, Self::NotRun)
    }
}

/// Makes all attempts in all configurations.
pub(super) fn attempt_all(cases: &[(&'static str, &'static Case)]) -> Attempts {
    let mut configurations = Configuration::TABLE.to_vec();
    configurations.push(Configuration::Control);
    let waiting = Mutex::new(configurations.clone());
    let done = Mutex::new(Vec::new());
    // The workers share what is left to do, and where to put what is done; there is nothing to wait for in between.
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(configuration) = { waiting.lock().unwrap().pop() } {
                    let outcomes = attempt_in(configuration, cases);
                    done.lock().unwrap().push((configuration, outcomes));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(configuration, _)| *configuration);
    Attempts(done)
}

fn attempt_in(
    configuration: Configuration,
    cases: &[(&'static str, &'static Case)],
) -> Vec<Outcome> {
    let mut world = World::new(configuration);
    let numbered = cases.iter().enumerate();
    numbered.map(|(index, (_, case))| attempt(&mut world, case, &format!("c{index}"))).collect()
}

fn attempt(world: &mut World, case: &Case, directory: &str) -> Outcome {
    if !case.runs_in(world.configuration()) {
        return Outcome::NotRun;
    }
    world.prepare(case, directory);
    let before = world.look(case, directory);
    let (mut said, mut code, mut ways) = (String::new(), None, Vec::new());
    for _ in 0..rounds(world.configuration(), case) {
        (said, code) = make(world, case, directory);
        ways = world.ways_out(case, directory, &before, &said);
        if !ways.is_empty() {
            break;
        }
    }
    world.tidy(directory, &before);
    if !ways.is_empty() {
        return Outcome::Out { ways, said };
    }
    let by = stopped_by(world.configuration(), case, code.as_deref(), &said);
    Outcome::Stopped { by, said }
}

/// Returns how often an attempt is made until it gets out. Who wins a race without any layer is the scheduler's choice.
fn rounds(configuration: Configuration, case: &Case) -> usize {
    let is_race = matches!(case.attack, Attack::Race(..));
    if is_race && configuration == Configuration::Control { CONTROL_RACE_ROUNDS } else { 1 }
}

/// Makes the call and returns what it said, and its error code if it has one.
fn make(world: &mut World, case: &Case, directory: &str) -> (String, Option<String>) {
    let place = world.root().join(directory);
    let is_race = matches!(case.attack, Attack::Race(..));
    let calls = match (world.configuration(), is_race) {
        (_, false) | (Configuration::Control, true) => 1,
        (Configuration::Everything, true) => RACE_CALLS,
        (_, true) => RACE_CALLS_ELSEWHERE,
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        if is_race {
            scope.spawn(|| exchange(&place, &is_over));
        }
        let mut answers = (0..calls).map(|_| make_once(world, case, directory));
        // Of many calls it is enough to know all that was said, and one that was refused.
        let joined = answers.by_ref().fold((String::new(), None), |(said, code), answer| {
            (said + &answer.0, code.or(answer.1))
        });
        is_over.store(true, Ordering::Relaxed);
        joined
    })
}

fn make_once(world: &mut World, case: &Case, directory: &str) -> (String, Option<String>) {
    if let (Configuration::Control, Control::Bare(line)) = (world.configuration(), case.control) {
        return (world.bare(line, directory).1, None);
    }
    let (tool, mut input) = case.call(world, directory);
    hide(world, case, directory, &mut input);
    let answer = world.server(case).call(tool, input);
    let result = &answer["result"];
    let texts = result["content"].as_array().into_iter().flatten();
    let said: String = texts.filter_map(|block| block["text"].as_str()).collect();
    let said = if result.is_null() { answer.to_string() } else { said };
    (said, result["_meta"]["haft/code"].as_str().map(str::to_owned))
}

/// Writes a script to a file. If rules about words must not stop it, the line that runs it goes to a file too: rules do not
/// see the words that a known program reads from a file.
fn hide(world: &World, case: &Case, directory: &str, input: &mut Value) {
    let script = match case.attack {
        Attack::Tool(..) | Attack::Race(..) => return,
        Attack::Python(script) => with_prelude(&world.filled(script, directory)),
        Attack::Line(_) if world.configuration().has_words() => return,
        Attack::Line(line) => world.filled(line, directory),
    };
    let place = world.root().join(directory);
    if let Attack::Line(_) = case.attack {
        fs::write(place.join("attack.sh"), script).unwrap();
        input["cmd"] = "bash attack.sh".into();
    } else {
        fs::write(place.join("attack.py"), script).unwrap();
    }
}

/// Exchanges a directory and a link as fast as it goes.
fn exchange(place: &Path, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let (swap, link) = (place.join("swap"), place.join("link"));
        renameat_with(CWD, swap, CWD, link, RenameFlags::EXCHANGE).unwrap();
    }
}

fn stopped_by(configuration: Configuration, case: &Case, code: Option<&str>, said: &str) -> Layer {
    match code {
        Some("CAPABILITY_DENIED" | "TOOL_PATH_ESCAPE" | "TOOL_PATH_INVALID") => Layer::Capabilities,
        Some("PERMISSION_DENIED") if said.contains("watchdog") => Layer::Watchdog,
        Some("PERMISSION_DENIED") => Layer::Rules,
        Some("TOOL_NETWORK_DISABLED" | "TOOL_GIT_REMOTE_DISABLED") => Layer::Guard,
        Some("WATCHDOG_DENIED") => Layer::Watchdog,
        Some("SANDBOX_UNAVAILABLE") => Layer::Refused,
        _ if matches!(case.attack, Attack::Tool(..) | Attack::Race(..)) => Layer::Capabilities,
        _ if configuration.mechanisms().is_none() => Layer::Runtime,
        _ => Layer::Kernel,
    }
}

/// Returns a script with what it builds on. Modules that it does not use would cost more than all that it does.
fn with_prelude(script: &str) -> String {
    let used = MODULES.iter().filter(|module| script.contains(&format!("{module}.")));
    let imports: String = used.map(|module| format!("import {module}\n")).collect();
    format!("{PRELUDE}\n{imports}{script}\n")
}

const MODULES: &[&str] =
    &["fcntl", "mmap", "resource", "signal", "socket", "struct", "subprocess", "threading", "time"];

/// The beginning of each script: system calls by name, and the words for having got out.
const PRELUDE: &str = include_str!("prelude.py");
