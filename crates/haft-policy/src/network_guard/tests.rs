//! Which commands look as if they used the network.

use haft_contract::{CommandLine, ErrorCode};

use proptest::prelude::*;

use super::shell_words::rough_commands;
use super::{NetworkGuard, NetworkRefusal};

const NETWORK: Option<ErrorCode> = Some(ErrorCode::NetworkDisabled);
const GIT: Option<ErrorCode> = Some(ErrorCode::GitRemoteDisabled);
const LOCAL: Option<ErrorCode> = None;

fn line_guard(guard: NetworkGuard, line: &str) -> Option<NetworkRefusal> {
    guard.check(&CommandLine::Unknown(line.to_owned()))
}

fn network_guard_line(line: &str) -> Option<NetworkRefusal> {
    line_guard(NetworkGuard::Standard, line)
}

#[track_caller]
fn check_argv(guard: NetworkGuard, rows: &[(&[&str], Option<ErrorCode>)]) {
    for (argv, expected) in rows {
        let command = CommandLine::Argv(argv.iter().map(|&word| word.to_owned()).collect());
        let code = guard.check(&command).map(|refusal| refusal.code);
        assert_eq!(code, *expected, "{guard:?}: {argv:?}");
        assert_eq!(NetworkGuard::Kernel.check(&command), None);
    }
}

#[test]
fn commands() {
    let rows: &[(&[&str], Option<ErrorCode>)] = &[
        (&["curl", "-s", "x"], NETWORK),
        (&["/usr/bin/wget", "x"], NETWORK),
        (&["npm", "test"], NETWORK),
        (&["bun"], NETWORK),
        (&["pip", "install", "x"], NETWORK),
        (&["ls", "http://x"], NETWORK),
        (&["ls", "https://x"], NETWORK),
        (&["https://x"], NETWORK),
        (&["git", "push"], GIT),
        (&["git", "-C", "x", "pull"], GIT),
        (&["git", "fetch"], GIT),
        (&["git", "clone", "x"], GIT),
        (&["git", "clone", "https://x"], NETWORK),
        (&["/usr/bin/git", "remote", "-v"], GIT),
        (&["git", "commit", "-m", "pull"], LOCAL),
        (&["git", "-c", "user.name=x", "commit", "-m", "push"], LOCAL),
        (&["git", "--git-dir", "x", "--no-pager", "push"], GIT),
        (&["git", "--git-dir=x", "push"], GIT),
        (&["git", "log", "fetch"], LOCAL),
        (&["git", "-C", "push", "status"], LOCAL),
        (&["git", "stash", "push"], LOCAL),
        (&["git", "-C"], LOCAL),
        (&["git", "commit", "-m", "pull request"], LOCAL),
        (&["git", "status"], LOCAL),
        (&["git", "pushx"], LOCAL),
        (&["echo", "bundle"], LOCAL),
        (&["echo", "curl"], LOCAL),
        (&["echo", "xhttp://x"], LOCAL),
        (&["curly"], LOCAL),
        (&["pip3", "list"], LOCAL),
        (&["echo", "git", "push"], LOCAL),
        (&[], LOCAL),
    ];
    check_argv(NetworkGuard::Standard, rows);
}

#[test]
fn strict_commands() {
    let rows: &[(&[&str], Option<ErrorCode>)] = &[
        (&["curl", "x"], NETWORK),
        (&["ssh", "host"], NETWORK),
        (&["/usr/bin/nc", "-l"], NETWORK),
        (&["cargo", "build"], NETWORK),
        (&["pip3", "list"], NETWORK),
        (&["git", "push"], GIT),
        (&["git", "log"], LOCAL),
        (&["git", "commit", "-m", "pull the lever"], LOCAL),
        (&["git", "commit", "-m", "see https://x"], NETWORK),
        (&["ls", "ws://x"], NETWORK),
        (&["ls", "ssh://x"], NETWORK),
        (&["ls", "--from=ftp://x"], NETWORK),
        (&["ls", "://x"], NETWORK),
        (&["ls", "www.example.com"], NETWORK),
        (&["ls", "git@example.com:x"], NETWORK),
        (&["ls", "192.168.1.1:8080"], NETWORK),
        (&["ls", "10.0.0.1/x"], NETWORK),
        (&["ls", "[::1]:80"], NETWORK),
        (&["ls", "[fe80::1]"], NETWORK),
        (&["ls", "::1"], NETWORK),
        (&["ls", "a::b"], LOCAL),
        (&["ls", "1.2.3"], LOCAL),
        (&["ls", "v1.2.3.4"], LOCAL),
        (&["ls", "1.2.3.4:x"], LOCAL),
        (&["ls", "--proxy", "x"], NETWORK),
        (&["ls", "--proxy=x"], NETWORK),
        (&["env", "HTTPS_PROXY=x", "ls"], NETWORK),
        (&["http_proxy=x", "ls"], NETWORK),
        (&["echo", "proxy"], LOCAL),
        (&["echo", "bundle", "cargo", "ssh"], LOCAL),
        (&["echo", "awww.", "legit@x"], LOCAL),
        (&["sudo", "ping", "x"], NETWORK),
        (&["sh", "-c", "ls; dig x"], NETWORK),
    ];
    check_argv(NetworkGuard::Strict, rows);
    for (line, expected) in [
        ("echo x; ssh host", NETWORK),
        ("https_proxy=x ls", NETWORK),
        ("cat '10.0.0.1'", NETWORK),
        ("echo cargo | wc", LOCAL),
    ] {
        let code = line_guard(NetworkGuard::Strict, line).map(|refusal| refusal.code);
        assert_eq!(code, expected, "{line:?}");
        assert_eq!(line_guard(NetworkGuard::Kernel, line), None);
    }
}

#[test]
fn lines() {
    let rows: &[(&str, Option<ErrorCode>)] = &[
        ("echo bundle", LOCAL),
        ("echo curl", LOCAL),
        ("grep -r 'npm install' . | wc -l", LOCAL),
        ("git commit -m 'pip fixes; curl too' && git log", LOCAL),
        ("git commit -m \"pull request\"", LOCAL),
        ("timeout 5 grep -r pip .", LOCAL),
        ("cat > curl", LOCAL),
        ("ls 2>&1 > pip", LOCAL),
        ("for x in npm bun; do echo $x; done", LOCAL),
        ("bash -c 'echo curl'", LOCAL),
        ("", LOCAL),
        ("ls; curl x", NETWORK),
        ("ls && wget x", NETWORK),
        ("ls|bun x", NETWORK),
        ("ls\ncurl x", NETWORK),
        ("ls & /usr/bin/curl x", NETWORK),
        ("(cd x; npm i)", NETWORK),
        ("echo $(curl x) y", NETWORK),
        ("echo \"$(curl x)\" y", NETWORK),
        ("echo \"$(date)\"; curl x", NETWORK),
        ("echo `curl x`", NETWORK),
        ("echo \"`date` (`curl x`)\"", NETWORK),
        ("cat <(curl x)", NETWORK),
        ("2>/dev/null curl x", NETWORK),
        (">out curl x", NETWORK),
        ("A=1 B='2 3' curl x", NETWORK),
        ("if curl x; then ls; fi", NETWORK),
        ("while ! wget x; do ls; done", NETWORK),
        ("{ curl x; }", NETWORK),
        ("f() { curl x; }", NETWORK),
        ("case x in x) curl y ;; esac", NETWORK),
        ("cu\"r\"l x", NETWORK),
        ("'curl' x", NETWORK),
        ("\\curl x", NETWORK),
        ("cu\\\nrl x", NETWORK),
        ("bash -c 'ls; curl x'", NETWORK),
        ("bash -c \"sh -c 'curl x'\"", NETWORK),
        ("eval \"curl x\"", NETWORK),
        ("eval cu rl; eval git push", GIT),
        ("sudo -u root curl x", NETWORK),
        ("env A=1 timeout 5 git push", GIT),
        ("find . | xargs -n 1 curl", NETWORK),
        ("nohup nice -n 5 curl x", NETWORK),
        ("echo 'see http://x'", NETWORK),
        ("URL=https://x", NETWORK),
        ("git add . && git push", GIT),
        ("git $(echo x) push", GIT),
        ("git stash; echo push", LOCAL),
    ];
    for (line, expected) in rows {
        assert_eq!(network_guard_line(line).map(|refusal| refusal.code), *expected, "{line:?}");
    }
}

#[test]
fn lines_nested_too_deeply_are_refused() {
    let nested = |depth: usize| "eval ".repeat(depth) + "ls";
    assert!(network_guard_line(&nested(super::NESTING_MAX)).is_none());
    assert!(network_guard_line(&nested(super::NESTING_MAX + 1)).is_some());
}

#[test]
fn unfinished_lines_end_where_they_end() {
    let commands = |line| rough_commands(line);
    assert_eq!(commands("echo 'a b"), [["echo", "a b"]]);
    assert_eq!(commands("echo \"a b"), [["echo", "a b"]]);
    assert_eq!(commands("echo a\\"), [["echo", "a"]]);
    assert_eq!(commands("$(ls"), [vec!["ls"], vec![""]]);
    assert_eq!(commands("a ) b"), [["a"], ["b"]]);
}

#[test]
fn refusals_say_what_was_found() {
    let message = |line| network_guard_line(line).unwrap().message;
    expect_test::expect![[r#""10.0.0.1", which is an address, is refused by name: the network is off, and in the sandbox it could reach nothing; leave it out, or ask the user to grant hosts, or to turn the list of names off (network_guard = "kernel" in haft.toml)"#]].assert_eq(&line_guard(NetworkGuard::Strict, "ls 10.0.0.1").unwrap().message);
    expect_test::expect![[r#"curl is refused by name: the network is off, and in the sandbox it could reach nothing; work offline, or ask the user to grant hosts, or to turn the list of names off (network_guard = "kernel" in haft.toml)"#]].assert_eq(&message("ls; /usr/bin/curl x"));
    expect_test::expect![[r#"a word that begins with http:// is refused by name: the network is off, and in the sandbox it could reach nothing; leave it out, or ask the user to grant hosts, or to turn the list of names off (network_guard = "kernel" in haft.toml)"#]].assert_eq(&message("ls http://example.com"));
    expect_test::expect![[r#"git push is refused by name: the network is off, and in the sandbox it could reach nothing; use local git commands, or ask the user to grant hosts, or to turn the list of names off (network_guard = "kernel" in haft.toml)"#]].assert_eq(&message("git push"));
    expect_test::expect!["the command holds more than 8 lines within each other and the network is off; run them one by one"].assert_eq(&message(&("eval ".repeat(20) + "ls")));
}

#[test]
fn a_server_of_ones_own_is_not_the_network() {
    for line in
        ["curl -s http://127.0.0.1:8123/x", "curl localhost:80", "curl -d x http://localhost"]
    {
        assert_eq!(network_guard_line(line), None, "{line}");
        assert!(line_guard(NetworkGuard::Strict, line).is_some(), "{line}");
    }
    for line in [
        "curl http://localhost http://example.org",
        "curl localhost.example.org",
        "curl 10.0.0.1",
        "pip localhost",
    ] {
        assert!(network_guard_line(line).is_some(), "{line}");
    }
}

proptest! {
    #[test]
    fn never_panics_and_what_standard_refuses_strict_refuses(line in "([a-z \\\\'\"$(){}`<>&|;\n]|curl|é){0,60}") {
        let (standard, strict) = (network_guard_line(&line), line_guard(NetworkGuard::Strict, &line));
        prop_assert!(standard.is_none() || strict.is_some());
    }
}

#[test]
fn a_refusal_names_the_host_of_the_first_url() {
    let check = |line: &str, expect: Option<&str>| {
        let host = network_guard_line(line).and_then(|refusal| refusal.host);
        assert_eq!(host.as_deref(), expect, "for {line:?}");
    };
    check("curl https://Example.org/x", Some("example.org"));
    check("curl 'http://a@b.org:80'", Some("b.org"));
    check("git push", None);
    check("curl http://$HOST/", None);
    let argv = ["curl", "-s", "https://a.org/b"].map(str::to_owned).to_vec();
    let refusal = NetworkGuard::Standard.check(&CommandLine::Argv(argv)).unwrap();
    assert_eq!(refusal.host.as_deref(), Some("a.org"));
}
