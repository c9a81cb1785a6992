"""The quorum systems of the code are monotone: they satisfy (a) and (b) of docs/settled-quorums.md, for any number of processes.

(a) Any two quorums Q(p, F) and Q(q, F) of one view intersect.
(b) If Q(p, F) contains no process of G, then Q(p, F and G) is a subset of Q(p, F).

The systems are the grid with substitution, the wall with substitution, majorities of the live processes and the halves of the
VCube (crates/quorate-core/src/quorum/). The proofs have two parts, with z3 as the prover of each condition:

- (b) follows for all four systems at once from a lemma: a quorum is a union of the first k live processes of fixed sequences, and
  k does not grow when processes crash.
- (a) is proved for each system. Quorums of the grid and of the wall have a common position. Majorities and halves of the
  VCube intersect because of their sizes.

z3 has no sizes of sets and no induction. These steps are by hand:

- sizes: a subset of a finite set is not greater, and a proper subset is smaller; the size of a disjoint union is the sum; a set is
  empty if and only if its size is 0;
- a finite sequence with a live process has a first live process;
- induction over the clusters of the VCube: z3 proves the base and the step.

In addition, the last part enumerates all views of up to 8 processes. It compares a transcription of the Rust code with the
sequences that are assumed here, and checks (a) and (b) directly.
"""

import argparse
import math
import sys
import time

from z3 import (And, BitVecs, BoolSort, Const, DeclareSort, Exists, ForAll, Function, If, Implies, Int, Ints, IntSort, LShR, Not,
                Or, ULE, ULT, UGE, Consts)

from program import parse
from verifier import Report

Process = DeclareSort("Process")
Sequence = DeclareSort("Sequence")


def quorums_shrink(report):
    """(b) for unions of the first k live processes of fixed sequences."""
    m, n = Consts("m n", Process)
    i = Const("i", Sequence)
    occurs = Function("occurs", Sequence, Process, BoolSort())
    before = Function("before", Sequence, Process, Process, BoolSort())
    # The view F, and the view F and G.
    crashed = Function("crashed", Process, BoolSort())
    crashed_later = Function("crashed_later", Process, BoolSort())
    # chosen(i, n): n is among the first k live processes of sequence i in the view F.
    chosen = Function("chosen", Sequence, Process, BoolSort())
    chosen_later = Function("chosen_later", Sequence, Process, BoolSort())
    size = Function("size", Sequence, IntSort())
    size_later = Function("size_later", Sequence, IntSort())

    # The order of a sequence is total on the processes that occur in it.
    order = [ForAll([i, m, n], Implies(And(occurs(i, m), occurs(i, n)), Or(m == n, before(i, m, n), before(i, n, m))))]
    # "The first k live" are live, and every live process before one of them is one of them.
    first = lambda chosen, crashed: [
        ForAll([i, n], Implies(chosen(i, n), And(occurs(i, n), Not(crashed(n))))),
        ForAll([i, m, n], Implies(And(chosen(i, n), occurs(i, m), before(i, m, n), Not(crashed(m))), chosen(i, m))),
    ]
    more_crashes = [ForAll([n], Implies(crashed(n), crashed_later(n)))]
    untouched = [ForAll([i, n], Implies(chosen(i, n), Not(crashed_later(n))))]
    does_not_grow = [ForAll([i], size_later(i) <= size(i))]
    contains = lambda small, great, i: ForAll([n], Implies(small(i, n), great(i, n)))
    proper_subsets_are_smaller = [ForAll([i], Implies(
        And(contains(chosen, chosen_later, i), Exists([n], And(chosen_later(i, n), Not(chosen(i, n))))),
        size(i) < size_later(i)))]
    setting = order + first(chosen, crashed) + first(chosen_later, crashed_later) + more_crashes + untouched

    still_first = ForAll([i, m, n], Implies(
        And(chosen(i, n), occurs(i, m), before(i, m, n), Not(crashed_later(m))), chosen(i, m)))
    comparable = ForAll([i], Or(contains(chosen, chosen_later, i), contains(chosen_later, chosen, i)))
    no_new = ForAll([i], contains(chosen_later, chosen, i))
    in_quorum = lambda chosen: Exists([i], chosen(i, n))
    live, live_later, k = Ints("live live_later k")
    fewer_live = [0 <= live_later, live_later <= live]
    report.group("(b) by first live processes", [
        ("the chosen processes are the first live ones later too", setting, still_first),
        ("of the processes chosen before and later, one set contains the other", setting + [still_first], comparable),
        ("no sequence gets a new member", [comparable] + does_not_grow + proper_subsets_are_smaller, no_new),
        ("(b): the later quorum is a subset", [no_new], ForAll([n], Implies(in_quorum(chosen_later), in_quorum(chosen)))),
        ("k does not grow if it is constant", fewer_live + [k >= 0],
         If(live_later < k, live_later, k) <= If(live < k, live, k)),
        ("k does not grow if it is half of the live processes", fewer_live, half(live_later) <= half(live)),
    ])


def half(number):
    """Half of a number, rounded up."""
    return (number + 1) / 2


def common_position(report):
    """(a) for the grid and the wall: two quorums have a common position, and at a position there is one process."""
    n, columns, rows, p, q, start = Ints("n columns rows p q start")
    row_p, column_p, row_q, column_q = Ints("row_p column_p row_q column_q")
    position = lambda process, row, column: And(0 <= process, process < n, process == row * columns + column, row >= 0,
                                                0 <= column, column < columns)
    grid = [n >= 1, columns >= 1, rows * columns >= n, position(p, row_p, column_p), position(q, row_q, column_q)]
    # The quorum of p contains the positions row_p * columns + c for all columns c, and r * columns + column_p for all rows r.
    crosses = And(0 <= column_q, column_q < columns, 0 <= row_p, row_p < rows)

    Position = DeclareSort("Position")
    x = Const("x", Position)
    of = {name: Function(f"positions_{name}", Position, BoolSort()) for name in "pq"}
    # The process at a position in the view: the first live one of the sequence that begins there.
    at = Function("at", Position, Process)
    member = Const("member", Process)
    in_quorum = lambda name: Exists([x], And(of[name](x), at(x) == member))
    step = If(p >= start, p - start, p - start + n)
    report.group("(a) for the grid", [
        ("the row of a process exists", grid, row_p < rows),
        ("the row of p crosses the column of q", grid + [row_p < rows], crosses),
        ("a common position is a common member", [Exists([x], And(of["p"](x), of["q"](x)))],
         Exists([member], And(in_quorum("p"), in_quorum("q")))),
        ("a cyclic sequence contains every process", [0 <= start, start < n, 0 <= p, p < n],
         And(0 <= step, step < n, Or(start + step == p, start + step - n == p))),
    ])

    row, first_wide, surplus, offset = Ints("row first_wide surplus offset")
    width = lambda row: row + 1 + If(row >= first_wide, 1, 0)
    twice_start = lambda row: row * (row + 1) + 2 * If(row > first_wide, row - first_wide, 0)
    wall = [n >= 1, rows >= 1, rows * (rows + 1) <= 2 * n, 2 * n < (rows + 1) * (rows + 2),
            2 * surplus == 2 * n - rows * (rows + 1), first_wide == rows - surplus]
    report.group("(a) for the wall", [
        ("there are not more wide rows than rows", wall, And(0 <= first_wide, first_wide <= rows)),
        ("the first row begins at the first position", [0 <= first_wide], twice_start(0) == 0),
        ("each row begins where the row above it ends", [row >= 0, first_wide >= 0],
         twice_start(row + 1) == twice_start(row) + 2 * width(row)),
        ("the last row ends at the last process", wall + [first_wide <= rows], twice_start(rows) == 2 * n),
        ("no row is wider than a row below it", [0 <= row_p, row_p < row_q], width(row_p) <= width(row_q)),
        # The quorum of p contains position `offset` of each row below its own, and the quorum of q contains its whole row.
        ("the upper quorum has a position in the row of the lower one",
         [0 <= row_p, row_p < row_q, 0 <= offset, offset < width(row_p)], And(0 <= offset, offset < width(row_q))),
    ])


def common_member_by_size(report):
    """(a) for majorities of the live processes and for the VCube."""
    only_p, only_q, both, neither = Ints("only_p only_q both neither")
    parts = [part >= 0 for part in (only_p, only_q, both, neither)]
    live = only_p + only_q + both + neither
    by_size = ("two sets with more members than there are processes intersect", parts + [only_p + both + only_q + both > live],
               both > 0)
    m = Int("m")
    majority = 1 + half(m - 1)
    report.group("(a) for majorities of the live", [
        by_size,
        ("two quorums of m live processes have more than m members", [m >= 1], majority + majority > m),
    ])

    # Identifiers have 32 bits. Cluster s of process i contains the members m for which i xor m has its highest bit at 2^(s - 1).
    # Identifiers that do not exist count as crashed.
    i, j, member, power, smaller, other, d = BitVecs("i j member power smaller other d", 32)
    is_power = lambda b: And(b != 0, b & (b - 1) == 0)
    has_highest_bit = lambda number, b: And(UGE(number, b), ULE(number, b | (b - 1)))
    in_cluster = lambda i, power, m: has_highest_bit(i ^ m, power)
    fill = d
    for shift in (1, 2, 4, 8, 16):
        fill = fill | LShR(fill, shift)
    highest = fill ^ LShR(fill, 1)
    # Sums over the clusters of j that are smaller than the cluster of i that contains j.
    sum_live, sum_half, more = Ints("sum_live sum_half more")
    # The live members of the cluster: j, and those of its smaller clusters.
    cluster = 1 + sum_live
    report.group("(a) for the VCube", [
        by_size,
        ("the cluster of i with j consists of j and the smaller clusters of j", [is_power(power), in_cluster(i, power, j)],
         in_cluster(i, power, member) == Or(member == j, And(j ^ member != 0, ULT(j ^ member, power)))),
        ("every process of a smaller cluster is in one of them", [is_power(power), d != 0, ULT(d, power)],
         And(is_power(highest), ULT(highest, power), has_highest_bit(d, highest))),
        ("no process is in two clusters",
         [is_power(smaller), is_power(other), has_highest_bit(d, smaller), has_highest_bit(d, other)], smaller == other),
        ("half of no cluster is half of no process", [sum_live == 0, sum_half == 0], 2 * sum_half >= sum_live),
        ("one more cluster adds at least half of its live processes", [more >= 0, 2 * sum_half >= sum_live],
         2 * (sum_half + half(more)) >= sum_live + more),
        ("the quorums of i and j have more members in the cluster than are alive",
         [sum_live >= 0, 2 * sum_half >= sum_live], half(cluster) + 1 + sum_half > cluster),
    ])


# Transcription of the Rust code. Sets are bit masks.


def next_live(start, n, failed):
    """`next_live` in quorum/mod.rs."""
    for member in [*range(start, n), *range(n)]:
        if not failed >> member & 1:
            return member
    return None


def mask(members):
    result = 0
    for member in members:
        result |= 1 << member
    return result


class Grid:
    """quorum/grid.rs"""

    def __init__(self, n):
        self.n = n
        floor = math.isqrt(n)
        self.columns = floor if floor * floor == n else floor + 1
        self.rows = -(-n // self.columns)

    def places(self, process):
        row, column = process // self.columns, process % self.columns
        along = [row * self.columns + c for c in range(self.columns)]
        return along + [r * self.columns + column for r in range(self.rows)]

    def quorum(self, process, failed):
        start = lambda place: place if place < self.n else (place + 1) % self.n
        return mask(next_live(start(place), self.n, failed) for place in self.places(process))

    def sequences(self, process):
        starts = [place if place < self.n else (place + 1) % self.n for place in self.places(process)]
        return [(cyclic(start, self.n), one) for start in starts]


class RebuiltGrid:
    """`RebuiltGrid` in quorum/grid.rs, which is not monotone. It shows that the enumeration notices this."""

    def __init__(self, n):
        self.n = n

    def quorum(self, process, failed):
        live = [member for member in range(self.n) if not failed >> member & 1]
        columns = math.isqrt(len(live) - 1) + 1
        row, column = divmod(live.index(process), columns)
        members = [place for place in range(len(live)) if place // columns == row or place % columns == column]
        return mask(live[place] for place in members)


class Wall:
    """quorum/wall.rs"""

    def __init__(self, n):
        self.n = n
        rows = (math.isqrt(8 * n + 1) - 1) // 2
        surplus = n - rows * (rows + 1) // 2
        first_wide = rows - surplus
        self.rows = [(row * (row + 1) // 2 + max(0, row - first_wide), row + 1 + int(row >= first_wide))
                     for row in range(rows)]

    def positions(self, process):
        rows = [(start, width) for start, width in self.rows if process < start + width]
        (start, width), *below = rows
        return [*range(start, start + width), *[first + process - start for first, _ in below]]

    def quorum(self, process, failed):
        return mask(next_live(position, self.n, failed) for position in self.positions(process))

    def sequences(self, process):
        return [(cyclic(position, self.n), one) for position in self.positions(process)]


class LiveMajority:
    """`LiveMajority` in quorum/majority.rs"""

    def __init__(self, n):
        self.n = n

    def quorum(self, process, failed):
        others = [other for other in range(self.n) if not failed >> other & 1 and other != process]
        greatest = others[::-1][:-(-len(others) // 2)]
        return mask([*greatest, process])

    def sequences(self, process):
        return [([process], one), ([other for other in reversed(range(self.n)) if other != process], half_of)]


class VCubeHalves:
    """quorum/vcube.rs, and vcube.rs for the clusters"""

    def __init__(self, n):
        self.n = n
        self.dimension = (n - 1).bit_length()

    def cluster(self, process, s):
        return [process ^ place for place in range(1 << (s - 1), 1 << s) if process ^ place < self.n]

    def quorum(self, process, failed):
        quorum = [process]
        for s in range(1, self.dimension + 1):
            live = [member for member in self.cluster(process, s) if not failed >> member & 1]
            quorum += live[:-(-len(live) // 2)]
        return mask(quorum)

    def sequences(self, process):
        return [([process], one)] + [(self.cluster(process, s), half_of) for s in range(1, self.dimension + 1)]


def one(_live):
    return 1


def half_of(live):
    return -(-live // 2)


def cyclic(start, n):
    return [(start + step) % n for step in range(n)]


def generated(system, process, failed):
    """The union of the first k live processes of the sequences."""
    quorum = 0
    for sequence, k in system.sequences(process):
        live = [member for member in sequence if not failed >> member & 1]
        quorum |= mask(live[:k(len(live))])
    return quorum


def enumerate_views(system, n):
    """Checks every view of n processes. Returns the first violation, if there is one."""
    everyone = (1 << n) - 1
    quorums = {}
    for failed in range(1 << n):
        live = [process for process in range(n) if not failed >> process & 1]
        for process in live:
            quorum = quorums[process, failed] = system.quorum(process, failed)
            if quorum & failed:
                return f"the quorum of {process} in view {failed:b} contains a crashed process"
            if hasattr(system, "sequences") and quorum != generated(system, process, failed):
                return f"the quorum of {process} in view {failed:b} is not generated by its sequences"
        for process in live:
            for other in live:
                if not quorums[process, failed] & quorums[other, failed]:
                    return f"(a) fails for {process} and {other} in view {failed:b}"
    for (process, failed), quorum in quorums.items():
        # All nonempty sets of processes outside the view and outside the quorum.
        untouched = everyone & ~failed & ~quorum & ~(1 << process)
        further = untouched
        while further:
            if quorums[process, failed | further] & ~quorum:
                return f"(b) fails for {process} in view {failed:b} and further crashes {further:b}"
            further = (further - 1) & untouched
    return None


def enumerate_systems(n_max):
    """Checks all four systems by enumeration, prints a line for each, and returns whether all are monotone."""
    passed = True
    for system in (Grid, Wall, LiveMajority, VCubeHalves):
        began = time.monotonic()
        violations = [f"n = {n}: {found}" for n in range(1, n_max + 1) if (found := enumerate_views(system(n), n))]
        verdict = violations[0] if violations else "generated by sequences, (a) and (b) hold"
        print(f"  {system.__name__:<14} every view of 1 to {n_max} processes: {verdict} {time.monotonic() - began:6.2f} s")
        passed = passed and not violations
    found = enumerate_views(RebuiltGrid(n_max), n_max)
    print(f"  RebuiltGrid, for comparison, {n_max} processes: {found or 'NO VIOLATION FOUND'}")
    return passed and found is not None


def main():
    parser = argparse.ArgumentParser(description="Proves that the quorum systems of the code are monotone.")
    parser.add_argument("--processes", type=int, default=8, metavar="N",
                        help="enumerate the views of up to N processes, at least 6 (default: 8)")
    options, solving = parse(parser)
    report = Report(solving, excludes_contradictions=True)
    print("monotone quorum systems")
    quorums_shrink(report)
    common_position(report)
    common_member_by_size(report)
    proved = report.total("the quorum systems are monotone, for any number of processes")
    enumerated = enumerate_systems(options.processes)
    sys.exit(0 if proved and enumerated else 1)


if __name__ == "__main__":
    main()
