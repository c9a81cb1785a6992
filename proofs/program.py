"""The command line of a proof: options, output, allowed runs, and mutants.

A program of this folder describes its proof with `Proof` and calls `main`. Without options the program proves the algorithm and
shows that its model is not empty. With `--mutants` it breaks each rule of the algorithm instead.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from z3 import And, BoolVal

from guards import check_guards
from verifier import FiniteSorts, Report, Solving, bounded_run, check


class Domain:
    """The finite sorts of a bounded run. `elements` are pairs of a sort and the names of its elements."""

    def __init__(self, *elements):
        self.sorts = FiniteSorts()
        for sort, names in elements:
            self.sorts.add(sort, names.split())

    def __getitem__(self, name):
        return self.sorts.by_name[name]

    def define(self, relation, rows):
        """Fixes a static relation: it holds for exactly these rows, each a text such as `"h v"`."""
        holds = {tuple(row.split()) for row in rows}
        names = {element.get_id(): name for name, element in self.sorts.by_name.items()}
        for row in self.sorts.rows([relation.domain(place) for place in range(relation.arity())]):
            value = tuple(names[element.get_id()] for element in row) in holds
            self.sorts.define(relation(*row), BoolVal(value))
        return self

    def define_order(self, relation):
        """Fixes a total order on a sort: that in which its elements were added."""
        elements = self.sorts.by_sort[str(relation.domain(0))]
        for place, element in enumerate(elements):
            for other, another in enumerate(elements):
                self.sorts.define(relation(element, another), BoolVal(place <= other))
        return self


@dataclass
class Proof:
    """A proof that a program offers.

    A mutant is a subclass of the system with these attributes: `rule` says in words what it does, `script` is a run to a
    violation, and `domain` has the sorts of the run. It may have its own `violation`.
    """

    # The name of the algorithm, and the conclusion in words.
    title: str
    conclusion: str
    system: type
    # Runs that the algorithm allows, by title: a domain and a script. Together they contain every action.
    allowed_runs: dict
    mutants: list
    # A formula that says of a state that a safety property is violated, and its name in the table of mutants.
    violation: Callable
    violation_name: str
    # Proves the system.
    prove: Callable = check
    # Lines about the static part that the solver has chosen for a run, given the model and the domain.
    describe_static: Callable = field(default=lambda model, domain: [])
    # Guards without which no condition fails, with the reason for which the action has them.
    spare_guards: dict = field(default_factory=dict)


def parse(parser):
    """Adds the options that all programs have. Returns the options, and how conditions are solved."""
    parser.add_argument("--seed", type=int, default=0, help="seed of the solver's random choices (default: 0)")
    parser.add_argument("--timeout", type=int, default=60, help="time limit for each condition, in seconds (default: 60)")
    parser.add_argument("--solver", choices=["z3", "cvc5"], default="z3",
                        help="cvc5: let cvc5 check each condition again that z3 has proved (default: z3)")
    options = parser.parse_args()
    return options, Solving(options.timeout, options.seed, second_opinion=options.solver == "cvc5")


def main(proof):
    """Runs the program. It exits with 1 if a proof fails."""
    parser = argparse.ArgumentParser(description=f"Proves: {proof.conclusion}.")
    parser.add_argument("--mutants", action="store_true", help="break each rule instead, and show a run to a violation")
    parser.add_argument("--guards", action="store_true", help="leave out each guard instead, and check that the proof fails")
    options, solving = parse(parser)
    try:
        if options.guards:
            passed = check_guards(proof.title, proof.system(), proof.spare_guards, solving)
        else:
            passed = (kill_mutants if options.mutants else prove_algorithm)(proof, solving)
    except TimeoutError as error:
        sys.exit(f"error: {error}")
    sys.exit(0 if passed else 1)


def prove_algorithm(proof, solving):
    """Prints the proof, and returns whether it succeeds."""
    print(proof.title)
    report, system = Report(solving), proof.system()
    proof.prove(system, report)
    passed = report.total(proof.conclusion)
    for title, (domain, script) in proof.allowed_runs.items():
        possible = bounded_run(system, domain.sorts, script, lambda s: And(), solving) is not None
        print(f"allowed run: {title}: {'possible' if possible else 'IMPOSSIBLE'}")
        passed = passed and possible
    taken = {line.split()[0] for _, script in proof.allowed_runs.values() for line in script}
    missing = sorted(system.actions().keys() - taken)
    if missing:
        print(f"actions in NO ALLOWED RUN: {', '.join(missing)}")
    return passed and not missing


def kill_mutants(proof, solving):
    """For each mutant: its proof fails, and a run leads to a violation. The same run does not exist without the mutation.
    Prints the runs and a table, and returns whether all of this is the case."""
    rows, passed, original = [], True, proof.system()
    for mutant in proof.mutants:
        began = time.monotonic()
        system, sorts, script = mutant(), mutant.domain.sorts, mutant.script
        violation = getattr(system, "violation", proof.violation)
        report = Report(solving, quiet=True)
        check(system, report, except_those_of=original)
        refuted = [failure for failure in report.failures if failure.counterexample]
        model = bounded_run(system, sorts, script, violation, solving)
        extra_action = any(line.split()[0] not in original.actions() for line in script)
        sound = extra_action or bounded_run(original, sorts, script, violation, solving) is None
        passed = passed and bool(refuted) and model is not None and sound
        print(f"{mutant.__name__}: {mutant.rule}")
        if refuted:
            print(f"  refuted: {refuted[0].condition}" + (f", and {len(refuted) - 1} more" if len(refuted) > 1 else ""))
        if model is not None:
            print(f"  run: {'; '.join(script)}")
            for line in proof.describe_static(model, mutant.domain):
                print(f"  {line}")
        found = getattr(system, "violation_name", proof.violation_name)
        rows.append([mutant.__name__, f"{len(refuted)} of {report.conditions}",
                     found if model is not None else "NOT FOUND", len(script),
                     "-" if extra_action else "impossible" if sound else "POSSIBLE", f"{time.monotonic() - began:.1f} s"])
    print_table(["mutant", "refuted conditions", "bounded run", "steps", "without the mutation", "time"], rows)
    print(f"mutants: {'all killed' if passed else 'SOME SURVIVE'}")
    return passed


def print_table(header, rows):
    rows = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
