//! Any JSON as the schema of a result, and any as the result: checked or left, within bounds, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::catalog::Promise;
use switchboard::json::Json;

fuzz_target!(|input: (&str, &str)| {
    let (schema, value) = input;
    if let (Ok(schema), Ok(value)) = (Json::from_text(schema), Json::from_text(value)) {
        Promise::new(schema).check(&value);
    }
});
