"""At most one live process is inside: the quorum mutex with settled quorums, for any number of processes.

The model is the algorithm `quorum` over view-dependent quorum systems, as described in docs/settled-quorums.md and implemented
in crates/quorate-algorithms/src/mutex/quorum.rs and mutex/voting/. Each action names the Rust function that it models. The
number of processes, requests, crashes and views is not bounded.

An action of the model often allows more than the code does. A voter votes for any request, a candidate yields and cancels
whenever it waits, and messages arrive in any order or not at all. The model is meant to include every run of the code, so that a
property of all states of the model is one of the code.

Not modelled:
- the order in which a voter serves requests, and the message INQUIRE, by which a voter asks for its vote back;
- liveness: the proof says nothing about whether a process ever enters;
- recovery, which the algorithm does not allow over views;
- the tree along which acknowledgements are gathered. The model has the message SETTLED, and it is sent only when all processes
  outside the set have acknowledged it. That the tree guarantees this is tested in mutex/voting/gathering.rs;
- fixed coteries, over which no crash has to be settled.

The only assumptions about the quorum system are (a) and (b) of docs/settled-quorums.md. (a) includes that a process outside F has
a quorum in the view F. monotone.py in this folder proves both for the quorum systems of the code. Listed quorums, in which some
may be missing, are accepted by the code if they satisfy the meeting lemma (`GivenMonotone`), which is all that the proof uses.
"""

from z3 import (And, BoolSort, BoolVal, Consts, DeclareSort, Exists, ForAll, Function, If, Implies, Not, Or, Sum,
                is_true)

from guards import lacks_guard
from program import Proof, main
from verifier import FiniteSorts, Step, TransitionSystem, action, added, added_where, check, product, removed, total_order

Process = DeclareSort("Process")
# A ticket is one attempt of one request at one voter: `Ticket` in candidacy.rs, together with the process and the voter.
Ticket = DeclareSort("Ticket")
# A view is a set of crashed processes.
View = DeclareSort("View")
Quorum = DeclareSort("Quorum")

# Static relations.
in_view = Function("in_view", Process, View, BoolSort())
in_quorum = Function("in_quorum", Process, Quorum, BoolSort())
# is_quorum(p, f, q): q is Q(p, f), the quorum of process p in view f.
is_quorum = Function("is_quorum", Process, View, Quorum, BoolSort())
union = Function("union", View, View, View)
owner = Function("owner", Ticket, Process, BoolSort())
voter = Function("voter", Ticket, Process, BoolSort())
at_most, TICKET_ORDER = total_order(Ticket, "at_most")

k, n, p, v, w = Consts("k n p v w", Process)
x, y = Consts("x y", Ticket)
f, g = Consts("f g", View)
q, r = Consts("q r", Quorum)


def avoids(quorum, view):
    """The quorum contains no process of the view."""
    return ForAll([n], Not(And(in_quorum(n, quorum), in_view(n, view))))


def subset(quorum, other):
    return ForAll([n], Implies(in_quorum(n, quorum), in_quorum(n, other)))


def intersect(quorum, other):
    return Exists([n], And(in_quorum(n, quorum), in_quorum(n, other)))


# Views are sets with union.
VIEWS_ARE_SETS = [
    ForAll([n, f, g], in_view(n, union(f, g)) == Or(in_view(n, f), in_view(n, g))),
    ForAll([f, g], Implies(ForAll([n], in_view(n, f) == in_view(n, g)), f == g)),
]
# Q is a function whose values are outside the view.
Q_IS_FUNCTION = [
    ForAll([p, f, q, r], Implies(And(is_quorum(p, f, q), is_quorum(p, f, r)), q == r)),
    ForAll([p, f, q], Implies(is_quorum(p, f, q), avoids(q, f))),
]
# (a) Any two quorums of one view intersect, and a process outside a view has a quorum in it.
A_INTERSECT = [ForAll([p, k, f, q, r], Implies(And(is_quorum(p, f, q), is_quorum(k, f, r)), intersect(q, r)))]
A_EXISTS = [ForAll([p, f], Implies(Not(in_view(p, f)), Exists([q], is_quorum(p, f, q))))]
# (b) If Q(p, f) contains no process of g, then Q(p, f and g) is a subset of it.
B_MONOTONE = [ForAll([p, f, g, q, r], Implies(And(is_quorum(p, f, q), avoids(q, g), is_quorum(p, union(f, g), r)),
                                              subset(r, q)))]
QUORUM_SYSTEM = VIEWS_ARE_SETS + Q_IS_FUNCTION + A_INTERSECT + A_EXISTS + B_MONOTONE

# Quorums of two views intersect if both owners are outside both views and the quorums contain no process of either view.
MEETING_LEMMA = ForAll([p, k, f, g, q, r], Implies(
    And(is_quorum(p, f, q), is_quorum(k, g, r), Not(Or(in_view(p, f), in_view(p, g), in_view(k, f), in_view(k, g))),
        avoids(q, f), avoids(q, g), avoids(r, f), avoids(r, g)),
    intersect(q, r)))

# Steps to the meeting lemma. The second one says that a quorum which a further set of crashes does not touch contains a quorum of
# the greater view.
UNION_COMMUTES = ForAll([f, g], union(f, g) == union(g, f))
CONTAINS_LATER_QUORUM = ForAll([p, f, g, q], Implies(
    And(is_quorum(p, f, q), avoids(q, g), Not(in_view(p, f)), Not(in_view(p, g))),
    Exists([r], And(is_quorum(p, union(f, g), r), subset(r, q)))))

TICKETS = TICKET_ORDER + [
    ForAll([x, p, k], Implies(And(owner(x, p), owner(x, k)), p == k)),
    ForAll([x, p, k], Implies(And(voter(x, p), voter(x, k)), p == k)),
]


class SettledQuorums(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # p has crashed.
        "dead": (Process,),
        # p knows that n has crashed: the field `crashed`.
        "knows": (Process, Process),
        # p has acknowledged the crash of n.
        "acknowledged": (Process, Process),
        # All processes outside the view have acknowledged it, and SETTLED has been sent.
        "settled_by_all": (View,),
        # The crash of n is settled at p.
        "settled": (Process, Process),
        # p is in `Phase::Waiting`.
        "waiting": (Process,),
        # p is in `Phase::Inside`. It entered with the votes of this quorum when exactly this view was settled.
        "inside": (Process, View, Quorum),
        # The present attempt of p at voter v: `SentRequest::ticket` of a voter in `SentRequest::voters`.
        "current": (Process, Process, Ticket),
        # p counts the vote of v: `Candidacy::votes`. Inside the section the code forgets it, the model does not.
        "counted": (Process, Process, Ticket),
        # The voter has given its vote to this ticket: `Ballot::granted`.
        "granted": (Process, Ticket),
        # REQUEST has been sent with this ticket.
        "requested": (Ticket,),
        # REPLY or YIELD with this ticket is under way. CANCEL or RELEASE has been sent and may arrive any number of times.
        "reply": (Ticket,),
        "yielded": (Ticket,),
        "ended": (Ticket,),
    }

    def axioms(self):
        return TICKETS + [MEETING_LEMMA]

    def quorum_system(self):
        """The assumptions from which the meeting lemma is proved."""
        return QUORUM_SYSTEM

    def run_axioms(self):
        return TICKETS + self.quorum_system()

    def initial(self, s):
        """`QuorumVoting::new` at all processes: nothing has happened."""
        return self.empty(s)

    def outside(self, s, process):
        return ForAll([f, q], Not(s.inside(process, f, q)))

    # Crashes and their acknowledgement.

    @action
    def crash(self, s, process: Process):
        """A process crashes. It takes no further step. Its messages may still arrive."""
        return Step([], s.update(dead=added(s.dead, process)))

    @action
    def learn_of_crash(self, s, process: Process, crashed: Process):
        """`on_belief` and `on_crash`: the detector reports a crash, and never the crash of a live process.

        The voter takes its vote back from the crashed process (`Ballot::forget`). A candidate drops the vote of the crashed
        process. A process inside has nothing to drop.
        """
        from_it = lambda a, b, _: And(a == process, b == crashed, self.drops_votes(s, process))
        return Step([Not(s.dead(process)), process != crashed, self.is_reported(s, crashed)], s.update(
            knows=added(s.knows, process, crashed),
            granted=removed(s.granted, lambda a, b: And(a == process, owner(b, crashed))),
            current=removed(s.current, from_it),
            counted=removed(s.counted, from_it)))

    def is_reported(self, s, crashed):
        return s.dead(crashed)

    def drops_votes(self, s, process):
        return self.outside(s, process)

    @action
    def acknowledge(self, s, process: Process):
        """`acknowledge`: a process outside the section acknowledges all crashes that it knows. The code does so at once, in
        `on_crash` and in `release`. The model allows any delay."""
        return Step([Not(s.dead(process)), self.may_acknowledge(s, process)], s.update(
            acknowledged=added_where(s.acknowledged, lambda a, b: And(a == process, s.knows(process, b)))))

    def may_acknowledge(self, s, process):
        return self.outside(s, process)

    @action
    def send_settled(self, s, view: View):
        """`Gathering::finish_part` at the root: all processes outside the view have acknowledged it. With `Agreement::ToAll`
        a process concludes the same from the acknowledgements that it has received (`Views::greatest_settled`)."""
        all_have = ForAll([n, k], Implies(And(in_view(n, view), Not(in_view(k, view))), s.acknowledged(k, n)))
        return Step([all_have], s.update(settled_by_all=added(s.settled_by_all, view)))

    @action
    def receive_settled(self, s, process: Process, view: View):
        """`Gathering::settle`: the view is added to what is settled at a process. A set that contains the process itself is
        refused (`Gathering::is_possible`)."""
        return Step([Not(s.dead(process)), s.settled_by_all(view), Not(in_view(process, view))], s.update(
            settled=added_where(s.settled, lambda a, b: And(a == process, in_view(b, view)))))

    # The candidate.

    @action
    def acquire(self, s, process: Process):
        """`acquire`: a new candidacy, without any vote."""
        own = lambda a, b, c: a == process
        return Step([Not(s.dead(process)), Not(s.waiting(process)), self.outside(s, process)], s.update(
            waiting=added(s.waiting, process), current=removed(s.current, own), counted=removed(s.counted, own)))

    @action
    def ask(self, s, process: Process, of: Process, ticket: Ticket):
        """`reconsider`: REQUEST to a voter that is not known to have crashed and that is not asked at present."""
        return Step([Not(s.dead(process)), s.waiting(process), Not(s.knows(process, of)),
                     ForAll([x], Not(s.current(process, of, x))),
                     owner(ticket, process), voter(ticket, of), self.is_fresh(s, process, of, ticket)],
                    s.update(current=added(s.current, process, of, ticket), requested=added(s.requested, ticket)))

    def is_fresh(self, s, process, of, ticket):
        """Times of requests grow, and a request has a greater attempt after each CANCEL (`SentRequest::withdraw_from`)."""
        earlier = lambda x: And(owner(x, process), voter(x, of), s.requested(x))
        return And(Not(s.requested(ticket)), ForAll([x], Implies(earlier(x), Not(at_most(ticket, x)))))

    @action
    def cancel(self, s, process: Process, of: Process, ticket: Ticket):
        """`reconsider`: CANCEL to a voter that is no longer needed. The model allows it at any time."""
        this = lambda a, b, c: And(a == process, b == of)
        return Step([Not(s.dead(process)), s.waiting(process), s.current(process, of, ticket)], s.update(
            current=removed(s.current, this), counted=removed(s.counted, this), ended=added(s.ended, ticket)))

    @action
    def give_back(self, s, process: Process, of: Process, ticket: Ticket):
        """`on_inquire`: YIELD of a counted vote. The model allows it at any time, without INQUIRE."""
        return Step([Not(s.dead(process)), s.waiting(process), s.counted(process, of, ticket)], s.update(
            counted=self.counted_after_yield(s, process, of), yielded=added(s.yielded, ticket)))

    def counted_after_yield(self, s, process, of):
        return removed(s.counted, lambda a, b, c: And(a == process, b == of))

    @action
    def receive_reply(self, s, process: Process, of: Process, ticket: Ticket):
        """`on_reply`: a vote for the present attempt, of a voter that is not known to have crashed."""
        return Step([Not(s.dead(process)), s.waiting(process), Not(s.knows(process, of)), s.reply(ticket),
                     s.current(process, of, ticket)],
                    s.update(counted=added(s.counted, process, of, ticket),
                             reply=removed(s.reply, lambda a: a == ticket)))

    @action
    def enter(self, s, process: Process, view: View, quorum: Quorum):
        """`enter_if_complete`: the process counts the votes of all members of the quorum of what is settled."""
        return Step([*self.complete(s, process, quorum),
                     ForAll([n], in_view(n, view) == self.view_of(s, process, n)), is_quorum(process, view, quorum)],
                    self.after_entering(s, process, view, quorum))

    def complete(self, s, process, quorum):
        return [Not(s.dead(process)), s.waiting(process),
                ForAll([v], Implies(in_quorum(v, quorum), Exists([x], s.counted(process, v, x))))]

    def view_of(self, s, process, crashed):
        return s.settled(process, crashed)

    def after_entering(self, s, process, view, quorum):
        return s.update(waiting=removed(s.waiting, lambda a: a == process),
                        inside=added(s.inside, process, view, quorum))

    @action
    def leave(self, s, process: Process):
        """`release`: RELEASE to all voters. The acknowledgement that follows is the action `acknowledge`."""
        return Step([Not(s.dead(process)), Not(self.outside(s, process))],
                    self.without_request(s, process).update(inside=removed(s.inside, lambda a, b, c: a == process)))

    @action
    def give_up(self, s, process: Process):
        """`reconsider` without any quorum: RELEASE to all voters."""
        return Step([Not(s.dead(process)), s.waiting(process)],
                    self.without_request(s, process).update(waiting=removed(s.waiting, lambda a: a == process)))

    def without_request(self, s, process):
        own = lambda a, b, c: a == process
        return s.update(ended=added_where(s.ended, lambda a: And(owner(a, process), s.requested(a))),
                        current=removed(s.current, own), counted=removed(s.counted, own))

    # The voter.

    @action
    def vote(self, s, of: Process, ticket: Ticket):
        """`Ballot::grant`: a voter whose vote is free gives it to any request that it has ever been sent."""
        return Step([Not(s.dead(of)), voter(ticket, of), s.requested(ticket), ForAll([x], Not(s.granted(of, x)))],
                    s.update(granted=added(s.granted, of, ticket), reply=added(s.reply, ticket)))

    @action
    def receive_yield(self, s, of: Process, ticket: Ticket):
        """`Ballot::give_back`."""
        return Step([Not(s.dead(of)), voter(ticket, of), s.yielded(ticket)], s.update(
            granted=removed(s.granted, lambda a, b: And(a == of, b == ticket)),
            yielded=removed(s.yielded, lambda a: a == ticket)))

    @action
    def receive_end(self, s, of: Process, ticket: Ticket):
        """`Ballot::release`: CANCEL or RELEASE."""
        return Step([Not(s.dead(of)), voter(ticket, of), s.ended(ticket)], s.update(
            granted=removed(s.granted, lambda a, b: And(a == of, b == ticket))))

    @action
    def supersede(self, s, of: Process, ticket: Ticket, newer: Ticket, process: Process):
        """`Ballot::request`: a newer request of the same process ends the older one."""
        return Step([Not(s.dead(of)), voter(ticket, of), voter(newer, of), owner(ticket, process), owner(newer, process),
                     s.requested(newer), Not(at_most(newer, ticket))], s.update(
            granted=removed(s.granted, lambda a, b: And(a == of, b == ticket))))

    def invariants(self, s):
        live = lambda process: Not(s.dead(process))
        return [
            # Crashes.
            ("known crashes have happened", ForAll([p, n], Implies(s.knows(p, n), s.dead(n)))),
            ("acknowledged crashes are known", ForAll([p, n], Implies(s.acknowledged(p, n), s.knows(p, n)))),
            ("of two processes at most one acknowledges the crash of the other",
             ForAll([p, k], Not(And(s.acknowledged(p, k), s.acknowledged(k, p))))),
            ("SETTLED is sent after all others have acknowledged",
             ForAll([f, n, k], Implies(And(s.settled_by_all(f), in_view(n, f), Not(in_view(k, f))), s.acknowledged(k, n)))),
            ("a settled crash is acknowledged by every process whose crash is not settled",
             ForAll([p, n, k], Implies(And(s.settled(p, n), Not(s.settled(p, k))), s.acknowledged(k, n)))),
            ("the own crash is never settled", ForAll([p], Not(s.settled(p, p)))),
            # Requests and votes.
            ("only sent requests have messages",
             ForAll([x], Implies(Or(s.reply(x), s.yielded(x), s.ended(x)), s.requested(x)))),
            ("a voter has one vote", ForAll([v, x, y], Implies(And(s.granted(v, x), s.granted(v, y)), x == y))),
            ("a vote is for a request to this voter",
             ForAll([v, x], Implies(s.granted(v, x), And(voter(x, v), s.requested(x))))),
            ("a present attempt was requested",
             ForAll([p, v, x], Implies(s.current(p, v, x), And(owner(x, p), voter(x, v), s.requested(x))))),
            ("a process has one attempt at a voter",
             ForAll([p, v, x, y], Implies(And(s.current(p, v, x), s.current(p, v, y)), x == y))),
            ("the present attempt is the last one", ForAll([p, v, x, y], Implies(
                And(s.current(p, v, x), owner(y, p), voter(y, v), s.requested(y)), at_most(y, x)))),
            ("the present attempt has not ended",
             ForAll([p, v, x], Implies(And(live(p), s.current(p, v, x)), Not(s.ended(x))))),
            ("a counted vote is for the present attempt",
             ForAll([p, v, x], Implies(s.counted(p, v, x), s.current(p, v, x)))),
            ("a counted vote is given, and neither REPLY nor YIELD is under way", ForAll([p, v, x], Implies(
                And(live(p), s.counted(p, v, x)), And(s.granted(v, x), Not(s.reply(x)), Not(s.yielded(x)))))),
            ("a vote in a REPLY for the present attempt is given", ForAll([p, v, x], Implies(
                And(live(p), s.current(p, v, x), s.reply(x)), And(s.granted(v, x), Not(s.yielded(x)))))),
            ("a vote in a YIELD for the present attempt is given", ForAll([p, v, x], Implies(
                And(live(p), s.current(p, v, x), s.yielded(x)), s.granted(v, x)))),
            # Inside.
            ("a waiting process is outside", ForAll([p, f, q], Not(And(s.waiting(p), s.inside(p, f, q))))),
            ("a waiting process counts no vote of a process that it knows to have crashed",
             ForAll([p, v, x], Implies(And(s.waiting(p), s.counted(p, v, x)), Not(s.knows(p, v))))),
            ("a process inside has the quorum of a view without itself",
             ForAll([p, f, q], Implies(s.inside(p, f, q), And(is_quorum(p, f, q), Not(in_view(p, f)))))),
            ("a live process inside counts the votes of its quorum", ForAll([p, f, q, v], Implies(
                And(live(p), s.inside(p, f, q), in_quorum(v, q)), Exists([x], s.counted(p, v, x))))),
            ("the view of a process inside is acknowledged by all others", ForAll([p, f, q, n, k], Implies(
                And(s.inside(p, f, q), in_view(n, f), Not(in_view(k, f))), s.acknowledged(k, n)))),
            ("a process inside has no vote of a process whose crash it has acknowledged", ForAll([p, f, q, n], Implies(
                And(s.inside(p, f, q), s.acknowledged(p, n)), Not(in_quorum(n, q))))),
            self.exclusion(s),
        ]

    def exclusion(self, s):
        return ("at most one live process is inside", ForAll([p, k, f, g, q, r], Implies(
            And(s.inside(p, f, q), s.inside(k, g, r), Not(s.dead(p)), Not(s.dead(k))), p == k)))

    def safety(self, s):
        return [
            self.exclusion(s),
            # A consequence that the argument does not need: of two sets that are settled, one contains the other.
            ("settled views are ordered by inclusion", ForAll([f, g, n, k], Not(
                And(s.settled_by_all(f), s.settled_by_all(g), in_view(n, f), Not(in_view(n, g)), in_view(k, g),
                    Not(in_view(k, f)))))),
        ]


def prove(system, report):
    """Proves the meeting lemma from (a) and (b), then exclusion from the meeting lemma."""
    report.group("meeting lemma from (a) and (b)", [
        ("unions commute", VIEWS_ARE_SETS, UNION_COMMUTES),
        ("a quorum contains a later quorum", VIEWS_ARE_SETS[:1] + A_EXISTS + B_MONOTONE, CONTAINS_LATER_QUORUM),
        ("meeting lemma", [UNION_COMMUTES, CONTAINS_LATER_QUORUM, *A_INTERSECT], MEETING_LEMMA),
    ])
    check(system, report)


class Domain:
    """The finite sorts of a bounded run: processes, tickets with their owner and voter, views with their members, and every
    nonempty set of processes as a possible quorum."""

    def __init__(self, processes, tickets, views):
        processes = processes.split()
        views = {view: set(members.split()) for view, members in views.items()}
        quorums = {"{" + "+".join(members) + "}": members for members in subsets(processes) if members}
        self.sorts = FiniteSorts()
        self.processes = self.sorts.add(Process, processes)
        tickets = self.sorts.add(Ticket, tickets.split())
        self.views = self.sorts.add(View, views)
        self.quorums = self.sorts.add(Quorum, quorums)
        define = lambda term, value: self.sorts.define(term, BoolVal(value))
        for name, process in self.processes.items():
            for view, members in views.items():
                define(in_view(process, self.views[view]), name in members)
            for quorum, members in quorums.items():
                define(in_quorum(process, self.quorums[quorum]), name in members)
            for pair, ticket in tickets.items():
                define(owner(ticket, process), pair[0] == name)
                define(voter(ticket, process), pair[1] == name)
        for a, b, c in product([views] * 3):
            if views[a] | views[b] == views[c]:
                self.sorts.define(union(self.views[a], self.views[b]), self.views[c])


def subsets(names):
    sets = [[]]
    for name in names:
        sets += [[*members, name] for members in sets]
    return sets


# The runs have up to two candidates h and k, a voter v, and a process c that crashes. The tickets `hv` and `hv2` are attempts of h
# at v.
# In the view `all` no process has crashed, in `but_c` only c has.
VIEWS = {"all": "", "but_c": "c"}


def votes(process, of):
    """The process asks this voter and counts its vote."""
    ticket = process + of
    return [f"ask {process} {of} {ticket}", f"vote {of} {ticket}", f"receive_reply {process} {of} {ticket}"]


def enters(process, of, view="all"):
    """The process enters with the vote of one voter."""
    return [f"acquire {process}", *votes(process, of), f"enter {process} {view} {{{of}}}"]


C_IS_SETTLED_AT_K = ["learn_of_crash k c", "acknowledge k", "send_settled but_c", "receive_settled k but_c"]

# Runs that the algorithm allows. Together they contain every action, so no action is impossible by mistake.
ALLOWED_RUNS = {
    "h enters and leaves, then k enters": (
        Domain("h k v", "hv kv", {"all": ""}), [*enters("h", "v"), "leave h", "receive_end v hv", *enters("k", "v")]),
    "c crashes, and k enters with the quorum of the next view": (
        Domain("h k c", "kh", VIEWS),
        ["crash c", "learn_of_crash h c", "acknowledge h", *C_IS_SETTLED_AT_K, *enters("k", "h", "but_c")]),
    "h yields, cancels and asks again, k cancels, h enters, k gives up": (
        Domain("h k v", "hv hv2 kv", {"all": ""}),
        ["acquire h", *votes("h", "v"), "give_back h v hv", "receive_yield v hv", "acquire k", *votes("k", "v"),
         "cancel h v hv", "ask h v hv2", "cancel k v kv", "receive_end v kv", "vote v hv", "supersede v hv hv2 h",
         "vote v hv2", "receive_reply h v hv2", "enter h all {v}", "give_up k"]),
}


class AcknowledgesInside(SettledQuorums):
    rule = "a process acknowledges inside the section too"
    domain = Domain("h k c", "hc kk", VIEWS)
    script = [*enters("h", "c"), "crash c", "learn_of_crash h c", "acknowledge h", *C_IS_SETTLED_AT_K,
              *enters("k", "k", "but_c")]

    def may_acknowledge(self, s, process):
        return And()


class BelievedInsteadOfSettled(SettledQuorums):
    rule = "a process takes the quorum of the crashes that it believes in, not of the settled ones"
    domain = Domain("h k c", "hc kk", VIEWS)
    script = [*enters("h", "c"), "crash c", "learn_of_crash k c", *enters("k", "k", "but_c")]

    def view_of(self, s, process, crashed):
        return s.knows(process, crashed)


class NoFreshAttempts(SettledQuorums):
    rule = "a request that was cancelled at a voter is sent to it again with the same attempt"
    domain = Domain("h k v", "hv kv", {"all": ""})
    script = ["acquire h", "ask h v hv", "vote v hv", "cancel h v hv", "receive_end v hv", *enters("k", "v"),
              "ask h v hv", "receive_reply h v hv", "enter h all {v}"]

    def is_fresh(self, s, process, of, ticket):
        later = lambda x: And(owner(x, process), voter(x, of), s.requested(x), Not(at_most(x, ticket)))
        return ForAll([x], Not(later(x)))


class NotMonotone(SettledQuorums):
    rule = "the quorum system satisfies (a) but not (b)"
    domain = Domain("h k c", "hh kk", VIEWS)
    script = ["crash c", "learn_of_crash h c", "acknowledge h", *C_IS_SETTLED_AT_K, *enters("h", "h"),
              *enters("k", "k", "but_c")]

    def axioms(self):
        return TICKETS + VIEWS_ARE_SETS[1:] + A_INTERSECT

    def quorum_system(self):
        return VIEWS_ARE_SETS + Q_IS_FUNCTION + A_INTERSECT + A_EXISTS


class QuorumsAreMissing(NotMonotone):
    rule = "some live processes have no quorum in some views; (a) and (b) hold for the quorums that exist"

    def quorum_system(self):
        return VIEWS_ARE_SETS + Q_IS_FUNCTION + A_INTERSECT + B_MONOTONE


class DisjointQuorums(SettledQuorums):
    rule = "the quorum system satisfies (b) but not (a)"
    domain = Domain("h k", "hh kk", {"all": ""})
    script = [*enters("h", "h"), *enters("k", "k")]

    def axioms(self):
        return TICKETS

    def quorum_system(self):
        return VIEWS_ARE_SETS + Q_IS_FUNCTION + A_EXISTS + B_MONOTONE


class KeepsVotesOfTheCrashed(SettledQuorums):
    rule = "a candidate keeps the votes of a process that it knows to have crashed"
    domain = Domain("h k c", "hc kk", VIEWS)
    script = ["acquire h", *votes("h", "c"), "crash c", "learn_of_crash h c", "acknowledge h", *C_IS_SETTLED_AT_K,
              "enter h all {c}", *enters("k", "k", "but_c")]

    def drops_votes(self, s, process):
        return Or()


class MixedWithMajorities(SettledQuorums):
    rule = "some processes enter with a majority of the processes outside what is settled (`quorum-majority`)"
    domain = Domain("h k v", "hv kh kk", {"all": ""})
    script = [*enters("h", "v"), "acquire k", *votes("k", "h"), *votes("k", "k"), "enter_with_majority k all {h+k}"]
    is_majority = Function("is_majority", View, Quorum, BoolSort())

    @action
    def enter_with_majority(self, s, process: Process, view: View, quorum: Quorum):
        return Step([*self.complete(s, process, quorum),
                     ForAll([n], in_view(n, view) == self.view_of(s, process, n)), self.is_majority(view, quorum)],
                    self.after_entering(s, process, view, quorum))

    def run_axioms(self):
        number = lambda condition: Sum(*[If(condition(member), 1, 0) for member in self.domain.processes.values()])
        outside = lambda member: Not(in_view(member, f))
        more_than_half = 2 * number(lambda member: And(outside(member), in_quorum(member, q))) > number(outside)
        return super().run_axioms() + [ForAll([f, q], self.is_majority(f, q) == more_than_half)]


class WrongSuspicions(SettledQuorums):
    rule = "the detector reports crashes of live processes"
    domain = Domain("h k v", "hv kv", {"all": ""})
    script = [*enters("h", "v"), "learn_of_crash v h", *enters("k", "v")]

    def is_reported(self, s, crashed):
        return And()


class YieldsAndCounts(SettledQuorums):
    rule = "a candidate counts a vote that it has given back"
    domain = Domain("h k v", "hv kv", {"all": ""})
    script = ["acquire h", *votes("h", "v"), "give_back h v hv", "enter h all {v}", "receive_yield v hv", *enters("k", "v")]

    def counted_after_yield(self, s, process, of):
        return s.counted


ONE_VOTER = Domain("h k v", "hv kv", {"all": ""})


class EndsUnasked(lacks_guard(SettledQuorums, "receive_end", 2)):
    rule = "a voter frees its vote although neither CANCEL nor RELEASE was sent"
    domain = ONE_VOTER
    script = [*enters("h", "v"), "receive_end v hv", *enters("k", "v")]


class TakesVoteBack(lacks_guard(SettledQuorums, "receive_yield", 2)):
    rule = "a voter takes its vote back without waiting for YIELD"
    domain = ONE_VOTER
    script = [*enters("h", "v"), "receive_yield v hv", *enters("k", "v")]


class VotesTwice(lacks_guard(SettledQuorums, "vote", 3)):
    rule = "a voter gives its vote although another request has it"
    domain = ONE_VOTER
    script = [*enters("h", "v"), *enters("k", "v")]


class SupersedesItself(lacks_guard(SettledQuorums, "supersede", 6)):
    rule = "a request that arrives again ends itself"
    domain = ONE_VOTER
    script = [*enters("h", "v"), "supersede v hv hv h", *enters("k", "v")]


class SettlesEarly(lacks_guard(SettledQuorums, "send_settled", 0)):
    rule = "a set of crashes is settled although a process has not acknowledged it"
    domain = Domain("h k c", "hc kk", VIEWS)
    script = [*enters("h", "c"), "crash c", *C_IS_SETTLED_AT_K, *enters("k", "k", "but_c")]


class EntersEarly(lacks_guard(SettledQuorums, "enter", 2)):
    rule = "a process enters without all votes of its quorum"
    domain = ONE_VOTER
    script = [*enters("h", "v"), "acquire k", "enter k all {v}"]


class CountsUnsentVotes(lacks_guard(SettledQuorums, "receive_reply", 3)):
    rule = "a candidate counts a vote that was not sent"
    domain = ONE_VOTER
    script = [*enters("h", "v"), "acquire k", "ask k v kv", "receive_reply k v kv", "enter k all {v}"]


MUTANTS = [AcknowledgesInside, BelievedInsteadOfSettled, NoFreshAttempts, NotMonotone, QuorumsAreMissing, DisjointQuorums,
           KeepsVotesOfTheCrashed, MixedWithMajorities, WrongSuspicions, YieldsAndCounts, EndsUnasked, TakesVoteBack, VotesTwice,
           SupersedesItself, SettlesEarly, EntersEarly, CountsUnsentVotes]


def two_inside(s):
    """The negation of exclusion, with fewer quantifiers around each other."""
    is_inside = lambda process: Exists([f, q], s.inside(process, f, q))
    return Exists([p, k], And(p != k, Not(s.dead(p)), Not(s.dead(k)), is_inside(p), is_inside(k)))


def quorums(model, domain):
    """The quorums that the solver has chosen, by view and owner."""
    holds = lambda formula: is_true(model.eval(formula, model_completion=True))
    lines = [f"Q({process}, {view}) = {quorum}"
             for view, f in domain.views.items() for process, p in domain.processes.items()
             for quorum, q in domain.quorums.items() if holds(is_quorum(p, f, q))]
    return [f"quorums: {', '.join(lines)}"]


# Guards without which the proof still holds.
STOPS = "a crashed process takes no step. Exclusion is about live processes, and needs less"
ONCE = "it says when the code does this. To do it more often is never unsafe"
NOT_ITS_OWN = "without it the action changes nothing: a voter gives its vote to requests that are sent to it"
SPARE_GUARDS = {
    **{(name, 0): STOPS for name in ("learn_of_crash", "receive_settled", "acquire", "ask", "cancel", "give_back", "receive_reply",
                                     "enter", "leave", "give_up", "vote", "receive_yield", "receive_end", "supersede")},
    ("learn_of_crash", 1): "a process that takes a step has not crashed",
    ("acquire", 1): ONCE, ("ask", 1): ONCE, ("ask", 2): "a vote of a crashed voter is not counted, so it need not be asked",
    ("receive_reply", 1): "only a waiting process enters", ("leave", 1): "to leave from outside gives only own votes back",
    **{(name, 1): NOT_ITS_OWN for name in ("receive_yield", "receive_end", "supersede")},
}


PROOF = Proof(
    title="quorum mutex with settled quorums",
    conclusion="settled quorums exclude, for any number of processes",
    system=SettledQuorums,
    allowed_runs=ALLOWED_RUNS,
    mutants=MUTANTS,
    violation=two_inside,
    violation_name="two inside",
    spare_guards=SPARE_GUARDS,
    prove=prove,
    describe_static=quorums,
)

if __name__ == "__main__":
    main(PROOF)
