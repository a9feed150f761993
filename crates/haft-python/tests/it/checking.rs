//! Parsing files without running them, and the problems that are found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::{Expect, expect};
use haft_python::{
    MetadataProblemCode, RegistryFile, SourceFile, ToolDirectory, compare_directories,
};

use crate::stage::{MemoryCache, checked, fixtures, readings};

#[tokio::test]
async fn every_problem_of_every_file_is_reported_at_once() {
    let (listing, checked) = checked(&ToolDirectory::new(fixtures("checked"))).await;
    assert_eq!(listing.problems, []);
    expect![[r#"
        WEATHER_FETCHER.py:14: warning: the tool may change files and says neither side_effect nor dangerous: it counts as one with a side effect, and plans run it without anybody having named it [not_dangerous]
          mend: add "dangerous": True, or "side_effect": True if its changes are harmless; leave fs.write out if it changes nothing
        accounts.py:1: warning: there is neither a description nor a documentation of the function: a model sees the name alone [undescribed]
          mend: add "description": "..." with what it answers and when to use it
        accounts.py:3: error: the function's name "run" does not say what it does [function_vague]
          mend: name it after its single purpose, such as run_finance_price, there and in METADATA
        accounts.py:4: error: parameters is empty, so the tool's parameters are unknown [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        broken.py:1: error: the file is not Python: '{' was never closed [syntax]
          mend: make it run under the interpreter of the directory
        changed_later.py:2: error: METADATA is set or changed by code here, which only running the file would do [metadata_code]
          mend: write METADATA once, at the top level, with its values spelled out: the file is not run to find them
        computed.py:6: error: parameters is a name, which only running the file would give a value [metadata_code]
          mend: write METADATA once, at the top level, with its values spelled out: the file is not run to find them
        misfit.py:1: error: the file imports from its package, and no package_root is configured for the directory [package]
          mend: set package_root to the directory that holds the top package
        misfit.py:4: error: the name "Misfit-Tool" cannot be a tool's id: expected lower-case words of letters, digits and underscores, joined by dots, at most 64 characters [name_invalid]
          mend: call it "misfit_tool"
        misfit.py:5: error: the file has no function misfit [function_missing]
          mend: write "function": "run_misfit", or rename that function to misfit
        misfit.py:6: error: dangerous is "no", expected True or False [field]
          mend: write "dangerous": True or "dangerous": False
        misfit.py:7: warning: the tool has a side effect and is not marked dangerous, so plans run it without anybody having named it [not_dangerous]
          mend: add "dangerous": True if it changes files or data, sends anything or costs anything
        misfit.py:7: warning: a repeat of this tool's effect cannot be distinguished from a new call, because it does not take its key [no_key]
          mend: add "context": True and hand context["idempotency_key"] on, or add "idempotent": True if a repeat changes nothing
        misfit.py:8: error: timeout is 0, expected seconds, more than 0 and at most 3600 [field]
          mend: write the number of seconds that one call may take
        misfit.py:9: warning: the key "Output-Type" means nothing to haft; it is kept [unknown_key]
          mend: write it "output_type"
        misfit.py:10: warning: the key "author" means nothing to haft; it is kept [unknown_key]
          mend: leave it out, or put it under "notes"
        misfit.py:14: error: the parameter "city" has enum and no type [untyped]
          mend: add "type": "string" beside enum
        misfit.py:15: error: the parameter "count" has the type "int", which JSON Schema does not know [untyped]
          mend: write "type": "integer"
        misfit.py:16: error: the parameter "class" cannot be the name of an argument in Python [not_in_function]
          mend: use letters, digits and underscores, and no word of the language
        misfit.py:17: warning: the parameter "filters" is an object, whose parts models often put in the wrong place [nested]
          mend: make each part of it a separate parameter, unless the parts belong together
        misfit.py:17: error: the parameter "since" has no type [untyped]
          mend: add "type": one of string, number, integer, boolean, object, array, or a list of them
        misfit.py:19: error: required names "town", which is not a parameter [required]
          mend: add "town" to the properties, or take it out of required
        misfit.py:22: error: "/etc/**" is outside the workspace, and METADATA grants nothing there: what every program of the machine reads, such as most of /etc, a tool reads without asking [requires]
          mend: leave it out; for a directory of your own add it to roots in haft.toml, or to readable of the [[python]] entry
        misfit.py:22: warning: reading cannot be limited to "data/**": the tool's process sees all of the workspace [requires]
          mend: leave it out, which grants reading the workspace
        misfit.py:22: error: a process cannot be restricted to writing "out/*.txt": only whole directories can be confined [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        misfit.py:22: error: "../up/**" is outside the workspace, where tools change nothing [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        misfit.py:23: error: "https://example.com/x" is not a host [requires]
          mend: name the host alone, such as "api.example.com" or "*.example.com", without scheme, port and path
        misfit.py:24: warning: shell means nothing for a Python tool: what it starts is confined with it [requires]
          mend: leave it out
        mismatch.py:5: warning: a repeat of this tool's effect cannot be distinguished from a new call, because it does not take its key [no_key]
          mend: add "context": True and hand context["idempotency_key"] on, or add "idempotent": True if a repeat changes nothing
        mismatch.py:9: error: find_mismatch takes first by its place alone, and arguments are passed by name [not_in_function]
          mend: take the / out of its parameters
        mismatch.py:12: error: find_mismatch takes no parameter fourth [not_in_function]
          mend: add fourth to the function, or take it out of the properties
        mismatch.py:19: error: find_mismatch cannot be called without context, which the schema does not know [not_in_schema]
          mend: add "context": True to METADATA if it is to say which call it is
        mismatch.py:19: error: find_mismatch cannot be called without fifth, which the schema does not know [not_in_schema]
          mend: add "fifth" to properties and required, or give it a default
        mismatch.py:19: error: find_mismatch cannot be called without second, which the schema lets callers leave out [not_in_schema]
          mend: add "second" to required, or give it a default
        mismatch.py:19: warning: third is annotated as str, and the schema says integer [annotation]
          mend: make them agree; the schema is what callers are held to
        payload.py:7: error: the only parameter, "payload", is an object of any form: nothing tells a model what to put into it, and nothing checks what it did [free_form]
          mend: make each thing in it a separate parameter with a type, or list its properties
        plain_module.py: error: there is no METADATA in this file [metadata_missing]
          mend: add METADATA = {...} with name, function and parameters, or let the file's name begin with an underscore
        price_lists.py:2: error: the name price_list is also that of the tool in prices_again.py, so neither is used [name_taken]
          mend: give one of them another name
        prices_again.py:2: error: the name price_list is also that of the tool in price_lists.py, so neither is used [name_taken]
          mend: give one of them another name
        schema.py:3: error: Searcher is a class on line 13, not a function of the top level [function_missing]
          mend: write def Searcher(...) at the top level of this file
        schema.py:7: error: parameters is not a valid JSON Schema: "three" is not of type "integer" [schema]
          mend: fix the error in the message; references to files and hosts are not followed
        2 tools, 30 errors, 11 warnings
    "#]].assert_eq(&checked.report());
}

#[tokio::test]
async fn what_a_file_publishes_is_what_its_metadata_says() {
    let (_, checked) = checked(&ToolDirectory::new(fixtures("checked"))).await;
    let published = |id: &str| {
        let tool = checked.tools.iter().find(|tool| tool.id.as_str() == id).unwrap();
        format!(
            "{} {} {:?} dangerous={} context={} timeout={:?}\n{}\n{}\n{:?}\n{:?}",
            tool.id,
            tool.function,
            tool.effect,
            tool.dangerous,
            tool.takes_context,
            tool.timeout_ms,
            tool.description,
            haft_contract::canonical_json(&tool.parameters),
            tool.permissions.requires,
            tool.permissions.writable,
        )
    };
    expect![[r#"
        weather_fetcher run_weather_tool Once dangerous=false context=true timeout=Some(2500)
        Get the current weather forecast (temperature, condition, wind) for any city.
        {"additionalProperties":false,"properties":{"city":{"description":"The name of the city.","type":"string"},"days":{"default":1,"minimum":1,"type":["integer","null"]}},"required":["city"],"type":"object"}
        RequirementSet { fs: FsRequirement { read: ["{workspace}/**"], write: ["out/**"] }, net: NetRequirement { hosts: ["api.example.com", "*.example.org"] }, shell: [], capabilities: [] }
        Directories(["out"])"#]].assert_eq(&published("weather_fetcher"));
    expect![[r#"
        finance_price run_finance_price Read dangerous=false context=false timeout=None
        Answers the price of a share.
        {"additionalProperties":false,"properties":{"symbol":{"type":"string"}},"required":["symbol"],"type":"object"}
        RequirementSet { fs: FsRequirement { read: ["{workspace}/**"], write: [] }, net: NetRequirement { hosts: [] }, shell: [], capabilities: [] }
        Nothing"#]].assert_eq(&published("finance_price"));
}

#[tokio::test]
async fn a_registry_is_written_alike_and_compared_with_the_files() {
    let (listing, checked) = checked(&ToolDirectory::new(fixtures("checked"))).await;
    let registry = RegistryFile::from_tools(&checked.tools);
    let text = registry.render();
    expect![[r#"
        {
          "version": "1.0",
          "auto_generated": true,
          "tools": [
            {
              "name": "finance_price",
              "description": "Answers the price of a share.",
              "function": "run_finance_price",
              "dangerous": false,
              "parameters": {
                "type": "object",
                "properties": {
                  "symbol": {
                    "type": "string"
                  }
                },
                "required": [
                  "symbol"
                ]
              },
              "module": "finance_price"
            },
            {
              "name": "weather_fetcher",
              "description": "Get the current weather forecast (temperature, condition, wind) for any city.",
              "function": "run_weather_tool",
              "dangerous": false,
              "domain": "data",
              "output_type": "numeric",
              "prohibited_outputs": [
                "factual_claims"
              ],
              "notes": "Offline.",
              "timeout": 2.5,
              "context": true,
              "requires": {
                "net": {
                  "hosts": [
                    "api.example.com",
                    "*.Example.org"
                  ]
                },
                "fs": {
                  "write": [
                    "out/**"
                  ]
                }
              },
              "parameters": {
                "type": "object",
                "properties": {
                  "city": {
                    "type": "string",
                    "description": "The name of the city."
                  },
                  "days": {
                    "type": [
                      "integer",
                      "null"
                    ],
                    "default": 1,
                    "minimum": 1
                  }
                },
                "required": [
                  "city"
                ]
              },
              "module": "WEATHER_FETCHER"
            }
          ]
        }
    "#]].assert_eq(&text);
    let again = RegistryFile::parse(&text).unwrap();
    assert_eq!(again.render(), text);
    assert_eq!(again.differences(&checked.tools, &listing.files), []);

    let old = r#"[
        {"name": "finance_price", "function": "run_price", "module": "finance_price", "domain": "data",
         "parameters": {"type": "object", "properties": {"symbol": {"type": "number"}}}},
        {"name": "finance_price"},
        {"name": "adder", "module": "smith.tools.plain_module"},
        {"name": "weather", "module": "WEATHER_FETCHER"},
        {"module": "gone"}
    ]"#;
    let differences = RegistryFile::parse(old).unwrap().differences(&checked.tools, &listing.files);
    let lines: Vec<_> = differences.iter().map(ToString::to_string).collect();
    expect![[r#"
        adder: in the registry, but its file is not a usable tool
        finance_price: differs
          dangerous: nothing in the registry, false in the file
          description: nothing in the registry, "Answers the price of a share." in the file
          domain: "data" in the registry, nothing in the file
          function: "run_price" in the registry, "run_finance_price" in the file
          parameters.properties.symbol.type: "number" in the registry, "string" in the file
          parameters.required: nothing in the registry, ["symbol"] in the file
        finance_price: in the registry, but an earlier entry has the same name
        gone: in the registry, but its file is not there
        weather: in the registry, but its file is a tool of another name
        weather_fetcher: in the files (WEATHER_FETCHER), not in the registry"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn tools_are_compared_with_one_another() {
    let write = |place: &Path, name: &str, parameters: &str| {
        let text = format!(
            "METADATA = {{\"name\": \"{name}\", \"function\": \"answer_{name}\", \"description\": \"It answers.\", \
             \"parameters\": {{\"type\": \"object\", \"properties\": {{{parameters}}}}}}}\n\n\n\
             def answer_{name}(**given):\n    return given\n"
        );
        std::fs::write(place.join(format!("{name}.py")), text).unwrap();
    };
    let text = |name: &str| format!("\"{name}\": {{\"type\": \"string\"}}");
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(one.path(), "weather", &text("city"));
    write(one.path(), "forecast", &text("city"));
    write(one.path(), "prices", "");
    write(other.path(), "climate", &text("location"));
    write(other.path(), "prices", "");
    let nested = format!(
        "\"order\": {{\"type\": \"object\", \"properties\": {{\"buyer\": {{\"type\": \"object\", \
         \"properties\": {{{}}}}}}}}}, {}",
        text("name"),
        text("note")
    );
    write(other.path(), "orders", &nested);
    let (_, mut first) = checked(&ToolDirectory::new(one.path().to_owned())).await;
    let (_, mut second) = checked(&ToolDirectory::new(other.path().to_owned())).await;
    compare_directories(&mut [&mut first, &mut second]);
    let report = format!("{}{}", first.report(), second.report());
    let shown = report.replace(&one.path().display().to_string(), "ONE");
    expect![[r#"
        prices.py:1: error: the name prices is also that of the tool in OTHER/prices.py, so neither is used [name_taken]
          mend: give one of them another name
        2 tools, 1 error, 0 warnings
        climate.py:1: warning: the parameter "location" is called "city" in forecast: a model takes one name for the other [parameter_differs]
          mend: call it "city" there and in the function, if it means the same
        orders.py:1: warning: the parameter "order" is an object, whose parts models often put in the wrong place [nested]
          mend: make each part of it a separate parameter, unless the parts belong together
        prices.py:1: error: the name prices is also that of the tool in ONE/prices.py, so neither is used [name_taken]
          mend: give one of them another name
        2 tools, 1 error, 2 warnings
    "#]].assert_eq(&shown.replace(&other.path().display().to_string(), "OTHER"));
}

#[tokio::test]
async fn what_is_right_is_read_again_only_when_it_or_the_interpreter_changed() {
    let reader = PathBuf::from("/usr/bin/python3");
    let directory =
        ToolDirectory { parser_interpreter: reader, ..ToolDirectory::new(fixtures("checked")) };
    let good = source("good.py", b"METADATA = {}\n");
    let files = [good, source("bad.py", b"METADATA = {\n")];
    let cache = Arc::new(MemoryCache::default());
    let check = async |directory: &ToolDirectory, files: &[SourceFile], found_before: u32| {
        *cache.found.lock().unwrap() = 0;
        let read = readings(directory, files, cache.clone()).await.unwrap();
        assert_eq!(*cache.found.lock().unwrap(), found_before);
        read
    };
    let first = check(&directory, &files, 0).await;
    // An invalid file is parsed again, because an accident looks the same.
    assert_eq!(check(&directory, &files, 1).await, first);
    check(&directory, &[source("changed.py", b"METADATA = {'a': 1}\n")], 0).await;
    // A script may start a different program next time, and a bare name is looked up each time.
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("python");
    std::fs::write(&script, "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let readable = vec![place.path().to_owned()];
    for reader in [script, PathBuf::from("python3")] {
        let by_another = ToolDirectory {
            parser_interpreter: reader,
            readable: readable.clone(),
            ..directory.clone()
        };
        check(&by_another, &files[..1], 0).await;
        check(&by_another, &files[..1], 0).await;
    }
    // A link is identified by its target.
    let link = place.path().join("python3");
    std::os::unix::fs::symlink("/usr/bin/python3", &link).unwrap();
    check(&ToolDirectory { parser_interpreter: link, ..directory }, &files[..1], 1).await;
}

fn source(name: &str, bytes: &[u8]) -> SourceFile {
    SourceFile {
        name: name.to_owned(),
        path: name.into(),
        module: "module".to_owned(),
        bytes: bytes.to_vec(),
        sha256: haft_contract::sha256_hex(bytes),
    }
}

/// Parses sources that are hard on a parser, and then an ordinary one.
async fn check_hard(bytes: &[u8], expect: Expect) {
    let good = source("good.py", b"METADATA = {'name': 'good'}\n");
    let files = [source("hard.py", bytes), good];
    let directory = ToolDirectory::new(fixtures("checked"));
    let found = readings(&directory, &files, Arc::new(())).await.unwrap();
    let problem = found[0].problem.clone();
    let text = problem
        .map(|problem| format!("{:?} {:?}: {}", problem.code, problem.line, problem.message));
    expect.assert_eq(&text.unwrap_or_else(|| format!("{:?}", found[0].metadata)));
    assert!(found[1].metadata.is_some(), "{:?}", found[1]);
}

#[tokio::test]
async fn no_source_takes_others_with_it() {
    check_hard(b"", expect!["MetadataMissing None: there is no METADATA in this file"]).await;
    check_hard(
        b"METADATA = {'a': '\\ud800'}",
        expect![
            "MetadataCode Some(1): is text with half of a surrogate pair, which JSON cannot carry"
        ],
    )
    .await;
    check_hard(b"\0", expect!["Syntax None: source code string cannot contain null bytes"]).await;
    check_hard(b"\xff\xfe", expect!["Syntax Some(1): (unicode error) 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"]).await;
    check_hard(
        "# -*- coding: latin-1 -*-\nMETADATA = {'city': 'K\u{f6}ln'}".as_bytes(),
        expect![[r#"Some({"city": String("KÃ¶ln")})"#]],
    )
    .await;
    check_hard(
        "(".repeat(100_000).as_bytes(),
        expect!["Syntax Some(1): too many nested parentheses"],
    )
    .await;
    let deep = format!("METADATA = {}{}", "[".repeat(90), "]".repeat(90));
    check_hard(
        deep.as_bytes(),
        expect!["MetadataCode Some(1): is nested more than 48 levels deep"],
    )
    .await;
    check_hard(
        b"METADATA = {'n': 10 ** 10}",
        expect!["MetadataCode Some(1): is a computation, which only running the file would do"],
    )
    .await;
    check_hard(
        b"METADATA: dict = {'n': -1, **{}}",
        expect![
            "MetadataCode Some(1): unpacks another dictionary, which only running the file would do"
        ],
    )
    .await;
    check_hard(b"if True:\n    METADATA = {}\n", expect!["MetadataCode Some(1): METADATA is set or changed by code here, which only running the file would do"]).await;
    check_hard(b"from elsewhere import METADATA\n", expect!["MetadataCode Some(1): METADATA is set or changed by code here, which only running the file would do"]).await;
    check_hard(b"METADATA = {}\nMETADATA.update(x=1)\n", expect!["MetadataCode Some(2): METADATA is set or changed by code here, which only running the file would do"]).await;
    let long = format!("METADATA = {{'many': [{}]}}", "1,".repeat(400_000));
    check_hard(
        long.as_bytes(),
        expect!["ParserEnded None: METADATA and the names around it take more than 4194304 bytes"],
    )
    .await;
    check_hard(b"METADATA = []\n", expect!["MetadataForm Some(1): METADATA is no dictionary"])
        .await;
}

#[tokio::test]
async fn a_parser_that_ends_is_started_again_and_given_up_after_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let interpreter = directory.path().join("python");
    // Exits on every source that contains the word, like a faulty parser.
    let script = "#!/bin/sh\nwhile read -r line <&3; do case $line in *fault*) echo oh no; exit 9;; esac; \
                  echo '{\"functions\":[]}' >&3; done\n";
    std::fs::write(&interpreter, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&interpreter, mode).unwrap();
    let tools = ToolDirectory {
        parser_interpreter: interpreter,
        readable: vec![directory.path().to_owned()],
        ..ToolDirectory::new(fixtures("checked"))
    };
    let mut files = vec![source("a.py", b"fault"), source("b.py", b"good")];
    files.extend((0..9).map(|number| source("c.py", format!("fault {number}").as_bytes())));
    let found = readings(&tools, &files, Arc::new(())).await.unwrap();
    let problems: Vec<_> = found.iter().map(|reading| reading.problem.as_ref()).collect();
    let message = |index: usize| problems[index].map(|problem| problem.message.as_str());
    assert_eq!(
        message(0),
        Some("Python's parser ended with status 9 over it; it printed \"oh no\"")
    );
    assert_eq!(message(1), None);
    assert_eq!(message(10), Some("it was not read, since the parser ended over 8 files before it"));
    assert!(
        problems.iter().flatten().all(|problem| problem.code == MetadataProblemCode::ParserEnded)
    );
}

#[tokio::test]
async fn an_interpreter_that_is_not_there_is_said_to_be() {
    let tools = ToolDirectory {
        parser_interpreter: "/nonexistent/python".into(),
        ..ToolDirectory::new(fixtures("checked"))
    };
    let files = [source("a.py", b"")];
    let err = readings(&tools, &files, Arc::new(())).await.unwrap_err();
    assert!(
        err.starts_with("PROCESS_SPAWN_FAILED: ") && err.contains("/nonexistent/python"),
        "{err}"
    );
}

#[test]
fn directories_are_refused_for_what_they_are() {
    let check = |directory: ToolDirectory, expect: Expect| {
        expect.assert_eq(&directory.list().unwrap_err().to_string());
    };
    let empty = tempfile::tempdir().unwrap();
    let absent = empty.path().join("absent");
    let message = ToolDirectory::new(&absent).list().unwrap_err().to_string();
    let expected = format!(
        "the directory of Python tools {absent:?} cannot be read: No such file or directory"
    );
    assert!(message.starts_with(&expected), "{message}");
    check(
        ToolDirectory { package_root: Some("/elsewhere".into()), ..ToolDirectory::new("/tools") },
        expect![[
            r#"the directory of Python tools "/tools" is not within its package_root "/elsewhere": expected the directory that holds the top package"#
        ]],
    );
    let full = tempfile::tempdir().unwrap();
    for number in 0..haft_python::limits::FILES_MAX {
        std::fs::write(full.path().join(format!("t{number}.py")), "").unwrap();
    }
    let directory = ToolDirectory::new(full.path());
    assert_eq!(directory.list().unwrap().files.len(), haft_python::limits::FILES_MAX);
    std::fs::write(full.path().join("one_more.py"), "").unwrap();
    assert!(directory.list().unwrap_err().to_string().contains("more than 1000 Python files"));
}

#[test]
fn files_that_cannot_be_tools_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let bytes_max = usize::try_from(haft_python::limits::SOURCE_BYTES_MAX).unwrap();
    std::fs::write(directory.path().join("at_bound.py"), vec![b' '; bytes_max]).unwrap();
    std::fs::write(directory.path().join("beyond.py"), vec![b' '; bytes_max + 1]).unwrap();
    std::fs::create_dir(directory.path().join("directory.py")).unwrap();
    std::fs::write(directory.path().join("my-tool.py"), "").unwrap();
    std::fs::write(directory.path().join(".hidden.py"), "").unwrap();
    std::fs::write(directory.path().join("notes.txt"), "").unwrap();
    let tools = ToolDirectory {
        package_root: Some(directory.path().to_owned()),
        ..ToolDirectory::new(directory.path())
    };
    let listing = tools.list().unwrap();
    assert_eq!(listing.files.iter().map(|file| &*file.module).collect::<Vec<_>>(), ["at_bound"]);
    let problems: Vec<_> = listing.problems.iter().map(ToString::to_string).collect();
    expect![[r#"
        beyond.py: error: the file has more than 1048576 bytes [file_unreadable]
          mend: move data and code that is not the tool's elsewhere
        directory.py: error: the file cannot be read: it is no regular file [file_unreadable]
          mend: make it a readable, regular file
        my-tool.py: error: "my-tool" cannot be the name of a module in a package [file_name]
          mend: use letters, digits and underscores, not beginning with a digit"#]]
    .assert_eq(&problems.join("\n"));
}
