//! `haft tools`: the forms that APIs take, whole.

use expect_test::expect;
use serde_json::Value;

use crate::built_in_tools;
use crate::world::World;

#[test]
fn a_list_for_people() {
    let listed = World::new().run(&["tools", "list"]);
    let ids = listed.lines().skip(1).filter_map(|line| line.split(' ').next());
    assert_eq!(ids.collect::<Vec<_>>(), built_in_tools::ids());
    let some = "apply_patch,bash,lsp,repo_overview,todo,web_fetch";
    World::new().check(&["tools", "list", "--tools", some], &expect![[r#"
        TOOL           EFFECT      KIND     DESCRIPTION
        apply_patch    once        edit     Apply a patch to several files, all of it or nothing
        bash           once        execute  Run one command
        lsp            read        search   Ask a language server about code: definitions, references, hover, diagnostics, symbols of a file or project
        repo_overview  read        read     Show what a directory of sources holds: its tree, languages with sizes, and entry points (programs, scripts, build targets, documents)
        todo           idempotent  other    Replace the session's todo list
        web_fetch      read        fetch    Fetch a URL and return its text: the main content of a web page as Markdown, with its title and the URL it was found at; JSON and text as they are; the text of a PDF
        --- status 0
    "#]]);
    World::new().check(
        &["tools", "list", "--profile", "smithers"],
        &expect![[r#"
        TOOL   EFFECT  KIND     DESCRIPTION
        bash   once    execute  Run an executable with arguments
        edit   once    edit     Apply a unified-diff patch to an existing file
        grep   read    search   Search for a regex pattern in files (rg -n)
        read   read    read     Read a UTF-8 file from the sandbox
        write  once    edit     Write content to a file, creating parent directories as needed
        --- status 0
    "#]],
    );
    World::new().check(
        &["tools", "list", "--tools", "read,grep"],
        &expect![[r#"
            TOOL  EFFECT  KIND    DESCRIPTION
            grep  read    search  Search file contents
            read  read    read    Read a text file, or some of its lines (offset, limit)
            --- status 0
        "#]],
    );
}

#[test]
fn one_tool_for_people() {
    World::new().check(
        &["tools", "show", "todo"],
        &expect![[r#"
            todo

            Replace the session's todo list.

            effect     idempotent
            kind       other
            dangerous  no
            requires   nothing
            output     as many bytes as configured

            parameters
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "todos": {
                  "type": "array",
                  "items": {
                    "type": "object",
                    "properties": {
                      "content": {
                        "description": "The text of the entry.",
                        "type": "string"
                      },
                      "status": {
                        "description": "How far it is.",
                        "type": "string",
                        "enum": [
                          "pending",
                          "in_progress",
                          "completed",
                          "cancelled"
                        ]
                      },
                      "priority": {
                        "description": "How important it is.",
                        "type": "string",
                        "enum": [
                          "high",
                          "medium",
                          "low"
                        ]
                      }
                    },
                    "additionalProperties": false,
                    "required": [
                      "content",
                      "status"
                    ]
                  },
                  "description": "The whole list.",
                  "maxItems": 1000
                }
              },
              "required": [
                "todos"
              ]
            }
            --- status 0
        "#]],
    );
}

#[test]
fn no_tool_of_that_name() {
    World::new().check(
        &["tools", "show", "todos"],
        &expect![[r#"
        --- stderr
        error: no tool is called "todos": did you mean todo?

        hint: haft tools list
        --- status 2
    "#]],
    );
}

#[test]
fn one_tool_for_each_api() {
    let world = World::new();
    world.check(&["tools", "show", "glob", "--json"], &expect![[r#"
        {"id":"glob","description":"Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, and hidden files unless the pattern names them (`**/.env*`).","parameters":{"type":"object","additionalProperties":false,"properties":{"pattern":{"type":"string","description":"Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories."},"path":{"type":"string","description":"Directory to look in; default: the root."}},"required":["pattern"]},"requires":{"fs":{"read":["{workspace}/**"]}},"effect":"read","dangerous":false,"kind":"search","output_limit":{"entries":1000},"accepts_key":false,"sideEffect":false,"idempotent":true}
        --- status 0
    "#]]);
    world.check(&["tools", "show", "glob", "--format", "openai"], &expect![[r#"
        {
          "type": "function",
          "function": {
            "name": "glob",
            "description": "Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, and hidden files unless the pattern names them (`**/.env*`).",
            "parameters": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "pattern": {
                  "type": "string",
                  "description": "Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories."
                },
                "path": {
                  "type": "string",
                  "description": "Directory to look in; default: the root."
                }
              },
              "required": [
                "pattern"
              ]
            }
          }
        }
        --- status 0
    "#]]);
    world.check(&["tools", "show", "glob", "--format", "anthropic"], &expect![[r#"
        {
          "name": "glob",
          "description": "Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, and hidden files unless the pattern names them (`**/.env*`).",
          "input_schema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "pattern": {
                "type": "string",
                "description": "Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories."
              },
              "path": {
                "type": "string",
                "description": "Directory to look in; default: the root."
              }
            },
            "required": [
              "pattern"
            ]
          }
        }
        --- status 0
    "#]]);
    world.check(&["tools", "show", "glob", "--format", "gemini"], &expect![[r#"
        {
          "name": "glob",
          "description": "Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, and hidden files unless the pattern names them (`**/.env*`).",
          "parameters": {
            "type": "OBJECT",
            "properties": {
              "pattern": {
                "type": "STRING",
                "description": "Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories."
              },
              "path": {
                "type": "STRING",
                "description": "Directory to look in; default: the root."
              }
            },
            "required": [
              "pattern"
            ]
          }
        }
        --- status 0
    "#]]);
    world.check(&["tools", "show", "glob", "--format", "mcp"], &expect![[r#"
        {
          "name": "glob",
          "description": "Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, and hidden files unless the pattern names them (`**/.env*`).",
          "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "pattern": {
                "type": "string",
                "description": "Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories."
              },
              "path": {
                "type": "string",
                "description": "Directory to look in; default: the root."
              }
            },
            "required": [
              "pattern"
            ]
          },
          "annotations": {
            "readOnlyHint": true,
            "destructiveHint": false,
            "openWorldHint": false
          },
          "_meta": {
            "haft/effect": {
              "sideEffect": false,
              "idempotent": true
            },
            "haft/requires": {
              "fs": {
                "read": [
                  "{workspace}/**"
                ]
              }
            }
          }
        }
        --- status 0
    "#]]);
}

/// A list is the single tools, in the order of their names, in what the API wants around them.
#[test]
fn a_list_for_each_api_holds_what_is_shown_singly() {
    let world = World::new();
    let all = world.json(&["tools", "list", "--format", "json"]);
    let ids: Vec<&str> =
        all.as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted() && ids.len() > 8, "{ids:?}");
    for (format, pointer) in [
        ("json", ""),
        ("openai", ""),
        ("anthropic", ""),
        ("gemini", "/functionDeclarations"),
        ("mcp", "/tools"),
    ] {
        let list = world.json(&["tools", "list", "--format", format]);
        let single = |id: &&str| world.json(&["tools", "show", id, "--format", format]);
        // No agent would take over a task for such a model.
        let listed = ids.iter().filter(|id| format == "json" || **id != "task");
        let expect: Vec<Value> = listed.map(single).collect();
        assert_eq!(list.pointer(pointer), Some(&Value::from(expect)), "{format}");
    }
}

/// Gemini refuses a request with a field that it does not know.
#[test]
fn gemini_gets_no_field_that_it_does_not_know() {
    fn check(schema: &Value) {
        let known = [
            "anyOf",
            "description",
            "enum",
            "items",
            "maxItems",
            "maxLength",
            "maxProperties",
            "maximum",
            "minItems",
            "minLength",
            "minProperties",
            "minimum",
            "nullable",
            "pattern",
            "properties",
            "required",
            "type",
        ];
        for (name, value) in schema.as_object().unwrap() {
            assert!(known.contains(&name.as_str()), "{name}");
            match name.as_str() {
                "properties" => value.as_object().unwrap().values().for_each(check),
                "items" => check(value),
                "anyOf" => value.as_array().unwrap().iter().for_each(check),
                _ => {}
            }
        }
    }
    for profile in ["contract", "smithers"] {
        let args = ["tools", "list", "--format", "gemini", "--profile", profile];
        let list = World::new().json(&args);
        for declaration in list["functionDeclarations"].as_array().unwrap() {
            check(&declaration["parameters"]);
        }
    }
}

#[test]
fn tools_are_found_by_what_they_do() {
    let world = World::new();
    world.check(
        &["tools", "search", "replace", "a", "passage"],
        &expect![[r#"
            TOOL   EFFECT      KIND   DESCRIPTION
            edit   once        edit   Replace an exact passage of a file
            todo   idempotent  other  Replace the session's todo list
            write  once        edit   Create or replace a file; parent directories are made
            --- status 0
        "#]],
    );
    let found = world.json(&["tools", "search", "find files", "--json"]);
    assert_eq!(found[0]["id"], "glob", "{found:#}");
    world.check(
        &["tools", "search", "xylophone"],
        &expect![[r#"
        --- stderr
        error: no tool fits "xylophone": try other words

        hint: haft tools list
        --- status 1
    "#]],
    );
}

/// A Python tool that needs nothing.
const DOUBLE: &str = r#"METADATA = {
    "name": "double",
    "function": "run_double",
    "description": "Returns twice a number.",
    "parameters": {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "The number to double."}},
        "required": ["n"],
    },
}


def run_double(n):
    return 2 * n
"#;

#[test]
fn a_python_tool_is_added_by_its_file() {
    let world = World::with_files();
    world.write("elsewhere/double.py", DOUBLE);
    let file = world.path("elsewhere/double.py");
    let shown =
        world.shown(&world.haft(&["tools", "add", file.to_str().unwrap()]).output().unwrap());
    assert!(
        shown.contains("wrote /world/work/haft.toml\n[[python]]\ndir = \"tools\"\n"),
        "{shown}"
    );
    assert!(shown.contains("copied /world/elsewhere/double.py to tools/double.py"), "{shown}");
    assert_eq!(world.run(&["call", "double", "n=21"]), "42\n");
    // A second file goes to the same directory, and one that is there stays. The same file is only checked again.
    world.write("work/triple.py", &DOUBLE.replace("double", "triple").replace("2 * n", "3 * n"));
    world.run(&["tools", "add", "triple.py"]);
    assert_eq!(world.run(&["call", "triple", "n=2"]), "6\n");
    world.check(
        &["tools", "add", file.to_str().unwrap()],
        &expect![[r#"
            tools/double.py:7: warning: the parameter "n" does not say what it is: a model guesses what to put into it [parameter_vague]
              mend: spell it out, there and in the function, such as "symbol" for "s"
            tools/triple.py:7: warning: the parameter "n" does not say what it is: a model guesses what to put into it [parameter_vague]
              mend: spell it out, there and in the function, such as "symbol" for "s"
            tools: 2 tools, 0 errors, 2 warnings
            --- status 0
        "#]],
    );
    world.write("elsewhere/double.py", &DOUBLE.replace("2 * n", "n + n"));
    world.check(
        &["tools", "add", file.to_str().unwrap()],
        &expect![[r#"
            --- stderr
            error: tools/double.py exists already with another content and is left as it is: edit it, or put /world/elsewhere/double.py in its place

            hint: cp /world/elsewhere/double.py tools/double.py
            --- status 2
        "#]],
    );
    // A file in another directory stays where it is.
    world.write("work/more/quad.py", &DOUBLE.replace("double", "quad").replace("2 * n", "4 * n"));
    world.run(&["tools", "add", "more/quad.py"]);
    assert_eq!(world.run(&["call", "quad", "n=2"]), "8\n");
    assert!(!world.path("work/tools/quad.py").exists());
    world.check(
        &["tools", "add", "notes.txt"],
        &expect![[r#"
            --- stderr
            error: notes.txt is no Python tool: expected a file whose name ends in .py

            hint: haft tools add FILE.py
            --- status 2
        "#]],
    );
}

#[test]
fn a_file_that_is_no_tool_changes_nothing() {
    let world = World::with_files();
    let broken = DOUBLE.replace("\"function\": \"run_double\",", "\"function\": \"double\",");
    world.write("work/double.py", &broken);
    let add = ["tools", "add", "./double.py"];
    let refused = world.shown(&world.haft(&add).output().unwrap());
    let first = "--- stderr\nerror: double.py is no tool that can be offered, so nothing was changed\ndouble.py:";
    assert!(refused.starts_with(first), "{refused}");
    assert!(refused.contains("  mend: ") && refused.ends_with("--- status 1\n"), "{refused}");
    assert_eq!(crate::world::names(&world.path("work")), ["double.py", "notes.txt", "src"]);
    // Once it is mended, the same command adds it.
    world.write("work/double.py", DOUBLE);
    world.run(&add);
    assert_eq!(world.run(&["call", "double", "n=21"]), "42\n");
    // A file in its own directory is not offered either, and haft.toml stays as it is.
    let manifest = world.read("work/haft.toml");
    world.write("work/more/double_again.py", &broken);
    assert_eq!(
        world.haft(&["tools", "add", "more/double_again.py"]).output().unwrap().status.code(),
        Some(1)
    );
    assert_eq!(world.read("work/haft.toml"), manifest);
}
