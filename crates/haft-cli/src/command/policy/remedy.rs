//! What would change a refusal that no rule decided: which setting, or that there is none. What a rule decided says so
//! itself. The texts of the runtime tell apart what shares a code.

use haft_contract::ErrorCode;

/// Returns what would change the refusal.
pub(super) fn of_refusal(code: ErrorCode, message: &str) -> Option<String> {
    match code {
        ErrorCode::NetworkDisabled | ErrorCode::GitRemoteDisabled => Some(
            "--allow-host HOST grants hosts and takes the list of names away; network_guard = \"kernel\" in haft.toml, or \
             --network-guard kernel, takes it away alone"
                .to_owned(),
        ),
        ErrorCode::PathEscape => {
            Some("a directory under roots in haft.toml, or another --root".to_owned())
        }
        ErrorCode::WatchdogDenied => Some(
            "the watchdog: a program under watchdogs in haft.toml, or the built-in one, which reference_watchdog = false \
             switches off"
                .to_owned(),
        ),
        ErrorCode::CapabilityDenied => Some(of_capability(message)),
        _ => None,
    }
}

fn of_capability(message: &str) -> String {
    let protection = message.split_once(" is protected by ").map(|(_, rest)| rest);
    let pattern = protection.and_then(|rest| rest.strip_prefix('"')?.split_once('"'));
    match pattern {
        Some((pattern, _)) => {
            format!(
                "unprotect = [{pattern:?}] under [sandbox] in haft.toml, for whoever may change it"
            )
        }
        None if message.contains("haft's own state") => {
            "nothing: no setting shows credentials and haft's own state to a call".to_owned()
        }
        None => "more under requires in haft.toml".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[test]
    fn what_shares_a_code_is_told_apart() {
        let check = |message: &str, expect: Expect| {
            let found = of_refusal(ErrorCode::CapabilityDenied, message);
            expect.assert_eq(&found.unwrap_or_default());
        };
        check(
            ".git/config is protected by \".git/config\", because others obey it",
            expect![[
                r#"unprotect = [".git/config"] under [sandbox] in haft.toml, for whoever may change it"#
            ]],
        );
        check(
            "a holds credentials or haft's own state, which no call reads",
            expect!["nothing: no setting shows credentials and haft's own state to a call"],
        );
        check(
            "net.fetch of x is outside hosts []; stay inside, or grant more under requires",
            expect!["more under requires in haft.toml"],
        );
        assert_eq!(of_refusal(ErrorCode::PermissionDenied, "a rule decides"), None);
    }
}
