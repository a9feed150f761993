//! Files of Smith tools: METADATA and its rules, as `haft registry check` and the list of tools apply them.

use std::process::Command;

use serde_json::{Value, json};

use super::{call, code};
use crate::world::World;

/// The good example of the text, with the function that it leaves out.
const GOOD: &str = r#"METADATA = {
  "name": "finance_price",
  "function": "run_finance_price",
  "dangerous": False,
  "parameters": {
    "type": "object",
    "properties": {
      "symbol": { "type": "string" }
    },
    "required": ["symbol"]
  }
}

def run_finance_price(symbol: str):
  # deterministic output, validated inputs
  return fetch_price(symbol)


def fetch_price(symbol):
  return {"symbol": symbol, "price": 42.0}
"#;

/// The bad example of the text.
const BAD: &str = r#"METADATA = {
  "name": "finance",
  "function": "run",        # vague and generic
  "parameters": {}
}

def run(payload):              # untyped and ambiguous
  return do_everything(payload)
"#;

pub(super) fn with_file(name: &str, text: &str) -> World {
    let world = World::with_files();
    world.write(&format!("work/tools/{name}"), text);
    world
}

/// Returns the codes of all problems that are found in the directory of a world.
fn problems(world: &World) -> Vec<String> {
    let output = world.haft(&["registry", "check", "tools", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = answer["directories"][0]["problems"].as_array().unwrap().clone();
    problems.iter().map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
}

fn problems_of(text: &str) -> Vec<String> {
    problems(&with_file("finance_price.py", text))
}

/// Returns the tools that a front end offers of the directory of a world.
fn offered(world: &World) -> Vec<String> {
    let listed = world.json(&["--python", "tools", "tools", "list", "--json"]);
    let ids = listed.as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap().to_owned());
    ids.filter(|id| !crate::built_in_tools::ids().contains(id)).collect()
}

/// Returns a tool whose parameters are these.
fn with_properties(properties: &str, signature: &str) -> String {
    format!(
        "METADATA = {{\"name\": \"look_up\", \"function\": \"run_look_up\", \"description\": \"Looks up.\", \
         \"parameters\": {{\"type\": \"object\", \"properties\": {{{properties}}}}}}}\n\n\ndef run_look_up({signature}):\n    return 1\n"
    )
}

#[test]
fn a_tool_is_a_python_file() {
    let world = with_file("finance_price.py", GOOD);
    let answer = call(&world, &["--python", "tools"], "finance_price", &json!({"symbol": "X"}));
    assert_eq!(answer["data"], json!({"symbol": "X", "price": 42.0}), "{answer}");
}

#[test]
fn tools_lie_in_the_directory_of_smith() {
    let world = World::new();
    world.write("work/src/smith/tools/FINANCE_PRICE.py", GOOD);
    world
        .write("work/haft.toml", "[[python]]\ndir = \"src/smith/tools\"\npackage_root = \"src\"\n");
    world.run(&["trust"]);
    let answer = call(&world, &[], "finance_price", &json!({"symbol": "X"}));
    assert_eq!(answer["data"]["price"], 42.0, "{answer}");
}

#[test]
fn a_file_needs_a_function() {
    let text = GOOD.replace("def run_finance_price(symbol: str):", "if False:");
    let text = text.replace("  return fetch_price(symbol)", "  pass");
    assert_eq!(problems_of(&text), ["function_missing"]);
}

#[test]
fn a_file_needs_metadata() {
    assert_eq!(problems_of("def run_finance_price(symbol):\n  return 1\n"), ["metadata_missing"]);
}

#[test]
fn metadata_is_read_and_no_code_is_run_for_it() {
    let computed = GOOD.replace("\"finance_price\"", "\"finance_\" + str(1)");
    assert!(problems_of(&computed).contains(&"metadata_code".to_owned()));
    // A file that fails when it runs has METADATA all the same.
    let world = with_file("finance_price.py", &format!("{GOOD}\nraise RuntimeError(\"it ran\")\n"));
    assert_eq!(offered(&world), ["finance_price"]);
}

#[test]
fn metadata_names_the_tool() {
    assert_eq!(offered(&with_file("some_file.py", GOOD)), ["finance_price"]);
    let unnamed = GOOD.replace("  \"name\": \"finance_price\",\n", "");
    assert!(problems_of(&unnamed).contains(&"field".to_owned()), "{:?}", problems_of(&unnamed));
}

#[test]
fn metadata_names_the_function() {
    let unnamed = GOOD.replace("  \"function\": \"run_finance_price\",\n", "");
    assert!(problems_of(&unnamed).contains(&"field".to_owned()), "{:?}", problems_of(&unnamed));
}

#[test]
fn a_tool_is_not_dangerous_unless_it_says_so() {
    let dangerous = |text: &str| {
        let world = with_file("finance_price.py", text);
        world.json(&["registry", "list", "tools", "--json"])[0]["dangerous"].clone()
    };
    assert_eq!(dangerous(&GOOD.replace("  \"dangerous\": False,\n", "")), false);
    assert_eq!(dangerous(&GOOD.replace("False", "True")), true);
}

#[test]
fn metadata_has_the_parameters_as_a_schema() {
    let world = with_file("finance_price.py", GOOD);
    let listed = world.json(&["--python", "tools", "tools", "show", "finance_price", "--json"]);
    assert_eq!(listed["parameters"]["properties"], json!({"symbol": {"type": "string"}}));
    assert_eq!(listed["parameters"]["required"], json!(["symbol"]));
}

#[test]
fn a_name_is_unique() {
    let world = with_file("zeta.py", GOOD);
    world.write("work/tools/alpha.py", GOOD);
    let found = problems(&world);
    assert_eq!(found.iter().filter(|code| *code == "name_taken").count(), 2, "{found:?}");
    assert_eq!(offered(&world), Vec::<String>::new());
}

#[test]
fn the_function_is_that_of_the_file() {
    let renamed = GOOD.replace("\"run_finance_price\"", "\"finance_price\"");
    assert!(problems_of(&renamed).contains(&"function_missing".to_owned()));
    let world = with_file("finance_price.py", &renamed);
    let answer = call(&world, &["--python", "tools"], "finance_price", &json!({"symbol": "X"}));
    assert_eq!(code(&answer), "TOOL_NOT_FOUND");
}

#[test]
fn parameters_that_are_no_schema_are_an_error() {
    let odd =
        GOOD.replace("\"type\": \"string\"", "\"type\": \"string\", \"minLength\": \"three\"");
    assert!(problems_of(&odd).contains(&"schema".to_owned()), "{:?}", problems_of(&odd));
}

#[test]
fn abbreviations_are_warned_of() {
    let short = GOOD.replace("\"finance_price\"", "\"fp\"");
    assert!(problems_of(&short).contains(&"name_vague".to_owned()), "{:?}", problems_of(&short));
}

#[test]
fn each_parameter_has_a_type() {
    for kind in ["string", "number", "boolean", "object", "array", "integer"] {
        let more = if kind == "object" { ", \"properties\": {}" } else { "" };
        let text =
            with_properties(&format!("\"city\": {{\"type\": \"{kind}\"{more}}}"), "city=None");
        let found = problems_of(&text);
        assert!(!found.contains(&"untyped".to_owned()), "{kind}: {found:?}");
    }
    assert_eq!(problems_of(&with_properties("\"city\": {}", "city=None")), ["untyped"]);
}

#[test]
fn a_parameter_that_is_not_required_may_be_left_out() {
    let world =
        with_file("look_up.py", &with_properties("\"city\": {\"type\": \"string\"}", "city=None"));
    assert_eq!(code(&call(&world, &["--python", "tools"], "look_up", &json!({}))), "none");
}

#[test]
fn nested_objects_are_allowed_and_discouraged() {
    let nested = "\"place\": {\"type\": \"object\", \"properties\": {\"at\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}}";
    let text = with_properties(nested, "place=None");
    assert_eq!(problems_of(&text), ["nested"]);
    assert_eq!(offered(&with_file("look_up.py", &text)), ["look_up"]);
}

#[test]
fn parameters_are_what_json_can_hold() {
    for kind in ["bytes", "date", "int"] {
        let text = with_properties(&format!("\"city\": {{\"type\": \"{kind}\"}}"), "city=None");
        assert_eq!(problems_of(&text), ["untyped"], "{kind}");
    }
}

#[test]
fn one_meaning_under_two_names_is_warned_of() {
    let world = World::new();
    for (tool, parameter) in [("weather_fetcher", "city"), ("weather_by_location", "location")] {
        let text = with_properties(
            &format!("\"{parameter}\": {{\"type\": \"string\"}}"),
            &format!("{parameter}=None"),
        );
        world.write(&format!("work/tools/{tool}.py"), &text.replace("look_up", tool));
    }
    assert!(problems(&world).contains(&"parameter_differs".to_owned()), "{:?}", problems(&world));
}

#[test]
fn one_field_for_several_inputs_is_refused() {
    let text = with_properties("\"payload\": {\"type\": \"object\"}", "payload=None");
    assert_eq!(problems_of(&text), ["free_form"]);
    assert_eq!(offered(&with_file("look_up.py", &text)), Vec::<String>::new());
}

#[test]
fn a_free_prompt_is_warned_of() {
    let text = with_properties("\"prompt\": {\"type\": \"string\"}", "prompt=None");
    assert_eq!(problems_of(&text), ["free_form"]);
}

#[test]
fn the_bad_example_is_no_tool() {
    let world = with_file("finance.py", BAD);
    assert_eq!(offered(&world), Vec::<String>::new());
    let answer = call(&world, &["--python", "tools"], "finance", &json!({}));
    assert_eq!(code(&answer), "TOOL_NOT_FOUND");
}

#[test]
fn a_vague_function_name_is_a_problem() {
    assert!(problems_of(BAD).contains(&"function_vague".to_owned()));
}

#[test]
fn parameters_without_structure_are_a_problem() {
    assert!(problems_of(BAD).contains(&"schema".to_owned()));
}

#[test]
fn a_tool_that_changes_something_and_is_not_dangerous_is_warned_of() {
    for more in ["\"side_effect\": True,", "\"requires\": {\"fs\": {\"write\": [\"out/**\"]}},"] {
        let text = GOOD.replace("\"dangerous\": False,", more);
        assert!(problems_of(&text).contains(&"not_dangerous".to_owned()), "{more}");
    }
}

#[test]
fn a_function_is_imported_by_plain_python() {
    let world = World::new();
    world.write(
        "work/src/smith/tools/WEATHER_FETCHER.py",
        &GOOD.replace("run_finance_price", "run_weather"),
    );
    let script =
        "from smith.tools.WEATHER_FETCHER import run_weather; print(run_weather(\"Berlin\"))";
    let mut python = Command::new("/usr/bin/python3");
    let output = python.args(["-c", script]).current_dir(world.path("work/src")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, "{'symbol': 'Berlin', 'price': 42.0}\n");
}

#[test]
fn a_module_of_the_package_is_imported_by_a_tool() {
    let world = World::new();
    world.write("work/src/smith/prices.py", "def fetch_price(symbol):\n    return 7\n");
    let text = GOOD.split("\n\ndef fetch_price").next().unwrap();
    world.write(
        "work/src/smith/tools/FINANCE_PRICE.py",
        &format!("from smith.prices import fetch_price\n\n{text}\n"),
    );
    world
        .write("work/haft.toml", "[[python]]\ndir = \"src/smith/tools\"\npackage_root = \"src\"\n");
    world.run(&["trust"]);
    assert_eq!(call(&world, &[], "finance_price", &json!({"symbol": "X"}))["data"], 7);
}

#[test]
fn a_new_file_is_a_new_tool() {
    let world = with_file("finance_price.py", GOOD);
    assert_eq!(offered(&world), ["finance_price"]);
    world.write("work/tools/look_up.py", &with_properties("", ""));
    assert_eq!(offered(&world), ["finance_price", "look_up"]);
}

#[test]
fn the_registry_of_smith_is_written_from_the_files() {
    let world = with_file("finance_price.py", GOOD);
    world.run(&["registry", "sync", "tools"]);
    let registry: Value = serde_json::from_str(&world.read("work/tools/registry.json")).unwrap();
    let entry = &registry["tools"][0];
    assert_eq!(
        (&entry["name"], &entry["function"]),
        (&json!("finance_price"), &json!("run_finance_price"))
    );
}
