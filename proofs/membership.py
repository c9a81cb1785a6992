"""At most one client is valid, and tokens grow, while the voters change from one configuration to the next.

A model of the design in docs and MEMBERSHIP.md, not of code: changes of voters are not implemented yet. It has one change, from
configuration e to e + 1, with any number of voters and requests and any intersecting quorums in each configuration. A quorum of e
and a quorum of e + 1 need not intersect. The rules are those of MEMBERSHIP.md by their numbers.

A vote is counted only while it is given. locks.py proves that of leases, restarts and attempts, so this model has none of them:
`free` ends a vote together with everything that is known of it. Time is not modelled. Not modelled either: how e + 1 is chosen
(rule 2, Paxos), learning from e + 1 once it is final (4), answers to LEARN that arrive late, the grace period (8), redirection of
clients (11), recovery by an operator (12), and more than one change. A second change begins only when e + 1 is final for its
acceptors (2), so the quorums of three configurations are never needed at once. This step is not proved.
"""

from z3 import And, BoolSort, Const, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from scripted import Names, Program, main
from verifier import Step, TransitionSystem, action, added, added_where, removed, total_order

Voter = DeclareSort("Voter")
Request = DeclareSort("Request")
# Quorums of e and of e + 1.
Old = DeclareSort("Old")
New = DeclareSort("New")
Number = DeclareSort("Number")

in_old = Function("in_old", Voter, Old, BoolSort())
in_new = Function("in_new", Voter, New, BoolSort())
at_most, NUMBER_ORDER = total_order(Number, "at_most")

n, m = Consts("n m", Voter)
r, x = Consts("r x", Request)
q, q2 = Consts("q q2", Old)
p, p2 = Consts("p p2", New)
k, j = Consts("k j", Number)

OLD_INTERSECT = [ForAll([q, q2], Exists([n], And(in_old(n, q), in_old(n, q2))))]
NEW_INTERSECT = [ForAll([p, p2], Exists([n], And(in_new(n, p), in_new(n, p2))))]


def less(number, other):
    return Not(at_most(other, number))


def of_old(quorum, holds):
    return ForAll([n], Implies(in_old(n, quorum), holds(n)))


def of_new(quorum, holds):
    return ForAll([n], Implies(in_new(n, quorum), holds(n)))


# What is known of a vote, and ends with it.
VOTE_RELATIONS = ("out", "tagged", "old_vote", "old_confirmed", "new_vote", "new_confirmed", "after_learning")


class Membership(TransitionSystem):
    """The design. A mutant is a subclass that overrides one rule."""

    relations = {
        # Voters.
        # The voter knows durably that e + 1 is chosen, and the numbers that it had used then.
        "joint": (Voter,),
        # A voter that has forgotten its numbers then takes those that it has relearned. The rules use neither.
        "used_before_joint": (Voter, Number),
        "has_snapshot": (Voter,),
        # The voter gives no vote with this number or a smaller one.
        "used": (Voter, Number),
        # The voter has taken the numbers of this quorum of e.
        "learned": (Voter,),
        "learned_from": (Voter, Old),
        # The durable floor: numbers that the voter knew when it had learned.
        "floor": (Voter, Number),
        # The voter has forgotten its votes, and its numbers above the floor.
        "forgotten": (Voter,),
        # The vote is given to this request.
        "out": (Voter, Request),
        # The tag of the vote is e + 1.
        "tagged": (Voter, Request),
        # VOTE was sent before and after the voter was joint: number, and numbers confirmed.
        "old_vote": (Voter, Request, Number),
        "old_confirmed": (Voter, Request, Number),
        "new_vote": (Voter, Request, Number),
        "new_confirmed": (Voter, Request, Number),
        # The number of the new vote was given after the voter had learned.
        "after_learning": (Voter, Request),
        # Requests.
        "knows": (Request,),
        "knows_final": (Request,),
        "inside": (Request,),
        # The level of the request includes e + 1.
        "level": (Request,),
        "done": (Request,),
        # e + 1 is final, because this quorum of e was closed.
        "final_by": (Old,),
        # Histories, which no rule uses: tokens of entries, with the quorums that have confirmed them.
        "token": (Request, Number),
        "entered_old": (Number, Old),
        "entered_new": (Number, New),
        # The entries of requests that had not heard of e + 1.
        "entered_alone": (Number, Old),
        # The request has entered with a token that is not greater than all earlier ones.
        "disordered": (Request,),
    }

    def axioms(self):
        return NUMBER_ORDER + OLD_INTERSECT + NEW_INTERSECT

    def initial(self, s):
        none = []
        for name, sorts in self.relations.items():
            row = [Const(f"{name}_{place}", sort) for place, sort in enumerate(sorts)]
            none.append(ForAll(row, Not(getattr(s, name)(*row))))
        return none

    # Voters.

    @action
    def join(self, s, voter: Voter):
        """Rule 3: the voter records durably that e + 1 is chosen."""
        first = lambda b, e: And(b == voter, Not(s.joint(voter)), Not(s.forgotten(voter)), s.used(voter, e))
        remembers = lambda b: And(b == voter, Not(s.forgotten(voter)))
        return Step([], s.update(joint=added(s.joint, voter), used_before_joint=added_where(s.used_before_joint, first),
                                 has_snapshot=added_where(s.has_snapshot, remembers)))

    @action
    def learn(self, s, voter: Voter, quorum: Old):
        """Rule 4: every voter of e + 1 takes the numbers of a quorum of e whose members are all joint."""
        theirs = lambda b, e: And(b == voter, Exists([m], And(in_old(m, quorum), s.used(m, e))))
        known = lambda b, e: Or(theirs(b, e), And(b == voter, s.used(voter, e)))
        return Step([Not(s.learned(voter)), self.are_sources(s, quorum)], s.update(
            learned=added(s.learned, voter), learned_from=added(s.learned_from, voter, quorum),
            used=added_where(s.used, theirs), floor=added_where(s.floor, known)))

    def are_sources(self, s, quorum):
        return of_old(quorum, lambda b: And(s.joint(b), self.remembers(s, b)))

    def remembers(self, s, voter):
        return Not(s.forgotten(voter))

    @action
    def forget(self, s, voter: Voter):
        """Rule 10: the voter has forgotten its votes. It abstains until no client relies on them, so they are freed here. What is
        durable stays: that it is joint, and its floor."""
        own = lambda b, *_: b == voter
        return Step([], s.update(
            forgotten=added(s.forgotten, voter),
            used=lambda b, e: And(s.used(b, e), Or(b != voter, self.is_durable(s, voter, e))),
            **{name: removed(getattr(s, name), own) for name in VOTE_RELATIONS}))

    def is_durable(self, s, voter, number):
        return s.floor(voter, number)

    def relearned(self, s, voter, theirs):
        """The voter takes numbers of others. If it is joint, it has them before any later vote as of e + 1."""
        after = lambda e: Or(theirs(e), s.used(voter, e))
        before_joint = lambda e: And(s.joint(voter), after(e), Implies(s.has_snapshot(voter), s.used_before_joint(voter, e)))
        return s.update(
            used=added_where(s.used, lambda b, e: And(b == voter, theirs(e))),
            forgotten=removed(s.forgotten, lambda b: b == voter),
            has_snapshot=added_where(s.has_snapshot, lambda b: And(b == voter, s.joint(voter))),
            used_before_joint=lambda b, e: Or(And(b == voter, before_joint(e)), And(b != voter, s.used_before_joint(b, e))))

    @action
    def relearn_old(self, s, voter: Voter, old: Old):
        """Rule 10: a voter that does not know e + 1 relearns from a quorum of e that remembers."""
        return Step([self.needs_old_only(s, voter), of_old(old, lambda b: self.is_source_again(s, b))],
                    self.relearned(s, voter, lambda e: Exists([m], And(in_old(m, old), s.used(m, e)))))

    def needs_old_only(self, s, voter):
        return Not(s.joint(voter))

    @action
    def relearn_both(self, s, voter: Voter, old: Old, new: New):
        """Rule 10: a joint voter relearns from remembering quorums of both configurations."""
        sources = lambda b: self.is_source_again(s, b)
        return Step([of_old(old, sources), of_new(new, sources)], self.relearned(
            s, voter, lambda e: Exists([m], And(Or(in_old(m, old), in_new(m, new)), s.used(m, e)))))

    def is_source_again(self, s, voter):
        return Not(s.forgotten(voter))

    @action
    def give(self, s, voter: Voter, request: Request, number: Number):
        """Rule 3: the tag of a vote is the newest epoch that the voter knows, and it never answers as of an older one."""
        this = lambda b, e, *_: And(b == voter, e == request)
        up_to = lambda b, e, f: And(b == voter, e == request, at_most(f, number))
        old = self.answers_as_of_old(s, voter)
        return Step([self.is_free(s, voter), self.is_unused(s, voter, number), self.has_relearned(s, voter)], s.update(
            out=added(s.out, voter, request), used=added_where(s.used, lambda b, e: And(b == voter, at_most(e, number))),
            tagged=added_where(s.tagged, lambda b, e: And(this(b, e), s.joint(voter))),
            old_vote=added_where(s.old_vote, lambda b, e, f: And(this(b, e), f == number, old)),
            old_confirmed=added_where(s.old_confirmed, lambda b, e, f: And(up_to(b, e, f), old)),
            new_vote=added_where(s.new_vote, lambda b, e, f: And(this(b, e), f == number, Not(old))),
            new_confirmed=added_where(s.new_confirmed, lambda b, e, f: And(up_to(b, e, f), Not(old))),
            after_learning=added_where(s.after_learning, lambda b, e: And(this(b, e), Not(old), self.has_learned(s, voter)))))

    def has_relearned(self, s, voter):
        return Not(s.forgotten(voter))

    def is_free(self, s, voter):
        return ForAll([x], Not(s.out(voter, x)))

    def is_unused(self, s, voter, number):
        return Not(s.used(voter, number))

    def answers_as_of_old(self, s, voter):
        return Not(s.joint(voter))

    def has_learned(self, s, voter):
        return s.learned(voter)

    @action
    def renumber(self, s, voter: Voter, request: Request, number: Number):
        """Rule 4: a voter that has learned numbers a vote anew, above the numbers that it has learned. The tag stays."""
        this = lambda b, e, *_: And(b == voter, e == request)
        return Step([s.out(voter, request), s.joint(voter), s.learned(voter), self.is_new_number(s, voter, number)], s.update(
            used=added_where(s.used, lambda b, e: And(b == voter, at_most(e, number))),
            new_vote=lambda b, e, f: Or(And(this(b, e), f == number), And(s.new_vote(b, e, f), Not(this(b, e)))),
            new_confirmed=lambda b, e, f: Or(And(this(b, e), at_most(f, number)), And(s.new_confirmed(b, e, f), Not(this(b, e)))),
            after_learning=added(s.after_learning, voter, request)))

    def is_new_number(self, s, voter, number):
        return Not(s.used(voter, number))

    @action
    def confirm(self, s, voter: Voter, request: Request, number: Number):
        """RAISE: confirms that later votes have greater numbers. A joint voter answers as of e + 1."""
        up_to = lambda b, e, f: And(b == voter, e == request, at_most(f, number))
        return Step([s.out(voter, request)], s.update(
            used=added_where(s.used, lambda b, e: And(b == voter, at_most(e, number))),
            old_confirmed=added_where(s.old_confirmed, lambda b, e, f: And(up_to(b, e, f), Not(s.joint(voter)))),
            new_confirmed=added_where(s.new_confirmed, lambda b, e, f: And(up_to(b, e, f), s.joint(voter)))))

    @action
    def report(self, s, voter: Voter, request: Request):
        """Rule 6: a request that knows e + 1 and is not inside, or whose level includes e + 1, raises the tag of its vote."""
        return Step([s.out(voter, request), s.joint(voter), self.may_report(s, request)],
                    s.update(tagged=added(s.tagged, voter, request)))

    def may_report(self, s, request):
        return Or(And(Not(s.inside(request)), s.knows(request)), And(s.inside(request), s.level(request)))

    @action
    def free(self, s, voter: Voter, request: Request):
        """The vote is freed: released, given back or lapsed. Then it counts nowhere, as locks.py proves."""
        this = lambda b, e, *_: And(b == voter, e == request)
        return Step([], s.update(**{name: removed(getattr(s, name), this) for name in VOTE_RELATIONS}))

    @action
    def declare_final(self, s, old: Old, new: New):
        """Rules 8 and 9: a quorum of e is closed, and a quorum of e + 1 has learned."""
        return Step([of_old(old, lambda b: self.is_closed(s, b)), of_new(new, s.learned)],
                    s.update(final_by=added(s.final_by, old)))

    def is_closed(self, s, voter):
        return And(s.joint(voter), ForAll([x], Implies(s.out(voter, x), s.tagged(voter, x))))

    # Requests.

    @action
    def hear(self, s, request: Request):
        """A candidate hears of e + 1, from any message."""
        return Step([], s.update(knows=added(s.knows, request)))

    @action
    def hear_final(self, s, request: Request, old: Old):
        return Step([s.final_by(old)], s.update(knows=added(s.knows, request), knows_final=added(s.knows_final, request)))

    def is_new(self, s, request):
        return And(Not(s.inside(request)), Not(s.done(request)))

    def counts_alone(self, s, voter, request, token):
        """The vote of a voter of e that was not joint fits the token, and the voter has confirmed it."""
        return Exists([k], And(s.old_vote(voter, request, k), at_most(k, token), s.old_confirmed(voter, request, token)))

    def counts_for_old(self, s, voter, request, token):
        return Or(self.counts_alone(s, voter, request, token), Exists([k], And(
            s.new_vote(voter, request, k), at_most(k, token), self.is_confirmed(s, voter, request, token))))

    def is_confirmed(self, s, voter, request, token):
        return s.new_confirmed(voter, request, token)

    def counts_for_new(self, s, voter, request, token):
        """Rule 5: towards e + 1 only numbers count that the voter gave after it had learned."""
        return And(self.is_late_number(s, voter, request), Exists([k], And(
            s.new_vote(voter, request, k), at_most(k, token), self.is_confirmed(s, voter, request, token))))

    def is_late_number(self, s, voter, request):
        return s.after_learning(voter, request)

    def entering(self, s, request, token, **changes):
        other = lambda b: And(b == request, Exists([x, j], And(s.token(x, j), x != request, Not(less(j, token)))))
        return s.update(inside=added(s.inside, request), token=added(s.token, request, token),
                        disordered=added_where(s.disordered, other), **changes)

    @action
    def enter_old(self, s, request: Request, old: Old, token: Number):
        """Rule 5: a request that has heard nothing may enter with a quorum of e alone."""
        return Step([self.is_new(s, request), self.has_heard_nothing(s, request),
                     of_old(old, lambda b: self.counts_alone(s, b, request, token))],
                    self.entering(s, request, token, entered_old=added(s.entered_old, token, old),
                                  entered_alone=added(s.entered_alone, token, old)))

    def has_heard_nothing(self, s, request):
        return Not(s.knows(request))

    @action
    def enter_both(self, s, request: Request, old: Old, new: New, token: Number):
        """Rule 5: a request that has heard of e + 1 needs both quorums."""
        return Step([self.is_new(s, request), s.knows(request), of_old(old, lambda b: self.counts_for_old(s, b, request, token)),
                     of_new(new, lambda b: self.counts_for_new(s, b, request, token))],
                    self.entering(s, request, token, level=added(s.level, request), entered_old=added(s.entered_old, token, old),
                                  entered_new=added(s.entered_new, token, new)))

    @action
    def enter_new(self, s, request: Request, new: New, token: Number):
        """Rule 9: once e + 1 is final, it is enough."""
        return Step([self.is_new(s, request), self.may_use_new_alone(s, request),
                     of_new(new, lambda b: self.counts_for_new(s, b, request, token))],
                    self.entering(s, request, token, level=added(s.level, request), entered_new=added(s.entered_new, token, new)))

    def may_use_new_alone(self, s, request):
        return s.knows_final(request)

    @action
    def raise_level(self, s, request: Request, old: Old, new: New):
        """Rule 6: a holder that has good votes of quorums of both configurations raises its level."""
        return Step([s.inside(request), s.knows(request), self.may_raise_level(s, request, old, new)],
                    s.update(level=added(s.level, request)))

    def may_raise_level(self, s, request, old, new):
        return And(of_old(old, lambda b: s.out(b, request)), of_new(new, lambda b: s.out(b, request)))

    @action
    def leave(self, s, request: Request):
        return Step([], s.update(inside=removed(s.inside, lambda b: b == request), done=added(s.done, request)))

    # Validity.

    def valid_old(self, s, request, old):
        """Rule 6: level e. Only votes count whose tag is not above the level."""
        return And(s.inside(request), Not(s.level(request)), of_old(old, lambda b: self.counts_at_level_e(s, b, request)))

    def counts_at_level_e(self, s, voter, request):
        return Exists([k], s.old_vote(voter, request, k))

    def valid_both(self, s, request, old, new):
        return And(s.inside(request), s.level(request), self.still_needs(s, request, old),
                   of_new(new, lambda b: s.out(b, request)))

    def still_needs(self, s, request, old):
        return of_old(old, lambda b: s.out(b, request))

    def valid_new(self, s, request, new):
        """Rule 9: a level that includes e + 1 drops e when e + 1 is final."""
        return And(s.inside(request), s.level(request), self.may_use_new_alone(s, request),
                   of_new(new, lambda b: s.out(b, request)))

    def invariants(self, s):
        is_new = lambda request: And(Not(s.inside(request)), Not(s.done(request)))
        return [
            ("a voter has one vote", ForAll([n, r, x], Implies(And(s.out(n, r), s.out(n, x)), r == x))),
            ("what is known of a vote belongs to a given vote", ForAll([n, r, k], Implies(
                Or(s.tagged(n, r), s.after_learning(n, r), s.old_vote(n, r, k), s.old_confirmed(n, r, k), s.new_vote(n, r, k),
                   s.new_confirmed(n, r, k)), s.out(n, r)))),
            ("an old vote that is tagged belongs to a request that knows e + 1", ForAll([n, r, k], Implies(
                And(s.tagged(n, r), s.old_vote(n, r, k)), And(s.knows(r), Implies(s.inside(r), s.level(r)))))),
            ("a tag of e + 1 is of a joint voter", ForAll([n, r], Implies(s.tagged(n, r), s.joint(n)))),
            ("closed voters stay closed", ForAll([q, n, r], Implies(
                And(s.final_by(q), in_old(n, q)), And(s.joint(n), Implies(s.out(n, r), s.tagged(n, r)))))),
            ("what is known of e + 1", ForAll([r], And(
                Implies(s.knows_final(r), And(s.knows(r), Exists([q], s.final_by(q)))), Implies(s.level(r), s.knows(r)),
                Implies(s.inside(r), Not(s.done(r)))))),
            # Tokens.
            ("a smaller number is used, too", ForAll([n, k, j], Implies(And(s.used(n, k), at_most(j, k)), s.used(n, j)))),
            ("numbers used before a voter was joint are used", ForAll([n, k, j], Implies(
                s.used_before_joint(n, k), And(s.has_snapshot(n), Or(s.used(n, k), s.forgotten(n)),
                                               Implies(at_most(j, k), s.used_before_joint(n, j)))))),
            ("voters of e remember tokens", ForAll([k, q, n], Implies(And(s.entered_old(k, q), in_old(n, q)), Or(s.used(n, k), s.forgotten(n))))),
            ("voters of e + 1 remember tokens", ForAll([k, p, n], Implies(And(s.entered_new(k, p), in_new(n, p)), Or(s.used(n, k), s.forgotten(n))))),
            ("voters of e + 1 that have entered requests are joint",
             ForAll([k, p, n], Implies(And(s.entered_new(k, p), in_new(n, p)), s.joint(n)))),
            ("a voter that has forgotten has no vote", ForAll([n, r], Not(And(s.forgotten(n), s.out(n, r))))),
            ("a smaller number is durable, too", ForAll([n, k, j], Implies(
                s.floor(n, k), And(s.used(n, k), Implies(at_most(j, k), s.floor(n, j)))))),
            ("joint voters of e remember tokens of requests that had heard nothing", ForAll([k, q, n], Implies(
                And(s.entered_alone(k, q), in_old(n, q), s.has_snapshot(n)), s.used_before_joint(n, k)))),
            ("a joint voter that remembers has a snapshot", ForAll([n], And(
                Implies(And(s.joint(n), Not(s.forgotten(n))), s.has_snapshot(n)), Implies(s.has_snapshot(n), s.joint(n))))),
            ("entries of requests that had heard nothing are entries with e",
             ForAll([k, q], Implies(s.entered_alone(k, q), s.entered_old(k, q)))),
            ("old confirmations", ForAll([n, r, k], Implies(
                s.old_confirmed(n, r, k), And(s.used(n, k), Implies(s.joint(n), s.used_before_joint(n, k)))))),
            ("new confirmations", ForAll([n, r, k], Implies(s.new_confirmed(n, r, k), And(s.used(n, k), s.joint(n))))),
            ("new votes are of joint voters", ForAll([n, r, k], Implies(s.new_vote(n, r, k), s.joint(n)))),
            ("a later vote of a voter of e has a greater number", ForAll([n, r, k, j, q], Implies(
                And(Or(s.old_vote(n, r, k), s.new_vote(n, r, k)), is_new(r), s.entered_old(j, q), in_old(n, q)), less(j, k)))),
            ("a later vote of a voter of e + 1 has a greater number", ForAll([n, r, k, j, p], Implies(
                And(s.new_vote(n, r, k), is_new(r), s.entered_new(j, p), in_new(n, p)), less(j, k)))),
            ("a voter has learned from a quorum of joint voters", ForAll([n, m, q, k], Implies(
                And(s.learned_from(n, q), in_old(m, q)),
                And(s.has_snapshot(m), Implies(s.used_before_joint(m, k), s.floor(n, k)))))),
            ("a number after learning is greater than all that were learned", ForAll([n, m, r, k, j, q], Implies(
                And(s.after_learning(n, r), s.new_vote(n, r, k), s.learned_from(n, q), in_old(m, q), s.used_before_joint(m, j)),
                less(j, k)))),
            ("a voter that has learned has learned from a quorum", ForAll([n, r], And(
                Implies(s.after_learning(n, r), s.learned(n)), Implies(s.learned(n), Exists([q], s.learned_from(n, q)))))),
            ("tokens are those of entries", ForAll([r, k], Implies(s.token(r, k), And(
                Or(s.inside(r), s.done(r)),
                Or(Exists([q], s.entered_old(k, q)), Exists([p], s.entered_new(k, p))))))),
            ("entries with e are those of requests that had heard nothing, or have a quorum of e + 1", ForAll([k, q], Implies(
                s.entered_old(k, q), Or(s.entered_alone(k, q), Exists([p], s.entered_new(k, p)))))),
            ("entries with e + 1 alone come after it is final", ForAll([k, p], Implies(
                s.entered_new(k, p), Or(Exists([q], s.entered_old(k, q)), Exists([q], s.final_by(q)))))),
            *self.order(s),
        ]

    def order(self, s):
        return [("tokens grow", ForAll([r], Not(s.disordered(r))))]

    def safety(self, s):
        kinds = {"e": (self.valid_old, [q], [q2]), "both": (self.valid_both, [q, p], [q2, p2]),
                 "e + 1": (self.valid_new, [p], [p2])}
        pairs = [(a, b) for place, a in enumerate(kinds) for b in list(kinds)[place:]]
        exclusion = [(f"at most one client is valid: {a}, {b}", ForAll([r, x, *kinds[a][1], *kinds[b][2]], Implies(
            And(kinds[a][0](s, r, *kinds[a][1]), kinds[b][0](s, x, *kinds[b][2])), r == x))) for a, b in pairs]
        return exclusion + self.order(s)


class MembershipNames(Names):
    """Elements of a run by name. Voters have one letter. A quorum is named by its voters. The place of a name says whether it is a
    quorum of e or of e + 1."""

    sorts = [Voter, Request, Old, New, Number]

    def imply(self):
        for sort in (Old, New):
            for name in self.of(sort):
                for voter in name:
                    self.add(Voter, voter)

    def define(self):
        for sort, contains in ((Old, in_old), (New, in_new)):
            for name in self.of(sort):
                for voter in self.of(Voter):
                    self.let(contains, voter, name, voter in name)
        self.order(Number, at_most, int)


def gives(request, voters, number):
    return [f"give {voter} {request} {number}" for voter in voters]


def frees(request, voters):
    return [f"free {voter} {request}" for voter in voters]


def joins(voters):
    return [f"join {voter}" for voter in voters]


def enters_old(request, voters, number):
    return [*gives(request, voters, number), f"enter_old {request} {voters} {number}"]


def enters_new(request, number):
    """Once e + 1 is final, the request enters with voters d and g of e + 1."""
    return [f"hear_final {request} ab", *gives(request, "dg", number), f"enter_new {request} dg {number}"]


# e has the voters a, b and c. e + 1 has d and g, and others.
LEARNED = [*joins("abdg"), "learn d ab", "learn g ab"]
FINAL = [*LEARNED, "declare_final ab dg"]

ALLOWED_RUNS = {
    "h enters under e, raises its level, and k enters under e + 1": [
        *enters_old("h", "ab", 1), *LEARNED, "hear h", *gives("h", "dg", 2), "raise_level h ab dg", "report a h", "report b h",
        "declare_final ab dg", "leave h", *frees("h", "abdg"), *enters_new("k", 3)],
    "h waits during the change, gets numbers anew, and enters with both quorums": [
        *gives("h", "ab", 1), *joins("abdg"), *gives("h", "d", 1), "learn a ab", "learn b ab", "learn d ab", "learn g ab", "hear h",
        "report a h", "renumber a h 2", "renumber b h 2", "renumber d h 2", *gives("h", "g", 2), "confirm g h 3",
        "enter_both h ab dg 2", "leave h"],
    "voters forget their votes and relearn, before and during the change": [
        *enters_old("h", "ab", 1), "leave h", *frees("h", "ab"), "forget a", "relearn_old a bc", *LEARNED, "hear k", "forget d",
        "relearn_both d ab cg", *gives("k", "abdg", 2), "enter_both k ab dg 2"],
}


class Mutant(Membership):
    """A mutant has a rule and a script, and overrides one method."""


class OldQuorumsDisjoint(Mutant):
    rule = "two quorums of e need not intersect"
    script = [*enters_old("h", "a", 1), *enters_old("k", "b", 2)]

    def axioms(self):
        return NUMBER_ORDER + NEW_INTERSECT


class NewQuorumsDisjoint(Mutant):
    rule = "two quorums of e + 1 need not intersect"
    script = [*FINAL, "hear_final h ab", *gives("h", "d", 1), "enter_new h d 1", "hear_final k ab", *gives("k", "g", 2),
              "enter_new k g 2"]

    def axioms(self):
        return NUMBER_ORDER + OLD_INTERSECT


class VotesTwice(Mutant):
    rule = "a voter gives its vote to two requests at a time"
    script = [*enters_old("h", "ab", 1), *enters_old("k", "ab", 2)]

    def is_free(self, s, voter):
        return And()


class NumbersDoNotGrow(Mutant):
    rule = "a vote may have a number that was used before"
    script = [*enters_old("h", "ab", 2), "leave h", *frees("h", "ab"), *enters_old("k", "ab", 1)]

    def is_unused(self, s, voter, number):
        return And()


class SourcesAreNotJoint(Mutant):
    rule = "4: a voter learns from voters that do not know e + 1"
    script = ["learn d ab", "learn g ab", *enters_old("h", "ab", 5), "leave h", *frees("h", "ab"), *joins("abdg"),
              "declare_final ab dg", *enters_new("k", 1)]

    def are_sources(self, s, quorum):
        return And()


class AnswersAsOfOlderEpoch(Mutant):
    rule = "3: a voter that knows e + 1 answers as of e"
    script = [*FINAL, *enters_new("k", 1), *enters_old("h", "ab", 2)]

    def answers_as_of_old(self, s, voter):
        return Exists([q], in_old(voter, q))


class EarlyNumbersCount(Mutant):
    rule = "5: numbers that a voter gave before it had learned count towards e + 1"
    script = [*joins("dg"), *gives("k", "dg", 1), *enters_old("h", "ab", 5), "leave h", *frees("h", "ab"), *joins("ab"),
              "learn d ab", "learn g ab", "declare_final ab dg", "hear_final k ab", "enter_new k dg 1"]

    def is_late_number(self, s, voter, request):
        return And()


class RenumbersBelow(Mutant):
    rule = "4: a vote is numbered anew with a number that is not above the learned ones"
    script = [*joins("dg"), *gives("k", "dg", 1), *enters_old("h", "ab", 5), "leave h", *frees("h", "ab"), *joins("ab"),
              "learn d ab", "learn g ab", "renumber d k 1", "renumber g k 1", "declare_final ab dg", "hear_final k ab",
              "enter_new k dg 1"]

    def is_new_number(self, s, voter, number):
        return And()


class BothWithoutConfirmation(Mutant):
    rule = "5: the voters of both quorums need not confirm the token"
    script = [*LEARNED, "hear h", *gives("h", "ab", 5), *gives("h", "dg", 1), "enter_both h ab dg 5", "leave h", *frees("h", "abdg"),
              "declare_final ab dg", *enters_new("k", 2)]

    def is_confirmed(self, s, voter, request, token):
        return And()


class EntersAloneKnowing(Mutant):
    rule = "5: a request that has heard of e + 1 enters with e alone"
    script = [*gives("h", "ab", 1), *joins("abdg"), "hear h", "report a h", "report b h", "learn d ab", "learn g ab",
              "declare_final ab dg", *enters_new("k", 2), "enter_old h ab 1"]

    def has_heard_nothing(self, s, request):
        return And()


class CountsHigherTags(Mutant):
    rule = "6: a holder of level e counts votes with a higher tag"
    script = [*enters_old("h", "ab", 1), *frees("h", "ab"), *FINAL, *enters_new("k", 2), *gives("h", "ab", 3)]

    def counts_at_level_e(self, s, voter, request):
        return s.out(voter, request)


class ReportsAtLevelE(Mutant):
    rule = "6: a holder reports before it has raised its level"
    script = [*enters_old("h", "ab", 1), *joins("ab"), "report a h", "report b h", *joins("dg"), "learn d ab", "learn g ab",
              "declare_final ab dg", *enters_new("k", 2)]

    def may_report(self, s, request):
        return And()


class OneQuorumIsEnough(Mutant):
    rule = "6: a level with both configurations needs a quorum of e + 1 only"
    script = [*enters_old("h", "ab", 1), "give c x 3", *joins("bcdg"), "learn d bc", "learn g bc", "hear h", *gives("h", "dg", 4),
              "raise_level h ab dg", "free a h", "give a x 3", "enter_old x ac 3"]

    def still_needs(self, s, request, old):
        return And()


class ClosedWithOldVotes(Mutant):
    rule = "8: a voter is closed although it has a vote out that is tagged below e + 1"
    script = [*enters_old("h", "ab", 1), *FINAL, *enters_new("k", 2)]

    def is_closed(self, s, voter):
        return s.joint(voter)


class ClosedBeforeJoint(Mutant):
    rule = "8: a voter is closed although it does not know e + 1"
    script = ["give b h 1", *joins("bcdg"), "learn d bc", "learn g bc", "declare_final ac dg", "hear_final k ac",
              *gives("k", "dg", 2), "enter_new k dg 2", "give a h 1", "enter_old h ab 1"]

    def is_closed(self, s, voter):
        return ForAll([x], Implies(s.out(voter, x), s.tagged(voter, x)))


class NewAloneBeforeFinal(Mutant):
    rule = "9: e + 1 is enough before it is final"
    script = [*enters_old("h", "ab", 1), *LEARNED, "hear k", *gives("k", "dg", 2), "enter_new k dg 2"]

    def may_use_new_alone(self, s, request):
        return s.knows(request)


class ForgottenVoterVotes(Mutant):
    rule = "10: a voter that has forgotten its numbers votes before it has relearned"
    script = [*enters_old("h", "ab", 5), "leave h", *frees("h", "ab"), "forget a", *enters_old("k", "ac", 1)]

    def has_relearned(self, s, voter):
        return And()


class RelearnsFromForgotten(Mutant):
    rule = "10: a voter relearns from voters that have forgotten, too"
    script = [*enters_old("h", "ab", 5), "leave h", *frees("h", "ab"), "forget a", "forget b", "relearn_old a ab",
              *enters_old("k", "ac", 1)]

    def is_source_again(self, s, voter):
        return And()


class LearnsFromForgotten(Mutant):
    rule = "4: voters of e + 1 learn from voters that have forgotten"
    script = [*enters_old("h", "ab", 5), "leave h", *frees("h", "ab"), "forget a", "forget b", *FINAL, *enters_new("k", 1)]

    def remembers(self, s, voter):
        return And()


class RelearnsFromOldOnly(Mutant):
    rule = "10: a voter of e + 1 relearns from e only"
    script = [*FINAL, *enters_new("h", 5), "leave h", *frees("h", "dg"), "forget d", "relearn_old d ab", "forget g",
              "relearn_old g ab", *enters_new("k", 1)]

    def needs_old_only(self, s, voter):
        return And()


MUTANTS = [cls for cls in list(vars().values()) if isinstance(cls, type) and issubclass(cls, Mutant) and cls is not Mutant]

SPARE_GUARDS = {
    ("declare_final", 1): "only numbers after learning count towards e + 1. Without it nobody could enter for a while",
    ("enter_both", 0): "a request enters once",
    ("raise_level", 0): "only requests that are inside have a level",
    ("raise_level", 2): "without time, validity of the new level is what its votes are now. With leases, a client relies on the "
                        "validity of the old level until it ends (rule 6), so the code needs it",
}

PROGRAM = Program("change of voters", "a change of voters keeps exclusion and the order of tokens", Membership, MembershipNames,
                  ALLOWED_RUNS, MUTANTS, spare_guards=SPARE_GUARDS)

if __name__ == "__main__":
    main(PROGRAM, "Proves exclusion and growing tokens over a change of voters.")
