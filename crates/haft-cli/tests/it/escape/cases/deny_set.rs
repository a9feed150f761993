//! Attempts to leave something in the workspace that others run or obey by themselves. The names are protected where they
//! are and where they are not yet, however a path is spelled.

use crate::escape::case::Configuration::NoKernel;
use crate::escape::case::{Case, bash, tool};

const REPOSITORY: &str = "git init -q .; echo '#!/bin/sh' > .git/hooks/post-checkout";
const NESTED: &str = "git init -q a/b/c/repo";
const HOOK: &[&str] = &[".git/hooks/pre-commit"];

pub(super) const CASES: &[Case] = &[
    tool("write a hook", "write", r#"{"path": "{name}/.git/hooks/pre-commit", "content": "x"}"#, "echo x > .git/hooks/pre-commit")
        .prepared(REPOSITORY)
        .guarding(HOOK),
    tool("write a hook in capitals", "write", r#"{"path": "{name}/.GIT/Hooks/pre-commit", "content": "x"}"#, "mkdir -p .GIT/Hooks; echo x > .GIT/Hooks/pre-commit")
        .guarding(&[".GIT"]),
    tool("write a hook with an ignorable letter", "write", "{\"path\": \"{name}/.g\u{200c}it/hooks/pre-commit\", \"content\": \"x\"}", "mkdir -p .g\u{200c}it/hooks; echo x > .g\u{200c}it/hooks/pre-commit")
        .guarding(&[".g\u{200c}it"]),
    tool("write a hook through a link", "write", r#"{"path": "{name}/link/pre-commit", "content": "x"}"#, "echo x > link/pre-commit")
        .prepared("git init -q .; ln -s .git/hooks link")
        .guarding(HOOK),
    tool("write git's configuration", "write", r#"{"path": "{name}/.git/config", "content": "x"}"#, "echo x > .git/config")
        .prepared(REPOSITORY)
        .guarding(&[".git/config"]),
    tool("edit git's configuration by another name", "edit", r#"{"path": "{name}/twin", "old_string": "core", "new_string": "x"}"#, "printf x >> twin")
        .prepared("git init -q .; ln .git/config twin")
        .guarding(&[".git/config"]),
    tool("patch an editor's tasks", "apply_patch", r#"{"patch": "--- /dev/null\n+++ b/{name}/.vscode/tasks.json\n@@ -0,0 +1 @@\n+x\n"}"#, "mkdir .vscode; echo x > .vscode/tasks.json")
        .guarding(&[".vscode"]),
    tool("write an agent's servers", "write", r#"{"path": "{name}/.mcp.json", "content": "{}"}"#, "echo > .mcp.json")
        .guarding(&[".mcp.json"]),
    tool("write an agent's settings", "write", r#"{"path": "{name}/.claude/settings.json", "content": "{}"}"#, "mkdir .claude; echo > .claude/settings.json")
        .guarding(&[".claude"]),
    tool("write .envrc", "write", r#"{"path": "{name}/deep/.envrc", "content": "x"}"#, "mkdir deep; echo x > deep/.envrc")
        .guarding(&["deep/.envrc"]),
    tool("write a shell's start-up file", "write", r#"{"path": "{name}/.bashrc", "content": "x"}"#, "echo x > .bashrc")
        .guarding(&[".bashrc"]),
    bash("a hook", "echo x > .git/hooks/pre-commit").prepared(REPOSITORY).guarding(HOOK),
    bash("a hook that is there", "echo x > .git/hooks/post-checkout").prepared(REPOSITORY).guarding(&[".git/hooks"]),
    bash("a hook removed", "rm -f .git/hooks/post-checkout").prepared(REPOSITORY).guarding(&[".git/hooks"]),
    bash("a hook made executable", "chmod +x .git/hooks/post-checkout").prepared(REPOSITORY).guarding(&[".git/hooks"]),
    bash("hooks exchanged", "mv .git/hooks .git/old; mkdir .git/hooks; echo x > .git/hooks/pre-commit")
        .prepared(REPOSITORY)
        .guarding(&[".git/hooks"]),
    bash("a repository exchanged", "mv .git old; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")
        .prepared(REPOSITORY)
        .guarding(HOOK),
    bash("a repository moved away and back", "cd a; mv b x; echo y > x/c/repo/.git/hooks/pre-commit; mv x b")
        .prepared(NESTED)
        .guarding(&["a/b/c/repo/.git/hooks"]),
    bash("a parent exchanged", "mv a old; mkdir -p a/b/c/repo/.git/hooks; echo x > a/b/c/repo/.git/hooks/pre-commit")
        .prepared(NESTED)
        .guarding(&["a/b/c/repo/.git/hooks/pre-commit"]),
    bash("a nested hook", "echo x > a/b/c/repo/.git/hooks/pre-commit").prepared(NESTED).guarding(&["a/b/c/repo/.git/hooks"]),
    bash("a hook in a new repository", "git init -q n/e/w; echo x > n/e/w/.git/hooks/pre-commit")
        .guarding(&["n/e/w/.git/hooks/pre-commit"]),
    bash("a hook in a new bare repository", "git init -q --bare n.git; echo x > n.git/hooks/pre-commit")
        .guarding(&["n.git/hooks/pre-commit"])
        .open(&[NoKernel]),
    bash("a hook in a directory not created by git", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")
        .guarding(HOOK),
    bash("a hook by a template", "mkdir -p t/hooks; echo x > t/hooks/pre-commit; git init -q --template=t n")
        .guarding(&["n/.git/hooks/pre-commit"])
        .open(&[NoKernel]),
    bash("a hook in capitals", "mkdir -p .GIT/HOOKS; echo x > .GIT/HOOKS/pre-commit").guarding(&[".GIT/HOOKS/pre-commit"]),
    bash("a hook of a submodule", "mkdir -p .git/modules/m/hooks; echo x > .git/modules/m/hooks/pre-commit")
        .prepared(REPOSITORY)
        .guarding(&[".git/modules/m/hooks/pre-commit"]),
    bash("hooks as a link", "rm -rf .git/hooks; mkdir evil; echo x > evil/pre-commit; ln -s ../evil .git/hooks")
        .prepared(REPOSITORY)
        .guarding(&[".git/hooks"]),
    bash("where a link of hooks leads", "echo x > shared/pre-commit")
        .prepared("git init -q .; rm -r .git/hooks; mkdir shared; ln -s ../shared .git/hooks")
        .guarding(&["shared"])
        .open(&[NoKernel]),
    bash("git config core.hooksPath", "git config core.hooksPath evil").prepared(REPOSITORY).guarding(&[".git/config"])
        .open(&[NoKernel]),
    bash("git config alias", "git config alias.st '!x'").prepared(REPOSITORY).guarding(&[".git/config"])
        .open(&[NoKernel]),
    bash("git config of a filter", "git config filter.x.smudge x").prepared(REPOSITORY).guarding(&[".git/config"])
        .open(&[NoKernel]),
    bash("git config of a worktree", "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor x")
        .prepared(REPOSITORY)
        .guarding(&[".git/config", ".git/config.worktree"])
        .open(&[NoKernel]),
    bash("a config replaced", "cp .git/config c; echo '[core] fsmonitor = x' >> c; mv c .git/config")
        .prepared(REPOSITORY)
        .guarding(&[".git/config"]),
    bash("a config by another name", "ln .git/config twin && echo '[core] fsmonitor = x' >> twin")
        .prepared(REPOSITORY)
        .guarding(&[".git/config"])
        .open(&[NoKernel]),
    bash("a config by its other name", "echo '[core] fsmonitor = x' >> twin")
        .prepared("git init -q .; ln .git/config twin")
        .guarding(&[".git/config"])
        .open(&[NoKernel]),
    bash("a config of a repository that is made", "git init -q n; git -C n config core.fsmonitor x").guarding(&["n/.git/config"])
        .open(&[NoKernel]),
    bash("a config that is included", "git init -q n; git -C n config include.path ../../evil").guarding(&["n/.git/config"])
        .open(&[NoKernel]),
    bash("a common directory elsewhere", "mkdir evil; echo ../evil > .git/commondir").prepared(REPOSITORY).guarding(&[".git/commondir"]),
    bash("a repository kept elsewhere", "git init -q --separate-git-dir=kept n; git -C n config core.fsmonitor x")
        .guarding(&["kept/config"])
        .open(&[NoKernel]),
    bash("a linked worktree with a config", "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git worktree add -q w; git config extensions.worktreeConfig true; git -C w config --worktree core.fsmonitor x")
        .prepared(REPOSITORY)
        .guarding(&[".git/config", ".git/worktrees/w/config.worktree"])
        .open(&[NoKernel]),
    bash(".envrc", "echo x > .envrc").guarding(&[".envrc"]),
    bash(".envrc that is there", "echo x > .envrc").prepared("echo '# mine' > .envrc").guarding(&[".envrc"]),
    bash(".envrc by a link", "echo x > real; ln -s real .envrc").guarding(&[".envrc"]),
    bash(".envrc by a rename at depth", "mkdir -p p/q; echo x > p/q/e; mv p/q/e p/q/.envrc").guarding(&["p/q/.envrc"]),
    bash(".bashrc", "echo x > .bashrc; echo x > .profile; echo x > .zshenv").guarding(&[".bashrc", ".profile", ".zshenv"]),
    bash(".vscode", "mkdir .vscode; echo x > .vscode/tasks.json").guarding(&[".vscode/tasks.json"]),
    bash(".vscode that is there", "echo x > .vscode/tasks.json; rm .vscode/settings.json")
        .prepared("mkdir .vscode; echo '{}' > .vscode/settings.json")
        .guarding(&[".vscode/tasks.json", ".vscode/settings.json"]),
    bash(".idea", "mkdir -p .idea/runConfigurations; echo x > .idea/runConfigurations/a.xml").guarding(&[".idea/runConfigurations/a.xml"]),
    bash(".mcp.json", "echo '{}' > .mcp.json").guarding(&[".mcp.json"]),
    bash(".claude", "mkdir .claude; echo '{}' > .claude/settings.json").guarding(&[".claude/settings.json"]),
    bash("a directory with protected paths unpacked", "mkdir s; cd s; mkdir .claude .vscode; echo x > .claude/a; echo x > .vscode/b; cd ..; tar -cf t.tar s; rm -r s; tar -xf t.tar")
        .guarding(&["s/.claude/a", "s/.vscode/b"]),
    bash("protected paths during a call that is then killed", "echo x > .envrc; kill -9 $$").guarding(&[".envrc"]),
    bash("protected paths in a directory that cannot be read", "mkdir d; echo x > d/.envrc; chmod 000 d").guarding(&["d/.envrc"]),
    bash("protected paths deep down", "mkdir -p d/d/d/d/d/d/d/d/d/d/d/d; echo x > d/d/d/d/d/d/d/d/d/d/d/d/.envrc")
        .guarding(&["d/d/d/d/d/d/d/d/d/d/d/d/.envrc"]),
];
