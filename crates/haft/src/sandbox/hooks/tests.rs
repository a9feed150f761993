//! Tests which settings count as a directory of hooks.

use super::*;

#[track_caller]
fn check(configuration: &str, expect: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    let text = configuration.replace("ROOT", &root.to_string_lossy());
    std::fs::write(root.join(".git/config"), text).unwrap();
    let expect: Vec<_> = expect.iter().map(PathBuf::from).collect();
    assert_eq!(directories(&root), expect, "{configuration}");
}

#[test]
fn the_setting_is_found_however_it_is_written() {
    check("[core]\n\thooksPath = scripts/hooks\n", &["scripts/hooks"]);
    check("[CORE] HooksPath=hooks", &["hooks"]);
    check("[core]\nbare\nhookspath = hooks # for all\n", &["hooks"]);
    check("# [core]\n[core]\n; hooksPath = no\nhooksPath = \"my hooks\" ; x\r\n", &["my hooks"]);
    check("[core]\nhooksPath =   my   hooks  \r\n[user]\nname = x", &["my   hooks"]);
    check("[core]\nhooksPath = ho\\\noks\n", &["hooks"]);
    check("[core]\nhooksPath = a\\\\b\\\"\n", &["a\\b\""]);
    check("[user]\nname = x\n[core]\nhooksPath = a\n[core]\nhooksPath = b\n", &["b", "a"]);
    check("[core]\nhooksPath = ROOT/./a/../b/\n", &["b"]);
    check("[core]\neditor = \"x\n\nhooksPath = a", &["a"]);
}

#[test]
fn what_is_no_such_setting_is_passed_over() {
    check("", &[]);
    check("hooksPath = a\n", &[]);
    check("[core \"sub\"]\nhooksPath = a\n", &[]);
    check("[corehooksPath = a\n", &[]);
    check("[user]\nhooksPath = a\n", &[]);
    check("[core]\nhooksPaths = a\nhooksPath\n= a\n", &[]);
    check("[core]\neditor = \"hooksPath = a\"\n", &[]);
}

#[test]
fn what_lies_elsewhere_or_is_everything_is_passed_over() {
    for value in ["/etc/hooks", "../hooks", "a/../..", ".", "ROOT", "./a/..", "~/hooks", "\"\""] {
        check(&format!("[core]\nhooksPath = {value}\n"), &[]);
    }
}

#[test]
fn of_many_directories_the_last_ones_count() {
    let names: Vec<_> = (0..=DIRECTORIES_MAX).map(|index| index.to_string()).collect();
    let settings: String = names.iter().map(|name| format!("hooksPath = {name}\n")).collect();
    let last: Vec<_> = names.iter().rev().take(DIRECTORIES_MAX).map(String::as_str).collect();
    check(&format!("[core]\n{settings}"), &last);
}

#[test]
fn a_configuration_is_a_file_of_bounded_size() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    assert!(directories(root).is_empty());
    std::fs::create_dir_all(root.join(".git/config")).unwrap();
    assert!(directories(root).is_empty());
    let setting = "[core]\nhooksPath = a";
    for (bytes_before, is_found) in [(0, true), (1, false)] {
        let bytes_before =
            bytes_before + usize::try_from(CONFIG_BYTES_MAX).unwrap() - setting.len();
        check(
            &format!("{}{setting}", "\n".repeat(bytes_before)),
            if is_found { &["a"] } else { &[] },
        );
    }
}
