//! Options that stand between a program and its subcommand: `git -C x push` is a `git push`. Only programs in the table
//! are read so, and only for rules that forbid; what the options do is not known here.

/// A program with subcommands, and the options that may stand in front of one.
struct SubcommandProgram {
    names: &'static [&'static str],
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// Options that stand alone. The word after any other option may be its value, or the subcommand.
    flags: &'static [&'static str],
}

/// Options of git itself whose value is the next word.
pub(crate) const GIT_OPTIONS_WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

const PROGRAMS: &[SubcommandProgram] = &[
    SubcommandProgram {
        names: &["git"],
        with_value: GIT_OPTIONS_WITH_VALUE,
        flags: &[
            "-P",
            "-p",
            "--bare",
            "--glob-pathspecs",
            "--icase-pathspecs",
            "--literal-pathspecs",
            "--no-advice",
            "--no-lazy-fetch",
            "--no-optional-locks",
            "--no-pager",
            "--no-replace-objects",
            "--noglob-pathspecs",
            "--paginate",
        ],
    },
    SubcommandProgram {
        names: &["cargo"],
        with_value: &["-C", "-Z", "--color", "--config"],
        flags: &["-q", "-v", "-vv", "--frozen", "--locked", "--offline", "--quiet", "--verbose"],
    },
    SubcommandProgram {
        names: &["bun", "npm", "pnpm", "yarn"],
        with_value: &[
            "-C",
            "-w",
            "--cache",
            "--cwd",
            "--dir",
            "--filter",
            "--loglevel",
            "--prefix",
            "--registry",
            "--tag",
            "--userconfig",
            "--workspace",
        ],
        flags: &["-d", "-g", "-s", "--force", "--global", "--json", "--silent", "--verbose"],
    },
    SubcommandProgram {
        names: &["docker", "podman"],
        with_value: &[
            "-H",
            "-c",
            "-l",
            "--config",
            "--connection",
            "--context",
            "--host",
            "--log-level",
            "--tlscacert",
            "--tlscert",
            "--tlskey",
            "--url",
        ],
        flags: &["-D", "--debug", "--remote", "--tls", "--tlsverify"],
    },
    SubcommandProgram {
        names: &["helm", "kubectl"],
        with_value: &[
            "-n",
            "-s",
            "--as",
            "--as-group",
            "--cluster",
            "--context",
            "--kube-context",
            "--kubeconfig",
            "--namespace",
            "--request-timeout",
            "--server",
            "--token",
            "--user",
            "--v",
        ],
        flags: &["--debug", "--insecure-skip-tls-verify", "--warnings-as-errors"],
    },
    SubcommandProgram {
        names: &["apt", "apt-get", "systemctl"],
        with_value: &["-H", "-M", "-c", "-o", "--host", "--machine", "--option", "--root"],
        flags: &["-q", "-qq", "-y", "--no-pager", "--quiet", "--system", "--user", "--yes"],
    },
    SubcommandProgram {
        names: &["pip", "pip3", "uv"],
        with_value: &["--cache-dir", "--directory", "--log", "--project", "--proxy", "--python"],
        flags: &["-q", "-v", "--isolated", "--offline", "--quiet", "--verbose"],
    },
    SubcommandProgram { names: &["go"], with_value: &["-C"], flags: &[] },
    SubcommandProgram { names: &["terraform", "tofu"], with_value: &[], flags: &[] },
];

/// Returns the arguments from the subcommand on, if options are in front of it. There can be several readings, since an
/// option that is not known may take the next word or not, and a word that is not known may be an option. Then the
/// readings from there on are not certain.
pub(super) fn without_options<'a, 'w>(
    name: &str,
    arguments: &'a [Option<&'w str>],
) -> Vec<(&'a [Option<&'w str>], bool)> {
    let mut is_certain = true;
    let mut found = Vec::new();
    let Some(program) = PROGRAMS.iter().find(|program| program.names.contains(&name)) else {
        return found;
    };
    let mut expected = ExpectedWordKind { option_or_subcommand: true, value: false };
    for (at, word) in arguments.iter().enumerate() {
        let mut next = ExpectedWordKind { option_or_subcommand: expected.value, value: false };
        match word {
            None if expected.option_or_subcommand => {
                is_certain = false;
                let subcommand = arguments.get(at..).filter(|_| at > 0);
                found.extend(subcommand.map(|subcommand| (subcommand, is_certain)));
                next = ExpectedWordKind { option_or_subcommand: true, value: true };
            }
            Some(word) if expected.option_or_subcommand => {
                // `cargo +nightly publish` names a toolchain first.
                let is_toolchain =
                    at == 0 && word.starts_with('+') && program.names.contains(&"cargo");
                if word.starts_with('-') || is_toolchain {
                    let is_whole = *word == "--" || word.starts_with('+') || word.contains('=');
                    // Some programs take a truth value after options that otherwise stand alone.
                    let is_truth = arguments
                        .get(at + 1)
                        .is_some_and(|next| matches!(next, Some("false" | "true")));
                    next.value |= !is_whole && (is_truth || !program.flags.contains(word));
                    next.option_or_subcommand |= !program.with_value.contains(word);
                } else if at > 0 {
                    let subcommand = arguments.get(at..);
                    found.extend(subcommand.map(|subcommand| (subcommand, is_certain)));
                }
            }
            Some(_) | None => {}
        }
        expected = next;
    }
    found
}

/// The kinds that a word may have, by the words in front of it. It can have both.
#[derive(Clone, Copy, Default)]
struct ExpectedWordKind {
    option_or_subcommand: bool,
    value: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &'static str, expected: &[&str]) {
        let word = |word: &'static str| Some(word).filter(|word| *word != "$x");
        let words: Vec<_> = line.split(' ').map(word).collect();
        let (name, arguments) = words.split_first().unwrap();
        let shown = |(words, _): &(&[Option<&str>], bool)| {
            words.iter().map(|word| word.unwrap_or("$x")).collect::<Vec<_>>().join(" ")
        };
        let found: Vec<_> = without_options(name.unwrap(), arguments).iter().map(shown).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn options_in_front_of_a_subcommand_are_left_out() {
        check("git push", &[]);
        check("git -C . push -f", &["push -f"]);
        check("git -c a=b --no-pager -P push", &["push"]);
        check("git --git-dir=x --work-tree y push", &["push"]);
        check("git --no-pager log push", &["log push"]);
        check("git -C -x push", &["push"]);
        check("git -C", &[]);
        check("git commit -m push", &[]);
        check("cargo +nightly publish", &["publish"]);
        check("cargo --locked -Z x --config y publish", &["publish"]);
        check("npm --prefix x publish", &["publish"]);
        check("npm --json true publish", &["true publish", "publish"]);
        check("npm run true publish", &[]);
        check("npm -- publish", &["publish"]);
        check("docker --host=x -D run y", &["run y"]);
        check("kubectl -n x delete pod", &["delete pod"]);
        check("go -C x build", &["build"]);
    }

    #[test]
    fn an_option_that_is_not_known_may_take_a_value_or_not() {
        check("npm --new x publish", &["x publish", "publish"]);
        check("git --new -C x push", &["x push", "push"]);
    }

    #[test]
    fn a_word_that_is_not_known_may_be_an_option_or_a_subcommand() {
        check("git -C $x status", &["status"]);
        check("git $x push", &["push"]);
        check("git -p $x status", &["$x status", "status"]);
        check("git commit -m $x", &[]);
    }

    #[test]
    fn other_programs_are_left_as_they_are() {
        check("rm -rf build", &[]);
        check("gitk --all push", &[]);
    }
}
