//! `repo_clone`: clones a repository from a server into a new directory. git runs confined like any command, with network
//! access to the one host of the URL. haft runs nothing from the repository: no hooks, no submodules, no password helpers.
//! The directory appears as a whole or not at all.

#[cfg(test)]
mod tests;
mod url;

use std::path::Path;

use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{
    Access, CommandLine, Cx, Effect, ErrorCode, ListingCondition, ProcessEnding, RequirementSet,
    ShellOutcome, ShellRequest, ShellRequirement, Tool, ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::url::GitRemote;
use crate::bash;
use crate::text_file::workspace_write_requirements;

/// Longest URL, in bytes.
pub(crate) const URL_BYTES_MAX: usize = 2_000;
/// Time for `repo_clone`, in milliseconds.
///
/// Limit (web): the clone is stopped and removed.
pub(crate) const CLONE_MS: u64 = 600_000;
/// Part of that time that is reserved for cleaning up, in milliseconds.
pub(crate) const CLEANING_MS: u64 = 3_000;
/// Largest `depth` of `repo_clone`.
///
/// Limit (web): the input is refused.
pub(crate) const DEPTH_MAX: u32 = 1_000_000;

/// Exit status of the script if the directory exists already. git has no such status.
const STATUS_TARGET_EXISTS: i32 = 73;
/// Exit status of `timeout` after a timeout.
const STATUS_TIMED_OUT: i32 = 124;
/// The script's prefixes of its findings. No line of a server begins with them.
const COMMIT: &str = "haft-commit ";
const BRANCH: &str = "haft-branch ";

/// Clones into a partial directory beside the target, and renames it at the end, in one step. Its arguments are the time in
/// seconds, the target, the partial directory, their parent, and then the arguments of git.
const SCRIPT: &str = r#"
seconds=$1 target=$2 partial=$3 around=$4
shift 4
if [ -e "$target" ] || [ -L "$target" ]; then exit 73; fi
mkdir -p -- "$around" && rm -rf -- "$partial" || exit
GIT_TERMINAL_PROMPT=0 timeout --kill-after=1 "$seconds" git "$@" "$partial"
status=$?
if [ "$status" -eq 0 ]; then
    mv -T -- "$partial" "$target"
    status=$?
fi
if [ "$status" -ne 0 ]; then
    rm -rf -- "$partial"
    exit "$status"
fi
commit=$(git -C "$target" rev-parse --verify --quiet HEAD) && echo "haft-commit $commit"
branch=$(git -C "$target" symbolic-ref --quiet --short HEAD) && echo "haft-branch $branch"
exit 0
"#;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoCloneInput {
    /// https URL of the repository, without a password.
    #[schemars(length(min = 1, max = URL_BYTES_MAX))]
    url: String,
    /// New directory for it, relative to the root or absolute within it.
    #[schemars(length(min = 1, max = PATH_BYTES_MAX))]
    path: String,
    /// Commits of history to fetch; default: all.
    #[schemars(range(min = 1, max = DEPTH_MAX))]
    depth: Option<u32>,
}

#[derive(Serialize)]
struct RepoCloneOutput<'a> {
    path: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// The messages of git.
    #[serde(skip_serializing_if = "String::is_empty")]
    said: String,
}

pub(crate) fn repo_clone() -> Tool {
    Tool::new("repo_clone")
        .description(
            "Clone a git repository over https into a new directory. The host of the URL must be granted. Submodules and \
             private repositories cannot be fetched. Give depth 1 for the files without their history.",
        )
        .kind(ToolKind::Fetch)
        .listed_if(ListingCondition::HasHosts)
        .example_output(json!({
            "path": "a", "url": "https://example.org/a.git", "commit": "4b825dc", "branch": "main",
        }))
        .effect(Effect::Once)
        .dangerous()
        .requires(requires())
        .timeout_ms(|_: &Value| Some(CLONE_MS))
        .try_accesses(|input: &RepoCloneInput| {
            let host = GitRemote::parse(&input.url)?.host;
            let place = ClonePaths::from_path(&input.path)?;
            let words = ["git", "clone", "--", &input.url, &place.target];
            let command = CommandLine::Argv(words.map(str::to_owned).to_vec());
            let write = Access::write(input.path.as_str());
            Ok(vec![Access::Net { host }, write, Access::Shell { command }])
        })
        .execute_with(|input: RepoCloneInput, cx: Cx| async move { run(&input, &cx).await })
}

fn requires() -> RequirementSet {
    let shell = vec![ShellRequirement { cmd: "git".to_owned(), args: None }];
    let mut requires = RequirementSet { shell, ..workspace_write_requirements() };
    requires.net.hosts = vec!["*".to_owned()];
    requires
}

/// The paths of a clone, in words that no program takes for options.
#[derive(Debug)]
struct ClonePaths {
    target: String,
    partial: String,
    parent: String,
}

impl ClonePaths {
    fn from_path(path: &str) -> Result<Self, ToolError> {
        let given = Path::new(path);
        let Some(name) = given.file_name().and_then(|name| name.to_str()) else {
            let message = format!("path {path:?} names no new directory: end it in a name");
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        };
        let around = given.parent().filter(|parent| !parent.as_os_str().is_empty());
        let around = match around.unwrap_or(Path::new(".")) {
            plain if plain.is_absolute() || plain.starts_with(".") || plain.starts_with("..") => {
                plain.to_owned()
            }
            // A program would take a name with a leading dash for an option.
            relative => Path::new(".").join(relative),
        };
        let within = |name: &str| around.join(name).to_string_lossy().into_owned();
        Ok(Self {
            target: within(name),
            partial: within(&format!(".{name}.haft-partial")),
            parent: around.to_string_lossy().into_owned(),
        })
    }
}

/// Returns the arguments of git, without the directory.
fn git_words(input: &RepoCloneInput, remote: &GitRemote) -> Vec<String> {
    let settings = [
        // Protocols other than the judged one are refused, also after a redirect.
        "protocol.allow=never",
        &format!("protocol.{}.allow=always", remote.scheme),
        "http.followRedirects=initial",
        // git asks neither the user nor a program for a password.
        "credential.helper=",
        "core.askPass=",
        "core.hooksPath=/dev/null",
        "submodule.recurse=false",
    ];
    let mut words: Vec<String> =
        settings.into_iter().flat_map(|setting| ["-c", setting]).map(str::to_owned).collect();
    words.extend(["clone", "--quiet", "--template=", "--no-recurse-submodules"].map(str::to_owned));
    words.extend(input.depth.map(|depth| format!("--depth={depth}")));
    words.extend(["--".to_owned(), input.url.clone()]);
    words
}

async fn run(input: &RepoCloneInput, cx: &Cx) -> Result<ToolOutput, ToolError> {
    let (remote, place) = (GitRemote::parse(&input.url)?, ClonePaths::from_path(&input.path)?);
    let seconds = cx.timeout_ms().saturating_sub(CLEANING_MS).max(1_000) / 1_000;
    let script = ["-c", SCRIPT, "repo_clone"].map(str::to_owned);
    let places = [seconds.to_string(), place.target, place.partial.clone(), place.parent];
    let args = script.into_iter().chain(places).chain(git_words(input, &remote)).collect();
    let request = ShellRequest { program: "sh".to_owned(), args, cwd: None };
    let outcome = cx.shell().run(request).await?;
    match outcome.ending {
        ProcessEnding::Exited(0) => {
            let output = outcome.output.head;
            let found =
                |start: &str| output.lines().rev().find_map(|line| line.strip_prefix(start));
            let is_said = |line: &&str| !line.starts_with(COMMIT) && !line.starts_with(BRANCH);
            let answer = RepoCloneOutput {
                path: &input.path,
                url: &input.url,
                commit: found(COMMIT),
                branch: found(BRANCH),
                said: output.lines().filter(is_said).collect::<Vec<_>>().join("\n"),
            };
            let mut answer = ToolOutput::data(serde_json::to_value(answer).unwrap_or_default());
            answer.exit_code = Some(0);
            answer.confined = Some(outcome.confined);
            Ok(answer)
        }
        ProcessEnding::Exited(STATUS_TARGET_EXISTS) if outcome.output.head.is_empty() => {
            let message = format!("{:?} exists already: name a new directory", input.path);
            Err(ToolError::new(ErrorCode::PathInvalid, message).not_begun())
        }
        ProcessEnding::Exited(STATUS_TIMED_OUT) => {
            let message = format!(
                "git clone did not end within {seconds} s and was stopped; nothing of it was kept: give depth 1 to fetch \
                 less"
            );
            Err(ToolError::new(ErrorCode::ProcessTimeout, message))
        }
        ProcessEnding::TimedOut | ProcessEnding::Aborted => {
            let err = clone_error(cx, outcome);
            let message = format!("{}; {} may be left over", err.message, place.partial);
            Err(ToolError { message, ..err })
        }
        ProcessEnding::Exited(_) | ProcessEnding::Signalled(_) => Err(clone_error(cx, outcome)),
    }
}

fn clone_error(cx: &Cx, outcome: ShellOutcome) -> ToolError {
    match bash::command_output("git clone", cx, outcome, "") {
        Err(err) => err,
        Ok(_) => ToolError::new(ErrorCode::CommandFailed, "git clone did not say how it ended"),
    }
}
