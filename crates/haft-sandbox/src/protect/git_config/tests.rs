//! Configurations that may stay, as a table.

use std::path::Path;

use super::is_config_harmless;

fn check(text: &str, expect: bool) {
    let is_inside = |worktree: &Path| worktree == Path::new("../../../sub");
    assert_eq!(is_config_harmless(text.as_bytes(), None, is_inside), expect, "{text}");
}

#[test]
fn what_git_writes_itself_is_harmless() {
    check("", true);
    check(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
         [remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        true,
    );
    check(
        "[core]\n\tworktree = ../../../sub\n[submodule \"lib\"]\n\tactive = true\n\turl = git@host:lib.git\n",
        true,
    );
    check("[extensions]\n\tworktreeConfig = true\n\tobjectFormat = sha256\n", true);
    check("# a comment\n\n; and another\n[USER]\n  Name = A B\n  EMAIL=a@b\n", true);
    check("[core]\n\tbare\n", true);
    check("[remote \"o\"]\n\turl = /srv/a.git\n\turl = ssh://git@host/a\n\turl = ../a\n", true);
    check("[branch \"a\"]\n\tremote = .\n\trebase = true\n", true);
}

#[test]
fn what_runs_or_leads_elsewhere_is_not() {
    for text in [
        "[core]\n\tfsmonitor = ./evil\n",
        "[core]\n\thooksPath = evil\n",
        "[core]\n\tsshCommand = evil\n",
        "[core]\n\teditor = evil\n",
        "[CORE]\n\tPAGER = evil\n",
        "[core]\n\tattributesFile = x\n",
        "[core]\n\tworktree = /home/me\n",
        "[include]\n\tpath = evil\n",
        "[includeIf \"gitdir:/\"]\n\tpath = evil\n",
        "[filter \"x\"]\n\tclean = evil\n",
        "[diff \"x\"]\n\ttextconv = evil\n",
        "[alias]\n\tst = !evil\n",
        "[credential]\n\thelper = evil\n",
        "[url \"ext::sh\"]\n\tinsteadOf = https\n",
        "[remote \"o\"]\n\turl = ext::sh -c evil\n",
        "[remote \"o\"]\n\turl = evil::x\n",
        "[remote \"o\"]\n\turl = evil://x\n",
        "[remote \"o\"]\n\turl = -x\n",
        "[remote \"o\"]\n\turl = ssh://-oProxyCommand=evil/x\n",
        "[remote \"o\"]\n\turl =\n",
        "[remote \"o\"]\n\tuploadpack = evil\n",
        "[remote \"o\"]\n\tvcs = evil\n",
        "[remote \"o\"]\n\tproxy = evil\n",
        "[branch \"a\"]\n\tremote = ext::sh -c evil\n",
        "[branch \"a\"]\n\tmergeOptions = -s evil\n",
        "[submodule \"a\"]\n\tupdate = !evil\n",
        "[gpg]\n\tprogram = evil\n",
        "[user]\n\tsigningKey = x\n",
        "[unknown]\n\tx = y\n",
    ] {
        check(text, false);
    }
}

#[test]
fn what_is_not_plain_is_not_understood() {
    for text in [
        "[core]\n\tbare = fal\\\nse\n",
        "[core]\n\tbare = \"false\"\n",
        "[core] bare = false\n",
        "[core]\n\tbare = false # comment\n",
        "[core \"x\"]\n\tbare = false\n",
        "[branch \"a\\\"b\"]\n\trebase = true\n",
        "[branch \"a]\n\trebase = true\n",
        "[branch.a]\n\trebase = true\n",
        "[core\n\tbare = false\n",
        "bare = false\n",
        "[core]\n\tba re = false\n",
        "[core]\r\n\tbare = false\r\n",
        "[core]\n\tbare = false\u{0}\n",
        "[core]\n\tbare = false\u{b}\n",
        "\u{feff}[core]\n\tbare = false\n",
        "[core]\n\t= x\n",
    ] {
        check(text, false);
    }
    assert!(!is_config_harmless(b"[user]\n\tname = \xff\n", None, |_| true));
}

#[test]
fn what_was_there_before_may_stay() {
    let before = b"[core]\n\tfsmonitor = true\n\tbare = false\n".as_slice();
    let check = |text: &str, expect: bool| {
        assert_eq!(is_config_harmless(text.as_bytes(), Some(before), |_| false), expect, "{text}");
    };
    check("[core]\n\tfsmonitor = true\n[remote \"o\"]\n\turl = https://h/x\n", true);
    check("[core]\n\tfsmonitor = other\n", false);
    check("[Core]\n\tFSMonitor = true\n", true);
    // A configuration that cannot be parsed may stay only if it is unchanged.
    let odd = b"[core] fsmonitor = true\n".as_slice();
    assert!(is_config_harmless(odd, Some(odd), |_| false));
    assert!(!is_config_harmless(b"[core]\n\tfsmonitor = true\n", Some(odd), |_| false));
}
