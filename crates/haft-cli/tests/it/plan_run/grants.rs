//! The tools that a plan may call although the user named none of them: those that only read files inside the roots. All
//! other calls of a plan are judged like any call, whatever the tools declare.

use serde_json::Value;

use crate::world::World;

/// Tools that call themselves harmless, each with what it requires.
const TOOLS: [(&str, &str); 3] = [
    ("fetching", r#""requires": {"net": {"hosts": ["example.org"]}},"#),
    ("writing", r#""requires": {"fs": {"write": ["{workspace}/**"]}},"#),
    ("looking", ""),
];

fn world() -> World {
    let world = World::with_files();
    for (name, requires) in TOOLS {
        let text = format!(
            "METADATA = {{\"name\": \"{name}\", \"function\": \"run_{name}\", \"description\": \"It answers.\", \
             \"dangerous\": False, {requires} \"parameters\": {{\"type\": \"object\", \"properties\": {{}}}}}}\n\n\n\
             def run_{name}():\n    print(\"{name} begins\")\n    return \"{name} was called\"\n"
        );
        world.write(&format!("work/tools/{name}.py"), &text);
    }
    let node = |(id, (tool, _)): (usize, (&str, &str))| {
        format!(
            r#"{{"id": {id}, "tool": "{tool}", "inputs": {{}}, "depends_on": [], "on_fail": "continue"}}"#
        )
    };
    let nodes = TOOLS.into_iter().enumerate().map(node).collect::<Vec<_>>().join(", ");
    world.write("work/plan.json", &format!(r#"{{"nodes": [{nodes}], "final_output_node": 2}}"#));
    world
}

/// Returns what becomes of each node under a preset, and all that is shown.
fn driven(world: &World, preset: &str, more: &[&str]) -> (Vec<String>, String) {
    let args = ["run", "plan.json", "--python", "tools", "--preset", preset, "--json"];
    let output = world.haft(&[&args[..], more].concat()).output().unwrap();
    let shown = world.shown(&output);
    let last = String::from_utf8(output.stdout).unwrap();
    let result: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    let statuses = result["trace"]["nodes"].as_array().unwrap().iter();
    (statuses.map(|node| node["status"].as_str().unwrap().to_owned()).collect(), shown)
}

/// Returns what a rehearsal says would become of each node.
fn rehearsed(world: &World, preset: &str) -> Vec<String> {
    let args = ["run", "plan.json", "--python", "tools", "--preset", preset, "--dry-run", "--json"];
    let answer = world.json(&args);
    let nodes = answer["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["would"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_preset_holds_for_tools_that_a_plan_names() {
    let world = world();
    let check = |preset: &str, rehearsal: [&str; 3], statuses: [&str; 3]| {
        assert_eq!(rehearsed(&world, preset), rehearsal, "{preset}");
        let (found, shown) = driven(&world, preset, &[]);
        assert_eq!(found, statuses, "{preset}: {shown}");
        assert!(shown.contains(r#""allow_host":"example.org""#), "{preset}: {shown}");
    };
    check("read-only", ["be_asked", "be_refused", "run"], ["failed", "failed", "succeeded"]);
    check("ask", ["be_asked", "be_asked", "run"], ["failed", "failed", "succeeded"]);
    check("workspace", ["be_asked", "run", "run"], ["failed", "succeeded", "succeeded"]);
    for named in [["--allow", "fetching"], ["--allow-host", "example.org"]] {
        assert_eq!(driven(&world, "workspace", &named).0, ["succeeded"; 3], "{named:?}");
    }
}

#[test]
fn what_tools_print_is_shown_with_their_nodes() {
    let world = world();
    let args = ["run", "plan.json", "--python", "tools", "--parallel", "1"];
    let output = world.haft(&args).output().unwrap();
    let shown = world.shown(&output);
    assert!(shown.contains("\n2 looking  succeeded in 0 ms\n2 | looking begins\n"), "{shown}");
    assert!(shown.starts_with("looking was called\n--- stderr\n"), "{shown}");
    let (_, shown) = driven(&world, "workspace", &[]);
    assert!(shown.contains(r#""log":"looking begins\n""#), "{shown}");
}
