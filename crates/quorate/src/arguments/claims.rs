//! Flags of resource allocation, which `sim` and `check` share.

use clap::Args;
use quorate_sim::scenario::{ClaimOf, ConflictsText};

/// Permits, conflicts and claims of a resource allocation.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClaimFlags {
    /// Number of permits, if the algorithm allocates permits [default: 2]
    #[arg(long, value_name = "K")]
    pub(crate) capacity: Option<u32>,
    /// Processes that share resources, if the algorithm allocates resources between neighbours: ring or complete
    /// [default: ring]
    #[arg(long, value_name = "GRAPH")]
    pub(crate) conflicts: Option<ConflictsText>,
    /// Claims of process P, in order: read, write, group:G or with:P+P (the resources shared with these neighbours); the
    /// last one is used for all later entries [default: drawn from the seed] (repeatable)
    #[arg(long, value_name = "P=CLAIM,..")]
    pub(crate) claim_of: Vec<ClaimOf>,
}
