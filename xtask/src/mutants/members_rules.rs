//! Rules of leased-quorum for changes of the voters (docs/membership.md), and the replacement that breaks each.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "1-only-a-settled-configuration-is-changed",
        file: "chain/choosing.rs",
        from: "stable && remembers && self.is_settled()",
        to: "stable && remembers",
    },
    Rule {
        name: "1-promises-are-kept",
        file: "chain/choosing.rs",
        from: ".filter(|promised| *promised > round)?;",
        to: ".filter(|promised| *promised > (u64::MAX, round.1))?;",
    },
    Rule {
        name: "1-accepted-voters-have-precedence",
        file: "chain/choosing.rs",
        from: "let earlier = proposal.accepted.take().map(|(_, value)| value);",
        to: "let earlier: Option<V> = None;",
    },
    Rule {
        name: "1-a-quorum-chooses",
        file: "chain/choosing.rs",
        from: "if electorate.is_quorum(&proposal.answered) {\n            let joint",
        to: "if !proposal.answered.is_empty() {\n            let joint",
    },
    Rule {
        name: "2-candidates-of-older-configurations-are-refused",
        file: "voter/changes.rs",
        from: "        config == index\n",
        to: "        config <= index\n",
    },
    Rule {
        name: "2-raises-of-older-configurations-are-refused",
        file: "voter/changes.rs",
        from: "self.given(lock, *claim, *vote)?.vote().map(|given| given.config)",
        to: "self.given(lock, *claim, *vote)?;\n                None",
    },
    Rule {
        name: "2-waiters-of-older-configurations-get-no-vote",
        file: "ballot.rs",
        from: "filter(|(_, waiter)| waiter.config >= config);",
        to: "filter(|(_, waiter)| waiter.config <= config.max(waiter.config));",
    },
    Rule {
        name: "3-quorums-of-both-sets-of-voters",
        file: "electorate.rs",
        from: "self.bodies.iter().all(|body| body.is_quorum(voters))",
        to: "self.bodies.iter().any(|body| body.is_quorum(voters))",
    },
    Rule {
        name: "3-a-candidate-never-goes-back",
        file: "candidate/change.rs",
        from: "if electorate.index() <= self.electorate.index() {",
        to: "if electorate.index() == self.electorate.index() {",
    },
    Rule {
        name: "4-votes-are-requested-again",
        file: "candidate/change.rs",
        from: "(None, None) => pursuit.votes.clear(),",
        to: "(None, None) => {}",
    },
    Rule {
        name: "4-late-votes-do-not-count",
        file: "candidate.rs",
        from: "if is_late && pursuit.inside.is_none() {",
        to: "if is_late && false {",
    },
    Rule {
        name: "4-a-grant-is-not-given-back",
        file: "candidate/change.rs",
        from: "(None, Some(_)) => pursuit.broken = true,",
        to: "(None, Some(_)) => pursuit.votes.clear(),",
    },
    Rule {
        name: "4b-records-of-older-configurations-do-not-count",
        file: "candidate/tokens.rs",
        from: "if entry.recorded_in < self.electorate.index() {",
        to: "if false {",
    },
    Rule {
        name: "5-tokens-are-greater-than-the-floor",
        file: "candidate/pursuit.rs",
        from: "is_recent || (token > self.floor && (self.vote.number <= token || has_found))",
        to: "is_recent || self.vote.number <= token || has_found",
    },
    Rule {
        name: "5-later-numbers-are-greater-than-the-floor",
        file: "voter/changes.rs",
        from: "            ballot.last = ballot.last.max(floor);\n",
        to: "",
    },
    Rule {
        name: "5-a-quorum-before-is-asked",
        file: "voter/changes.rs",
        from: "if !change.previous.is_quorum(&change.told) || self.abstains.is_some() {",
        to: "if self.abstains.is_some() {",
    },
    Rule {
        name: "5-the-floor-is-durable",
        file: "voter/changes.rs",
        from: "        let is_durable = self.learned <= self.ceiling;\n",
        to: "        let is_durable = true;\n",
    },
    Rule {
        name: "5-voters-of-older-configurations-do-not-answer",
        file: "voter/peers.rs",
        from: "if self.is_voting() && own >= config {\n                    let (config,",
        to: "if self.is_voting() {\n                    let (config,",
    },
    Rule {
        name: "6-earlier-sessions-have-lapsed",
        file: "voter/changes.rs",
        from: "is_none_or(|change| change.closes <= now)",
        to: "is_none_or(|change| change.closes > Time(0) || change.closes <= now)",
    },
    Rule {
        name: "6-a-quorum-is-closed",
        file: "chain.rs",
        from: "previous.is_quorum(&closed) && self.present()",
        to: "!closed.is_empty() && self.present()",
    },
    Rule {
        name: "6-a-quorum-has-learned",
        file: "chain.rs",
        from: "previous.is_quorum(&closed) && self.present().electorate().is_quorum(&learned)",
        to: "previous.is_quorum(&closed)",
    },
    Rule {
        name: "7-numbers-of-both-configurations",
        file: "voter/changes.rs",
        from: "self.electorate.is_quorum(told) && previous.is_none_or(|previous| previous.is_quorum(told))",
        to: "previous.is_none_or(|previous| previous.is_quorum(told))",
    },
    Rule {
        name: "7-answers-of-newer-configurations-do-not-count",
        file: "voter/peers.rs",
        from: "if asked == self.incarnation && config == self.electorate.index() {",
        to: "if asked == self.incarnation {",
    },
    Rule {
        name: "waiters-keep-their-places-at-new-voters",
        file: "voter/changes.rs",
        from: "            self.trusts_until = now + self.terms.ttl_most;\n",
        to: "",
    },
    Rule {
        name: "9-a-lost-voter-stays-out",
        file: "chain.rs",
        from: "lost.from = Some(present.index + 2);",
        to: "lost.from = Some(present.index);",
    },
];

/// Rules that no suite notices, with the reason.
pub(super) const UNNOTICED: &[(&str, &str)] = &[];
