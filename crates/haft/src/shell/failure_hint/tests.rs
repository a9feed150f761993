use std::sync::LazyLock;

use expect_test::{Expect, expect};
use haft_contract::OutboundConnection;
use haft_sandbox::ProtectedPaths;

use super::*;
use crate::sandbox::ConfineMode;

const FULL: EnforcedConfinement = EnforcedConfinement {
    filesystem: ConfinementLevel::Kernel,
    network: ConfinementLevel::Kernel,
    processes: ConfinementLevel::Kernel,
    system_calls: ConfinementLevel::Kernel,
    resources: ConfinementLevel::Kernel,
};
const WITHOUT_NAMESPACES: EnforcedConfinement =
    EnforcedConfinement { processes: ConfinementLevel::Cooperative, ..FULL };

fn sandbox() -> Sandbox {
    Sandbox {
        hidden: vec!["/home/you/.ssh".into(), "/srv/app/.state".into()],
        protected: ProtectedPaths::builtin().with_patterns(["deploy/*.key"]).unwrap(),
        ..Sandbox::system()
    }
}

fn said(
    sandbox: &Sandbox,
    enforced: EnforcedConfinement,
    ending: ProcessEnding,
    output: &str,
) -> Option<String> {
    let output = Excerpt { head: output.to_owned(), ..Excerpt::default() };
    failed_status(ending)
        .and_then(|status| context(sandbox, enforced).failure_hint(status, &output))
}

fn context(sandbox: &Sandbox, enforced: EnforcedConfinement) -> CommandContext<'_> {
    static WRITABLE: LazyLock<[PathBuf; 2]> =
        LazyLock::new(|| ["/srv/app", "/srv/main/.git"].map(PathBuf::from));
    CommandContext {
        withheld: &[],
        denied: None,
        sandbox,
        writable: &*WRITABLE,
        directory: Path::new("/srv/app/sub"),
        enforced,
        command: "python3 -m fetch https://user@pypi.org/simple",
        has_hosts: false,
    }
}

fn check(output: &str, expect: Expect) {
    let said = said(&sandbox(), FULL, ProcessEnding::Exited(1), output);
    expect.assert_eq(said.as_deref().unwrap_or("nothing"));
}

#[test]
fn a_protected_name_is_said_to_be_one() {
    check(
        "error: could not write config file .git/config: Device or resource busy\nfatal: it failed",
        expect![[
            r#".git/config is protected, because others run or obey what it says: leave it, or tell the user what to change, or which pattern to list under unprotect of [sandbox] in haft.toml"#
        ]],
    );
    check(
        "cp: cannot create regular file '../deploy/live.key': Permission denied",
        expect![[
            r#"../deploy/live.key is protected by "deploy/*.key", because others run or obey what it says: leave it, or tell the user what to change, or which pattern to list under unprotect of [sandbox] in haft.toml"#
        ]],
    );
    check(
        "error: could not lock config file /srv/main/.git/config: Permission denied",
        expect![[
            r#"/srv/main/.git/config is protected by ".git/config", because others run or obey what it says: leave it, or tell the user what to change, or which pattern to list under unprotect of [sandbox] in haft.toml"#
        ]],
    );
}

#[test]
fn a_place_that_cannot_be_changed_is_named() {
    check(
        "OSError: [Errno 30] Read-only file system: '/usr/lib/x.so'",
        expect![
            "/usr/lib/x.so is outside of what commands can change, which is /srv/app, /srv/main/.git and, for the call alone, /tmp and home: work there, or ask the user to add a directory to roots in haft.toml"
        ],
    );
    check(
        "/bin/sh: 1: cannot create hooks/x: Read-only file system",
        expect![
            "commands can change only /srv/app, /srv/main/.git and, for the call alone, /tmp and home, and there neither protected names such as .git/config nor directories around those: do without, or ask the user to change roots, or unprotect of [sandbox], in haft.toml"
        ],
    );
    check(
        "cat: /home/you/.ssh/id: Permission denied",
        expect![
            "/home/you/.ssh/id holds credentials or haft's own state, which no command reads: work without it"
        ],
    );
    check(
        "ls: cannot open directory '/srv/other': Permission denied",
        expect![
            "/srv/other is outside of what commands see: work without it, or ask the user to add a directory to readable of [sandbox], or to roots, in haft.toml"
        ],
    );
    check(
        "cat: /srv/app/.state/journal: Permission denied",
        expect![
            "/srv/app/.state/journal holds credentials or haft's own state, which no command reads: work without it"
        ],
    );
}

#[test]
fn a_temporary_file_of_an_earlier_command_is_said_to_be_gone() {
    check(
        "cat: /tmp/a.txt: No such file or directory",
        expect![
            "/tmp/a.txt is not there: /tmp is empty at the start of every command, so keep files in the workspace"
        ],
    );
    check("cat: /srv/app/a.txt: No such file or directory", expect!["nothing"]);
}

#[test]
fn a_full_disk_is_named_by_the_file_that_was_written() {
    check(
        "cp: error writing '/srv/app/big': No space left on device",
        expect!["no space is left on the disk of /srv/app/big: free some there"],
    );
}

#[test]
fn nothing_is_guessed() {
    for output in [
        "",
        "3 tests failed",
        "bash: line 1: ./script.sh: Permission denied",
        "cat: /etc/sudoers: Permission denied",
        "mkdir: cannot create directory 'a/b': Permission denied",
        "chown: changing ownership of 'x': Operation not permitted",
        "touch: cannot touch '/tmp/x/y': Permission denied",
    ] {
        check(output, expect!["nothing"]);
    }
    check(
        "npm error request failed, reason: getaddrinfo EAI_AGAIN registry.example.org",
        expect![
            "commands have no network here: work offline, or tell the user that you need registry.example.org"
        ],
    );
    let refused = "Read-only file system: '/usr/x'";
    for ending in [ProcessEnding::Exited(0), ProcessEnding::TimedOut, ProcessEnding::Aborted] {
        assert_eq!(said(&sandbox(), FULL, ending, refused), None);
    }
    let off = Sandbox { confine: ConfineMode::UnsafeNever, ..sandbox() };
    assert_eq!(said(&off, EnforcedConfinement::NOTHING, ProcessEnding::Exited(1), refused), None);
    assert_eq!(
        said(&off, EnforcedConfinement::NOTHING, ProcessEnding::Signalled(SIGXFSZ), ""),
        None
    );
}

#[test]
fn without_mounts_every_refused_change_reads_alike() {
    let said = |enforced, place: &str| {
        let text = format!("touch: cannot touch '{place}': Permission denied");
        said(&sandbox(), enforced, ProcessEnding::Exited(1), &text)
    };
    for place in ["/usr/x", "/tmp/x", "/home/you/x"] {
        assert_eq!(said(FULL, place), None);
        let without = said(WITHOUT_NAMESPACES, place);
        let expect = format!(
            "{place} is outside of what commands can change, which is /srv/app, /srv/main/.git and, for the call alone, \
             $TMPDIR: work there, or ask the user to add a directory to roots in haft.toml"
        );
        assert_eq!(without, Some(expect));
    }
}

#[test]
fn a_bound_names_its_setting() {
    check(
        "OSError: [Errno 27] File too large",
        expect![
            "one file of a command is bounded by file_bytes = 4294967296 of [sandbox] in haft.toml"
        ],
    );
    check(
        "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nMemoryError\n",
        expect![
            "the memory of a command is bounded by memory_bytes = 4294967296 of [sandbox] in haft.toml"
        ],
    );
    check(
        "bash: fork: retry: Resource temporarily unavailable",
        expect![
            "the number of processes and threads of a command is bounded by processes = 1024 of [sandbox] in haft.toml"
        ],
    );
    check(
        "dd: error writing '/tmp/x': No space left on device",
        expect![
            "what a command puts into /tmp, /dev/shm and its home is bounded by temp_bytes = 2147483648 of [sandbox] in haft.toml"
        ],
    );
    check(
        "OSError: [Errno 24] Too many open files: '/etc/passwd'",
        expect![
            "the number of open files of a process is bounded by open_files = 4096 of [sandbox] in haft.toml"
        ],
    );
    for ending in
        [ProcessEnding::Signalled(SIGXFSZ), ProcessEnding::Exited(STATUS_OF_SIGNAL + SIGXFSZ)]
    {
        let said = said(&sandbox(), FULL, ending, "");
        assert!(said.is_some_and(|said| said.contains("file_bytes")), "{ending:?}");
    }
}

#[test]
fn only_the_last_lines_count() {
    let after = |lines: usize| format!("MemoryError\n{}", "more\n".repeat(lines));
    let said = |lines| said(&sandbox(), FULL, ProcessEnding::Exited(1), &after(lines));
    assert!(said(HINDRANCE_LINES_MAX - 1).is_some());
    assert_eq!(said(HINDRANCE_LINES_MAX), None);
}

#[test]
fn a_command_without_network_is_told_so_with_the_host() {
    check(
        "curl: (6) Could not resolve host: example.com",
        expect![
            "commands have no network here: work offline, or tell the user that you need example.com"
        ],
    );
    check(
        "ssh: Could not resolve hostname git.example.org: Temporary failure in name resolution",
        expect![
            "commands have no network here: work offline, or tell the user that you need git.example.org"
        ],
    );
    check(
        "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
        expect![
            "commands have no network here: work offline, or tell the user that you need pypi.org"
        ],
    );
    check(
        "npm error request failed, reason: getaddrinfo EAI_AGAIN registry.example.org",
        expect![
            "commands have no network here: work offline, or tell the user that you need registry.example.org"
        ],
    );
    check(
        "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
        expect![
            "commands have no network here: work offline, or tell the user that you need registry.npmjs.org"
        ],
    );
    check("fatal: example.org is no file", expect!["nothing"]);
    let open = EnforcedConfinement { network: ConfinementLevel::None, ..FULL };
    let output = "curl: (6) Could not resolve host: example.com";
    assert_eq!(said(&sandbox(), open, ProcessEnding::Exited(6), output), None);
    let trace =
        "look raised gaierror: [Errno -3] Temporary failure in name resolution\n  a.py:3 in look";
    let hint = |message: &str| context(&sandbox(), FULL).tool_hint(message);
    assert!(hint(trace).is_some());
    assert_eq!(hint("look raised KeyError: 'a.example.com'"), None);
    expect![[r#".git/config is protected, because others run or obey what it says: leave it, or tell the user what to change, or which pattern to list under unprotect of [sandbox] in haft.toml"#]]
        .assert_eq(&hint("save raised OSError: [Errno 30] Read-only file system: '.git/config'").unwrap());
}

#[test]
fn hosts_that_the_proxy_refused_are_named_once() {
    let connection = |host: &str, admitted: bool| OutboundConnection {
        host: host.to_owned(),
        port: 443,
        admitted,
        detail: format!("host {host} is not granted"),
    };
    let hint = |connections: Vec<OutboundConnection>| {
        refused_hosts_hint(&ConfinementReport { connections, ..ConfinementReport::new(FULL) })
    };
    assert_eq!(hint(vec![connection("a.org", true)]), None);
    let refused = ["b.org", "b.org", "c.org", "d.org", "e.org"].map(|host| connection(host, false));
    expect!["host b.org is not granted; host c.org is not granted; host d.org is not granted; and 1 more hosts"]
        .assert_eq(&hint(refused.to_vec()).unwrap());
}
