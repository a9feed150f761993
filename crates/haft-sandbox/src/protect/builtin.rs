//! The names that are protected by default, and why each is on the list. The list deliberately
//! omits files that run only when a person builds, tests or continues work: running those is what a
//! workspace is for.

/// Files that git, shells, editors and agents run or obey automatically. A process that writes one
/// of them runs commands outside of every confinement, as soon as a person opens the directory with
/// that program.
pub(super) const PATTERNS: &[&str] = &[
    // The entry of a repository itself. Replacing it changes where git looks for everything below.
    ".git/.",
    // git runs hooks and obeys its configuration, which names programs for dozens of occasions. In
    // a directory that has the shape of a repository these are protected as if it were named
    // `.git`; see `ProtectedPathScan`.
    ".git/hooks/**",
    ".git/config",
    ".git/config.worktree",
    // Redirects configuration and hooks to another place.
    ".git/commondir",
    // The repositories of submodules and linked worktrees, inside their parent's repository.
    ".git/modules/**/hooks/**",
    ".git/modules/**/config",
    ".git/modules/**/config.worktree",
    ".git/modules/**/commondir",
    ".git/worktrees/*/config.worktree",
    ".git/worktrees/*/commondir",
    // Hooks in the directory of the most common hook installer.
    ".husky/**",
    // The directory that many projects configure as git's hook directory.
    ".githooks/**",
    // Shells read these when they start, if the workspace is a home directory or contains one.
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".config/fish/**",
    ".config/nushell/**",
    ".config/autostart/**",
    ".config/environment.d/**",
    ".config/systemd/user/**",
    ".pam_environment",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".xinitrc",
    ".config/nvim/**",
    ".vim/**",
    ".emacs",
    ".emacs.d/**",
    ".tmux.conf",
    // On the search path of most shells, before the system's programs.
    ".local/bin/**",
    ".ssh/**",
    ".gitconfig",
    ".config/git/**",
    // Agents and skills that haft itself obeys in every workspace.
    ".config/haft/**",
    // direnv runs it when a shell enters the directory, once it was allowed.
    ".envrc",
    // mise does the same, with variables, hooks and tasks.
    "mise.toml",
    ".mise.toml",
    // Package managers: programs that they run in any project, registries that they use, and
    // passwords.
    ".npmrc",
    ".yarnrc.yml",
    ".cargo/config",
    ".cargo/config.toml",
    // Debuggers run these in the directory that they start in.
    ".gdbinit",
    ".lldbinit",
    // Editors: tasks that start with the folder, and paths of programs that they run.
    ".vscode/**",
    "*.code-workspace",
    // Commands that an editor runs on this machine and in the container that it creates.
    ".devcontainer/**",
    ".idea/**",
    ".zed/**",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".gvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    // Agents: servers that they start, hooks, and permissions.
    ".mcp.json",
    ".claude/**",
    ".cursor/**",
    ".codex/**",
    ".gemini/**",
    ".windsurf/**",
    ".kiro/**",
    ".aider.conf.yml",
    ".continue/**",
    // Configures haft's own permissions.
    "haft.toml",
];
