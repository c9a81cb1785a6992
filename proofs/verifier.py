"""A verifier for transition systems with any number of processes.

A state consists of relations over sorts such as processes. A transition system has axioms about what never changes, a
condition on initial states, actions with guards, and invariants. The verifier asks the solver z3 for a counterexample to
each of these conditions:

- initiation: the axioms and the initial condition imply each invariant;
- consecution: if all invariants hold and an action is taken, each invariant holds afterwards;
- safety: all invariants together imply each safety property.

If there is no counterexample to any of them, the safety properties hold in every reachable state, for sorts of any size. The
invariants are found by people. The solver only checks them.

A bounded run is a list of actions with their parameters. The solver searches initial states and a static part, such as the
quorums, with which these actions lead to a given state. Bounded runs show that a mutant is unsafe, and that a model allows
what it is meant to allow.
"""

import inspect
import time
from dataclasses import dataclass, field
from functools import cache

from z3 import (And, BoolSort, BoolVal, Const, Distinct, ForAll, Function, Not, Or, Solver, Z3_OP_AND, Z3_OP_EQ, Z3_OP_IMPLIES,
                Z3_OP_NOT, Z3_OP_OR, Z3_OP_UNINTERPRETED, is_and, is_app, is_false, is_not, is_quantifier, is_true, sat,
                substitute_vars, unsat)


class State:
    """The relations of a state. Each is a function from terms to a formula, so an update needs no frame axioms."""

    def __init__(self, relations):
        self.__dict__.update(relations)

    def update(self, **changed):
        """The state in which these relations are replaced."""
        return State({**self.__dict__, **changed})


def added(relation, *row):
    """The relation with one more row."""
    return lambda *at: Or(relation(*at), And(*[a == b for a, b in zip(at, row, strict=True)]))


def added_where(relation, condition):
    """The relation with all rows that satisfy the condition."""
    return lambda *at: Or(relation(*at), condition(*at))


def removed(relation, condition):
    """The relation without the rows that satisfy the condition."""
    return lambda *at: And(relation(*at), Not(condition(*at)))


@dataclass
class Step:
    """An action with given parameters: it is possible in states that satisfy the guards."""

    guards: list
    after: State
    # Pairs of a name and a formula about the state before the action. They follow from the guards and the invariants. They are
    # proved first, and are hypotheses of all further conditions of the action.
    lemmas: list = field(default_factory=list)


def action(function):
    """Marks a method `(self, state, parameter: Sort, ...) -> Step` as an action."""
    function.is_action = True
    return function


def total_order(sort, name):
    """A total order on a sort: the relation "less or equal", and its axioms."""
    at_most = Function(name, sort, sort, BoolSort())
    x, y, z = (Const(f"{name}_{letter}", sort) for letter in "xyz")
    axioms = [
        ForAll([x, y], Or(at_most(x, y), at_most(y, x))),
        ForAll([x, y], Not(And(at_most(x, y), at_most(y, x), x != y))),
        ForAll([x, y, z], Or(Not(And(at_most(x, y), at_most(y, z))), at_most(x, z))),
    ]
    return at_most, axioms


class TransitionSystem:
    """Subclasses define the relations, axioms, initial states, invariants and safety properties. Their actions are methods."""

    # Maps the name of each relation to its sorts.
    relations = {}

    def axioms(self):
        """Formulas about the static part, used in all conditions."""
        return []

    def run_axioms(self):
        """Formulas about the static part, used in bounded runs."""
        return self.axioms()

    def initial(self, s):
        """Formulas that hold in initial states."""
        raise NotImplementedError

    def invariants(self, s):
        """Pairs of a name and a formula."""
        raise NotImplementedError

    def safety(self, s):
        """Pairs of a name and a formula."""
        raise NotImplementedError

    def is_used(self, invariant, action, label):
        """Whether an invariant is a hypothesis of the condition with this label of an action, or of `safety`. Hypotheses that are
        not needed may be left out, so that the solver is faster and more predictable."""
        return True

    def used_afterwards(self, label):
        """Names of earlier invariants that the conditions with this label assume in the state after an action too. This is sound,
        because these invariants are shown to hold afterwards without it. A safety property may use earlier ones in the same way."""
        return []

    def actions(self):
        """The actions by name, those of superclasses first."""
        names = [name for cls in reversed(type(self).__mro__) for name in vars(cls)]
        methods = {name: getattr(self, name) for name in names}
        return {name: method for name, method in methods.items() if hasattr(method, "is_action")}

    def empty(self, s, *names):
        """Formulas that say that these relations have no rows; all relations if no name is given."""
        formulas = []
        for name in names or self.relations:
            row = [Const(f"{name}_{place}", sort) for place, sort in enumerate(self.relations[name])]
            formulas.append(ForAll(row, Not(getattr(s, name)(*row))))
        return formulas

    def state(self):
        """A state with arbitrary relations."""
        return State({name: Function(name, *sorts, BoolSort()) for name, sorts in self.relations.items()})


@dataclass
class Failure:
    """A condition that does not hold, or that the solver could not decide."""

    condition: str
    # Lines that describe the counterexample, if there is one.
    counterexample: list
    # Used without a counterexample.
    reason: str


@dataclass
class Solving:
    """How each condition is solved: the time limit, and the seed of the solver's random choices."""

    timeout_seconds: int = 60
    seed: int = 0
    # Whether cvc5 checks each condition again that z3 has proved.
    second_opinion: bool = False

    def solver(self, formulas):
        solver = Solver()
        solver.set("timeout", self.timeout_seconds * 1000)
        solver.set("random_seed", self.seed)
        solver.add(*formulas)
        return solver

    def ask_cvc5(self, formulas):
        """The answer of the solver cvc5 about these formulas, which it gets in the format SMT-LIB 2: `unsat`, `sat` or `unknown`.

        It first instantiates quantifiers with all known terms. If this does not decide, it searches finite models.
        """
        # Only this option needs cvc5.
        import cvc5

        text = f"(set-logic ALL)\n{self.solver(formulas).to_smt2()}"
        for strategy in ("enum-inst", "finite-model-find"):
            solver = cvc5.Solver(cvc5.TermManager())
            solver.setOption("tlimit-per", str(self.timeout_seconds * 1000))
            solver.setOption("seed", str(self.seed))
            solver.setOption(strategy, "true")
            parser = cvc5.InputParser(solver)
            parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "condition")
            answer = "no answer"
            while not (command := parser.nextCommand()).isNull():
                answer = command.invoke(solver, parser.getSymbolManager()).strip() or answer
            # The reason for "unknown" follows in parentheses.
            answer = answer.split(" (")[0]
            if answer not in ("unsat", "sat", "unknown"):
                raise RuntimeError(f"cvc5 does not understand a condition: {answer}")
            if answer != "unknown":
                break
        return answer


class Report:
    """Checks conditions, counts them, and prints one line for each group of them."""

    def __init__(self, solving, quiet=False, excludes_contradictions=False):
        self.solving = solving
        self.quiet = quiet
        # Whether a condition fails if its hypotheses contradict each other, because then it says nothing.
        self.excludes_contradictions = excludes_contradictions
        self.conditions = 0
        self.seconds = 0.0
        self.failures = []
        # Conditions that cvc5 has proved too, and those that it has not decided, if it is asked for a second opinion.
        self.confirmed = 0
        self.undecided = []

    def print(self, line):
        if not self.quiet:
            print(line, flush=True)

    def group(self, title, conditions, describe=None):
        """Checks conditions, each a name, hypotheses and a conclusion.

        `describe` makes lines of a counterexample: of the model, and of the constants for which the conclusion is false.
        """
        began, failures = time.monotonic(), []
        describe = describe or describe_constants
        for name, hypotheses, conclusion in conditions:
            instance, body = instantiate(conclusion)
            solver = self.solving.solver([*hypotheses, Not(body)])
            result = solver.check()
            if result == unsat and not (self.excludes_contradictions and self.solving.solver(hypotheses).check() == unsat):
                if self.solving.second_opinion and not self.is_confirmed(f"{title}: {name}", [*hypotheses, Not(body)]):
                    failures.append(Failure(f"{title}: {name}", [], "REFUTED BY CVC5, although z3 has proved it"))
                continue
            lines = [] if result != sat else ["not shown"] if self.quiet else describe(solver.model(), instance)
            reason = "its hypotheses contradict each other" if result == unsat else "not decided in time"
            failures.append(Failure(f"{title}: {name}", lines, reason))
        seconds = time.monotonic() - began
        self.conditions += len(conditions)
        self.seconds += seconds
        self.failures += failures
        verdict = f"{len(failures)} FAIL" if failures else "proved"
        self.print(f"  {title:<44} {len(conditions):>4} conditions  {verdict:<8} {seconds:6.2f} s")
        for failure in failures:
            verdict = "counterexample:" if failure.counterexample else failure.reason
            self.print(f"    {failure.condition}: {verdict}")
            for line in failure.counterexample:
                self.print(f"      {line}")

    def is_confirmed(self, condition, formulas):
        """Asks cvc5 about a condition that z3 has proved. Returns whether it does not contradict z3."""
        answer = self.solving.ask_cvc5(formulas)
        if answer == "unsat":
            self.confirmed += 1
        elif answer != "sat":
            self.undecided.append(condition)
        return answer != "sat"

    def total(self, title):
        """Prints the total, and returns whether all conditions hold."""
        if self.solving.second_opinion:
            self.print(f"cvc5 proves {self.confirmed} of {self.conditions} conditions and does not decide {len(self.undecided)}")
            for condition in self.undecided:
                self.print(f"  not decided by cvc5: {condition}")
        verdict = f"{len(self.failures)} CONDITIONS FAIL" if self.failures else "PROVED"
        self.print(f"{title}: {verdict}, {self.conditions} conditions, {self.seconds:.1f} s")
        return not self.failures


@cache
def conditions(system, skipped=()):
    """Initiation, consecution and safety: groups of a title, conditions, and the parameters of the action if it is one. Actions
    whose names are skipped are left out."""
    s = system.state()
    axioms, invariants = system.axioms(), system.invariants(s)
    assumed = lambda action, label: axioms + [formula for name, formula in invariants if system.is_used(name, action, label)]
    initial = axioms + system.initial(s)
    groups = [("initial states", [(name, initial, formula) for name, formula in invariants], {})]
    for name, method in system.actions().items():
        if name in skipped:
            continue
        parameters = parameters_of(method)
        step = method(s, *parameters.values())
        names, afterwards = [label for label, _ in invariants], dict(system.invariants(step.after))
        used = {label: [afterwards[other] for other in names[:place] if other in system.used_afterwards(label)]
                for place, label in enumerate(names)}
        pairs = zip(invariants, afterwards.items(), strict=True)
        lemmas = [(label, assumed(name, label) + step.guards + [formula for _, formula in step.lemmas[:place]], formula)
                  for place, (label, formula) in enumerate(step.lemmas)]
        guards = step.guards + [formula for _, formula in step.lemmas]
        # An invariant whose relations the action does not change holds afterwards as it did before.
        consecution = [(label, assumed(name, label) + guards + used[label], after)
                       for (label, before), (_, after) in pairs if not after.eq(before)]
        groups.append((name, lemmas + consecution, parameters))
    safety = system.safety(s)
    earlier = lambda place, label: [formula for name, formula in safety[:place] if name in system.used_afterwards(label)]
    groups.append(("safety", [(label, assumed("safety", label) + earlier(place, label), formula)
                              for place, (label, formula) in enumerate(safety)], {}))
    return groups


def check(system, report, except_those_of=None):
    """Checks initiation, consecution and safety. Conditions of another system, which was checked before, are left out."""
    groups = conditions(except_those_of) if except_those_of else []
    checked = {(title, name): [*hypotheses, conclusion]
               for title, group, _ in groups for name, hypotheses, conclusion in group}
    for title, group, parameters in conditions(system):
        new = [(name, hypotheses, conclusion) for name, hypotheses, conclusion in group
               if not same([*hypotheses, conclusion], checked.get((title, name), []))]
        if new:
            report.group(title, new, lambda model, instance, p=parameters: describe(model, system, p, instance))


def same(formulas, others):
    return len(formulas) == len(others) and all(a.eq(b) for a, b in zip(formulas, others, strict=True))


def parameters_of(method):
    """A constant for each parameter of an action, by name. The annotation of a parameter is its sort."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return {p.name: Const(f"parameter_{p.name}", p.annotation) for p in parameters}


def instantiate(formula):
    """The constants by which the variables of an outer "for all" are replaced, by name, and the formula with them."""
    if not (is_quantifier(formula) and formula.is_forall()):
        return {}, formula
    names = [(formula.var_name(place), formula.var_sort(place)) for place in range(formula.num_vars())]
    instance = {name: Const(f"instance_{name}", sort) for name, sort in names}
    return instance, substitute_vars(formula.body(), *reversed(instance.values()))


def describe_constants(model, constants):
    names = names_of_elements(model)
    values = {name: str(model.eval(term, model_completion=True)) for name, term in constants.items()}
    line = ", ".join(f"{name} = {names.get(value, value)}" for name, value in values.items())
    return [line] if line else [str(model)]


def describe(model, system, parameters, instance):
    """The relevant part of a state before an action: the parameters of the action, the values for which the invariant is false
    afterwards, and the rows of the relations about these values."""
    lines = [text + describe_constants(model, constants)[0]
             for text, constants in (("action with ", parameters), ("false for ", instance)) if constants]
    relevant = [model.eval(term, model_completion=True) for term in [*parameters.values(), *instance.values()]]
    names = names_of_elements(model)

    def column(sort):
        """The relevant elements of a sort, or all of them if none is relevant."""
        ids = {value.get_id() for value in relevant if value.sort() == sort}
        universe = model.get_universe(sort) or []
        return [element for element in universe if not ids or element.get_id() in ids]

    for name, sorts in system.relations.items():
        relation = Function(name, *sorts, BoolSort())
        rows = [row for row in product(map(column, sorts))
                if is_true(model.eval(relation(*row), model_completion=True))]
        shown = [f"({', '.join(names[str(element)] for element in row)})" for row in rows]
        if shown:
            lines.append(f"{name}: {' '.join(shown)}")
    return lines


def names_of_elements(model):
    """Short names for the elements of the sorts of a model, such as `process0`."""
    names = {}
    for sort in model.sorts():
        for number, element in enumerate(model.get_universe(sort)):
            names[str(element)] = f"{str(sort).lower()}{number}"
    return names


def product(columns):
    rows = [()]
    for column in columns:
        rows = [row + (element,) for row in rows for element in column]
    return rows


class FiniteSorts:
    """The elements of each sort in a bounded run. With them quantifiers become conjunctions and disjunctions."""

    def __init__(self):
        self.by_sort = {}
        self.by_name = {}
        self.elements = set()
        # Values and results by the number of the term. They keep the term, because z3 reuses numbers.
        self.values = {}
        self.grounded = {}
        # Functions that compute the rows of a relation, by the name of the relation.
        self.definitions = {}

    def add(self, sort, names):
        """Adds distinct elements, and returns them.

        A quantifier would capture a constant that has the name of its variable. The prefix prevents this.
        """
        constants = [Const(f"element_{name}", sort) for name in names]
        self.by_sort[str(sort)] = constants
        self.by_name.update(zip(names, constants, strict=True))
        self.elements.update(constant.get_id() for constant in constants)
        return dict(zip(names, constants, strict=True))

    def distinct(self):
        return [Distinct(*constants) for constants in self.by_sort.values() if len(constants) > 1]

    def rows(self, sorts):
        return product([self.by_sort[str(sort)] for sort in sorts])

    def define(self, term, value):
        """Fixes the value of a static function or relation at given elements."""
        self.values[term.get_id()] = (term, value)

    def ground(self, term):
        """The term without quantifiers, and without what is defined. Results are kept, because runs repeat many terms."""
        if term.get_id() not in self.grounded:
            self.grounded[term.get_id()] = (term, self.ground_anew(term))
        return self.grounded[term.get_id()][1]

    def ground_anew(self, term):
        if is_quantifier(term):
            sorts = [term.var_sort(place) for place in range(term.num_vars())]
            rows, body = self.rows(sorts), term.body()
            parts = (self.ground(substitute_vars(body, *reversed(row))) for row in rows)
            return conjunction(parts) if term.is_forall() else disjunction(parts)
        kind, arguments = term.decl().kind(), term.children()
        if not arguments:
            return self.values.get(term.get_id(), (term, term))[1]
        if kind == Z3_OP_AND:
            return conjunction(map(self.ground, arguments))
        if kind == Z3_OP_OR:
            return disjunction(map(self.ground, arguments))
        if kind == Z3_OP_IMPLIES:
            return disjunction(part for part in (negation(self.ground(arguments[0])), self.ground(arguments[1])))
        parts = list(map(self.ground, arguments))
        if kind == Z3_OP_NOT:
            return negation(parts[0])
        if kind == Z3_OP_EQ and self.is_element(parts[0]) and self.is_element(parts[1]):
            return TRUE if parts[0].get_id() == parts[1].get_id() else FALSE
        if kind == Z3_OP_EQ and (is_true(parts[1]) or is_false(parts[1])):
            return parts[0] if is_true(parts[1]) else negation(parts[0])
        if any(part.get_id() != argument.get_id() for part, argument in zip(parts, arguments, strict=True)):
            term = term.decl()(*parts)
        if term.get_id() not in self.values and kind == Z3_OP_UNINTERPRETED:
            definition = self.definitions.get(term.decl().name())
            if definition:
                self.define(term, self.ground(definition(*parts)))
        return self.values.get(term.get_id(), (term, term))[1]

    def copy(self):
        """The same elements and definitions, to which others can be added."""
        copied = FiniteSorts()
        copied.by_sort, copied.by_name, copied.elements = self.by_sort, self.by_name, self.elements
        copied.values = dict(self.values)
        return copied

    def assume(self, formula):
        """Defines the rows about which the formula says that a relation holds or does not hold for them. Terms that are already
        without quantifiers may still contain these rows, so the formula has to be asserted too."""
        if is_and(formula):
            for part in formula.children():
                self.assume(part)
            return
        row = formula.arg(0) if is_not(formula) else formula
        if is_app(row) and row.decl().kind() == Z3_OP_UNINTERPRETED:
            self.define(row, FALSE if is_not(formula) else TRUE)
            self.grounded.clear()

    def is_element(self, term):
        return term.get_id() in self.elements


TRUE, FALSE = BoolVal(True), BoolVal(False)


def conjunction(parts):
    return junction(parts, TRUE, FALSE, And)


def disjunction(parts):
    return junction(parts, FALSE, TRUE, Or)


def junction(parts, neutral, dominant, connective):
    rest = []
    for part in parts:
        if part.get_id() == dominant.get_id():
            return dominant
        if part.get_id() != neutral.get_id():
            rest.append(part)
    return connective(*rest) if len(rest) > 1 else rest[0] if rest else neutral


def negation(part):
    if part.get_id() == TRUE.get_id():
        return FALSE
    if part.get_id() == FALSE.get_id():
        return TRUE
    return part.arg(0) if is_not(part) else Not(part)


def bounded_run(system, sorts, script, goal, solving):
    """Searches a run with exactly these actions from an initial state to the goal, over finite sorts.

    `script` has lines such as `"ask h v hv"`: an action, and the names of the elements that are its arguments. Returns the
    model, or `None` if there is no such run. Fails with `TimeoutError` if the solver gives up.
    """
    s, actions, sorts = system.state(), system.actions(), sorts.copy()
    initial = [sorts.ground(part) for part in system.initial(s)]
    formulas = sorts.distinct() + [sorts.ground(part) for part in system.run_axioms()] + initial
    for part in initial:
        sorts.assume(part)
    for number, line in enumerate(script):
        name, *arguments = line.split()
        step = actions[name](s, *[sorts.by_name[argument] for argument in arguments])
        guards = [sorts.ground(guard) for guard in step.guards]
        if any(map(is_false, guards)):
            return None
        formulas += guards
        # Each relation that the action changes is a new symbol. Its rows are computed from the earlier ones when they are needed.
        changed = {}
        for relation, columns in system.relations.items():
            after = getattr(step.after, relation)
            if after is not getattr(s, relation):
                changed[relation] = Function(f"{relation}_{number}", *columns, BoolSort())
                sorts.definitions[f"{relation}_{number}"] = after
        s = s.update(**changed)
    solver = solving.solver([*formulas, sorts.ground(goal(s))])
    result = solver.check()
    if result == sat:
        return solver.model()
    if result == unsat:
        return None
    raise TimeoutError(f"the solver could not decide the run: {solver.reason_unknown()}")
