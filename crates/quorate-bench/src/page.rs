//! Performance page.

/// Renders the performance page from its sections.
pub fn page(parts: &[String]) -> String {
    format!(
        "# How fast quorate is, beside others\n\n\
         `cargo xtask performance` measures all of this and writes this page: every figure is of one run on one machine, and \
         figures of different runs should not be compared.\n\n{}",
        parts.join("\n")
    )
}
