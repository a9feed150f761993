use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn spec(argv: Value, parameters: Value) -> CommandToolSpec {
    CommandToolSpec {
        id: ToolId::parse("shown").unwrap(),
        description: "Shows something".to_owned(),
        parameters,
        argv: serde_json::from_value(argv).unwrap(),
        allow_dash: Vec::new(),
        cwd: None,
        timeout_ms: None,
        effect: Effect::Once,
        dangerous: true,
        requires: None,
        kind: ToolKind::Execute,
    }
}

fn properties(properties: &Value) -> Value {
    json!({ "properties": properties })
}

fn check_problems(spec: CommandToolSpec, expect: &Expect) {
    let problems = command_tool(spec).err().unwrap_or_default();
    let line = |problem: &CommandToolProblem| match problem.item {
        Some(item) => format!("{}[{item}] {}\n", problem.key, problem.message),
        None => format!("{} {}\n", problem.key, problem.message),
    };
    expect.assert_eq(&problems.iter().map(line).collect::<String>());
}

fn log() -> CommandToolSpec {
    let described = json!({
        "count": { "type": "integer" },
        "path": { "type": "string" },
        "flags": { "type": "array", "items": { "enum": ["--stat", "--oneline"] } },
        "since": { "type": "string" },
        "colour": { "type": "boolean" },
    });
    let argv = json!([
        "git",
        "log",
        "{flags}",
        ["-n", "{count}"],
        "--since={since}",
        "--color={colour}",
        "--",
        "{path}"
    ]);
    CommandToolSpec { allow_dash: vec!["flags".to_owned()], ..spec(argv, properties(&described)) }
}

/// Returns the words, or the message of the refusal.
fn filled(spec: &CommandToolSpec, input: &Value) -> String {
    let template = check::check_spec(spec).map_err(|problems| format!("{problems:?}"));
    match template.unwrap().template.fill(input) {
        Ok(words) => format!("{words:?}"),
        Err(err) => err.message,
    }
}

#[test]
fn a_value_is_one_word_whatever_is_in_it() {
    let check = |input: Value, expect: &str| assert_eq!(filled(&log(), &input), expect, "{input}");
    check(json!({}), r#"["git", "log", "--"]"#);
    check(
        json!({"count": 3, "path": "a b; rm -rf $HOME\n'", "colour": false}),
        r#"["git", "log", "-n", "3", "--color=false", "--", "a b; rm -rf $HOME\n'"]"#,
    );
    check(
        json!({"flags": ["--stat", "--oneline"], "since": "--x", "count": null}),
        r#"["git", "log", "--stat", "--oneline", "--since=--x", "--"]"#,
    );
    check(json!({"flags": [], "path": ""}), r#"["git", "log", "--", ""]"#);
    check(json!({"path": "--output=x"}), r#"["git", "log", "--", "--output=x"]"#);
    check(
        json!({"count": -1}),
        "count: \"-1\" begins with a dash, so that the program would take it for an option: give a value that does not, \
         such as ./-1 for a file",
    );
    check(
        json!({"path": "a\0b"}),
        "path: expected a text, a number, true or false, found a text with a NUL character",
    );
    check(json!({"path": ["a"]}), r#"["git", "log", "--", "a"]"#);
    check(json!({"since": ["a"]}), "since: expected a text, a number, true or false, found a list");
    check(
        json!({"flags": [{}]}),
        "flags: expected a text, a number, true or false, found an object",
    );
}

#[test]
fn braces_are_written_twice() {
    let described = properties(&json!({"field": {"type": "integer"}}));
    let awk = spec(json!(["awk", "{{print ${field}}}"]), described);
    assert_eq!(filled(&awk, &json!({"field": 2})), r#"["awk", "{print $2}"]"#);
}

#[test]
fn a_dash_is_refused_in_each_entry_before_the_operands() {
    let described = properties(&json!({"files": {"type": "array", "items": {"type": "string"}}}));
    let rm = |argv: Value| spec(argv, described.clone());
    let input = json!({"files": ["a", "-rf"]});
    assert!(filled(&rm(json!(["rm", "{files}"])), &input).contains("\"-rf\" begins with a dash"));
    assert_eq!(filled(&rm(json!(["rm", "--", "{files}"])), &input), r#"["rm", "--", "a", "-rf"]"#);
    assert_eq!(
        filled(&rm(json!(["rm", ["--", "{files}"]])), &input),
        r#"["rm", "--", "a", "-rf"]"#
    );
}

#[test]
fn operands_begin_only_after_the_word_that_says_so() {
    let text = || json!({"type": "string"});
    let described = properties(&json!({"path": text(), "revision": text()}));
    let check = |argv: Value, input: Value, expect: &str| {
        let words = filled(&spec(argv.clone(), described.clone()), &input);
        assert!(words.contains(expect), "{argv} with {input}: {words}");
    };
    let refused = "\"--output=x\" begins with a dash";
    // The group that would have ended the options is left out.
    let argv = || json!(["git", "show", ["--", "{path}"], "{revision}"]);
    check(argv(), json!({"revision": "--output=x"}), refused);
    check(argv(), json!({"revision": "--output=x", "path": "a"}), r#""--", "a", "--output=x""#);
    // A word before it in the group is still an option.
    let argv = json!(["git", "show", ["{revision}", "--", "{path}"]]);
    check(argv, json!({"revision": "--output=x", "path": "-a"}), refused);
}

#[test]
fn everything_wrong_is_said_at_once() {
    let unusable = CommandToolSpec {
        description: " ".to_owned(),
        timeout_ms: Some(0),
        cwd: Some(String::new()),
        allow_dash: vec!["nothing".to_owned()],
        ..spec(
            json!(["{program}", "--{list}", [], "{missing}"]),
            json!({
                "properties": {
                    "program": {"type": "string"},
                    "list": {"type": "array", "items": {"type": "object"}},
                    "unused": {"type": "string"},
                    "untyped": {},
                },
                "required": ["absent"],
            }),
        )
    };
    check_problems(
        unusable,
        &expect![[r#"
        description description: expected what the tool is for, found nothing
        timeout_ms timeout_ms: expected 1 to 3600000 milliseconds, found 0
        cwd cwd: expected 1 to 1024 characters, found 0
        parameters parameters: list cannot be a word: expected boolean, integer, number, string or an array of them, found object
        parameters parameters: untyped cannot be a word: expected a type, one of boolean, integer, number, string, or array
        parameters parameters: absent is required and not described
        argv[0] argv: expected the program first, as a word without parameters
        argv[2] argv: expected words in the group, found none
        argv[1] argv: {list} is a list, which is several words: write it alone
        argv[3] argv: {missing} is no parameter: describe it in parameters.properties
        parameters parameters: unused is used nowhere: write {unused} into argv
        parameters parameters: untyped is used nowhere: write {untyped} into argv
        allow_dash[0] allow_dash: no parameter is called "nothing"
    "#]],
    );
    check_problems(
        spec(json!(["git", "{}", "{a", "a}", "{{a}}"]), properties(&json!({}))),
        &expect![[r#"
            argv[1] argv: "{}": expected a parameter in braces, as in {path}; a brace itself is written twice
            argv[2] argv: "{a": expected a parameter in braces, as in {path}; a brace itself is written twice
            argv[3] argv: "a}": expected a parameter in braces, as in {path}; a brace itself is written twice
        "#]],
    );
    check_problems(
        spec(json!([]), json!([])),
        &expect![[r#"
        parameters parameters: expected a table, which is a JSON Schema
        argv argv: expected a program and its arguments, found nothing
    "#]],
    );
    check_problems(
        spec(json!(["ls"]), json!({"type": "string", "properties": []})),
        &expect![[r#"
            parameters parameters: expected type = "object", or no type
            parameters parameters: expected properties to be a table of parameters
        "#]],
    );
    check_problems(log(), &expect![[""]]);
}

#[test]
fn no_value_becomes_code() {
    let described = properties(&json!({"x": {"type": "string"}}));
    let refused = |argv: Value| {
        let problems = command_tool(spec(argv, described.clone())).err().unwrap_or_default();
        problems.iter().any(|problem| problem.message.contains("would be run as code"))
    };
    for argv in [
        json!(["sh", "-c", "{x}"]),
        json!(["/bin/bash", "-lc", "echo {x}"]),
        json!(["env", "A=b", "python3", "-c", "{x}"]),
        json!(["node", ["-e", "{x}"]]),
        json!(["perl", "-ne", "{x}"]),
        json!(["bash", "-cx", "{x}"]),
        json!(["perl", "-e{x}"]),
        json!(["node", "--eval={x}"]),
        json!(["awk", "{x}", "notes.txt"]),
        json!(["sed", "-e", "{x}", "notes.txt"]),
        json!(["env", "-S", "{x}"]),
        json!(["timeout", "5", "{x}"]),
        json!(["python3", "{x}"]),
    ] {
        assert!(refused(argv.clone()), "{argv}");
    }
    for argv in [
        json!(["sh", "-c", "wc -l < \"$1\"", "sh", "{x}"]),
        json!(["grep", "-e", "{x}"]),
        json!(["grep", "-e{x}"]),
        json!(["python3", "tool.py", "--name={x}"]),
    ] {
        assert!(!refused(argv.clone()), "{argv}");
    }
}

fn contract(spec: CommandToolSpec) -> haft_contract::Contract {
    let tool = command_tool(spec).unwrap();
    let contract = tool.valid_contract().unwrap();
    haft_contract::Contract::clone(contract)
}

#[test]
fn what_is_published_is_what_the_command_needs() {
    let programs = |argv: Value| {
        let described = properties(&json!({"x": {"type": "string"}}));
        let shell = contract(spec(argv, described)).requires.shell;
        shell.into_iter().map(|one| one.cmd).collect::<Vec<_>>()
    };
    assert_eq!(programs(json!(["git", "log", "{x}"])), ["git"]);
    assert_eq!(programs(json!(["timeout", "5", "make", "{x}"])), ["make", "timeout"]);
    let published = contract(log());
    assert_eq!(published.origin, ToolOrigin::Declared);
    assert_eq!(published.parameters["additionalProperties"], json!(false));
    assert_eq!(published.requires.fs, workspace_write_requirements().fs);
    let reading = CommandToolSpec { effect: Effect::Read, ..log() };
    assert_eq!(contract(reading).requires.fs, workspace_read_requirements().fs);
}

#[test]
fn a_command_names_further_programs_and_capabilities() {
    let described = properties(&json!({"target": {"type": "string"}}));
    let shell = vec![ShellRequirement { cmd: "ls".to_owned(), args: None }];
    let requires = RequirementSet {
        shell,
        capabilities: vec!["mail".to_owned()],
        ..RequirementSet::default()
    };
    let declared = spec(json!(["make", "{target}"]), described);
    let declared = CommandToolSpec { requires: Some(requires), ..declared };
    let published = contract(declared.clone()).requires;
    assert_eq!(published.capabilities, ["mail"]);
    let programs: Vec<&str> = published.shell.iter().map(|it| it.cmd.as_str()).collect();
    assert!(programs.contains(&"ls") && programs.contains(&"make"), "{programs:?}");
    let accesses = command_tool(declared).unwrap().accesses(&json!({"target": "all"})).unwrap();
    assert!(accesses.contains(&Access::Named { name: "mail".to_owned() }), "{accesses:?}");
}

#[test]
fn a_command_is_judged_as_bash_judges_it() {
    let described = properties(&json!({"x": {"type": "array", "items": {"type": "string"}}}));
    let cat = CommandToolSpec {
        cwd: Some("sub".to_owned()),
        ..spec(json!(["cat", "--", "{x}"]), described)
    };
    let tool = command_tool(cat).unwrap();
    let judged = |words: Vec<String>| {
        let accesses = tool.accesses(&json!({ "x": words }));
        accesses.map(|all| serde_json::to_string(&all).unwrap()).map_err(|err| err.message)
    };
    expect![[r#"[{"capability":"shell.run","command":{"argv":["cat","--","../a","b"]}},{"capability":"fs.read","path":"sub/../a"},{"capability":"fs.read","path":"sub/b"},{"capability":"fs.read","path":"sub"}]"#]].assert_eq(&judged(vec!["../a".to_owned(), "b".to_owned()]).unwrap());
    let many = |count: usize| vec!["a".to_owned(); count];
    assert!(judged(many(BASH_ARGS_MAX - 1)).is_ok());
    assert_eq!(
        judged(many(BASH_ARGS_MAX)),
        Err("the command would have 129 arguments: expected at most 128".to_owned())
    );
    assert!(judged(vec!["é".repeat(BASH_ARG_CHARS_MAX)]).is_ok());
    assert_eq!(
        judged(vec!["é".repeat(BASH_ARG_CHARS_MAX + 1)]),
        Err("an argument of the command would have 8193 characters: expected at most 8192"
            .to_owned())
    );
}
