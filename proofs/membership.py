"""At most one client is valid, and tokens grow, while the voters change any number of times.

A model of the protocol of docs/membership.md; actions name its rules. Configurations form a chain of any length. The numbers of voters,
requests, votes and beats are not bounded, and neither are the quorums. Only quorums of the same or of adjacent configurations
have to intersect. So joint configurations need no special treatment.

locks.py proves what holds in every configuration: attempts, candidates of one session, force releases, withdrawals of leases. Here
all candidates of a request know what any of them knows, may use any configuration that is known to anybody, and go back. A message
carries the configuration of its candidate. Time is that of locks.py: an element of `Instant` is the end of the validity of one beat.

paxos.py proves that one configuration follows each. README.md lists what is not modelled.
"""

from z3 import And, BoolSort, Const, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

from scripted import Names, Program, main
from verifier import Step, TransitionSystem, action, added, added_where, removed, total_order

Voter = DeclareSort("Voter")
Config = DeclareSort("Config")
Quorum = DeclareSort("Quorum")
Request = DeclareSort("Request")
Vote = DeclareSort("Vote")
# Numbers of votes and tokens.
Number = DeclareSort("Number")
Instant = DeclareSort("Instant")

# Static relations.
member = Function("member", Voter, Quorum, BoolSort())
quorum_of = Function("quorum_of", Quorum, Config)
# The chain of configurations, also those that are never chosen.
up_to, CONFIG_ORDER = total_order(Config, "up_to")
is_first = Function("is_first", Config, BoolSort())
follows = Function("follows", Config, Config, BoolSort())
by = Function("by", Vote, Voter, BoolSort())
vote_for = Function("vote_for", Vote, Request)
number_of = Function("number_of", Vote, Number)
relayed = Function("relayed", Request, BoolSort())
at_most, NUMBER_ORDER = total_order(Number, "at_most")

n, m, o = Consts("n m o", Voter)
q, p = Consts("q p", Quorum)
g, h, i, j = Consts("g h i j", Config)
v, w = Consts("v w", Vote)
r, x = Consts("r x", Request)
k, e = Consts("k e", Number)
t, u = Consts("t u", Instant)


def less(number, other):
    return Not(at_most(other, number))


def before(config, other):
    return Not(up_to(other, config))


def are_adjacent(config, other):
    return Or(config == other, follows(config, other), follows(other, config))


def of_quorum(quorum, holds):
    return ForAll([n], Implies(member(n, quorum), holds(n)))


CHAIN = CONFIG_ORDER + [
    ForAll([i, j], Implies(is_first(i), up_to(i, j))),
    ForAll([i, j, g], Implies(follows(j, i), And(before(i, j), Or(up_to(g, i), up_to(j, g))))),
]
ADJACENT_INTERSECT = [ForAll([q, p], Implies(are_adjacent(quorum_of(q), quorum_of(p)),
                                             Exists([n], And(member(n, q), member(n, p)))))]
VOTES = NUMBER_ORDER + [ForAll([v, n, m], Implies(And(by(v, n), by(v, m)), n == m))]


CLOSED = "a voter stays closed"
LEARNED = "a voter stays learned"
CLOSER_IN_NEXT = "quorums of the configuration before a settled one have a closed voter"
LEARNER_IN_NEXT = "quorums of a settled configuration and of the next one have a voter that has learned"
CLOSER_BETWEEN = "between two configurations that are not adjacent, quorums of the lower one have a closed voter"
LEARNER_BETWEEN = "between two configurations that are not adjacent, quorums of the higher one have a voter that has learned"

LEARNS = "a voter learns from a quorum"
WAITED = "a voter that relearns has waited"
RELIED = "a client relies on votes of a quorum of a chosen configuration"
SHARED = "a voter of every quorum of the configuration has answered"
ANSWERED = "a voter has relearned from every quorum, or knows of a newer configuration"
REMEMBERED = "the voters of an entry remember its token"
RELEARNS_SHARED = "a voter relearns from the voters of its entries"
RELEARNS_NEWER = "a voter that knows more relearns the tokens of its entries"
ADOPTS_NEWER = "a voter that knows less adopts a newer configuration"
ENTRY_CHOSEN = "the configuration of an entry is chosen"
KNOWS_CHOSEN = "voters know chosen configurations, and those before"


class Membership(TransitionSystem):
    """The protocol. A mutant is a subclass that overrides one rule."""

    relations = {
        # Time and clients.
        "over": (Instant,),
        # The client has begun a beat whose validity ends at this instant.
        "begun": (Request, Instant),
        # A client that is not relayed has entered.
        "inside": (Request,),
        "stopped": (Request,),
        # The client relies on this request until this instant, because of this quorum.
        "relies": (Request, Quorum, Instant),
        # Tokens that the client has received since it began to rely on the request without interruption.
        "token": (Request, Number),
        # The client has entered with this token, which this quorum has confirmed. A history, which no rule uses.
        "entered": (Request, Number, Quorum),
        # Configurations.
        # The configuration was chosen, or follows a joint one that is settled.
        "chosen": (Config,),
        "settled": (Config,),
        # Voters that were closed for the configuration before, and that had learned, when it was settled. Histories.
        "closer": (Voter, Config),
        "learner": (Voter, Config),
        # The voter knows this configuration durably.
        "knows": (Voter, Config),
        # Instants that have to be over before the voter is closed for the configuration before this one.
        "waits_for": (Voter, Config, Instant),
        # The other voter has answered, and the numbers in these answers, for this configuration.
        "heard_from": (Voter, Config, Voter),
        "heard": (Voter, Config, Number),
        "learned": (Voter, Config),
        # The durable learned floor.
        "floor": (Voter, Number),
        # Voters and votes.
        "given": (Vote,),
        # The vote is given at present.
        "out": (Vote,),
        # The voter gives no number up to this one.
        "used": (Voter, Number),
        # The voter keeps the votes of this client at least until this instant.
        "keeps": (Voter, Request, Instant),
        # Answers that count for a candidate of this configuration: the vote answers a request of it, and may have this token;
        "offered": (Vote, Config, Number),
        # its voter has confirmed this number;
        "confirmed": (Vote, Config, Number),
        # its voter keeps it for the beat;
        "echoed": (Vote, Config, Instant),
        # its voter keeps it for the beat, and lists this token.
        "listed": (Vote, Config, Number, Instant),
        # RAISE with `enters` has been sent by a candidate of this configuration, and recorded.
        "record_request": (Vote, Config, Number),
        "recorded": (Vote, Config, Number),
        "is_recorded": (Vote,),
        # YIELD has been sent, and the vote was freed because of it.
        "returned": (Vote,),
        "given_back": (Vote,),
        # The voter has forgotten its votes and numbers. It may ask others for numbers now.
        "abstains": (Voter,),
        "relearning": (Voter,),
        "relearned_from": (Voter, Voter),
        "relearned": (Voter, Number),
    }

    # Hypotheses of the condition about this invariant after this action. All others are left out, because they slow the solver down:
    # to prove it, or to find a state in which it fails for a mutant.
    USES_ONLY = {
        ("settle", CLOSED): [CLOSED], ("settle", LEARNED): [LEARNED], ("learn", LEARNS): [LEARNS],
        ("vote_again", RELIED): [RELIED, WAITED],
        ("vote_again", SHARED): [],
        ("vote_again", ANSWERED): [CLOSER_BETWEEN, LEARNER_BETWEEN, KNOWS_CHOSEN],
        ("vote_again", REMEMBERED): [REMEMBERED, RELEARNS_SHARED, RELEARNS_NEWER, ADOPTS_NEWER, ENTRY_CHOSEN],
    }

    def is_used(self, invariant, action, label):
        return invariant in self.USES_ONLY.get((action, label), [invariant])

    def axioms(self):
        return VOTES + CHAIN + self.intersections()

    def intersections(self):
        return ADJACENT_INTERSECT

    def initial(self, s):
        """All voters know the first configuration, which is settled. Nothing else has happened."""
        none = [formula for name in self.relations if name not in ("chosen", "settled", "knows") for formula in self.empty(s, name)]
        return [*none, ForAll([i], And(s.chosen(i) == is_first(i), s.settled(i) == is_first(i))),
                ForAll([n, i], s.knows(n, i) == is_first(i))]

    def valid(self, s, request):
        """The client may rely on the request now."""
        return And(Not(s.stopped(request)), Exists([q, t], And(s.relies(request, q, t), Not(s.over(t)))))

    # Configurations.

    @action
    def choose(self, s, config: Config, following: Config):
        """Rule 1: a configuration is chosen, or follows a joint one, when the one before it is settled."""
        return Step([follows(following, config), self.may_be_followed(s, config)], s.update(chosen=added(s.chosen, following)))

    def may_be_followed(self, s, config):
        return s.settled(config)

    @action
    def adopt(self, s, voter: Voter, config: Config):
        """The voter learns of a configuration, from any message. A voter that has forgotten its votes starts again (rule 8)."""
        is_new = lambda b, f: And(b == voter, up_to(f, config), Not(s.knows(voter, f)))
        return Step([s.chosen(config)], s.update(
            knows=added_where(s.knows, lambda b, f: And(b == voter, up_to(f, config))),
            waits_for=added_where(s.waits_for, lambda b, f, a: And(is_new(b, f), self.has_to_lapse(s, voter, a))),
            **self.starts_again(s, voter)))

    def has_to_lapse(self, s, voter, instant):
        return Exists([v], And(by(v, voter), s.out(v), s.keeps(voter, vote_for(v), instant)))

    def starts_again(self, s, voter):
        own = lambda b, *_: b == voter
        return dict(relearned_from=removed(s.relearned_from, own), relearned=removed(s.relearned, own))

    @action
    def hear(self, s, voter: Voter, config: Config, other: Voter):
        """Rule 6: a voter of the configuration before this one answers with its numbers. The answer may arrive late."""
        theirs = lambda b, f, a: And(b == voter, f == config, self.answer(s, other, a))
        return Step([self.is_source(s, other, config), Not(s.heard_from(voter, config, other)), Not(s.learned(voter, config))],
                    s.update(heard_from=added(s.heard_from, voter, config, other), heard=added_where(s.heard, theirs)))

    def is_source(self, s, other, config):
        return And(s.knows(other, config), Not(s.abstains(other)))

    def answer(self, s, other, number):
        return Or(s.used(other, number), s.floor(other, number))

    @action
    def learn(self, s, voter: Voter, config: Config, quorum: Quorum):
        """Rule 6: a quorum of the configuration before this one has answered."""
        return Step([follows(config, quorum_of(quorum)), self.has_heard_all(s, voter, config, quorum)], s.update(
            learned=added(s.learned, voter, config),
            floor=added_where(s.floor, lambda b, f: And(b == voter, s.heard(voter, config, f)))))

    def has_heard_all(self, s, voter, config, quorum):
        return of_quorum(quorum, lambda b: s.heard_from(voter, config, b))

    @action
    def settle(self, s, config: Config, old: Quorum, new: Quorum):
        """Rule 7: a quorum of the configuration before this one is closed, and a quorum of this one has learned."""
        return Step([follows(config, quorum_of(old)), quorum_of(new) == config,
                     of_quorum(old, lambda b: self.is_closed(s, b, config)), of_quorum(new, lambda b: self.has_learned(s, b, config))],
                    s.update(settled=added(s.settled, config),
                             closer=added_where(s.closer, lambda b, f: And(member(b, old), f == config, Not(s.settled(config)))),
                             learner=added_where(s.learner, lambda b, f: And(member(b, new), f == config, Not(s.settled(config))))))

    def is_closed(self, s, voter, config):
        return And(s.knows(voter, config), ForAll([t], Implies(s.waits_for(voter, config, t), s.over(t))))

    def has_learned(self, s, voter, config):
        return s.learned(voter, config)

    # Time and clients.

    @action
    def pass_instant(self, s, instant: Instant):
        return Step([], s.update(over=added(s.over, instant)))

    @action
    def begin_beat(self, s, request: Request, instant: Instant):
        return Step([], s.update(begun=added(s.begun, request, instant)))

    @action
    def stop(self, s, request: Request):
        """The client declares that it has stopped."""
        return Step([], s.update(stopped=added(s.stopped, request)))

    def after_entering(self, s, request, quorum, token, instant):
        goes_on = lambda b: Or(b != request, self.valid(s, request))
        return s.update(
            relies=added(s.relies, request, quorum, instant), entered=added(s.entered, request, token, quorum),
            token=lambda b, f: Or(And(b == request, f == token), And(s.token(b, f), goes_on(b))))

    @action
    def enter(self, s, request: Request, quorum: Quorum, token: Number, instant: Instant):
        """Rules 3 and 4: a client that is not relayed enters with votes of a quorum that answer requests of this configuration."""
        counts = lambda voter: Exists([v], And(
            by(v, voter), vote_for(v) == request, Not(s.returned(v)), self.has_offered(s, v, quorum_of(quorum), token),
            self.has_confirmed(s, v, quorum_of(quorum), token), s.echoed(v, quorum_of(quorum), instant)))
        return Step([Not(relayed(request)), Not(s.inside(request)), Not(s.stopped(request)), Not(s.over(instant)),
                     of_quorum(quorum, counts)],
                    self.after_entering(s, request, quorum, token, instant).update(inside=added(s.inside, request)),
                    self.about_entering(s, request, quorum, token))

    def about_entering(self, s, request, quorum, token):
        """Lemmas about the state before an entry."""
        config = quorum_of(quorum)
        return [
            ("no configuration beyond the next one is chosen", ForAll([j], Implies(And(s.chosen(j), before(config, j)), follows(j, config)))),
            ("its votes are out", ForAll([n], Implies(member(n, quorum), Exists([v], And(by(v, n), vote_for(v) == request, s.out(v)))))),
            ("no other client is valid", ForAll([x, p, t], Implies(
                And(s.relies(x, p, t), Not(s.over(t)), Not(s.stopped(x))), x == request))),
            ("its token is greater than all others", ForAll([x, e, p], Implies(And(s.entered(x, e, p), x != request), less(e, token)))),
        ]

    def has_offered(self, s, vote, config, token):
        return s.offered(vote, config, token)

    def has_confirmed(self, s, vote, config, token):
        return s.confirmed(vote, config, token)

    @action
    def enter_listed(self, s, request: Request, quorum: Quorum, token: Number, instant: Instant):
        """A relay reports a token that a quorum lists, whichever relay has recorded it. The answer arrives in time."""
        counts = lambda voter: Exists([v], And(by(v, voter), vote_for(v) == request, s.listed(v, quorum_of(quorum), token, instant)))
        return Step([relayed(request), Not(s.stopped(request)), Not(s.over(instant)), s.chosen(quorum_of(quorum)), of_quorum(quorum, counts)],
                    self.after_entering(s, request, quorum, token, instant), self.about_entering(s, request, quorum, token))

    @action
    def extend(self, s, request: Request, quorum: Quorum, instant: Instant):
        """Rule 3: a client that is valid stays so with votes of a quorum, spare votes too. Those of relays need a record."""
        backs = lambda v: Or(And(Not(relayed(request)), Not(s.returned(v))), Exists([j, k], s.recorded(v, j, k)))
        counts = lambda voter: Exists([v], And(by(v, voter), vote_for(v) == request, backs(v),
                                               s.echoed(v, quorum_of(quorum), instant)))
        return Step([self.valid(s, request), s.chosen(quorum_of(quorum)), of_quorum(quorum, counts)],
                    s.update(relies=added(s.relies, request, quorum, instant)))

    # Votes.

    def accepts(self, s, voter, config):
        """Rule 2: the candidate knows a configuration that is at least as new as the voter's own."""
        return And(s.chosen(config), self.is_as_new(s, voter, config))

    def is_as_new(self, s, voter, config):
        return ForAll([g], Implies(s.knows(voter, g), up_to(g, config)))

    def is_out(self, s, voter, vote):
        return [by(vote, voter), Not(s.abstains(voter)), s.out(vote)]

    @action
    def give(self, s, voter: Voter, vote: Vote, config: Config):
        """The voter gives its free vote to any request, with a number that is greater than all earlier ones."""
        return Step([by(vote, voter), Not(s.given(vote)), Not(s.abstains(voter)), self.is_free(s, voter),
                     self.is_unused(s, voter, vote), self.accepts(s, voter, config)], s.update(
            given=added(s.given, vote), out=added(s.out, vote),
            used=added_where(s.used, lambda b, f: And(b == voter, at_most(f, number_of(vote))))))

    def is_free(self, s, voter):
        return ForAll([v], Not(And(by(v, voter), s.out(v))))

    def is_unused(self, s, voter, vote):
        return Not(s.used(voter, number_of(vote)))

    @action
    def offer(self, s, voter: Voter, vote: Vote, config: Config):
        """Rules 4 and 6: VOTE answers a request of this configuration. The vote may have tokens above the learned floor."""
        may_have = lambda b, f, a: And(b == vote, f == config, at_most(number_of(vote), a), self.is_above_floor(s, voter, a))
        return Step([*self.is_out(s, voter, vote), self.accepts(s, voter, config)],
                    s.update(offered=added_where(s.offered, may_have)))

    def is_above_floor(self, s, voter, number):
        return Not(s.floor(voter, number))

    @action
    def confirm(self, s, voter: Voter, vote: Vote, config: Config, number: Number):
        """RAISE: all later votes have greater numbers. The answer counts for newer configurations, too."""
        return Step([*self.is_out(s, voter, vote), self.accepts(s, voter, config)], s.update(
            confirmed=added_where(s.confirmed, lambda b, f, a: And(b == vote, self.counts_in(config, f), a == number)),
            used=added_where(s.used, lambda b, f: And(b == voter, at_most(f, number)))))

    @action
    def propose(self, s, vote: Vote, config: Config, token: Number):
        """RAISE with `enters` by a relay of this configuration: the vote fits the token."""
        return Step([relayed(vote_for(vote)), self.fits(s, vote, config, token)],
                    s.update(record_request=added(s.record_request, vote, config, token)))

    def fits(self, s, vote, config, token):
        """Rules 5 and 6: the vote may have the token, or it is recorded with it in this configuration or a newer one."""
        return Or(self.has_offered(s, vote, config, token),
                  And(s.chosen(config), Exists([g], And(self.is_record_of(g, config), s.recorded(vote, g, token)))))

    def is_record_of(self, made_in, config):
        return up_to(config, made_in)

    @action
    def propose_inside(self, s, vote: Vote, config: Config, token: Number):
        """Rule 5: RAISE with `enters` for any vote of a client that is valid with the token."""
        of = vote_for(vote)
        return Step([relayed(of), s.given(vote), s.chosen(config), s.token(of, token), self.is_still_inside(s, of)],
                    s.update(record_request=added(s.record_request, vote, config, token)))

    def is_still_inside(self, s, request):
        return self.valid(s, request)

    @action
    def record(self, s, voter: Voter, vote: Vote, config: Config, token: Number):
        """The voter records the token, and the configuration of the relay."""
        return Step([*self.is_out(s, voter, vote), s.record_request(vote, config, token), self.is_as_new(s, voter, config)], s.update(
            recorded=added(s.recorded, vote, config, token), is_recorded=added(s.is_recorded, vote),
            used=added_where(s.used, lambda b, f: And(b == voter, at_most(f, token)))))

    @action
    def return_vote(self, s, vote: Vote):
        """YIELD: the client is not inside. Voters ensure this for relays (`receive_yield`)."""
        return Step([Or(relayed(vote_for(vote)), Not(s.inside(vote_for(vote))))], s.update(returned=added(s.returned, vote)))

    @action
    def receive_yield(self, s, voter: Voter, vote: Vote):
        """YIELD is accepted from candidates of all configurations (rule 2), but not for a vote with a record."""
        return Step([*self.is_out(s, voter, vote), s.returned(vote), Not(s.is_recorded(vote))],
                    s.update(out=removed(s.out, lambda b: b == vote), given_back=added(s.given_back, vote)))

    @action
    def receive_release(self, s, voter: Voter, vote: Vote):
        """The client's word is accepted from candidates of all configurations (rule 2)."""
        return Step([*self.is_out(s, voter, vote), s.stopped(vote_for(vote))],
                    s.update(out=removed(s.out, lambda b: b == vote)))

    # Beats.

    @action
    def receive_beat(self, s, voter: Voter, request: Request, instant: Instant):
        """The voter keeps the client's votes for one ttl from now."""
        return Step([s.begun(request, instant), Not(s.abstains(voter))], s.update(keeps=added(s.keeps, voter, request, instant)))

    @action
    def echo(self, s, voter: Voter, vote: Vote, config: Config, instant: Instant):
        """The voter lists the vote for a beat that it has accepted. The answer counts for newer configurations, too."""
        return Step([*self.is_out(s, voter, vote), s.keeps(voter, vote_for(vote), instant), self.accepts(s, voter, config)], s.update(
            echoed=added_where(s.echoed, lambda b, f, a: And(b == vote, self.counts_in(config, f), a == instant))))

    def counts_in(self, config, other):
        """Rule 3: an answer to a candidate of a configuration counts when the candidate has adopted the other one."""
        return up_to(config, other)

    @action
    def list_token(self, s, voter: Voter, vote: Vote, config: Config, made_in: Config, token: Number, instant: Instant):
        """Rule 5: the same with a recorded token, which counts in the configuration in which it was recorded, and in older ones."""
        counts = lambda b, f, a, d: And(b == vote, self.counts_in(config, f), self.is_record_of(made_in, f), a == token, d == instant)
        return Step([*self.is_out(s, voter, vote), s.keeps(voter, vote_for(vote), instant), self.accepts(s, voter, config),
                     s.recorded(vote, made_in, token)],
                    s.update(listed=added_where(s.listed, counts), echoed=added_where(
                        s.echoed, lambda b, f, a: And(b == vote, self.counts_in(config, f), a == instant))))

    @action
    def lapse(self, s, voter: Voter, request: Request):
        """The voter has received no beat of the client for one ttl."""
        lapses = lambda b: And(by(b, voter), vote_for(b) == request)
        return Step([Not(s.abstains(voter)), self.are_over(s, voter, request)], s.update(out=removed(s.out, lapses)))

    def are_over(self, s, voter, request):
        return ForAll([t], Implies(s.keeps(voter, request, t), s.over(t)))

    # Rule 8.

    @action
    def forget(self, s, voter: Voter):
        """The voter has forgotten its votes and numbers, not what is durable. It abstains until no client relies on a vote."""
        own = lambda b, *_: b == voter
        return Step([], s.update(
            abstains=added(s.abstains, voter), used=removed(s.used, own), relearning=removed(s.relearning, own),
            keeps=added_where(s.keeps, lambda b, f, a: And(b == voter, s.begun(f, a))), **self.starts_again(s, voter),
            **self.lost_by_forgetting(s, voter)))

    def lost_by_forgetting(self, s, voter):
        return {}

    @action
    def begin_relearning(self, s, voter: Voter):
        return Step([s.abstains(voter), self.has_waited(s, voter)], s.update(relearning=added(s.relearning, voter)))

    def has_waited(self, s, voter):
        return ForAll([r], self.are_over(s, voter, r))

    @action
    def relearn_from(self, s, voter: Voter, other: Voter):
        """A voter that remembers answers. If it knows a newer configuration, the voter adopts that one first."""
        return Step([s.relearning(voter), self.remembers(s, other), self.knows_as_much(s, voter, other)], s.update(
            relearned_from=added(s.relearned_from, voter, other),
            relearned=added_where(s.relearned, lambda b, f: And(b == voter, self.answer(s, other, f)))))

    def remembers(self, s, other):
        return Not(s.abstains(other))

    def knows_as_much(self, s, voter, other):
        return ForAll([g], Implies(s.knows(other, g), s.knows(voter, g)))

    @action
    def vote_again(self, s, voter: Voter, quorum: Quorum):
        """A quorum of the voter's newest configuration has answered."""
        own = lambda b, *_: b == voter
        return Step([s.relearning(voter), self.is_newest(s, voter, quorum_of(quorum)), self.has_relearned(s, voter, quorum)], s.update(
            abstains=removed(s.abstains, own), relearning=removed(s.relearning, own), out=removed(s.out, lambda b: by(b, voter)),
            used=added_where(s.used, lambda b, f: And(b == voter, s.relearned(voter, f))), **self.starts_again(s, voter)),
            self.about_relearning(s, voter, quorum))

    def about_relearning(self, s, voter, quorum):
        """Lemmas: whatever a quorum has entered with, the voter has asked somebody who remembers it, or knows of something newer."""
        answered = lambda condition: Exists([m, j], And(s.relearned_from(voter, m), condition))
        return [(SHARED, ForAll([q], Implies(quorum_of(q) == quorum_of(quorum), answered(member(m, q))))),
                (ANSWERED, ForAll([q], Implies(s.chosen(quorum_of(q)), Or(
            answered(member(m, q)),
            answered(And(s.learner(m, j), before(quorum_of(q), j), before(j, quorum_of(quorum)))),
            answered(And(s.closer(m, j), follows(j, quorum_of(quorum)), before(j, quorum_of(q))))))))]

    def is_newest(self, s, voter, config):
        return And(s.knows(voter, config), ForAll([g], Implies(s.knows(voter, g), up_to(g, config))))

    def has_relearned(self, s, voter, quorum):
        return of_quorum(quorum, lambda b: s.relearned_from(voter, b))

    # The proof.

    def backing(self, s, request, quorum, voter, instant):
        """The voter has a vote on which the client may rely until the instant. It is freed by nothing but the client and time."""
        return Exists([v], And(
            by(v, voter), vote_for(v) == request, s.out(v), s.keeps(voter, request, instant),
            Or(And(relayed(request), s.is_recorded(v)), And(Not(relayed(request)), s.inside(request), Not(s.returned(v)))),
            ForAll([g], Implies(And(s.knows(voter, g), before(quorum_of(quorum), g)), s.waits_for(voter, g, instant)))))

    def invariants(self, s):
        config = quorum_of(q)
        relied = lambda request, quorum, instant: And(s.relies(request, quorum, instant), Not(s.over(instant)),
                                                      Not(s.stopped(request)))
        ended = lambda vote: Or(s.given_back(vote), s.stopped(vote_for(vote)))
        # An entry r with token k and quorum q, one of whose voters is n.
        entry = And(s.entered(r, k, q), member(n, q))
        # An entry r with token k and quorum q, and a voter n because of which a later configuration j was settled.
        settled_later = And(s.entered(r, k, q), before(config, j), s.learner(n, j))
        return [
            # Configurations.
            ("configurations before a chosen one are settled", ForAll([i, j], Implies(And(s.chosen(j), before(i, j)), s.settled(i)))),
            ("settled configurations are chosen, and so are those before", ForAll([i, j], Implies(
                Or(s.settled(j), s.chosen(j)), Implies(up_to(i, j), s.chosen(i))))),
            (KNOWS_CHOSEN, ForAll([n, i, j], Implies(
                s.knows(n, j), And(s.chosen(j), Implies(up_to(i, j), s.knows(n, i)))))),
            (CLOSED, ForAll([n, j, t], Implies(s.closer(n, j), And(s.knows(n, j), Implies(s.waits_for(n, j, t), s.over(t)))))),
            (LEARNED, ForAll([n, j], Implies(s.learner(n, j), s.learned(n, j)))),
            (CLOSER_IN_NEXT, ForAll([j, q], Implies(And(s.settled(j), follows(j, config)), Exists([n], And(member(n, q), s.closer(n, j)))))),
            (LEARNER_IN_NEXT, ForAll([j, q], Implies(And(s.settled(j), Not(is_first(j)), Or(config == j, follows(config, j))),
                                                     Exists([n], And(member(n, q), s.learner(n, j)))))),
            (CLOSER_BETWEEN, ForAll([j, q], Implies(And(s.chosen(j), before(config, j)), Or(follows(j, config), Exists(
                [n, g], And(member(n, q), s.closer(n, g), follows(g, config), before(g, j))))))),
            (LEARNER_BETWEEN, ForAll([i, q], Implies(And(s.chosen(config), before(i, config)), Or(follows(config, i), Exists(
                [n, g], And(member(n, q), s.learner(n, g), before(i, g), follows(config, g))))))),
            (LEARNS, ForAll([n, j, q], Implies(
                And(s.learned(n, j), follows(j, config)), Exists([m], And(member(m, q), s.heard_from(n, j, m)))))),
            ("voters that answer know the configuration", ForAll([n, m, j], Implies(s.heard_from(n, j, m), s.knows(m, j)))),
            ("what a voter has learned is its floor", ForAll([n, j, k], Implies(And(s.learned(n, j), s.heard(n, j, k)), s.floor(n, k)))),
            ("learned configurations are chosen", ForAll([n, j], Implies(s.learned(n, j), s.chosen(j)))),
            # Votes.
            ("a voter has one vote", ForAll([v, w, n], Implies(And(s.out(v), s.out(w), by(v, n), by(w, n)), v == w))),
            ("a vote that is out was given", ForAll([v], Implies(s.out(v), s.given(v)))),
            ("answers are about given votes and chosen configurations", ForAll([v, i, k, t], And(
                Implies(Or(s.offered(v, i, k), s.record_request(v, i, k)), And(s.given(v), s.chosen(i))),
                Implies(Or(s.confirmed(v, i, k), s.echoed(v, i, t), s.listed(v, i, k, t)), s.given(v))))),
            ("a vote that was given back is not out, and has no record", ForAll([v], Implies(
                s.given_back(v), And(s.given(v), s.returned(v), Not(s.out(v)), Not(s.is_recorded(v)))))),
            ("a record is that of a relay", ForAll([v, i, k], Implies(Or(s.recorded(v, i, k), s.record_request(v, i, k)), relayed(vote_for(v))))),
            ("a recorded token was requested, and makes a vote recorded", ForAll([v, i, k], Implies(
                s.recorded(v, i, k), And(s.is_recorded(v), s.record_request(v, i, k))))),
            ("a listed token is recorded", ForAll([v, i, k, t], Implies(
                s.listed(v, i, k, t), And(s.echoed(v, i, t), Exists([g], And(up_to(i, g), s.recorded(v, g, k))))))),
            # Time.
            ("an echoed vote is kept", ForAll([v, i, t, n], Implies(
                And(s.echoed(v, i, t), by(v, n)), s.keeps(n, vote_for(v), t)))),
            ("an echoed vote is out, unless its client or candidate gave it back", ForAll([v, i, t], Implies(
                And(s.echoed(v, i, t), Not(s.over(t))), Or(s.out(v), ended(v))))),
            ("a voter that knows more waits for the beats that it has echoed before", ForAll([v, i, j, t, n], Implies(
                And(s.echoed(v, i, t), Not(s.over(t)), by(v, n), s.knows(n, j), before(i, j)), Or(s.waits_for(n, j, t), ended(v))))),
            ("voters are answered when they relearn", ForAll([n, m], Implies(s.relearned_from(n, m), s.relearning(n)))),
            (WAITED, ForAll([n, r, t], Implies(And(s.relearning(n), s.keeps(n, r, t)), s.over(t)))),
            ("a voter that relearns abstains", ForAll([n], Implies(s.relearning(n), s.abstains(n)))),
            # Validity.
            (RELIED, ForAll([r, q, t, n], Implies(
                And(relied(r, q, t), member(n, q)), And(s.chosen(config), self.backing(s, r, q, n, t))))),
            # Tokens.
            ("a smaller number is in the floor, too", ForAll([n, k, e], Implies(And(s.floor(n, k), at_most(e, k)), s.floor(n, e)))),
            ("a smaller number is used, too", ForAll([n, k, e], Implies(And(s.used(n, k), at_most(e, k)), s.used(n, e)))),
            ("a smaller number is in an answer, too", ForAll([n, k, e, j], And(
                Implies(And(s.heard(n, j, k), at_most(e, k)), s.heard(n, j, e)),
                Implies(And(s.relearned(n, k), at_most(e, k)), s.relearned(n, e))))),
            ("an offered token is at least the number", ForAll([v, i, k], Implies(s.offered(v, i, k), at_most(number_of(v), k)))),
            ("a confirmed number is used", ForAll([v, i, k, n], Implies(
                And(Or(s.confirmed(v, i, k), s.recorded(v, i, k)), s.out(v), by(v, n)), Or(s.used(n, k), s.abstains(n))))),
            ("answers contain what was confirmed before", ForAll([v, i, j, k, n, m], Implies(
                And(Or(s.confirmed(v, i, k), Exists([t], s.listed(v, i, k, t))), s.out(v), by(v, m), s.heard_from(n, j, m), before(i, j)),
                s.heard(n, j, k)))),
            (ENTRY_CHOSEN, ForAll([r, k, q], Implies(s.entered(r, k, q), s.chosen(config)))),
            (REMEMBERED, ForAll([r, k, q, n], Implies(entry, Or(s.used(n, k), s.abstains(n))))),
            ("answers contain the tokens of earlier entries", ForAll([r, k, q, n, m, j], Implies(
                And(entry, s.heard_from(m, j, n), before(config, j)), s.heard(m, j, k)))),
            ("voters that have learned know the tokens of entries before", ForAll([r, k, q, n, j], Implies(
                And(s.entered(r, k, q), s.learned(n, j), before(config, j)), s.floor(n, k)))),
            ("answers contain the tokens of much earlier entries", ForAll([r, k, q, n, m, i, j], Implies(
                And(settled_later, before(j, i), s.heard_from(m, i, n)), s.heard(m, i, k)))),
            ("tokens above the floor are greater than those of much earlier entries", ForAll([r, k, q, n, j, i, v, e], Implies(
                And(settled_later, before(j, i), by(v, n), s.offered(v, i, e)), less(k, e)))),
            ("records are greater than the tokens of much earlier entries", ForAll([r, k, q, n, j, i, v, e], Implies(
                And(settled_later, before(j, i), by(v, n), vote_for(v) != r, s.record_request(v, i, e)), less(k, e)))),
            ("later votes of an entry's voters have greater numbers", ForAll([r, k, q, n, v], Implies(
                And(entry, by(v, n), s.out(v), vote_for(v) != r), less(k, number_of(v))))),
            ("later records of an entry's voters have greater tokens", ForAll([r, k, q, n, v, i, e], Implies(
                And(entry, by(v, n), s.out(v), vote_for(v) != r, s.record_request(v, i, e)), less(k, e)))),
            (RELEARNS_SHARED, ForAll([r, k, q, n, m], Implies(
                And(entry, member(m, q), s.relearning(n), s.relearned_from(n, m)), s.relearned(n, k)))),
            (RELEARNS_NEWER, ForAll([r, k, q, n, m, i, j], Implies(
                And(entry, s.relearning(n), s.relearned_from(n, m), s.knows(n, i), before(config, j), before(j, i), s.learner(m, j)),
                s.relearned(n, k)))),
            (ADOPTS_NEWER, ForAll([r, k, q, n, m, i, j], Implies(
                And(entry, s.relearning(n), s.relearned_from(n, m), follows(j, i), before(j, config), s.closer(m, j)),
                s.knows(n, j)))),
            *self.properties(s),
        ]

    def properties(self, s):
        return [
            ("at most one client is valid", ForAll([r, x, q, p, t, u], Implies(
                And(s.relies(r, q, t), Not(s.over(t)), Not(s.stopped(r)), s.relies(x, p, u), Not(s.over(u)), Not(s.stopped(x))),
                r == x))),
            ("a valid client has a greater token than all others", ForAll([r, x, q, p, t, k, e], Implies(
                And(s.relies(r, q, t), Not(s.over(t)), Not(s.stopped(r)), s.token(r, k), s.entered(x, e, p), x != r),
                less(e, k)))),
        ]

    def safety(self, s):
        return self.properties(s)


class MembershipNames(Names):
    """Elements of a run by name. Voters have one letter. A configuration is named by its index, a quorum by its configuration and its
    voters: `1:abdg`. `a:h:3` is the vote of voter a for request h with number 3. Requests `r...` are relayed."""

    sorts = [Voter, Config, Quorum, Request, Vote, Number, Instant]

    def imply(self):
        self.add(Config, "0")
        for name in self.of(Quorum):
            config, voters = name.split(":")
            self.add(Config, config)
            for voter in voters:
                self.add(Voter, voter)
        for name in self.of(Vote):
            for sort, part in zip((Voter, Request, Number), name.split(":"), strict=True):
                self.add(sort, part)

    def define(self):
        for name in self.of(Quorum):
            config, voters = name.split(":")
            self.let(quorum_of, name, config)
            for voter in self.of(Voter):
                self.let(member, voter, name, voter in voters)
        for name in self.of(Vote):
            voter, request, number = name.split(":")
            self.let(vote_for, name, request)
            self.let(number_of, name, number)
            for other in self.of(Voter):
                self.let(by, name, other, other == voter)
        for name in self.of(Request):
            self.let(relayed, name, name[0] == "r")
        for config in self.of(Config):
            self.let(is_first, config, config == "0")
            for other in self.of(Config):
                self.let(follows, config, other, int(config) == int(other) + 1)
        self.order(Config, up_to, int)
        self.order(Number, at_most, int)

    def initial_rows(self):
        return {"chosen": {("0",)}, "settled": {("0",)}, "knows": {(voter, "0") for voter in self.of(Voter)}}


def beats(request, instant, voters):
    """The client sends a beat, and these voters receive it."""
    return [f"begin_beat {request} {instant}", *(f"receive_beat {voter} {request} {instant}" for voter in voters)]


def votes(request, voters, number):
    return [(voter, f"{voter}:{request}:{number}") for voter in voters]


def gives(request, config, voters, number):
    return [f"give {voter} {vote} {config}" for voter, vote in votes(request, voters, number)]


def offers(request, config, voters, number):
    return [f"offer {voter} {vote} {config}" for voter, vote in votes(request, voters, number)]


def echoes(request, config, voters, number, instant):
    return [f"echo {voter} {vote} {config} {instant}" for voter, vote in votes(request, voters, number)]


def asks(request, config, voters, number, instant):
    """A request of this configuration gets and offers votes, which confirm their number, and echo a beat."""
    return [*beats(request, instant, voters), *gives(request, config, voters, number),
            *asks_again(request, config, voters, number, number, instant)]


def asks_again(request, config, voters, number, token, instant):
    return [*offers(request, config, voters, number),
            *(f"confirm {voter} {vote} {config} {token}" for voter, vote in votes(request, voters, number)),
            *echoes(request, config, voters, number, instant)]


def enters(request, config, voters, number, instant):
    return [*asks(request, config, voters, number, instant), f"enter {request} {config}:{voters} {number} {instant}"]


def leaves(request, voters, number):
    return [f"stop {request}", *(f"receive_release {voter} {vote}" for voter, vote in votes(request, voters, number))]


def proposes(request, config, voters, number, token, how="propose"):
    return [line for voter, vote in votes(request, voters, number)
            for line in (f"{how} {vote} {config} {token}", f"record {voter} {vote} {config} {token}")]


def lists(request, config, made_in, voters, number, token, instant):
    return [f"list_token {voter} {vote} {config} {made_in} {token} {instant}" for voter, vote in votes(request, voters, number)]


def enters_recorded(request, config, voters, number, instant):
    return [*beats(request, instant, voters), *gives(request, config, voters, number), *offers(request, config, voters, number),
            *proposes(request, config, voters, number, number), *lists(request, config, config, voters, number, number, instant),
            f"enter_listed {request} {config}:{voters} {number} {instant}"]


def adopts(voters, config):
    return [f"adopt {voter} {config}" for voter in voters]


def learns(voters, config, sources):
    """These voters learn for this configuration from voters that are a quorum of the one before."""
    return [line for voter in voters for line in (
        *(f"hear {voter} {config} {other}" for other in sources), f"learn {voter} {config} {int(config) - 1}:{sources}")]


def settles(config, old, new):
    """The voters of both quorums know the configuration and learn, it is settled, and the next one is chosen."""
    everyone = "".join(sorted({*old, *new}))
    return [*adopts(everyone, config), *learns(new, config, old), f"settle {config} {int(config) - 1}:{old} {config}:{new}",
            f"choose {config} {int(config) + 1}"]


# Configuration 0 has the voters a, b and c, 2 has d, e and g, and 4 has others. 1 and 3 are joint.
CHANGED = ["choose 0 1", *settles("1", "ab", "abdg")]

ALLOWED_RUNS = {
    "h stays inside during a change, gets spare votes, leaves, and k enters": [
        *enters("h", 0, "ab", 1, "t1"), "choose 0 1", *adopts("abdg", 1), *learns("abdg", 1, "ab"), *beats("h", "t2", "abdg"),
        *gives("h", 1, "dg", 2), *echoes("h", 1, "ab", 1, "t2"), *echoes("h", 1, "dg", 2, "t2"), "extend h 1:abdg t2", "pass_instant t1",
        "settle 1 0:ab 1:abdg", "choose 1 2", "adopt d 2", *echoes("h", 2, "dg", 2, "t2"), "extend h 2:dg t2",
        *leaves("h", "ab", 1), *leaves("h", "dg", 2)[1:], *enters("k", 2, "dg", 3, "t3")],
    "a token is recorded again in the next configurations, and another relay reports it": [
        *enters_recorded("r", 0, "ab", 1, "t1"), "choose 0 1", *adopts("abdg", 1), *learns("abdg", 1, "ab"), *beats("r", "t2", "abdg"),
        *gives("r", 1, "dg", 2), *proposes("r", 1, "ab", 1, 1, "propose_inside"), *proposes("r", 1, "dg", 2, 1, "propose_inside"),
        *lists("r", 1, 1, "ab", 1, 1, "t2"), *lists("r", 1, 1, "dg", 2, 1, "t2"), "enter_listed r 1:abdg 1 t2", "pass_instant t1",
        "settle 1 0:ab 1:abdg", "choose 1 2", *proposes("r", 2, "dg", 2, 1, "propose_inside"),
        *lists("r", 2, 2, "dg", 2, 1, "t2"), "enter_listed r 2:dg 1 t2", *proposes("r", 2, "dg", 2, 1)],
    "k waits during two changes, is asked again, and gets a token above the floor": [
        *enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "choose 0 1", *gives("k", 1, "dg", 1), *offers("k", 1, "dg", 1),
        *CHANGED[1:], *settles("2", "abdg", "dg"), *settles("3", "dg", "dgpq"), *beats("k", "t2", "dg"),
        *asks_again("k", 4, "dg", 1, 6, "t2"), *beats("k", "t3", "pq"), *gives("k", 4, "pq", 1), *asks_again("k", 4, "pq", 1, 6, "t3"),
        "enter k 4:pq 6 t3"],
    "a vote is given back, another lapses, voters forget and relearn during a change": [
        *beats("h", "t1", "abc"), *gives("h", 0, "abc", 1), "return_vote a:h:1", "receive_yield a a:h:1", "pass_instant t1", "lapse c h",
        *enters("k", 0, "ac", 2, "t2"), *leaves("k", "ac", 2), "forget a", "pass_instant t2", "begin_relearning a", "choose 0 1",
        *adopts("bdg", 1), "adopt a 1", *(f"relearn_from a {other}" for other in "bcdg"), "vote_again a 1:bcdg",
        *learns("abdg", 1, "ab"), "settle 1 0:ab 1:abdg", "choose 1 2", *enters("x", 2, "dg", 3, "t3")],
}


class Mutant(Membership):
    """A mutant has a rule and a script, and overrides one method."""


class QuorumsDisjoint(Mutant):
    rule = "two quorums of a configuration need not intersect"
    script = [*enters("h", 0, "a", 1, "t1"), *enters("k", 0, "b", 2, "t2")]

    def intersections(self):
        return []


class AdjacentQuorumsDisjoint(Mutant):
    rule = "quorums of a stable configuration and of the joint one after it need not intersect"
    script = [*enters("h", 0, "ab", 1, "t1"), "choose 0 1", *enters("k", 1, "dg", 2, "t2")]

    def intersections(self):
        return [ForAll([q, p], Implies(quorum_of(q) == quorum_of(p), Exists([n], And(member(n, q), member(n, p)))))]


class VotesTwice(Mutant):
    rule = "a voter gives its vote to two requests at a time"
    script = [*enters("h", 0, "ab", 1, "t1"), *enters("k", 0, "ab", 2, "t2")]

    def is_free(self, s, voter):
        return And()


class NumbersDoNotGrow(Mutant):
    rule = "a vote may have a number that was used before"
    script = [*enters("h", 0, "ab", 2, "t1"), *leaves("h", "ab", 2), *enters("k", 0, "ab", 1, "t2")]

    def is_unused(self, s, voter, vote):
        return And()


class ConfirmsNothing(Mutant):
    rule = "a token is at least every number of the quorum, but voters need not confirm it"
    script = [*asks("h", 0, "a", 1, "t1"), *asks("h", 0, "b", 4, "t1")[1:], "enter h 0:ab 4 t1", *leaves("h", "a", 1),
              *enters("k", 0, "ac", 2, "t2")]

    def has_confirmed(self, s, vote, config, token):
        return And()


class ChoosesUnsettled(Mutant):
    rule = "1: a configuration follows one that is not settled"
    script = [*enters("h", 0, "ab", 1, "t1"), "choose 0 1", "choose 1 2", *enters("k", 2, "dg", 2, "t2")]

    def may_be_followed(self, s, config):
        return s.chosen(config)


class ServesOlderCandidates(Mutant):
    rule = "2: a voter accepts messages of a candidate that knows less than the voter"
    script = [*CHANGED, *enters("k", 2, "dg", 1, "t1"), *enters("h", 0, "ab", 2, "t2")]

    def is_as_new(self, s, voter, config):
        return And()


class CountsNewerAnswers(Mutant):
    rule = "3: a candidate counts answers to a newer configuration for a quorum of an older one, so it goes back"
    script = [*enters("h", 0, "ab", 1, "t1"), "choose 0 1", *adopts("ab", 1), *beats("h", "t2", "ab"), *echoes("h", 1, "ab", 1, "t2"),
              "extend h 0:ab t2", "pass_instant t1", *CHANGED[1:], *enters("k", 2, "dg", 2, "t3")]

    def counts_in(self, config, other):
        return And()


class CountsEarlierAnswers(Mutant):
    rule = "4: votes that answer requests of an earlier configuration count for an entry"
    script = ["choose 0 1", *asks("k", 1, "dg", 1, "t1"), *enters("h", 0, "ab", 5, "t2"), *leaves("h", "ab", 5), *CHANGED[1:],
              "enter k 2:dg 1 t1"]

    def has_offered(self, s, vote, config, token):
        return Exists([g], And(up_to(g, config), s.offered(vote, g, token)))


class EarlierRecordsCount(Mutant):
    rule = "5: tokens that were recorded in an earlier configuration count"
    script = ["choose 0 1", *beats("r", "t1", "dg"), *gives("r", 1, "dg", 1), *offers("r", 1, "dg", 1), *proposes("r", 1, "dg", 1, 1),
              *enters("h", 0, "ab", 5, "t2"), *leaves("h", "ab", 5), *CHANGED[1:], *lists("r", 2, 1, "dg", 1, 1, "t1"),
              "enter_listed r 2:dg 1 t1"]

    def is_record_of(self, made_in, config):
        return And()


class RecordsAfterValidity(Mutant):
    rule = "5: a relay records the token of its client again after the validity of its client has ended"
    script = [*enters_recorded("r", 0, "ab", 1, "t1"), "pass_instant t1", "lapse a r", "lapse b r", *enters("h", 0, "ab", 5, "t2"),
              *leaves("h", "ab", 5), *CHANGED, *beats("r", "t3", "dg"), *gives("r", 2, "dg", 1),
              *proposes("r", 2, "dg", 1, 1, "propose_inside"), *lists("r", 2, 2, "dg", 1, 1, "t3"), "enter_listed r 2:dg 1 t3"]

    def is_still_inside(self, s, request):
        return And()


class SourcesKnowLess(Mutant):
    rule = "6: a voter learns from voters that do not know the configuration"
    script = [*learns("abdg", 1, "ab"), *enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "choose 0 1", *adopts("ab", 1),
              "settle 1 0:ab 1:abdg", "choose 1 2", *enters("k", 2, "dg", 1, "t2")]

    def is_source(self, s, other, config):
        return Not(s.abstains(other))


class LearnsFromForgotten(Mutant):
    rule = "6: a voter learns from voters that have forgotten their numbers"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "forget a", "forget b", *CHANGED, *enters("k", 2, "dg", 1, "t2")]

    def is_source(self, s, other, config):
        return s.knows(other, config)


class LearnsFromFew(Mutant):
    rule = "6: a voter learns from less than a quorum"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "choose 0 1", *adopts("abcdg", 1),
              *(line for voter in "abdg" for line in (f"hear {voter} 1 c", f"learn {voter} 1 0:ac")),
              "settle 1 0:ab 1:abdg", "choose 1 2", *enters("k", 2, "dg", 1, "t2")]

    def has_heard_all(self, s, voter, config, quorum):
        return Exists([n], And(member(n, quorum), s.heard_from(voter, config, n)))


class AnswersWithoutFloor(Mutant):
    rule = "6: answers contain the numbers that a voter has given or confirmed, but not its floor"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), *CHANGED, *settles("2", "abdg", "dg"),
              *settles("3", "dg", "dgpq"), *enters("k", 4, "pq", 1, "t2")]

    def answer(self, s, other, number):
        return s.used(other, number)


class FloorIsNoLimit(Mutant):
    rule = "6: a vote may have a token that is not above the learned floor"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), *CHANGED, *enters("k", 2, "dg", 1, "t2")]

    def is_above_floor(self, s, voter, number):
        return And()


class NobodyLearns(Mutant):
    rule = "7: a configuration is settled although no quorum of it has learned"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "choose 0 1", *adopts("ab", 1), "settle 1 0:ab 1:abdg",
              "choose 1 2", *enters("k", 2, "dg", 1, "t2")]

    def has_learned(self, s, voter, config):
        return And()


class ClosedAtOnce(Mutant):
    rule = "7: a voter is closed before the votes have lapsed that it had given when it learned of the configuration"
    script = [*enters("h", 0, "ab", 1, "t1"), *CHANGED, *enters("k", 2, "dg", 2, "t2")]

    def is_closed(self, s, voter, config):
        return s.knows(voter, config)


class ClosedWithoutKnowing(Mutant):
    rule = "7: a voter without votes is closed although it does not know the next configuration"
    script = [*asks("h", 0, "b", 1, "t1"), "choose 0 1", *adopts("bcdg", 1), *learns("bcdg", 1, "bc"), "settle 1 0:ac 1:bcdg",
              "choose 1 2", *enters("k", 2, "dg", 2, "t2"), "receive_beat a h t1", *gives("h", 0, "a", 1),
              *asks_again("h", 0, "a", 1, 1, "t1"), "enter h 0:ab 1 t1"]

    def is_closed(self, s, voter, config):
        return ForAll([t], Implies(s.waits_for(voter, config, t), s.over(t)))


class RelearnsFromFew(Mutant):
    rule = "8: a voter that has forgotten its numbers votes before a quorum has answered"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "forget a", "pass_instant t1", "begin_relearning a",
              "relearn_from a c", "vote_again a 0:bc", *enters("k", 0, "ac", 1, "t2")]

    def has_relearned(self, s, voter, quorum):
        return And()


class RelearnsFromForgotten(Mutant):
    rule = "8: a voter relearns from voters that have forgotten, too"
    script = [*enters("h", 0, "ab", 5, "t1"), *leaves("h", "ab", 5), "forget a", "forget b", "pass_instant t1", "begin_relearning a",
              "relearn_from a b", "relearn_from a c", "vote_again a 0:bc", *enters("k", 0, "ac", 1, "t2")]

    def remembers(self, s, other):
        return And()


class RelearnsEarly(Mutant):
    rule = "8: a voter relearns while clients may still enter with votes that it has forgotten"
    script = [*beats("h", "t1", "ab"), *gives("h", 0, "ab", 1), *asks_again("h", 0, "a", 1, 5, "t1"), "forget a", "begin_relearning a",
              "relearn_from a b", "relearn_from a c", *asks_again("h", 0, "b", 1, 5, "t1"), "enter h 0:ab 5 t1", "vote_again a 0:bc",
              "stop h", *enters("k", 0, "ac", 3, "t2")]

    def has_waited(self, s, voter):
        return And()


class RelearnsFromOlder(Mutant):
    rule = "8: a voter relearns from a quorum of a configuration that is not the newest it knows"
    script = [*CHANGED, *adopts("d", 2), *enters("h", 2, "dg", 5, "t1"), *leaves("h", "dg", 5), "forget d", "pass_instant t1",
              "begin_relearning d", "relearn_from d a", "relearn_from d b", "vote_again d 0:ab", *enters("k", 2, "de", 1, "t2")]

    def is_newest(self, s, voter, config):
        return s.knows(voter, config)


class IgnoresNewerAnswers(Mutant):
    rule = "8: a voter counts answers of voters that know a newer configuration, and does not adopt it"
    script = ["choose 0 1", *settles("1", "bc", "bcdg"), *enters("h", 2, "ag", 5, "t1"), *leaves("h", "ag", 5), "forget a",
              "pass_instant t1", "begin_relearning a", "relearn_from a b", "relearn_from a c", "vote_again a 0:bc",
              *enters("k", 2, "ad", 1, "t2")]

    def knows_as_much(self, s, voter, other):
        return And()


MUTANTS = [cls for cls in list(vars().values()) if isinstance(cls, type) and issubclass(cls, Mutant) and cls is not Mutant]

# Guards without which the proof still holds.
IS_GIVEN = "without it the action changes nothing that matters: the vote is not out, or of another voter"
IGNORES = "an abstaining voter ignores all messages. The model still has its earlier votes, on which no client relies when it votes again"
SPARE_GUARDS = {
    ("enter", 1): "a client enters once",
    ("vote_again", 0): "only a voter that relearns has been answered",
    ("hear", 1): "a further answer of the same voter only adds numbers",
    ("give", 5): "a vote that is given to an older candidate gets no answer that counts (offer, confirm, echo)",
    ("record", 4): "a token that is recorded for an older candidate is not listed for it (list_token)",
    ("receive_beat", 0): "a beat arrives after it was sent. To keep votes longer is never unsafe",
    ("lapse", 0): IGNORES,
    **{(name, 1): IGNORES for name in ("offer", "confirm", "record", "receive_yield", "receive_release", "echo", "list_token")},
    **{(name, 0): IS_GIVEN for name in ("receive_yield", "receive_release")},
    ("receive_release", 2): IS_GIVEN,
}

PROGRAM = Program("changes of voters", "changes of voters keep exclusion and the order of tokens", Membership, MembershipNames,
                  ALLOWED_RUNS, MUTANTS, spare_guards=SPARE_GUARDS)

if __name__ == "__main__":
    main(PROGRAM, "Proves exclusion and growing tokens over any number of changes of voters.")
