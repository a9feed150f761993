//! The program `haft-agent`, which asks models. `haft` starts it for the commands `agent`, `acp`, `do` and `plan make`, and to
//! run or resume a plan whose nodes are agents.

fn main() {
    haft_cli::agent_main();
}
