//! Rules of relays (docs/locks.md, section Relays), and the replacement that breaks each.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "a-grant-is-fresh",
        file: "events.rs",
        from: "it.beat <= good && (is_fresh || it.sent.clock.is_some())",
        to: "it.beat <= good",
    },
    Rule {
        name: "a-grant-covers-its-call",
        file: "events.rs",
        from: "it.beat <= good && (is_fresh || it.sent.clock.is_some())",
        to: "is_fresh || it.sent.clock.is_some()",
    },
    Rule {
        name: "a-keep-alive-covers-all-that-is-held",
        file: "events.rs",
        from: "let good = relay.held_up_to(alive, since);",
        to: "let good = relay.held_up_to(alive, since).max(alive);",
    },
    Rule {
        name: "a-relay-whose-client-may-have-lost-is-not-inside",
        file: "events.rs",
        from: "good.map(|good| good + validity).filter(|until| *until > now)",
        to: "good.map(|good| good + validity + validity + validity).or(Some(now + validity))",
    },
    Rule {
        name: "only-a-call-takes-a-request-back",
        file: "events.rs",
        from: "if (called || interest.has_calls()) && interest.raised < beat",
        to: "if called || interest.has_calls() || interest.raised < u64::MAX",
    },
    Rule {
        name: "a-request-that-may-be-granted-is-not-withdrawn",
        file: "events.rs",
        from: "if is_last && !self.withdraw(session, request, false, now) {",
        to: "if is_last && !self.withdraw(session, request, true, now) {",
    },
    Rule {
        name: "adoption-needs-lists-of-the-call",
        file: "resume.rs",
        from: "let recorded = recorded.filter(|(_, beat)| beat.number >= since);",
        to: "",
    },
    Rule {
        name: "an-adopted-request-has-a-greater-attempt",
        file: "resume.rs",
        from: "let attempt = relay.attempt_listed(request).saturating_add(1);",
        to: "let attempt = relay.attempt_listed(request).max(1);",
    },
    Rule {
        name: "a-keep-alive-adopts-what-is-held",
        file: "resume.rs",
        from: "            self.adopt(held, since, now);",
        to: "            let _ = held;",
    },
    Rule {
        name: "a-keep-alive-adopts-what-waits-at-a-node-that-has-stopped",
        file: "resume.rs",
        from: "if is_gone || !known || avoided.contains(node) {",
        to: "if !known {",
    },
    Rule {
        name: "validity-counts-from-the-clock-of-the-call",
        file: "relay.rs",
        from: "filter(|begun| begun.sent.clock == sent.clock)",
        to: "filter(|begun| begun.number > 0)",
    },
    Rule {
        name: "validity-counts-from-a-beat-that-is-good",
        file: "relay.rs",
        from: "let latest = same.find(|begun| begun.number <= good).map(|begun| begun.sent.at);",
        to: "let latest = same.find(|begun| begun.number <= good + 9).map(|begun| begun.sent.at);",
    },
    Rule {
        name: "turns-of-a-lease-differ",
        file: "relay.rs",
        from: "let turn = if self.is_lease() { clock << TURN_BITS } else { 1 };",
        to: "let turn = if clock == 0 { clock } else { 1 };",
    },
    Rule {
        name: "a-released-request-is-not-asked-for-again",
        file: "sessions.rs",
        from: "        relay.note_end(request, attempt);\n",
        to: "",
    },
    Rule {
        name: "a-request-is-held-by-what-is-on-record",
        file: "relay.rs",
        from: "(own, recorded) => own.or(recorded),",
        to: "(own, _) => own,",
    },
    Rule {
        name: "a-relay-records-tokens",
        file: "relay.rs",
        from: "Candidate::new(id, electorate, session).recording_entries().after",
        to: "Candidate::new(id, electorate, session).after",
    },
    Rule {
        name: "calls-reach-the-relays-of-other-nodes",
        file: "resume.rs",
        from: "                self.send(node, PeerMessage::Called(session, candidate));",
        to: "                let _ = (node, PeerMessage::Called(session, candidate));",
    },
    Rule {
        name: "what-has-ended-is-released-at-voters-that-list-it",
        file: "relay.rs",
        from: "(attempt <= ended).then(|| (voter, request, ended, entry.lock.clone()))",
        to: "(attempt > ended && attempt < ended).then(|| (voter, request, ended, entry.lock.clone()))",
    },
    Rule {
        name: "a-later-turn-is-not-entered-with-an-earlier-token",
        file: "events.rs",
        from: "interest.token.filter(|_| known <= last_of_turn(interest.attempt));",
        to: "interest.token.filter(|_| known <= last_of_turn(u64::MAX));",
    },
    Rule {
        name: "a-lease-is-kept-alive-by-voters-that-have-kept-it",
        file: "relay.rs",
        from: "true => self.candidate.echoed_continuously().map_or(0, |beat| beat.number),",
        to: "true => self.echoed(),",
    },
    Rule {
        name: "a-lease-that-has-lapsed-ends",
        file: "events.rs",
        from: "        if relay.has_lapsed() {",
        to: "        if relay.has_lapsed() && relay.doomed {",
    },
    Rule {
        name: "only-a-new-lease-is-continuous-everywhere",
        file: "events.rs",
        from: "let beat = if now < relay.young_until { u64::MAX }",
        to: "let beat = if now < relay.young_until.max(now + relay.ttl) { u64::MAX }",
    },
    Rule {
        name: "voters-count-once-all-that-is-held-is-held-there",
        file: "events.rs",
        from: "else { relay.confirms_up_to(alive) };",
        to: "else { relay.beat() };",
    },
    Rule {
        name: "a-lock-that-a-lease-has-lost-is-not-granted-again",
        file: "relay.rs",
        from: "self.is_lease() && found.is_some() && !inside && !asked",
        to: "self.is_lease() && found.is_some() && !inside && !asked && self.doomed",
    },
    Rule {
        name: "a-lease-that-has-lost-a-lock-ends",
        file: "relay.rs",
        from: "is_some_and(|interest| interest.since + self.ttl <= now)",
        to: "is_some_and(|interest| interest.since + self.ttl <= now && self.doomed)",
    },
    Rule {
        name: "a-lease-is-open-once-others-find-it",
        file: "relay.rs",
        from: "!self.is_lease() || self.candidate.is_continuous()",
        to: "self.echoed() > 0 || self.candidate.is_continuous()",
    },
    Rule {
        name: "a-lease-gets-votes-where-it-is-continuous",
        file: "relay.rs",
        from: "!self.is_lease() || self.candidate.counts(voter)",
        to: "!self.is_lease() || self.candidate.counts(voter) || self.beat() > 0",
    },
    Rule {
        name: "a-token-that-is-not-recorded-is-not-insisted-on",
        file: "events.rs",
        from: "                    relay.keep_token(claim, token);",
        to: "",
    },
];
