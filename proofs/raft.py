"""Raft: election safety, log matching, leader completeness and state machine safety, for any number of servers.

The model is the algorithm `raft`, crates/quorate-algorithms/src/replication/raft.rs. Each action names the Rust function that it
models. The number of servers, terms, entries and messages is not bounded.

Three simplifications keep the model small. The invariants justify them:
- An entry is identified by its index and its term. `one command at an index in a term` says that these determine the command.
- Messages are not removed, so they may be lost, duplicated and reordered. APPEND-ENTRIES is not recorded at all: a follower
  reads `leader_log`, the log of the leader of a term, which contains everything that the leader has ever sent. `the log of a
  leader is the log of its term` says that this is its log, and no action removes an entry from `leader_log`.
- Every log begins with an entry of term 0 at index 0, as if `term_at(0)` were an entry.

The argument in words. Two leaders of a term would need a common voter, which votes once. An entry that a follower takes over is
preceded by the same entries as in the leader's log, because the follower checks the entry before it. Now let a majority have
stored an entry of term t that the leader of t has appended. Any leader of a later term T needs the vote of a member of that
majority. That member compares logs when it votes. So the last entry of the new leader is of term t at no smaller index, or of a
term between t and T, whose leader has the entry by the same argument. Either way the new leader has the entry. "A majority has
stored it" is not yet known when T is elected, so the invariant speaks of what can still happen: either the leader of T has the
entry, or every majority has a member that has left term t without storing it (`is_lost`).

Not modelled:
- liveness: elections need not succeed, and commands need not be committed;
- timers. A server may stand, send and restart at any time;
- commands that clients submit and that servers forward. A leader may append any command at any time. That no command is applied
  twice is therefore not proved;
- REFUSED and `next_index`, which only determine which entries a leader sends. In the model it may send any entry of its log;
- snapshots and changes of membership, which the code does not have.
"""

from z3 import And, BoolSort, Consts, Const, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from guards import lacks_guard
from program import Domain, Proof, main
from verifier import Step, TransitionSystem, action, added, added_where, removed, total_order

Server = DeclareSort("Server")
Term = DeclareSort("Term")
Index = DeclareSort("Index")
Command = DeclareSort("Command")
# A majority of the servers. Only that any two have a common member is used.
Quorum = DeclareSort("Quorum")

member = Function("member", Server, Quorum, BoolSort())
at_most, TERM_ORDER = total_order(Term, "at_most")
up_to, INDEX_ORDER = total_order(Index, "up_to")
# next_index(i, j): j is i + 1.
next_index = Function("next_index", Index, Index, BoolSort())
term_0 = Const("term_0", Term)
index_0 = Const("index_0", Index)

n, m, c, d = Consts("n m c d", Server)
t, u, w, x = Consts("t u w x", Term)
i, j, k = Consts("i j k", Index)
q, r = Consts("q r", Quorum)
a, b = Consts("a b", Command)


def before(term, other):
    return Not(at_most(other, term))


MAJORITIES_INTERSECT = ForAll([q, r], Exists([n], And(member(n, q), member(n, r))))
STATIC = TERM_ORDER + INDEX_ORDER + [
    ForAll([i, j, k], Implies(next_index(i, j), And(Not(up_to(j, i)), Or(up_to(k, i), up_to(j, k))))),
    ForAll([t], at_most(term_0, t)),
    ForAll([i], up_to(index_0, i)),
]

# Names of invariants that are mentioned more than once.
SAME_LOG = "the log of a leader is the log of its term"
LOGS_AGREE = "a log agrees with that of the leader that created an entry, up to the entry"
LEADER_LOGS_AGREE = "a leader's log agrees with that of the leader that created an entry, up to the entry"
HAS_REPLIES = "a server has the entries of its replies, unless they are lost"
VOTER_REPLIES = "a voter's replies are not ahead of the candidate's log, unless they are lost"
LATER_LEADER = "a later leader has an entry, unless it is lost"
SECURED_BY_COMMIT = "secured entries are committed with an own entry of a leader"
LEADER_HAS_SECURED = "a leader has the entries secured in its term"
ONE_SECURED = "one secured entry at an index"
INTERSECT = "two majorities have a common member"
NOT_ELECTED_YET = "no server is elected in the term yet"
NO_LEADER_YET = "the term has no leader yet"
LED = "only a term with a leader has entries, replies and commits"
OWN_COMMIT = "a committed entry is the leader's own"


class Raft(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # The durable state of a server: `current_term`, `voted_for` and `log`. log(n, i, t): n has an entry of term t at i.
        "current": (Server, Term),
        "voted_for": (Server, Server),
        "log": (Server, Index, Term),
        # n has applied the entry of term t at i: `commit_index` is at least i. This is durable too.
        "applied": (Server, Index, Term),
        # The role: `Role::Candidate` or `Role::Leader`. Others are followers.
        "candidate": (Server,),
        "leader": (Server,),
        # Messages. REQUEST-VOTE of n in term t, with the index and the term of its last entry.
        "requested": (Server, Term, Index, Term),
        # VOTE of n in term t for c. A candidate votes for itself without a message.
        "vote": (Server, Term, Server),
        # APPEND-REPLY (`Message::Replicated`) of n to the leader of term t, for i or a greater index. The leader itself counts
        # without a message.
        "replicated": (Server, Term, Index),
        # The leader of term t has sent APPEND-ENTRIES with a field `commit` of at least i. Its entry at i is of term u.
        "announced": (Term, Index, Term),
        # History, which no server reads. n was elected in term t with the votes of q.
        "elected": (Server, Term, Quorum),
        # The log of the leader of a term, as long as it has led. It has an entry of term u at i.
        "leader_log": (Term, Index, Term),
        # The leader of term t had an entry at index i when it was elected.
        "inherited": (Term, Index),
        # The last one of them, with its term.
        "base": (Term, Index, Term),
        # The leader of term t has appended this command at index i.
        "command": (Index, Term, Command),
        # The leader of term t has committed its entry of term t at index i, because q had it.
        "committed": (Term, Index, Quorum),
        # The entry of term u at i is committed, together with one of term t or an earlier term at i or a later index.
        "secured": (Term, Index, Term),
        # The current term of n is greater than t.
        "left": (Server, Term),
    }

    def axioms(self):
        return STATIC

    def initial(self, s):
        """`Server::new` at all servers."""
        first = lambda i, u: And(i == index_0, u == term_0)
        rest = [name for name in self.relations if name not in ("current", "log", "leader_log")]
        return self.about_majorities() + self.empty(s, *rest) + [
            ForAll([n, t], s.current(n, t) == (t == term_0)),
            ForAll([n, i, u], s.log(n, i, u) == first(i, u)),
            ForAll([t, i, u], s.leader_log(t, i, u) == And(t == term_0, first(i, u))),
        ]

    def about_majorities(self):
        return [MAJORITIES_INTERSECT]

    # Terms and votes.

    def enters_term(self, s, server, term):
        """The server sets `current_term` to a later term. It has not voted in that term and has no role in it."""
        return s.update(
            current=lambda a, b: Or(And(a == server, b == term), And(a != server, s.current(a, b))),
            left=added_where(s.left, lambda a, b: And(a == server, before(b, term))),
            voted_for=removed(s.voted_for, lambda a, b: a == server),
            candidate=removed(s.candidate, lambda a: a == server),
            leader=removed(s.leader, lambda a: a == server))

    def is_later(self, s, server, term):
        return Not(self.has_reached(s, server, term))

    def has_reached(self, s, server, term):
        return Or(s.left(server, term), s.current(server, term))

    def is_last(self, s, server, index):
        return ForAll([k, u], Implies(s.log(server, k, u), up_to(k, index)))

    @action
    def observe_term(self, s, server: Server, term: Term):
        """`observe_term`: a message has a later term. The model allows it without a message."""
        return Step([self.is_later(s, server, term)], self.enters_term(s, server, term))

    @action
    def stand(self, s, server: Server, term: Term, last: Index, last_term: Term):
        """`stand`: the election timeout has expired. The code takes the next term, the model any later one."""
        after = self.enters_term(s, server, term)
        return Step([Not(s.leader(server)), self.is_later(s, server, term), s.log(server, last, last_term),
                     self.is_last(s, server, last)], after.update(
            voted_for=added(after.voted_for, server, server),
            candidate=added(after.candidate, server),
            vote=added(s.vote, server, term, server),
            requested=added(s.requested, server, term, last, last_term)))

    @action
    def grant_vote(self, s, server: Server, to: Server, term: Term, last: Index, last_term: Term):
        """`on_request_vote` with `granted`."""
        return Step([s.current(server, term), s.requested(to, term, last, last_term), self.is_free(s, server, to),
                     self.is_up_to_date(s, server, last, last_term)], s.update(
            voted_for=added(s.voted_for, server, to), vote=added(s.vote, server, term, to)))

    def is_free(self, s, server, to):
        return ForAll([d], Implies(s.voted_for(server, d), d == to))

    def is_up_to_date(self, s, server, last, last_term):
        """The candidate's last entry is not behind any entry of this server. The code compares only the last entries, which is
        the same, because terms do not decrease along a log."""
        not_behind = lambda k, u: Or(before(u, last_term), And(u == last_term, up_to(k, last)))
        return ForAll([k, u], Implies(s.log(server, k, u), not_behind(k, u)))

    @action
    def become_leader(self, s, server: Server, term: Term, quorum: Quorum, last: Index, last_term: Term):
        """`on_vote` and `lead_if_elected`: a majority has voted for the candidate. The entry without a command that the code
        appends at once is the action `append`."""
        return Step([s.candidate(server), s.current(server, term), s.log(server, last, last_term), self.is_last(s, server, last),
                     ForAll([m], Implies(member(m, quorum), s.vote(m, term, server)))], s.update(
            candidate=removed(s.candidate, lambda a: a == server),
            leader=added(s.leader, server),
            elected=added(s.elected, server, term, quorum),
            leader_log=added_where(s.leader_log, lambda a, b, c: And(a == term, s.log(server, b, c))),
            base=added(s.base, term, last, last_term),
            inherited=added_where(s.inherited, lambda a, b: And(a == term, up_to(b, last))),
            replicated=added_where(s.replicated, lambda a, b, c: And(a == server, b == term, up_to(c, last)))),
            lemmas=[(NOT_ELECTED_YET, ForAll([c, q], Not(s.elected(c, term, q)))),
                    (NO_LEADER_YET, ForAll([m, i, u], Not(Or(
                        s.leader_log(term, i, u), s.replicated(m, term, i), s.inherited(term, i), s.base(term, i, u),
                        s.announced(term, i, u)))))])

    @action
    def restart(self, s, server: Server):
        """`on_recovery` after a crash: only the role is lost. The commit index is durable, as the code assumes."""
        return Step([], self.forgets(s, server).update(
            candidate=removed(s.candidate, lambda a: a == server), leader=removed(s.leader, lambda a: a == server)))

    def forgets(self, s, server):
        return s

    # Entries.

    @action
    def append(self, s, server: Server, term: Term, last: Index, index: Index, command: Command):
        """`append` in `propose` and `lead_if_elected`: the leader appends a command to its log."""
        return Step([s.leader(server), s.current(server, term), Exists([u], s.log(server, last, u)), self.is_last(s, server, last),
                     next_index(last, index)], s.update(
            log=added(s.log, server, index, term),
            leader_log=added(s.leader_log, term, index, term),
            command=added(s.command, index, term, command),
            replicated=added(s.replicated, server, term, index)))

    def receives_append(self, s, server, sender, term, prev, prev_term):
        """Guards of APPEND-ENTRIES of the leader of the present term: the logs match at `prev`."""
        return [server != sender, Exists([q], s.elected(sender, term, q)), self.is_present(s, server, term),
                s.leader_log(term, prev, prev_term), self.matches(s, server, prev, prev_term)]

    def is_present(self, s, server, term):
        """A message of a later term is handled after `observe_term`. One of an earlier term is refused."""
        return s.current(server, term)

    def matches(self, s, server, prev, prev_term):
        return s.log(server, prev, prev_term)

    def follows(self, s, server, term, index):
        """The server is a follower, and replies that its log matches up to the index."""
        return s.update(
            candidate=removed(s.candidate, lambda a: a == server), leader=removed(s.leader, lambda a: a == server),
            replicated=added_where(s.replicated, lambda a, b, c: And(a == server, b == term, up_to(c, index))))

    @action
    def receive_known_entry(self, s, server: Server, sender: Server, term: Term, prev: Index, prev_term: Term, index: Index,
                            entry_term: Term):
        """`on_append_entries` and `take_over` with an entry that the log contains."""
        return Step([*self.receives_append(s, server, sender, term, prev, prev_term), next_index(prev, index),
                     s.leader_log(term, index, entry_term), s.log(server, index, entry_term)],
                    self.keeps(self.follows(s, server, term, index), server, index))

    def keeps(self, s, server, index):
        """The entries after a known one stay, because the message may be an old one."""
        return s

    @action
    def receive_new_entry(self, s, server: Server, sender: Server, term: Term, prev: Index, prev_term: Term, index: Index,
                          entry_term: Term):
        """`on_append_entries` and `take_over` with another entry than the log contains at the index, or none there. It replaces
        everything from that index on."""
        return Step([*self.receives_append(s, server, sender, term, prev, prev_term), next_index(prev, index),
                     s.leader_log(term, index, entry_term), Not(s.log(server, index, entry_term))],
                    self.follows(s, server, term, index).update(
            log=lambda a, b, c: Or(And(s.log(a, b, c), Or(a != server, Not(up_to(index, b)))),
                                   And(a == server, b == index, c == entry_term))))

    @action
    def announce(self, s, server: Server, term: Term, index: Index):
        """`replicate`: the leader sends its commit index. `AppendEntries::commit` may be any index up to it."""
        return Step([s.leader(server), s.current(server, term), Exists([u], s.applied(server, index, u))], s.update(
            announced=added_where(s.announced, lambda a, b, c: And(a == term, up_to(b, index), s.log(server, b, c)))))

    @action
    def receive_commit(self, s, server: Server, sender: Server, term: Term, prev: Index, prev_term: Term, commit: Index,
                       commit_term: Term):
        """`on_append_entries` and `commit_to`: a heartbeat, or the second half of a message with an entry. `commit` is the
        smaller one of the leader's commit index and the index up to which the logs match."""
        return Step([*self.receives_append(s, server, sender, term, prev, prev_term), s.announced(term, commit, commit_term),
                     self.is_matched(commit, prev)],
                    self.applies(self.follows(s, server, term, prev), server, commit))

    def is_matched(self, commit, prev):
        return up_to(commit, prev)

    def applies(self, s, server, index):
        return s.update(applied=added_where(s.applied, lambda a, b, c: And(a == server, up_to(b, index), s.log(server, b, c))))

    @action
    def commit(self, s, server: Server, term: Term, index: Index, entry_term: Term, quorum: Quorum):
        """`on_replicated` and `commit_replicated`: a majority has an entry of the leader's own term (`OwnTerm::commits`)."""
        secured = lambda a, b, c: And(at_most(term, a), up_to(b, index), s.log(server, b, c))
        return Step([s.leader(server), s.current(server, term), s.log(server, index, entry_term),
                     self.may_commit(term, entry_term),
                     ForAll([m], Implies(member(m, quorum), s.replicated(m, term, index)))],
                    self.applies(s, server, index).update(
            committed=added(s.committed, term, index, quorum), secured=added_where(s.secured, secured)))

    def may_commit(self, term, entry_term):
        return entry_term == term

    # The invariant.

    def is_lost(self, s, term, index, quorum):
        """The quorum can no longer store what the leader of the term appends at this index."""
        return Exists([m], And(member(m, quorum), s.left(m, term), Not(s.replicated(m, term, index))))

    # Most conditions need few invariants, and the solver is faster and more predictable without the others. An invariant that says
    # that something exists, or that something is lost, is used only for these invariants and lemmas besides itself.
    USED_FOR = {
        INTERSECT: [NOT_ELECTED_YET, LATER_LEADER],
        "a server has a current term": [],
        "a candidate has requested votes": [LATER_LEADER],
        "a leader has been elected": [LED, SAME_LOG, "inherited entries are of earlier terms"],
        LED: [NO_LEADER_YET, LATER_LEADER],
        "a leader has a last inherited entry": ["inherited entries are of earlier terms"],
        HAS_REPLIES: [VOTER_REPLIES],
        VOTER_REPLIES: [LATER_LEADER],
        LATER_LEADER: [HAS_REPLIES],
        SECURED_BY_COMMIT: [],
    }
    # Conditions about these invariants use nothing but these invariants before the action, and these after it.
    USES_ONLY = {
        "leader completeness": (
            ["leader completeness", LEADER_LOGS_AGREE, OWN_COMMIT, LATER_LEADER],
            [LEADER_LOGS_AGREE, LATER_LEADER, "a quorum has replied for a committed entry", OWN_COMMIT]),
        LEADER_HAS_SECURED: (
            [LEADER_HAS_SECURED, SECURED_BY_COMMIT, LED,
             SAME_LOG, OWN_COMMIT],
            ["leader completeness", SECURED_BY_COMMIT, "election safety", OWN_COMMIT]),
        ONE_SECURED: (["one entry at an index of a leader's log", LED, OWN_COMMIT, SECURED_BY_COMMIT, "leader completeness"], []),
        "state machine safety": (
            ["a server has a current term", "a server has left the earlier terms", "applied entries are secured"], [ONE_SECURED]),
    }

    def is_used(self, invariant, action, label):
        if label in self.USES_ONLY:
            return invariant in self.USES_ONLY[label][0]
        # Entries of a later leader change only if a server becomes leader.
        if label == LATER_LEADER and action != "become_leader":
            return invariant == LATER_LEADER or invariant not in self.USED_FOR
        return invariant not in self.USED_FOR or label == invariant or label in self.USED_FOR[invariant]

    def used_afterwards(self, label):
        return self.USES_ONLY.get(label, ([], []))[1]

    def invariants(self, s):
        own = lambda term, index: Not(s.inherited(term, index))
        return [
            # Terms and votes.
            *[(INTERSECT, formula) for formula in self.about_majorities()],
            ("a server has one current term", ForAll([n, t, u], Implies(And(s.current(n, t), s.current(n, u)), t == u))),
            ("a server has left the earlier terms", ForAll([n, t, u], Implies(s.current(n, t), s.left(n, u) == before(u, t)))),
            ("a server votes for one candidate",
             ForAll([n, c, d], Implies(And(s.voted_for(n, c), s.voted_for(n, d)), c == d))),
            ("a server remembers its vote of the current term",
             ForAll([n, t, c], Implies(And(s.vote(n, t, c), s.current(n, t)), s.voted_for(n, c)))),
            ("one vote in a term", ForAll([n, t, c, d], Implies(And(s.vote(n, t, c), s.vote(n, t, d)), c == d))),
            ("a server that has left a term has left the earlier ones",
             ForAll([n, t, u], Implies(And(s.left(n, t), at_most(u, t)), s.left(n, u)))),
            ("a server has a current term", ForAll([n], Exists([t], s.current(n, t)))),
            ("votes are not ahead of the voter and the candidate", ForAll([n, t, c], Implies(
                s.vote(n, t, c), And(self.has_reached(s, n, t), self.has_reached(s, c, t))))),
            ("requests for votes are not ahead of the candidate",
             ForAll([n, t, i, w], Implies(s.requested(n, t, i, w), self.has_reached(s, n, t)))),
            ("one request for votes in a term", ForAll([n, t, i, j, u, w], Implies(
                And(s.requested(n, t, i, u), s.requested(n, t, j, w)), And(i == j, u == w)))),
            ("a candidate has requested votes with its last entry", ForAll([n, t, i, w, k, u], Implies(
                And(s.candidate(n), s.current(n, t), s.requested(n, t, i, w)),
                And(s.log(n, i, w), Implies(s.log(n, k, u), up_to(k, i)))))),
            ("a candidate has requested votes", ForAll([n, t], Implies(
                And(s.candidate(n), s.current(n, t)), Exists([i, w], s.requested(n, t, i, w))))),
            ("a candidate has not been elected yet",
             ForAll([n, t, q], Not(And(s.candidate(n), s.current(n, t), s.elected(n, t, q))))),
            ("a leader has been elected", ForAll([n, t], Implies(
                And(s.leader(n), s.current(n, t)), Exists([q], s.elected(n, t, q))))),
            ("elections are not ahead of the leader", ForAll([n, t, q], Implies(s.elected(n, t, q), self.has_reached(s, n, t)))),
            ("leaders have votes",
             ForAll([n, t, q, m], Implies(And(s.elected(n, t, q), member(m, q)), s.vote(m, t, n)))),
            (LED, ForAll([m, t, i, u], Implies(
                Or(And(s.leader_log(t, i, u), t != term_0), s.replicated(m, t, i), s.inherited(t, i), s.base(t, i, u),
                   s.announced(t, i, u)), Exists([n, q], s.elected(n, t, q))))),
            ("no leader in term 0", ForAll([n, q], Not(Or(
                s.elected(n, term_0, q), And(Or(s.candidate(n), s.leader(n)), s.current(n, term_0)))))),
            ("a leader is not a candidate", ForAll([n], Not(And(s.leader(n), s.candidate(n))))),
            self.election_safety(s),
            # Logs.
            ("one entry at an index of a log", ForAll([n, i, t, u], Implies(And(s.log(n, i, t), s.log(n, i, u)), t == u))),
            ("one entry at an index of a leader's log",
             ForAll([w, i, t, u], Implies(And(s.leader_log(w, i, t), s.leader_log(w, i, u)), t == u))),
            (SAME_LOG, ForAll([n, t, i, u], Implies(
                And(s.leader(n), s.current(n, t)), s.log(n, i, u) == s.leader_log(t, i, u)))),
            (LOGS_AGREE, ForAll([n, i, t, k, u], Implies(
                And(s.log(n, i, t), up_to(k, i)), s.log(n, k, u) == s.leader_log(t, k, u)))),
            (LEADER_LOGS_AGREE,
             ForAll([w, i, t, k, u], Implies(
                 And(s.leader_log(w, i, t), up_to(k, i)), s.leader_log(w, k, u) == s.leader_log(t, k, u)))),
            ("entries are not ahead of the server", ForAll([n, i, t], Implies(s.log(n, i, t), self.has_reached(s, n, t)))),
            ("inherited entries are of earlier terms",
             ForAll([t, i, u], Implies(And(s.leader_log(t, i, u), s.inherited(t, i)), before(u, t)))),
            ("entries that are not inherited are of the leader's term",
             ForAll([t, i, u], Implies(And(s.leader_log(t, i, u), own(t, i)), u == t))),
            ("a leader has a last inherited entry", ForAll([n, t, q], Implies(
                s.elected(n, t, q), Exists([i, u], s.base(t, i, u))))),
            ("no inherited entry comes after the last one", ForAll([t, i, u, k], Implies(
                s.base(t, i, u), And(s.leader_log(t, i, u), Implies(s.inherited(t, k), up_to(k, i)))))),
            ("inherited indices are the first ones", ForAll([t, i, k], Implies(And(s.inherited(t, i), up_to(k, i)), s.inherited(t, k)))),
            ("own entries have no gaps", ForAll([t, i, k], Implies(
                And(s.leader_log(t, i, t), own(t, k), up_to(k, i)), Or(s.leader_log(t, k, t), t == term_0)))),
            ("commands are those of entries", ForAll([i, t, a], Implies(s.command(i, t, a), s.leader_log(t, i, t)))),
            self.one_command(s),
            # Replies.
            ("replies are not ahead of the server",
             ForAll([n, t, i], Implies(s.replicated(n, t, i), self.has_reached(s, n, t)))),
            ("replies are about entries of the leader",
             ForAll([n, t, i], Implies(And(s.replicated(n, t, i), own(t, i)), s.leader_log(t, i, t)))),
            (HAS_REPLIES, ForAll([n, t, i, q], Implies(
                And(s.replicated(n, t, i), own(t, i)), Or(s.log(n, i, t), self.is_lost(s, t, i, q))))),
            (VOTER_REPLIES,
             ForAll([n, w, c, i, u, t, k, q], Implies(
                 And(s.vote(n, w, c), s.requested(c, w, i, u), before(t, w), s.replicated(n, t, k), own(t, k)),
                 Or(before(t, u), And(t == u, up_to(k, i)), self.is_lost(s, t, k, q))))),
            (LATER_LEADER, ForAll([c, w, r, t, i, q], Implies(
                And(s.elected(c, w, r), before(t, w), own(t, i)), Or(s.leader_log(w, i, t), self.is_lost(s, t, i, q))))),
            # Committed entries.
            ("a quorum has replied for a committed entry",
             ForAll([t, i, q, m], Implies(And(s.committed(t, i, q), member(m, q)), s.replicated(m, t, i)))),
            (OWN_COMMIT, ForAll([t, i, q], Implies(
                s.committed(t, i, q), And(s.leader_log(t, i, t), own(t, i), t != term_0)))),
            self.leader_completeness(s),
            (SECURED_BY_COMMIT, ForAll([w, i, u], Implies(
                s.secured(w, i, u),
                Exists([t, k, q], And(s.committed(t, k, q), at_most(t, w), up_to(i, k), s.leader_log(t, i, u)))))),
            (LEADER_HAS_SECURED, ForAll([t, i, u, n, q], Implies(
                And(s.secured(t, i, u), s.elected(n, t, q)), s.leader_log(t, i, u)))),
            ("applied entries are in the log", ForAll([n, i, u], Implies(s.applied(n, i, u), s.log(n, i, u)))),
            ("the entries before an applied one are applied", ForAll([n, i, k, t, u], Implies(
                And(s.applied(n, i, t), up_to(k, i), s.log(n, k, u)), s.applied(n, k, u)))),
            ("applied entries are secured",
             ForAll([n, i, u, t], Implies(And(s.applied(n, i, u), Not(s.left(n, t))), s.secured(t, i, u)))),
            ("announced entries are secured",
             ForAll([t, i, u], Implies(s.announced(t, i, u), And(s.secured(t, i, u), s.leader_log(t, i, u))))),
            ("the entries before an announced one are announced", ForAll([t, i, u, k, w], Implies(
                And(s.announced(t, i, u), up_to(k, i), s.leader_log(t, k, w)), s.announced(t, k, w)))),
            ("secured entries remain secured",
             ForAll([t, w, i, u], Implies(And(s.secured(t, i, u), at_most(t, w)), s.secured(w, i, u)))),
        ]

    # The properties of the paper (figure 3).

    def election_safety(self, s):
        return ("election safety", ForAll([c, d, t, q, r], Implies(And(s.elected(c, t, q), s.elected(d, t, r)), c == d)))

    def one_command(self, s):
        return ("one command at an index in a term",
                ForAll([i, t, a, b], Implies(And(s.command(i, t, a), s.command(i, t, b)), a == b)))

    def leader_completeness(self, s):
        return ("leader completeness", ForAll([t, i, q, c, w, r, k, u], Implies(
            And(s.committed(t, i, q), s.elected(c, w, r), before(t, w), up_to(k, i), s.leader_log(t, k, u)),
            s.leader_log(w, k, u))))

    def state_machine_safety(self, s):
        return ("state machine safety", ForAll([n, m, i, t, u], Implies(And(s.applied(n, i, t), s.applied(m, i, u)), t == u)))

    def safety(self, s):
        return [
            self.election_safety(s),
            ("log matching", ForAll([n, m, i, t, k, u], Implies(
                And(s.log(n, i, t), s.log(m, i, t), up_to(k, i)), s.log(n, k, u) == s.log(m, k, u)))),
            self.leader_completeness(s),
            (ONE_SECURED,
             ForAll([t, w, i, u, x], Implies(And(s.secured(t, i, u), s.secured(w, i, x)), u == x))),
            self.state_machine_safety(s),
            self.one_command(s),
            ("terms do not decrease along a log",
             ForAll([n, i, k, t, u], Implies(And(s.log(n, i, t), s.log(n, k, u), up_to(i, k)), at_most(t, u)))),
        ]


def three_servers(terms="t0 t1 t2", indices="i0 i1", quorums="ab ac bc"):
    """Servers a, b and c, these terms and indices, and these sets of servers as majorities."""
    domain = Domain((Server, "a b c"), (Term, terms), (Index, indices), (Command, "x"), (Quorum, quorums))
    domain.define(member, [f"{server} {quorum}" for quorum in quorums.split() for server in quorum])
    following = zip(indices.split(), indices.split()[1:], strict=False)
    domain.define(next_index, [f"{index} {after}" for index, after in following]).define_order(at_most).define_order(up_to)
    domain.sorts.define(term_0, domain["t0"])
    domain.sorts.define(index_0, domain["i0"])
    return domain


def wins(server, term, voter, last="i0 t0"):
    """The server stands with this last entry, gets the vote of one other server, and becomes leader."""
    quorum = "".join(sorted(server + voter))
    return [f"stand {server} {term} {last}", f"observe_term {voter} {term}", f"grant_vote {voter} {server} {term} {last}",
            f"become_leader {server} {term} {quorum} {last}"]


def stores(server, leader, term, prev, entry):
    """The server takes over an entry of the leader after the entry `prev`."""
    return f"receive_new_entry {server} {leader} {term} {prev} {entry}"


def a_commits_i1_with_b():
    """a leads t1, and commits the entry at i1, which b has stored."""
    return [*wins("a", "t1", "b"), "append a t1 i0 i1 x", stores("b", "a", "t1", "i0 t0", "i1 t1"), "commit a t1 i1 t1 ab"]


def commits_i1_with(voter, term="t2"):
    """c leads a later term and commits an entry at i1 that the voter stores."""
    return [f"append c {term} i0 i1 x", stores(voter, "c", term, "i0 t0", f"i1 {term}"), f"commit c {term} i1 {term} {voter}c"]


ALLOWED_RUNS = {
    "a leads, commits and announces it; b applies, restarts, and receives the entry again": (
        three_servers(),
        [*a_commits_i1_with_b(), "announce a t1 i1", "receive_commit b a t1 i1 t1 i1 t1", "restart b",
         "receive_known_entry b a t1 i0 t0 i1 t1"]),
    "the entry of a former leader is replaced, and that of the new leader is committed": (
        three_servers(),
        [*wins("a", "t1", "b"), "append a t1 i0 i1 x", *wins("c", "t2", "b"), *commits_i1_with("b"), "observe_term a t2",
         stores("a", "c", "t2", "i0 t0", "i1 t2")]),
}


class CommitsOldTerms(Raft):
    rule = "a leader commits entries of earlier terms by counting replicas (figure 8, `raft-commits-old-terms`)"
    domain = three_servers(terms="t0 t1 t2 t3 t4")
    script = [*wins("a", "t1", "b"), "append a t1 i0 i1 x",
              *wins("c", "t2", "b"), "append c t2 i0 i1 x",
              # a replicates its entry of t1 in t3, and commits it.
              "restart a", *wins("a", "t3", "b", "i1 t1"), stores("b", "a", "t3", "i0 t0", "i1 t1"), "commit a t3 i1 t1 ab",
              # The entry of c is of a later term, so b votes for c.
              "restart c", *wins("c", "t4", "b", "i1 t2"), stores("b", "c", "t4", "i0 t0", "i1 t2"), "commit c t4 i1 t2 bc"]

    def may_commit(self, term, entry_term):
        return And()


class VotesTwice(Raft):
    rule = "a server votes for each candidate of a term"
    domain = three_servers()
    script = [*wins("a", "t1", "c"), "stand b t1 i0 t0", "grant_vote c b t1 i0 t0", "become_leader b t1 bc i0 t0"]
    violation = lambda self, s: two_leaders(s)
    violation_name = "two leaders of a term"

    def is_free(self, s, server, to):
        return And()


class ForgetsVote(Raft):
    rule = "a server forgets its vote when it restarts"
    domain = three_servers()
    script = [*wins("a", "t1", "c"), "stand b t1 i0 t0", "restart c", "grant_vote c b t1 i0 t0", "become_leader b t1 bc i0 t0"]
    violation = lambda self, s: two_leaders(s)
    violation_name = "two leaders of a term"

    def forgets(self, s, server):
        return s.update(voted_for=removed(s.voted_for, lambda a, b: a == server))


class ForgetsLog(Raft):
    rule = "a server forgets its log when it restarts"
    domain = three_servers()
    script = [*a_commits_i1_with_b(), "restart b", *wins("c", "t2", "b"), *commits_i1_with("b")]

    def forgets(self, s, server):
        return s.update(log=removed(s.log, lambda a, b, c: And(a == server, b != index_0)))


class VotesWithoutComparing(Raft):
    rule = "a server votes without comparing logs"
    domain = three_servers()
    script = [*a_commits_i1_with_b(), *wins("c", "t2", "b"), *commits_i1_with("b")]

    def is_up_to_date(self, s, server, last, last_term):
        return And()


class AppendsWithoutCheck(Raft):
    rule = "a follower does not check the entry before a new one"
    domain = three_servers(indices="i0 i1 i2")
    script = [*wins("b", "t1", "c"), "append b t1 i0 i1 x",
              *wins("a", "t2", "c"), "append a t2 i0 i1 x", "append a t2 i1 i2 x",
              "observe_term b t2", stores("b", "a", "t2", "i1 t2", "i2 t2"), "commit a t2 i2 t2 ab", "announce a t2 i2",
              "receive_commit b a t2 i2 t2 i2 t2"]

    def matches(self, s, server, prev, prev_term):
        return And()


class TruncatesAfterKnownEntry(Raft):
    rule = "a follower deletes the entries after a new one, although it has that entry already"
    domain = three_servers(indices="i0 i1 i2")
    script = [*wins("a", "t1", "b"), "append a t1 i0 i1 x", "append a t1 i1 i2 x", stores("b", "a", "t1", "i0 t0", "i1 t1"),
              stores("b", "a", "t1", "i1 t1", "i2 t1"), "commit a t1 i2 t1 ab",
              # The first message arrives again.
              "receive_known_entry b a t1 i0 t0 i1 t1",
              *wins("b", "t2", "c", "i1 t1"), "append b t2 i1 i2 x", stores("c", "b", "t2", "i0 t0", "i1 t1"),
              stores("c", "b", "t2", "i1 t1", "i2 t2"), "commit b t2 i2 t2 bc"]

    def keeps(self, s, server, index):
        return s.update(log=removed(s.log, lambda a, b, c: And(a == server, Not(up_to(b, index)))))


class FollowsFormerLeader(Raft):
    rule = "a follower accepts entries of a leader of an earlier term"
    domain = three_servers()
    script = [*wins("a", "t1", "b"), "append a t1 i0 i1 x", *wins("c", "t2", "b"), *commits_i1_with("b"),
              stores("b", "a", "t1", "i0 t0", "i1 t1"), "commit a t1 i1 t1 ab"]

    def is_present(self, s, server, term):
        return self.has_reached(s, server, term)


class AppliesUnmatched(Raft):
    rule = "a follower applies entries up to the leader's commit index, even if its log is not known to match there"
    domain = three_servers()
    script = [*wins("a", "t1", "b"), "append a t1 i0 i1 x", *wins("c", "t2", "b"), *commits_i1_with("b"), "announce c t2 i1",
              "observe_term a t2", "receive_commit a c t2 i0 t0 i1 t2"]

    def is_matched(self, commit, prev):
        return And()


class DisjointMajorities(Raft):
    rule = "two majorities may have no common member"
    domain = three_servers(quorums="ab cc")
    script = [*wins("a", "t1", "b"), "stand c t1 i0 t0", "become_leader c t1 cc i0 t0"]
    violation = lambda self, s: two_leaders(s)
    violation_name = "two leaders of a term"

    def about_majorities(self):
        return []


class LeadsWithoutVotes(lacks_guard(Raft, "become_leader", 4)):
    rule = "a candidate becomes leader without the votes of a majority"
    domain = three_servers()
    script = [*wins("a", "t1", "b"), "stand c t1 i0 t0", "become_leader c t1 ac i0 t0"]
    violation = lambda self, s: two_leaders(s)
    violation_name = "two leaders of a term"


class CommitsAlone(lacks_guard(Raft, "commit", 4)):
    rule = "a leader commits an entry that no majority has stored"
    domain = three_servers()
    script = [*wins("a", "t1", "b"), "append a t1 i0 i1 x", "commit a t1 i1 t1 ab", *wins("c", "t2", "b"), *commits_i1_with("b")]


MUTANTS = [CommitsOldTerms, VotesTwice, ForgetsVote, ForgetsLog, VotesWithoutComparing, AppendsWithoutCheck,
           TruncatesAfterKnownEntry, FollowsFormerLeader, AppliesUnmatched, DisjointMajorities, LeadsWithoutVotes, CommitsAlone]


def two_applied(s):
    """The negation of state machine safety."""
    return Exists([n, m, i, t, u], And(s.applied(n, i, t), s.applied(m, i, u), t != u))


def two_leaders(s):
    """The negation of election safety."""
    return Exists([c, d, t, q, r], And(s.elected(c, t, q), s.elected(d, t, r), c != d))


# Guards without which the proof still holds.
ONESELF = "a server does not send messages to itself, and nothing would change if it did"
SPARE_GUARDS = {
    ("stand", 0): "a leader that stands for a later term has left its own",
    **{(name, 0): ONESELF for name in ("receive_known_entry", "receive_new_entry", "receive_commit")},
    **{("receive_known_entry", guard): "the entry is in both logs, so all entries before it are equal by log matching" for guard in (3, 4, 5)},
}


PROOF = Proof(
    title="Raft",
    conclusion="Raft is safe, for any number of servers",
    system=Raft,
    allowed_runs=ALLOWED_RUNS,
    mutants=MUTANTS,
    violation=two_applied,
    violation_name="two entries applied",
    spare_guards=SPARE_GUARDS,
)

if __name__ == "__main__":
    main(PROOF)
