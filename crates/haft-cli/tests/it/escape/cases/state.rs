//! Attempts at haft's own state: the journal, what was trusted, rules of projects, outputs of other sessions, and the
//! manifest; and attempts to use haft itself.

use crate::escape::case::Configuration::NoKernel;
use crate::escape::case::Control::{Bare, Unsafe};
use crate::escape::case::{Case, bash, python, tool};

const TABLE: &str = "import sqlite3\ndb = sqlite3.connect('{state}/journal.sqlite', timeout=5)\ndb.execute('create table got' + 'out_table (x)')\ndb.commit()\ndb.close()";

pub(super) const CASES: &[Case] = &[
    tool("read the journal", "read", r#"{"path": "{state}/journal.sqlite"}"#, "head -c 6 {state}/journal.sqlite | grep -q SQLite && printf got%s out"),
    tool("read the journal through a link", "read", r#"{"path": "{name}/link"}"#, "head -c 6 link | grep -q SQLite && printf got%s out")
        .prepared("ln -s {state}/journal.sqlite link"),
    tool("read another session's output", "read", r#"{"path": "{state}/sessions/another/1-bash.txt"}"#, "cat {state}/sessions/another/1-bash.txt"),
    tool("read another session's output with ..", "read", r#"{"path": "../state/sessions/another/1-bash.txt"}"#, "cat {state}/sessions/another/1-bash.txt"),
    tool("write a rule for the project", "write", r#"{"path": "{state}/projects/mine.toml", "content": "x"}"#, "echo x > {state}/projects/mine.toml"),
    tool("write a record of trust", "write", r#"{"path": "{state}/trust/x", "content": "x"}"#, "mkdir -p {state}/trust; echo x > {state}/trust/x"),
    tool("write a manifest", "write", r#"{"path": "{name}/haft.toml", "content": "preset = \"full\""}"#, "echo x > haft.toml")
        .guarding(&["haft.toml"]),
    tool("write a manifest in capitals", "write", r#"{"path": "{name}/HAFT.TOML", "content": "preset = \"full\""}"#, "echo x > HAFT.TOML")
        .guarding(&["HAFT.TOML"]),
    tool("edit the manifest", "edit", r#"{"path": "{base}/haft.toml", "old_string": "preset", "new_string": "x"}"#, "grep preset {base}/haft.toml && printf got%s out"),
    bash("read the journal by a command", "strings -n 3 {state}/journal.sqlite | grep -qi sqlite && printf got%s out"),
    bash("remove the journal", "exec 3>> {state}/journal.sqlite && printf got%s out"),
    python("change the journal", TABLE).control(Unsafe),
    python("change the journal through haft's root", "import sqlite3\ndb = sqlite3.connect('/proc/{haft}/root{state}/journal.sqlite')\ndb.execute('create table got' + 'out_table (x)')\ndb.commit()").control(Unsafe),
    python("open the journal", "os.open('{state}/journal.sqlite', os.O_RDWR)\nout()"),
    bash("a hard link to the journal", "ln {state}/journal.sqlite mine && printf got%s out"),
    bash("a lock on the journal", "flock -n {state}/journal.sqlite true && printf got%s out")
        .open(&[NoKernel]),
    bash("the state listed", "ls {state}/sessions {state}/projects && printf got%s out"),
    bash("another session's output", "cat {state}/sessions/*/*")
        .open(&[NoKernel]),
    bash("quarantined files", "cat {state}/quarantine/earlier/secret"),
    bash("something put into the quarantine", "echo x > {state}/quarantine/earlier/new"),
    bash("a record of trust", "mkdir -p {state}/trust; echo x > {state}/trust/x"),
    bash("rules of a project", "echo x > {state}/projects/mine.toml"),
    bash("a manifest by a command", "echo 'preset = \"full\"' > haft.toml").guarding(&["haft.toml"]),
    bash("a manifest moved in place", "echo 'preset = \"full\"' > other; mv other haft.toml").guarding(&["haft.toml"]),
    bash("a manifest that is there", "echo 'preset = \"full\"' > haft.toml")
        .prepared("echo '# mine' > haft.toml")
        .guarding(&["haft.toml"]),
    bash("the manifest that holds", "test -s {base}/haft.toml && echo 'x' >> {base}/haft.toml && sed -i '$d' {base}/haft.toml && printf got%s out").control(Bare("test -w {base}/haft.toml && printf got%s out")),
    bash("haft without a sandbox, from within", "HAFT_STATE_DIR=$PWD/s HOME={home} {program} --unsafe-no-sandbox --preset full call bash '{\"cmd\": \"cat {outside}/secret\"}'")
        .open(&[NoKernel]),
    bash("haft trusts, from within", "cd {case} && echo '# mine' > x.toml && HAFT_STATE_DIR={state} HAFT_CONFIG=$PWD/x.toml {program} trust && printf got%s out").control(Unsafe),
    bash("the program replaced", "ln {program} twin && printf got%s out"),
    bash("the helper called directly", "{program} __haft-sandbox-helper < /dev/null; cat {outside}/secret"),
];
