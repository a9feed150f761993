//! Starts workers in a world, one after the other, kills each at a moment that follows from the seed, and has what is left
//! audited. When it was enough, a last worker ends by itself, and everything has to be there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use haft_faults::SeededRandom;

use crate::Failure;
use crate::audit::{Audit, Extent, Known};
use crate::children;
use crate::counts::Counts;
use crate::heard::{Heard, Said};
use crate::point::POINTS;
use crate::script::{Commands, RunScript};
use crate::snapshots;
use crate::worker::{DriverKind, End, Orders};
use crate::world::World;

/// Lines of a worker after which it is killed wherever it is.
const LINES_MAX: u64 = 20;
/// How long a worker that is to be killed within something lives on in it, in microseconds.
const WITHIN_US_MAX: u64 = 1_000;
/// A worker that does not come to the end of its run in so many lives never will.
const LAST_LIVES_MAX: u32 = 20;

/// A system call that a worker may die in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeadlyCall {
    name: &'static str,
    /// The file of the world that it is about, if it is not about any.
    file: Option<&'static str>,
    /// The operation of haft at that time, if only one operation makes that call.
    mid: Option<&'static str>,
}

/// Those that change files, and those that make changes durable.
const CALLS: [DeadlyCall; 12] = [
    DeadlyCall::of_any("pwrite64"),
    DeadlyCall::of_any("write"),
    DeadlyCall::of_any("fdatasync"),
    DeadlyCall::of_any("fsync"),
    DeadlyCall::of_any("renameat"),
    DeadlyCall::of_any("renameat2"),
    DeadlyCall::of_any("linkat"),
    DeadlyCall::of_any("unlinkat"),
    DeadlyCall::of_any("ftruncate"),
    // Until a checkpoint everything is in the log beside it.
    DeadlyCall { name: "pwrite64", file: Some("journal.db"), mid: Some("checkpoint") },
    DeadlyCall { name: "fdatasync", file: Some("journal.db"), mid: Some("checkpoint") },
    DeadlyCall::of_any("mkdir"),
];
/// Objects of a store are renamed into place, and so is what it remembers of files.
const MID_SNAPSHOT: DeadlyCall = DeadlyCall { name: "rename", file: None, mid: Some("snapshot") };

/// When a worker dies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plan {
    /// So long after it said so many lines.
    Later { lines: u64, wait_us: u64 },
    /// At this place, which it kills itself at.
    At { place: &'static str, times: u64, wait_us: u64 },
    /// After so many lines its own children are killed, and a few lines later it is.
    ChildrenFirst { lines: u64, wait_us: u64 },
    /// In the middle of its so manieth such system call, by the tracer that it runs under.
    InCall { call: DeadlyCall, times: u64 },
    /// By itself, after its run.
    AtTheEnd,
}

/// A world and everything that is known of it.
pub(crate) struct Driver {
    seed: u64,
    world: World,
    commands: Commands,
    driver: DriverKind,
    /// Whether this machine can have workers die in system calls.
    has_tracer: bool,
    has_snapshots: bool,
    random: SeededRandom,
    heard: Heard,
    known: Known,
    run: u32,
    given_up: BTreeSet<u32>,
    life: u64,
    pub(crate) counts: Counts,
    pub(crate) wrong: Vec<String>,
    audits: tokio::runtime::Runtime,
}

impl DeadlyCall {
    const fn of_any(name: &'static str) -> Self {
        Self { name, file: None, mid: None }
    }
}

impl Driver {
    pub(crate) fn new(world: World, seed: u64) -> Result<Self, Failure> {
        std::fs::create_dir_all(world.workspace())?;
        let mut random = SeededRandom::from_seeds(seed, u64::MAX);
        let commands = if random.one_in(8) { Commands::Some } else { Commands::None };
        let driver = if random.one_in(3) { DriverKind::GoesOn } else { DriverKind::Replays };
        Ok(Self {
            seed,
            world,
            commands,
            driver,
            has_tracer: has_tracer(),
            has_snapshots: snapshots::are_in(seed),
            random,
            heard: Heard::default(),
            known: Known::default(),
            run: 1,
            given_up: BTreeSet::new(),
            life: 0,
            counts: Counts::default(),
            wrong: Vec::new(),
            audits: tokio::runtime::Builder::new_current_thread().build()?,
        })
    }

    /// Kills so many workers, and then lets one live. Stops early when something is wrong.
    pub(crate) fn drive(&mut self, kills: u64) -> Result<(), Failure> {
        for _ in 0..kills {
            let plan = self.plan();
            self.live(&plan)?;
            if !self.random.one_in(4) {
                self.audit(Extent::SoFar)?;
            }
            if !self.wrong.is_empty() {
                return Ok(());
            }
        }
        for _ in 0..LAST_LIVES_MAX {
            let before = self.run;
            self.live(&Plan::AtTheEnd)?;
            if self.run != before || !self.wrong.is_empty() {
                break;
            }
        }
        self.audit(Extent::Whole)
    }

    fn plan(&mut self) -> Plan {
        let random = &mut self.random;
        let lines = match random.below(4) {
            0 => random.below(2),
            1 => random.below(4),
            _ => 1 + random.below(12),
        };
        let longest = match (lines, self.commands) {
            (0, _) => 14,
            (_, Commands::None) => 11,
            (_, Commands::Some) => 15,
        };
        let magnitude = 1_u64 << random.below(longest);
        let wait_us = magnitude + random.below(magnitude);
        match random.below(10) {
            0..=3 => {
                let place = random.choose(&POINTS);
                // A life passes some of them once, if at all.
                let is_rare = ["open", "abandon", "close", "resolve", "refuse", "checkpoint"];
                let is_rare = is_rare.iter().any(|rare| place.ends_with(rare));
                let times = if is_rare { 1 } else { 1 + random.below(6) };
                // An operation that takes a while ends after a millisecond at most.
                Plan::At { place, times, wait_us: wait_us % WITHIN_US_MAX }
            }
            4 if self.has_tracer && self.commands == Commands::None => {
                let magnitude = 1 << random.below(7);
                let call = match self.has_snapshots && random.one_in(2) {
                    true => MID_SNAPSHOT,
                    false => random.choose(&CALLS),
                };
                Plan::InCall { call, times: 1 + random.below(magnitude) }
            }
            4..=5 if self.commands == Commands::Some => Plan::ChildrenFirst { lines, wait_us },
            _ => Plan::Later { lines, wait_us },
        }
    }

    /// One worker, from its start to its death.
    fn live(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.life += 1;
        self.counts.add("workers");
        let mut worker = self.spawn(plan)?;
        let output = worker.stdout.take().ok_or("a worker without an output")?;
        let is_killed = self.listen(plan, &mut worker, output)?;
        let status = worker.wait()?;
        if self.commands == Commands::Some && !children::wait_for_orphans()? {
            self.wrong.push(format!("life {}: a process outlived its worker", self.life));
        }
        match status.signal() {
            Some(9) if is_killed => self.counts.add("killed at a random moment"),
            Some(9) => match plan {
                Plan::At { place, .. } => self.counts.add(&format!("killed at {place}")),
                Plan::InCall { call, .. } => {
                    let mid = call.mid.map(|mid| format!(", mid {mid}")).unwrap_or_default();
                    self.counts.add(&format!("killed in {}{mid}", call.name));
                }
                Plan::Later { .. } | Plan::ChildrenFirst { .. } | Plan::AtTheEnd => {
                    self.wrong.push(format!("life {} was killed by somebody else", self.life));
                }
            },
            None if status.success() => {}
            _ => {
                let said = std::fs::read_to_string(self.world.directory().join("stderr"))?;
                self.wrong.push(format!("life {} ended with {status}: {said}", self.life));
            }
        }
        Ok(())
    }

    fn spawn(&self, plan: &Plan) -> Result<Child, Failure> {
        let lanes = RunScript::of(self.seed, self.run, self.commands)?.lanes.len();
        let point = match plan {
            Plan::At { place, times, wait_us } => Some(format!("{place}:{times}:{wait_us}")),
            Plan::Later { .. }
            | Plan::ChildrenFirst { .. }
            | Plan::InCall { .. }
            | Plan::AtTheEnd => None,
        };
        let orders = Orders {
            world: self.world.directory().to_owned(),
            seed: self.seed,
            commands: self.commands,
            driver: self.driver,
            life: self.life,
            run: self.run,
            end: if *plan == Plan::AtTheEnd { End::AfterRun } else { End::Killed },
            heard: (0..lanes).map(|lane| self.heard.count(self.run, lane)).collect(),
            point,
        };
        let errors = File::create(self.world.directory().join("stderr"))?;
        let mut command = match plan {
            Plan::InCall { call, times } => tracer(*call, *times, &self.world)?,
            Plan::At { .. } | Plan::Later { .. } | Plan::ChildrenFirst { .. } | Plan::AtTheEnd => {
                Command::new(std::env::current_exe()?)
            }
        };
        command.args(orders.to_args()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        Ok(command.spawn()?)
    }

    /// Hears what a worker says until it is dead, which comes as planned. Returns whether it was killed from here.
    fn listen(
        &mut self,
        plan: &Plan,
        worker: &mut Child,
        output: ChildStdout,
    ) -> Result<bool, Failure> {
        let mut output = BufReader::new(output);
        let (mut lines, mut is_killed, mut are_children_killed) = (0, false, false);
        let mut line = String::new();
        loop {
            if let Plan::ChildrenFirst { lines: from, wait_us } = plan
                && !are_children_killed
                && lines >= *from
            {
                wait(*wait_us);
                let killed = children::kill_descendants(worker.id())?;
                self.counts.add_many("processes of commands killed", killed);
                are_children_killed = true;
            }
            if !is_killed && let Some(wait_us) = due(plan, lines) {
                wait(wait_us);
                if let Plan::InCall { .. } = plan {
                    // The tracer ends with it.
                    children::kill_descendants(worker.id())?;
                } else {
                    worker.kill()?;
                }
                is_killed = true;
            }
            line.clear();
            if output.read_line(&mut line)? == 0 {
                return Ok(is_killed);
            }
            // A line that was cut says nothing.
            if let Some(whole) = line.strip_suffix('\n') {
                lines += u64::from(self.hear(Said::parse(whole)?));
            }
        }
    }

    /// Takes note of a line. Returns whether it says anything new.
    fn hear(&mut self, said: Said) -> bool {
        match said {
            Said::Ready { in_doubt, settled, temporaries } => {
                self.counts.add_many("in doubt after a recovery", in_doubt);
                self.counts.add_many("settled by looking at files in a recovery", settled);
                if temporaries > 0 {
                    self.wrong.push(format!("{temporaries} temporaries after recovery"));
                }
            }
            Said::Ack(ack) => {
                let is_new = !ack.replayed;
                self.counts.add(if is_new { "calls acknowledged" } else { "calls recalled" });
                self.wrong.extend(self.heard.take(ack));
                return is_new;
            }
            Said::Settled { verdict, happened } => {
                let truth = if happened { "it had happened" } else { "it had not happened" };
                self.counts.add(&format!("answered IN_DOUBT, settled {verdict}: {truth}"));
            }
            Said::Done(run) => {
                self.counts.add("runs completed");
                self.run = run + 1;
            }
            Said::Struck { within } => {
                let place = if within { "within" } else { "just after" };
                self.counts.add(&format!("killed {place} what it was to be killed within"));
            }
            Said::Stuck(run) => {
                self.counts.add("runs given up after ten deaths without progress");
                self.given_up.insert(run);
                self.run = run + 1;
            }
        }
        true
    }

    fn audit(&mut self, extent: Extent) -> Result<(), Failure> {
        if !self.world.journal().exists() {
            return Ok(());
        }
        self.counts.add("audits");
        let given_up = |run: &u32| self.given_up.contains(run);
        let (mut so_far, whole): (Vec<u32>, Vec<u32>) = (1..self.run).partition(given_up);
        so_far.push(self.run);
        let mut audit = Audit {
            world: &self.world,
            seed: self.seed,
            commands: self.commands,
            heard: &self.heard,
            known: &mut self.known,
            counts: &mut self.counts,
            wrong: Vec::new(),
        };
        self.audits.block_on(async {
            audit.look(&whole, Extent::Whole).await?;
            audit.look(&so_far, Extent::SoFar).await?;
            audit.look_at_journal(extent).await?;
            // It changes the files that the others are about.
            if extent == Extent::Whole { audit.undo(&whole).await } else { Ok(()) }
        })?;
        audit.look_for_strays()?;
        self.wrong.append(&mut audit.wrong);
        Ok(())
    }
}

fn has_tracer() -> bool {
    let mut command = Command::new("strace");
    command.args(["-qq", "-o", "/dev/null", "true"]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

/// Returns the start of a command line under which a program dies in a system call.
fn tracer(call: DeadlyCall, times: u64, world: &World) -> Result<Command, Failure> {
    let name = call.name;
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    command.arg("-e").arg(format!("trace={name}"));
    command.arg("-e").arg(format!("inject={name}:signal=KILL:when={times}"));
    if let Some(file) = call.file {
        command.arg("-P").arg(world.directory().join(file));
    }
    command.arg(std::env::current_exe()?);
    Ok(command)
}

/// Returns how long to wait before the worker is killed, if it has said enough.
fn due(plan: &Plan, lines: u64) -> Option<u64> {
    match plan {
        Plan::Later { lines: from, wait_us } => (lines >= *from).then_some(*wait_us),
        Plan::ChildrenFirst { lines: from, wait_us } => (lines >= from + 3).then_some(*wait_us),
        Plan::At { .. } | Plan::InCall { .. } => (lines >= LINES_MAX).then_some(0),
        Plan::AtTheEnd => None,
    }
}

/// Waits for a time that is too short to sleep.
fn wait(wait_us: u64) {
    let end = Instant::now() + Duration::from_micros(wait_us);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
