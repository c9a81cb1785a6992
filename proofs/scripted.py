"""Programs that prove a transition system: allowed runs, mutants with their runs, needed guards, and the command line.

A script of a bounded run names its elements so that the static relations follow from the names. A model defines what a name
means (`Names.define`). All static relations are fixed in a run, so the solver only checks that the run is possible.
"""

import argparse
import sys
import time
from dataclasses import dataclass

from z3 import And, BoolVal, Not, Or, sat

from verifier import FiniteSorts, Report, Solving, bounded_run, check, conditions, instantiate, parameters_of


def elements(system, sorts, scripts):
    """The names of each sort in these scripts, in order. Every sort has at least one element."""
    names = {str(sort): [] for sort in sorts}
    actions = system.actions()
    for line in scripts:
        action, *arguments = line.split()
        parameters = parameters_of(actions[action]).values()
        for parameter, argument in zip(parameters, arguments, strict=True):
            column = names[str(parameter.sort())]
            if argument not in column:
                column.append(argument)
    return names


class Names:
    """The finite sorts of a run. Subclasses add elements that the names imply, and define the static relations."""

    sorts = []

    def __init__(self, system, script):
        self.by_sort = elements(system, self.sorts, script)
        self.imply()
        self.finite = FiniteSorts()
        self.terms = {}
        for sort in self.sorts:
            names = self.by_sort[str(sort)] or [f"no_{sort}"]
            self.by_sort[str(sort)] = names
            # Elements of different sorts may have the same name.
            added = self.finite.add(sort, [f"{sort}_{name}" for name in names])
            self.terms[str(sort)] = dict(zip(names, added.values(), strict=True))
        self.define()

    def add(self, sort, name):
        column = self.by_sort[str(sort)]
        if name not in column:
            column.append(name)

    def of(self, sort):
        """Pairs of a name and its term."""
        return list(self.terms[str(sort)].items())

    def holds(self, term, value):
        self.finite.define(term, BoolVal(value))

    def equals(self, term, sort, name):
        self.finite.define(term, self.terms[str(sort)][name])

    def order(self, sort, at_most, key):
        for a, first in self.of(sort):
            for b, second in self.of(sort):
                self.holds(at_most(first, second), key(a) <= key(b))

    def imply(self):
        pass

    def define(self):
        raise NotImplementedError


def run(system, names, script, goal, solving):
    """Whether the script leads from an initial state to the goal."""
    actions = system.actions()
    if any(line.split()[0] not in actions for line in script):
        return False
    domain = names(system, script)
    lines = []
    for line in script:
        action, *arguments = line.split()
        sorts = [parameter.sort() for parameter in parameters_of(actions[action]).values()]
        lines.append(" ".join([action, *(f"{sort}_{name}" for sort, name in zip(sorts, arguments, strict=True))]))
    return bounded_run(system, domain.finite, lines, goal, solving) is not None


def violation(system, names=None):
    """The negation of the safety properties, or of those with these names."""
    return lambda s: Or(*[Not(formula) for name, formula in system.safety(s) if names is None or name in names])


@dataclass
class Program:
    """A transition system with its allowed runs and mutants."""

    title: str
    proved: str
    system: type
    names: type
    allowed: dict
    mutants: list
    # Lemmas and their mutants: functions of a report, and of `Solving`.
    lemmas: callable = None
    lemma_mutants: callable = None
    # Guards without which no condition fails, with the reason for which the action has them.
    spare_guards: dict = None


def prove(program, solving):
    """Prints the proof and the allowed runs, and returns whether all of it succeeds."""
    print(program.title)
    report = Report(solving)
    if program.lemmas:
        program.lemmas(report)
    system = program.system()
    check(system, report)
    passed = report.total(program.proved)
    taken = set()
    for title, script in program.allowed.items():
        possible = run(system, program.names, script, lambda s: And(), solving)
        violates = run(system, program.names, script, violation(system), solving)
        print(f"allowed run, {len(script)} steps: {title}: {'possible' if possible else 'IMPOSSIBLE'}"
              + (", VIOLATES A PROPERTY" if violates else ""))
        passed = passed and possible and not violates
        taken.update(line.split()[0] for line in script)
    missing = sorted(system.actions().keys() - taken)
    if missing:
        print(f"actions in NO ALLOWED RUN: {', '.join(missing)}")
    return passed and not missing


def kill_mutants(program, solving):
    """For each mutant: its proof fails, and a run leads to a violation. The same run is impossible in the algorithm, or does not
    end in a violation. Prints a table, and returns whether all of this is the case."""
    rows, passed = [], True
    print(program.title)
    if program.lemma_mutants:
        passed = program.lemma_mutants(solving)
    for mutant in program.mutants:
        began = time.monotonic()
        system, script = mutant(), mutant.script
        report = Report(solving, quiet=True)
        check(system, report, except_those_of=program.system())
        refuted = [failure for failure in report.failures if failure.counterexample]
        violated = [name for name, _ in system.safety(system.state())
                    if run(system, program.names, script, violation(system, {name}), solving)]
        original = program.system()
        sound = not run(original, program.names, script, violation(original), solving)
        passed = passed and bool(refuted) and bool(violated) and sound
        print(f"{mutant.__name__}: {mutant.rule}")
        if refuted:
            print(f"  refuted: {refuted[0].condition}" + (f", and {len(refuted) - 1} more" if len(refuted) > 1 else ""))
        print(f"  run: {'; '.join(script)}")
        print(f"  violated: {', '.join(violated) or 'NOTHING'}")
        rows.append([mutant.__name__, f"{len(refuted)} of {report.conditions}", len(script),
                     "found" if violated else "NOT FOUND", "impossible" if sound else "POSSIBLE",
                     f"{time.monotonic() - began:.1f} s"])
    print_table(["mutant", "refuted conditions", "steps", "violation", "without the mutation", "time"], rows)
    print(f"mutants: {'all killed' if passed else 'SOME SURVIVE'}")
    return passed


def check_guards(program, solving):
    """Leaves out one guard of one action at a time. Some condition of the action has to fail then, unless the guard is listed
    as spare. Returns whether this is the case."""
    system, passed, needed = program.system(), True, 0
    spare = program.spare_guards or {}
    s = system.state()
    assumed = system.axioms() + [formula for _, formula in system.invariants(s)]
    for name, method in system.actions().items():
        step = method(s, *parameters_of(method).values())
        pairs = list(zip(system.invariants(s), system.invariants(step.after), strict=True))
        for number, guard in enumerate(step.guards):
            rest = [other for other in step.guards if other is not guard]
            changed = [(label, after) for (label, before), (_, after) in pairs if not after.eq(before)]
            label = next((label for label, after in changed
                          if solving.solver([*assumed, *rest, Not(instantiate(after)[1])]).check() == sat), None)
            is_spare = (name, number) in spare
            if label is None and not is_spare:
                passed = False
                print(f"  guard {number} of {name} is NOT NEEDED: {' '.join(str(guard).split())[:120]}")
            elif label is not None and is_spare:
                passed = False
                print(f"  guard {number} of {name} is listed as spare, but is NEEDED: {label}")
            needed += label is not None
    for (name, number), reason in spare.items():
        print(f"  guard {number} of {name} is not needed for safety: {reason}")
    print(f"guards: {needed} are needed, {len(spare)} are listed as not needed" + ("" if passed else ", SOME ARE WRONG"))
    return passed


def print_table(header, rows):
    rows = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def main(program, description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--mutants", action="store_true", help="break each rule instead, and show what goes wrong")
    parser.add_argument("--guards", action="store_true", help="leave out each guard instead, and check that the proof fails")
    parser.add_argument("--seed", type=int, default=0, help="seed of the solver's random choices (default: 0)")
    parser.add_argument("--timeout", type=int, default=60, help="time limit for each condition, in seconds (default: 60)")
    options = parser.parse_args()
    solving = Solving(options.timeout, options.seed)
    work = kill_mutants if options.mutants else check_guards if options.guards else prove
    try:
        passed = work(program, solving)
    except TimeoutError as error:
        sys.exit(f"error: {error}")
    sys.exit(0 if passed else 1)
