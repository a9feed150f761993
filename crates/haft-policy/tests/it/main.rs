//! The laws of every set of rules and every question, through the public interface alone.

mod laws;
mod narrowing_laws;
mod pattern_laws;
mod vocabulary;
