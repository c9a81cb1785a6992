"""At most one live process is inside: the quorum mutex over fixed coteries, with crashes and recoveries.

The model is the algorithm `quorum` over a fixed coterie (`Basis::Fixed`), crates/quorate-algorithms/src/mutex/quorum.rs and
mutex/voting/. docs/quorum-mutex.md, section "Recovery", describes it in words. Each action names the Rust function that it models.
The number of processes, requests, crashes and recoveries is not bounded.

The argument in words. A voter gives its vote to one request at a time, and any two quorums have a common voter. The difficulty is a
voter v that crashes and recovers: it has forgotten for whom it voted, while a process p may still use that vote. So v gives no vote
until every other process has sent WELCOME, or has recovered itself, or is down. A process sends WELCOME only when it uses no vote
of v: it drops such a vote if it waits, and if it is inside it sends WELCOME after it has left. A WELCOME may be an answer to an
earlier recovery. This is harmless, because links keep their order: as long as WELCOME of p is under way, v has not received any
later request of p, so that p cannot have a vote for it. REJOIN, by which p says that it has recovered itself, is like WELCOME in
this respect.

Messages from one process to another are numbered in the order in which they are sent. A process receives one only if it has not
received a later one. So messages may be lost, for example because the receiver is down, but they are neither duplicated nor do they
overtake each other. The order matters for REQUEST, REJOIN and WELCOME. All other messages may overtake each other in the model.

Not modelled:
- the order in which a voter serves requests, and the message INQUIRE, by which a voter asks for its vote back. A voter votes for any
  request that it has received, also before a crash. So the proof does not need that `on_welcome` forgets earlier requests;
- what a process believes about others, besides the effects of learning of a crash. It chooses any quorum, whether its members are
  alive or not;
- liveness: the proof says nothing about whether a process ever enters.

Assumptions: any two quorums have a common member. A process remembers its clock and that it was down. The detector reports the
crash of a process only while the process is down: `LateSuspicions` shows that a report after the recovery is too late.
"""

from z3 import And, BoolSort, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from guards import lacks_guard
from program import Domain, Proof, main
from verifier import Step, TransitionSystem, action, added, added_where, removed, total_order

Process = DeclareSort("Process")
# A message whose place in the order of sending matters: REQUEST, REJOIN or WELCOME. A REQUEST is identified with its ticket, because
# no ticket is sent twice to a voter.
Message = DeclareSort("Message")
Quorum = DeclareSort("Quorum")

# Static relations.
member = Function("member", Process, Quorum, BoolSort())
sender = Function("sender", Message, Process, BoolSort())
at_most, MESSAGE_ORDER = total_order(Message, "at_most")

n, k, p, v = Consts("n k p v", Process)
x, y = Consts("x y", Message)
q, r = Consts("q r", Quorum)

QUORUMS_INTERSECT = [ForAll([q, r], Exists([n], And(member(n, q), member(n, r))))]
MESSAGES = MESSAGE_ORDER + [ForAll([x, p, k], Implies(And(sender(x, p), sender(x, k)), p == k))]


class FixedCoteries(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # p is down.
        "down": (Process,),
        # p is in `Phase::Waiting`, or in `Phase::Inside`, which it has entered with the votes of this quorum.
        "waiting": (Process,),
        "inside": (Process, Quorum),
        # The present request of p at voter v: `SentRequest::ticket` of a voter in `SentRequest::voters`.
        "current": (Process, Process, Message),
        # p counts the vote of v: `Candidacy::votes`. Inside the section the code forgets the votes, the model does not.
        "counted": (Process, Process, Message),
        # v has given its vote to this request: `Ballot::granted`.
        "granted": (Process, Message),
        # After a recovery of v: the welcome of p is missing (`awaiting_welcome`). The ballot of v is closed as long as any is.
        "awaiting": (Process, Process),
        # p has to send WELCOME to v after it has left the section: `welcomes_owed`.
        "owed": (Process, Process),
        # REQUEST or WELCOME to v, or REJOIN to all others, has been sent.
        "request": (Message, Process),
        "welcome": (Message, Process),
        "rejoin": (Message,),
        # v has received this message or a later one of the same sender. So it does not receive this one any more.
        "passed": (Message, Process),
        # REPLY or YIELD about this request is under way. CANCEL or RELEASE has been sent and may arrive any number of times.
        "reply": (Message,),
        "yielded": (Message,),
        "ended": (Message,),
    }

    def axioms(self):
        return MESSAGES

    def quorum_system(self):
        return QUORUMS_INTERSECT

    def initial(self, s):
        """`QuorumVoting::new` at all processes: nothing has happened."""
        return self.quorum_system() + self.empty(s)

    def is_sent(self, s, message, to):
        return Or(s.rejoin(message), s.request(message, to), s.welcome(message, to))

    def is_fresh(self, s, process, message):
        """The message is later than all others of this process."""
        return And(sender(message, process),
                   ForAll([y, n], Implies(And(sender(y, process), self.is_sent(s, y, n)), Not(at_most(message, y)))))

    def receives(self, s, process, of, message):
        """Guards of receiving a message. Messages to a process that is down are lost."""
        return [Not(s.down(process)), process != of, sender(message, of), self.keeps_order(s, process, message)]

    def keeps_order(self, s, process, message):
        return Not(s.passed(message, process))

    def passes(self, s, process, of, message):
        """This message and all earlier ones from the same sender have arrived or are lost."""
        return added_where(s.passed, lambda a, b: And(b == process, sender(a, of), at_most(a, message), self.is_sent(s, a, process)))

    # Crashes and recoveries.

    @action
    def crash(self, s, process: Process):
        """A process crashes. Its messages may still arrive."""
        return Step([], s.update(down=added(s.down, process)))

    @action
    def recover(self, s, process: Process, message: Message):
        """`on_recovery`: the process is outside. Its ballot is closed, and it sends REJOIN to all others. If it waited, the code
        makes a new request at once. This is the action `acquire`."""
        own = lambda a, *_: a == process
        return Step([s.down(process), self.is_fresh(s, process, message)], self.after_recovery(s, process).update(
            down=removed(s.down, own), waiting=removed(s.waiting, own), current=removed(s.current, own),
            counted=removed(s.counted, own), granted=removed(s.granted, own), owed=removed(s.owed, own),
            rejoin=added(s.rejoin, message)))

    def after_recovery(self, s, process):
        return s.update(inside=removed(s.inside, lambda a, b: a == process),
                        awaiting=added_where(s.awaiting, lambda a, b: And(a == process, b != process)))

    def drops_vote(self, s, process, of):
        """A waiting process drops the vote of a voter, and withdraws its request from it (`withdraw_from`). A process inside uses
        it on."""
        from_it = lambda a, b, _: And(a == process, b == of, s.waiting(process))
        return s.update(current=removed(s.current, from_it), counted=removed(s.counted, from_it))

    def takes_back(self, s, process, of):
        """`Ballot::forget`: the voter takes its vote back from a process. `on_welcome`: its welcome is not missing any more."""
        return s.update(granted=removed(s.granted, lambda a, b: And(a == process, sender(b, of))),
                        awaiting=removed(s.awaiting, lambda a, b: And(a == process, b == of)))

    @action
    def learn_of_crash(self, s, process: Process, crashed: Process):
        """`on_belief` and `on_crash`: the detector reports that a process is down."""
        after = self.takes_back(self.drops_vote(s, process, crashed), process, crashed)
        return Step([Not(s.down(process)), process != crashed, self.is_reported(s, crashed)],
                    after.update(owed=removed(s.owed, lambda a, b: And(a == process, b == crashed))))

    def is_reported(self, s, crashed):
        return s.down(crashed)

    @action
    def receive_rejoin(self, s, process: Process, of: Process, message: Message, answer: Message):
        """`on_rejoin` outside the section: the process drops the vote of the recovered process and answers WELCOME."""
        after = self.takes_back(self.drops_vote_of_recovered(s, process, of), process, of)
        return Step([*self.receives(s, process, of, message), s.rejoin(message), self.may_welcome(s, process),
                     self.is_fresh(s, process, answer)],
                    after.update(passed=self.passes(s, process, of, message), welcome=added(s.welcome, answer, of)))

    def drops_vote_of_recovered(self, s, process, of):
        return self.drops_vote(s, process, of)

    def may_welcome(self, s, process):
        return ForAll([q], Not(s.inside(process, q)))

    @action
    def receive_rejoin_inside(self, s, process: Process, of: Process, message: Message):
        """`on_rejoin` inside the section: WELCOME is owed."""
        return Step([*self.receives(s, process, of, message), s.rejoin(message), Exists([q], s.inside(process, q))],
                    self.takes_back(s, process, of).update(
            passed=self.passes(s, process, of, message), owed=added(s.owed, process, of)))

    @action
    def send_owed_welcome(self, s, process: Process, to: Process, message: Message):
        """`release`, after leaving: WELCOME to the processes that have recovered meanwhile."""
        return Step([Not(s.down(process)), s.owed(process, to), Not(s.waiting(process)), ForAll([q], Not(s.inside(process, q))),
                     self.is_fresh(s, process, message)], s.update(
            owed=removed(s.owed, lambda a, b: And(a == process, b == to)), welcome=added(s.welcome, message, to)))

    @action
    def receive_welcome(self, s, process: Process, of: Process, message: Message):
        """`on_welcome`. The vote is free, or WELCOME answers an earlier recovery and changes nothing."""
        return Step([*self.receives(s, process, of, message), s.welcome(message, process)], s.update(
            passed=self.passes(s, process, of, message),
            awaiting=removed(s.awaiting, lambda a, b: And(a == process, b == of))))

    # The candidate.

    @action
    def acquire(self, s, process: Process):
        """`acquire`: a new candidacy, without any vote."""
        return Step([Not(s.down(process)), Not(s.waiting(process)), ForAll([q], Not(s.inside(process, q)))],
                    s.update(waiting=added(s.waiting, process)))

    @action
    def ask(self, s, process: Process, of: Process, ticket: Message):
        """`reconsider`: REQUEST to a voter that is not asked at present."""
        return Step([Not(s.down(process)), s.waiting(process), ForAll([x], Not(s.current(process, of, x))),
                     self.is_fresh_ticket(s, process, of, ticket)],
                    s.update(current=added(s.current, process, of, ticket), request=added(s.request, ticket, of)))

    def is_fresh_ticket(self, s, process, of, ticket):
        """Times of requests grow, and a request has a greater attempt each time it is withdrawn (`withdraw_from`)."""
        return self.is_fresh(s, process, ticket)

    @action
    def receive_request(self, s, process: Process, of: Process, ticket: Message):
        """`on_message` and `Ballot::request`. A process asks itself in the same way."""
        return Step([Not(s.down(process)), sender(ticket, of), s.request(ticket, process), self.keeps_order(s, process, ticket)],
                    s.update(passed=self.passes(s, process, of, ticket)))

    @action
    def cancel(self, s, process: Process, of: Process, ticket: Message):
        """`reconsider`: CANCEL to a voter that is no longer needed. The model allows it at any time."""
        return Step([Not(s.down(process)), s.waiting(process), s.current(process, of, ticket)],
                    self.drops_vote(s, process, of).update(ended=added(s.ended, ticket)))

    @action
    def give_back(self, s, process: Process, of: Process, ticket: Message):
        """`on_inquire`: YIELD of a counted vote. The model allows it at any time, without INQUIRE."""
        return Step([Not(s.down(process)), s.waiting(process), s.counted(process, of, ticket)], s.update(
            counted=self.counted_after_yield(s, process, of), yielded=added(s.yielded, ticket)))

    def counted_after_yield(self, s, process, of):
        return removed(s.counted, lambda a, b, _: And(a == process, b == of))

    @action
    def receive_reply(self, s, process: Process, of: Process, ticket: Message):
        """`on_reply`: a vote for the present request."""
        return Step([Not(s.down(process)), s.waiting(process), s.reply(ticket), s.current(process, of, ticket)],
                    s.update(counted=added(s.counted, process, of, ticket), reply=removed(s.reply, lambda a: a == ticket)))

    @action
    def return_stray(self, s, process: Process, ticket: Message):
        """`return_stray`: RELEASE of a vote that no request of the process needs. A process inside does not need votes that arrive
        now."""
        return Step([Not(s.down(process)), s.reply(ticket), sender(ticket, process), self.is_stray(s, process, ticket)],
                    s.update(ended=added(s.ended, ticket), reply=removed(s.reply, lambda a: a == ticket),
                             current=removed(s.current, lambda a, b, e: And(a == process, e == ticket))))

    def is_stray(self, s, process, ticket):
        unused = And(Not(s.waiting(process)), ForAll([n], Not(s.counted(process, n, ticket))))
        return Or(ForAll([n], Not(s.current(process, n, ticket))), unused)

    @action
    def enter(self, s, process: Process, quorum: Quorum):
        """`enter_if_complete`: the process counts the votes of all members of a quorum."""
        return Step([Not(s.down(process)), s.waiting(process),
                     ForAll([v], Implies(member(v, quorum), Exists([x], s.counted(process, v, x))))], s.update(
            waiting=removed(s.waiting, lambda a: a == process), inside=added(s.inside, process, quorum)))

    @action
    def leave(self, s, process: Process):
        """`release`: RELEASE to all voters."""
        return Step([Not(s.down(process)), Exists([q], s.inside(process, q))], self.without_request(s, process))

    @action
    def give_up(self, s, process: Process):
        """`reconsider` without any quorum: RELEASE to all voters."""
        return Step([Not(s.down(process)), s.waiting(process)], self.without_request(s, process))

    def without_request(self, s, process):
        own = lambda a, *_: a == process
        ended = lambda a: And(sender(a, process), Exists([n], s.request(a, n)))
        return s.update(ended=added_where(s.ended, ended), waiting=removed(s.waiting, own), inside=removed(s.inside, own),
                        current=removed(s.current, own), counted=removed(s.counted, own))

    # The voter.

    @action
    def vote(self, s, of: Process, ticket: Message):
        """`Ballot::grant`: a voter whose ballot is open and whose vote is free gives it to a request that has arrived."""
        return Step([Not(s.down(of)), s.request(ticket, of), s.passed(ticket, of), ForAll([x], Not(s.granted(of, x))),
                     self.is_open(s, of)],
                    s.update(granted=added(s.granted, of, ticket), reply=added(s.reply, ticket)))

    def is_open(self, s, of):
        return ForAll([n], Not(s.awaiting(of, n)))

    @action
    def receive_yield(self, s, of: Process, ticket: Message):
        """`Ballot::give_back`."""
        return Step([Not(s.down(of)), s.request(ticket, of), s.yielded(ticket)], s.update(
            granted=removed(s.granted, lambda a, b: And(a == of, b == ticket)),
            yielded=removed(s.yielded, lambda a: a == ticket)))

    @action
    def receive_end(self, s, of: Process, ticket: Message):
        """`Ballot::release`: CANCEL or RELEASE."""
        return Step([Not(s.down(of)), s.request(ticket, of), s.ended(ticket)], s.update(
            granted=removed(s.granted, lambda a, b: And(a == of, b == ticket))))

    @action
    def supersede(self, s, of: Process, ticket: Message, newer: Message, process: Process):
        """`Ballot::request`: a newer request of the same process ends the older one."""
        return Step([Not(s.down(of)), sender(ticket, process), sender(newer, process), s.request(newer, of),
                     Not(at_most(newer, ticket))], s.update(
            granted=removed(s.granted, lambda a, b: And(a == of, b == ticket))))

    # The invariant.

    def holds(self, s, process, of, ticket):
        """The process uses the vote of a voter, or REPLY with it is under way."""
        return And(Not(s.down(process)), s.current(process, of, ticket), Or(s.counted(process, of, ticket), s.reply(ticket)))

    INTERSECT = "two quorums have a common member"

    def is_used(self, invariant, action, label):
        return invariant != self.INTERSECT or label == "at most one live process is inside"

    def invariants(self, s):
        releases = lambda x, n: Or(s.rejoin(x), s.welcome(x, n))
        return [
            *[(self.INTERSECT, formula) for formula in self.quorum_system()],
            # Requests and votes.
            ("a request is sent once, and is no other message", ForAll([x, n, k], Implies(
                s.request(x, n), And(Not(releases(x, k)), Implies(s.request(x, k), n == k))))),
            ("a present request was sent",
             ForAll([p, x, v], Implies(s.current(p, v, x), And(sender(x, p), s.request(x, v))))),
            ("only requests are granted", ForAll([x, v], Implies(s.granted(v, x), s.request(x, v)))),
            ("only sent requests have messages", ForAll([x], Implies(
                Or(s.reply(x), s.yielded(x), s.ended(x)), Exists([n], s.request(x, n))))),
            ("a voter answers only requests that it has received", ForAll([p, x, v], Implies(
                Or(And(s.request(x, v), Or(s.granted(v, x), s.reply(x), s.yielded(x))), s.counted(p, v, x)), s.passed(x, v)))),
            ("only sent messages arrive", ForAll([x, v], Implies(s.passed(x, v), self.is_sent(s, x, v)))),
            ("a process has one request at a voter",
             ForAll([p, v, x, y], Implies(And(s.current(p, v, x), s.current(p, v, y)), x == y))),
            ("the present request is the last one", ForAll([p, v, x, y], Implies(
                And(s.current(p, v, x), sender(y, p), s.request(y, v)), at_most(y, x)))),
            ("the present request has not ended",
             ForAll([p, v, x], Implies(And(Not(s.down(p)), s.current(p, v, x)), Not(s.ended(x))))),
            ("a process without a request is outside and does not wait", ForAll([p, v, x, q], And(
                Implies(s.current(p, v, x), Or(s.waiting(p), Exists([r], s.inside(p, r)))),
                Not(And(s.waiting(p), s.inside(p, q)))))),
            ("a counted vote is for the present request",
             ForAll([p, v, x], Implies(s.counted(p, v, x), s.current(p, v, x)))),
            ("a vote is in one place", ForAll([p, v, x], Implies(
                And(Not(s.down(p)), s.current(p, v, x)),
                And(Not(And(s.counted(p, v, x), s.reply(x))), Not(And(s.counted(p, v, x), s.yielded(x))),
                    Not(And(s.reply(x), s.yielded(x))))))),
            ("a voter has one vote", ForAll([v, x, y], Implies(And(s.granted(v, x), s.granted(v, y)), x == y))),
            # Recoveries.
            ("a voter without all welcomes has given no vote",
             ForAll([v, n, x], Not(And(s.awaiting(v, n), s.granted(v, x), Not(s.down(v)))))),
            ("a voter does not wait for its own welcome", ForAll([v], Not(s.awaiting(v, v)))),
            ("a request after a message that releases votes arrives after it", ForAll([p, v, x, y], Implies(
                And(s.current(p, v, x), sender(y, p), p != v, releases(y, v), Not(s.passed(y, v)), Not(s.down(p))),
                And(Not(at_most(x, y)), Not(s.passed(x, v)))))),
            ("a vote in use is given, or its voter is down, or it awaits the welcome", ForAll([p, v, x], Implies(
                Or(self.holds(s, p, v, x), And(Not(s.down(p)), s.current(p, v, x), s.yielded(x))),
                Or(s.granted(v, x), s.down(v), s.awaiting(v, p))))),
            ("a vote is used by one process", ForAll([p, k, v, x, y], Implies(
                And(self.holds(s, p, v, x), self.holds(s, k, v, y)), p == k))),
            # Inside.
            ("a live process inside counts the votes of its quorum", ForAll([p, q, v], Implies(
                And(Not(s.down(p)), s.inside(p, q), member(v, q)), Exists([x], s.counted(p, v, x))))),
            self.exclusion(s),
        ]

    def exclusion(self, s):
        return ("at most one live process is inside", ForAll([p, k, q, r], Implies(
            And(s.inside(p, q), s.inside(k, r), Not(s.down(p)), Not(s.down(k))), p == k)))

    def safety(self, s):
        return [self.exclusion(s)]


def domain(messages, quorums="{v}"):
    """Candidates h and k, a voter v, messages in the order of sending, and quorums. The first letter of a message is its sender: `hv`
    and `hv2` are requests of h to v, `vr` is REJOIN of v, `hw` is WELCOME of h."""
    names = Domain((Process, "h k v"), (Message, messages), (Quorum, quorums))
    names.define(member, [f"{quorum[1]} {quorum}" for quorum in quorums.split()])
    names.define(sender, [f"{message} {message[0]}" for message in messages.split()])
    return names.define_order(at_most)


def votes(process, of="v"):
    """The process asks this voter and counts its vote."""
    ticket = process + of
    return [f"ask {process} {of} {ticket}", f"receive_request {of} {process} {ticket}", f"vote {of} {ticket}",
            f"receive_reply {process} {of} {ticket}"]


def enters(process, of="v"):
    """The process enters with the vote of one voter."""
    return [f"acquire {process}", *votes(process, of), f"enter {process} {{{of}}}"]


V_RECOVERS = ["crash v", "recover v vr"]
K_WELCOMES_V = ["receive_rejoin k v vr kw", "receive_welcome v k kw"]
H_WELCOMES_V = ["receive_rejoin h v vr hw", "receive_welcome v h hw"]

# Runs that the algorithm allows. Together they contain every action.
ALLOWED_RUNS = {
    "v recovers while h is inside, and votes for k after h has left": (
        domain("hv vr kw hw kv"),
        [*enters("h"), *V_RECOVERS, "receive_rejoin_inside h v vr", *K_WELCOMES_V, "leave h", "send_owed_welcome h v hw",
         "receive_welcome v h hw", *enters("k")]),
    "v recovers while h waits, k crashes, and h asks again": (
        domain("hv vr hw hv2"),
        ["acquire h", *votes("h"), *V_RECOVERS, *H_WELCOMES_V, "crash k", "learn_of_crash v k", "ask h v hv2",
         "receive_request v h hv2", "vote v hv2", "receive_reply h v hv2", "enter h {v}"]),
    "h yields, cancels and asks again, k cancels, h returns a vote and enters, k gives up": (
        domain("hv kv hv2"),
        ["acquire h", *votes("h"), "give_back h v hv", "receive_yield v hv", "acquire k", *votes("k"), "cancel h v hv",
         "ask h v hv2", "receive_request v h hv2", "cancel k v kv", "receive_end v kv", "vote v hv", "supersede v hv hv2 h",
         "vote v hv2", "return_stray h hv", "receive_reply h v hv2", "enter h {v}", "give_up k"]),
}


class VotesWithoutWelcome(FixedCoteries):
    rule = "a voter that has recovered votes before all others have sent WELCOME"
    domain = domain("hv vr kv")
    script = [*enters("h"), *V_RECOVERS, *enters("k")]

    def is_open(self, s, of):
        return And()


class ForgetsTheCrash(FixedCoteries):
    rule = "a process that recovers does not remember that it was down"
    domain = VotesWithoutWelcome.domain
    script = VotesWithoutWelcome.script

    def after_recovery(self, s, process):
        return s.update(inside=removed(s.inside, lambda a, b: a == process))


class WelcomesInside(FixedCoteries):
    rule = "a process inside sends WELCOME before it leaves"
    domain = domain("hv vr hw kw kv")
    script = [*enters("h"), *V_RECOVERS, *H_WELCOMES_V, *K_WELCOMES_V, *enters("k")]

    def may_welcome(self, s, process):
        return And()


class KeepsVoteOfRecovered(FixedCoteries):
    rule = "a waiting process keeps the vote of a voter that has recovered"
    domain = domain("hv vr hw kw kv")
    script = ["acquire h", *votes("h"), *V_RECOVERS, *H_WELCOMES_V, *K_WELCOMES_V, *enters("k"), "enter h {v}"]

    def drops_vote_of_recovered(self, s, process, of):
        return s


class StaysInside(FixedCoteries):
    rule = "a process that crashes inside is inside again after its recovery"
    domain = domain("hv kv hr")
    script = [*enters("h"), "crash h", "learn_of_crash v h", *enters("k"), "recover h hr"]

    def after_recovery(self, s, process):
        return super().after_recovery(s, process).update(inside=s.inside)


class NoFreshAttempts(FixedCoteries):
    rule = "a request that was cancelled at a voter is sent to it again with the same attempt"
    domain = domain("hv kv")
    script = ["acquire h", "ask h v hv", "receive_request v h hv", "vote v hv", "cancel h v hv", "receive_end v hv", *enters("k"),
              "ask h v hv", "receive_reply h v hv", "enter h {v}"]

    def is_fresh_ticket(self, s, process, of, ticket):
        later = lambda x: And(sender(x, process), s.request(x, of), Not(at_most(x, ticket)))
        again = And(sender(ticket, process), s.request(ticket, of), ForAll([x], Not(later(x))))
        return Or(again, self.is_fresh(s, process, ticket))


class YieldsAndCounts(FixedCoteries):
    rule = "a candidate counts a vote that it has given back"
    domain = domain("hv kv")
    script = ["acquire h", *votes("h"), "give_back h v hv", "enter h {v}", "receive_yield v hv", *enters("k")]

    def counted_after_yield(self, s, process, of):
        return s.counted


class LinksReorder(FixedCoteries):
    rule = "a message overtakes an earlier one: REQUEST of a recovered process arrives before its REJOIN"
    domain = domain("hr hv vw kv")
    script = ["crash h", "recover h hr", *enters("h"), "receive_rejoin v h hr vw", *enters("k")]

    def keeps_order(self, s, process, message):
        return And()


class LateSuspicions(FixedCoteries):
    rule = "the detector reports a crash after the recovery"
    domain = domain("hr hv kv")
    script = ["crash h", "recover h hr", *enters("h"), "learn_of_crash v h", *enters("k")]
    relations = {**FixedCoteries.relations, "has_crashed": (Process,)}

    @action
    def crash(self, s, process: Process):
        return Step([], s.update(down=added(s.down, process), has_crashed=added(s.has_crashed, process)))

    def is_reported(self, s, crashed):
        return s.has_crashed(crashed)


class DisjointQuorums(FixedCoteries):
    rule = "two quorums may have no common member"
    domain = domain("hh kk", "{h} {k}")
    script = [*enters("h", "h"), *enters("k", "k")]

    def quorum_system(self):
        return []


class VotesTwice(lacks_guard(FixedCoteries, "vote", 3)):
    rule = "a voter gives its vote although another request has it"
    domain = domain("hv kv")
    script = [*enters("h"), *enters("k")]


class EndsUnasked(lacks_guard(FixedCoteries, "receive_end", 2)):
    rule = "a voter frees its vote although neither CANCEL nor RELEASE was sent"
    domain = domain("hv kv")
    script = [*enters("h"), "receive_end v hv", *enters("k")]


class TakesVoteBack(lacks_guard(FixedCoteries, "receive_yield", 2)):
    rule = "a voter takes its vote back without waiting for YIELD"
    domain = domain("hv kv")
    script = [*enters("h"), "receive_yield v hv", *enters("k")]


class SupersedesItself(lacks_guard(FixedCoteries, "supersede", 4)):
    rule = "a request that arrives again ends itself"
    domain = domain("hv kv")
    script = [*enters("h"), "supersede v hv hv h", *enters("k")]


MUTANTS = [VotesWithoutWelcome, ForgetsTheCrash, WelcomesInside, KeepsVoteOfRecovered, StaysInside, NoFreshAttempts,
           YieldsAndCounts, LinksReorder, LateSuspicions, DisjointQuorums, VotesTwice, EndsUnasked, TakesVoteBack,
           SupersedesItself]


def two_inside(s):
    """The negation of exclusion."""
    is_inside = lambda process: And(Not(s.down(process)), Exists([q], s.inside(process, q)))
    return Exists([p, k], And(p != k, is_inside(p), is_inside(k)))


# Guards without which the proof still holds.
STOPS = "a process that is down takes no step. Exclusion is about processes that are up, and needs less"
ONESELF = "a process does not send this to itself, and is not suspected by itself"
ONCE = "it says when the code does this. To do it more often is never unsafe"
NOT_ITS_OWN = "without it the action changes nothing: a voter gives its vote to requests that are sent to it"
SPARE_GUARDS = {
    ("recover", 0): "to recover without a crash is a crash and a recovery",
    **{(name, 0): STOPS for name in ("learn_of_crash", "receive_rejoin", "receive_rejoin_inside", "send_owed_welcome",
                                     "receive_welcome", "acquire", "ask", "receive_request", "cancel", "give_back", "receive_reply",
                                     "return_stray", "enter", "leave", "give_up", "receive_yield", "receive_end", "supersede")},
    **{(name, 1): ONESELF for name in ("learn_of_crash", "receive_rejoin", "receive_welcome")},
    ("receive_rejoin_inside", 5): "a process outside may send WELCOME later, too",
    ("send_owed_welcome", 1): "a process outside may send WELCOME at any time after REJOIN",
    ("acquire", 1): ONCE, ("enter", 1): "the votes of a quorum suffice, whether the process waits or not",
    ("return_stray", 3): "the vote of a process that waits is withdrawn with it, and a process inside needs the votes that it counts",
    ("receive_reply", 1): "only a process with an attempt at the voter counts its vote",
    ("leave", 1): "to leave from outside gives only own votes back", ("give_up", 1): "to give up gives only own votes back",
    **{("receive_request", guard): "a voter may remember any request. It votes for requests that were sent" for guard in (1, 2, 3)},
    **{(name, 1): NOT_ITS_OWN for name in ("receive_yield", "receive_end")},
}


PROOF = Proof(
    title="quorum mutex over fixed coteries",
    conclusion="fixed coteries exclude with crashes and recoveries, for any number of processes",
    system=FixedCoteries,
    allowed_runs=ALLOWED_RUNS,
    mutants=MUTANTS,
    violation=two_inside,
    violation_name="two inside",
    spare_guards=SPARE_GUARDS,
)

if __name__ == "__main__":
    main(PROOF)
