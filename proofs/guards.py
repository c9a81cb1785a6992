"""Leaves out each guard of each action of a model, one at a time, and shows which of them the proof needs.

A condition has to fail without the guard, unless the guard is listed as spare, with the reason why the action has it. A condition
that fails says that the invariant needs the guard. That the algorithm needs it is shown by a mutant with a run to a violation.
"""

from functools import wraps

from z3 import Not, sat, unsat

from verifier import Solving, Step, conditions, instantiate, parameters_of


def lacks_guard(system, name, number):
    """A subclass of the system in which this action lacks one guard. Guards are numbered from 0."""
    method = getattr(system, name)

    @wraps(method)
    def mutated(*arguments):
        step = method(*arguments)
        return Step([guard for place, guard in enumerate(step.guards) if place != number], step.after, step.lemmas)

    return type(f"{system.__name__}Lacks{name}{number}", (system,), {name: mutated})


def verdict_without(system, name, number, solving):
    """Whether a guard is needed: some condition of its action has a counterexample without it. The solver gets more and more time,
    because it finds some counterexamples at once and others late."""
    others = frozenset(system.actions().keys() - {name})
    groups = conditions(lacks_guard(type(system), name, number)(), others)
    open_conditions = next(group for title, group, _ in groups if title == name)
    for seconds in (1, 5, solving.timeout_seconds):
        hurried, undecided = Solving(min(seconds, solving.timeout_seconds), solving.seed), []
        for condition in open_conditions:
            _, hypotheses, conclusion = condition
            result = hurried.solver([*hypotheses, Not(instantiate(conclusion)[1])]).check()
            if result == sat:
                return "needed"
            if result != unsat:
                undecided.append(condition)
        if not undecided:
            return "spare"
        open_conditions = undecided
    return "undecided"


def check_guards(title, system, spare_guards, solving):
    """Prints the guards that are not needed, and returns whether these are the ones that are listed as spare."""
    print(title)
    passed, needed, s = True, 0, system.state()
    for name, method in system.actions().items():
        guards = method(s, *parameters_of(method).values()).guards
        for number, guard in enumerate(guards):
            verdict = verdict_without(system, name, number, solving)
            reason = spare_guards.get((name, number))
            needed += verdict == "needed"
            if verdict == "undecided" and reason is None:
                print(f"  guard {number} of {name}: the solver finds neither a proof nor a counterexample without it")
            elif (verdict == "needed") == (reason is not None):
                passed = False
                print(f"  guard {number} of {name} is {verdict.upper()}: {' '.join(str(guard).split())[:120]}", flush=True)
            elif reason:
                text = "is not needed for safety" if verdict == "spare" else "is not shown to be needed"
                print(f"  guard {number} of {name} {text}: {reason}", flush=True)
    print(f"guards: {needed} are needed" + ("" if passed else ", SOME VERDICTS ARE WRONG"))
    return passed
