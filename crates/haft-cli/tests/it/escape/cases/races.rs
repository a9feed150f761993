//! Attempts to get out between a check and the use of the checked path: a process outside keeps exchanging a directory for a
//! link while a tool is called many times.

use crate::escape::case::Control::Bare;
use crate::escape::case::{Case, bash, race};

pub(super) const CASES: &[Case] = &[
    race(
        "read while a directory is exchanged",
        "read",
        r#"{"path": "{name}/swap/secret"}"#,
        "for try in {1..200}; do cat swap/secret; done",
    ),
    race(
        "write while a directory is exchanged",
        "write",
        r#"{"path": "{name}/swap/victim", "content": "changed"}"#,
        "for try in {1..1000}; do echo changed > swap/victim; done",
    ),
    race(
        "write something new while a directory is exchanged",
        "write",
        r#"{"path": "{name}/swap/new", "content": "made"}"#,
        "for try in {1..1000}; do echo made > swap/new; done",
    ),
    race(
        "edit while a directory is exchanged",
        "edit",
        r#"{"path": "{name}/swap/victim", "old_string": "e", "new_string": "ee"}"#,
        "for try in {1..200}; do sed -i s/e/ee/ swap/victim; done",
    ),
    race(
        "patch while a directory is exchanged",
        "apply_patch",
        r#"{"patch": "--- a/{name}/swap/victim\n+++ b/{name}/swap/victim\n@@ -1 +1,2 @@\n inside\n+more\n"}"#,
        "for try in {1..1000}; do echo more >> swap/victim; done",
    ),
    race(
        "search while a directory is exchanged",
        "grep",
        r#"{"pattern": "nobody|inside", "path": "{name}/swap"}"#,
        "for try in {1..200}; do grep -rE 'nobody|inside' swap/; done",
    ),
    race(
        "list while a directory is exchanged",
        "glob",
        r#"{"pattern": "**/*", "path": "{name}/swap"}"#,
        "for try in {1..200}; do ls swap/deep >/dev/null 2>&1 && printf got%s out; done",
    ),
    race(
        "run in a directory that is exchanged",
        "bash",
        r#"{"cmd": "cat secret", "opts": {"cwd": "{name}/swap"}}"#,
        "for try in {1..200}; do (cd swap && cat secret); done",
    ),
    bash(
        "exchange directories from within, and read",
        "mkdir a; echo inside > a/secret; for try in {1..300}; do ln -sfn {outside} a2; mv -T a2 b 2>/dev/null; cat b/secret a/secret 2>/dev/null; done",
    ),
    bash(
        "write after the call has ended",
        "(exec -a sleep sleep {alive}; echo late > {outside}/victim) > /dev/null 2>&1 & disown; exit 0",
    )
    .control(Bare(LATE)),
];

/// Ends when the process that it leaves behind executes `sleep`, because it can be told from others only then.
const LATE: &str = "(sleep {alive} & echo $! > begun; wait $! && echo late > {outside}/victim) > /dev/null 2>&1 & \
    until test -s begun; do :; done; until tr '\\0' '\\n' < /proc/$(cat begun)/cmdline | grep -qxF {alive}; do :; done";
