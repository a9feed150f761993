//! A call as it is typed: `run/node/iteration/attempt/seq`.

use haft_contract::{AttemptAddress, CallAddress, RunId};

use crate::error::CommandError;

/// Returns the call that a name spells.
pub(crate) fn parse(text: &str) -> Result<CallAddress, CommandError> {
    let unusable = |why: &str| {
        CommandError::usage(format!(
            "call {text:?} is not valid: expected run/node/iteration/attempt/seq, {why}"
        ))
        .hint("haft runs list")
    };
    let parts: Vec<&str> = text.split('/').collect();
    let [run, node, iteration, attempt, seq] = parts.as_slice() else {
        return Err(unusable(&format!("found {} of 5 parts", parts.len())));
    };
    let number = |name: &str, part: &str| {
        part.parse::<u32>().map_err(|_| unusable(&format!("found {name} {part:?}")))
    };
    let scope = AttemptAddress {
        run: RunId::parse(run).map_err(CommandError::usage)?,
        node: (*node).to_owned(),
        iteration: number("iteration", iteration)?,
        attempt: number("attempt", attempt)?,
    };
    let seq = number("seq", seq)?;
    if seq == 0 {
        return Err(unusable("found seq 0, which counts from 1"));
    }
    Ok(CallAddress { scope: scope.validated().map_err(CommandError::usage)?, seq })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let call = parse("run_1/build:x/2/3/44").unwrap();
        assert_eq!(call.to_string(), "run_1/build:x/2/3/44");
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        let check = |text: &str, expect: &str| {
            let err = parse(text).unwrap_err();
            assert!(err.message.contains(expect), "{text}: {}", err.message);
        };
        check("r1", "found 1 of 5 parts");
        check("r1/main/0/1/1/", "found 6 of 5 parts");
        check("r1/main/x/1/1", "found iteration \"x\"");
        check("r1/main/0/-1/1", "found attempt \"-1\"");
        check("r1/main/0/0/1", "attempt \"0\" is not valid");
        check("r1/main/0/1/0", "found seq 0");
        check("/main/0/1/1", "run \"\" is not valid");
    }
}
