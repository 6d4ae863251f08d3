//! Any bytes as a request over HTTP to the gateway: let in or refused, read or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_gateway::fuzzing::request;

fuzz_target!(|bytes: &[u8]| request(bytes));
