//! Tests of the world as simple processes observe it.

mod faults;
mod probe_process;
mod timing;

use quorate_algorithms::mutex::{Central, RicartAgrawala};
use quorate_sim::{MutexUsers, World};

#[test]
fn a_queued_event_takes_at_most_32_bytes_and_its_message() {
    fn check<P: quorate_core::mutex::Mutex>() {
        let event = World::<P, MutexUsers, ()>::bytes_per_event();
        assert!(event <= 32 + size_of::<P::Message>(), "{event} bytes");
    }
    check::<RicartAgrawala>();
    check::<Central>();
}
