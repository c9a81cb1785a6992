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
  only votes of its own attempt. The code differs in the last point, see the mutant `LeaseCountsListedVotes`.

An action often allows more than the code does. README.md lists what is not modelled.
"""

from z3 import And, BoolSort, Const, Consts, DeclareSort, Exists, ForAll, Function, Implies, Not, Or

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
        return Step([by(vote, voter), Not(s.given(vote)), self.votes(s, voter), self.is_free(s, voter), s.asked(claim),
                     vote_for(vote) == claim_for(claim), self.is_new_number(s, voter, vote)],
                    s.update(given=added(s.given, vote), out=added(s.out, vote), has=added(s.has, vote, claim),
                             told=added(s.told, vote, claim), used=added_where(s.used, up_to_number)))

    def votes(self, s, voter):
        return Not(s.abstains(voter))

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
    def answer(self, s, voter: Voter, other: Voter):
        """`Voter::on_peer` for LEARN: a voter that does not abstain answers with its numbers. KNOWN may arrive late."""
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
                And(s.grant_report(c, q, k, t), member(n, q)), self.enters_with(s, n, c, k, t)))),
            ("a claim with a reported grant never yields",
             ForAll([c, q, k, t], Implies(s.grant_report(c, q, k, t), s.granted(c)))),
            ("a reported confirmation has the votes of its quorum", ForAll([c, q, t, n], Implies(
                And(s.held_report(c, q, t), member(n, q)), self.holds_with(s, n, c, t)))),
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
