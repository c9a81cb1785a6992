//! Definitions of properties, and the replacement that breaks each. The tests of both drivers have to notice.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "me1",
        file: "mutex.rs",
        from: "Some((inside.next()?, inside.next()?))",
        to: "inside.nth(2).and(None)",
    },
    Rule {
        name: "agreement",
        file: "agreement.rs",
        from: "decisions.find(|other| *other != first)?;",
        to: "decisions.find(|_| false)?;",
    },
    Rule {
        name: "termination",
        file: "agreement.rs",
        from: "begun && correct && !decided",
        to: "begun && correct && !decided && false",
    },
    Rule {
        name: "termination-once-begun",
        file: "agreement.rs",
        from: "begun && correct && !decided",
        to: "correct && !decided",
    },
    Rule {
        name: "validity-of-orders",
        file: "agreement.rs",
        from: "of_correct().find(|(_, _, order)| order != value)?;",
        to: "of_correct().find(|_| false)?;",
    },
    Rule {
        name: "validity-of-commits",
        file: "agreement.rs",
        from: "Some((number, ..)) if *value == Value::COMMIT => {",
        to: "Some((number, ..)) if false => {",
    },
    Rule {
        name: "validity-of-missing-votes",
        file: "agreement.rs",
        from: "None if *value == Value::COMMIT && !all_voted",
        to: "None if false && !all_voted",
    },
    Rule {
        name: "validity-of-aborts",
        file: "agreement.rs",
        from: "None if *value != Value::COMMIT && all_voted && all_correct",
        to: "None if false && all_voted && all_correct",
    },
    Rule {
        name: "validity-of-proposals",
        file: "agreement.rs",
        from: "if all_honest && !proposals()",
        to: "if false && all_honest && !proposals()",
    },
    Rule { name: "e1", file: "election.rs", from: "other > leader", to: "other > leader && false" },
    Rule {
        name: "e1-one-leader",
        file: "election.rs",
        from: "leaders.find(|other| *other != first)?;",
        to: "leaders.find(|_| false)?;",
    },
    Rule {
        name: "e2",
        file: "election.rs",
        from: "!leader.is_some_and(is_up)",
        to: "leader.is_some_and(|leader| !is_up(leader))",
    },
    Rule {
        name: "e2-leader-is-up",
        file: "election.rs",
        from: "!leader.is_some_and(is_up)",
        to: "!leader.is_some_and(|leader| is_up(leader) || true)",
    },
    Rule {
        name: "integrity-sent",
        file: "multicast.rs",
        from: "(false, ..) => Some(IntegrityBreach::NotSent),",
        to: "(false, ..) => None,",
    },
    Rule {
        name: "integrity-addressed",
        file: "multicast.rs",
        from: "(_, false, _) => Some(IntegrityBreach::NotAddressed),",
        to: "(_, false, _) => None,",
    },
    Rule {
        name: "integrity-once",
        file: "multicast.rs",
        from: "(.., true) => Some(IntegrityBreach::Duplicate),",
        to: "(.., true) => None,",
    },
    Rule {
        name: "delivery-validity",
        file: "multicast.rs",
        from: "sender_is_live.then_some(Property::DeliveryValidity)",
        to: "(sender_is_live && false).then_some(Property::DeliveryValidity)",
    },
    Rule {
        name: "delivery-agreement",
        file: "multicast.rs",
        from: "delivered_by_live.then_some(Property::DeliveryAgreement)",
        to: "(delivered_by_live && false).then_some(Property::DeliveryAgreement)",
    },
    Rule {
        name: "fifo-and-causal-order",
        file: "multicast.rs",
        from: "addressed(*number) && !delivered(*number)",
        to: "addressed(*number) && !delivered(*number) && false",
    },
    Rule {
        name: "causal-past-of-deliveries",
        file: "multicast.rs",
        from: "self.0.merge(&message.0);",
        to: "let _ = message;",
    },
    Rule {
        name: "total-order",
        file: "multicast.rs",
        from: "&& reached > position",
        to: "&& reached > position && false",
    },
    Rule {
        name: "conflicting-claims",
        file: "allocation.rs",
        from: "return Some(Breach::Conflict(place));",
        to: "break;",
    },
    Rule {
        name: "number-of-permits",
        file: "allocation.rs",
        from: "permits > capacity)",
        to: "permits > capacity + 1)",
    },
    Rule {
        name: "concurrency",
        file: "allocation.rs",
        from: "permits >= capacity;",
        to: "permits + 1 >= capacity;",
    },
];
