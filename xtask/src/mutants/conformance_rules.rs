//! Rules of the quorum mutex that its proved model has too, and the replacement that breaks each. Trace validation has to notice
//! the step that the model does not allow, also in runs in which no property is violated.

use super::Rule;

const QUORUM: &str = "quorate-algorithms/src/mutex/quorum.rs";
const BALLOT: &str = "quorate-algorithms/src/mutex/voting/ballot.rs";
const BASIS: &str = "quorate-algorithms/src/mutex/voting/basis.rs";
const GATHERING: &str = "quorate-algorithms/src/mutex/voting/gathering.rs";

/// Mutants that do nothing that the model does not allow.
pub(super) const UNNOTICED: &[(&str, &str)] = &[
    (
        "returns-a-vote-when-asked",
        "liveness only: the model may lose a message, and it need not give votes back",
    ),
    ("a-round-that-lacks-a-crash-is-left", "liveness only: the rounds of the model may not end"),
    ("the-least-live-process-begins", "liveness only: the model need not settle a crash"),
    ("leaving-returns-the-votes", "liveness only: the model may lose RELEASE"),
    (
        "ignores-messages-of-the-crashed",
        "liveness only: the model votes for requests of crashed processes too; other late messages are about withdrawn requests",
    ),
    (
        "a-crashed-owner-loses-the-vote",
        "liveness only: the model may vote for the request of the crashed process once more",
    ),
    (
        "a-recovered-owner-loses-the-vote",
        "liveness only: the model may vote for the former request once more, and its owner does not use the vote",
    ),
    ("strays-are-returned", "liveness only: the model need not return a vote"),
    (
        "a-welcome-ends-earlier-requests",
        "the model votes for any request that has arrived; exclusion does not need this rule",
    ),
];

/// Rules of leased-quorum without which a process takes steps that the model of the locks does not allow. The other rules are about
/// relays, force releases, voters that forget and the vote file, which trace validation does not cover, or they concern liveness.
pub(super) const OF_LOCKS: &[&str] = &[
    "smaller-attempt-is-stale",
    "number-at-most-token",
    "token-is-confirmed",
    "raise-only-while-the-vote-is-its",
    "a-grant-is-not-given-back",
    "a-holder-gives-nothing-back",
    "validity-allows-for-drift",
    "validity-counts-from-sending",
    "a-vote-given-back-never-counts",
    "yield-names-its-vote",
    "reading-counts-as-hearing",
    "sessions-lapse-after-the-ttl",
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "acknowledges-only-outside",
        file: QUORUM,
        from: "        if matches!(self.phase, Phase::Inside(_)) {\n            return;\n        }\n",
        to: "",
    },
    Rule {
        name: "asks-the-quorum-of-what-is-settled",
        file: BASIS,
        from: "system.quorum(id, agreement.settled())",
        to: "system.quorum(id, crashed)",
    },
    Rule {
        name: "is-complete-with-all-votes",
        file: QUORUM,
        from: "candidacy.quorum.is_subset(&candidacy.votes)\n",
        to: "(&candidacy.quorum - &self.crashed).is_subset(&candidacy.votes)\n",
    },
    Rule {
        name: "is-complete-with-votes-of-its-quorum",
        file: QUORUM,
        from: "candidacy.quorum.is_subset(&candidacy.votes)\n",
        to: "candidacy.quorum.len() <= candidacy.votes.len() + 1\n",
    },
    Rule {
        name: "the-system-is-monotone",
        file: "quorate-core/src/quorum/given.rs",
        from: "        for ((failed, process), quorum) in &given.quorums {\n",
        to: "        for ((failed, process), quorum) in given.quorums.iter().take(0) {\n",
    },
    Rule {
        name: "attempts-are-fresh",
        file: QUORUM,
        from: "    const FRESH_ATTEMPTS: bool = true;\n",
        to: "    const FRESH_ATTEMPTS: bool = false;\n",
    },
    Rule {
        name: "rules-are-not-mixed",
        file: QUORUM,
        from: "        Basis::new(system, R::OVER_VIEWS, agreement)\n",
        to: "        let odd = !id.index().is_multiple_of(2);\n        \
             Basis::new(system, if odd { ViewRule::Majority } else { R::OVER_VIEWS }, agreement)\n",
    },
    Rule {
        name: "a-vote-that-is-returned-is-not-counted",
        file: QUORUM,
        from: "candidacy.is_some_and(|candidacy| candidacy.votes.remove(from))",
        to: "candidacy.is_some_and(|candidacy| candidacy.votes.contains(from))",
    },
    Rule {
        name: "returns-a-vote-when-asked",
        file: QUORUM,
        from: "            out.send(from, Message::Yield(ticket));\n",
        to: "",
    },
    Rule {
        name: "a-reply-is-about-the-present-attempt",
        file: QUORUM,
        from: "                    && candidacy.request.ticket(from) == ticket =>\n",
        to: "                    && candidacy.request.ticket(from).time >= ticket.time =>\n",
    },
    Rule {
        name: "drops-votes-of-the-crashed",
        file: QUORUM,
        from: "                candidacy.votes.remove(process);\n                \
               candidacy.request.withdraw_from(process, R::FRESH_ATTEMPTS);\n            }\n            \
               Phase::Inside(request) => {\n                request.voters.remove(process);\n            }\n        }\n        \
               self.acknowledge(out);\n",
        to: "                candidacy.request.withdraw_from(process, R::FRESH_ATTEMPTS);\n            }\n            \
             Phase::Inside(request) => {\n                request.voters.remove(process);\n            }\n        }\n        \
             self.acknowledge(out);\n",
    },
    Rule {
        name: "ignores-messages-of-the-crashed",
        file: QUORUM,
        from: "        if self.crashed.contains(from) && message != Message::Rejoin {\n",
        to: "        if self.retired && message != Message::Rejoin {\n",
    },
    Rule {
        name: "asks-no-crashed-voter",
        file: QUORUM,
        from: "        let new = &(&quorum - &candidacy.request.voters) - &self.crashed;\n",
        to: "        let new = &quorum - &candidacy.request.voters;\n",
    },
    Rule {
        name: "cancelling-drops-the-vote",
        file: QUORUM,
        from: "            for voter in &left {\n                candidacy.votes.remove(voter);\n",
        to: "            for voter in &left {\n",
    },
    Rule {
        name: "leaving-returns-the-votes",
        file: QUORUM,
        from: "        let Phase::Inside(request) = &self.phase else { return };\n        \
               send_to_voters(request, &request.voters, Message::Release, out);\n",
        to: "",
    },
    Rule {
        name: "a-voter-has-one-vote",
        file: BALLOT,
        from: "        let Some(granted) = self.granted else {\n",
        to: "        let Some(granted) = self.granted.filter(|granted| *granted < theirs) else {\n",
    },
    Rule {
        name: "a-vote-is-returned-by-its-owner",
        file: BALLOT,
        from: "        if self.granted == Some(theirs) {\n            self.grant_best(send);\n            return true;\n        }\n",
        to: "        if self.granted.is_some() {\n            self.grant_best(send);\n            return true;\n        }\n",
    },
    Rule {
        name: "a-vote-is-given-back-by-its-owner",
        file: BALLOT,
        from: "        if self.granted != Some(theirs) {\n            return false;\n        }\n",
        to: "",
    },
    Rule {
        name: "a-crashed-owner-loses-the-vote",
        file: BALLOT,
        from: "        if self.granted.is_some_and(|granted| granted.process() == process) {\n",
        to: "        if self.granted.is_some_and(|granted| granted.process() == process) && self.closed {\n",
    },
    Rule {
        name: "a-round-ends-when-all-have-acknowledged",
        file: GATHERING,
        from: "round.missing.is_empty() && round.crashed == *acknowledged",
        to: "round.crashed == *acknowledged",
    },
    Rule {
        name: "a-process-takes-part-when-it-has-acknowledged",
        file: GATHERING,
        from: "round.missing.is_empty() && round.crashed == *acknowledged",
        to: "round.missing.is_empty() && !round.crashed.is_empty() && acknowledged.len() < usize::MAX",
    },
    Rule {
        name: "only-the-round-of-this-set-is-answered",
        file: GATHERING,
        from: "self.round.as_mut().filter(|round| round.crashed == crashed)",
        to: "self.round.as_mut().filter(|round| crashed.is_subset(&round.crashed))",
    },
    Rule {
        name: "a-round-that-lacks-a-crash-is-left",
        file: GATHERING,
        from: "        self.round.take_if(lacks_a_crash);\n",
        to: "        let _ = lacks_a_crash;\n",
    },
    Rule {
        name: "the-least-live-process-begins",
        file: GATHERING,
        from: "if crashed.next_absent(ProcessId::new(0)) == self.id {",
        to: "if self.id == ProcessId::new(0) {",
    },
    Rule {
        name: "a-recovered-voter-abstains",
        file: QUORUM,
        from: "        self.ballot = Ballot::closed();\n",
        to: "        self.ballot = Ballot::default();\n",
    },
    Rule {
        name: "a-recovered-voter-waits-for-all-welcomes",
        file: QUORUM,
        from: "        if self.awaiting_welcome.is_empty() {\n            self.ballot.open(reply_sender(out));\n        }\n    }\n",
        to: "        self.ballot.open(reply_sender(out));\n    }\n",
    },
    Rule {
        name: "a-recovered-process-is-outside",
        file: QUORUM,
        from: "        if let Phase::Inside(_) = before {\n            out.output(Output::Expelled.into());\n        }\n",
        to: "        if let Phase::Inside(_) = before {\n            self.phase = before.clone();\n        }\n",
    },
    Rule {
        name: "a-recovered-process-asks-with-a-new-request",
        file: QUORUM,
        from: "        if let Phase::Waiting(_) = before {\n            self.acquire(out);\n        }\n",
        to: "        if let Phase::Waiting(_) = before {\n            self.phase = before;\n        }\n",
    },
    Rule {
        name: "a-process-inside-owes-its-welcome",
        file: QUORUM,
        from: "                self.welcomes_owed.insert(from);\n",
        to: "                out.send(from, Message::Welcome);\n",
    },
    Rule {
        name: "owed-welcomes-are-sent-once",
        file: QUORUM,
        from: "        let welcomes_owed = mem::take(&mut self.welcomes_owed);\n",
        to: "        let welcomes_owed = self.welcomes_owed.clone();\n",
    },
    Rule {
        name: "drops-votes-of-the-recovered",
        file: QUORUM,
        from: "                candidacy.votes.remove(from);\n                \
               candidacy.request.withdraw_from(from, R::FRESH_ATTEMPTS);\n                \
               out.send(from, Message::Welcome);\n",
        to: "                out.send(from, Message::Welcome);\n",
    },
    Rule {
        name: "a-recovered-owner-loses-the-vote",
        file: QUORUM,
        from: "        self.crashed.remove(from);\n        self.ballot.forget(from, reply_sender(out));\n",
        to: "        self.crashed.remove(from);\n",
    },
    Rule {
        name: "a-welcome-ends-earlier-requests",
        file: QUORUM,
        from: "        self.ballot.forget(from, reply_sender(out));\n        if self.awaiting_welcome.is_empty() {\n",
        to: "        if self.awaiting_welcome.is_empty() {\n",
    },
    Rule {
        name: "strays-are-returned",
        file: QUORUM,
        from: "        if self.rejoined.contains(from) && !is_kept {\n",
        to: "        if self.rejoined.contains(from) && !is_kept && self.retired {\n",
    },
];
