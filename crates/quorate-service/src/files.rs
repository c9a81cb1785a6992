//! The open-file limit of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limit to use if the hard limit is infinite. The kernel accepts this value.
const PLENTY: u64 = 1 << 20;

/// Raises the soft limit of open files to the hard limit, because each connection needs one. Returns
/// the resulting soft limit.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(PLENTY);
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of open files cannot be raised");
        }
    }
    open_files()
}

/// Returns the soft limit of open files.
pub(crate) fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(PLENTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let before = getrlimit(Resource::Nofile);
        let low = before.maximum.map_or(4_096, |most| most.min(4_096)) / 2;
        setrlimit(Resource::Nofile, Rlimit { current: Some(low), ..before })
            .expect("lower is allowed");
        assert_eq!(open_files(), low);
        let raised = raise_open_files();
        assert_eq!(raised, before.maximum.unwrap_or(PLENTY));
    }
}
