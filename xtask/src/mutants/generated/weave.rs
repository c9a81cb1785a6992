//! Puts all mutants of a file into one text, in which an environment variable selects one of them.
//!
//! A mutant differs from the code in one function. So the body of a function becomes a choice between its original and one copy
//! for each of its mutants. All mutants together are compiled once, instead of once for each.

use std::fmt::Write as _;
use std::ops::Range;

use super::functions::functions;

/// Module that selects the mutant. It is added to the root of the crate. The feature of recording serves to run, for each
/// mutant, only tests that reach its function.
pub(super) const SELECTOR: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, clippy::all, clippy::disallowed_methods)]
pub mod __mutants {
    extern crate std;
    use std::io::Write as _;
    use std::sync::{Mutex, OnceLock};

    static SELECTED: OnceLock<u32> = OnceLock::new();
    static REACHED: OnceLock<Option<Mutex<(std::fs::File, std::collections::BTreeSet<u32>)>>> = OnceLock::new();

    pub fn active(first: u32, last: u32) -> u32 {
        let number = || std::env::var("QUORATE_MUTANT").ok().and_then(|it| it.parse().ok());
        let selected = *SELECTED.get_or_init(|| number().unwrap_or(0));
        let reached = REACHED.get_or_init(|| {
            let path = std::env::var_os("QUORATE_MUTANTS_REACHED")?;
            let file = std::fs::File::create(path).expect("the record can be written");
            Some(Mutex::new((file, Default::default())))
        });
        if let Some(reached) = reached {
            let (file, known) = &mut *reached.lock().unwrap_or_else(|broken| broken.into_inner());
            if known.insert(first) {
                std::writeln!(file, "{first}").expect("the record can be written");
            }
        }
        if (first..=last).contains(&selected) { selected } else { 0 }
    }
}
"#;

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) replacement: String,
}

/// A text with mutants.
pub(super) struct Woven {
    pub(super) text: String,
    /// Parts of the text that belong to the mutant with this index.
    pub(super) arms: Vec<(Range<usize>, usize)>,
    /// Parts of the text that belong to functions, with the indices of their mutants. The first one is the function's name
    /// in a record.
    pub(super) functions: Vec<(Range<usize>, Vec<usize>)>,
    /// Mutants that are in no function whose body can be a choice.
    pub(super) left_out: Vec<usize>,
}

/// Weaves edits into a text. The edit with index `i` is selected by the number `first + i`.
pub(super) fn weave(text: &str, edits: &[Option<Edit>], first: usize) -> Woven {
    let mut woven = Woven {
        text: String::new(),
        arms: Vec::new(),
        functions: Vec::new(),
        left_out: Vec::new(),
    };
    let mut placed = vec![false; edits.len()];
    let mut copied = 0;
    for function in functions(text).into_iter().filter(|function| function.takes_alternatives) {
        let body = function.body;
        let inside = |edit: &Edit| body.start < edit.range.start && edit.range.end < body.end;
        let is_inside = |index: &usize| edits[*index].as_ref().is_some_and(inside);
        let own: Vec<usize> = (0..edits.len()).filter(is_inside).collect();
        let (Some(least), Some(most)) = (own.first(), own.last()) else { continue };
        woven.text.push_str(&text[copied..body.start]);
        copied = body.end;
        let start = woven.text.len();
        let (least, most) = (first + least, first + most);
        let _ = writeln!(woven.text, "{{ match crate::__mutants::active({least}, {most}) {{");
        for index in &own {
            let Some(Edit { range, replacement }) = &edits[*index] else { continue };
            let _ = write!(woven.text, "{} => ", first + index);
            let arm = woven.text.len();
            woven.text.push_str(&text[body.start..range.start]);
            let _ = write!(woven.text, " {replacement} ");
            woven.text.push_str(&text[range.end..body.end]);
            woven.arms.push((arm..woven.text.len(), *index));
            woven.text.push('\n');
            placed[*index] = true;
        }
        let _ = write!(woven.text, "_ => {} }} }}", &text[body]);
        woven.functions.push((start..woven.text.len(), own));
    }
    woven.text.push_str(&text[copied..]);
    let missing = |index: &usize| edits[*index].is_some() && !placed[*index];
    woven.left_out = (0..edits.len()).filter(missing).collect();
    woven
}

impl Woven {
    /// Mutants that may be responsible for a compiler error at a part of the text: the one in whose copy it lies, or all of
    /// the function.
    pub(super) fn suspects(&self, error: &Range<usize>) -> Vec<usize> {
        let contains = |range: &Range<usize>| range.start <= error.start && error.end <= range.end;
        if let Some((_, index)) = self.arms.iter().find(|(range, _)| contains(range)) {
            return vec![*index];
        }
        let function = self.functions.iter().find(|(range, _)| contains(range));
        function.map(|(_, own)| own.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, from: &str, to: &str) -> Option<Edit> {
        let start = text.find(from).expect("it is in the text");
        Some(Edit { range: start..start + from.len(), replacement: to.to_owned() })
    }

    #[test]
    fn a_function_becomes_a_choice() {
        let text = "const A: u8 = 1 + 1;\nfn b() -> u8 { 2 * 3 }\nfn c() {}\n";
        let edits = [edit(text, "1 + 1", "0"), edit(text, "*", "+"), None, edit(text, "3", "4")];
        let woven = weave(text, &edits, 7);
        assert_eq!(
            woven.text,
            "const A: u8 = 1 + 1;\nfn b() -> u8 { match crate::__mutants::active(8, 10) {\n\
             8 => { 2  +  3 }\n10 => { 2 *  4  }\n_ => { 2 * 3 } } }\nfn c() {}\n"
        );
        assert_eq!(woven.left_out, [0]);
        let at = |part: &str| {
            let start = woven.text.find(part).expect("it is in the text");
            start..start + part.len()
        };
        assert_eq!(woven.suspects(&at("4  }")), [3]);
        assert_eq!(woven.suspects(&at("_ =>")), [1, 3]);
        assert_eq!(woven.suspects(&at("const")), [0; 0]);
    }
}
