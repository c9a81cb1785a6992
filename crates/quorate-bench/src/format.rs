//! Number formats for tables.

/// Formats a time in microseconds with a suitable unit.
pub(crate) fn time(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} us"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

/// Formats a number: with one decimal below ten, otherwise rounded and with commas between thousands.
pub(crate) fn number(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a factor, such as `12x`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.1 => format!("{ratio:.2}x"),
        ratio => format!("{}x", number(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([72.4, 1_520.0, 2_000_000.0].map(time), ["72 us", "1.52 ms", "2.00 s"]);
        assert_eq!(
            [3.31, 22_700.4, 999.0, 1_000_000.0].map(number),
            ["3.3", "22,700", "999", "1,000,000"]
        );
        assert_eq!([0.016, 0.84, 12.0].map(times), ["0.02x", "0.8x", "12x"]);
    }
}
