//! Common style of all pictures: colours for light and dark backgrounds, and the font.
//!
//! A picture names colours by purpose ([`ThemeColour`]). With [`Theme::Auto`] they become custom properties that
//! follow the reader's preference, or the `data-theme` of the element that contains the picture. Each rule has the
//! light colour first, for viewers without custom properties. The other two themes have plain colours.

use std::fmt::Write;
use std::str::FromStr;

/// Background of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Follows the reader's preference.
    #[default]
    Auto,
    /// Dark text on white.
    Light,
    /// Light text on black.
    Dark,
}

impl FromStr for Theme {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "light" => Ok(Self::Light),
            "dark" => Ok(Self::Dark),
            _ => Err("a theme is auto, light or dark".to_owned()),
        }
    }
}

/// Colour by purpose: its name, its value on white and its value on black.
pub(crate) type ThemeColour = (&'static str, &'static str, &'static str);

pub(crate) const FONT: &str = "sans-serif";

const THEME_COLOURS: [ThemeColour; 11] = [
    ("paper", "#ffffff", "#14171b"),
    ("ink", "#1b1f24", "#e8ebef"),
    ("faint", "#5d6670", "#a3adb8"),
    ("line", "#a9b1bb", "#59626d"),
    ("grid", "#e9ecef", "#252a31"),
    ("inside", "#2c6cb0", "#5c9fe8"),
    ("wait", "#a8c4e2", "#3d618c"),
    ("bad", "#b3261e", "#ff8b80"),
    ("good", "#18713a", "#5fce85"),
    ("band", "#fbf1dc", "#31291a"),
    ("edge", "#b98a2c", "#b08b3f"),
];

/// Colours of kinds and series that people with common colour deficiencies can distinguish, after Okabe and Ito
/// (2008). Their yellow and sky blue are too pale for thin lines: darker ones and three more replace them.
pub(crate) const SERIES: [ThemeColour; 10] = [
    ("s0", "#1b1f24", "#e8ebef"),
    ("s1", "#0072b2", "#56b4e9"),
    ("s2", "#d55e00", "#ff9248"),
    ("s3", "#00805d", "#35cf9f"),
    ("s4", "#b5508c", "#ef9ccb"),
    ("s5", "#a87200", "#f0b93f"),
    ("s6", "#3c8fc4", "#9fd8fa"),
    ("s7", "#777777", "#b4b4b4"),
    ("s8", "#5e3c99", "#b79df0"),
    ("s9", "#8c510a", "#d9a066"),
];

/// Dash patterns of lines that share a drawing. Together with the colour they distinguish kinds.
pub(crate) const DASHES: [&str; 6] = ["", "8 3", "2.5 3", "11 3 2.5 3", "5 5", "2 5"];

/// Builds a style sheet scoped to the picture. Each rule is `selector{property:$ink;property:value}`.
pub(crate) fn style_sheet(theme: Theme, rules: &str) -> String {
    let mut css = String::new();
    let colours = || THEME_COLOURS.iter().chain(&SERIES);
    let define = |selector: &str, dark: bool| {
        let mut rule = format!("{selector}{{");
        for (name, light, black) in colours() {
            let _ = write!(rule, "--q-{name}:{};", if dark { black } else { light });
        }
        rule.push('}');
        rule
    };
    if theme == Theme::Auto {
        let _ = writeln!(css, "{}", define(".quorate-draw", false));
        let dark = define(".quorate-draw", true);
        let _ = writeln!(css, "@media (prefers-color-scheme:dark){{{dark}}}");
        let _ = writeln!(css, "{}", define("[data-theme=light] .quorate-draw", false));
        let _ = writeln!(css, "{}", define("[data-theme=dark] .quorate-draw", true));
    }
    for rule in rules.lines().map(str::trim).filter(|rule| !rule.is_empty()) {
        let Some((selector, body)) = rule.split_once('{') else { continue };
        let selectors: Vec<String> =
            selector.split(',').map(|one| format!(".quorate-draw {}", one.trim())).collect();
        let _ = write!(css, "{}{{", selectors.join(","));
        for declaration in body.trim_end_matches('}').split(';').filter(|text| !text.is_empty()) {
            css.push_str(&css_declaration(theme, declaration));
        }
        css.push_str("}\n");
    }
    css
}

fn css_declaration(theme: Theme, declaration: &str) -> String {
    let Some((property, name)) = declaration.split_once(":$") else {
        return format!("{declaration};");
    };
    let known = THEME_COLOURS.iter().chain(&SERIES).find(|(known, ..)| *known == name);
    let (_, light, dark) = known.unwrap_or(&THEME_COLOURS[1]);
    match theme {
        Theme::Light => format!("{property}:{light};"),
        Theme::Dark => format!("{property}:{dark};"),
        Theme::Auto => format!("{property}:{light};{property}:var(--q-{name});"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_is_part_of_the_picture() {
        let rules = "text{fill:$ink;font-size:12px}";
        assert_eq!(
            style_sheet(Theme::Dark, rules),
            ".quorate-draw text{fill:#e8ebef;font-size:12px;}\n"
        );
        let auto = style_sheet(Theme::Auto, rules);
        assert!(auto.contains("fill:#1b1f24;fill:var(--q-ink);"), "{auto}");
        assert!(auto.contains("prefers-color-scheme:dark"), "{auto}");
    }
}
