//! File arguments of programs whose arguments have their own grammar: archivers, interpreters, git.

use expect_test::{Expect, expect};
use haft_shell::analyze_line;

use super::shown::shown;

/// Compares the findings except the commands themselves.
#[track_caller]
fn check(lines: &[&str], expect: Expect) {
    let mut text = String::new();
    for line in lines {
        let shown = shown(&analyze_line(line));
        let found: Vec<_> = shown.lines().filter(|found| !found.starts_with("run ")).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        text.push_str(&format!("{line}: {found}\n"));
    }
    expect.assert_eq(&text);
}

#[test]
fn archivers_read_what_they_pack() {
    check(
        &[
            "tar c .env",
            "tar -cf out.tar a b",
            "tar czf out.tgz -C dir .",
            "tar cfC out.tar dir a",
            "tar -C a -C b -c x",
            "tar --create --fil=out.tar -- -x",
            "tar -c --exclude a b",
            "tar rf out.tar a",
            "tar -cf - --remove-files a",
            "zip -r out.zip src",
            "zip - a",
            "zip -P secret out a",
        ],
        expect![[r#"
            tar c .env: read .env
            tar -cf out.tar a b: write out.tar, read a, read b
            tar czf out.tgz -C dir .: write out.tgz, read ., read dir
            tar cfC out.tar dir a: write out.tar, read a, read dir/a
            tar -C a -C b -c x: read x, read a/x, read a/b/x
            tar --create --fil=out.tar -- -x: write out.tar, read -x
            tar -c --exclude a b: read b
            tar rf out.tar a: read out.tar, write out.tar, read a
            tar -cf - --remove-files a: read a, write a
            zip -r out.zip src: read src, read out.zip, write out.zip
            zip - a: read a
            zip -P secret out a: read a, read out, write out, read out.zip, write out.zip
        "#]],
    );
}

#[test]
fn archivers_write_what_they_unpack() {
    check(
        &[
            "tar xf a.tar",
            "tar -xf a.tar -C dir a",
            "tar tf a.tar",
            "tar df a.tar",
            "tar f a.tar",
            "unzip a.zip",
            "unzip a.zip b -d dir",
        ],
        expect![[r#"
            tar xf a.tar: read a.tar, write .
            tar -xf a.tar -C dir a: read a.tar, write ., write dir
            tar tf a.tar: read a.tar
            tar df a.tar: read a.tar, read .
            tar f a.tar: read a.tar, write .
            unzip a.zip: read a.zip, write .
            unzip a.zip b -d dir: write dir, read a.zip
        "#]],
    );
}

#[test]
fn archivers_that_are_given_lists_are_unknown() {
    check(
        &[
            "tar cT list",
            "tar -c --files-from=list",
            "tar xPf a.tar",
            "zip out -@",
            "zip -rm out a",
        ],
        expect![[r#"
            tar cT list: unknown "tar cT list": it touches files that it does not name
            tar -c --files-from=list: unknown "tar -c --files-from=list": it touches files that it does not name
            tar xPf a.tar: read a.tar, write ., unknown "tar xPf a.tar": it touches files that it does not name
            zip out -@: read out, write out, read out.zip, write out.zip, unknown "zip out -@": it touches files that it does not name
            zip -rm out a: read a, read out, write out, read out.zip, write out.zip, unknown "zip -rm out a": it touches files that it does not name
        "#]],
    );
}

#[test]
fn interpreters_read_their_script() {
    check(
        &[
            "python3 -u run.py --all x",
            "python3.11 -W ignore run.py",
            "python -c 'print(1)' a",
            "python -m http.server",
            "node --require ./a.js run.js x",
            "node -e 1 a",
            "ruby -rjson run.rb a",
            "perl run.pl a",
            "python3 -",
        ],
        expect![[r#"
            python3 -u run.py --all x: read run.py
            python3.11 -W ignore run.py: read run.py
            python -c 'print(1)' a: nothing
            python -m http.server: nothing
            node --require ./a.js run.js x: read run.js
            node -e 1 a: nothing
            ruby -rjson run.rb a: read run.rb
            perl run.pl a: read run.pl
            python3 -: nothing
        "#]],
    );
}

#[test]
fn lines_of_perl_and_ruby_read_what_they_are_given() {
    check(
        &[
            "perl -pe 1 .env",
            "perl -0777 -ne print a b",
            "perl -MData::Dumper -e 'print <>' .env",
            "perl -i.bak -pe s/a/b/ dir/a",
            "perl -i'old/*' -pe s/a/b/ dir/a",
            "perl -pi -e s/a/b/ a",
            "perl -n run.pl a",
            "ruby -ne print a",
        ],
        expect![[r#"
            perl -pe 1 .env: read .env
            perl -0777 -ne print a b: read a, read b
            perl -MData::Dumper -e 'print <>' .env: read .env
            perl -i.bak -pe s/a/b/ dir/a: read dir/a, write dir/a, write dir/a.bak
            perl -i'old/*' -pe s/a/b/ dir/a: read dir/a, write dir/a, write old/a
            perl -pi -e s/a/b/ a: read a, write a
            perl -n run.pl a: read run.pl, read a
            ruby -ne print a: read a
        "#]],
    );
}

#[test]
fn git_reads_files_that_it_is_given_by_name() {
    check(
        &[
            "git diff --no-index /dev/null .env",
            "git diff -- .env",
            "git diff HEAD~1",
            "git diff /etc/hosts .env",
            "git -C a -C b blame x",
            "git -c user.name=x log -p -- a",
            "git grep --no-index secret",
            "git grep --no-index secret a",
            "git grep secret",
            "git -C a grep secret HEAD",
            "git grep secret -- b c",
            "git grep secret --",
            "git show --output=a HEAD",
            "git log --output a",
            "git push",
        ],
        expect![[r#"
            git diff --no-index /dev/null .env: read .env
            git diff -- .env: read .env
            git diff HEAD~1: nothing
            git diff /etc/hosts .env: read /etc/hosts, read .env
            git -C a -C b blame x: read a/b/x
            git -c user.name=x log -p -- a: read a
            git grep --no-index secret: read .
            git grep --no-index secret a: read secret, read a
            git grep secret: read .
            git -C a grep secret HEAD: read a
            git grep secret -- b c: read b, read c
            git grep secret --: read .
            git show --output=a HEAD: write a
            git log --output a: write a
            git push: nothing
        "#]],
    );
}
