//! Generates lines of bash that work on a few files: utilities with their options, combined in
//! every way that the analysis supports, and quoted in every way.

use proptest::prelude::*;
use proptest::sample::select;

/// Maximum nesting of generated commands.
const NESTING_MAX: u32 = 3;
const COMMANDS_MAX: u32 = 5;

const OLD: &[&str] =
    &["a.txt", "b.txt", "two words", "dir/a.txt", "./a.txt", "link/c.txt", "dir/../b.txt"];
const NEW: &[&str] = &["new", "dir/new", "other new", "link/new", "./it's"];
const DIRECTORIES: &[&str] = &["dir", "dir/sub", "link", "..", "dir/..", "missing", "."];

/// No template opens the pipes, because that would block. The words in capitals stand for a file, a
/// new one, or a directory.
const TEMPLATES: &[&str] = &[
    "cat OLD",
    "cat -n OLD OLD",
    "cat -s -- OLD",
    "head -n 1 OLD",
    "head -2 OLD",
    "tail -n +2 OLD",
    "tail -c3 OLD",
    "wc -l OLD OLD",
    "sort OLD",
    "sort -k 2 OLD -o NEW",
    "sort -uoNEW OLD",
    "sort --output=NEW OLD",
    "sort --outp NEW OLD",
    "uniq OLD NEW",
    "uniq -c OLD",
    "cut -d ' ' -f 1 OLD",
    "nl -b a OLD",
    "tac OLD",
    "tac -s x OLD",
    "grep a OLD",
    "grep -rn -e a -- DIR",
    "grep -f OLD OLD",
    "grep -rs a",
    "grep --directories=recurse a",
    "grep a",
    "grep -c --regexp=a OLD",
    "grep -A1 --max-count 1 a OLD",
    "ls",
    "ls -la DIR",
    "stat -c %n OLD",
    "diff OLD OLD",
    "diff -U 1 OLD OLD",
    "cmp -n 2 OLD OLD",
    "od -A x -N 4 OLD",
    "xxd OLD",
    "xxd -l 2 OLD NEW",
    "xxd -ps OLD",
    "strings -n 2 OLD",
    "md5sum OLD",
    "sha256sum OLD OLD",
    "base64 -w 0 OLD",
    "touch NEW",
    "touch -d 2020-01-01 NEW OLD",
    "touch -r OLD NEW",
    "mkdir NEW",
    "mkdir -p NEW/x/y",
    "mkdir -m 700 NEW",
    "rmdir NEW",
    "rm OLD",
    "rm -f NEW OLD",
    "rm -rf DIR/x",
    "unlink OLD",
    "cp OLD NEW",
    "cp OLD OLD DIR",
    "cp -r dir NEW",
    "cp -t DIR OLD",
    "cp -p --target-directory=DIR OLD",
    "cp --target DIR OLD",
    "mv OLD NEW",
    "mv OLD DIR",
    "mv -tDIR OLD",
    "mv -T OLD NEW",
    "ln OLD NEW",
    "ln -s OLD NEW",
    "ln -sf a.txt",
    "ln -st DIR OLD",
    "tee NEW",
    "tee -a OLD NEW",
    "chmod 600 OLD",
    "chmod u+x,g-w OLD",
    "chmod -x OLD",
    "chmod -R 700 DIR",
    "chmod --reference=OLD OLD",
    "chown 0 OLD",
    "truncate -s 2 OLD",
    "truncate -s1 NEW",
    "install -m 644 OLD NEW",
    "install -d NEW",
    "install -D OLD NEW/x/y",
    "install -t DIR OLD",
    "mkfifo pipe dir/pipe",
    "mknod -m 600 pipe p",
    "dd if=OLD of=NEW bs=1 count=2 status=none",
    "shred -n 1 -u OLD",
    "sed -n 1p OLD",
    "sed s/a/b/ OLD",
    "sed -i s/a/b/ OLD",
    "sed -i.bak -e '1d;$d' OLD OLD",
    "sed -nE -i '/a+/p' OLD",
    "awk '{print $1}' OLD OLD",
    "awk -F: -v x=1 '$1 == x' OLD",
    "tar -cf NEW OLD OLD",
    "tar cf NEW OLD dir",
    "tar -C dir -cf NEW a.txt",
    "tar cvfC NEW dir sub",
    "tar --create --file=NEW -- OLD",
    "tar tf OLD",
    "perl -pe s/a/b/ OLD OLD",
    "perl -i -pe s/a/b/ OLD",
    "perl -i.bak -ne print OLD",
    "git diff --no-index OLD OLD",
    "git -C dir diff --no-index a.txt ../b.txt",
    "find DIR -name '*.txt'",
    "find -L . -type f",
    "find DIR -name new -delete",
    "find . -maxdepth 1 -fprint NEW",
    "echo a",
    "printf '%s\\n' a",
    "true",
    "false",
    "test -f OLD",
    "[ -d DIR ]",
    "cd DIR",
    "cd -- DIR",
    "cd -P DIR",
    "command cd DIR",
    ": ok",
    "basename OLD",
];

const PREFIXES: &[&str] = &[
    "",
    "",
    "",
    "",
    "nice ",
    "nice -n 5 ",
    "env A=1 ",
    "env -u B ",
    "timeout 9 ",
    "timeout -k 1 9s ",
    "nohup ",
    "command ",
    "setsid -w ",
    "A=1 ",
    "! ",
    "time ",
    "stdbuf -o0 ",
];

const REDIRECTS: &[&str] = &[
    "",
    "",
    "",
    "",
    " > NEW",
    " >> OLD",
    " 2> NEW",
    " &> NEW",
    " < OLD",
    " > /dev/null",
    " 2>&1",
    " <> NEW",
    " >| OLD",
    " > NEW 2>&1 < OLD",
    " <<< a",
];

/// Generates lines.
pub(crate) fn line() -> impl Strategy<Value = String> {
    command().prop_recursive(NESTING_MAX, COMMANDS_MAX, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (two.clone(), select(vec!["; ", " && ", " || ", " | ", "\n", " & ", " |& "]))
                .prop_map(|((one, two), join)| format!("{one}{join}{two}")),
            inner.clone().prop_map(|one| format!("({one})")),
            (inner.clone(), redirect()).prop_map(|(one, to)| format!("{{ {one}; }}{to}")),
            two.clone().prop_map(|(one, two)| format!("if {one}; then {two}; fi")),
            two.clone().prop_map(|(one, two)| format!("if {one}; then {two}; else {one}; fi")),
            inner.clone().prop_map(|one| format!("for x in 1 2; do {one}; done")),
            inner.clone().prop_map(|one| format!("while {one}; do break; done")),
            inner.clone().prop_map(|one| format!("case a in a|b) {one};; *) false;; esac")),
            inner.clone().prop_map(|one| format!("fun() {{ {one}; }}; fun")),
            two.prop_map(|(one, two)| format!("fun() {{ {one}; }}; {two} && fun")),
            inner.prop_map(|one| format!("bash -c {}", single_quoted(&one))),
        ]
    })
}

fn command() -> impl Strategy<Value = String> {
    let simple = (select(PREFIXES), select(TEMPLATES), redirect());
    let plain =
        simple.prop_map(|(prefix, command, redirect)| format!("{prefix}{command}{redirect}"));
    let document = select(TEMPLATES).prop_map(|command| format!("{command} <<'END'\nrm $x\nEND\n"));
    prop_oneof![15 => plain, 1 => document].prop_flat_map(filled)
}

fn redirect() -> impl Strategy<Value = &'static str> {
    select(REDIRECTS)
}

/// Replaces the markers with files.
fn filled(template: String) -> impl Strategy<Value = String> {
    let paths = (quoted(OLD), quoted(OLD), quoted(NEW), quoted(DIRECTORIES));
    paths.prop_map(move |(first, second, new, directory)| {
        let text = template.replacen("OLD", &first, 1).replace("OLD", &second);
        text.replace("NEW", &new).replace("DIR", &directory)
    })
}

fn quoted(paths: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(paths), 0..5_u8).prop_map(|(path, style)| match style {
        0 => single_quoted(path),
        1 => format!("\"{path}\""),
        2 => format!("$'{}'", path.replace('\'', "\\'")),
        _ => path.replace(' ', "\\ ").replace('\'', "\\'"),
    })
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
