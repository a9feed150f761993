//! The tools of an agent, by id or by glob. The scope does not say what a call of such a tool may do.

use haft_contract::ToolId;

use crate::glob::Glob;
use crate::pattern::PatternError;

/// Some of all tools. An empty one holds none.
#[derive(Clone, Debug)]
pub struct ToolScope {
    globs: Vec<Glob>,
}

impl ToolScope {
    /// Compiles ids, and globs over ids such as `web_*`.
    ///
    /// ```
    /// use haft_contract::ToolId;
    /// use haft_policy::ToolScope;
    ///
    /// let scope = ToolScope::compile(&["read".to_owned(), "web_*".to_owned()]).unwrap();
    /// assert!(scope.contains(&ToolId::parse("web_fetch").unwrap()));
    /// assert!(!scope.contains(&ToolId::parse("bash").unwrap()));
    /// ```
    pub fn compile(texts: &[String]) -> Result<Self, PatternError> {
        let glob = |text: &String| {
            Glob::parse(text).map_err(|fault| PatternError { pattern: text.clone(), fault })
        };
        Ok(Self { globs: texts.iter().map(glob).collect::<Result<_, _>>()? })
    }

    /// Returns whether the tool is one of them.
    pub fn contains(&self, tool: &ToolId) -> bool {
        self.globs.iter().any(|glob| glob.matches(tool.as_str().as_bytes()))
    }
}
