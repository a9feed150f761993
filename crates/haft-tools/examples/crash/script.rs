//! The script of the workers, as data that follows from a seed: the calls of each run, lane by lane, and the files of a
//! lane after each call. Driver and worker write the same script down independently, so that the one can tell what
//! the other should have done. Nothing is executed here.

use std::collections::{BTreeMap, HashMap};

use haft_contract::{AttemptAddress, CallKey, RunId, canonical_json};
use haft_faults::SeededRandom;
use serde_json::{Value, json};

use crate::Failure;

/// The contents of a lane's files, by name.
pub(crate) type Files = BTreeMap<String, String>;

const FILE_NAMES: [&str; 4] = ["f0.txt", "f1.txt", "f2.txt", "f3.txt"];
const ITEMS: [&str; 3] = ["milk", "tea", "salt"];
/// Lines that follow the first one of a written file: files of one block, and of several.
const FILLER_LINES: [usize; 3] = [0, 20, 2_000];
const STEPS_MIN: u64 = 6;
const STEPS_SPREAD: u64 = 10;

/// The effect of a step on the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Appends its key to the ledger, without a probe.
    Order,
    /// The same, with a probe that looks into the ledger.
    Probed,
    /// Appends its key to the notes, as often as it is executed.
    Note,
    Read,
    /// Changes files.
    Files,
    /// Appends its key to the lane's log, from a confined process.
    Bash,
    /// Calls a tool that is not there.
    Refused,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
    pub(crate) key: CallKey,
    /// The contents of the lane's files after it.
    pub(crate) files: Files,
}

/// Calls that are made one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) scope: AttemptAddress,
    /// The directory of its files, relative to the workspace.
    pub(crate) directory: String,
    /// The file that its commands append to.
    pub(crate) log: String,
    pub(crate) steps: Vec<Step>,
}

/// The calls of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunScript {
    pub(crate) id: RunId,
    pub(crate) lanes: Vec<Lane>,
}

/// Whether steps run commands, which takes a hundred times as long as anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commands {
    None,
    Some,
}

impl RunScript {
    /// Returns what a world does in its run of this number.
    pub(crate) fn of(seed: u64, number: u32, commands: Commands) -> Result<Self, Failure> {
        let mut random = SeededRandom::from_seeds(seed, u64::from(number));
        let id = RunId::parse(&format!("run{number}"))?;
        let lanes = 1 + random.below(3);
        let lane = |lane: u64| Lane::of(&id, lane, &mut random, commands);
        Ok(Self { lanes: (0..lanes).map(lane).collect(), id: id.clone() })
    }
}

impl Lane {
    fn of(run: &RunId, number: u64, random: &mut SeededRandom, commands: Commands) -> Self {
        let scope = AttemptAddress {
            node: format!("lane{number}"),
            ..AttemptAddress::first_of_run(run.clone())
        };
        let mut lane = Self {
            directory: format!("{run}/lane{number}"),
            log: format!("{run}/log{number}"),
            scope,
            steps: Vec::new(),
        };
        let mut made: HashMap<CallKey, u32> = HashMap::new();
        for _ in 0..STEPS_MIN + random.below(STEPS_SPREAD) {
            let (kind, tool, input, files) = lane.next(random, commands);
            let first = CallKey::of_first_call(&lane.scope, tool, &canonical_json(&input));
            let count = made.entry(first).or_default();
            let key = first.with_repeat_index(*count);
            *count += 1;
            lane.steps.push(Step { kind, tool, input, key, files });
        }
        lane
    }

    /// Returns what the files hold before a step.
    pub(crate) fn files_before(&self, step: usize) -> Files {
        let before = step.checked_sub(1).and_then(|before| self.steps.get(before));
        before.map(|step| step.files.clone()).unwrap_or_default()
    }

    fn next(
        &self,
        random: &mut SeededRandom,
        commands: Commands,
    ) -> (Kind, &'static str, Value, Files) {
        let files = self.files_before(self.steps.len());
        let item = json!({ "item": random.choose(&ITEMS) });
        match random.below(20) {
            0..=4 if commands == Commands::Some => {
                let pause = random.choose(&["", "sleep 0.003; "]);
                let cmd = format!("{pause}echo \"$HAFT_IDEMPOTENCY_KEY\" >> {}", self.log);
                (Kind::Bash, "bash", json!({ "cmd": cmd }), files)
            }
            0..=5 => (Kind::Order, "order", item, files),
            6..=7 => (Kind::Probed, "probed", item, files),
            8..=9 => (Kind::Note, "note", item, files),
            10 => (Kind::Refused, "no_such_tool", item, files),
            11..=12 => match files.keys().next() {
                Some(name) => {
                    let input = json!({ "path": format!("{}/{name}", self.directory) });
                    (Kind::Read, "read", input, files)
                }
                None => self.write(random, files),
            },
            13..=14 => self.write(random, files),
            15..=16 => self.edit(random, files),
            _ => self.patch(random, files),
        }
    }

    fn write(
        &self,
        random: &mut SeededRandom,
        mut files: Files,
    ) -> (Kind, &'static str, Value, Files) {
        let name = random.choose(&FILE_NAMES);
        let filler = "something that fills the file\n".repeat(random.choose(&FILLER_LINES));
        let content = format!("{}\n{filler}", self.version());
        let input = json!({ "path": format!("{}/{name}", self.directory), "content": content });
        files.insert(name.to_owned(), content);
        (Kind::Files, "write", input, files)
    }

    fn edit(
        &self,
        random: &mut SeededRandom,
        mut files: Files,
    ) -> (Kind, &'static str, Value, Files) {
        let names: Vec<String> = files.keys().cloned().collect();
        if names.is_empty() {
            return self.write(random, files);
        }
        let name = random.choose(&names);
        let content = files.get(&name).cloned().unwrap_or_default();
        let (old, new) = (first_line(&content).to_owned(), self.version());
        let path = format!("{}/{name}", self.directory);
        let input = json!({ "path": path, "old_string": old, "new_string": new });
        files.insert(name, content.replacen(&old, &new, 1));
        (Kind::Files, "edit", input, files)
    }

    /// Touches every file: what is not there is created, short ones may go, the others are changed.
    fn patch(
        &self,
        random: &mut SeededRandom,
        mut files: Files,
    ) -> (Kind, &'static str, Value, Files) {
        let mut patch = String::new();
        let new = self.version();
        for name in FILE_NAMES {
            let path = format!("{}/{name}", self.directory);
            match files.get(name).cloned() {
                None => {
                    patch += &format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,1 @@\n+{new}\n");
                    files.insert(name.to_owned(), format!("{new}\n"));
                }
                Some(content) if content.lines().count() == 1 && random.one_in(3) => {
                    let old = first_line(&content);
                    patch += &format!("--- a/{path}\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-{old}\n");
                    files.remove(name);
                }
                Some(content) => {
                    let old = first_line(&content);
                    patch +=
                        &format!("--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-{old}\n+{new}\n");
                    files.insert(name.to_owned(), content.replacen(old, &new, 1));
                }
            }
        }
        (Kind::Files, "apply_patch", json!({ "patch": patch }), files)
    }

    /// Returns a first line that no other step of the lane writes.
    fn version(&self) -> String {
        format!("version {:04}.", self.steps.len() + 1)
    }
}

fn first_line(content: &str) -> &str {
    content.lines().next().unwrap_or_default()
}
