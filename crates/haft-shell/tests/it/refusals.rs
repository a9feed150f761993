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
        unknown "bash -c \"$x\"": it runs text as code
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
        unknown "bash": it runs text as code
    "#]],
    );
    check(
        "bash -i -c ls",
        expect![[r#"
        unknown "bash -i -c ls": it runs text as code
    "#]],
    );
    check(
        r#"env -S "rm x""#,
        expect![[r#"
        unknown "env -S 'rm x'": its program runs others
    "#]],
    );
    check(
        "env LD_PRELOAD=x ls",
        expect![[r#"
        unknown "env LD_PRELOAD=x ls": it sets a variable that decides what runs
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
        unknown "command -p ls": its program runs others
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
        unknown "eval 'rm x'": it runs text as code
    "#]],
    );
    check(
        "timeout --odd 5 rm x",
        expect![[r#"
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
        unknown "git -c 'alias.x=!rm' x": its program runs others
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
        unknown "git config core.pager x": its program runs others
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
        unknown "git rebase --exec x": its program runs others
    "#]],
    );
    check(
        "git clone ext::x",
        expect![[r#"
        unknown "git clone ext::x": its program runs others
    "#]],
    );
    check(
        "git bisect run x",
        expect![[r#"
        unknown "git bisect run x": its program runs others
    "#]],
    );
    check(
        "sed 's/a/b/e' f",
        expect![[r#"
        unknown "sed s/a/b/e f": its program runs others
    "#]],
    );
    check(
        "sed -n 'w out' f",
        expect![[r#"
        unknown "sed -n 'w out' f": its program runs others
    "#]],
    );
    check(
        r#"sed "s/a/$x/" f"#,
        expect![[r#"
        unknown "sed \"s/a/$x/\" f": its program runs others
    "#]],
    );
    check(
        r#"awk '{print $1 > "x"}' f"#,
        expect![[r#"
        unknown "awk '{print $1 > \"x\"}' f": its program runs others
    "#]],
    );
    check(
        r#"awk 'BEGIN{system("x")}'"#,
        expect![[r#"
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
        unknown "tar --to-c=x -xf a": its program runs others
    "#]],
    );
    check(
        "tar xIf x a",
        expect![[r#"
        unknown "tar xIf x a": its program runs others
    "#]],
    );
    check(
        "rsync -e x a b",
        expect![[r#"
        unknown "rsync -e x a b": its program runs others
    "#]],
    );
    check(
        "rg --pre x y",
        expect![[r#"
        unknown "rg --pre x y": its program runs others
    "#]],
    );
    check(
        "sort --compress-prog=x f",
        expect![[r#"
        unknown "sort --compress-prog=x f": its program runs others
    "#]],
    );
    check(
        "ssh host ls",
        expect![[r#"
        unknown "ssh host ls": its program runs others
    "#]],
    );
    check(
        "vim f",
        expect![[r#"
        unknown "vim f": its program runs others
    "#]],
    );
    check(
        "less f",
        expect![[r#"
        unknown "less f": its program runs others
    "#]],
    );
    check(
        "man ls",
        expect![[r#"
        unknown "man ls": its program runs others
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
        unknown "cp -b a b": it touches files that it does not name
    "#]],
    );
    check(
        "md5sum -c list",
        expect![[r#"
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
        unknown "source env.sh": it runs text as code
    "#]],
    );
    check(
        "alias ls=rm",
        expect![[r#"
        unknown "alias ls=rm": it changes what commands mean
    "#]],
    );
    check(
        "trap 'rm x' EXIT",
        expect![[r#"
        unknown "trap 'rm x' EXIT": it changes what commands mean
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
        unknown "set -o posix": it changes what commands mean
    "#]],
    );
    check(
        "shopt -s extglob",
        expect![[r#"
        unknown "shopt -s extglob": it changes what commands mean
    "#]],
    );
    check(
        "enable -n echo",
        expect![[r#"
        unknown "enable -n echo": it changes what commands mean
    "#]],
    );
    check(
        "hash -p /x ls",
        expect![[r#"
        unknown "hash -p /x ls": it changes what commands mean
    "#]],
    );
    check(
        "PATH=/x ls",
        expect![[r#"
        run ls
        read .
        unknown "PATH=/x": it sets a variable that decides what runs
    "#]],
    );
    check(
        "export PATH=$PATH:/x",
        expect![[r#"
        unknown "export PATH=$PATH:/x": it sets a variable that decides what runs
    "#]],
    );
    check(
        "export $x",
        expect![[r#"
        unknown "export $x": it sets a variable that decides what runs
    "#]],
    );
    check(
        "declare -n r=PATH",
        expect![[r#"
        unknown "declare -n r=PATH": it changes what commands mean
    "#]],
    );
    check(
        "unset PATH",
        expect![[r#"
        unknown "unset PATH": it sets a variable that decides what runs
    "#]],
    );
    check(
        "read PATH < f",
        expect![[r#"
        read f
        unknown "read PATH": it sets a variable that decides what runs
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
        unknown "printf -v PATH x": it sets a variable that decides what runs
    "#]],
    );
    check(
        "for PATH in x; do ls; done",
        expect![[r#"
        run ls
        read .
        unknown "PATH": it sets a variable that decides what runs
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
        unknown "bash +e -c 'rm x'": it runs text as code
    "#]],
    );
    check(
        "sh -c '((rm x))'",
        expect![[r#"
        unknown "sh -c '((rm x))'": it contains an unsupported construct
    "#]],
    );
    check(
        "zsh -c ls",
        expect![[r#"
        unknown "zsh -c ls": its program runs others
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
