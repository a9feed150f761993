//! Commands that start others, the started commands that are found, and commands that cannot be
//! known.

use expect_test::{Expect, expect};
use haft_shell::{UnknownReason, analyze_line};

use super::shown::shown;

fn check(line: &str, expect: Expect) {
    expect.assert_eq(&shown(&analyze_line(line)));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line and what is found in it, many times")]
fn wrappers_are_taken_apart() {
    check(
        "timeout 5 env A=1 cargo test",
        expect![[r#"
        run timeout > env > cargo test
    "#]],
    );
    check(
        r#"sudo -u bob sh -c "echo hi; rm x""#,
        expect![[r#"
        run sudo -u bob sh -c 'echo hi; rm x'
        run sudo > sh > echo hi
        run sudo > sh > rm x
        write x
    "#]],
    );
    check(
        "nice -n 5 nohup setsid -w make",
        expect![[r#"
        run nice > nohup > setsid > make
    "#]],
    );
    check(
        "xargs -n 1 rm -f",
        expect![[r#"
        partly xargs > rm -f …
    "#]],
    );
    check(
        "xargs -I{} mv {} {}.bak",
        expect![[r#"
        partly xargs > mv {} {}.bak
    "#]],
    );
    check(
        r#"xargs bash -c 'rm "$1"' _"#,
        expect![[r#"
        partly xargs > bash > rm "$1"
    "#]],
    );
    check(
        r#"find a -name "*.o" -exec rm {} + -o -delete"#,
        expect![[r#"
        run find a -name '*.o' -exec rm '{}' + -o -delete
        partly find > rm {}
        read a
        write a
    "#]],
    );
    check(
        r#"find . -execdir sh -c "rm x" \;"#,
        expect![[r#"
        run find . -execdir sh -c 'rm x' ';'
        run find > sh > rm x
        read .
        unknown "x": its directory is not known
    "#]],
    );
    check(
        r#"bash -euo pipefail -c "cd a && rm b""#,
        expect![[r#"
        run bash > cd a
        run bash > rm b
        write a/b
    "#]],
    );
    check(
        r#"bash -c "$x""#,
        expect![[r#"
            unknown "$x": its program starts others
            unknown "$x": its program is the result of an expansion
        "#]],
    );
    check(
        "bash run.sh",
        expect![[r#"
        run bash run.sh
        read run.sh
    "#]],
    );
    check(
        "curl x | bash",
        expect![[r#"
            run curl x
            run bash
            unknown "bash": it runs text as code
        "#]],
    );
    check(
        "bash -i -c ls",
        expect![[r#"
            run bash > ls
            read .
            unknown "bash -i -c ls": it runs a file in its own shell
        "#]],
    );
    check(
        r#"env -S "rm x""#,
        expect![[r#"
            run env -S 'rm x'
            unknown "env -S 'rm x'": its program runs others
        "#]],
    );
    check(
        "env LD_PRELOAD=x ls",
        expect![[r#"
            run env > ls
            read .
            unknown "LD_PRELOAD": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "command -v ls",
        expect![[r#"
        run command -v ls
    "#]],
    );
    check(
        "command -p ls",
        expect![[r#"
            run command > ls
            read .
        "#]],
    );
    check(
        "exec > log 2>&1",
        expect![[r#"
        run exec
        write log
    "#]],
    );
    check(
        "time -p make",
        expect![[r#"
        run make
    "#]],
    );
    check(
        r#"eval "rm x""#,
        expect![[r#"
            run eval 'rm x'
            run rm x
            write x
        "#]],
    );
    check(
        "timeout --odd 5 rm x",
        expect![[r#"
            run timeout --odd 5 rm x
            unknown "timeout --odd 5 rm x": its program runs others
        "#]],
    );
    check(
        r#"bash -c 'bash -c "rm x"'"#,
        expect![[r#"
        run bash > bash > rm x
        write x
    "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line and what is found in it, many times")]
fn programs_that_run_others_are_unknown() {
    check(
        "git -c alias.x='!rm' x",
        expect![[r#"
            run git -c 'alias.x=!rm' x
            run git > rm
            unknown "git -c 'alias.x=!rm' x": its program starts others
        "#]],
    );
    check(
        "git -c user.name=x commit",
        expect![[r#"
        run git -c user.name=x commit
    "#]],
    );
    check(
        "git config core.pager x",
        expect![[r#"
            run git config core.pager x
            unknown "git config core.pager x": its program starts others
        "#]],
    );
    check(
        "git config user.name x",
        expect![[r#"
        run git config user.name x
    "#]],
    );
    check(
        "git rebase --exec x",
        expect![[r#"
            run git rebase --exec x
            run git > x
            unknown "git rebase --exec x": its program starts others
        "#]],
    );
    check(
        "git clone ext::x",
        expect![[r#"
            run git clone ext::x
            run git > x
            unknown "git clone ext::x": its program starts others
        "#]],
    );
    check(
        "git bisect run x",
        expect![[r#"
            run git bisect run x
            run git > x
            unknown "git bisect run x": its program starts others
        "#]],
    );
    check(
        "sed 's/a/b/e' f",
        expect![[r#"
            run sed s/a/b/e f
            read f
            unknown "sed s/a/b/e f": its program runs others
        "#]],
    );
    check(
        "sed -n 'w out' f",
        expect![[r#"
            run sed -n 'w out' f
            read f
            unknown "sed -n 'w out' f": its program runs others
        "#]],
    );
    check(
        r#"sed "s/a/$x/" f"#,
        expect![[r#"
            partly sed "s/a/$x/" f
            unknown "sed \"s/a/$x/\" f": its program starts others
        "#]],
    );
    check(
        r#"awk '{print $1 > "x"}' f"#,
        expect![[r#"
            run awk '{print $1 > "x"}' f
            read f
            unknown "awk '{print $1 > \"x\"}' f": its program starts others
        "#]],
    );
    check(
        r#"awk 'BEGIN{system("x")}'"#,
        expect![[r#"
            run awk 'BEGIN{system("x")}'
            unknown "awk 'BEGIN{system(\"x\")}'": its program runs others
        "#]],
    );
    check(
        "awk -F: '$1 == 2' f",
        expect![[r#"
        run awk -F: '$1 == 2' f
        read f
    "#]],
    );
    check(
        "tar xzf a.tgz",
        expect![[r#"
            run tar xzf a.tgz
            read a.tgz
            write .
        "#]],
    );
    check(
        "tar --to-c=x -xf a",
        expect![[r#"
            run tar --to-c=x -xf a
            run tar > x
            read a
            write .
            unknown "tar --to-c=x -xf a": its program starts others
        "#]],
    );
    check(
        "tar xIf x a",
        expect![[r#"
            run tar xIf x a
            run tar > x
            read a
            write .
            unknown "tar xIf x a": its program starts others
        "#]],
    );
    check(
        "rsync -e x a b",
        expect![[r#"
            run rsync -e x a b
            run rsync > x
            unknown "rsync -e x a b": its program starts others
        "#]],
    );
    check(
        "rg --pre x y",
        expect![[r#"
            run rg --pre x y
            run rg > x
            read y
            unknown "rg --pre x y": its program starts others
        "#]],
    );
    check(
        "sort --compress-prog=x f",
        expect![[r#"
            run sort --compress-prog=x f
            run sort > x
            read f
            unknown "sort --compress-prog=x f": its program starts others
        "#]],
    );
    check(
        "ssh host ls",
        expect![[r#"
            run ssh host ls
            run ssh > host ls
            run ssh > ls
            unknown "ssh host ls": its program starts others
            unknown ".": its directory is not known
        "#]],
    );
    check(
        "vim f",
        expect![[r#"
            run vim f
            unknown "vim f": its program starts others
        "#]],
    );
    check(
        "less f",
        expect![[r#"
            run less f
            unknown "less f": its program starts others
        "#]],
    );
    check(
        "man ls",
        expect![[r#"
            run man ls
            unknown "man ls": its program starts others
        "#]],
    );
    check(
        "grep -rn x src",
        expect![[r#"
        run grep -rn x src
        read src
    "#]],
    );
    check(
        "cp -b a b",
        expect![[r#"
            run cp -b a b
            read a
            write b
            unknown "cp -b a b": it touches files that it does not name
        "#]],
    );
    check(
        "md5sum -c list",
        expect![[r#"
            run md5sum -c list
            read list
            unknown "md5sum -c list": it touches files that it does not name
        "#]],
    );
    check(
        "make test",
        expect![[r#"
        run make test
    "#]],
    );
    check(
        "python3 -c 'import os'",
        expect![[r#"
        run python3 -c 'import os'
    "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line and what is found in it, many times")]
fn what_changes_the_shell_is_unknown() {
    check(
        "$CMD x",
        expect![[r#"
        unknown "$CMD x": its program is the result of an expansion
    "#]],
    );
    check(
        "source env.sh",
        expect![[r#"
            run source env.sh
            read env.sh
            unknown "source env.sh": it runs a file in its own shell
        "#]],
    );
    check(
        "alias ls=rm",
        expect![[r#"
            run alias ls=rm
            run rm
            unknown "alias ls=rm": its program starts others
        "#]],
    );
    check(
        "trap 'rm x' EXIT",
        expect![[r#"
            run trap 'rm x' EXIT
            run rm x
            unknown "x": its directory is not known
        "#]],
    );
    check(
        "ls() { rm x; }; ls",
        expect![[r#"
        run rm x
        run ls
        write x
        unknown "ls": it changes what commands mean
    "#]],
    );
    check(
        "set -o posix",
        expect![[r#"
            run set -o posix
            unknown "set -o posix": it changes what commands mean
        "#]],
    );
    check(
        "shopt -s extglob",
        expect![[r#"
            run shopt -s extglob
            unknown "shopt -s extglob": it changes what commands mean
        "#]],
    );
    check(
        "enable -n echo",
        expect![[r#"
            run enable -n echo
            unknown "enable -n echo": it changes what commands mean
        "#]],
    );
    check(
        "hash -p /x ls",
        expect![[r#"
            run hash -p /x ls
            unknown "hash -p /x ls": it changes what commands mean
        "#]],
    );
    check(
        "PATH=/x ls",
        expect![[r#"
            run ls
            read .
            unknown "PATH=/x": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "export PATH=$PATH:/x",
        expect![[r#"
            partly export PATH=$PATH:/x
            unknown "export PATH=$PATH:/x": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "export $x",
        expect![[r#"
            partly export $x
            unknown "export $x": it sets a variable that decides what runs
        "#]],
    );
    check(
        "declare -n r=PATH",
        expect![[r#"
            run declare -n r=PATH
            unknown "declare -n r=PATH": it changes what commands mean
        "#]],
    );
    check(
        "unset PATH",
        expect![[r#"
            run unset PATH
            unknown "unset PATH": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "read PATH < f",
        expect![[r#"
            run read PATH
            read f
            unknown "read PATH": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "coproc rm x",
        expect![[r#"
        unknown "coproc rm x": it contains an unsupported construct
    "#]],
    );
    check(
        "select x in a; do rm x; done",
        expect![[r#"
        unknown "select x in a; do rm x; done": it contains an unsupported construct
    "#]],
    );
    check(
        "printf -v PATH x",
        expect![[r#"
            run printf -v PATH x
            unknown "printf -v PATH x": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "for PATH in x; do ls; done",
        expect![[r#"
            run ls
            read .
            unknown "PATH": it sets a variable that decides where programs look
        "#]],
    );
    check(
        "echo ${x:-$(rm y)}",
        expect![[r#"
        unknown "echo ${x:-$(rm y)}": it contains code inside an expansion
    "#]],
    );
    check(
        r"echo `echo \`rm x\``",
        expect![[r#"
        unknown "echo `echo \\`rm x\\``": it contains code inside an expansion
    "#]],
    );
    check(
        "((a) )",
        expect![[r#"
        unknown "((a) )": it contains an unsupported construct
    "#]],
    );
    check(
        "echo $(rm x) `rm y`",
        expect![[r#"
        run rm x
        run rm y
        partly echo $(rm x) `rm y`
        write x
        write y
    "#]],
    );
    check(
        "mapfile -C x y < f",
        expect![[r#"
            run mapfile -C x y
            read f
            unknown "mapfile -C x y": it runs text as code
        "#]],
    );
    check(
        "echo a)",
        expect![[r#"
        unknown "echo a)": it is not understood
    "#]],
    );
    check(
        "a=($(rm x))",
        expect![[r#"
        unknown "a=($(rm x))": it contains code inside an expansion
    "#]],
    );
}

#[test]
fn options_are_not_taken_for_what_they_are_not() {
    check(
        "xargs --replace rm {}",
        expect![[r#"
        partly xargs > rm {}
    "#]],
    );
    check(
        "xargs --max-lines rm x",
        expect![[r#"
            run xargs --max-lines rm x
            unknown "xargs --max-lines rm x": its program runs others
        "#]],
    );
    check(
        "find '!x' -delete",
        expect![[r#"
        run find '!x' -delete
        read !x
        write !x
    "#]],
    );
    check(
        "bash +e -c 'rm x'",
        expect![[r#"
            run bash +e -c 'rm x'
            unknown "bash +e -c 'rm x'": it runs text as code
        "#]],
    );
    check(
        "sh -c '((rm x))'",
        expect![[r#"
            run sh -c '((rm x))'
            unknown "sh -c '((rm x))'": it contains an unsupported construct
        "#]],
    );
    check(
        "zsh -c ls",
        expect![[r#"
            run zsh -c ls
            run zsh > ls
            unknown "zsh -c ls": its program runs others
            unknown ".": its directory is not known
        "#]],
    );
    check(
        r#"grep "$x" src"#,
        expect![[r#"
        partly grep "$x" src
        read src
    "#]],
    );
    check(
        r#"cp "$x" a"#,
        expect![[r#"
        partly cp "$x" a
        read a
        write a
    "#]],
    );
    check(
        r#"chmod "$mode" a"#,
        expect![[r#"
        partly chmod "$mode" a
        write a
    "#]],
    );
}

/// The parser reads each of these lines in another way than bash, or bash reads them in several.
#[test]
fn misread_lines_are_unknown() {
    let check = |reason: UnknownReason, lines: &[&str]| {
        for line in lines {
            let found = analyze_line(line).unknown.first().map(|unknown| unknown.reason);
            assert_eq!(found, Some(reason), "{line:?}");
        }
    };
    check(
        UnknownReason::Construct,
        &[
            // A reserved word is not a program.
            "! ! a",
            "x=1 if a",
            // The rest of the line decides whether parentheses are arithmetic.
            "((rm x) )",
            "echo $(((x = 1 << 2)); rm x)",
            "echo $((1); rm x)",
            // After a pipe, `time` is a program.
            "a | time -p b",
            "a |\ntime b",
            // The here-document ends elsewhere.
            "cat <<E \\\nrm x\ny\nE\n",
            "cat <<- \"E\\\"F\"\nE\"F\nrm x\n",
            "cat <<A <<B\n$(id)\nA\n$(rm x)\nB",
            "cat <<E\n$(rm x)\n",
            "cat <<E\na\\\nE\nrm x\nE\n",
            // White space in a subscript.
            "x[ a ] b",
            "[[ a == # ]]\nb ]]",
            // An assignment across lines.
            "x\\\ny=1 rm z",
            // bash expands the target twice, so that it runs the code.
            "echo >& '$(rm x)'",
            "echo >& \"a'b\"",
            "cat <& '$(rm x)'",
            // The dash ends the redirection.
            "0<&-rm x",
            "a >&-b",
            // `bash -c` takes the line for an option.
            "-x",
            "+x",
        ],
    );
    check(
        UnknownReason::Syntax,
        &[
            // bash ends a word elsewhere.
            "echo if<(a) b",
            "echo <(a)b",
            "b {}$(rm x) c",
            "a ]1>b",
            "[[ a == \\ ]] ]]",
            "cat 2<<E\nx\nE\n",
            "x=(a)for x in b; do c; done",
            "i\\\nf a; then rm x; fi",
            "cat <<$E\nx\n$E\n",
        ],
    );
    check(
        UnknownReason::Expansion,
        &[
            "x[a b]=1",
            // The meaning of the quote depends on what is around it.
            "echo ${x:-'}'}",
            "echo ${x:-\"}\"}",
            // Commands, in newer versions of bash.
            "echo ${ rm x; }",
            "echo \"${| rm x; }\"",
        ],
    );
}

/// Lines that are read as bash reads them, although they are unusual.
#[test]
fn unusual_lines_are_known() {
    check(
        "( (a) )",
        expect![[r#"
            run a
        "#]],
    );
    check(
        "for ((i=0;i<2;i++)) { a; }",
        expect![[r#"
            run a
        "#]],
    );
    // The number is too large for a descriptor.
    check(
        "a 2147483648>b",
        expect![[r#"
            run a 2147483648
            write b
        "#]],
    );
    check(
        "a 2147483647>b",
        expect![[r#"
            run a
            write b
        "#]],
    );
    check(
        "a -5>b",
        expect![[r#"
            run a -5
            write b
        "#]],
    );
    check(
        "a &>> b 2>&-",
        expect![[r#"
            run a
            write b
        "#]],
    );
    check(
        r#"a ${x//\//_} "${x:-"b c"}" ${x:-${y}}"#,
        expect![[r#"
            partly a ${x//\//_} "${x:-"b c"}" ${x:-${y}}
        "#]],
    );
}

#[test]
fn what_a_launcher_starts_is_found_through_its_options() {
    let finds = |line: &str| {
        let analysis = analyze_line(line);
        let is_push = |text: &str| text == "git push" || text.starts_with("git push ");
        analysis.commands.iter().any(|command| is_push(&command.text()))
    };
    for line in [
        "linux64 git push",
        "linux32 git push",
        "setarch x86_64 -R git push",
        "setarch -R git push",
        "taskset -c 0 git push",
        "chrt -o 0 git push",
        "numactl -N 0 git push",
        "ssh-agent git push",
        "flock /tmp/lock git push",
        "flock /tmp/lock -c 'git push'",
        "script -qc 'git push' /dev/null",
        "su -c 'git push' you",
        "strace -f -o out git push",
        "unshare -r git push",
        "watch -n 1 git push",
        "busybox sh -c 'git push'",
        "ssh host 'cd x && git push'",
        "bash -lc 'git push'",
        "sh -c \"cd $DIR && git push\"",
        "timeout $T git push",
        "env A=$x git push",
        "sudo env A=1 git push",
        "eval 'git push'",
        "eval git push",
        "trap 'git push' EXIT",
        "trap \"git push $x\" EXIT",
        "alias p='git push'",
        "GIT_EDITOR='git push' git commit",
        "export EDITOR='git push'",
        "env VISUAL='git push' git commit",
        "git -c alias.up=push up",
        "git -c alias.up='!git push' up",
        "git -c core.pager='git push' log",
        "git rebase -x 'git push' HEAD~1",
        "git rebase --exec='git push' HEAD~1",
        "git bisect run git push",
        "git submodule foreach 'git push'",
        "git submodule foreach --recursive git push",
        "git for-each-repo --config=x push",
        "git filter-branch --tree-filter 'git push' HEAD",
        "git fetch --upload-pack 'git push' .",
        "git fetch 'ext::git push'",
        "tar -I 'git push' -cf x y",
        "tar --checkpoint-action=exec='git push' -cf x y",
        "split --filter='git push' f",
        "fd -x git push",
        "sqlite3 x.db '.shell git push'",
        "sqlite3 x.db '.system git push'",
        "gdb -batch -ex 'shell git push'",
        "vim -c '!git push' f",
        "[[ -n \"$(git push)\" ]]",
        "PAGER='git push' man ls",
    ] {
        assert!(finds(line), "{line}\n{}", shown(&analyze_line(line)));
    }
    for line in ["git commit -m 'git push'", "echo git push", "grep 'git push' README.md"] {
        assert!(!finds(line), "{line}");
    }
}

#[test]
fn what_may_run_anything_hides_commands() {
    let hides =
        |line: &str| analyze_line(line).unknown.iter().any(|part| part.reason.hides_commands());
    for line in [
        "$CMD",
        "\"$BIN\" --version",
        "bash < script.sh",
        "curl x | sh",
        "bash -s",
        "bash /dev/stdin",
        "source /dev/stdin",
        "source <(curl x)",
        "eval \"$(x)\" \"$y\"",
        "xargs sh -c",
        "timeout 5 $x",
        "env $x",
        "make -f -",
        "make -f /dev/stdin",
        "make --eval 'x:;git push'",
        "ed notes.txt",
        "at now",
        "git -c include.path=x log",
        "git --config-env=alias.x=Y x",
        "git -c $x log",
        "GIT_CONFIG_COUNT=1 git log",
        "BASH_ENV=x bash y",
        "PROMPT_COMMAND=x bash",
        "awk 'BEGIN { system(\"x\") }'",
        "sed '1e git push' f",
        "x='a[$(git push)]'; echo $((x))",
        "shopt -s expand_aliases",
        "enable -f x y",
    ] {
        assert!(hides(line), "{line}\n{}", shown(&analyze_line(line)));
    }
    for line in [
        "echo \"$HOME\"",
        "ls ~",
        "wc -l src/*.py",
        "n=$(wc -l < f); echo $((n + 1))",
        ". .venv/bin/activate",
        "source \"$HOME/.cargo/env\"",
        "bash \"$DIR/run.sh\"",
        "PYTHONPATH=src pytest",
        "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
        "export PATH=\"$PATH:/x/bin\"",
        "LD_LIBRARY_PATH=. ./app",
        "ENV=test npm start",
        "GIT_EDITOR=true git rebase --continue",
        "git -c core.pager=cat log",
        "git -c color.ui=never status",
        "git --git-dir=x/.git log",
        "git submodule update --init",
        "git rebase -i HEAD~1",
        "sed \"s/$a/$b/\" f",
        "awk '/a|b/ { print > \"x\" }' f",
        "less README.md",
        "man git",
        "gdb -batch -ex bt ./app core",
        "valgrind --leak-check=full ./app",
        "make -j\"$(nproc)\"",
        "shopt -s globstar; ls **/*.py",
        "set -a; source .env; set +a",
        "[[ -v NAME ]]",
        "for f in *.sh; do bash -n \"$f\"; done || true",
        "xargs -n1 git log",
    ] {
        assert!(!hides(line), "{line}\n{}", shown(&analyze_line(line)));
    }
}

#[test]
fn files_that_packers_and_others_write_are_named() {
    check(
        "git clean -fdx",
        expect![[r#"
            run git clean -fdx
            write .
        "#]],
    );
    check(
        "gzip keep.txt",
        expect![[r#"
            run gzip keep.txt
            read keep.txt
            write keep.txt
        "#]],
    );
    check(
        "shuf -o keep.txt x",
        expect![[r#"
            run shuf -o keep.txt x
            write keep.txt
            read x
        "#]],
    );
    check(
        "patch -o keep.txt a < b",
        expect![[r#"
            run patch -o keep.txt a
            read b
            write keep.txt
            read a
            write a
        "#]],
    );
    check(
        "sqlite3 x.db '.output keep.txt'",
        expect![[r#"
            run sqlite3 x.db '.output keep.txt'
            read x.db
            write x.db
            write keep.txt
        "#]],
    );
}
