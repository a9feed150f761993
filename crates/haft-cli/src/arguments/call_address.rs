//! A call as it is typed: `run/node/iteration/attempt/seq`, or `run/5` for the fifth call of a run. The run has any of the
//! names that runs have.

use haft_contract::{AttemptAddress, CallAddress, RunId};
use haft_journal::Journal;

use super::latest::{self, RunArgument};
use crate::error::{CommandError, CommandErrorKind};
use haft_app::records::find_call_of_number;

/// Stands for the run while the rest of a name is read.
const ANY_RUN: &str = "run";

/// A call that a person named.
pub(crate) struct CallName {
    /// The name of its run.
    pub(crate) run: String,
    part: CallPart,
}

/// The call inside its run.
enum CallPart {
    /// The call of this number, from 1.
    Number(usize),
    /// The call at this address, in any run.
    Address(CallAddress),
}

impl CallName {
    /// Reads a name, and looks up nothing.
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        let Some((run, rest)) = text.split_once('/') else {
            return Err(unusable(text, "found 1 of 5 parts"));
        };
        let part = match rest.bytes().all(|byte| byte.is_ascii_digit()) && !rest.is_empty() {
            true => {
                let number = rest.parse().ok().filter(|number| *number > 0);
                CallPart::Number(number.ok_or_else(|| {
                    unusable(text, &format!("found call {rest}, and calls count from 1"))
                })?)
            }
            false => CallPart::Address(parse_parts(text, ANY_RUN, rest)?),
        };
        latest::check_run_name(run)?;
        Ok(Self { run: run.to_owned(), part })
    }

    /// Returns the call, and the run as the person named it.
    pub(crate) async fn find(
        &self,
        journal: &dyn Journal,
        root: impl FnOnce() -> Result<String, CommandError>,
    ) -> Result<(CallAddress, RunArgument), CommandError> {
        let named = latest::find_run(&self.run, journal, root).await?;
        let run = named.id();
        let call = match &self.part {
            CallPart::Address(CallAddress { scope, seq }) => {
                CallAddress { scope: AttemptAddress { run, ..scope.clone() }, seq: *seq }
            }
            CallPart::Number(number) => {
                let call = find_call_of_number(journal, &run, *number).await?;
                call.ok_or_else(|| {
                    CommandError::usage(format!("run {run} has no call {number}"))
                        .kind(CommandErrorKind::UnknownCall)
                        .hint(format!("haft show {run}"))
                })?
            }
        };
        Ok((call, named))
    }
}

/// Returns the call that a whole address spells.
pub(crate) fn parse(text: &str) -> Result<CallAddress, CommandError> {
    let (run, rest) = text.split_once('/').ok_or_else(|| unusable(text, "found 1 of 5 parts"))?;
    parse_parts(text, run, rest)
}

/// Returns the call of a run that the rest of its address spells.
fn parse_parts(text: &str, run: &str, rest: &str) -> Result<CallAddress, CommandError> {
    let parts: Vec<&str> = rest.split('/').collect();
    let [node, iteration, attempt, seq] = parts.as_slice() else {
        return Err(unusable(text, &format!("found {} of 5 parts", parts.len() + 1)));
    };
    let number = |name: &str, part: &str| {
        part.parse::<u32>().map_err(|_| unusable(text, &format!("found {name} {part:?}")))
    };
    let scope = AttemptAddress {
        run: RunId::parse(run).map_err(CommandError::usage)?,
        node: (*node).to_owned(),
        iteration: number("iteration", iteration)?,
        attempt: number("attempt", attempt)?,
    };
    let seq = number("seq", seq)?;
    if seq == 0 {
        return Err(unusable(text, "found seq 0, which counts from 1"));
    }
    Ok(CallAddress { scope: scope.validated().map_err(CommandError::usage)?, seq })
}

fn unusable(text: &str, why: &str) -> CommandError {
    CommandError::usage(format!(
        "call {text:?} is not valid: expected run/number, such as last/5, or run/node/iteration/attempt/seq, {why}"
    ))
    .hint("haft log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let call = parse("run_1/build:x/2/3/44").unwrap();
        assert_eq!(call.to_string(), "run_1/build:x/2/3/44");
        let named = CallName::parse("last~1/build:x/2/3/44").unwrap();
        assert_eq!(named.run, "last~1");
        assert!(matches!(CallName::parse("k7f/5").unwrap().part, CallPart::Number(5)));
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        let check = |text: &str, expect: &str| {
            let Err(err) = CallName::parse(text) else { panic!("{text} is a name") };
            assert!(err.message.contains(expect), "{text}: {}", err.message);
        };
        check("r1", "found 1 of 5 parts");
        check("r1/", "found 2 of 5 parts");
        check("r1/0", "found call 0");
        check("r1/main/0/1/1/", "found 6 of 5 parts");
        check("r1/main/x/1/1", "found iteration \"x\"");
        check("r1/main/0/-1/1", "found attempt \"-1\"");
        check("r1/main/0/0/1", "attempt \"0\" is not valid");
        check("r1/main/0/1/0", "found seq 0");
        check("/main/0/1/1", "run \"\" is not valid");
        check("last~x/5", "expected last~ and a number");
    }
}
