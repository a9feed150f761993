//! The processes that a confined command sees, and its own identity.

use super::check;
use crate::spawn::Fixture;

#[tokio::test]
async fn only_its_own_processes_are_seen() {
    check("cd /proc; echo [0-9]*; echo $$ $PPID", "1 2\n2 1\n").await;
}

#[tokio::test]
async fn the_first_process_cannot_be_harmed_or_looked_into() {
    let fixture = Fixture::new();
    let script = "kill -9 1; kill -STOP 1; readlink -v /proc/1/fd/0; cat /proc/1/environ; ls /proc/1/root/; echo done";
    let (output, _) = fixture.run_confined(&fixture.confinement(), script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 6, "{output}");
    assert!(lines[..2].iter().all(|line| line.contains("Operation not permitted")), "{output}");
    assert!(lines[2..5].iter().all(|line| line.contains("Permission denied")), "{output}");
    assert_eq!(lines[5], "done");
}

#[tokio::test]
async fn it_has_no_privileges_and_gets_none() {
    check(
        "while read -r name value; do case $name in Cap*|NoNew*|Seccomp:) echo $name $value;; esac; done \
         < /proc/self/status",
        "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n\
         CapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n",
    )
    .await;
}

#[tokio::test]
async fn it_is_the_user_that_it_was() {
    let fixture = Fixture::new();
    let (confined, _) = fixture.run_confined(&fixture.confinement(), "id -u; id -g").await;
    let (free, _) = fixture.run("id -u; id -g").await;
    assert_eq!(confined, free);
}

#[tokio::test]
async fn no_other_user_exists() {
    let fixture = Fixture::new();
    let (output, _) = fixture.run_confined(&fixture.confinement(), "cat /proc/self/uid_map").await;
    let user = rustix::process::geteuid().as_raw().to_string();
    let fields: Vec<&str> = output.split_whitespace().collect();
    assert_eq!(fields, [user.as_str(), &user, "1"]);
}

#[tokio::test]
async fn three_descriptors_and_no_terminal() {
    check(
        "ls /proc/self/fd | head -n 3 | tr '\\n' ' '; ls /proc/self/fd | wc -l; readlink /proc/self/fd/0; \
         set -- $(cat /proc/$$/stat); echo $5 $6 $7",
        "0 1 2 4\n/dev/null\n2 2 0\n",
    )
    .await;
}

#[tokio::test]
async fn settings_of_the_kernel_cannot_be_changed() {
    check(
        "for file in /proc/sys/kernel/hostname /proc/sysrq-trigger /proc/sys/vm/drop_caches \
         /proc/sys/kernel/pid_max /proc/self/oom_score_adj; do echo 1 2>/dev/null > $file || echo no; done 2>/dev/null",
        "no\nno\nno\nno\nno\n",
    )
    .await;
}

#[tokio::test]
async fn keyrings_and_memory_of_the_machine_are_not_shown() {
    check(
        "cd /proc; cat keys key-users kcore kpagecount kpageflags kpagecgroup 2>/dev/null | head -c 9 | wc -c; \
         (echo 1 > keys) 2>/dev/null || echo no; umount keys 2>/dev/null || echo no",
        "0\nno\nno\n",
    )
    .await;
}

#[tokio::test]
async fn the_host_has_another_name() {
    check("cat /proc/sys/kernel/hostname; hostname x 2>/dev/null || echo no", "haft\nno\n").await;
}

#[tokio::test]
async fn signals_are_handled_by_default() {
    check("kill -PIPE $BASHPID & wait $!; echo $?", "141\n").await;
}

#[tokio::test]
async fn ordinary_programs_work() {
    check(
        "python3 -c 'import threading, multiprocessing, tempfile, subprocess; \
         t = threading.Thread(target=print, args=(1,)); t.start(); t.join(); \
         q = multiprocessing.Lock(); f = tempfile.TemporaryFile(); print(subprocess.run([\"true\"]).returncode)'; \
         cat <<< here; echo a | tr a b; diff <(echo x) <(echo x) && echo same; \
         git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git log --format=%s",
        "1\n0\nhere\nb\nsame\nm\n",
    )
    .await;
}
