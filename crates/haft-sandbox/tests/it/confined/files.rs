//! The files that a confined command sees and changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use haft_sandbox::{Confinement, Mechanisms, ProcessExit, SandboxCommand};

use super::{check, check_with};
use crate::lifeline::children_of;
use crate::spawn::{Fixture, eventually};

#[tokio::test]
async fn the_top_holds_what_was_granted() {
    let fixture = Fixture::new();
    let mut confinement = fixture.confinement();
    confinement.readable = vec!["/usr".into(), "/bin".into(), "/lib".into(), "/lib64".into()];
    let (output, _) = fixture.run_confined(&confinement, "ls /").await;
    assert_eq!(output, "bin\ndev\nhome\nlib\nlib64\nproc\ntmp\nusr\nvar\n");
}

#[tokio::test]
async fn there_is_nothing_above_the_top() {
    check("cd /; cd ..; [ / -ef /.. ] && [ . -ef / ] && [ /.. -ef /../../.. ]; echo $?", "0\n")
        .await;
}

#[tokio::test]
async fn no_mount_of_the_machine_is_left() {
    let fixture = Fixture::new();
    let script =
        "while read -r _ _ _ _ place _; do echo $place; done < /proc/self/mountinfo | sort";
    let mut confinement = fixture.confinement();
    confinement.readable = vec!["/usr".into(), "/bin".into(), "/lib".into(), "/lib64".into()];
    let (output, _) = fixture.run_confined(&confinement, script).await;
    let root = fixture.path("").display().to_string();
    let mut expected = vec![
        "/",
        "/dev/full",
        "/dev/null",
        "/dev/random",
        "/dev/shm",
        "/dev/urandom",
        "/dev/zero",
        "/home/you",
        "/proc",
        "/tmp",
        "/usr",
        "/var/tmp",
        root.trim_end_matches('/'),
    ];
    // Files that show more than the command's own processes are covered, if this kernel has them.
    let closed = ["kcore", "key-users", "keys", "kpagecgroup", "kpagecount", "kpageflags"]
        .map(|name| format!("/proc/{name}"));
    let is_there = |path: &&str| std::path::Path::new(path).exists();
    expected.extend(closed.iter().map(String::as_str).filter(is_there));
    expected.sort_unstable();
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn what_was_not_granted_does_not_exist() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("secret"), "secret").unwrap();
    let script = format!(
        "for path in {}/secret /root /sys /run /boot /mnt; do [ -e $path ] && echo $path; done; echo done",
        other.path().display()
    );
    let (output, _) = fixture.run_confined(&fixture.confinement(), &script).await;
    assert_eq!(output, "done\n");
}

#[tokio::test]
async fn what_is_readable_cannot_be_changed() {
    let script = "for path in /usr/x /etc/x /x /dev/x /proc/x /bin/x; do touch $path 2>/dev/null && echo $path; done; \
                  chmod 777 /usr 2>/dev/null || chmod 666 /dev/null 2>/dev/null || echo refused";
    check(script, "refused\n").await;
}

#[tokio::test]
async fn the_granted_directory_is_the_real_one() {
    let fixture = Fixture::new();
    fs::write(fixture.path("old"), "old\n").unwrap();
    let script = "cat old; echo new > new; mkdir d; mv old d/moved; pwd -P";
    let (output, exit) = fixture.run_confined(&fixture.confinement(), script).await;
    let root = fixture.root.path().display();
    assert_eq!((output, exit), (format!("old\n{root}\n"), ProcessExit::Code(0)));
    assert_eq!(fs::read_to_string(fixture.path("new")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(fixture.path("d/moved")).unwrap(), "old\n");
}

#[tokio::test]
async fn temporary_directories_are_private_and_new_each_time() {
    let fixture = Fixture::new();
    let confinement = fixture.confinement();
    let script = "for place in /tmp /var/tmp /dev/shm ~; do \
                  ls -A $place | grep -v '^[.]tmp'; echo x > $place/haft-was-here && stat -c %a $place; done";
    for _ in 0..2 {
        let command = fixture.command("bash").env("HOME", "/home/you").args(["-c", script]);
        let process = fixture.launcher.spawn(command, &confinement).await.unwrap();
        let (output, exit) = fixture.read_all(process).await;
        assert_eq!((output.as_str(), exit), ("1777\n1777\n1777\n700\n", ProcessExit::Code(0)));
    }
    assert!(!fs::exists("/tmp/haft-was-here").unwrap());
    assert!(!fs::exists("/dev/shm/haft-was-here").unwrap());
}

#[tokio::test]
async fn hidden_directories_and_files_are_empty() {
    let script = "ls -A secrets; cat token; echo x > secrets/x; echo x > token; rm token; mv secrets s; \
                  ls; cat .env public";
    let expected = "bash: line 1: secrets/x: Read-only file system\n\
                    bash: line 1: token: Read-only file system\n\
                    rm: cannot remove 'token': Device or resource busy\n\
                    mv: cannot move 'secrets' to 's': Device or resource busy\n\
                    public\nsecrets\ntoken\npublic\n";
    check_with(script, expected, |fixture, confinement| {
        fs::create_dir(fixture.path("secrets")).unwrap();
        fs::write(fixture.path("secrets/key"), "key").unwrap();
        fs::write(fixture.path("token"), "token").unwrap();
        fs::write(fixture.path(".env"), "env").unwrap();
        fs::write(fixture.path("public"), "public\n").unwrap();
        confinement.hidden = vec![
            fixture.path("secrets"),
            fixture.path("token"),
            fixture.path(".env"),
            fixture.path("missing"),
        ];
    })
    .await;
}

#[tokio::test]
async fn directories_around_hidden_places_stay_where_they_are() {
    let script = "mv .config c2; mv .config/deep .config/d2; cat c2/gh/token c2/deep/er/key .config/d2/er/key 2>/dev/null; \
                  echo x > .config/new && mv .config/new moved && cat moved";
    let fixture = Fixture::new();
    for directory in [".config/gh", ".config/deep/er"] {
        fs::create_dir_all(fixture.path(directory)).unwrap();
    }
    fs::write(fixture.path(".config/gh/token"), "secret\n").unwrap();
    fs::write(fixture.path(".config/deep/er/key"), "secret\n").unwrap();
    let mut confinement = fixture.confinement();
    confinement.hidden = vec![fixture.path(".config/gh"), fixture.path(".config/deep/er/key")];
    for _ in 0..2 {
        let (output, _) = fixture.run_confined(&confinement, script).await;
        let expected = "mv: cannot move '.config' to 'c2': Device or resource busy\n\
                        mv: cannot move '.config/deep' to '.config/d2': Device or resource busy\nx\n";
        assert_eq!(output, expected);
    }
}

#[tokio::test]
async fn what_a_hidden_link_leads_to_is_hidden_for_every_command() {
    for mechanisms in [Mechanisms::ALL, Mechanisms { namespaces: false, ..Mechanisms::ALL }] {
        let fixture = Fixture::new();
        fs::create_dir_all(fixture.path("dot/config/gh")).unwrap();
        fs::create_dir_all(fixture.path("dotssh")).unwrap();
        fs::write(fixture.path("dot/config/gh/token"), "secret\n").unwrap();
        fs::write(fixture.path("dotssh/key"), "secret\n").unwrap();
        symlink("dot/config", fixture.path(".config")).unwrap();
        symlink("dotssh", fixture.path(".ssh")).unwrap();
        symlink("circle", fixture.path("circle")).unwrap();
        symlink(".", fixture.path(".gnupg")).unwrap();
        let hidden = [".config/gh", ".ssh", "circle", ".gnupg"].map(|name| fixture.path(name));
        let confinement =
            Confinement { hidden: hidden.to_vec(), mechanisms, ..fixture.confinement() };
        let script = "cat dot/config/gh/token dotssh/key .ssh/key 2>/dev/null; rm .ssh .config; \
                      mv dot other; mv dotssh ssh; cat other/config/gh/token ssh/key; true";
        for _ in 0..2 {
            let (output, _) = fixture.run_confined(&confinement, script).await;
            assert!(!output.contains("secret"), "{mechanisms:?}: {output}");
        }
    }
}

#[tokio::test]
async fn what_is_granted_in_a_hidden_directory_is_there() {
    check_with(
        "ls -A h; cat h/open/file; touch h/x || true",
        "open\nopen\ntouch: cannot touch 'h/x': Read-only file system\n",
        |fixture, confinement| {
            fs::create_dir_all(fixture.path("h/open")).unwrap();
            fs::write(fixture.path("h/open/file"), "open\n").unwrap();
            fs::write(fixture.path("h/secret"), "").unwrap();
            confinement.hidden = vec![fixture.path("h")];
            confinement.readable.push(fixture.path("h/open"));
        },
    )
    .await;
}

#[tokio::test]
async fn the_nearest_grant_decides() {
    let script = "touch vendor/x; touch vendor/own/y && echo own; touch z && echo z";
    let expected = "touch: cannot touch 'vendor/x': Read-only file system\nown\nz\n";
    check_with(script, expected, |fixture, confinement| {
        fs::create_dir_all(fixture.path("vendor/own")).unwrap();
        confinement.readable.push(fixture.path("vendor"));
        confinement.writable.push(fixture.path("vendor/own"));
    })
    .await;
}

#[tokio::test]
async fn grants_may_lie_in_the_home_directory() {
    let fixture = Fixture::new();
    for directory in ["home/work", "home/tool", "home/secret"] {
        fs::create_dir_all(fixture.path(directory)).unwrap();
    }
    fs::write(fixture.path("home/tool/file"), "tool\n").unwrap();
    let mut confinement = fixture.confinement();
    confinement.home = fixture.path("home");
    confinement.writable = vec![fixture.path("home/work")];
    confinement.readable.push(fixture.path("home/tool"));
    let script = "ls -A ..; touch ../x && echo home; touch y && echo work; cat ../tool/file; touch ../tool/x || true";
    let cwd = fixture.root.open_dir("home/work".as_ref()).unwrap();
    let command = SandboxCommand::new("bash", cwd).env("PATH", "/usr/bin").args(["-c", script]);
    let process = fixture.launcher.spawn(command, &confinement).await.unwrap();
    let (output, _) = fixture.read_all(process).await;
    let refused = "touch: cannot touch '../tool/x': Read-only file system\n";
    assert_eq!(output, format!("tool\nwork\nhome\nwork\ntool\n{refused}"));
    assert!(fixture.path("home/work/y").exists());
    assert!(!fixture.path("home/x").exists());
}

#[tokio::test]
async fn links_of_the_system_stay_links() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("real")).unwrap();
    fs::write(fixture.path("real/file"), "real\n").unwrap();
    let link = tempfile::tempdir().unwrap();
    let link = link.path().canonicalize().unwrap().join("link");
    symlink(fixture.path("real"), &link).unwrap();
    let mut confinement = fixture.confinement();
    confinement.readable.push(link.clone());
    let script = format!("readlink {0}; cat {0}/file", link.display());
    let (output, _) = fixture.run_confined(&confinement, &script).await;
    assert_eq!(output, format!("{}\nreal\n", fixture.path("real").display()));
}

#[tokio::test]
async fn a_link_grants_nothing_that_it_leads_to() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("secret"), "secret").unwrap();
    symlink(other.path(), fixture.path("link")).unwrap();
    let (output, _) = fixture.run_confined(&fixture.confinement(), "cat link/secret").await;
    assert_eq!(output, "cat: link/secret: No such file or directory\n");
}

#[tokio::test]
async fn files_can_be_granted_alone() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    let other = other.path().canonicalize().unwrap();
    fs::write(other.join("file"), "file\n").unwrap();
    fs::write(other.join("secret"), "").unwrap();
    let mut confinement = fixture.confinement();
    confinement.readable.push(other.join("file"));
    confinement.readable.push(other.join("missing"));
    let script = format!("ls {0}; cat {0}/file; echo x > {0}/file", other.display());
    let (output, _) = fixture.run_confined(&confinement, &script).await;
    let refused = format!("bash: line 1: {}/file: Read-only file system\n", other.display());
    assert_eq!(output, format!("file\nfile\n{refused}"));
}

#[tokio::test]
async fn devices_are_the_harmless_ones() {
    check(
        "ls /dev; echo x > /dev/null && head -c 3 /dev/zero | od -An -tx1; head -c 1 /dev/urandom | wc -c; \
         echo y > /dev/stdout; (: < /dev/tty); true",
        "fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n 00 00 00\n1\ny\n\
         bash: line 1: /dev/tty: No such file or directory\n",
    )
    .await;
}

#[tokio::test]
async fn the_mask_for_new_files_is_kept() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.path(""), fs::Permissions::from_mode(0o700)).unwrap();
    let (confined, _) = fixture.run_confined(&fixture.confinement(), "umask").await;
    let (free, _) = fixture.run("umask").await;
    assert_eq!(confined, free);
}

#[tokio::test]
async fn nothing_can_be_mounted_or_taken_off() {
    check(
        "PATH=/usr/bin:/usr/sbin; for try in 'mount -t tmpfs none /tmp' 'umount /usr' 'unshare -Ur true' \
         'unshare -m true' 'chroot / true' 'nsenter -t 1 -m true'; do $try 2>/dev/null || echo no; done",
        "no\nno\nno\nno\nno\nno\n",
    )
    .await;
}

#[tokio::test]
async fn a_home_at_the_top_gives_nothing_away() {
    for mechanisms in [Mechanisms::ALL, Mechanisms { namespaces: false, ..Mechanisms::ALL }] {
        let fixture = Fixture::new();
        let confinement = Confinement { home: "/".into(), mechanisms, ..fixture.confinement() };
        let script = "touch /x 2>/dev/null || touch /usr/x 2>/dev/null || echo refused";
        let (output, _) = fixture.run_confined(&confinement, script).await;
        assert_eq!(output, "refused\n", "{mechanisms:?}");
    }
}

/// A mount that appears while a launcher waits must be visible to its next command, although
/// namespaces are created ahead.
///
/// Runs in a private mount namespace, where it may mount a file system.
#[tokio::test]
async fn what_was_mounted_meanwhile_is_seen() {
    const INSIDE: &str = "HAFT_SANDBOX_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        let test = "confined::files::what_was_mounted_meanwhile_is_seen";
        let inside = std::process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&inside.stdout);
        assert!(inside.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("disk")).unwrap();
    let confinement = fixture.confinement();
    for round in ["first", "second", "third"] {
        let script = "ls disk; echo x > disk/new; [ -e disk/new ]; echo $?";
        let (output, _) = fixture.run_confined(&confinement, script).await;
        let expected = if round == "first" { "0\n" } else { "mounted\n0\n" };
        assert_eq!(output, expected, "{round}");
        eventually("namespaces made ahead", has_spare).await;
        if round == "first" {
            let disk = fixture.path("disk");
            let status = std::process::Command::new("mount")
                .args(["-t", "tmpfs", "none"])
                .arg(&disk)
                .status()
                .unwrap();
            assert!(status.success());
            fs::write(disk.join("mounted"), "").unwrap();
        } else {
            fs::remove_file(fixture.path("disk/new")).unwrap();
        }
    }
}

fn has_spare() -> bool {
    let zygote = children_of(rustix::process::getpid());
    zygote.into_iter().flat_map(children_of).any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name == "haft-spare\n")
    })
}

/// Snapshots rely on this: a watch of one directory tree does not see changes through names outside of it.
#[tokio::test]
async fn a_file_gets_no_name_in_another_writable_directory() {
    let fixture = Fixture::new();
    assert!(fixture.launcher.isolates_mounts(Mechanisms::ALL).await);
    let other = tempfile::tempdir().unwrap();
    fs::write(fixture.path("file"), "text").unwrap();
    let mut confinement = fixture.confinement();
    confinement.writable.push(other.path().to_path_buf());
    let other = other.path().display();
    let script = format!(
        "for place in {other} /tmp /var/tmp /dev/shm; do \
         touch $place/new && ln file $place/name 2>/dev/null && echo $place; done; \
         ln file name && echo inside"
    );
    let (output, _) = fixture.run_confined(&confinement, &script).await;
    assert_eq!(output, "inside\n");
}
