//! Changes to TOML that leave the rest of the text as it is.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

/// Returns the value at a place, if the text is TOML and has one there.
pub(super) fn get(text: &str, place: &[String]) -> Result<Option<Value>, String> {
    let document: toml::Table = toml::from_str(text).map_err(|err| not_toml(&err.to_string()))?;
    let mut value = &toml::Value::Table(document);
    for key in place {
        match value.get(key) {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    serde_json::to_value(value).map(Some).map_err(|err| not_toml(&err.to_string()))
}

/// Returns the text of the value at a place, as it is written.
pub(super) fn raw(text: &str, place: &[String]) -> Result<Option<String>, String> {
    let document = parse(text)?;
    let mut item = Some(document.as_item());
    for key in place {
        item = item.and_then(|item| item.get(key));
    }
    Ok(item.map(|item| match item {
        // A remark behind a value is no part of it.
        Item::Value(value) => value.clone().decorated("", "").to_string(),
        item => item.to_string().trim().to_owned(),
    }))
}

/// Returns whether a text has neither values nor comments.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns the text with a value at a place. A table on the way is made, and so is one for an object.
pub(super) fn set(text: &str, place: &[String], value: &Value) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some((key, parents)) = place.split_last() else { return Ok(text.to_owned()) };
    let is_first = document.as_table().is_empty() && document.trailing().as_str() == Some("");
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for parent in parents {
        if !table.contains_key(parent) {
            let mut made = Table::new();
            // A table that only leads to another one has no header.
            made.set_implicit(value.is_object());
            if !made.is_implicit() && !is_first {
                made.decor_mut().set_prefix("\n");
            }
            table.insert(parent, Item::Table(made));
        }
        let found = table.get_mut(parent).and_then(Item::as_table_like_mut);
        table = found.ok_or_else(|| format!("{parent} is not a table"))?;
    }
    let item = match value.as_object() {
        Some(members) if !table.is_dotted() => {
            let mut made = Table::new();
            for (key, value) in members {
                made.insert(key, toml_edit::value(toml_value(value)?));
            }
            if !is_first {
                made.decor_mut().set_prefix("\n");
            }
            Item::Table(made)
        }
        Some(_) | None => toml_edit::value(toml_value(value)?),
    };
    match table.get_mut(key) {
        // The remark behind a value stays.
        Some(Item::Value(found)) if item.is_value() => {
            let decor = found.decor().clone();
            if let Item::Value(mut new) = item {
                *new.decor_mut() = decor;
                *found = new;
            }
        }
        Some(_) | None => {
            table.insert(key, item);
        }
    }
    Ok(document.to_string())
}

/// Returns the text with another text of a value at a place that has one.
pub(super) fn set_raw(text: &str, place: &[String], written: &str) -> Result<String, String> {
    let parsed: toml_edit::Value = written.parse().map_err(|_| not_toml("not a value"))?;
    let mut document = parse(text)?;
    let mut item = Some(document.as_item_mut());
    for key in place {
        item = item.and_then(|item| item.get_mut(key));
    }
    if let Some(Item::Value(found)) = item {
        let decor = found.decor().clone();
        *found = parsed;
        *found.decor_mut() = decor;
    }
    Ok(document.to_string())
}

/// Returns the text without the value at a place.
pub(super) fn remove(text: &str, place: &[String]) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some((key, parents)) = place.split_last() else { return Ok(text.to_owned()) };
    let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for parent in parents {
        table = table.and_then(|table| table.get_mut(parent)?.as_table_like_mut());
    }
    if let Some(table) = table {
        table.remove(key);
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|err: toml_edit::TomlError| not_toml(&err.to_string()))
}

fn not_toml(why: &str) -> String {
    format!("not TOML: {}", why.trim())
}

fn toml_value(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(is_set) => (*is_set).into(),
        Value::Array(items) => {
            let items = items.iter().map(toml_value).collect::<Result<Array, _>>()?;
            toml_edit::Value::Array(items)
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (key, value) in members {
                table.insert(key, toml_value(value)?);
            }
            toml_edit::Value::InlineTable(table)
        }
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => return Err(format!("{number} has no place in TOML here")),
        },
        Value::Null => return Err("null has no place in TOML".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    /// The configuration files of people.
    const FILES: &[&str] = &[
        "",
        "# mine\nmodel = \"gpt-5\" # it\n",
        "model = \"gpt-5\"\n\n[features]\nweb = true # yes\n\n# of x\n[mcp_servers.x]\ncommand = \"x\"\n# end\n",
        "[mcp_servers.x]\ncommand = \"x\"\n[mcp_servers.x.env]\nA = \"b\"\n\n[tui]\n",
        "# head\n\n[projects.\"/home/you\"]\ntrust_level = \"trusted\"\n",
    ];

    #[test]
    fn what_is_put_in_can_be_taken_out_and_nothing_else_changes() {
        for file in FILES {
            let changes = [
                ("mcp_servers.haft", json!({"command": "haft", "args": ["mcp"]})),
                ("features.shell_tool", json!(false)),
                ("sandbox_mode", json!("read-only")),
            ];
            for (path, value) in &changes {
                let at = place(path);
                let with = set(file, &at, value).unwrap();
                assert_eq!(get(&with, &at).unwrap().as_ref(), Some(value), "{with}");
                let mut without = remove(&with, &at).unwrap();
                if at.len() > 1 && get(file, &at[..1]).unwrap().is_none() {
                    without = remove(&without, &at[..1]).unwrap();
                }
                assert_eq!(&without, file, "{with}");
            }
        }
    }

    #[test]
    fn a_table_is_written_with_its_header_and_a_value_in_its_place() {
        let value = json!({"command": "haft", "args": ["mcp"]});
        assert_eq!(
            set("model = \"x\"\n", &place("mcp_servers.haft"), &value).unwrap(),
            "model = \"x\"\n\n[mcp_servers.haft]\ncommand = \"haft\"\nargs = [\"mcp\"]\n"
        );
        let text = "sandbox_mode = \"workspace-write\" # mine\n";
        let with = set(text, &place("sandbox_mode"), &json!("read-only")).unwrap();
        assert_eq!(with, "sandbox_mode = \"read-only\" # mine\n");
        let before = raw(text, &place("sandbox_mode")).unwrap().unwrap();
        assert_eq!(set_raw(&with, &place("sandbox_mode"), &before).unwrap(), text);
        assert_eq!(set("a = 1\n", &place("a.b"), &json!(1)).unwrap_err(), "a is not a table");
        assert!(set("a = \n", &place("b"), &json!(1)).unwrap_err().starts_with("not TOML: "));
    }
}
