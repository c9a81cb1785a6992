"""Ricart-Agrawala excludes, for any number of processes.

The model is crates/quorate-algorithms/src/mutex/ricart_agrawala.rs. A process asks all others with a stamp, and enters when all have
replied. The invariant in words: if v has replied to the present request of p, then any request of v that is present too has a greater
stamp. Either v has replied while its own request had the greater stamp, or v has asked after it had received the request of p, and
then its clock gives a greater stamp. So of two processes inside, each would have the smaller stamp.

A reply does not name the request that it answers. The invariant therefore also says that an answer is on its way exactly while it is
missing: REQUEST is under way, or deferred, or REPLY is under way, and never two of these.

Not modelled:
- numbers. `seen` says which stamps the clock of a process has passed: its next stamp is greater than these. The clock in REPLY is not
  modelled, because it matters only for the order of entries (ME3);
- liveness;
- crashes, losses and duplicates, which the algorithm does not tolerate.
"""

from z3 import And, BoolSort, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from guards import lacks_guard
from program import Domain, Proof, main
from verifier import Step, TransitionSystem, action, added, added_where, removed, total_order

Process = DeclareSort("Process")
# `Stamp`: a time and a process. Stamps are totally ordered.
Stamp = DeclareSort("Stamp")
owner = Function("owner", Stamp, Process, BoolSort())
at_most, STAMP_ORDER = total_order(Stamp, "at_most")

p, v = Consts("p v", Process)
x, y = Consts("x y", Stamp)


def before(stamp, other):
    return Not(at_most(other, stamp))


class RicartAgrawala(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # p is in `Phase::Waiting` or in `Phase::Inside`, with the request x. The code forgets the stamp inside.
        "waiting": (Process, Stamp),
        "inside": (Process, Stamp),
        # The reply of v to p is missing: `Phase::Waiting::missing`.
        "missing": (Process, Process),
        # v replies to p when it leaves: `deferred`.
        "deferred": (Process, Process),
        # REQUEST x is under way to v. REPLY of v is under way to p.
        "request": (Stamp, Process),
        "reply": (Process, Process),
        # The clock of p has passed the stamp x.
        "seen": (Process, Stamp),
    }

    def axioms(self):
        return STAMP_ORDER + [ForAll([x, p, v], Implies(And(owner(x, p), owner(x, v)), p == v))]

    def initial(self, s):
        """`AskEveryone::new` at all processes: nothing has happened."""
        return self.empty(s)

    def present(self, s, process, stamp):
        return Or(s.waiting(process, stamp), s.inside(process, stamp))

    @action
    def acquire(self, s, process: Process, stamp: Stamp):
        """`acquire`: a new stamp, and REQUEST to all others."""
        return Step([ForAll([x], Not(self.present(s, process, x))), owner(stamp, process),
                     ForAll([x], Implies(s.seen(process, x), before(x, stamp)))], s.update(
            waiting=added(s.waiting, process, stamp),
            missing=added_where(s.missing, lambda a, b: And(a == process, b != process)),
            request=added_where(s.request, lambda a, b: And(a == stamp, b != process)),
            seen=added(s.seen, process, stamp)))

    def takes_request(self, s, process, stamp):
        """The request has arrived. The clock passes its stamp."""
        return s.update(request=removed(s.request, lambda a, b: And(a == stamp, b == process)),
                        seen=self.seen_after_request(s, process, stamp))

    def seen_after_request(self, s, process, stamp):
        return added_where(s.seen, lambda a, b: And(a == process, at_most(b, stamp)))

    def precedes(self, s, process, stamp):
        """`precedes`: the process is inside, or waits with a smaller stamp."""
        return Exists([y], Or(s.inside(process, y), And(s.waiting(process, y), before(y, stamp))))

    @action
    def agree(self, s, process: Process, of: Process, stamp: Stamp):
        """`on_message` with REQUEST that goes first: REPLY."""
        return Step([s.request(stamp, process), owner(stamp, of), Not(self.precedes(s, process, stamp))],
                    self.takes_request(s, process, stamp).update(reply=added(s.reply, process, of)))

    @action
    def defer(self, s, process: Process, of: Process, stamp: Stamp):
        """`on_message` with REQUEST that has to wait."""
        return Step([s.request(stamp, process), owner(stamp, of), self.precedes(s, process, stamp)],
                    self.takes_request(s, process, stamp).update(deferred=added(s.deferred, process, of)))

    @action
    def receive_reply(self, s, process: Process, of: Process):
        """`on_message` with REPLY."""
        return Step([s.reply(of, process)], s.update(
            reply=removed(s.reply, lambda a, b: And(a == of, b == process)),
            missing=removed(s.missing, lambda a, b: And(a == process, b == of))))

    @action
    def enter(self, s, process: Process, stamp: Stamp):
        """`enter_if_unanimous`."""
        return Step([s.waiting(process, stamp), self.is_unanimous(s, process)], s.update(
            waiting=removed(s.waiting, lambda a, b: a == process), inside=added(s.inside, process, stamp)))

    def is_unanimous(self, s, process):
        return ForAll([v], Not(s.missing(process, v)))

    @action
    def leave(self, s, process: Process):
        """`release`: REPLY to all deferred requests."""
        return Step([Exists([x], s.inside(process, x))], s.update(
            inside=removed(s.inside, lambda a, b: a == process),
            deferred=removed(s.deferred, lambda a, b: a == process),
            reply=added_where(s.reply, lambda a, b: And(a == process, s.deferred(process, b)))))

    def invariants(self, s):
        asked = lambda p, v: Exists([y], And(owner(y, p), s.request(y, v)))
        return [
            ("a process has one request",
             ForAll([p, x, y], Implies(And(self.present(s, p, x), self.present(s, p, y)), x == y))),
            ("a process does not wait inside", ForAll([p, x, y], Not(And(s.waiting(p, x), s.inside(p, y))))),
            ("the clock has passed the own request",
             ForAll([p, x], Implies(self.present(s, p, x), And(owner(x, p), s.seen(p, x))))),
            ("a request under way is present", ForAll([p, v, x], Implies(
                And(s.request(x, v), owner(x, p)), And(s.waiting(p, x), s.missing(p, v), Not(s.reply(v, p)), Not(s.deferred(v, p)))))),
            ("a reply under way is missing", ForAll([p, v], Implies(s.reply(v, p), And(s.missing(p, v), Not(s.deferred(v, p)))))),
            ("a deferred reply is missing", ForAll([p, v], Implies(s.deferred(v, p), s.missing(p, v)))),
            ("only waiting processes miss replies",
             ForAll([p, v], Implies(s.missing(p, v), And(p != v, Exists([x], s.waiting(p, x)))))),
            ("a process that has received a request has seen its stamp", ForAll([p, v, x], Implies(
                And(self.present(s, p, x), p != v, Or(Not(s.missing(p, v)), s.reply(v, p), s.deferred(v, p))), s.seen(v, x)))),
            ("a process that has agreed has a greater stamp", ForAll([p, v, x, y], Implies(
                And(self.present(s, p, x), self.present(s, v, y), p != v, Or(Not(s.missing(p, v)), s.reply(v, p))),
                before(x, y)))),
        ]

    def safety(self, s):
        return [("at most one process is inside", ForAll([p, v, x, y], Implies(And(s.inside(p, x), s.inside(v, y)), p == v)))]


def domain(stamps):
    """Processes h and k, and stamps in their order. The first letter of a stamp is its process."""
    names = Domain((Process, "h k"), (Stamp, stamps))
    names.define(owner, [f"{stamp} {stamp[0]}" for stamp in stamps.split()])
    return names.define_order(at_most)


ALLOWED_RUNS = {
    "both ask, h enters first, k enters after it": (
        domain("h1 k1"),
        ["acquire h h1", "acquire k k1", "agree k h h1", "defer h k k1", "receive_reply h k", "enter h h1", "leave h",
         "receive_reply k h", "enter k k1"]),
}


class RepliesInside(RicartAgrawala):
    rule = "a process replies at once although it is inside"
    domain = domain("h1 k1")
    script = ["acquire h h1", "agree k h h1", "receive_reply h k", "enter h h1", "acquire k k1", "agree h k k1", "receive_reply k h",
              "enter k k1"]

    def precedes(self, s, process, stamp):
        return Exists([y], And(s.waiting(process, y), before(y, stamp)))


class RepliesWaiting(RicartAgrawala):
    rule = "a waiting process replies at once although its stamp is smaller"
    domain = domain("h1 k1")
    script = ["acquire h h1", "acquire k k1", "agree k h h1", "agree h k k1", "receive_reply h k", "receive_reply k h", "enter h h1",
              "enter k k1"]

    def precedes(self, s, process, stamp):
        return Exists([y], s.inside(process, y))


class IgnoresStamps(RicartAgrawala):
    rule = "the clock of a process does not pass the stamps that it receives"
    domain = domain("k1 h2")
    script = ["acquire h h2", "agree k h h2", "acquire k k1", "agree h k k1", "receive_reply k h", "enter k k1", "receive_reply h k",
              "enter h h2"]

    def seen_after_request(self, s, process, stamp):
        return s.seen


class EntersEarly(RicartAgrawala):
    rule = "a process enters before all have replied"
    domain = domain("h1 k1")
    script = ["acquire h h1", "enter h h1", "acquire k k1", "enter k k1"]

    def is_unanimous(self, s, process):
        return And()


class StampsShrink(lacks_guard(RicartAgrawala, "acquire", 2)):
    rule = "a request may have a smaller stamp than one that the process has received"
    domain = domain("k1 h2")
    script = IgnoresStamps.script


class CountsMissingReplies(lacks_guard(RicartAgrawala, "receive_reply", 0)):
    rule = "a process counts a reply that was not sent"
    domain = domain("h1 k1")
    script = ["acquire h h1", "receive_reply h k", "enter h h1", "acquire k k1", "receive_reply k h", "enter k k1"]


MUTANTS = [RepliesInside, RepliesWaiting, IgnoresStamps, EntersEarly, StampsShrink, CountsMissingReplies]


def two_inside(s):
    return Exists([p, v, x, y], And(p != v, s.inside(p, x), s.inside(v, y)))


# Guards without which the proof still holds.
SPARE_GUARDS = {("defer", 2): "to reply later than necessary is never unsafe"}


PROOF = Proof(
    title="Ricart-Agrawala",
    conclusion="Ricart-Agrawala excludes, for any number of processes",
    system=RicartAgrawala,
    allowed_runs=ALLOWED_RUNS,
    mutants=MUTANTS,
    violation=two_inside,
    violation_name="two inside",
    spare_guards=SPARE_GUARDS,
)

if __name__ == "__main__":
    main(PROOF)
