//! Tests of the analysis through its public interface.

mod bash;
mod bounds;
mod corpus;
mod given_files;
mod laws;
mod lines;
mod made_up;
mod oracle;
mod refusals;
mod shown;
mod syntax_lines;
mod trace;
