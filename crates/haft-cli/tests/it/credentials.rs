//! Every place of the table of credentials, created and then read by a command and by `read`: with the home directory as the
//! root, and with the root elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use haft_app::host_paths::CREDENTIALS;
use serde_json::{Value, json};

use crate::world::World;

/// The content of every credential.
const SECRET: &str = "s3cret";

/// How a place of the table is created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    File,
    Directory,
}

/// The created credentials, and the variables that lead to some of them.
struct Credentials {
    files: Vec<PathBuf>,
    variables: Vec<(String, PathBuf)>,
}

/// Creates every credential of the table that lies in the home directory or where a variable says.
fn create(world: &World, kind: PlaceKind) -> Credentials {
    let home = world.path("home");
    let (mut files, mut variables) = (Vec::new(), Vec::new());
    for place in CREDENTIALS.iter().flat_map(|owner| owner.places) {
        let path = if let Some(name) = place.strip_prefix("~/") {
            home.join(name)
        } else if let Some(named) = place.strip_prefix('$') {
            let (name, inside) = named.split_once('/').unwrap_or((named, ""));
            let path = home.join("moved").join(name);
            variables.push((name.to_owned(), path.clone()));
            if inside.is_empty() { path } else { path.join(inside) }
        } else {
            continue;
        };
        let file = match kind {
            PlaceKind::File => path,
            PlaceKind::Directory => path.join("inside"),
        };
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, SECRET).unwrap();
        files.push(file);
    }
    Credentials { files, variables }
}

impl Credentials {
    fn haft(&self, world: &World, args: &[&str], root: &Path) -> Command {
        let mut command = world.haft(args);
        command.arg("--root").arg(root).envs(self.variables.iter().cloned());
        command
    }

    /// Tries to read every credential, and returns what was read.
    fn read(&self, world: &World, root: &Path) -> String {
        let list: String = self.files.iter().map(|file| format!("{}\n", file.display())).collect();
        std::fs::write(root.join("list.txt"), list).unwrap();
        let line = r#"while read -r file; do cat "$file" 2>&1 || true; done < list.txt; cat list.txt | wc -l"#;
        let input = json!({"cmd": line}).to_string();
        let output = self.haft(world, &["call", "bash", &input, "--allow", "bash", "--json"], root);
        let commands = world.shown(&{ output }.output().unwrap());
        assert!(commands.contains(&self.files.len().to_string()), "{commands}");

        let nodes = self.files.iter().enumerate().map(|(id, file)| {
            json!({"id": id, "tool": "read", "inputs": {"path": file}, "on_fail": "continue"})
        });
        let nodes: Vec<Value> = nodes.collect();
        world.write("plan.json", &json!({"nodes": nodes, "final_output_node": 0}).to_string());
        let plan = world.path("plan.json");
        let plan = self.haft(world, &["run", plan.to_str().unwrap(), "--json"], root).output();
        let plan = world.shown(&plan.unwrap());
        assert!(plan.contains("CAPABILITY_DENIED") || plan.contains("TOOL_PATH_ESCAPE"), "{plan}");
        commands + &plan
    }
}

#[test]
fn no_credential_of_the_table_is_read() {
    for kind in [PlaceKind::File, PlaceKind::Directory] {
        for root in ["home", "work"] {
            let world = World::with_files();
            let credentials = create(&world, kind);
            assert!(credentials.files.len() > 100);
            let read = credentials.read(&world, &world.path(root));
            assert!(!read.contains(SECRET), "with the root {root}: {read}");
            // The test itself can read what it looks for.
            world.write(&format!("{root}/open.txt"), SECRET);
            let open = Credentials {
                files: vec![world.path(root).join("open.txt"), world.path("home/.netrc")],
                variables: Vec::new(),
            };
            let read = open.read(&world, &world.path(root));
            assert!(read.matches(SECRET).count() >= 2, "with the root {root}: {read}");
        }
    }
}

#[test]
fn a_directory_on_path_shows_itself_and_not_what_lies_around_it() {
    let world = World::with_files();
    world.write("home/.foo/.npmrc", SECRET);
    world.write("home/.foo/lib/part.txt", "a library");
    world.write("home/.foo/bin/tool", "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/part.txt\"\n");
    let tool = world.path("home/.foo/bin/tool");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let line = format!("tool; cat {}", world.path("home/.foo/.npmrc").display());
    let input = json!({"cmd": line}).to_string();
    let mut command = world.haft(&["call", "bash", &input, "--allow", "bash"]);
    command.env("PATH", format!("/usr/bin:/bin:{}", tool.parent().unwrap().display()));
    let shown = world.shown(&command.output().unwrap());
    assert!(shown.contains("a library") && !shown.contains(SECRET), "{shown}");
}
