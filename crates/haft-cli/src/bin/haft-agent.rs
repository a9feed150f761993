//! The program `haft-agent`, which asks models. `haft` starts it for the commands `agent`, `acp`, `do` and `plan make`.

fn main() {
    haft_cli::agent_main();
}
