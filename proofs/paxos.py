"""One configuration follows each: Paxos with one instance, for any number of voters, ballots and values.

Leslie Lamport, "Paxos made simple", 2001. docs/membership.md uses one instance for each stable configuration: the voters of the
configuration choose the next one. Messages are relations that only grow, so they may be lost, delayed, duplicated and reordered.
Nodes that propose may stop at any time, because no action has to be taken. Voters remember what they have promised and accepted,
since both are durable. A voter that loses this takes no further part.

A promise contains what its voter has accepted in smaller ballots. This does not change any more after the promise. So the model
reads it from the voter's state.
"""

from z3 import And, BoolSort, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from scripted import Names, Program, main
from verifier import Step, TransitionSystem, action, added, removed, total_order

Voter = DeclareSort("Voter")
Quorum = DeclareSort("Quorum")
Ballot = DeclareSort("Ballot")
Value = DeclareSort("Value")

member = Function("member", Voter, Quorum, BoolSort())
up_to, BALLOT_ORDER = total_order(Ballot, "up_to")

n, m = Consts("n m", Voter)
q, p = Consts("q p", Quorum)
b, c = Consts("b c", Ballot)
v, w = Consts("v w", Value)

INTERSECT = [ForAll([q, p], Exists([n], And(member(n, q), member(n, p))))]


def before(ballot, other):
    return Not(up_to(other, ballot))


class Paxos(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # PROMISE has been sent.
        "promised": (Voter, Ballot),
        # ACCEPT with this value has been sent.
        "proposed": (Ballot, Value),
        # ACCEPTED has been sent.
        "accepted": (Voter, Ballot, Value),
        # Somebody has learned that this value is chosen, because a quorum has accepted it in this ballot.
        "chosen": (Ballot, Value),
    }

    def axioms(self):
        return BALLOT_ORDER + self.intersections()

    def intersections(self):
        return INTERSECT

    def initial(self, s):
        return self.empty(s)

    @action
    def promise(self, s, voter: Voter, ballot: Ballot):
        """The voter promises to accept nothing in smaller ballots. Any ballot may have been begun."""
        return Step([self.has_promised_none_after(s, voter, ballot)], s.update(promised=added(s.promised, voter, ballot)))

    def has_promised_none_after(self, s, voter, ballot):
        return ForAll([c], Implies(s.promised(voter, c), up_to(c, ballot)))

    @action
    def propose(self, s, ballot: Ballot, quorum: Quorum, value: Value):
        """With promises of a quorum: the value that one of them has accepted last, or any value if none has accepted anything."""
        return Step([self.is_first(s, ballot), ForAll([n], Implies(member(n, quorum), self.is_promised(s, n, ballot))),
                     Or(self.is_free(s, ballot, quorum), self.is_last(s, ballot, quorum, value))],
                    s.update(proposed=added(s.proposed, ballot, value)))

    def is_first(self, s, ballot):
        return ForAll([v], Not(s.proposed(ballot, v)))

    def is_promised(self, s, voter, ballot):
        return s.promised(voter, ballot)

    def is_free(self, s, ballot, quorum):
        return ForAll([n, c, v], Implies(And(member(n, quorum), s.accepted(n, c, v)), up_to(ballot, c)))

    def is_last(self, s, ballot, quorum, value):
        return Exists([m, b], And(member(m, quorum), before(b, ballot), s.accepted(m, b, value),
                                  self.are_before(s, ballot, quorum, b)))

    def are_before(self, s, ballot, quorum, last):
        return ForAll([n, c, v], Implies(And(member(n, quorum), s.accepted(n, c, v), before(c, ballot)), up_to(c, last)))

    @action
    def accept(self, s, voter: Voter, ballot: Ballot, value: Value):
        """The voter accepts the value, unless it has promised not to."""
        return Step([s.proposed(ballot, value), self.may_accept(s, voter, ballot)],
                    s.update(accepted=added(s.accepted, voter, ballot, value)))

    def may_accept(self, s, voter, ballot):
        return self.has_promised_none_after(s, voter, ballot)

    @action
    def learn(self, s, ballot: Ballot, quorum: Quorum, value: Value):
        return Step([ForAll([n], Implies(member(n, quorum), s.accepted(n, ballot, value)))],
                    s.update(chosen=added(s.chosen, ballot, value)))

    def invariants(self, s):
        has_left = lambda voter, ballot: Exists([c], And(before(ballot, c), s.promised(voter, c)))
        return [
            ("one value is proposed in a ballot", ForAll([b, v, w], Implies(And(s.proposed(b, v), s.proposed(b, w)), v == w))),
            ("an accepted value was proposed", ForAll([n, b, v], Implies(s.accepted(n, b, v), s.proposed(b, v)))),
            ("a chosen value was accepted by a quorum",
             ForAll([b, v], Implies(s.chosen(b, v), Exists([q], ForAll([n], Implies(member(n, q), s.accepted(n, b, v))))))),
            ("no other value can be chosen in a ballot before a proposal", ForAll([b, c, v, w, q], Implies(
                And(s.proposed(c, w), before(b, c), v != w),
                Exists([n], And(member(n, q), has_left(n, b), Not(s.accepted(n, b, v))))))),
            *self.safety(s),
        ]

    def safety(self, s):
        return [("one value is chosen", ForAll([b, c, v, w], Implies(And(s.chosen(b, v), s.chosen(c, w)), v == w)))]


class PaxosNames(Names):
    """Elements of a run by name. Voters have one letter, a quorum is named by its voters, and ballots are numbers."""

    sorts = [Voter, Quorum, Ballot, Value]

    def imply(self):
        for name in self.of(Quorum):
            for voter in name:
                self.add(Voter, voter)

    def define(self):
        for name in self.of(Quorum):
            for voter in self.of(Voter):
                self.let(member, voter, name, voter in name)
        self.order(Ballot, up_to, int)


def promises(voters, ballot):
    return [f"promise {voter} {ballot}" for voter in voters]


def accepts(voters, ballot, value):
    return [f"accept {voter} {ballot} {value}" for voter in voters]


def chooses(voters, ballot, value):
    return [*promises(voters, ballot), f"propose {ballot} {voters} {value}", *accepts(voters, ballot, value),
            f"learn {ballot} {voters} {value}"]


ALLOWED_RUNS = {
    "a proposal is interrupted, and another node completes it": [
        *promises("ab", 1), "propose 1 ab x", "accept a 1 x", *chooses("ac", 2, "x")],
    "a later proposal with another value overtakes one that nobody of its quorum has accepted": [
        *promises("ab", 1), "propose 1 ab x", *chooses("bc", 2, "y")],
}


class Mutant(Paxos):
    """A mutant has a rule and a script, and overrides one method."""


class DisjointQuorums(Mutant):
    rule = "two quorums need not intersect"
    script = [*chooses("a", 1, "x"), *chooses("b", 2, "y")]

    def intersections(self):
        return []


class BreaksPromises(Mutant):
    rule = "a voter accepts a value in a ballot smaller than one that it has promised"
    script = [*promises("ab", 1), "propose 1 ab x", *chooses("bc", 2, "y"), *accepts("ab", 1, "x"), "learn 1 ab x"]

    def may_accept(self, s, voter, ballot):
        return And()


class ForgetsAccepted(Mutant):
    rule = "a voter forgets what it has accepted when it restarts"
    script = [*chooses("ab", 1, "x"), "restart a", "restart b", *chooses("ab", 2, "y")]

    @action
    def restart(self, s, voter: Voter):
        return Step([], s.update(accepted=removed(s.accepted, lambda a, *_: a == voter)))


class ForgetsPromises(Mutant):
    rule = "a voter forgets what it has promised when it restarts"
    script = [*promises("ab", 1), "propose 1 ab x", *chooses("bc", 2, "y"), "restart a", "restart b", *accepts("ab", 1, "x"),
              "learn 1 ab x"]

    @action
    def restart(self, s, voter: Voter):
        return Step([], s.update(promised=removed(s.promised, lambda a, _: a == voter)))


class IgnoresAccepted(Mutant):
    rule = "a node proposes its own value although a voter of its quorum has accepted another one"
    script = [*chooses("ab", 1, "x"), *chooses("bc", 2, "y")]

    def is_free(self, s, ballot, quorum):
        return And()


class TakesAnyAccepted(Mutant):
    rule = "a node proposes a value that a voter of its quorum has accepted, but not the last one"
    script = [*promises("ab", 1), "propose 1 ab x", "accept a 1 x", *chooses("bc", 2, "y"), *chooses("ab", 3, "x")]

    def are_before(self, s, ballot, quorum, last):
        return And()


class ProposesUnpromised(Mutant):
    rule = "a node proposes a value without the promises of a quorum"
    script = ["propose 2 bc y", *chooses("ab", 1, "x"), *accepts("bc", 2, "y"), "learn 2 bc y"]

    def is_promised(self, s, voter, ballot):
        return And()


class ProposesTwice(Mutant):
    rule = "two values are proposed in one ballot"
    script = [*chooses("ab", 1, "x"), "propose 1 ab y", *accepts("ab", 1, "y"), "learn 1 ab y"]

    def is_first(self, s, ballot):
        return And()


MUTANTS = [cls for cls in list(vars().values()) if isinstance(cls, type) and issubclass(cls, Mutant) and cls is not Mutant]

SPARE_GUARDS = {
    ("promise", 0): "the voter accepts nothing below its greatest promise anyway",
}

PROGRAM = Program("Paxos", "one value is chosen", Paxos, PaxosNames, ALLOWED_RUNS, MUTANTS, spare_guards=SPARE_GUARDS)

if __name__ == "__main__":
    main(PROGRAM, "Proves that Paxos chooses one value.")
