//! The next steps that errors and notices advise, as commands of this command line that can be pasted.

use std::path::Path;

use haft_app::quote;
use haft_app::server_package::PackageRegistry;
use haft_app::{NextStep, ServerInstall};

/// Returns the commands that install the package of a server, and start its program in place of the server's command.
pub(crate) fn install_commands(install: &ServerInstall) -> String {
    let ServerInstall { server: name, registry, package, arguments, .. } = install;
    let package = package.as_deref().map_or_else(|| "PACKAGE".to_owned(), quote::shell);
    let add = format!("haft mcp add {name} {} {package}", package_flag(*registry));
    let words: Vec<String> = arguments.iter().map(|word| quote::shell(word)).collect();
    let words = if words.is_empty() { String::new() } else { format!(" -- {}", words.join(" ")) };
    format!("haft mcp remove {name}\n{add}{words}")
}

/// Returns the flag that names a package of a registry.
fn package_flag(registry: PackageRegistry) -> &'static str {
    match registry {
        PackageRegistry::Npm => "--npm",
        PackageRegistry::PyPi => "--pypi",
    }
}

/// Returns the command that a step is.
pub(crate) fn command_of(step: &NextStep) -> String {
    let path = |path: &Path| quote::shell(&path.to_string_lossy());
    match step {
        NextStep::NameStateDirectory => "export HAFT_STATE_DIR=/path/to/a/directory".to_owned(),
        NextStep::NameWritableStateDirectory => {
            "export HAFT_STATE_DIR=/path/to/a/writable/directory".to_owned()
        }
        NextStep::NameRoot => "haft --root /path/to/a/directory".to_owned(),
        NextStep::NameModel => "export HAFT_MODEL=openai/gpt-5".to_owned(),
        NextStep::MakeManifest => "haft init".to_owned(),
        NextStep::Trust(manifest) => format!("haft trust {}", path(manifest)),
        NextStep::ListTools => "haft tools list".to_owned(),
        NextStep::ListRules => "haft permissions list".to_owned(),
        NextStep::ShowRun(run) => format!("haft runs show {run}"),
        NextStep::ShowAsk(ask) => format!("haft asks show {ask}"),
        NextStep::TestServer(name) => format!("haft mcp test {name}"),
        NextStep::LogIn(name) => format!("haft mcp login {name}"),
        NextStep::InstallServer(install) => {
            format!("{}:\n{}", install.problem, install_commands(install))
        }
        NextStep::InstallPackage { server, package } => {
            let flag = package_flag(package.registry);
            format!("haft mcp add {server} {flag} {}", quote::shell(&package.spec()))
        }
        NextStep::CheckSkills => "haft skills check".to_owned(),
        NextStep::CheckAgents => "haft agents check".to_owned(),
        NextStep::RemoveFile(file) => format!("rm {}", path(file)),
        NextStep::InspectFile(file) => format!("ls -l {}", path(file)),
        NextStep::RestrictFiles(files) => {
            let files: Vec<String> = files.iter().map(|file| path(file)).collect();
            format!("chmod go-w {}", files.join(" "))
        }
        NextStep::InspectDisk(directory) => format!("df -h {}", path(directory)),
        NextStep::Advice(text) => text.clone(),
    }
}
