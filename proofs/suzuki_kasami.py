"""Suzuki-Kasami excludes, for any number of processes. The shortest proof of this folder, and the one to read first.

The model is crates/quorate-algorithms/src/mutex/suzuki_kasami.rs. There is one token. A process enters only with the token, and passes
it on only outside the section. So the invariant says: the token is in one place, at a process or in one message, and a process
inside has it.

Not modelled:
- the numbers of requests and the queue in the token, which determine the next process that gets the token. In the model the holder
  may pass it to any process at any time outside the section;
- liveness. A process that gets the token without having asked for it ignores it, and the token is lost. The numbers prevent this;
- crashes, losses and duplicates, which the algorithm does not tolerate. `LinksDuplicate` shows what a duplicate does.
"""

from z3 import And, Const, Consts, DeclareSort, Exists, ForAll, Implies, Not

from guards import lacks_guard
from program import Domain, Proof, main
from verifier import Step, TransitionSystem, action, added, removed

Process = DeclareSort("Process")
p, q = Consts("p q", Process)
# The process that starts with the token.
owner = Const("owner", Process)


class SuzukiKasami(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # p is in `Phase::Waiting` or in `Phase::Inside`.
        "waiting": (Process,),
        "inside": (Process,),
        # p has the token: the field `token`.
        "token": (Process,),
        # TOKEN is under way to p.
        "sent": (Process,),
    }

    def initial(self, s):
        """`SuzukiKasami::new`: one process has the token."""
        return self.empty(s, "waiting", "inside", "sent") + [ForAll([p], s.token(p) == self.starts_with_token(p))]

    def starts_with_token(self, process):
        return process == owner

    @action
    def acquire(self, s, process: Process):
        """`acquire`: the process waits. REQUEST to all others is not modelled."""
        return Step([Not(s.waiting(process)), Not(s.inside(process))], s.update(waiting=added(s.waiting, process)))

    @action
    def enter_with_token(self, s, process: Process):
        """`acquire` of a process that has the token."""
        return Step([s.waiting(process), self.may_enter(s, process)], s.update(
            waiting=removed(s.waiting, lambda a: a == process), inside=added(s.inside, process)))

    def may_enter(self, s, process):
        return s.token(process)

    @action
    def receive_token(self, s, process: Process):
        """`on_message` with TOKEN: the process enters."""
        return Step([s.waiting(process), s.sent(process)], s.update(
            sent=self.sent_after_arrival(s, process), token=added(s.token, process),
            waiting=removed(s.waiting, lambda a: a == process), inside=added(s.inside, process)))

    def sent_after_arrival(self, s, process):
        return removed(s.sent, lambda a: a == process)

    @action
    def leave(self, s, process: Process):
        """`release`. If another process waits, `pass_to` follows."""
        return Step([s.inside(process)], s.update(inside=removed(s.inside, lambda a: a == process)))

    @action
    def pass_to(self, s, process: Process, to: Process):
        """`pass_to`, in `release` and in `on_request` of a process that is outside. A waiting process does not have the token."""
        return Step([s.token(process), self.may_pass(s, process)], s.update(
            token=self.token_after_passing(s, process), sent=added(s.sent, to)))

    def may_pass(self, s, process):
        return Not(s.inside(process))

    def token_after_passing(self, s, process):
        return removed(s.token, lambda a: a == process)

    def invariants(self, s):
        return [
            ("one process has the token", ForAll([p, q], Implies(And(s.token(p), s.token(q)), p == q))),
            ("the token is under way to one process", ForAll([p, q], Implies(And(s.sent(p), s.sent(q)), p == q))),
            ("the token is at a process or under way, not both", ForAll([p, q], Not(And(s.token(p), s.sent(q))))),
            ("a process inside has the token", ForAll([p], Implies(s.inside(p), s.token(p)))),
        ]

    def safety(self, s):
        return [("at most one process is inside", ForAll([p, q], Implies(And(s.inside(p), s.inside(q)), p == q)))]


class FreeOwner(Domain):
    """Processes h and k. The solver chooses the owner of the token."""

    def __init__(self):
        super().__init__((Process, "h k"))


ALLOWED_RUNS = {
    "h enters with the token and passes it to k": (
        FreeOwner(), ["acquire h", "enter_with_token h", "acquire k", "leave h", "pass_to h k", "receive_token k"]),
}


class PassesInside(SuzukiKasami):
    rule = "a process passes the token while it is inside"
    domain = FreeOwner()
    script = ["acquire h", "enter_with_token h", "acquire k", "pass_to h k", "receive_token k"]

    def may_pass(self, s, process):
        return And()


class KeepsCopy(SuzukiKasami):
    rule = "a process that passes the token keeps it"
    domain = FreeOwner()
    script = ["acquire k", "pass_to h k", "receive_token k", "acquire h", "enter_with_token h"]

    def token_after_passing(self, s, process):
        return s.token


class LinksDuplicate(SuzukiKasami):
    rule = "a link delivers TOKEN twice"
    domain = FreeOwner()
    script = ["acquire k", "pass_to h k", "receive_token k", "leave k", "pass_to k h", "acquire h", "receive_token h",
              "acquire k", "receive_token k"]

    def sent_after_arrival(self, s, process):
        return s.sent


class EntersWithoutToken(SuzukiKasami):
    rule = "a process enters without the token"
    domain = FreeOwner()
    script = ["acquire h", "enter_with_token h", "acquire k", "enter_with_token k"]

    def may_enter(self, s, process):
        return And()


class TwoTokens(SuzukiKasami):
    rule = "each process starts with a token"
    domain = FreeOwner()
    script = ["acquire h", "enter_with_token h", "acquire k", "enter_with_token k"]

    def starts_with_token(self, process):
        return And()


class EntersUnasked(lacks_guard(SuzukiKasami, "receive_token", 1)):
    rule = "a process behaves as if TOKEN had arrived, which was not sent"
    domain = FreeOwner()
    script = ["acquire h", "enter_with_token h", "acquire k", "receive_token k"]


class PassesWithoutToken(lacks_guard(SuzukiKasami, "pass_to", 0)):
    rule = "a process passes a token that it does not have"
    domain = FreeOwner()
    script = ["acquire h", "enter_with_token h", "pass_to k k", "acquire k", "receive_token k"]


MUTANTS = [PassesInside, KeepsCopy, LinksDuplicate, EntersWithoutToken, TwoTokens, EntersUnasked, PassesWithoutToken]


def two_inside(s):
    return Exists([p, q], And(p != q, s.inside(p), s.inside(q)))


# Guards without which the proof still holds.
SPARE_GUARDS = {
    **{("acquire", guard): "a user requests once at a time. Exclusion depends on the token only" for guard in (0, 1)},
    **{(name, 0): "only a process that has requested enters. Exclusion depends on the token only"
       for name in ("enter_with_token", "receive_token")},
    ("leave", 0): "to leave from outside changes nothing",
}


PROOF = Proof(
    title="Suzuki-Kasami",
    conclusion="Suzuki-Kasami excludes, for any number of processes",
    system=SuzukiKasami,
    allowed_runs=ALLOWED_RUNS,
    mutants=MUTANTS,
    violation=two_inside,
    violation_name="two inside",
    spare_guards=SPARE_GUARDS,
)

if __name__ == "__main__":
    main(PROOF)
