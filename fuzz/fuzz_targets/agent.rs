//! What a coordinator says to an agent: requests, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and a request that is
//! understood says the same after it was written and read again.
#![no_main]

use hawser_agent::protocol::Request;
use hawser_fuzz::messages;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    messages::<Request>(stream, usize::from(cut).max(1));
});
