//! The surroundings of the processes of a simulated history: the engine that gives runs to machines and misses those that fall
//! silent, the person who settles calls in doubt, and the faults.

use haft_contract::{CallAddress, Envelope, EnvelopeMetadata};
use haft_journal::{Journal as _, JournalError, SettledBy, Settlement, SettlementVerdict};

use super::history::{ActivityReport, EngineState, FleetEvent, FleetHistory};
use super::machine::SKEW_MS_MAX;
use super::poll::answer_at_once;
use super::process::{ActivityEnding, NodeStanding, ProcessId, ProcessStep, RunProcess, scope_of};

/// Machines that share a workspace, and so the runs in it.
const MACHINES_PER_WORKSPACE: usize = 4;

/// Time without a sign of life after which the engine gives a run to another machine, in milliseconds.
const SILENCE_MS: u64 = 30_000;

/// Time until the engine tries again, in milliseconds.
const RETRY_MS: u64 = 3_000;

/// Time for a process to start, in milliseconds.
const START_MS: u64 = 200;

/// The mean time between two faults of one machine, in milliseconds.
const FAULT_MS: u64 = 120_000;

/// Of all runs, the share in percent after whose end nothing breaks any more.
const CALM_PERCENT: usize = 95;

/// One call in doubt out of so many is never settled.
const UNSETTLED_ONE_IN: u64 = 200;

/// One person out of so many settles without finding out whether the process still acts.
const CARELESS_ONE_IN: u64 = 10;

/// One settlement out of so many has the call repeated.
const REPEAT_ONE_IN: u64 = 10;

impl FleetHistory {
    /// Begins a run that was not begun, if there is one.
    pub(super) fn begin_next_run(&mut self) {
        let run = self.runs_begun;
        if let Some(of_run) = self.runs.get_mut(run) {
            of_run.state = EngineState::Running;
            self.runs_begun += 1;
            self.agenda.add_in(0, FleetEvent::Dispatch { run });
        }
    }

    /// Gives a run to a machine that has its workspace.
    pub(super) fn dispatch(&mut self, run: usize) {
        let of_run = &self.runs[run];
        if of_run.state != EngineState::Running || of_run.current.is_some() {
            return;
        }
        let now_ms = self.agenda.now_ms();
        let workspaces = self.machines.len().div_ceil(MACHINES_PER_WORKSPACE);
        let first = (run % workspaces) * MACHINES_PER_WORKSPACE;
        let last = (first + MACHINES_PER_WORKSPACE).min(self.machines.len());
        let able: Vec<usize> =
            (first..last).filter(|machine| !self.machines[*machine].is_silent(now_ms)).collect();
        if able.is_empty() {
            return self.agenda.add_in(RETRY_MS, FleetEvent::Dispatch { run });
        }
        let machine = self.random.choose(&able);
        self.processes_started += 1;
        let id = self.processes_started;
        let of_run = &mut self.runs[run];
        of_run.current = Some(id);
        let process = RunProcess::new(id, machine, (run, of_run.id.clone()), of_run.nodes);
        self.processes.insert(id, process);
        self.agenda.add_in(START_MS, FleetEvent::Step { process: id, step: ProcessStep::Open });
    }

    /// Hears how a process ended. An end of a process that was given up changes nothing.
    pub(super) fn hear(&mut self, report: ActivityReport) -> Result<(), String> {
        let ActivityReport { process, run, machine, kills, ending } = report;
        let (now_ms, of_machine) = (self.agenda.now_ms(), &self.machines[machine]);
        if of_machine.kills != kills {
            // The machine died before it said so.
            let silence = FleetEvent::Silence { process, run, machine };
            self.agenda.add_in(SILENCE_MS, silence);
            return Ok(());
        }
        let back_ms = of_machine.engine_back_ms.max(of_machine.paused_until_ms);
        if back_ms > now_ms {
            let report = ActivityReport { process, run, machine, kills, ending };
            self.agenda.add_at(back_ms, FleetEvent::Report(report));
            return Ok(());
        }
        if self.runs[run].current != Some(process) {
            return Ok(());
        }
        self.runs[run].current = None;
        match ending {
            ActivityEnding::Finished => {
                self.runs[run].state = EngineState::Finished;
                self.counts.runs += 1;
                self.end_run();
            }
            ActivityEnding::InDoubt(doubts) => {
                self.runs[run].state = EngineState::InDoubt(doubts);
                if self.random.one_in(UNSETTLED_ONE_IN) {
                    self.counts.waiting += 1;
                    self.end_run();
                } else {
                    let delay_ms = 10_000 + self.random.below(600_000);
                    self.agenda.add_in(delay_ms, FleetEvent::Settle { run });
                }
            }
            ActivityEnding::TryAgain => {
                self.agenda.add_in(RETRY_MS, FleetEvent::Dispatch { run });
            }
            ActivityEnding::Stuck => {
                // A person wants the run resumed all the same.
                answer_at_once(self.journal.count_progress(&self.runs[run].id))
                    .map_err(|err| err.to_string())?;
                self.agenda.add_in(RETRY_MS, FleetEvent::Dispatch { run });
            }
        }
        Ok(())
    }

    fn end_run(&mut self) {
        self.runs_over += 1;
        self.begin_next_run();
    }

    /// Gives a run to another machine if its process is dead, or its machine silent.
    pub(super) fn miss(&mut self, process: ProcessId, run: usize, machine: usize) {
        let is_silent = self.machines[machine].is_silent(self.agenda.now_ms());
        let is_missing = !self.processes.contains_key(&process) || is_silent;
        if self.runs[run].current == Some(process) && is_missing {
            self.runs[run].current = None;
            self.agenda.add_in(0, FleetEvent::Dispatch { run });
        }
    }

    /// A person settles the calls in doubt of a run, which is then resumed.
    pub(super) fn settle(&mut self, run: usize) -> Result<(), String> {
        let EngineState::InDoubt(doubts) = self.runs[run].state.clone() else { return Ok(()) };
        if !self.random.one_in(CARELESS_ONE_IN)
            && doubts.iter().any(|doubt| self.may_act(run, *doubt))
        {
            // The person waits until the process cannot act any more.
            self.agenda.add_in(SILENCE_MS, FleetEvent::Settle { run });
            return Ok(());
        }
        for (node, seq) in doubts {
            let has_happened = self.truth.run(run).nodes[node].acts() > 0;
            let verdict = match has_happened {
                _ if self.random.one_in(REPEAT_ONE_IN) => SettlementVerdict::Retry,
                true => SettlementVerdict::Happened,
                false => SettlementVerdict::NotHappened,
            };
            let call = CallAddress { scope: scope_of(&self.runs[run].id, node), seq };
            let envelope =
                Envelope::Output { data: "settled".into(), metadata: EnvelopeMetadata::default() };
            let settlement = Settlement {
                call,
                verdict,
                by: SettledBy::Operator,
                envelope,
                settled_at_ms: self.agenda.now_ms(),
            };
            // Before the settlement is applied, nothing else happens.
            self.store.set_writer(None);
            match answer_at_once(self.journal.resolve(settlement)) {
                Ok(_) => {}
                Err(err @ JournalError::NotInDoubt { .. }) => {
                    return Err(format!("a call that was answered as in doubt is not: {err}"));
                }
                Err(err) => return Err(err.to_string()),
            }
            self.truth.settle((run, node, seq), verdict);
            self.counts.settled += 1;
        }
        self.runs[run].state = EngineState::Running;
        self.agenda.add_in(RETRY_MS, FleetEvent::Dispatch { run });
        Ok(())
    }

    /// Returns whether a process that lives may still execute a call, or receive the permission to.
    fn may_act(&self, run: usize, (node, seq): (usize, u32)) -> bool {
        self.processes
            .values()
            .any(|process| process.run == run && process.nodes[node] == NodeStanding::UnderWay(seq))
    }

    /// Breaks something, and says when the next thing breaks.
    pub(super) fn strike(&mut self) {
        if self.runs_over * 100 >= self.runs.len() * CALM_PERCENT {
            return;
        }
        let machines = self.machines.len() as u64;
        self.agenda.add_in(self.random.below(2 * FAULT_MS / machines) + 1, FleetEvent::Fault);
        let machine = usize::try_from(self.random.below(machines)).unwrap_or_default();
        let now_ms = self.agenda.now_ms();
        let fault = self.random.below(8);
        match fault {
            0 => self.kill_machine(machine),
            1 => self.kill_process(machine),
            2 | 3 => {
                self.counts.pauses += 1;
                self.machines[machine].paused_until_ms = now_ms + self.random.below(120_000);
            }
            4 | 5 => {
                self.counts.partitions += 1;
                let back_ms = now_ms + self.random.below(90_000);
                let is_whole = self.random.one_in(3);
                let of_machine = &mut self.machines[machine];
                if fault == 4 || is_whole {
                    of_machine.journal_back_ms = back_ms;
                }
                if fault == 5 || is_whole {
                    of_machine.engine_back_ms = back_ms;
                }
            }
            6 => {
                self.counts.clocks += 1;
                let distance = self.random.below(SKEW_MS_MAX).cast_signed();
                let is_ahead = self.random.one_in(2);
                self.machines[machine].skew_ms = if is_ahead { distance } else { -distance };
            }
            // The journal's own server stands still for all.
            _ if self.random.one_in(machines) => {
                let back_ms = now_ms + self.random.below(15_000);
                for of_machine in &mut self.machines {
                    of_machine.journal_back_ms = of_machine.journal_back_ms.max(back_ms);
                }
            }
            _ => self.machines[machine].skew_ms = self.random.below(5_000).cast_signed(),
        }
        self.expect_silence(machine);
    }

    fn kill_machine(&mut self, machine: usize) {
        self.counts.kills += 1;
        self.expect_silence(machine);
        self.processes.retain(|_, process| process.machine != machine);
        let of_machine = &mut self.machines[machine];
        of_machine.is_up = false;
        of_machine.kills += 1;
        let down_ms = 5_000 + self.random.below(120_000);
        self.agenda.add_in(down_ms, FleetEvent::Boot { machine });
    }

    /// Kills one process of a machine. Its worker lives and says so.
    fn kill_process(&mut self, machine: usize) {
        let on_it = self.processes.values().filter(|process| process.machine == machine);
        let on_it: Vec<ProcessId> = on_it.map(|process| process.id).collect();
        if on_it.is_empty() {
            return;
        }
        let id = self.random.choose(&on_it);
        if let Some(process) = self.processes.remove(&id) {
            self.counts.kills += 1;
            self.report(&process, ActivityEnding::TryAgain);
        }
    }

    /// Lets the engine look after the processes of a machine that may have fallen silent.
    fn expect_silence(&mut self, machine: usize) {
        let on_it = self.processes.values().filter(|process| process.machine == machine);
        let on_it: Vec<(ProcessId, usize)> = on_it.map(|it| (it.id, it.run)).collect();
        for (process, run) in on_it {
            let silence = FleetEvent::Silence { process, run, machine };
            self.agenda.add_in(SILENCE_MS, silence);
        }
    }

    /// Tells the engine how a process ended.
    pub(super) fn report(&mut self, process: &RunProcess, ending: ActivityEnding) {
        let kills = self.machines[process.machine].kills;
        let (run, machine) = (process.run, process.machine);
        let report = ActivityReport { process: process.id, run, machine, kills, ending };
        self.agenda.add_in(1 + self.random.below(500), FleetEvent::Report(report));
    }
}
