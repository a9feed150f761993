//! The names that are protected unless someone says otherwise, and why each is on the list. It deliberately leaves out
//! what runs only when somebody builds, tests or continues what they began: that is what a workspace is for.

/// What git, shells, editors and agents run or obey by themselves: whoever writes it runs commands outside of every
/// confinement, as soon as a person looks at the directory with the right program.
pub(super) const PATTERNS: &[&str] = &[
    // The entry of a repository itself: what takes its place decides where git looks for all that follows.
    ".git/.",
    // git runs hooks, and obeys its configuration, which names programs for dozens of occasions. In a directory that has
    // the shape of a repository these hold as if it were named `.git`; see `Survey`.
    ".git/hooks/**",
    ".git/config",
    ".git/config.worktree",
    // Says that configuration and hooks are to be found elsewhere.
    ".git/commondir",
    // The repositories of submodules and linked worktrees, inside of their parent's.
    ".git/modules/**/hooks/**",
    ".git/modules/**/config",
    ".git/modules/**/config.worktree",
    ".git/modules/**/commondir",
    ".git/worktrees/*/config.worktree",
    ".git/worktrees/*/commondir",
    // Hooks under the name that the most used installer gives them.
    ".husky/**",
    // The name that many projects give to the directory that git is told to look for hooks in.
    ".githooks/**",
    // Shells read these when they start, where the workspace is a home directory or encloses one.
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
    // direnv runs it on entering the directory, once it was allowed.
    ".envrc",
    // mise does the same, with variables, hooks and tasks.
    "mise.toml",
    ".mise.toml",
    // Package managers: what they run before the work of any project, where they fetch from, and with whose password.
    ".npmrc",
    ".yarnrc.yml",
    ".cargo/config",
    ".cargo/config.toml",
    // Debuggers run these in the directory that they start in.
    ".gdbinit",
    ".lldbinit",
    // Editors: tasks that start with the folder, paths of the programs that they run.
    ".vscode/**",
    "*.code-workspace",
    // Commands that an editor runs on this machine and in the container that it makes.
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
    // Agents: programs that they start as servers, hooks, and what they are allowed.
    ".mcp.json",
    ".claude/**",
    ".cursor/**",
    ".codex/**",
    ".gemini/**",
    ".windsurf/**",
    ".kiro/**",
    ".aider.conf.yml",
    ".continue/**",
    // Decides what haft itself allows.
    "haft.toml",
];
