"""Maekawa's algorithm with Sanders' correction excludes, for any number of processes.

The model is crates/quorate-algorithms/src/mutex/maekawa.rs with mutex/voting/ballot.rs. Each process has a quorum, and any two quorums
have a common voter. A voter has one vote. The invariant follows the vote: from the time at which a voter gives it to a request until
the voter has it back, it is in a REPLY, or counted, or in a YIELD, or the request is over. A vote that is counted is therefore given
to this request and to no other one. Two processes inside would have the same vote of a common voter.

Sanders' correction is that a voter sends FAILED to every request that has to wait, so that a candidate returns votes when it cannot
win. The model has FAILED and INQUIRE as messages, and a candidate yields only if it has received both, as in the code. Exclusion
depends only on the rule that a candidate which yields stops counting the vote.

Not modelled:
- the order of requests, from which a voter determines when to send INQUIRE and FAILED. In the model it may send them at any time.
  So the correction itself, which is about deadlocks, is not proved;
- liveness;
- crashes and losses, which the algorithm does not tolerate. Messages may overtake each other. REPLY and YIELD are not duplicated.
"""

from z3 import And, BoolSort, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from guards import lacks_guard
from program import Domain, Proof, main
from verifier import Step, TransitionSystem, action, added, removed, total_order

Process = DeclareSort("Process")
# `Stamp`: identifies a request. Requests of one process are ordered by their times.
Request = DeclareSort("Request")
owner = Function("owner", Request, Process, BoolSort())
# in_quorum(v, p): v is a member of the quorum of p.
in_quorum = Function("in_quorum", Process, Process, BoolSort())
at_most, REQUEST_ORDER = total_order(Request, "at_most")

p, k, v = Consts("p k v", Process)
x, y = Consts("x y", Request)

QUORUMS_INTERSECT = [ForAll([p, k], Exists([v], And(in_quorum(v, p), in_quorum(v, k))))]


class Maekawa(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # REQUEST has been sent to the quorum of its owner, and RELEASE has been sent.
        "requested": (Request,),
        "over": (Request,),
        # The owner is in `Phase::Inside` with this request.
        "inside": (Request,),
        # The vote of v is counted: `Campaign::votes`. The owner has received INQUIRE or FAILED of v: `inquiries`, `failed`.
        "counted": (Request, Process),
        "inquired": (Request, Process),
        "failed": (Request, Process),
        # v has given its vote to this request: `Ballot::granted`.
        "granted": (Process, Request),
        # REPLY of v, or YIELD to v, is under way.
        "reply": (Request, Process),
        "yielded": (Request, Process),
    }

    def axioms(self):
        return REQUEST_ORDER + self.quorums() + [ForAll([x, p, k], Implies(And(owner(x, p), owner(x, k)), p == k))]

    def quorums(self):
        return QUORUMS_INTERSECT

    def initial(self, s):
        """`Maekawa::new` at all processes: nothing has happened."""
        return self.empty(s)

    def waits(self, s, request):
        return And(s.requested(request), Not(s.over(request)), Not(s.inside(request)))

    # The candidate.

    @action
    def acquire(self, s, process: Process, request: Request):
        """`acquire`: a new request, after all earlier ones of the process are over."""
        earlier = lambda y: And(owner(y, process), s.requested(y))
        return Step([owner(request, process),
                     ForAll([y], Implies(earlier(y), And(s.over(y), Not(at_most(request, y)))))],
                    s.update(requested=added(s.requested, request)))

    @action
    def receive_reply(self, s, request: Request, of: Process):
        """`on_reply`: the candidate counts the vote."""
        return Step([self.waits(s, request), s.reply(request, of)], s.update(
            reply=removed(s.reply, lambda a, b: And(a == request, b == of)),
            counted=added(s.counted, request, of),
            failed=removed(s.failed, lambda a, b: And(a == request, b == of))))

    @action
    def receive_inquire(self, s, request: Request, of: Process):
        """`on_answer` with INQUIRE."""
        return Step([self.waits(s, request)], s.update(inquired=added(s.inquired, request, of)))

    @action
    def receive_failed(self, s, request: Request, of: Process):
        """`on_answer` with FAILED, which voters send to all requests that wait: Sanders' correction."""
        return Step([self.waits(s, request), Not(s.counted(request, of))], s.update(failed=added(s.failed, request, of)))

    @action
    def give_back(self, s, request: Request, of: Process):
        """`yield_if_hopeless`: a candidate that cannot win for now returns a vote that is asked back."""
        return Step([self.waits(s, request), Exists([v], s.failed(request, v)), s.inquired(request, of), s.counted(request, of)],
                    s.update(yielded=added(s.yielded, request, of), failed=added(s.failed, request, of),
                             inquired=removed(s.inquired, lambda a, b: And(a == request, b == of)),
                             counted=self.counted_after_yield(s, request, of)))

    def counted_after_yield(self, s, request, of):
        return removed(s.counted, lambda a, b: And(a == request, b == of))

    @action
    def enter(self, s, process: Process, request: Request):
        """`on_reply` with the last vote of the quorum."""
        return Step([owner(request, process), self.waits(s, request), self.is_complete(s, process, request)],
                    s.update(inside=added(s.inside, request)))

    def is_complete(self, s, process, request):
        return ForAll([v], Implies(in_quorum(v, process), s.counted(request, v)))

    @action
    def leave(self, s, request: Request):
        """`release`: RELEASE to the quorum."""
        return Step([s.inside(request)], s.update(
            inside=removed(s.inside, lambda a: a == request), over=added(s.over, request)))

    # The voter.

    @action
    def vote(self, s, of: Process, request: Request):
        """`Ballot::grant`: a voter whose vote is free gives it to a request."""
        return Step([s.requested(request), self.is_free(s, of)], s.update(
            granted=added(s.granted, of, request), reply=added(s.reply, request, of)))

    def is_free(self, s, of):
        return ForAll([x], Not(s.granted(of, x)))

    def frees(self, s, of, request):
        return removed(s.granted, lambda a, b: And(a == of, b == request))

    @action
    def receive_yield(self, s, of: Process, request: Request):
        """`Ballot::give_back`."""
        return Step([self.has_yielded(s, of, request)], s.update(
            granted=self.frees(s, of, request), yielded=removed(s.yielded, lambda a, b: And(a == request, b == of))))

    def has_yielded(self, s, of, request):
        return s.yielded(request, of)

    @action
    def receive_release(self, s, of: Process, request: Request):
        """`Ballot::release`."""
        return Step([s.over(request)], s.update(granted=self.frees(s, of, request)))

    @action
    def supersede(self, s, of: Process, request: Request, newer: Request, process: Process):
        """`Ballot::request`: a newer request of the same process has overtaken the RELEASE of the older one."""
        return Step([owner(request, process), owner(newer, process), s.requested(newer), Not(at_most(newer, request))],
                    s.update(granted=self.frees(s, of, request)))

    def invariants(self, s):
        has_vote = lambda x, v: Or(s.reply(x, v), s.counted(x, v), s.yielded(x, v))
        return [
            ("only requests have votes and enter", ForAll([x, v], Implies(
                Or(s.over(x), s.inside(x), s.granted(v, x), has_vote(x, v)), s.requested(x)))),
            ("a request inside is not over", ForAll([x], Not(And(s.inside(x), s.over(x))))),
            ("older requests of a process are over", ForAll([x, y, p], Implies(
                And(owner(x, p), owner(y, p), s.requested(y), Not(at_most(y, x))), Or(s.over(x), Not(s.requested(x)))))),
            ("a voter has one vote", ForAll([v, x, y], Implies(And(s.granted(v, x), s.granted(v, y)), x == y))),
            ("a vote on its way or counted is given, unless the request is over",
             ForAll([x, v], Implies(And(has_vote(x, v), Not(s.over(x))), s.granted(v, x)))),
            ("a vote is in one place", ForAll([x, v], Or(s.over(x), And(
                Not(And(s.reply(x, v), s.counted(x, v))), Not(And(s.reply(x, v), s.yielded(x, v))),
                Not(And(s.counted(x, v), s.yielded(x, v))))))),
            ("a process inside counts the votes of its quorum",
             ForAll([x, p, v], Implies(And(s.inside(x), owner(x, p), in_quorum(v, p)), s.counted(x, v)))),
            ("a request inside has an owner", ForAll([x], Implies(s.inside(x), Exists([p], owner(x, p))))),
        ]

    def safety(self, s):
        return [("at most one process is inside", ForAll([x, y], Implies(And(s.inside(x), s.inside(y)), x == y)))]


def domain(requests="h1 k1", quorums=("v h", "v k")):
    """Candidates h and k, a voter v, and requests. The first letter of a request is its owner."""
    names = Domain((Process, "h k v"), (Request, requests))
    names.define(owner, [f"{request} {request[0]}" for request in requests.split()])
    return names.define(in_quorum, [*quorums, "v v"]).define_order(at_most)


def enters(process, of="v"):
    request = process + "1"
    return [f"acquire {process} {request}", f"vote {of} {request}", f"receive_reply {request} {of}", f"enter {process} {request}"]


ALLOWED_RUNS = {
    "h yields to k, k enters and leaves, h enters": (
        domain(quorums=("v h", "h h", "v k")),
        ["acquire h h1", "vote v h1", "receive_reply h1 v", "receive_inquire h1 v", "receive_failed h1 h", "give_back h1 v",
         "receive_yield v h1", *enters("k"), "leave k1", "receive_release v k1", "vote v h1", "vote h h1", "receive_reply h1 v",
         "receive_reply h1 h", "enter h h1"]),
    "the second request of h overtakes its RELEASE": (
        domain("h1 h2 k1"), [*enters("h"), "leave h1", "acquire h h2", "supersede v h1 h2 h", "vote v h2"]),
}


class VotesTwice(Maekawa):
    rule = "a voter gives its vote although another request has it"
    domain = domain()
    script = [*enters("h"), *enters("k")]

    def is_free(self, s, of):
        return And()


class YieldsAndCounts(Maekawa):
    rule = "a candidate counts a vote that it has given back"
    domain = domain()
    script = ["acquire h h1", "vote v h1", "receive_reply h1 v", "receive_inquire h1 v", "receive_failed h1 h", "give_back h1 v",
              "receive_yield v h1", *enters("k"), "enter h h1"]

    def counted_after_yield(self, s, request, of):
        return s.counted


class TakesVoteBack(Maekawa):
    rule = "a voter takes its vote back without waiting for YIELD"
    domain = domain()
    script = [*enters("h"), "receive_yield v h1", *enters("k")]

    def has_yielded(self, s, of, request):
        return And()


class EntersWithoutVotes(Maekawa):
    rule = "a process enters without all votes of its quorum"
    domain = domain()
    script = [*enters("h"), "acquire k k1", "enter k k1"]

    def is_complete(self, s, process, request):
        return And()


class DisjointQuorums(Maekawa):
    rule = "two quorums may have no common member"
    domain = domain(quorums=("h h", "k k"))
    script = [*enters("h", "h"), *enters("k", "k")]

    def quorums(self):
        return []


class AsksTwice(lacks_guard(Maekawa, "acquire", 1)):
    rule = "a process makes a request before its earlier one is over"
    domain = domain("h1 h2 k1")
    script = [*enters("h"), "acquire h h2", "supersede v h1 h2 h", *enters("k")]


class ReleasesUnasked(lacks_guard(Maekawa, "receive_release", 0)):
    rule = "a voter frees its vote although RELEASE was not sent"
    domain = domain()
    script = [*enters("h"), "receive_release v h1", *enters("k")]


class CountsUnsentVotes(lacks_guard(Maekawa, "receive_reply", 1)):
    rule = "a candidate counts a vote that was not sent"
    domain = domain()
    script = [*enters("h"), "acquire k k1", "receive_reply k1 v", "enter k k1"]


class SupersedesItself(lacks_guard(Maekawa, "supersede", 3)):
    rule = "a request that arrives again ends itself"
    domain = domain()
    script = [*enters("h"), "supersede v h1 h1 h", *enters("k")]


class SupersedesOthers(lacks_guard(Maekawa, "supersede", 1)):
    rule = "a newer request of another process ends the older one"
    domain = domain()
    script = [*enters("h"), "acquire k k1", "supersede v h1 k1 h", "vote v k1", "receive_reply k1 v", "enter k k1"]


MUTANTS = [VotesTwice, YieldsAndCounts, TakesVoteBack, EntersWithoutVotes, DisjointQuorums, AsksTwice, ReleasesUnasked,
           CountsUnsentVotes, SupersedesItself, SupersedesOthers]


def two_inside(s):
    return Exists([x, y], And(x != y, s.inside(x), s.inside(y)))


# Guards without which the proof still holds.
SPARE_GUARDS = {
    ("receive_reply", 0): "a vote that a request counts after its end is not used: only a waiting request enters",
    ("receive_inquire", 0): "INQUIRE asks for a vote, which may be given back at any time",
    **{("receive_failed", guard): "FAILED allows to give votes back, which is never unsafe" for guard in (0, 1)},
    **{("give_back", guard): "a counted vote may be given back at any time. The guard avoids unnecessary messages" for guard in (1, 2)},
}


PROOF = Proof(
    title="Maekawa with Sanders' correction",
    conclusion="Maekawa's algorithm excludes, for any number of processes",
    system=Maekawa,
    allowed_runs=ALLOWED_RUNS,
    mutants=MUTANTS,
    violation=two_inside,
    violation_name="two inside",
    spare_guards=SPARE_GUARDS,
)

if __name__ == "__main__":
    main(PROOF)
