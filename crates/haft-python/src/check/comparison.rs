//! Compares tools with one another: names that two files define, and parameters that mean the same and are called
//! differently. A model that has learned one name uses it for the other tool too.

use std::collections::{BTreeMap, BTreeSet};

use haft_contract::ToolId;
use serde_json::{Map, Value};

use super::{CheckedDirectory, CheckedTool};
use crate::problem::{ProblemCode, ToolFileProblem, ToolFileSeverity};

/// Names for one kind of input, each group the usual name first. A tool that has two names of a group means two things.
const SAME_MEANING: &[&[&str]] = &[
    &["city", "location", "place", "town", "city_name"],
    &["symbol", "ticker", "stock", "stock_symbol"],
    &["query", "search", "search_query", "search_term", "keyword", "keywords"],
    &["url", "uri", "link"],
    &["path", "file_path", "filepath", "filename", "file_name"],
    &["limit", "max_results", "num_results", "result_count"],
    &["language", "lang"],
    &["email", "mail", "email_address"],
    &["user", "username", "user_name"],
];

/// A tool by the place of its directory and its place in it.
type ToolPlace = (usize, usize);

/// Rejects all tools whose name another file defines too, and warns of parameters that mean the same under another name.
pub fn compare_directories(directories: &mut [&mut CheckedDirectory]) {
    reject_shared_names(directories);
    for (directory, problem) in differing_parameters(directories) {
        if let Some(directory) = directories.get_mut(directory)
            && !directory.problems.contains(&problem)
        {
            directory.problems.push(problem);
        }
    }
    for directory in directories {
        directory.problems.sort();
    }
}

/// Rejects all tools whose name another file defines too: which file comes first must not decide what the tool does.
pub(super) fn reject_shared_names(directories: &mut [&mut CheckedDirectory]) {
    // Dots and underscores count as equal.
    let mut by_name: BTreeMap<String, Vec<ToolPlace>> = BTreeMap::new();
    for (place, tool) in tools(directories) {
        by_name.entry(tool.id.wire_name()).or_default().push(place);
    }
    let shared: Vec<Vec<ToolPlace>> =
        by_name.into_values().filter(|places| places.len() > 1).collect();
    let mut rejected: BTreeSet<ToolPlace> = BTreeSet::new();
    let mut problems: Vec<(usize, ToolFileProblem)> = Vec::new();
    for places in shared {
        for place in &places {
            let Some(tool) = tool_at(directories, *place) else { continue };
            let others = places.iter().filter(|other| *other != place);
            let others: Vec<String> = others
                .filter_map(|other| Some((other, tool_at(directories, *other)?)))
                .map(|(other, tool)| match other.0 == place.0 {
                    true => tool.source.name.clone(),
                    false => tool.source.path.display().to_string(),
                })
                .collect();
            let message = format!(
                "the name {} is also that of the tool in {}, so neither is used",
                tool.id,
                others.join(" and ")
            );
            let mend = "give one of them another name".to_owned();
            let problem = ToolFileProblem {
                severity: ToolFileSeverity::Error,
                code: ProblemCode::NameTaken,
                ..problem_at(tool, "/name", "name".to_owned(), message, mend)
            };
            problems.push((place.0, problem));
            rejected.insert(*place);
        }
    }
    for (number, directory) in directories.iter_mut().enumerate() {
        let mut place = 0;
        directory.tools.retain(|_| {
            place += 1;
            !rejected.contains(&(number, place - 1))
        });
        let own = problems.iter().filter(|(directory, _)| *directory == number);
        directory.problems.extend(own.map(|(_, problem)| problem.clone()));
    }
}

/// Returns a warning for each parameter that other tools call differently, with the number of its directory.
fn differing_parameters(directories: &[&mut CheckedDirectory]) -> Vec<(usize, ToolFileProblem)> {
    let mut warnings = Vec::new();
    for group in SAME_MEANING {
        let mut used: BTreeMap<&str, Vec<ToolPlace>> = BTreeMap::new();
        for (place, tool) in tools(directories) {
            let Some(properties) = properties(tool) else { continue };
            let names: Vec<&str> =
                group.iter().copied().filter(|name| properties.contains_key(*name)).collect();
            if let [name] = names.as_slice() {
                used.entry(name).or_default().push(place);
            }
        }
        // The name that most tools use stays; of equally many, the usual one.
        let rank = |name: &str| group.iter().position(|known| *known == name);
        let kept = used
            .iter()
            .max_by_key(|(name, places)| (places.len(), std::cmp::Reverse(rank(name))))
            .map(|(name, places)| (*name, places.first().copied()));
        let Some((kept, Some(example))) = kept.filter(|_| used.len() > 1) else { continue };
        let Some(example) = tool_at(directories, example).map(|tool| tool.id.clone()) else {
            continue;
        };
        for (name, places) in used.iter().filter(|(name, _)| **name != kept) {
            for place in places {
                let Some(tool) = tool_at(directories, *place) else { continue };
                warnings.push((place.0, differing_parameter(tool, name, kept, &example)));
            }
        }
    }
    warnings
}

fn differing_parameter(
    tool: &CheckedTool,
    name: &str,
    kept: &str,
    example: &ToolId,
) -> ToolFileProblem {
    let message = format!(
        "the parameter {name:?} is called {kept:?} in {example}: a model takes one name for the other"
    );
    let mend = format!("call it {kept:?} there and in the function, if it means the same");
    let pointer = format!("/parameters/properties/{name}");
    let field = format!("parameters.properties.{name}");
    ToolFileProblem {
        severity: ToolFileSeverity::Warning,
        code: ProblemCode::ParameterDiffers,
        ..problem_at(tool, &pointer, field, message, mend)
    }
}

fn problem_at(
    tool: &CheckedTool,
    pointer: &str,
    field: String,
    message: String,
    mend: String,
) -> ToolFileProblem {
    ToolFileProblem {
        file: tool.source.name.clone(),
        line: tool.lines.get(pointer).copied(),
        field: Some(field),
        severity: ToolFileSeverity::Warning,
        code: ProblemCode::NameTaken,
        message,
        mend,
    }
}

fn tools<'a>(
    directories: &'a [&mut CheckedDirectory],
) -> impl Iterator<Item = (ToolPlace, &'a CheckedTool)> {
    directories.iter().enumerate().flat_map(|(number, directory)| {
        directory.tools.iter().enumerate().map(move |(place, tool)| ((number, place), tool))
    })
}

fn tool_at<'a>(
    directories: &'a [&mut CheckedDirectory],
    (directory, place): ToolPlace,
) -> Option<&'a CheckedTool> {
    directories.get(directory)?.tools.get(place)
}

fn properties(tool: &CheckedTool) -> Option<&Map<String, Value>> {
    tool.parameters.get("properties")?.as_object()
}
