"""At most one client may rely on a lock, and tokens grow: the lock service, for any number of voters, sessions and restarts.

The model is the algorithm `leased-quorum` (crates/quorate-algorithms/src/mutex/leased_quorum/) together with the relays of
crates/quorate-service/src/core/, as described in docs/locks.md. Each action names the Rust function that it models. There is one
lock. The numbers of voters, quorums, clients, requests, attempts, votes, beats and restarts are not bounded.

Time. An element of `Instant` is the end of the validity of one beat: the true time at which the client that sent the beat stops to
rely on it, at the latest. `over` contains the instants that have passed. They pass in any order. Nothing else is assumed about
time. locks_clocks.py proves what this abstraction needs: whatever a voter keeps because of a beat, or because of a restart, it
keeps until the instants of all beats are over that the client had sent before.

A vote is an element of `Vote`: the pair of an epoch and a number in the code (`VoteId`). Messages are relations that only grow,
so messages may be lost, delayed, duplicated and reordered. A candidate knows what was ever sent to it. A candidate, a relay or a
client may stop at any time, because no action has to be taken. That is how their crashes are modelled. What restarts instead is
another claim, or another client.

There are three kinds of clients:
- direct: the client numbers the attempts of its requests, and enters with a grant of its latest attempt. Candidate and client are
  one process (`DirectClient`), or the candidate runs in a node (as in tests/leased_quorum_storm), so reports may be late;
- relayed with a session key: relays record a token before they report it (`Candidate::recording_entries`). Any relay may report
  what a quorum lists;
- relayed with a lease of etcd's API: the same, but a relay may withdraw a recorded token that it has not reported, and reports
  only votes of its own attempt (`Relay::held`).

An action often allows more than the code does. README.md lists what is not modelled.
"""

from z3 import And, BoolSort, Const, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

import locks_clocks
from guards import lacks_guard
from scripted import Names, Program, main
from verifier import Step, TransitionSystem, action, added, added_where, removed, total_order

Voter = DeclareSort("Voter")
Quorum = DeclareSort("Quorum")
# What lapses together at a voter: one process of a direct session, or a relayed session as a whole.
Client = DeclareSort("Client")
Request = DeclareSort("Request")
# A request as one candidate pursues it: `Claim`.
Claim = DeclareSort("Claim")
Attempt = DeclareSort("Attempt")
Vote = DeclareSort("Vote")
# Numbers of votes and tokens.
Number = DeclareSort("Number")
Instant = DeclareSort("Instant")

# Static relations.
member = Function("member", Voter, Quorum, BoolSort())
by = Function("by", Vote, Voter, BoolSort())
vote_for = Function("vote_for", Vote, Request)
number_of = Function("number_of", Vote, Number)
claim_for = Function("claim_for", Claim, Request)
attempt_of = Function("attempt_of", Claim, Attempt)
client_of = Function("client_of", Request, Client)
relayed = Function("relayed", Client, BoolSort())
lease = Function("lease", Client, BoolSort())
at_most, NUMBER_ORDER = total_order(Number, "at_most")
attempt_at_most, ATTEMPT_ORDER = total_order(Attempt, "attempt_at_most")

n, m = Consts("n m", Voter)
q, p = Consts("q p", Quorum)
c, d = Consts("c d", Claim)
v, w = Consts("v w", Vote)
r, x = Consts("r x", Request)
a = Const("a", Client)
k, j = Consts("k j", Number)
t, u = Consts("t u", Instant)

QUORUMS_INTERSECT = [ForAll([q, p], Exists([n], And(member(n, q), member(n, p))))]
STATIC = NUMBER_ORDER + ATTEMPT_ORDER + [
    ForAll([v, n, m], Implies(And(by(v, n), by(v, m)), n == m)),
    ForAll([a], Implies(lease(a), relayed(a))),
]


def less(number, other):
    return Not(at_most(other, number))


def earlier(claim, other):
    """The attempt of a claim is smaller than that of the other one."""
    return Not(attempt_at_most(attempt_of(other), attempt_of(claim)))


def is_relayed(request):
    return relayed(client_of(request))


def is_lease(request):
    return lease(client_of(request))


class Locks(TransitionSystem):
    """The algorithm. A mutant is a subclass that overrides one rule."""

    relations = {
        # Time and clients.
        "over": (Instant,),
        # The client has begun a beat whose validity ends at this instant: `Client::sent`.
        "begun": (Client, Instant),
        # A client that is not relayed has entered with this request: `Request::inside`.
        "inside": (Request,),
        # The client relies on this request until this instant, because of votes of this quorum: `Inside::until`.
        "relies": (Request, Quorum, Instant),
        # The client has stopped, or no longer wants the lock. RELEASE may arrive any number of times.
        "stopped": (Request,),
        # Tokens that the client has received since it began to rely on this request without interruption.
        "token": (Request, Number),
        # The client has entered with this token, which this quorum has confirmed. A history, which no rule uses.
        "entered": (Request, Number, Quorum),
        # Candidates.
        # A candidate pursues the claim. REQUEST may arrive any number of times.
        "asked": (Claim,),
        # The client's present attempt, if the client is not relayed: `Request::attempt`.
        "latest": (Claim,),
        # The candidate has granted the lock: `Pursuit::granted`.
        "granted": (Claim,),
        # The candidate knows that its client is inside: `Pursuit::inside`.
        "knows_inside": (Claim,),
        # GRANTED with this token, and HELD, for a beat that ends at this instant: `RequestStatus`.
        "grant_report": (Claim, Quorum, Number, Instant),
        "held_report": (Claim, Quorum, Instant),
        # YIELD has been sent: `Pursuit::returned`.
        "returned": (Vote, Claim),
        # WITHDRAW has been sent, without and with `untold`.
        "withdrawn": (Claim,),
        "untold": (Claim,),
        # The relay has reported to its client that it holds the lock.
        "reported": (Claim,),
        # RAISE with `enters` has been sent.
        "record_request": (Vote, Claim, Number),
        # Voters.
        # The vote was ever given, and is given at present: `Ballot::vote`.
        "given": (Vote,),
        "out": (Vote,),
        # The claim that has the vote, or had it last: `GrantedVote::claim`.
        "has": (Vote, Claim),
        # VOTE has been sent to this claim.
        "told": (Vote, Claim),
        # ECHO or VOTE has been sent that lists the vote for this claim, for a beat that ends at this instant.
        "echoed": (Vote, Claim, Instant),
        # VOTE or RAISED has been sent: the voter gives no number up to this one again.
        "raised": (Vote, Claim, Number),
        # The claim has recorded this token with the vote: `GrantedVote::entered`.
        "recorded": (Vote, Claim, Number),
        # A token is recorded with the vote.
        "is_recorded": (Vote,),
        # The claim has found a record of an earlier attempt with the vote: `Counted::found`.
        "found": (Vote, Claim),
        # The vote is no longer renewed, and is kept until these instants: `GrantedVote::frozen`.
        "frozen": (Vote,),
        "frozen_until": (Vote, Instant),
        # The vote was freed by YIELD or WITHDRAW. A history, which no rule uses.
        "given_back": (Vote,),
        # The voter keeps the votes of this client at least until this instant.
        "keeps": (Voter, Client, Instant),
        # The voter gives no vote with this number or a smaller one: `Ballot::last` and `Voter::floor`.
        "used": (Voter, Number),
        # The voter has forgotten its votes: `Voter::abstains`. Until it votes again, the model has its earlier votes.
        "abstains": (Voter,),
        # It has forgotten its numbers, too, and may ask others for them now: `Abstains::Learning`.
        "lost_numbers": (Voter,),
        "learning": (Voter,),
        # The other voter has answered, and the numbers in these answers.
        "answered": (Voter, Voter),
        "learned": (Voter, Number),
    }

    def axioms(self):
        return STATIC + QUORUMS_INTERSECT

    def initial(self, s):
        """`Voter::new` at all voters: nothing has happened."""
        none = []
        for name, sorts in self.relations.items():
            row = [Const(f"{name}_{place}", sort) for place, sort in enumerate(sorts)]
            none.append(ForAll(row, Not(getattr(s, name)(*row))))
        return none

    def valid(self, s, request):
        """The client may rely on the request now."""
        return And(Not(s.stopped(request)), Exists([q, t], And(s.relies(request, q, t), Not(s.over(t)))))

    # Time and clients.

    @action
    def pass_instant(self, s, instant: Instant):
        """Time passes. A client whose clock has passed the end of its validity does not rely on it any more (`Client::wake`)."""
        return Step([], s.update(over=added(s.over, instant)))

    @action
    def begin_beat(self, s, client: Client, instant: Instant):
        """`Client::begin_beat`, and `Relay::begin` for a call of the client: the client sends a beat."""
        return Step([], s.update(begun=added(s.begun, client, instant)))

    @action
    def pursue(self, s, claim: Claim):
        """`Candidate::pursue`: a candidate requests votes for a claim. A client that is not relayed raises its attempt
        (`Client::change_candidate`, `on_report`), and tells the candidate whether it is inside. Relays choose attempts
        themselves, and two of them may choose the same one."""
        of = claim_for(claim)
        return Step([Or(is_relayed(of), self.is_newest(s, claim))], s.update(
            asked=added(s.asked, claim),
            latest=lambda b: Or(And(b == claim, Not(is_relayed(of))), And(s.latest(b), claim_for(b) != of)),
            knows_inside=added_where(s.knows_inside, lambda b: And(b == claim, self.is_told_inside(s, of)))))

    def is_newest(self, s, claim):
        return ForAll([c], Implies(And(s.asked(c), claim_for(c) == claim_for(claim)), earlier(c, claim)))

    def is_told_inside(self, s, request):
        return s.inside(request)

    @action
    def stop(self, s, request: Request):
        """`Client::release`, and a call that releases the lock or closes the session: the client declares that it has stopped."""
        return Step([], s.update(stopped=added(s.stopped, request)))

    # Grants to clients that are not relayed.

    def counts(self, s, vote, claim):
        """The candidate counts the vote: VOTE has arrived, and the vote was not given back (`Pursuit::votes`)."""
        return And(s.told(vote, claim), Not(s.returned(vote, claim)))

    def is_good(self, s, vote, claim, instant):
        """The voter keeps the vote for the beat: `Counted::beat`."""
        return s.echoed(vote, claim, instant)

    def is_confirmed(self, s, vote, claim, number):
        return s.raised(vote, claim, number)

    def fits(self, number, token):
        return at_most(number, token)

    def enters_with(self, s, voter, claim, token, instant):
        """The voter's vote counts for entering with this token: `Pursuit::entering`."""
        return Exists([v], And(by(v, voter), self.counts(s, v, claim), self.fits(number_of(v), token),
                               self.is_confirmed(s, v, claim, token), self.is_good(s, v, claim, instant)))

    def holds_with(self, s, voter, claim, instant):
        """The voter's vote counts for staying inside, whatever its number: `Pursuit::good`."""
        return Exists([v], And(by(v, voter), self.counts(s, v, claim), self.is_good(s, v, claim, instant)))

    @action
    def grant(self, s, claim: Claim, quorum: Quorum, token: Number, instant: Instant):
        """`Candidate::try_grant` and `report`: the votes of a quorum fit the token, and their voters have confirmed it."""
        return Step([Not(is_relayed(claim_for(claim))),
                     ForAll([n], Implies(member(n, quorum), self.enters_with(s, n, claim, token, instant)))],
                    s.update(granted=added(s.granted, claim),
                             grant_report=added(s.grant_report, claim, quorum, token, instant)))

    @action
    def enter(self, s, claim: Claim, quorum: Quorum, token: Number, instant: Instant):
        """`Client::on_report` for GRANTED: the report is about the latest attempt, and its beat is still valid."""
        of = claim_for(claim)
        return Step([s.grant_report(claim, quorum, token, instant), self.is_latest(s, claim), Not(s.over(instant)),
                     Not(s.stopped(of))],
                    self.after_entering(s, of, quorum, token, instant).update(
                        inside=added(s.inside, of), knows_inside=added(s.knows_inside, claim)))

    def is_latest(self, s, claim):
        return s.latest(claim)

    def after_entering(self, s, request, quorum, token, instant):
        goes_on = lambda b: Or(b != request, self.valid(s, request))
        return s.update(
            relies=added(s.relies, request, quorum, instant), entered=added(s.entered, request, token, quorum),
            token=lambda b, e: Or(And(b == request, e == token), And(s.token(b, e), goes_on(b))))

    @action
    def take_back(self, s, claim: Claim):
        """`Candidate::take_back_grants`, only of a client with its own candidate: the client has not entered with the grant, and
        there is no report on its way."""
        return Step([Not(is_relayed(claim_for(claim))), Not(s.inside(claim_for(claim)))], s.update(
            granted=removed(s.granted, lambda b: b == claim),
            grant_report=self.reports_after_take_back(s, claim)))

    def reports_after_take_back(self, s, claim):
        return removed(s.grant_report, lambda b, *_: b == claim)

    @action
    def confirm(self, s, claim: Claim, quorum: Quorum, instant: Instant):
        """`Candidate::report` for HELD: the votes of a quorum are good, those of spare voters too."""
        return Step([s.knows_inside(claim),
                     ForAll([n], Implies(member(n, quorum), self.holds_with(s, n, claim, instant)))],
                    s.update(held_report=added(s.held_report, claim, quorum, instant)))

    @action
    def extend(self, s, claim: Claim, quorum: Quorum, instant: Instant):
        """`Client::on_report` for HELD: the client is still valid."""
        of = claim_for(claim)
        return Step([s.held_report(claim, quorum, instant), self.is_latest(s, claim), self.is_still_valid(s, of)],
                    s.update(relies=added(s.relies, of, quorum, instant)))

    def is_still_valid(self, s, request):
        return self.valid(s, request)

    # Grants to relayed clients.

    @action
    def propose(self, s, claim: Claim, vote: Vote, token: Number):
        """`Candidate::try_grant` with `records_entries`: RAISE with `enters` for a vote that fits the token."""
        fits = Or(self.fits(number_of(vote), token), Exists([d], s.recorded(vote, d, token)))
        return Step([is_relayed(claim_for(claim)), s.told(vote, claim), fits],
                    s.update(record_request=added(s.record_request, vote, claim, token)))

    @action
    def propose_inside(self, s, claim: Claim, vote: Vote, token: Number):
        """`Candidate::record`: RAISE with `enters` for a spare vote, whatever its number. The relay does this only while its client
        is valid (`NodeCore::check_validity`)."""
        of = claim_for(claim)
        return Step([is_relayed(of), s.told(vote, claim), s.token(of, token), self.is_still_inside(s, of)],
                    s.update(record_request=added(s.record_request, vote, claim, token)))

    def is_still_inside(self, s, request):
        return self.valid(s, request)

    @action
    def grant_recorded(self, s, claim: Claim, quorum: Quorum, token: Number, instant: Instant):
        """`Candidate::try_grant` and `NodeCore::answer_waiters`: a quorum has recorded the token for this claim. The answer
        arrives at the client in time. The client has not stopped."""
        of = claim_for(claim)
        backs = lambda voter: Exists([v], And(by(v, voter), self.is_entry(s, v, claim, token),
                                              self.is_good(s, v, claim, instant)))
        return Step([is_relayed(of), Not(s.untold(claim)), Not(s.over(instant)), Not(s.stopped(of)),
                     ForAll([n], Implies(member(n, quorum), backs(n)))],
                    self.after_entering(s, of, quorum, token, instant).update(reported=added(s.reported, claim)))

    def is_entry(self, s, vote, claim, token):
        return s.recorded(vote, claim, token)

    @action
    def grant_listed(self, s, request: Request, quorum: Quorum, token: Number, instant: Instant):
        """`Candidate::recorded`, `Relay::held` and `Relay::alive`: a quorum lists the token with votes that are good, whichever
        relay has collected them. The answer arrives at the client in time."""
        backs = lambda voter: Exists([v, c, d], And(by(v, voter), vote_for(v) == request, s.recorded(v, c, token),
                                                    self.is_good(s, v, d, instant)))
        return Step([is_relayed(request), self.may_count_lists(request), Not(s.over(instant)), Not(s.stopped(request)),
                     ForAll([n], Implies(member(n, quorum), backs(n)))],
                    self.after_entering(s, request, quorum, token, instant))

    def may_count_lists(self, request):
        return Not(is_lease(request))

    @action
    def confirm_recorded(self, s, claim: Claim, quorum: Quorum, instant: Instant):
        """`Candidate::report` for HELD with `records_entries`, and `NodeCore::answer_waiters`: votes with any record count, spare
        votes too. The relay has its client for valid (`NodeCore::check_validity`), and so does the client."""
        of = claim_for(claim)
        backs = lambda voter: Exists([v], And(by(v, voter), self.has_record(s, v, claim), self.is_good(s, v, claim, instant)))
        return Step([is_relayed(of), Not(s.untold(claim)), self.is_still_valid(s, of),
                     ForAll([n], Implies(member(n, quorum), backs(n)))],
                    s.update(reported=added(s.reported, claim), relies=added(s.relies, of, quorum, instant)))

    def has_record(self, s, vote, claim):
        return Or(s.found(vote, claim), Exists([k], s.recorded(vote, claim, k)))

    # Votes that are given back.

    @action
    def give_back(self, s, vote: Vote, claim: Claim):
        """`Candidate::on_inquire`: YIELD, after VOTE has arrived. The model allows it without INQUIRE. A candidate whose client is or
        may be inside never yields. Relays obey this, too, but it is the voter that ensures it for them (`receive_yield`)."""
        return Step([s.told(vote, claim), Or(is_relayed(claim_for(claim)), self.may_give_back(s, claim))],
                    s.update(returned=added(s.returned, vote, claim)))

    def may_give_back(self, s, claim):
        return Not(Or(s.granted(claim), s.knows_inside(claim)))

    @action
    def receive_yield(self, s, voter: Voter, vote: Vote, claim: Claim):
        """`Voter::on_yield`: the vote is exactly this one, and belongs to this claim. A vote with a record is not freed."""
        return Step([*self.is_out(s, voter, vote), self.is_yielded(s, vote, claim), self.is_its_vote(s, vote, claim),
                     self.may_be_freed(s, vote)], self.freed(s, vote))

    def is_yielded(self, s, vote, claim):
        return s.returned(vote, claim)

    def is_its_vote(self, s, vote, claim):
        return s.has(vote, claim)

    def may_be_freed(self, s, vote):
        return Not(s.is_recorded(vote))

    def freed(self, s, vote):
        return s.update(out=removed(s.out, lambda b: b == vote), given_back=added(s.given_back, vote))

    @action
    def withdraw(self, s, claim: Claim):
        """`Candidate::withdraw`: a relay no longer pursues its attempt. The model allows it at any time."""
        return Step([is_relayed(claim_for(claim))], s.update(withdrawn=added(s.withdrawn, claim)))

    @action
    def receive_withdraw(self, s, voter: Voter, vote: Vote, claim: Claim):
        """`Voter::on_withdraw`: a vote with a record is not freed. The code also leaves later attempts alone."""
        return Step([*self.is_out(s, voter, vote), s.withdrawn(claim), vote_for(vote) == claim_for(claim),
                     self.may_be_withdrawn(s, vote)], self.freed(s, vote))

    def may_be_withdrawn(self, s, vote):
        return Not(s.is_recorded(vote))

    @action
    def withdraw_untold(self, s, claim: Claim):
        """`NodeCore::withdraw` with `untold`: the relay of a lease has recorded a token, and has not reported it to the client."""
        return Step([self.may_withdraw_records(claim), self.is_untold(s, claim)], s.update(untold=added(s.untold, claim)))

    def may_withdraw_records(self, claim):
        return is_lease(claim_for(claim))

    def is_untold(self, s, claim):
        return Not(s.reported(claim))

    @action
    def receive_withdraw_untold(self, s, voter: Voter, vote: Vote, claim: Claim):
        """`Voter::on_withdraw` with `untold`: no other attempt has taken the vote over, and no earlier one has recorded a token.
        In the code the candidate ensures a part of the latter, because it knows what it has found (`Candidate::withdraw`)."""
        return Step([*self.is_out(s, voter, vote), s.untold(claim), self.is_present_claim(s, vote, claim),
                     self.has_found_nothing(s, vote, claim)], self.freed(s, vote))

    def is_present_claim(self, s, vote, claim):
        return s.has(vote, claim)

    def has_found_nothing(self, s, vote, claim):
        return Not(s.found(vote, claim))

    @action
    def receive_release(self, s, voter: Voter, vote: Vote):
        """`Voter::release` and `end_session`: only the client's word frees the vote."""
        return Step([*self.is_out(s, voter, vote), self.is_released(s, vote)],
                    s.update(out=removed(s.out, lambda b: b == vote)))

    def is_released(self, s, vote):
        return s.stopped(vote_for(vote))

    # The voter gives and confirms votes.

    def is_out(self, s, voter, vote):
        """The vote of a voter that does not abstain is given at present."""
        return [by(vote, voter), Not(s.abstains(voter)), s.out(vote)]

    @action
    def give(self, s, voter: Voter, vote: Vote, claim: Claim):
        """`Voter::give`: a voter whose vote is free gives it to any request, with a number that is greater than all earlier ones.
        The vote of a client that is inside may have a number that is greater than necessary."""
        up_to_number = lambda b, e: And(b == voter, at_most(e, number_of(vote)))
        return Step([by(vote, voter), Not(s.given(vote)), Not(s.abstains(voter)), self.is_free(s, voter), s.asked(claim),
                     vote_for(vote) == claim_for(claim), self.is_new_number(s, voter, vote)],
                    s.update(given=added(s.given, vote), out=added(s.out, vote), has=added(s.has, vote, claim),
                             told=added(s.told, vote, claim), used=added_where(s.used, up_to_number)))

    def is_free(self, s, voter):
        return ForAll([v], Not(And(by(v, voter), s.out(v))))

    def is_new_number(self, s, voter, vote):
        return Not(s.used(voter, number_of(vote)))

    @action
    def take_over(self, s, voter: Voter, vote: Vote, claim: Claim, newer: Claim):
        """`Voter::on_request` with a greater attempt of the request that has the vote: the vote keeps its number and its record.
        A smaller attempt, or the same one of another candidate, is STALE (`precedence`)."""
        return Step([*self.is_out(s, voter, vote), s.has(vote, claim), s.asked(newer), claim_for(newer) == claim_for(claim),
                     self.takes_precedence(claim, newer)], s.update(
            has=lambda b, e: If_(b == vote, e == newer, s.has(b, e)), told=added(s.told, vote, newer),
            found=added_where(s.found, lambda b, e: And(b == vote, e == newer, s.is_recorded(vote)))))

    def takes_precedence(self, claim, newer):
        return earlier(claim, newer)

    @action
    def raise_number(self, s, voter: Voter, vote: Vote, claim: Claim, number: Number):
        """`Voter::on_raise` without `enters`: confirms that all later votes have greater numbers, while the vote belongs to the
        claim. VOTE confirms the last number in the same way, so it is this action, too."""
        return Step([*self.is_out(s, voter, vote), s.has(vote, claim)], s.update(
            raised=added(s.raised, vote, claim, number),
            used=added_where(s.used, lambda b, e: And(b == voter, at_most(e, number)))))

    @action
    def record(self, s, voter: Voter, vote: Vote, claim: Claim, token: Number):
        """`Voter::on_raise` with `enters`: records that the client may learn the token, while the vote belongs to the claim."""
        return Step([*self.is_out(s, voter, vote), s.has(vote, claim), s.record_request(vote, claim, token)], s.update(
            recorded=added(s.recorded, vote, claim, token), is_recorded=added(s.is_recorded, vote),
            used=added_where(s.used, lambda b, e: And(b == voter, at_most(e, token)))))

    @action
    def skip_numbers(self, s, voter: Voter, number: Number):
        """`Voter::release` with a token, `forget_idle`, reserved blocks, and votes for clients that are inside: numbers may be
        skipped at any time."""
        return Step([], s.update(used=added_where(s.used, lambda b, e: And(b == voter, at_most(e, number)))))

    # Beats.

    @action
    def receive_beat(self, s, voter: Voter, client: Client, instant: Instant):
        """`Voter::accept`: the voter keeps the client's votes for one ttl from now. A newer beat counts for older ones, too. A beat
        that arrives a second time extends nothing in the code."""
        return Step([s.begun(client, instant), Not(s.abstains(voter))],
                    s.update(keeps=added(s.keeps, voter, client, instant)))

    @action
    def echo(self, s, voter: Voter, vote: Vote, claim: Claim, instant: Instant):
        """`Voter::on_beat` and `send_vote`: lists the vote for a beat that the voter has received. A vote that was ended by force
        is not listed as renewed."""
        return Step([*self.is_listed(s, voter, vote, claim), self.is_renewed(s, vote), self.has_heard(s, voter, vote, instant)],
                    s.update(echoed=added(s.echoed, vote, claim, instant)))

    def is_listed(self, s, voter, vote, claim):
        return [*self.is_out(s, voter, vote), s.has(vote, claim)]

    def is_renewed(self, s, vote):
        return Not(s.frozen(vote))

    def has_heard(self, s, voter, vote, instant):
        return s.keeps(voter, client_of(vote_for(vote)), instant)

    @action
    def lapse(self, s, voter: Voter, client: Client):
        """`Voter::end_incarnation` and `end_session`: the voter has received no beat of the client for one ttl."""
        lapses = lambda b: And(by(b, voter), client_of(vote_for(b)) == client)
        return Step([Not(s.abstains(voter)), self.has_lapsed(s, voter, client)], s.update(out=removed(s.out, lapses)))

    def has_lapsed(self, s, voter, client):
        return ForAll([t], Implies(s.keeps(voter, client, t), s.over(t)))

    # Force releases.

    @action
    def force(self, s, voter: Voter, vote: Vote):
        """`Voter::force`: the vote is no longer renewed, and is kept for one ttl after the last beat before."""
        last = lambda b, e: And(b == vote, Not(s.frozen(vote)), s.keeps(voter, client_of(vote_for(vote)), e))
        return Step(self.is_out(s, voter, vote), s.update(
            frozen=added(s.frozen, vote), frozen_until=added_where(s.frozen_until, last)))

    @action
    def thaw(self, s, voter: Voter, vote: Vote):
        """`Voter::thaw`: no client can rely on the vote any more."""
        return Step([*self.is_out(s, voter, vote), s.frozen(vote), self.is_thawed(s, vote)],
                    s.update(out=removed(s.out, lambda b: b == vote)))

    def is_thawed(self, s, vote):
        return ForAll([t], Implies(s.frozen_until(vote, t), s.over(t)))

    # Restarts of a voter.

    def kept_after_restart(self, s, voter):
        """All beats that were sent before count as received, because the voter keeps what it has for one ttl from now."""
        return added_where(s.keeps, lambda b, e, f: And(b == voter, s.begun(e, f)))

    @action
    def restart(self, s, voter: Voter):
        """`Voter::restored`: the process has stopped or was killed, and the next one reads the vote file. Everything that was sent
        is in the file. Reading it counts as a beat of every session. Frozen votes are kept for one ttl from now."""
        begun = lambda b, e: And(by(b, voter), s.frozen(b), s.begun(client_of(vote_for(b)), e))
        return Step([Not(s.abstains(voter))], s.update(
            keeps=self.kept_after_restart(s, voter), frozen_until=added_where(s.frozen_until, begun),
            **self.lost_by_restart(s, voter)))

    def lost_by_restart(self, s, voter):
        return {}

    @action
    def forget_votes(self, s, voter: Voter):
        """`Voter::forgotten` with a mark: the machine was rebooted or the vote file is lost, but a durable mark bounds the numbers.
        The voter abstains. It may forget again while it abstains."""
        return Step([Not(s.lost_numbers(voter))], s.update(
            abstains=added(s.abstains, voter), keeps=self.kept_by_the_forgetful(s, voter)))

    @action
    def forget_all(self, s, voter: Voter):
        """`Voter::forgotten` without a mark: the data folder is lost, too. Answers to an earlier incarnation do not count."""
        own = lambda b, *_: b == voter
        return Step([], s.update(
            abstains=added(s.abstains, voter), keeps=self.kept_by_the_forgetful(s, voter),
            lost_numbers=added(s.lost_numbers, voter), used=removed(s.used, own), learning=removed(s.learning, own),
            **self.answers_after_forgetting(s, voter)))

    def kept_by_the_forgetful(self, s, voter):
        return self.kept_after_restart(s, voter)

    def answers_after_forgetting(self, s, voter):
        own = lambda b, *_: b == voter
        return dict(answered=removed(s.answered, own), learned=removed(s.learned, own))

    def abstention_is_over(self, s, voter):
        return ForAll([a, t], Implies(s.keeps(voter, a, t), s.over(t)))

    def vote_again(self, s, voter, **changes):
        own = lambda b, *_: b == voter
        return s.update(abstains=removed(s.abstains, own), out=removed(s.out, lambda b: by(b, voter)), **changes)

    @action
    def vote_with_mark(self, s, voter: Voter):
        """`Voter::end_abstention` with a mark: the voter starts above it."""
        return Step([s.abstains(voter), self.knows_numbers(s, voter), self.abstention_is_over(s, voter)],
                    self.vote_again(s, voter, lost_numbers=removed(s.lost_numbers, lambda b: b == voter)))

    def knows_numbers(self, s, voter):
        return Not(s.lost_numbers(voter))

    @action
    def begin_learning(self, s, voter: Voter):
        """`Voter::end_abstention` without a mark: LEARN."""
        return Step([s.abstains(voter), s.lost_numbers(voter), self.may_learn(s, voter)],
                    s.update(learning=added(s.learning, voter)))

    def may_learn(self, s, voter):
        return self.abstention_is_over(s, voter)

    @action
    def answer(self, s, other: Voter, voter: Voter):
        """`Voter::on_peer` for LEARN: another voter, which does not abstain, answers with its numbers. KNOWN may arrive late."""
        return Step([s.learning(voter), self.may_answer(s, other)], s.update(
            answered=added(s.answered, voter, other),
            learned=added_where(s.learned, lambda b, e: And(b == voter, s.used(other, e)))))

    def may_answer(self, s, other):
        return Not(s.abstains(other))

    @action
    def vote_after_learning(self, s, voter: Voter, quorum: Quorum):
        """`Voter::learn`: a quorum has answered."""
        own = lambda b: b == voter
        return Step([s.learning(voter), self.has_learned(s, voter, quorum)],
                    self.vote_again(s, voter, lost_numbers=removed(s.lost_numbers, own), learning=removed(s.learning, own),
                                    used=lambda b, e: Or(And(b == voter, s.learned(b, e)), And(b != voter, s.used(b, e)))))

    def has_learned(self, s, voter, quorum):
        return ForAll([n], Implies(member(n, quorum), s.answered(voter, n)))

    def backing(self, s, request, voter, instant):
        """The voter has a vote on which the client may rely until the instant. It is freed by nothing but the client and time."""
        firm = lambda b: ForAll([c], Implies(s.has(b, c), Or(
            And(Not(is_relayed(request)), s.knows_inside(c), Not(s.returned(b, c))),
            And(is_relayed(request), Implies(is_lease(request), Or(s.reported(c), s.found(b, c)))))))
        return Exists([v], And(by(v, voter), vote_for(v) == request, s.out(v), s.keeps(voter, client_of(request), instant),
                               Implies(s.frozen(v), s.frozen_until(v, instant)), Implies(is_relayed(request), s.is_recorded(v)),
                               firm(v)))

    def invariants(self, s):
        relied = lambda request, quorum, instant: And(s.relies(request, quorum, instant), Not(s.over(instant)),
                                                      Not(s.stopped(request)))
        client = lambda vote: client_of(vote_for(vote))
        return [
            # Votes.
            ("a voter has one vote", ForAll([v, w, n], Implies(And(s.out(v), s.out(w), by(v, n), by(w, n)), v == w))),
            ("a vote that is out was given", ForAll([v], Implies(s.out(v), s.given(v)))),
            ("the claim of a vote was told", ForAll([v, c], Implies(s.has(v, c), s.told(v, c)))),
            ("a vote has one claim", ForAll([v, c, d], Implies(And(s.has(v, c), s.has(v, d)), c == d))),
            ("a vote is told to claims of its request",
             ForAll([v, c], Implies(s.told(v, c), And(vote_for(v) == claim_for(c), s.asked(c), s.given(v))))),
            ("a vote goes to greater attempts",
             ForAll([v, c, d], Implies(And(s.told(v, c), s.has(v, d)), Or(c == d, earlier(c, d))))),
            ("YIELD and RAISED name told votes",
             ForAll([v, c, k], Implies(Or(s.returned(v, c), s.raised(v, c, k)), s.told(v, c)))),
            ("a vote that was given back is not out", ForAll([v], Implies(s.given_back(v), And(s.given(v), Not(s.out(v)))))),
            # Time.
            ("an echoed vote was told, and its voter keeps it", ForAll([v, c, t], Implies(
                s.echoed(v, c, t), And(s.told(v, c), ForAll([n], Implies(by(v, n), s.keeps(n, client(v), t))))))),
            ("a frozen vote is kept for all beats that were echoed",
             ForAll([v, c, t], Implies(And(s.echoed(v, c, t), s.frozen(v)), s.frozen_until(v, t)))),
            ("an echoed vote is out, unless its client or candidate gave it back", ForAll([v, c, t], Implies(
                And(s.echoed(v, c, t), Not(s.over(t))), Or(s.out(v), s.given_back(v), s.stopped(vote_for(v)))))),
            ("a voter that learns has waited",
             ForAll([n, a, t], Implies(And(s.learning(n), s.keeps(n, a, t)), s.over(t)))),
            ("a voter that learns abstains", ForAll([n], Implies(s.learning(n), And(s.abstains(n), s.lost_numbers(n))))),
            ("a voter that has lost its numbers is answered when it learns",
             ForAll([n, m], Implies(And(s.lost_numbers(n), s.answered(n, m)), s.learning(n)))),
            ("a voter that has lost its numbers abstains", ForAll([n], Implies(s.lost_numbers(n), s.abstains(n)))),
            # Clients that are not relayed.
            ("the latest attempt is the greatest", ForAll([c, d], Implies(
                And(s.latest(c), s.asked(d), claim_for(c) == claim_for(d)), Or(c == d, earlier(d, c))))),
            ("only clients that are not relayed number their attempts", ForAll([c], Implies(
                Or(s.latest(c), s.knows_inside(c), s.granted(c)), Not(is_relayed(claim_for(c)))))),
            ("the latest attempt is asked", ForAll([c], Implies(s.latest(c), s.asked(c)))),
            ("only clients that are not relayed enter by reports",
             ForAll([r], Implies(s.inside(r), Not(is_relayed(r))))),
            ("the latest claim of a client inside knows it",
             ForAll([c], Implies(And(s.latest(c), s.inside(claim_for(c))), s.knows_inside(c)))),
            ("later claims of a client inside know it", ForAll([c, d], Implies(
                And(s.knows_inside(c), s.asked(d), claim_for(c) == claim_for(d), earlier(c, d)), s.knows_inside(d)))),
            ("a claim knows only of clients that are inside",
             ForAll([c], Implies(s.knows_inside(c), And(s.asked(c), s.inside(claim_for(c)))))),
            ("a vote that was given back does not count for the latest attempt", ForAll([v, c], Implies(
                And(s.given_back(v), s.told(v, c), s.latest(c)), s.returned(v, c)))),
            ("a reported grant has the votes of its quorum", ForAll([c, q, k, t, n], Implies(
                And(s.grant_report(c, q, k, t), member(n, q)), Exists([v], And(
                    by(v, n), s.told(v, c), Not(s.returned(v, c)), at_most(number_of(v), k), s.raised(v, c, k),
                    s.echoed(v, c, t)))))),
            ("a claim with a reported grant never yields",
             ForAll([c, q, k, t], Implies(s.grant_report(c, q, k, t), s.granted(c)))),
            ("a reported confirmation has the votes of its quorum", ForAll([c, q, t, n], Implies(
                And(s.held_report(c, q, t), member(n, q)), Exists([v], And(
                    by(v, n), s.told(v, c), Not(s.returned(v, c)), s.echoed(v, c, t)))))),
            ("confirmations are reported by claims that know that the client is inside",
             ForAll([c, q, t], Implies(s.held_report(c, q, t), s.knows_inside(c)))),
            # Records of relayed clients.
            ("records are those of relays", ForAll([v, c, k], Implies(
                Or(s.recorded(v, c, k), s.record_request(v, c, k)), And(s.told(v, c), is_relayed(claim_for(c)))))),
            ("a recorded token makes a vote recorded", ForAll([v, c, k], Implies(s.recorded(v, c, k), s.is_recorded(v)))),
            ("a record is found by later claims", ForAll([v, c, d, k], Implies(
                And(s.recorded(v, c, k), s.has(v, d)), Or(c == d, s.found(v, d))))),
            ("a found record is found by later claims", ForAll([v, c, d], Implies(
                And(s.found(v, c), s.has(v, d)), s.found(v, d)))),
            ("a found record belongs to a told vote with a record",
             ForAll([v, c], Implies(s.found(v, c), And(s.told(v, c), s.is_recorded(v))))),
            ("WITHDRAW is of relays", ForAll([c], Implies(s.withdrawn(c), is_relayed(claim_for(c))))),
            ("a recorded vote is given back only by WITHDRAW with untold", ForAll([v, c, k], Implies(
                And(s.given_back(v), s.recorded(v, c, k)), s.untold(c)))),
            ("a vote with a found record is not given back", ForAll([v, c], Not(And(s.given_back(v), s.found(v, c))))),
            ("WITHDRAW with untold is of leases whose client knows nothing",
             ForAll([c], Implies(s.untold(c), And(is_lease(claim_for(c)), Not(s.reported(c)))))),
            # Validity.
            ("a client relies on votes of a quorum", ForAll([r, q, t, n], Implies(
                And(relied(r, q, t), member(n, q)), self.backing(s, r, n, t)))),
            # Tokens.
            ("a smaller number is used, too", ForAll([n, k, j], Implies(And(s.used(n, k), at_most(j, k)), s.used(n, j)))),
            ("a learned number is learned with all smaller ones",
             ForAll([n, k, j], Implies(And(s.learned(n, k), at_most(j, k)), s.learned(n, j)))),
            ("a raised number is used", ForAll([v, c, k, n], Implies(
                And(s.raised(v, c, k), s.out(v), by(v, n)), Or(s.used(n, k), s.lost_numbers(n))))),
            ("a recorded token is used", ForAll([v, c, k, n], Implies(
                And(s.recorded(v, c, k), s.out(v), by(v, n)), Or(s.used(n, k), s.lost_numbers(n))))),
            ("the voters of an entry remember its token", ForAll([r, k, q, n], Implies(
                And(s.entered(r, k, q), member(n, q)), Or(s.used(n, k), s.lost_numbers(n))))),
            ("a voter learns the tokens of its entries", ForAll([r, k, q, n, m], Implies(
                And(s.entered(r, k, q), member(n, q), member(m, q), s.answered(n, m), s.learning(n)), s.learned(n, k)))),
            ("later votes of an entry's voters have greater numbers", ForAll([r, k, q, n, v], Implies(
                And(s.entered(r, k, q), member(n, q), by(v, n), s.out(v), vote_for(v) != r), less(k, number_of(v))))),
            ("later records of an entry's voters have greater tokens", ForAll([r, k, q, n, v, c, j], Implies(
                And(s.entered(r, k, q), member(n, q), by(v, n), s.out(v), vote_for(v) != r,
                    Or(s.recorded(v, c, j), s.record_request(v, c, j))), less(k, j)))),
            *self.properties(s),
        ]

    def properties(self, s):
        return [
            ("at most one client is valid", ForAll([r, x, q, p, t, u], Implies(
                And(s.relies(r, q, t), Not(s.over(t)), Not(s.stopped(r)), s.relies(x, p, u), Not(s.over(u)), Not(s.stopped(x))),
                r == x))),
            ("a valid client has a greater token than all others", ForAll([r, x, q, p, t, k, j], Implies(
                And(s.relies(r, q, t), Not(s.over(t)), Not(s.stopped(r)), s.token(r, k), s.entered(x, j, p), x != r),
                less(j, k)))),
        ]

    def safety(self, s):
        return self.properties(s)


def If_(condition, then, otherwise):
    return Or(And(condition, then), And(Not(condition), otherwise))


class LockNames(Names):
    """Elements of a run by name. Voters have one letter, and a quorum is named by its voters: `ab`. The claim `h.2` is attempt 2 of
    request `h`, and `h.2x` the same attempt of another candidate. `a:h:3` is the vote of voter a for request h with number 3,
    and `a:h:3x` is another vote with the same number. Requests `h` and `h2` are of client `h`. Clients `r...` are relayed with a
    session key, clients `l...` with a lease."""

    sorts = [Voter, Quorum, Client, Request, Claim, Attempt, Vote, Number, Instant]

    def imply(self):
        for name in list(self.by_sort["Claim"]):
            self.add(Request, name.split(".")[0])
            self.add(Attempt, name.split(".")[1].rstrip("x"))
        for name in list(self.by_sort["Vote"]):
            self.add(Voter, name.split(":")[0])
            self.add(Request, name.split(":")[1])
            self.add(Number, name.split(":")[2].rstrip("x"))
        for name in list(self.by_sort["Request"]):
            self.add(Client, name.rstrip("0123456789"))
        for name in list(self.by_sort["Quorum"]):
            for voter in name:
                self.add(Voter, voter)

    def define(self):
        for name in self.of(Claim):
            request, attempt = name.split(".")
            self.let(claim_for, name, request)
            self.let(attempt_of, name, attempt.rstrip("x"))
        for name in self.of(Vote):
            voter, request, number = name.split(":")
            self.let(vote_for, name, request)
            self.let(number_of, name, number.rstrip("x"))
            for other in self.of(Voter):
                self.let(by, name, other, other == voter)
        for name in self.of(Request):
            self.let(client_of, name, name.rstrip("0123456789"))
        for name in self.of(Client):
            self.let(relayed, name, name[0] in "rl")
            self.let(lease, name, name[0] == "l")
        for name in self.of(Quorum):
            for voter in self.of(Voter):
                self.let(member, voter, name, voter in name)
        self.order(Number, at_most, int)
        self.order(Attempt, attempt_at_most, int)


def request_name(claim):
    return claim.split(".")[0]


def beats(client, instant, voters):
    """The client sends a beat, and these voters receive it."""
    return [f"begin_beat {client} {instant}", *(f"receive_beat {voter} {client} {instant}" for voter in voters)]


def gives(claim, voters, number):
    return [f"give {voter} {voter}:{request_name(claim)}:{number} {claim}" for voter in voters]


def echoes(claim, voters, number, instant):
    return [f"echo {voter} {voter}:{request_name(claim)}:{number} {claim} {instant}" for voter in voters]


def raises(claim, voters, number, token):
    return [f"raise_number {voter} {voter}:{request_name(claim)}:{number} {claim} {token}" for voter in voters]


def enters(claim, voters, number, instant):
    """A direct client gets votes with this number of a quorum, and enters. The number is its token."""
    return [f"pursue {claim}", *beats(request_name(claim).rstrip("0123456789"), instant, voters),
            *gives(claim, voters, number), *enters_with_votes(claim, voters, number, instant)]


def enters_with_votes(claim, voters, number, instant):
    return [*raises(claim, voters, number, number), *echoes(claim, voters, number, instant),
            f"grant {claim} {voters} {number} {instant}", f"enter {claim} {voters} {number} {instant}"]


def records(claim, voters, number, token):
    """A relay records a token with votes of this number."""
    votes = [f"{voter}:{request_name(claim)}:{number}" for voter in voters]
    return [line for voter, vote in zip(voters, votes, strict=True)
            for line in (f"propose {claim} {vote} {token}", f"record {voter} {vote} {claim} {token}")]


def enters_recorded(claim, voters, number, instant):
    """A relayed client gets votes with this number of a quorum, records the number as its token, and enters."""
    return [f"pursue {claim}", *beats(request_name(claim), instant, voters), *gives(claim, voters, number),
            *records(claim, voters, number, number), *echoes(claim, voters, number, instant),
            f"grant_recorded {claim} {voters} {number} {instant}"]


def releases(claim, voters, number):
    request = request_name(claim)
    return [f"stop {request}", *(f"receive_release {voter} {voter}:{request}:{number}" for voter in voters)]


# Runs that the algorithm allows. Together they contain every action, so no action is impossible by mistake.
ALLOWED_RUNS = {
    "h enters, gets a spare vote, changes the candidate, outlives a voter and leaves, then k enters": [
        *enters("h.1", "ab", 1, "t1"), *gives("h.1", "c", 3), *beats("h", "t2", "bc"), "pursue h.2",
        "take_over b b:h:1 h.1 h.2", "take_over c c:h:3 h.1 h.2", *echoes("h.2", "b", 1, "t2"), *echoes("h.2", "c", 3, "t2"),
        "confirm h.2 bc t2", "extend h.2 bc t2", "pass_instant t1", "lapse a k", *releases("h.2", "b", 1), "receive_release c c:h:3",
        *enters("k.1", "bc", 4, "t3")],
    "h yields to k, and enters when k has lapsed": [
        "pursue h.1", *gives("h.1", "ab", 1), "give_back a:h:1 h.1", "receive_yield a a:h:1 h.1",
        *enters("k.1", "ac", 2, "t1"), "pass_instant t1", "lapse a k", "lapse c k", *beats("h", "t2", "ab"),
        *gives("h.1", "a", 3), *raises("h.1", "ab", 3, 3)[:1], "raise_number b b:h:1 h.1 3", *echoes("h.1", "a", 3, "t2"),
        *echoes("h.1", "b", 1, "t2"), "grant h.1 ab 3 t2", "enter h.1 ab 3 t2"],
    "a grant comes too late and is taken back": [
        "pursue h.1", *beats("h", "t1", "ab"), *gives("h.1", "ab", 1), *raises("h.1", "ab", 1, 1), *echoes("h.1", "ab", 1, "t1"),
        "grant h.1 ab 1 t1", "pass_instant t1", "take_back h.1", "give_back a:h:1 h.1", "receive_yield a a:h:1 h.1"],
    "a relayed client enters, another relay confirms what is listed and records a spare vote, a third relay continues": [
        *enters_recorded("r.1", "ab", 1, "t1"), *beats("r", "t2", "abc"), *echoes("r.1", "ab", 1, "t2"), "grant_listed r ab 1 t2",
        "pursue r.2", "take_over b b:r:1 r.1 r.2", *gives("r.2", "c", 4), "propose_inside r.2 c:r:4 1", "record c c:r:4 r.2 1",
        *echoes("r.2", "b", 1, "t2"), *echoes("r.2", "c", 4, "t2"), "confirm_recorded r.2 bc t2", "pass_instant t1"],
    "relays withdraw a request and a token that they have not reported": [
        "pursue r.1", *gives("r.1", "a", 1), "withdraw r.1", "receive_withdraw a a:r:1 r.1",
        "pursue l.1", *gives("l.1", "ab", 2), *records("l.1", "ab", 2, 2), "withdraw_untold l.1",
        "receive_withdraw_untold a a:l:2 l.1", "receive_withdraw_untold b b:l:2 l.1", *enters("h.1", "ab", 3, "t1")],
    "h is released by force, and k enters one ttl later": [
        *enters("h.1", "ab", 1, "t1"), "force a a:h:1", "force b b:h:1", "restart a", *beats("h", "t2", "ab"), "pass_instant t1",
        "thaw a a:h:1", "thaw b b:h:1", *enters("k.1", "ab", 2, "t3")],
    "voters forget, wait, and vote again": [
        *enters("h.1", "ab", 1, "t1"), "restart c", "forget_votes a", "forget_all b", "pass_instant t1", "vote_with_mark a",
        "skip_numbers a 4", "begin_learning b", "answer a b", "answer c b", "vote_after_learning b ac",
        *enters("k.1", "ab", 5, "t2")],
}


class Mutant(Locks):
    """A mutant has a rule and a script, and overrides one method of the algorithm."""


class DisjointQuorums(Mutant):
    rule = "two quorums need not share a voter"
    script = [*enters("h.1", "a", 1, "t1"), *enters("k.1", "b", 1, "t2")]

    def axioms(self):
        return STATIC


class VotesTwice(Mutant):
    rule = "a voter gives its vote to two requests at a time"
    script = [*enters("h.1", "ab", 1, "t1"), *enters("k.1", "ab", 2, "t2")]

    def is_free(self, s, voter):
        return And()


class CountsUnechoedBeats(Mutant):
    rule = "the client counts from the latest beat that it has sent, not from one that the voter has echoed"
    script = [*enters("h.1", "ab", 1, "t1"), "begin_beat h t2", "confirm h.1 ab t2", "extend h.1 ab t2", "pass_instant t1",
              "lapse a h", "lapse b h", *enters("k.1", "ab", 2, "t3")]

    def is_good(self, s, vote, claim, instant):
        return Or(s.echoed(vote, claim, instant), s.begun(client_of(claim_for(claim)), instant))


class ExtendsUnlistedVotes(Mutant):
    rule = "an echo extends all votes of the session at the voter, also those that it does not list"
    script = [*enters("h.1", "ab", 1, "t1"), "pass_instant t1", "lapse a h", "lapse b h", *beats("h", "t2", "ab"),
              *echoes("h.1", "ab", 1, "t2"), "grant h.1 ab 1 t2", "enter h.1 ab 1 t2", *enters("k.1", "ab", 2, "t3")]

    def is_listed(self, s, voter, vote, claim):
        return [by(vote, voter), Not(s.abstains(voter)), s.told(vote, claim)]


class EchoesUnheardBeats(Mutant):
    rule = "a voter echoes a beat that it has not received"
    script = [*enters("h.1", "ab", 1, "t1")[:-6], "begin_beat h t2", *raises("h.1", "ab", 1, 1), *echoes("h.1", "ab", 1, "t2"),
              "grant h.1 ab 1 t2", "enter h.1 ab 1 t2", "pass_instant t1", "lapse a h", "lapse b h", *enters("k.1", "ab", 2, "t3")]

    def has_heard(self, s, voter, vote, instant):
        return s.begun(client_of(vote_for(vote)), instant)


class LapsesEarly(Mutant):
    rule = "a voter frees votes before the client's newest beat has ended"
    script = [*enters("h.1", "ab", 1, "t1"), "lapse a h", "lapse b h", *enters("k.1", "ab", 2, "t2")]

    def has_lapsed(self, s, voter, client):
        return And()


class RelaysLapseApart(Mutant):
    rule = "the votes that one relay has collected lapse, although the client calls through another relay"
    script = [*enters_recorded("r.1", "ab", 1, "t1"), *beats("r", "t2", "ab"), *echoes("r.1", "ab", 1, "t2"),
              "grant_listed r ab 1 t2", "pass_instant t1", "lapse_relay a r t1", "lapse_relay b r t1", *enters("k.1", "ab", 2, "t3")]

    @action
    def lapse_relay(self, s, voter: Voter, client: Client, instant: Instant):
        lapses = lambda b: And(by(b, voter), client_of(vote_for(b)) == client)
        return Step([Not(s.abstains(voter)), relayed(client), s.keeps(voter, client, instant), s.over(instant)],
                    s.update(out=removed(s.out, lapses)))


class CandidateReleases(Mutant):
    rule = "a voter frees a vote because a candidate takes the lock for lost, without the client's word"
    script = [*enters("h.1", "ab", 1, "t1"), "receive_release a a:h:1", "receive_release b b:h:1", *enters("k.1", "ab", 2, "t2")]

    def is_released(self, s, vote):
        return Exists([c], s.told(vote, c))


class YieldsInside(Mutant):
    rule = "a candidate yields although its client is inside, or may enter with its grant"
    script = [*enters("h.1", "ab", 1, "t1"), "give_back a:h:1 h.1", "receive_yield a a:h:1 h.1", "give_back b:h:1 h.1",
              "receive_yield b b:h:1 h.1", *enters("k.1", "ab", 2, "t2")]

    def may_give_back(self, s, claim):
        return And()


class NewCandidateIsNotTold(Mutant):
    rule = "a candidate does not learn that the client is inside, and yields"
    script = [*enters("h.1", "ab", 1, "t1"), "pursue h.2", "take_over a a:h:1 h.1 h.2", "give_back a:h:1 h.2",
              "receive_yield a a:h:1 h.2", *enters("k.1", "ac", 2, "t2")]

    def is_told_inside(self, s, request):
        return Or()


class ForgetsReturnedVotes(Mutant):
    rule = "a vote that was given back counts again when VOTE arrives once more"
    script = [*enters("h.1", "ab", 1, "t1")[:-2], "give_back a:h:1 h.1", "receive_yield a a:h:1 h.1", "give_back b:h:1 h.1",
              "receive_yield b b:h:1 h.1", "grant h.1 ab 1 t1", "enter h.1 ab 1 t1", *enters("k.1", "ab", 2, "t2")]

    def counts(self, s, vote, claim):
        return s.told(vote, claim)


class EchoAddsVotes(Mutant):
    rule = "an echo adds a vote that the candidate does not count, because it was given back"
    script = ForgetsReturnedVotes.script

    def counts(self, s, vote, claim):
        listed = Exists([t], s.echoed(vote, claim, t))
        return Or(And(s.told(vote, claim), Not(s.returned(vote, claim))), listed)


class YieldNamesNoVote(Mutant):
    rule = "YIELD does not name the vote, so a late one takes back a later vote for the same claim"
    script = ["pursue h.1", *beats("h", "t1", "ab"), *gives("h.1", "ab", 1), "give_back a:h:1 h.1", "give_back b:h:1 h.1",
              "receive_yield a a:h:1 h.1", "receive_yield b b:h:1 h.1", *gives("h.1", "ab", 2),
              *enters_with_votes("h.1", "ab", 2, "t1"), "receive_yield a a:h:2 h.1", "receive_yield b b:h:2 h.1",
              *enters("k.1", "ab", 3, "t2")]

    def is_yielded(self, s, vote, claim):
        return Exists([w, n], And(s.returned(w, claim), by(w, n), by(vote, n)))


class YieldNamesNoClaim(Mutant):
    rule = "YIELD does not name the claim, so one of an earlier attempt takes back the vote of a later one"
    script = ["pursue h.1", *beats("h", "t1", "ab"), *gives("h.1", "ab", 1), "give_back a:h:1 h.1", "pursue h.2",
              "take_over a a:h:1 h.1 h.2", "take_over b b:h:1 h.1 h.2", *enters_with_votes("h.2", "ab", 1, "t1"),
              "receive_yield a a:h:1 h.1", *enters("k.1", "ac", 2, "t2")]

    def is_its_vote(self, s, vote, claim):
        return vote_for(vote) == claim_for(claim)


class AnyAttemptEnters(Mutant):
    rule = "a client enters with a grant of an earlier attempt"
    script = [*enters("h.1", "ab", 1, "t1")[:-1], "pursue h.2", "take_over a a:h:1 h.1 h.2", "take_over b b:h:1 h.1 h.2",
              "give_back a:h:1 h.2", "receive_yield a a:h:1 h.2", "enter h.1 ab 1 t1", *enters("k.1", "ac", 2, "t2")]

    def is_latest(self, s, claim):
        return s.asked(claim)


class EqualAttempts(Mutant):
    rule = "a client uses another candidate without raising its attempt, and voters let it take votes over"
    script = [*enters("h.1", "ab", 1, "t1")[:-1], "pursue h.1x", "take_over a a:h:1 h.1 h.1x", "pursue h.1",
              "enter h.1 ab 1 t1", "give_back a:h:1 h.1x", "receive_yield a a:h:1 h.1x", *enters("k.1", "ac", 2, "t2")]

    def is_newest(self, s, claim):
        return ForAll([c], Implies(And(s.asked(c), claim_for(c) == claim_for(claim)),
                                   attempt_at_most(attempt_of(c), attempt_of(claim))))

    def takes_precedence(self, claim, newer):
        return attempt_at_most(attempt_of(claim), attempt_of(newer))


class StaleAttemptsTakeOver(Mutant):
    rule = "a smaller attempt takes the vote over"
    script = ["pursue h.1", "pursue h.2", *beats("h", "t1", "ab"), *gives("h.2", "ab", 1), *enters_with_votes("h.2", "ab", 1, "t1"),
              "take_over a a:h:1 h.2 h.1", "give_back a:h:1 h.1", "receive_yield a a:h:1 h.1", *enters("k.1", "ac", 2, "t2")]

    def takes_precedence(self, claim, newer):
        return claim != newer


class TakesBackReportedGrants(Mutant):
    rule = "a candidate takes a grant back although the report is on its way to the client"
    script = [*enters("h.1", "ab", 1, "t1")[:-1], "take_back h.1", "give_back a:h:1 h.1", "receive_yield a a:h:1 h.1",
              "enter h.1 ab 1 t1", *enters("k.1", "ac", 2, "t2")]

    def reports_after_take_back(self, s, claim):
        return s.grant_report


class VoterFreesRecordedVotes(Mutant):
    rule = "a voter accepts YIELD of a vote with a recorded token"
    script = [*enters_recorded("r.1", "ab", 1, "t1"), "give_back a:r:1 r.1", "receive_yield a a:r:1 r.1",
              *enters("k.1", "ac", 2, "t2")]

    def may_be_freed(self, s, vote):
        return And()


class WithdrawsRecordedVotes(Mutant):
    rule = "a voter accepts WITHDRAW of a vote with a recorded token"
    script = [*enters_recorded("r.1", "ab", 1, "t1"), "withdraw r.1", "receive_withdraw a a:r:1 r.1",
              *enters("k.1", "ac", 2, "t2")]

    def may_be_withdrawn(self, s, vote):
        return And()


class UnrecordedVotesCount(Mutant):
    rule = "a relay reports a token that is confirmed, but not recorded"
    script = ["pursue r.1", *beats("r", "t1", "ab"), *gives("r.1", "ab", 1), *raises("r.1", "ab", 1, 1),
              *echoes("r.1", "ab", 1, "t1"), "grant_recorded r.1 ab 1 t1", "pursue r.2", "take_over a a:r:1 r.1 r.2",
              "give_back a:r:1 r.2", "receive_yield a a:r:1 r.2", *enters("k.1", "ac", 2, "t2")]

    def is_entry(self, s, vote, claim, token):
        return And(s.told(vote, claim), s.raised(vote, claim, token), at_most(number_of(vote), token))


class SpareVotesNeedNoRecord(Mutant):
    rule = "a relay whose client is inside counts spare votes without a record"
    script = [*enters_recorded("r.1", "ab", 1, "t1"), *beats("r", "t2", "bc"), *gives("r.1", "c", 2), *echoes("r.1", "b", 1, "t2"),
              *echoes("r.1", "c", 2, "t2"), "confirm_recorded r.1 bc t2", "pass_instant t1", "lapse a r", "pursue r.2",
              "take_over c c:r:2 r.1 r.2", "give_back c:r:2 r.2", "receive_yield c c:r:2 r.2", *enters("k.1", "ac", 3, "t3")]

    def has_record(self, s, vote, claim):
        return s.told(vote, claim)


class WithdrawsReportedTokens(Mutant):
    rule = "the relay of a lease withdraws a token that it has reported"
    script = [*enters_recorded("l.1", "ab", 1, "t1"), "withdraw_untold l.1", "receive_withdraw_untold a a:l:1 l.1",
              *enters("k.1", "ac", 2, "t2")]

    def is_untold(self, s, claim):
        return And()


class WithdrawsFoundTokens(Mutant):
    rule = "the relay of a lease withdraws a token that an earlier attempt has recorded"
    script = [*enters_recorded("l.1", "ab", 1, "t1"), "pursue l.2", "take_over a a:l:1 l.1 l.2", "withdraw_untold l.2",
              "receive_withdraw_untold a a:l:1 l.2", *enters("k.1", "ac", 2, "t2")]

    def has_found_nothing(self, s, vote, claim):
        return And()


class WithdrawsTakenOverVotes(Mutant):
    rule = "WITHDRAW with untold frees a vote that a later attempt has taken over"
    script = ["pursue l.1", *gives("l.1", "ab", 1), *records("l.1", "ab", 1, 1), "withdraw_untold l.1", "pursue l.2",
              *beats("l", "t1", "ab"), "take_over a a:l:1 l.1 l.2", "take_over b b:l:1 l.1 l.2", *records("l.2", "ab", 1, 1),
              *echoes("l.2", "ab", 1, "t1"), "grant_recorded l.2 ab 1 t1", "receive_withdraw_untold a a:l:1 l.1",
              *enters("k.1", "ac", 2, "t2")]

    def is_present_claim(self, s, vote, claim):
        return vote_for(vote) == claim_for(claim)


class KeysWithdrawRecords(Mutant):
    rule = "a relay withdraws a token that it has not reported, although keep-alives list it"
    script = ["pursue r.1", *beats("r", "t1", "ab"), *gives("r.1", "ab", 1), *records("r.1", "ab", 1, 1), "withdraw_untold r.1",
              *echoes("r.1", "ab", 1, "t1"), "grant_listed r ab 1 t1", "receive_withdraw_untold a a:r:1 r.1",
              *enters("k.1", "ac", 2, "t2")]

    def may_withdraw_records(self, claim):
        return is_relayed(claim_for(claim))


class LeaseCountsListedVotes(Mutant):
    rule = ("the relay of a lease reports a token that voters list, although it has not taken over their votes: another relay "
            "withdraws the token at the same time")
    script = ["pursue l.1", *beats("l", "t1", "ab"), *gives("l.1", "ab", 1), *records("l.1", "ab", 1, 1),
              *echoes("l.1", "ab", 1, "t1"), "withdraw_untold l.1", "grant_listed l ab 1 t1",
              "receive_withdraw_untold a a:l:1 l.1", *enters("k.1", "ac", 2, "t2")]

    def may_count_lists(self, request):
        return And()


class ForceFreesAtOnce(Mutant):
    rule = "a force release frees the vote at once"
    script = [*enters("h.1", "ab", 1, "t1"), "force a a:h:1", "thaw a a:h:1", *enters("k.1", "ac", 2, "t2")]

    def is_thawed(self, s, vote):
        return And()


class ForceRenews(Mutant):
    rule = "a voter renews a vote after a force release, and frees it one ttl after the last beat before"
    script = [*enters("h.1", "ab", 1, "t1"), "force a a:h:1", *beats("h", "t2", "ab"), *echoes("h.1", "ab", 1, "t2"),
              "confirm h.1 ab t2", "extend h.1 ab t2", "pass_instant t1", "thaw a a:h:1", *enters("k.1", "ac", 2, "t3")]

    def is_renewed(self, s, vote):
        return And()


class RestartLosesVotes(Mutant):
    rule = "a vote is sent before it is in the vote file, and a restart loses it"
    script = [*enters("h.1", "ab", 1, "t1"), "restart a", *enters("k.1", "ac", 2, "t2")]

    def lost_by_restart(self, s, voter):
        return dict(out=removed(s.out, lambda b: by(b, voter)))


class RestartLosesNumbers(Mutant):
    rule = "a confirmed number is sent before it is in the vote file, and a restart loses it"
    script = ["pursue h.1", *beats("h", "t1", "ab"), *gives("h.1", "a", 1), *gives("h.1", "b", 3), *raises("h.1", "b", 3, 3),
              "raise_number a a:h:1 h.1 3", *echoes("h.1", "a", 1, "t1"), *echoes("h.1", "b", 3, "t1"), "grant h.1 ab 3 t1",
              "enter h.1 ab 3 t1", "stop h", "receive_release a a:h:1", "restart a", *enters("k.1", "ac", 2, "t2")]

    def lost_by_restart(self, s, voter):
        return dict(used=removed(s.used, lambda b, e: b == voter))


class RestartLosesRecords(Mutant):
    rule = "a recorded token is sent before it is in the vote file, and a restart loses it"
    script = [*enters_recorded("r.1", "ab", 1, "t1"), "restart a", "give_back a:r:1 r.1", "receive_yield a a:r:1 r.1",
              *enters("k.1", "ac", 2, "t2")]

    def lost_by_restart(self, s, voter):
        return dict(is_recorded=removed(s.is_recorded, lambda b: by(b, voter)))


class ReadingIsNoBeat(Mutant):
    rule = "a restarted voter frees the votes of all sessions of which it has received no beat since"
    script = [*enters("h.1", "ab", 1, "t1"), "restart a", "lapse a h", *enters("k.1", "ac", 2, "t2")]

    def kept_after_restart(self, s, voter):
        return removed(s.keeps, lambda b, e, f: b == voter)

    def kept_by_the_forgetful(self, s, voter):
        return Locks.kept_after_restart(self, s, voter)


class NoAbstention(Mutant):
    rule = "a voter that has forgotten its votes votes at once"
    script = [*enters("h.1", "ab", 1, "t1"), "forget_votes a", "vote_with_mark a", *enters("k.1", "ac", 2, "t2")]

    def abstention_is_over(self, s, voter):
        return And()


class NumbersStartAgain(Mutant):
    rule = "a voter without a mark votes after its abstention without learning the numbers"
    script = [*enters("h.1", "ab", 2, "t1"), *releases("h.1", "ab", 2), "forget_all a", "pass_instant t1", "vote_with_mark a",
              *enters("k.1", "ac", 1, "t2")]

    def knows_numbers(self, s, voter):
        return And()


class NumbersDoNotGrow(Mutant):
    rule = "a vote may have a number that was used before"
    script = [*enters("h.1", "ab", 2, "t1"), *releases("h.1", "ab", 2), *enters("k.1", "ac", 1, "t2")]

    def is_new_number(self, s, voter, vote):
        return And()


class LearnsFromTheForgetful(Mutant):
    rule = "a voter that has forgotten its numbers answers LEARN"
    script = [*enters("h.1", "abc", 2, "t1"), *releases("h.1", "abc", 2), "forget_all a", "forget_all b", "pass_instant t1",
              "begin_learning a", "answer b a", "answer a a", "vote_after_learning a ab", "forget_all c", "begin_learning c",
              "answer a c", "answer b c", "vote_after_learning c ab", *enters("k.1", "ac", 1, "t2")]

    def may_answer(self, s, other):
        return And()


class LearnsFromFew(Mutant):
    rule = "a voter learns from less than a quorum"
    script = [*enters("h.1", "ab", 2, "t1"), *releases("h.1", "ab", 2), "forget_all a", "pass_instant t1", "begin_learning a",
              "answer c a", "vote_after_learning a bc", *enters("k.1", "ac", 1, "t2")]

    def has_learned(self, s, voter, quorum):
        return Exists([n], s.answered(voter, n))


class LearnsTooEarly(Mutant):
    rule = "a voter learns the numbers while clients may still enter with its forgotten votes"
    script = ["pursue h.1", *beats("h", "t1", "ab"), *gives("h.1", "ab", 1), "raise_number a a:h:1 h.1 4",
              *echoes("h.1", "ab", 1, "t1"), "forget_all a", "begin_learning a", "answer b a", "answer c a",
              "raise_number b b:h:1 h.1 4", "grant h.1 ab 4 t1", "enter h.1 ab 4 t1", "pass_instant t1",
              "vote_after_learning a bc", *enters("k.1", "ac", 3, "t2")]

    def may_learn(self, s, voter):
        return And()


class LateAnswersCount(Mutant):
    rule = "answers to an earlier incarnation count after a voter has forgotten again"
    script = ["forget_all a", "begin_learning a", "answer b a", "answer c a", "vote_after_learning a bc",
              *enters("h.1", "ab", 2, "t1"), *releases("h.1", "ab", 2), "forget_all a", "pass_instant t1", "begin_learning a",
              "vote_after_learning a bc", *enters("k.1", "ac", 1, "t2")]

    def answers_after_forgetting(self, s, voter):
        return {}


class ConfirmsNothing(Mutant):
    rule = "a token is at least every number of the quorum, but voters need not confirm it"
    script = ["pursue h.1", *beats("h", "t1", "ab"), *gives("h.1", "a", 1), *gives("h.1", "b", 4), *echoes("h.1", "a", 1, "t1"),
              *echoes("h.1", "b", 4, "t1"), "grant h.1 ab 4 t1", "enter h.1 ab 4 t1", "stop h", "receive_release a a:h:1",
              *enters("k.1", "ac", 2, "t2")]

    def is_confirmed(self, s, vote, claim, number):
        return And()


class SmallerTokens(Mutant):
    rule = "a token may be smaller than the number of a vote that counts for it"
    script = [*enters("k.1", "ab", 3, "t1"), *releases("k.1", "ab", 3), "pursue h.1", *beats("h", "t2", "ac"),
              *gives("h.1", "a", 4), *gives("h.1", "c", 1), "raise_number a a:h:4 h.1 1", *raises("h.1", "c", 1, 1),
              *echoes("h.1", "a", 4, "t2"), *echoes("h.1", "c", 1, "t2"), "grant h.1 ac 1 t2", "enter h.1 ac 1 t2"]

    def fits(self, number, token):
        return And()


class ConfirmationsOfOtherVotes(Mutant):
    rule = "RAISED names the number of a vote, but not its epoch"
    script = ["pursue h.1", *beats("h", "t1", "a"), *gives("h.1", "a", 1), "raise_number a a:h:1 h.1 4", "forget_all a",
              "pass_instant t1", "begin_learning a", "answer b a", "answer c a", "vote_after_learning a bc", *beats("h", "t2", "ab"),
              "give a a:h:1x h.1", *gives("h.1", "b", 1), "raise_number b b:h:1 h.1 4", "echo a a:h:1x h.1 t2",
              *echoes("h.1", "b", 1, "t2"), "grant h.1 ab 4 t2", "enter h.1 ab 4 t2", "stop h", "receive_release a a:h:1x",
              *enters("k.1", "ac", 2, "t3")]

    def is_confirmed(self, s, vote, claim, number):
        same = lambda other: And(number_of(other) == number_of(vote), Exists([n], And(by(other, n), by(vote, n))))
        return Exists([w], And(same(w), s.raised(w, claim, number)))


class GuardsRevive(Mutant):
    rule = "a guard that has become invalid becomes valid again"
    script = [*enters("h.1", "ab", 1, "t1"), "pass_instant t1", "lapse a h", "lapse b h", *enters("k.1", "ab", 2, "t2"),
              *releases("k.1", "ab", 2), *beats("h", "t3", "ab"), *gives("h.1", "ab", 3), *echoes("h.1", "ab", 3, "t3"),
              "confirm h.1 ab t3", "extend h.1 ab t3"]

    def is_still_valid(self, s, request):
        return And(Not(s.stopped(request)), Exists([k], s.token(request, k)))


class RecordsAfterValidity(Mutant):
    rule = "a relay records the token of its client with new votes after the validity of its client has ended"
    script = [*enters_recorded("r.1", "ab", 1, "t1"), "pass_instant t1", "lapse a r", "lapse b r", *enters("k.1", "ab", 2, "t2"),
              *releases("k.1", "ab", 2), *beats("r", "t3", "ab"), *gives("r.1", "ab", 3), "propose_inside r.1 a:r:3 1",
              "propose_inside r.1 b:r:3 1", "record a a:r:3 r.1 1", "record b b:r:3 r.1 1", *echoes("r.1", "ab", 3, "t3"),
              "grant_recorded r.1 ab 1 t3"]

    def is_still_inside(self, s, request):
        return And()


class EntersUnreported(lacks_guard(Mutant, "enter", 0)):
    rule = "a client enters although no candidate has reported a grant"
    script = [*enters("k.1", "ab", 1, "t1"), "pursue h.1", "enter h.1 ac 2 t2"]


class ExtendsUnreported(lacks_guard(Mutant, "extend", 0)):
    rule = "a client extends its validity although its candidate has not reported that votes are good for longer"
    script = [*enters("h.1", "ab", 1, "t1"), "extend h.1 ab t2", "pass_instant t1", "lapse a h", "lapse b h",
              *enters("k.1", "ab", 2, "t3")]


MUTANTS = [cls for cls in list(vars().values()) if isinstance(cls, type) and issubclass(cls, Mutant) and cls is not Mutant]

# Guards without which the proof still holds.
IS_GIVEN = "without it the action changes nothing that matters: the vote is not out, or of another voter"
IGNORES = "an abstaining voter ignores all messages. The model still has its earlier votes, on which no client relies when it votes again"
ONLY_RELAYS = "only relayed clients have records"
SPARE_GUARDS = {
    ("take_back", 0): "only clients that are not relayed have reported grants",
    ("take_back", 1): "a claim whose client is inside never yields, granted or not",
    ("grant_recorded", 0): ONLY_RELAYS, ("grant_listed", 0): ONLY_RELAYS,
    ("receive_beat", 0): "a beat arrives after it was sent. To keep votes longer is never unsafe",
    ("vote_with_mark", 0): "it says when the action happens. Votes on which no client relies may be freed at any time",
    ("begin_learning", 0): "a voter that has lost its numbers abstains",
    **{(name, 1): IGNORES for name in ("receive_yield", "receive_withdraw", "receive_withdraw_untold", "receive_release", "take_over",
                                       "raise_number", "record", "echo", "force", "thaw")},
    ("lapse", 0): IGNORES,
    **{(name, 0): IS_GIVEN for name in ("receive_yield", "receive_withdraw", "receive_withdraw_untold", "receive_release", "take_over",
                                        "thaw")},
    **{(name, 2): IS_GIVEN for name in ("receive_yield", "receive_withdraw_untold", "receive_release", "raise_number", "force",
                                        "thaw")},
}

PROGRAM = Program("lock service", "locks exclude, and tokens grow, for any number of voters, clients and restarts", Locks,
                  LockNames, ALLOWED_RUNS, MUTANTS, locks_clocks.lemmas, locks_clocks.kill_mutants,
                  SPARE_GUARDS)

if __name__ == "__main__":
    main(PROGRAM, "Proves that at most one client may rely on a lock, and that tokens grow.")
