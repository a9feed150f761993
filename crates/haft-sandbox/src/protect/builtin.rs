//! The names that are protected by default, each with the program that obeys it and the page that says so. The list
//! deliberately omits files that run only when a person builds, tests or continues work: running those is what a workspace is
//! for. The documentation shows this table.

/// Names that one program obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObeyedNames {
    /// The program, and why it matters.
    pub program: &'static str,
    /// The page that says so; one of these documents if it is no URL.
    pub source: &'static str,
    /// The patterns of the names, as in [`ProtectedPaths`](super::ProtectedPaths).
    pub patterns: &'static [&'static str],
}

/// Files that git, shells, editors and agents run or obey automatically. A process that writes one
/// of them runs commands outside of every confinement, as soon as a person opens the directory with
/// that program.
pub const OBEYED_NAMES: &[ObeyedNames] = &[
    // The entry of a repository itself. Replacing it changes where git looks for everything below.
    // git runs hooks and obeys its configuration, which names programs for dozens of occasions. In
    // a directory that has the shape of a repository these are protected as if it were named
    // `.git`; see `ProtectedPathScan`.
    names(
        "git: hooks, and settings that name programs",
        "https://git-scm.com/docs/gitrepository-layout",
        &[".git/.", ".git/hooks/**", ".git/config", ".git/config.worktree", ".git/commondir"],
    ),
    names(
        "git: repositories of submodules and worktrees inside their parent's repository",
        "https://git-scm.com/docs/gitrepository-layout",
        &[
            ".git/modules/**/hooks/**",
            ".git/modules/**/config",
            ".git/modules/**/config.worktree",
            ".git/modules/**/commondir",
            ".git/worktrees/*/config.worktree",
            ".git/worktrees/*/commondir",
        ],
    ),
    names(
        "git: the settings of the user",
        "https://git-scm.com/docs/git-config#FILES",
        &[".gitconfig", ".config/git/**"],
    ),
    names("husky: hooks of git", "https://typicode.github.io/husky/", &[".husky/**"]),
    names(
        "git: the directory that many projects configure for hooks",
        "https://git-scm.com/docs/git-config#Documentation/git-config.txt-corehooksPath",
        &[".githooks/**"],
    ),
    names(
        "Mercurial: hooks and extensions",
        "https://www.mercurial-scm.org/help/topics/config",
        &[".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".hgrc", ".config/hg/**"],
    ),
    names(
        "Jujutsu: programs and aliases",
        "https://github.com/jj-vcs/jj/blob/main/lib/src/secure_config.rs",
        &[
            ".jj/repo/config.toml",
            ".jj/repo/config-id",
            ".jj/workspace-config.toml",
            ".jj/workspace-config-id",
            ".jjconfig.toml",
            ".config/jj/**",
        ],
    ),
    // Shells read these when they start, if the workspace is a home directory or contains one.
    names(
        "sh and bash",
        "https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html",
        &[
            ".profile",
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".bash_completion",
            ".inputrc",
        ],
    ),
    names(
        "zsh",
        "https://zsh.sourceforge.io/Doc/Release/Files.html",
        // zsh runs a compiled file that is newer in the place of the text.
        &[
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".zshrc.zwc",
            ".zshenv.zwc",
            ".zprofile.zwc",
            ".zlogin.zwc",
            ".zlogout.zwc",
        ],
    ),
    names("ksh", "https://man.openbsd.org/ksh", &[".kshrc", ".mkshrc"]),
    names(
        "csh and tcsh",
        "https://man.freebsd.org/cgi/man.cgi?query=tcsh",
        &[".cshrc", ".tcshrc", ".login", ".logout"],
    ),
    names(
        "fish",
        "https://fishshell.com/docs/current/language.html#configuration-files",
        &[".config/fish/**"],
    ),
    names("Nushell", "https://www.nushell.sh/book/configuration.html", &[".config/nushell/**"]),
    names(
        "the desktop and systemd: programs that start with a session",
        "https://specifications.freedesktop.org/autostart-spec/latest/",
        &[".config/autostart/**", ".config/environment.d/**", ".config/systemd/user/**"],
    ),
    names(
        "X11 and PAM: programs and variables of a session",
        "https://www.x.org/releases/current/doc/man/man1/xinit.1.xhtml",
        &[".pam_environment", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc"],
    ),
    names("tmux", "https://man.openbsd.org/tmux#FILES", &[".tmux.conf", ".config/tmux/**"]),
    // On the search path of most shells, before the system's programs.
    names(
        "shells: programs on PATH",
        "https://specifications.freedesktop.org/basedir-spec/latest/",
        &[".local/bin/**"],
    ),
    names("OpenSSH", "https://man.openbsd.org/ssh#FILES", &[".ssh/**"]),
    names(
        "haft: its permissions, agents and skills",
        "security.md",
        &["haft.toml", ".config/haft/**"],
    ),
    names(
        "direnv: runs it when a shell enters the directory",
        "https://direnv.net/man/direnv.1.html",
        &[".envrc", ".config/direnv/**"],
    ),
    names(
        "mise: variables, hooks and tools of a directory",
        "https://mise.jdx.dev/configuration.html",
        &[
            "mise.toml",
            "mise.*.toml",
            ".mise.toml",
            ".mise.*.toml",
            ".mise/config*.toml",
            ".mise/conf.d/**",
            "mise/config*.toml",
            ".config/mise.toml",
            ".config/mise.*.toml",
            ".config/mise/**",
            ".miserc.toml",
            ".config/miserc.toml",
            ".rtx.toml",
            ".rtx.*.toml",
        ],
    ),
    // Programs that package managers run in any project, registries that they use, and passwords.
    names("npm", "https://docs.npmjs.com/cli/configuring-npm/npmrc", &[".npmrc"]),
    names(
        "Yarn: the program that it runs in its place, and plugins",
        "https://yarnpkg.com/configuration/yarnrc",
        &[".yarnrc", ".yarnrc.yml", ".yarn/releases/**", ".yarn/plugins/**"],
    ),
    names(
        "Cargo",
        "https://doc.rust-lang.org/cargo/reference/config.html",
        &[".cargo/config", ".cargo/config.toml"],
    ),
    names(
        "rustup: a toolchain may be any directory",
        "https://rust-lang.github.io/rustup/overrides.html#the-toolchain-file",
        &["rust-toolchain", "rust-toolchain.toml"],
    ),
    names(
        "Bundler: settings and plugins",
        "https://bundler.io/man/bundle-config.1.html",
        &[".bundle/config", ".bundle/plugin/**"],
    ),
    // Debuggers and interactive interpreters run these in the directory that they start in.
    names(
        "GDB",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Initialization-Files.html",
        &[".gdbinit", ".gdbearlyinit", ".config/gdb/**"],
    ),
    names("LLDB", "https://lldb.llvm.org/man/lldb.html#configuration-files", &[".lldbinit"]),
    names("pdb of Python", "https://docs.python.org/3/library/pdb.html", &[".pdbrc"]),
    names(
        "the debugger of Perl",
        "https://perldoc.perl.org/perldebug#Debugger-Customization",
        &[".perldb"],
    ),
    names(
        "IRB of Ruby",
        "https://ruby.github.io/irb/Configurations_md.html",
        &[".irbrc", "_irbrc", "$irbrc", "irb.rc", ".config/irb/irbrc"],
    ),
    names(
        "Pry of Ruby",
        "https://github.com/pry/pry/wiki/Pry-rc",
        &[".pryrc", ".config/pry/pryrc"],
    ),
    names(
        "IEx of Elixir",
        "https://hexdocs.pm/iex/IEx.html#module-the-iex-exs-file",
        &[".iex.exs"],
    ),
    names(
        "GHCi of Haskell",
        "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html#the-ghci-files",
        &[".ghci"],
    ),
    names(
        "R",
        "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html",
        &[".Rprofile", ".Renviron"],
    ),
    names("PsySH of PHP", "https://github.com/bobthecow/psysh/wiki/Configuration", &[".psysh.php"]),
    names("OCaml", "https://ocaml.org/manual/5.3/toplevel.html", &[".ocamlinit"]),
    // Editors: tasks that start with the folder, and paths of programs that they run.
    names(
        "VS Code",
        "https://code.visualstudio.com/docs/editor/workspace-trust",
        &[".vscode/**", "*.code-workspace"],
    ),
    // Commands that an editor runs on this machine and in the container that it creates.
    names(
        "development containers",
        "https://containers.dev/implementors/json_reference/",
        &[".devcontainer/**", ".devcontainer.json"],
    ),
    names(
        "IDEs of JetBrains",
        "https://www.jetbrains.com/help/idea/project-security.html",
        &[".idea/**"],
    ),
    names("Zed", "https://zed.dev/docs/configuring-zed", &[".zed/**", ".config/zed/**"]),
    names(
        "Helix",
        "https://docs.helix-editor.com/configuration.html",
        &[".helix/**", ".config/helix/**"],
    ),
    names(
        "Vim",
        "https://vimhelp.org/starting.txt.html#.vimrc",
        &[".exrc", ".vimrc", ".gvimrc", ".vim/**", ".config/vim/**"],
    ),
    names(
        "Neovim and lazy.nvim",
        "https://neovim.io/doc/user/starting.html",
        &[".nvimrc", ".nvim.lua", ".lazy.lua", ".config/nvim/**"],
    ),
    names(
        "Emacs",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
        &[
            ".emacs",
            ".emacs.el",
            ".emacs.d/**",
            ".config/emacs/**",
            ".dir-locals.el",
            ".dir-locals-2.el",
        ],
    ),
    // Agents: servers that they start, hooks, and permissions.
    names(
        "agents: MCP servers of a project",
        "https://code.claude.com/docs/en/mcp",
        &[".mcp.json"],
    ),
    names("Claude Code", "https://code.claude.com/docs/en/settings", &[".claude/**"]),
    names("Cursor", "https://cursor.com/docs/mcp", &[".cursor/**"]),
    names("Codex", "https://developers.openai.com/codex/config-reference", &[".codex/**"]),
    names("Gemini CLI", "https://geminicli.com/docs/reference/configuration/", &[".gemini/**"]),
    names("Windsurf", "https://docs.devin.ai/desktop/cascade/hooks", &[".windsurf/**"]),
    names("Kiro", "https://kiro.dev/docs/mcp/configuration/", &[".kiro/**"]),
    names("aider", "https://aider.chat/docs/config/aider_conf.html", &[".aider.conf.yml"]),
    names(
        "Continue",
        "https://docs.continue.dev/customize/deep-dives/mcp",
        &[".continue/**", "*.continuerc.json"],
    ),
    names(
        "opencode",
        "https://opencode.ai/docs/config/",
        &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode.json",
            ".opencode/**",
            ".config/opencode/**",
            "tui.json",
            "tui.jsonc",
        ],
    ),
    names(
        "Crush",
        "https://github.com/charmbracelet/crush",
        &[
            "crush.json",
            ".crush.json",
            "crushrc",
            ".crushrc",
            ".crush/crush.json",
            ".config/crush/**",
        ],
    ),
    names(
        "Qwen Code",
        "https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings",
        &[".qwen/**"],
    ),
    names(
        "Roo Code",
        "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
        &[".roo/**", ".roomodes"],
    ),
    names(
        "GitHub Copilot: hooks, servers and extensions of a repository",
        "https://docs.github.com/en/copilot/reference/hooks-reference",
        &[
            ".github/hooks/**",
            ".github/mcp.json",
            ".github/lsp.json",
            ".github/extensions/**",
            ".github/copilot/**",
            ".copilot/**",
        ],
    ),
    names(
        "goose: plugins of a project",
        "https://github.com/aaif-goose/goose",
        &[".agents/plugins/**", ".agents/hooks.json", ".agents/mcp_config.json"],
    ),
    names(
        "Cline",
        "https://docs.cline.bot/getting-started/config",
        &[".cline/**", ".clinerules/hooks/**"],
    ),
    names(
        "Kilo Code",
        "https://kilo.ai/docs",
        &["kilo.json", "kilo.jsonc", ".kilo/**", ".kilocode/**"],
    ),
    names("Factory", "https://docs.factory.ai/reference/hooks-reference", &[".factory/**"]),
    names("Augment", "https://docs.augmentcode.com/cli/hooks", &[".augment/**"]),
    names("Pi", "https://github.com/badlogic/pi-mono", &[".pi/**"]),
    names("Mistral Vibe", "https://github.com/mistralai/mistral-vibe", &[".vibe/**"]),
    names(
        "agents of VS Code and Copilot",
        "https://code.visualstudio.com/docs/copilot/customization/custom-agents",
        &[".github/agents/**"],
    ),
    names(
        "Amazon Q",
        "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-mcp.html",
        &[".amazonq/**"],
    ),
];

const fn names(
    program: &'static str,
    source: &'static str,
    patterns: &'static [&'static str],
) -> ObeyedNames {
    ObeyedNames { program, source, patterns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_source_and_is_there_once() {
        let mut all: Vec<&str> = OBEYED_NAMES.iter().flat_map(|it| it.patterns).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for ObeyedNames { program, source, patterns } in OBEYED_NAMES {
            let is_page = source.starts_with("https://") || source.ends_with(".md");
            assert!(is_page && !patterns.is_empty(), "{program}");
        }
    }
}
