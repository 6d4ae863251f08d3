//! The first half of the pipe, from files to decisions.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod bad_input;
mod consent;
mod corpus;
mod edit;
mod examples;
mod install;
mod mutated;
mod places;
mod precedence;
mod render;
mod schema;
mod settings;
mod special_files;
mod write;
