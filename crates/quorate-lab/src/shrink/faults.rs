//! Fewer faults, and simpler ones.

use quorate_sim::Scenario;
use quorate_sim::fault::{Faults, ProcessAt};
use quorate_sim::notation::Rate;
use quorate_sim::traitor::Strategy;

use super::without_some;

/// Applies an expression to each list of faults. There are many lists, which differ only in type.
macro_rules! each_list {
    ($faults:expr, $list:ident => $do:expr) => {
        each_list!(@ $faults, $list => $do; crash crash_mid recover omit_send omit_receive lose
            duplicate reorder corrupt slow fast clock cut partition suspect traitor)
    };
    (@ $faults:expr, $list:ident => $do:expr; $($field:ident)*) => {
        $({
            let $list = $faults.$field;
            $do
        })*
    };
}

/// Number of faults, counting each nonzero rate as one.
pub(super) fn count(faults: &Faults) -> usize {
    let mut count = 0;
    let Faults { loss, duplication, reordering, corruption, .. } = faults;
    count +=
        [loss, duplication, reordering, corruption].iter().filter(|rate| ***rate > 0.0).count();
    each_list!(faults.clone(), list => count += list.len());
    count
}

pub(super) fn fewer(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = vec![Faults::default()];
    let faults = &scenario.faults;
    if faults.loss > 0.0 {
        all.push(Faults { loss: 0.0, ..faults.clone() });
    }
    if faults.duplication > 0.0 {
        all.push(Faults { duplication: 0.0, ..faults.clone() });
    }
    if faults.reordering > 0.0 {
        all.push(Faults { reordering: 0.0, ..faults.clone() });
    }
    if faults.corruption > 0.0 {
        all.push(Faults { corruption: 0.0, ..faults.clone() });
    }
    macro_rules! drop_some {
        ($($field:ident)*) => {
            $(
                if faults.$field.len() > 1 {
                    all.push(Faults { $field: Vec::new(), ..faults.clone() });
                }
                for some in without_some(&faults.$field) {
                    all.push(Faults { $field: some, ..faults.clone() });
                }
            )*
        };
    }
    drop_some!(crash crash_mid recover omit_send omit_receive lose duplicate reorder corrupt slow fast clock cut
        partition suspect traitor);
    all.extend(simplify(faults));
    let with = |faults| Scenario { faults, ..scenario.clone() };
    all.into_iter().filter(|other| other != faults).map(with).collect()
}

/// The same number of faults, each of a simpler kind.
fn simplify(faults: &Faults) -> Vec<Faults> {
    let mut all = Vec::new();
    for place in 0..faults.crash_mid.len() {
        let mut plain = faults.clone();
        let crash = plain.crash_mid.remove(place);
        plain.crash.push(ProcessAt { process: crash.process, at: crash.at });
        all.push(plain);
        for sends in [0, 1, faults.crash_mid[place].sends / 2] {
            let mut plain = faults.clone();
            plain.crash_mid[place].sends = sends;
            all.push(plain);
        }
    }
    for place in 0..faults.traitor.len() {
        for strategy in [Strategy::Silent, Strategy::Liar] {
            let mut plain = faults.clone();
            plain.traitor[place].strategy = strategy;
            all.push(plain);
        }
    }
    for place in 0..faults.recover.len() {
        let mut plain = faults.clone();
        plain.recover[place].memory = true;
        all.push(plain);
    }
    let mut always = faults.clone();
    let omissions = always.omit_send.iter_mut().chain(&mut always.omit_receive);
    omissions.for_each(|omission| omission.rate = Rate(1.0));
    all.push(always);
    all
}
