//! Decides what the end of a `haft` process means for the activity: a result, a failure, or another try. This file is pure: it
//! takes the exit status and the JSON that haft printed.

use std::time::Duration;

use serde_json::Value;

use crate::request::{ANSWER_OUTPUT_BYTES_MAX, DoubtfulCall, RunAnswer, RunFailure};

/// The type of the failure that waits for a settlement.
pub(crate) const IN_DOUBT: &str = "IN_DOUBT";

/// The exit status of a call that may have happened.
const STATUS_IN_DOUBT: i32 = 4;

/// Time until a run is tried again that another process owns, or whose journal does not answer.
const RETRY_DELAY: Duration = Duration::from_secs(3);

/// The longest message of a failure, in bytes.
const MESSAGE_BYTES_MAX: usize = 8_000;

/// Calls in doubt that a failure lists.
const DOUBTS_MAX: usize = 100;

/// The exit status and the output of a `haft` process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HaftOutput {
    /// The exit status, unless a signal ended the process.
    pub(crate) code: Option<i32>,
    /// The last line of JSON with `"event":"result"`.
    pub(crate) result: Option<Value>,
    /// The last line of JSON with `"type":"failure"`.
    pub(crate) failure: Option<Value>,
    /// The end of standard error.
    pub(crate) stderr: String,
    /// Whether the process was asked to stop.
    pub(crate) was_stopped: bool,
}

/// The meaning of a `haft` process that ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RunEnding {
    /// The run came to its output.
    Finished(RunAnswer),
    /// The run failed, or a call is in doubt. Another try would end in the same way.
    Failed(RunFailure),
    /// Another try may get further.
    TryAgain {
        /// The reason.
        failure: RunFailure,
        /// When.
        delay: Duration,
    },
    /// The process was asked to stop and did. The run can be resumed.
    Stopped,
}

impl HaftOutput {
    /// Returns the stable word of the failure that haft printed.
    pub(crate) fn failure_status(&self) -> Option<&str> {
        self.failure.as_ref()?.get("status")?.as_str()
    }

    /// Returns whether the journal does not have the plan of the run, so that the run is to be begun.
    pub(crate) fn has_no_plan(&self) -> bool {
        self.result.is_none() && matches!(self.failure_status(), Some("unknown_run" | "usage"))
    }

    /// Returns what the end of the process means for the run.
    pub(crate) fn ending(&self, run: &str, workspace: &str, worker: &str) -> RunEnding {
        let Some(code) = self.code else {
            return self.try_again("KILLED", "haft was killed");
        };
        if code == 0 {
            return RunEnding::Finished(self.answer(run, workspace, worker));
        }
        if code == STATUS_IN_DOUBT {
            return RunEnding::Failed(self.failed(IN_DOUBT, code));
        }
        if self.was_stopped && matches!(self.plan_ending(), None | Some("stopped" | "aborted")) {
            return RunEnding::Stopped;
        }
        match self.failure_status() {
            Some(
                status @ ("held" | "fenced" | "journal" | "journal_locked" | "journal_unreachable"),
            ) => self.try_again(&status.to_uppercase(), "the run cannot be driven now"),
            Some("stuck") => RunEnding::Failed(self.failed("STUCK", code)),
            Some("diverged") => RunEnding::Failed(self.failed("DIVERGED", code)),
            _ => RunEnding::Failed(self.failed(kind_of(code), code)),
        }
    }

    fn answer(&self, run: &str, workspace: &str, worker: &str) -> RunAnswer {
        let trace = self.result.as_ref().and_then(|result| result.get("trace"));
        let output = trace.and_then(|trace| trace.get("final_output")).cloned();
        let fits = |output: &Value| output.to_string().len() <= ANSWER_OUTPUT_BYTES_MAX;
        let output_omitted = !output.as_ref().is_some_and(fits);
        let nodes = trace.and_then(|trace| trace.get("nodes")?.as_array());
        let succeeded =
            |node: &&Value| node.get("status").and_then(Value::as_str) == Some("succeeded");
        let count = |nodes: &Vec<Value>| nodes.iter().filter(succeeded).count();
        RunAnswer {
            run: run.to_owned(),
            output: output.filter(|_| !output_omitted),
            output_omitted,
            nodes_succeeded: nodes.map_or(0, |nodes| count(nodes) as u64),
            nodes: nodes.map_or(0, |nodes| nodes.len() as u64),
            workspace: workspace.to_owned(),
            worker: worker.to_owned(),
        }
    }

    fn plan_ending(&self) -> Option<&str> {
        self.result.as_ref()?.get("trace")?.get("ending")?.as_str()
    }

    fn try_again(&self, kind: &str, otherwise: &str) -> RunEnding {
        let failure = RunFailure {
            kind: kind.to_owned(),
            status: self.code.unwrap_or_default(),
            message: self.message(otherwise),
            doubts: Vec::new(),
        };
        RunEnding::TryAgain { failure, delay: RETRY_DELAY }
    }

    fn failed(&self, kind: &str, status: i32) -> RunFailure {
        let doubts = self.result.as_ref().and_then(|result| result.get("doubts")?.as_array());
        let doubts = doubts.into_iter().flatten().take(DOUBTS_MAX).map(|doubt| DoubtfulCall {
            call: doubt.get("call").and_then(Value::as_str).map(str::to_owned),
            text: doubt.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        });
        RunFailure {
            kind: kind.to_owned(),
            status,
            doubts: doubts.collect(),
            message: self.message("haft said nothing"),
        }
    }

    /// Returns what haft said: the failure of a command, or else the end of standard error.
    fn message(&self, otherwise: &str) -> String {
        let failure = self.failure.as_ref().and_then(|failure| failure.get("message")?.as_str());
        let said = failure.unwrap_or(self.stderr.trim());
        let said = if said.is_empty() { otherwise } else { said };
        let end = said.floor_char_boundary(MESSAGE_BYTES_MAX);
        said.get(..end).unwrap_or_default().to_owned()
    }
}

/// Returns the stable word for an exit status of haft.
fn kind_of(code: i32) -> &'static str {
    match code {
        1 => "FAILED",
        2 => "USAGE",
        3 => "REFUSED",
        70 => "BUG",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ending(output: HaftOutput) -> RunEnding {
        output.ending("r", "/w", "host")
    }

    fn kind(output: HaftOutput) -> (String, bool) {
        match ending(output) {
            RunEnding::Finished(_) => ("finished".to_owned(), false),
            RunEnding::Failed(failure) => (failure.kind, false),
            RunEnding::TryAgain { failure, .. } => (failure.kind, true),
            RunEnding::Stopped => ("stopped".to_owned(), false),
        }
    }

    fn failure(code: i32, status: &str) -> HaftOutput {
        let failure = json!({"type": "failure", "status": status, "message": "because"});
        HaftOutput { code: Some(code), failure: Some(failure), ..HaftOutput::default() }
    }

    fn result(code: i32, ending: &str, was_stopped: bool) -> HaftOutput {
        let result = json!({"event": "result", "trace": {"ending": ending, "nodes": []}});
        HaftOutput { code: Some(code), result: Some(result), was_stopped, ..HaftOutput::default() }
    }

    #[test]
    fn each_exit_status_has_one_meaning() {
        let check = |output: HaftOutput, expect: (&str, bool)| {
            assert_eq!(kind(output), (expect.0.to_owned(), expect.1));
        };
        check(result(0, "finished", false), ("finished", false));
        check(result(0, "finished", true), ("finished", false));
        check(result(1, "halted", false), ("FAILED", false));
        check(result(1, "halted", true), ("FAILED", false));
        check(result(1, "stopped", true), ("stopped", false));
        check(result(1, "aborted", true), ("stopped", false));
        check(result(3, "halted", false), ("REFUSED", false));
        check(result(4, "in_doubt", false), ("IN_DOUBT", false));
        check(result(4, "in_doubt", true), ("IN_DOUBT", false));
        check(failure(1, "held"), ("HELD", true));
        check(failure(1, "fenced"), ("FENCED", true));
        check(failure(1, "journal_locked"), ("JOURNAL_LOCKED", true));
        check(failure(2, "journal_unreachable"), ("JOURNAL_UNREACHABLE", true));
        check(failure(1, "stuck"), ("STUCK", false));
        check(failure(2, "diverged"), ("DIVERGED", false));
        check(failure(2, "usage"), ("USAGE", false));
        check(failure(70, "failed"), ("BUG", false));
        check(HaftOutput::default(), ("KILLED", true));
    }

    #[test]
    fn a_run_is_begun_if_the_journal_has_no_plan_of_it() {
        let check = |output: HaftOutput, expect: bool| assert_eq!(output.has_no_plan(), expect);
        check(failure(2, "unknown_run"), true);
        check(failure(2, "usage"), true);
        check(failure(1, "held"), false);
        check(failure(2, "journal_unreachable"), false);
        check(result(4, "in_doubt", false), false);
        check(HaftOutput::default(), false);
    }

    #[test]
    fn an_answer_has_the_output_unless_it_is_too_long() {
        let nodes = json!([{"status": "succeeded"}, {"status": "failed"}]);
        let answer = |output: Value| {
            let trace = json!({"ending": "finished", "final_output": output, "nodes": nodes});
            let result = Some(json!({"event": "result", "trace": trace}));
            match ending(HaftOutput { code: Some(0), result, ..HaftOutput::default() }) {
                RunEnding::Finished(answer) => answer,
                other => panic!("{other:?}"),
            }
        };
        let expect = RunAnswer {
            run: "r".to_owned(),
            output: Some(json!("ok")),
            output_omitted: false,
            nodes_succeeded: 1,
            nodes: 2,
            workspace: "/w".to_owned(),
            worker: "host".to_owned(),
        };
        assert_eq!(answer(json!("ok")), expect);
        // The quotes count.
        assert!(!answer(json!("x".repeat(ANSWER_OUTPUT_BYTES_MAX - 2))).output_omitted);
        let long = answer(json!("x".repeat(ANSWER_OUTPUT_BYTES_MAX - 1)));
        assert_eq!((long.output, long.output_omitted), (None, true));
    }

    #[test]
    fn doubts_and_messages_come_from_haft() {
        let doubts = json!([{"node": 3, "call": "r/n3/0/1/1", "text": "may have happened"}]);
        let output = HaftOutput {
            code: Some(4),
            result: Some(
                json!({"event": "result", "trace": {"ending": "in_doubt"}, "doubts": doubts}),
            ),
            stderr: "error: run r stopped\n".to_owned(),
            ..HaftOutput::default()
        };
        let expect = RunFailure {
            kind: "IN_DOUBT".to_owned(),
            status: 4,
            message: "error: run r stopped".to_owned(),
            doubts: vec![DoubtfulCall {
                call: Some("r/n3/0/1/1".to_owned()),
                text: "may have happened".to_owned(),
            }],
        };
        assert_eq!(ending(output), RunEnding::Failed(expect));
    }
}
