//! The program `haft`.

fn main() {
    haft_cli::haft_main();
}
