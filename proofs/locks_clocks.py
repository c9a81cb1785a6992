"""Lease arithmetic: a client stops to rely on a vote strictly before its voter may free it.

locks.py assumes of time: whatever a voter keeps because of a beat, a restart or a force release, it keeps until the validity of all
beats is over that the client had sent before. This file proves it for clocks of whole nanoseconds: a clock shows the greatest
whole number up to `offset + rate * true time`, and rates are between 1 - r and 1 + r. A message may take no time, and r may be 0.
The formulas are those of crates/quorate-algorithms/src/mutex/leased_quorum/terms.rs. A drift is `size / one` there, so that
`slow = one - size` and `fast = one + size` are whole numbers.

z3 decides nonlinear real arithmetic only if it is written suitably. The proof is in small steps, with true durations multiplied by
the rates. What the steps say together:

    beat sent at s, received at h >= s, by the voter's clock kept until the reading at h + ttl
    the client is valid at x   =>   x <  s + (ttl - 1) / (1 + r)
    the voter frees at y       =>   y >  h + (ttl - 1) / (1 + r)
"""

from z3 import And, Int, Ints, Real, Reals, ToReal, sat, unsat

# All are whole numbers in the code. Only the readings of clocks have to be whole for the proof.
ttl, one, size, validity, abstention = Reals("ttl one size validity abstention")
slow, fast = one - size, one + size
# True times: the beat is sent, received, the client is valid, and the vote is freed.
s, h, x, y = Reals("s h x y")
# A clock shows `began` when something begins and `shows` at a later moment. It has measured `local` in between, which took `elapsed`.
began, shows, span = Ints("began shows span")
rate, offset, local, elapsed, product = Reals("rate offset local elapsed product")


def floor(whole, value):
    return And(ToReal(whole) <= value, value < ToReal(whole) + 1)


DRIFT = [ttl > 0, one > 0, size >= 0, size < one]
RATE = [rate * one >= slow, rate * one <= fast, elapsed >= 0, local == rate * elapsed]
READINGS = [floor(began, offset), floor(shows, offset + local)]
# `Terms::validity`: ttl * slow / fast, rounded down, less one.
VALIDITY = [validity * fast <= ttl * slow - fast]
# `Terms::abstention`: ttl * fast / slow, rounded up, plus one.
ABSTENTION = [abstention * slow >= ttl * fast + slow]


def lemmas(report):
    """The steps. Those with drift are steps of nonlinear real arithmetic."""
    report.group("lease arithmetic", [
        ("a clock that shows less than d more has measured less than d",
         [*READINGS, shows < began + span], local < ToReal(span)),
        ("a clock that shows at least d more has measured more than d - 1",
         [*READINGS, shows >= began + span], local > ToReal(span) - 1),
        ("the slowest clock of a client", [*DRIFT, *RATE], elapsed * slow <= local * one),
        ("the fastest clock of a voter", [*DRIFT, *RATE], elapsed * fast >= local * one),
        # Validity, in three steps: both sides are multiplied by 1 + r, then divided by 1 - r.
        ("validity ends before ttl / (1 + r), multiplied",
         [*DRIFT, elapsed * slow <= local * one, local < validity], elapsed * slow * fast < validity * fast * one),
        ("the tick covers both roundings of clocks", [*DRIFT, *VALIDITY], validity * fast <= (ttl - 1) * slow),
        ("validity ends before (ttl - 1) / (1 + r)",
         [*DRIFT, product * slow < validity * fast * one, validity * fast <= (ttl - 1) * slow, product == elapsed * fast],
         product < (ttl - 1) * one),
        ("a voter keeps votes for more than (ttl - 1) / (1 + r)",
         [*DRIFT, elapsed * fast >= local * one, local > ttl - 1], elapsed * fast > (ttl - 1) * one),
        ("an abstention is longer than a ttl", [*DRIFT, *ABSTENTION], abstention > ttl),
        ("validity ends strictly before a vote is freed",
         [*DRIFT, h >= s, (x - s) * fast < (ttl - 1) * one, (y - h) * fast > (ttl - 1) * one], x < y),
    ])


# Clocks without drift: (client's reading when it sent, and at x), (voter's reading when it received, and at x).
sent, reads, heard, sees = Ints("sent reads heard sees")
client_offset, voter_offset = Reals("client_offset voter_offset")
SMALL = [floor(sent, client_offset + s), floor(reads, client_offset + x), floor(heard, voter_offset + h),
         floor(sees, voter_offset + x), x >= h, h >= s]


def drifting(client_rate, voter_rate):
    """The slowest client and the fastest voter, as real numbers."""
    return [client_rate * (x - s) < ToReal(reads), voter_rate * (x - h) >= ToReal(sees), h >= s, x >= h]


MUTANTS = {
    "ValidityWithoutTheTick: the client counts the whole ttl (no drift, no delay)":
        [*SMALL, h == s, reads < sent + 1000, sees >= heard + 1000],
    "CountsFromReceipt: the client counts from when the echo arrives":
        [*SMALL, y >= h, floor(reads, client_offset + y), x >= y, sees >= heard + 1000,
         Int("now_reads") < reads + 999, floor(Int("now_reads"), client_offset + x)],
    "OtherTtl: the voter applies a shorter ttl than the client": [*SMALL, h == s, reads < sent + 999, sees >= heard + 900],
    "NoDriftMargin: the client counts ttl - 1 although clocks drift by 1 %":
        [*drifting(Real("client_rate"), Real("voter_rate")), Real("client_rate") * 100 == 99, Real("voter_rate") * 100 == 101,
         reads == 999, sees == 1000],
    "ShortAbstention: a voter that has forgotten abstains for less than a ttl":
        [*SMALL, h == s, reads < sent + 999, sees >= heard + 998],
    "FrozenFromRestart: a restarted voter counts a frozen vote from before the restart, by a clock that was reset":
        [*SMALL, reads < sent + 999, sees >= heard + 1000 - Int("reset"), Int("reset") > 10],
}
# The same with the rule that the mutant lacks.
SOUND = {
    "with the tick": [*SMALL, h == s, reads < sent + 999, sees >= heard + 1000],
    "from sending": [*SMALL, reads < sent + 999, sees >= heard + 1000],
    "with drift": [*drifting(Real("client_rate"), Real("voter_rate")), Real("client_rate") * 100 == 99,
                   Real("voter_rate") * 100 == 101, reads == 979, sees == 999],
}


def kill_mutants(solving):
    """Each mutant of the arithmetic has a moment at which the client is valid and the vote is free."""
    passed = True
    for name, formulas in MUTANTS.items():
        found = solving.solver(formulas).check() == sat
        passed = passed and found
        print(f"{name}: {'valid after the vote is free' if found else 'NOT FOUND'}")
    for name, formulas in SOUND.items():
        possible = solving.solver(formulas).check() != unsat
        passed = passed and not possible
        print(f"  {name}: {'POSSIBLE' if possible else 'impossible'}")
    return passed
