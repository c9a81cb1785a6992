//! Performance page.

/// Renders the performance page from its sections.
pub fn page(parts: &[String]) -> String {
    format!(
        "# Performance of quorate, compared with other systems\n\n\
         `cargo xtask performance` measures all figures and writes this page. All figures are from one run on one machine; \
         figures of different runs should not be compared.\n\n{}",
        parts.join("\n")
    )
}
