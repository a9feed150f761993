//! The `haft` command from outside: whole output and exit status of real processes, each in a separate world with a cleared
//! environment. Tests beside a tool or a rule cover its details.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod agent;
mod agents;
mod agents_e2e;
mod asking;
mod asks;
mod built_in_tools;
mod call_words;
mod calls;
mod cloning;
mod configuration;
mod connect;
mod contents;
mod credentials;
mod dangerous;
mod declared;
mod doctor;
mod documentation;
mod durability;
mod editors;
mod escape;
mod everyday;
mod examples;
mod frameworks;
mod full_disks;
mod help;
mod hindrance;
mod history;
#[cfg(feature = "inspector")]
mod inspect;
mod leftovers;
mod lsp;
mod mcp_clients;
mod mcp_servers;
mod mcp_wire;
mod models;
#[cfg(feature = "inspector")]
mod notify;
mod outside;
#[cfg(feature = "inspector")]
mod own_asks;
mod packages;
mod permissions;
mod plan_run;
mod plans;
mod postgres;
#[path = "../../../haft-journal/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "the tests of the journal itself use more of it")]
mod postgres_server;
mod programs;
mod push;
mod python;

mod redaction;
mod rubric;
mod runs;
mod screens;
mod serve;
mod showing;
mod sidecars;
mod signals;
mod skills;
mod small_disk;
mod spec;
mod state;
mod stuck_runs;
mod terminal;
mod tools;
mod trust;
mod undo;
mod upstream;
mod user_configuration;
mod viewing;
mod web;
mod withheld;
mod world;
