//! Compares the function that METADATA names with the schema: every input that satisfies the schema
//! must be callable.

use super::findings::Findings;
use super::parameters::Property;
use crate::parsed_file::{
    NameBindingKind, ParameterKind, ParsedToolFile, PythonFunction, PythonParameter,
};
use crate::problem::{ProblemCode, ToolFileSeverity};

const CONTEXT: &str = "context";

/// Returns whether the function accepts arguments of any name.
pub(super) fn takes_any(reading: &ParsedToolFile) -> bool {
    reading.function.as_ref().is_some_and(has_keywords)
}

fn has_keywords(function: &PythonFunction) -> bool {
    function.parameters.iter().any(|parameter| parameter.kind == ParameterKind::Keywords)
}

/// Compares the function with the parameters of the schema. Without a comparable schema, only the
/// function's existence is checked.
pub(super) fn check_function(
    name: &str,
    properties: Option<&[Property]>,
    takes_context: bool,
    findings: &mut Findings<'_>,
) {
    let Some(function) = &findings.reading().function else {
        report_missing(name, findings);
        return;
    };
    let Some(properties) = properties else { return };
    // The effect of a decorator cannot be seen without running it.
    let severity =
        if function.is_decorated { ToolFileSeverity::Warning } else { ToolFileSeverity::Error };
    let mut comparison = SignatureComparison { name, function, severity, findings };
    for property in properties {
        comparison.check_property(property);
    }
    for parameter in &function.parameters {
        let is_filled_in = takes_context && parameter.name == CONTEXT;
        let is_known = properties.iter().any(|property| property.name == parameter.name);
        let is_needed = match parameter.kind {
            ParameterKind::Ordinary
            | ParameterKind::KeywordOnly
            | ParameterKind::PositionalOnly => !parameter.has_default,
            ParameterKind::Rest | ParameterKind::Keywords => false,
        };
        if is_filled_in || is_known || !is_needed {
            continue;
        }
        let unknown = &parameter.name;
        let mend = match unknown.as_str() {
            CONTEXT => {
                "add \"context\": True to METADATA if it is to say which call it is".to_owned()
            }
            _ => format!("add {unknown:?} to properties and required, or give it a default"),
        };
        comparison.report(
            comparison.findings.in_code(parameter.line),
            ProblemCode::NotInSchema,
            format!("{name} cannot be called without {unknown}, which the schema does not know"),
            mend,
        );
    }
    let takes_it = |parameter: &PythonParameter| match parameter.kind {
        ParameterKind::Ordinary | ParameterKind::KeywordOnly => parameter.name == CONTEXT,
        ParameterKind::Keywords => true,
        ParameterKind::PositionalOnly | ParameterKind::Rest => false,
    };
    if takes_context && !function.parameters.iter().any(takes_it) {
        comparison.report(
            comparison.findings.in_metadata("/context"),
            ProblemCode::NotInFunction,
            format!("METADATA asks for the context, and {name} takes no parameter context"),
            "add the parameter context to the function, or take \"context\" out of METADATA"
                .to_owned(),
        );
    }
}

fn report_missing(name: &str, findings: &mut Findings<'_>) {
    let reading = findings.reading();
    let found = match &reading.bound {
        None => format!("the file has no function {name}"),
        Some(bound) => {
            let how = match bound.how {
                NameBindingKind::Class => "a class",
                NameBindingKind::Nested => "a function within another statement",
                NameBindingKind::Import => "imported",
                NameBindingKind::Assignment => "assigned",
            };
            format!("{name} is {how} on line {}, not a function of the top level", bound.line)
        }
    };
    let mend = match (near(name, &reading.functions), &reading.bound) {
        (_, Some(_)) => format!("write def {name}(...) at the top level of this file"),
        (Some(near), None) => {
            format!("write \"function\": {near:?}, or rename that function to {name}")
        }
        (None, None) => format!("add def {name}(...), or name an existing function"),
    };
    findings.error(findings.in_metadata("/function"), ProblemCode::FunctionMissing, found, mend);
}

/// Returns a function whose name contains the wanted one or is contained in it, or the only
/// function.
fn near<'a>(name: &str, functions: &'a [String]) -> Option<&'a String> {
    let is_near = |function: &&String| {
        let bare = function.trim_start_matches('_').to_lowercase();
        let searched = name.to_lowercase();
        bare.contains(&searched) || searched.contains(&bare)
    };
    functions.iter().find(is_near).or(match functions {
        [only] => Some(only),
        _ => None,
    })
}

/// A function and a schema to compare.
struct SignatureComparison<'a, 'b> {
    name: &'a str,
    function: &'a PythonFunction,
    severity: ToolFileSeverity,
    findings: &'a mut Findings<'b>,
}

impl SignatureComparison<'_, '_> {
    fn check_property(&mut self, property: &Property) {
        let name = &property.name;
        let place = format!("/parameters/properties/{}", super::findings::escaped(name));
        let at = self.findings.in_metadata(&place);
        let parameter = self.function.parameters.iter().find(|parameter| parameter.name == *name);
        let Some(parameter) = parameter.filter(|parameter| match parameter.kind {
            ParameterKind::Ordinary
            | ParameterKind::KeywordOnly
            | ParameterKind::PositionalOnly => true,
            ParameterKind::Rest | ParameterKind::Keywords => false,
        }) else {
            if !has_keywords(self.function) {
                self.report(
                    at,
                    ProblemCode::NotInFunction,
                    format!("{} takes no parameter {name}", self.name),
                    format!("add {name} to the function, or take it out of the properties"),
                );
            }
            return;
        };
        if parameter.kind == ParameterKind::PositionalOnly {
            let function = self.name;
            return self.report(
                at,
                ProblemCode::NotInFunction,
                format!(
                    "{function} takes {name} by its place alone, and arguments are passed by name"
                ),
                "take the / out of its parameters".to_owned(),
            );
        }
        if !property.is_required && !parameter.has_default {
            self.report(
                self.findings.in_code(parameter.line),
                ProblemCode::NotInSchema,
                format!(
                    "{} cannot be called without {name}, which the schema lets callers leave out",
                    self.name
                ),
                format!("add {name:?} to required, or give it a default"),
            );
        }
        let Some(annotation) = parameter.annotation.as_deref() else { return };
        let expected = match annotation.trim_matches(['\'', '"']) {
            "str" => &["string"][..],
            "int" => &["integer"][..],
            "float" => &["number", "integer"][..],
            "bool" => &["boolean"][..],
            "dict" => &["object"][..],
            "list" => &["array"][..],
            _ => return,
        };
        if !property.types.iter().any(|name| expected.contains(&name.as_str())) {
            let types = property.types.join(" or ");
            self.findings.warning(
                self.findings.in_code(parameter.line),
                ProblemCode::Annotation,
                format!("{name} is annotated as {annotation}, and the schema says {types}"),
                "make them agree; the schema is what callers are held to",
            );
        }
    }

    fn report(
        &mut self,
        at: super::findings::ProblemLocation,
        code: ProblemCode,
        message: String,
        mend: String,
    ) {
        match self.severity {
            ToolFileSeverity::Error => self.findings.error(at, code, message, mend),
            ToolFileSeverity::Warning => self.findings.warning(at, code, message, mend),
        }
    }
}
