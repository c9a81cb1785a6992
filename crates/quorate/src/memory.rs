//! Memory limit of a run.

use std::str::FromStr;

/// Number of bytes, parsed from text such as `8GiB` or `500MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemorySize(pub(crate) u64);

impl FromStr for MemorySize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || "expected a size such as 8GiB, 500MB or 1000000 (bytes)".to_owned();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let size: u64 = match unit.trim_start() {
            "" | "B" => 1,
            "KB" | "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(error()),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(size))
            .map(Self)
            .ok_or_else(error)
    }
}

/// Three quarters of the available memory, or four gibibytes if it is unknown.
pub(crate) fn available() -> MemorySize {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    MemorySize(available.map_or(4 << 30, |kibibytes| kibibytes * 1024 / 4 * 3))
}
