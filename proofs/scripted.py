"""Programs that prove a transition system: allowed runs, mutants with their runs, needed guards, and the command line.

A script of a bounded run names its elements so that the static relations follow from the names. A model defines what a name
means (`Names.define`). All static relations and all parameters are fixed in a run, so it is evaluated without the solver.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from itertools import product

from z3 import (Const, Not, get_var_index, is_and, is_distinct, is_eq, is_false, is_implies, is_not, is_or, is_quantifier, is_true,
                is_var, sat)

from guards import check_guards
from program import parse, print_table
from verifier import Report, Solving, check, conditions, instantiate, parameters_of, same


class Names:
    """The elements of a run by sort, and the static relations. Subclasses define what a name means."""

    sorts = []

    def __init__(self, system, script):
        self.by_sort = {str(sort): [] for sort in self.sorts}
        self.static = {}
        for line in script:
            action, *arguments = line.split()
            for sort, name in zip(compiled(system, action).sorts, arguments, strict=True):
                self.add(sort, name)
        self.imply()
        self.define()

    def add(self, sort, name):
        column = self.by_sort[str(sort)]
        if name not in column:
            column.append(name)

    def of(self, sort):
        return self.by_sort[str(sort)]

    def let(self, function, *arguments_and_value):
        """Defines the value of a static relation or function."""
        *arguments, value = arguments_and_value
        self.static[function.name(), tuple(arguments)] = value

    def order(self, sort, at_most, key):
        for a in self.of(sort):
            for b in self.of(sort):
                self.let(at_most, a, b, key(a) <= key(b))

    def imply(self):
        """Adds the elements that the names of other elements imply."""

    def define(self):
        raise NotImplementedError

    def initial_rows(self):
        """The rows of relations that are not empty in the initial state of a run, by the name of the relation."""
        return {}


@dataclass
class World:
    """What a formula is evaluated in: names, rows of the state's relations, and values of parameters."""

    names: Names
    rows: dict
    constants: dict


def evaluator(term):
    """A function of a world and of the values of bound variables that evaluates a term."""
    if is_quantifier(term):
        body, is_all = evaluator(term.body()), term.is_forall()
        sorts = [str(term.var_sort(place)) for place in range(term.num_vars())]
        chosen = all if is_all else any
        return lambda world, bound: chosen(
            body(world, bound + row) for row in product(*[world.names.by_sort[sort] for sort in sorts]))
    if is_var(term):
        place = -1 - get_var_index(term)
        return lambda _, bound: bound[place]
    if is_true(term) or is_false(term):
        value = is_true(term)
        return lambda *_: value
    name, parts = term.decl().name(), [evaluator(part) for part in term.children()]
    if is_and(term):
        return lambda *at: all(part(*at) for part in parts)
    if is_or(term):
        return lambda *at: any(part(*at) for part in parts)
    if is_not(term):
        return lambda *at: not parts[0](*at)
    if is_implies(term):
        return lambda *at: not parts[0](*at) or parts[1](*at)
    if is_eq(term):
        return lambda *at: parts[0](*at) == parts[1](*at)
    if is_distinct(term):
        return lambda *at: parts[0](*at) != parts[1](*at)
    if not parts:
        return lambda world, _: world.constants[name]

    def application(world, bound):
        row = tuple(part(world, bound) for part in parts)
        rows = world.rows.get(name)
        return world.names.static[name, row] if rows is None else row in rows

    return application


@dataclass
class CompiledAction:
    """An action with evaluators of its guards, and of the rows of each relation that it changes."""

    sorts: list
    parameters: list
    guards: list
    changes: dict


def compiled(system, name):
    """The action of this name, compiled once for each system."""
    known = system.__dict__.setdefault("compiled_actions", {})
    if name not in known:
        s, method = system.state(), system.actions()[name]
        parameters = parameters_of(method)
        step, changes = method(s, *parameters.values()), {}
        for relation, columns in system.relations.items():
            after = getattr(step.after, relation)
            if after is not getattr(s, relation):
                row = [Const(f"row_{place}", sort) for place, sort in enumerate(columns)]
                changes[relation] = (columns, evaluator(after(*row)))
        constants = list(parameters.values())
        known[name] = CompiledAction([term.sort() for term in constants], [str(term) for term in constants],
                                     [evaluator(guard) for guard in step.guards], changes)
    return known[name]


def run(system, names, script):
    """The world at the end of a script that begins in the initial state, or `None` if an action is not possible.

    A script fixes all parameters, and names fix the static part, so there is nothing to search: the formulas of the model are
    evaluated. This is what `verifier.bounded_run` does with the solver, and faster.
    """
    if any(line.split()[0] not in system.actions() for line in script):
        return None
    names = names(system, script)
    world = World(names, {relation: set() for relation in system.relations} | names.initial_rows(), {})
    # Both hold by what the names mean. The quorums of a run have to be quorums of the system.
    if not all(evaluator(formula)(world, ()) for formula in system.run_axioms() + system.initial(system.state())):
        return None
    for line in script:
        name, *arguments = line.split()
        action = compiled(system, name)
        world.constants = dict(zip(action.parameters, arguments, strict=True))
        if not all(guard(world, ()) for guard in action.guards):
            return None
        changed = {}
        for relation, (columns, holds) in action.changes.items():
            changed[relation] = set()
            for row in product(*[names.by_sort[str(sort)] for sort in columns]):
                world.constants.update({f"row_{place}": element for place, element in enumerate(row)})
                if holds(world, ()):
                    changed[relation].add(row)
        world.rows.update(changed)
    return world


def violated(system, world):
    """The names of the safety properties that do not hold in a world."""
    return [name for name, formula in system.safety(system.state()) if not evaluator(formula)(world, ())]


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
        world = run(system, program.names, script)
        possible = world is not None and not violated(system, world)
        print(f"allowed run, {len(script)} steps: {title}: {'possible' if possible else 'IMPOSSIBLE, OR UNSAFE'}")
        passed = passed and possible
        taken.update(line.split()[0] for line in script)
    missing = sorted(system.actions().keys() - taken)
    if missing:
        print(f"actions in NO ALLOWED RUN: {', '.join(missing)}")
    return passed and not missing


def kill_mutants(program, solving):
    """For each mutant: its proof fails, and a run leads to a violation. The same run is impossible in the algorithm, or violates
    nothing if the mutant is about what counts as valid. Prints a table, and returns whether all of this is the case."""
    rows, passed, original = [], True, program.system()
    print(program.title)
    if program.lemma_mutants:
        passed = program.lemma_mutants(solving)
    for mutant in program.mutants:
        began = time.monotonic()
        system, script = mutant(), mutant.script
        refuted = first_refuted(system, original, solving)
        world, unbroken = run(system, program.names, script), run(original, program.names, script)
        broken = violated(system, world) if world else []
        sound = unbroken is None or not violated(original, unbroken)
        passed = passed and bool(refuted) and bool(broken) and sound
        print(f"{mutant.__name__}: {mutant.rule}")
        print(f"  refuted: {refuted or 'NOTHING'}")
        print(f"  run: {'; '.join(script)}")
        print(f"  violated: {', '.join(broken) or 'NOTHING' if world else 'NOTHING, the run is impossible'}")
        rows.append([mutant.__name__, "refuted" if refuted else "PROVED", len(script),
                     "found" if broken else "NOT FOUND",
                     "impossible" if unbroken is None else "no violation" if sound else "VIOLATION",
                     f"{time.monotonic() - began:.1f} s"])
    print_table(["mutant", "condition", "steps", "violation", "without the mutation", "time"], rows)
    print(f"mutants: {'all killed' if passed else 'SOME SURVIVE'}")
    return passed


def first_refuted(system, original, solving):
    """The first condition that the algorithm does not have, and for which the solver finds a counterexample. The solver gets more
    and more time, because it finds some counterexamples at once and others late, and another seed each time, because it misses some
    for long that it finds at once with another one."""
    new = changed_conditions(system, original)
    for attempt, seconds in enumerate((1, 2, 3, 5, 5, 10, 10, 20, 20, solving.timeout_seconds)):
        hurried = Solving(min(seconds, solving.timeout_seconds), solving.seed + attempt)
        for name, hypotheses, conclusion in new:
            if hurried.solver([*hypotheses, Not(instantiate(conclusion)[1])]).check() == sat:
                return name
    return None


def changed_conditions(system, original):
    """The conditions of the actions and properties that differ from those of the algorithm, or all of them if axioms or invariants
    differ."""
    s = system.state()
    fixed = [system.axioms() + [formula for _, formula in of.invariants(s)] for of in (system, original)]
    is_same = same(*fixed) and same(system.axioms(), original.axioms())
    common = system.actions().keys() & original.actions().keys() if is_same else ()
    skipped = {title for title in common if same(formulas_of(system, title), formulas_of(original, title))}
    if is_same:
        skipped.add("initial states")
    found = []
    for title, group, _ in conditions(system, frozenset(skipped)):
        if title in skipped:
            continue
        found += [(f"{title}: {name}", hypotheses, conclusion) for name, hypotheses, conclusion in group]
    if is_same:
        safety = {name: formula for name, formula in original.safety(s)}
        found = [it for it in found if not it[0].startswith("safety: ") or not it[2].eq(safety[it[0][len("safety: "):]])]
    return found


def formulas_of(system, name):
    """All formulas of an action: its guards, and the relations that it changes. They are made once for each system."""
    known = system.__dict__.setdefault("action_formulas", {})
    if name not in known:
        s, method = system.state(), system.actions()[name]
        step = method(s, *parameters_of(method).values())
        changed = [(relation, columns) for relation, columns in system.relations.items()
                   if getattr(step.after, relation) is not getattr(s, relation)]
        row_of = lambda columns: [Const(f"row_{place}", sort) for place, sort in enumerate(columns)]
        known[name] = step.guards + [getattr(step.after, relation)(*row_of(columns)) for relation, columns in changed]
    return known[name]


def main(program, description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--mutants", action="store_true", help="break each rule instead, and show what goes wrong")
    parser.add_argument("--guards", action="store_true", help="leave out each guard instead, and check that the proof fails")
    options, solving = parse(parser)
    try:
        if options.guards:
            passed = check_guards(program.title, program.system(), program.spare_guards or {}, solving)
        else:
            passed = (kill_mutants if options.mutants else prove)(program, solving)
    except TimeoutError as error:
        sys.exit(f"error: {error}")
    sys.exit(0 if passed else 1)
