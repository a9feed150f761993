//! Python tools through the commands: how they are configured, called and checked. Tests in the host of Python tools cover
//! METADATA and hostile tools.

mod calls;
mod configuration;
mod registry;

use crate::world::World;

/// A tool that prints, fails for one symbol, and has a parameter that may be left out.
const PRICE: &str = r#"METADATA = {
    "name": "finance_price",
    "function": "run_finance_price",
    "description": "Answers the price of a share.",
    "domain": "finance",
    "parameters": {
        "type": "object",
        "properties": {"symbol": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["symbol"],
    },
}


def run_finance_price(symbol: str, days: int = 1):
    print("looking up", symbol)
    if symbol == "NONE":
        raise KeyError(symbol)
    return {"symbol": symbol, "price": 12.5 * days}
"#;

/// Returns a world with one directory of Python tools, which no manifest names.
fn with_tools(files: &[(&str, &str)]) -> World {
    let world = World::with_files();
    for (name, text) in files {
        world.write(&format!("work/tools/{name}"), text);
    }
    world
}

/// Returns a world in which the tools are configured, and the manifest is trusted.
fn configured(files: &[(&str, &str)], manifest: &str) -> World {
    let world = with_tools(files);
    world.write("work/haft.toml", manifest);
    world.run(&["trust"]);
    world
}

/// Returns a tool of this name that takes nothing and answers with an expression.
pub(crate) fn tool(name: &str, more: &str, answer: &str) -> String {
    format!(
        "METADATA = {{\"name\": \"{name}\", \"function\": \"run_{name}\", \"description\": \"It answers.\", {more} \
         \"parameters\": {{\"type\": \"object\", \"properties\": {{}}}}}}\n\n\ndef run_{name}():\n    {answer}\n"
    )
}

pub(crate) const ENTRY: &str = "[[python]]\ndir = \"tools\"\n";
