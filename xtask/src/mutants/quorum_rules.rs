//! The rules of `quorum` over views, and the replacement that breaks each. `docs/settled-quorums.md` has the list.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "acknowledges-only-outside",
        file: "quorate-algorithms/src/mutex/quorum.rs",
        from: "        if matches!(self.phase, Phase::Inside(_)) {\n            return;\n        }\n",
        to: "",
    },
    Rule {
        name: "asks-the-quorum-of-what-is-settled",
        file: "quorate-algorithms/src/mutex/voting/basis.rs",
        from: "system.quorum(id, agreement.settled())",
        to: "system.quorum(id, crashed)",
    },
    Rule {
        name: "is-complete-with-all-votes-of-the-live",
        file: "quorate-algorithms/src/mutex/quorum.rs",
        from: "candidacy.quorum.is_subset(&candidacy.votes)\n",
        to: "(&candidacy.quorum - &self.crashed).is_subset(&candidacy.votes)\n",
    },
    Rule {
        name: "the-system-is-monotone",
        file: "quorate-core/src/quorum/given.rs",
        from: "        for ((failed, process), quorum) in &given.quorums {\n",
        to: "        for ((failed, process), quorum) in given.quorums.iter().take(0) {\n",
    },
    Rule {
        name: "attempts-are-fresh",
        file: "quorate-algorithms/src/mutex/quorum.rs",
        from: "    const FRESH_ATTEMPTS: bool = true;\n",
        to: "    const FRESH_ATTEMPTS: bool = false;\n",
    },
    Rule {
        name: "rules-are-not-mixed",
        file: "quorate-algorithms/src/mutex/quorum.rs",
        from: "        Basis::new(system, R::OVER_VIEWS, agreement)\n",
        to: "        let odd = !id.index().is_multiple_of(2);\n        \
             Basis::new(system, if odd { ViewRule::Majority } else { R::OVER_VIEWS }, agreement)\n",
    },
    Rule {
        name: "returns-a-vote-when-asked",
        file: "quorate-algorithms/src/mutex/quorum.rs",
        from: "            out.send(from, Message::Yield(ticket));\n",
        to: "",
    },
    Rule {
        name: "drops-votes-of-the-crashed",
        file: "quorate-algorithms/src/mutex/quorum.rs",
        from: "                candidacy.votes.remove(process);\n                \
               candidacy.request.withdraw_from(process, R::FRESH_ATTEMPTS);\n            }\n            \
               Phase::Inside(request) => {\n                request.voters.remove(process);\n            }\n        }\n        \
               self.acknowledge(out);\n",
        to: "                candidacy.request.withdraw_from(process, R::FRESH_ATTEMPTS);\n            }\n            \
             Phase::Inside(request) => {\n                request.voters.remove(process);\n            }\n        }\n        \
             self.acknowledge(out);\n",
    },
    Rule {
        name: "a-round-ends-when-all-have-acknowledged",
        file: "quorate-algorithms/src/mutex/voting/gathering.rs",
        from: "round.missing.is_empty() && round.crashed == *acknowledged",
        to: "round.crashed == *acknowledged",
    },
    Rule {
        name: "a-process-takes-part-when-it-has-acknowledged",
        file: "quorate-algorithms/src/mutex/voting/gathering.rs",
        from: "round.missing.is_empty() && round.crashed == *acknowledged",
        to: "round.missing.is_empty() && !round.crashed.is_empty() && acknowledged.len() < usize::MAX",
    },
    Rule {
        name: "a-round-that-lacks-a-crash-is-left",
        file: "quorate-algorithms/src/mutex/voting/gathering.rs",
        from: "        self.round.take_if(lacks_a_crash);\n",
        to: "        let _ = lacks_a_crash;\n",
    },
    Rule {
        name: "the-least-live-process-begins",
        file: "quorate-algorithms/src/mutex/voting/gathering.rs",
        from: "if crashed.next_absent(ProcessId::new(0)) == self.id {",
        to: "if self.id == ProcessId::new(0) {",
    },
];
