//! Properties of every line.

use haft_shell::analyze_line;
use proptest::prelude::*;
use proptest::sample::select;

fn argv() -> impl Strategy<Value = Vec<String>> {
    // A program that the analysis does not know, and arguments of all kinds.
    (
        select(vec!["cargo", "zig", "./run.sh", "/opt/x y"]),
        proptest::collection::vec("[ -~\n]{0,6}|é", 0..4),
    )
        .prop_map(|(program, arguments)| {
            std::iter::once(program.to_owned()).chain(arguments).collect()
        })
}

fn spelled(argv: &[String]) -> String {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r#"'"'"'"#));
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

proptest! {
    #[test]
    fn commands_that_are_spelled_out_come_back(
        commands in proptest::collection::vec(argv(), 1..5),
        join in select(vec!["; ", " && ", " || ", " | ", "\n", " & ", ";\n# a comment\n"]),
        around in select(vec![("", ""), ("(", ")"), ("{ ", "\n}"), ("if ", "\nthen :\nfi"), ("! ", "")]),
    ) {
        let lines: Vec<_> = commands.iter().map(|argv| spelled(argv)).collect();
        let line = format!("{}{}{}", around.0, lines.join(join), around.1);
        let judgement = analyze_line(&line);
        if judgement.unknown.is_empty() {
            let found: Vec<_> = judgement.commands.iter().filter_map(|command| command.argv()).collect();
            for argv in &commands {
                prop_assert!(found.contains(argv), "{argv:?} is not in {line:?}");
            }
            let is_spelled = |argv: &&Vec<String>| commands.contains(argv) || argv.first().is_some_and(|it| it == ":");
            prop_assert_eq!(found.iter().filter(is_spelled).count(), found.len());
        }
    }

    #[test]
    fn never_panics(line in "([a-z \\\\'\"$(){}`<>&|;=\n*\\[\\]~#!]|rm|if |fi|do |\\$\\(|<<E|cd |bash -c |\u{e9}){0,40}") {
        analyze_line(&line);
    }
}

#[test]
fn plain_commands_are_known() {
    // Without this, the property above would also hold if everything were unknown.
    let judgement = analyze_line(&format!(
        "{}; {}",
        spelled(&["a".into(), "b c".into()]),
        spelled(&["d\ne".into()])
    ));
    assert!(judgement.is_known(), "{judgement:?}");
    assert_eq!(judgement.commands.len(), 2);
}
