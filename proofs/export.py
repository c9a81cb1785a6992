"""Writes the transition systems that trace validation evaluates, from the same terms that the proofs are about.

Trace validation runs the Rust code and checks that every step is a sequence of actions of the model. It reads the model from a
file of S-expressions. This program makes the files. Without options it only compares them with the model, and fails if they
differ, so that a proof and the code cannot drift apart. With the environment variable UPDATE=1 it writes them.

A file lists the sorts, the static relations and functions, the relations of a state, the axioms about the static part, formulas of
initial states, the actions, the invariants and the safety properties. An action has parameters, guards, and for each relation that
it changes the formula of the rows that the relation has afterwards.
"""

import argparse
import difflib
import os
import sys
from pathlib import Path

from z3 import (BoolSort, Const, Z3_OP_UNINTERPRETED, get_var_index, is_and, is_distinct, is_eq, is_false, is_implies, is_not, is_or,
                is_quantifier, is_true, is_var)

import fixed_coteries
import locks
import settled_quorums
from program import parse
from verifier import parameters_of

ALGORITHMS = Path(__file__).parent.parent / "crates/quorate-algorithms/src"

# A title, the transition system, and the file of its model.
MODELS = [
    ("fixed-coteries", fixed_coteries.FixedCoteries, ALGORITHMS / "mutex/quorum/fixed_coteries.model"),
    ("locks", locks.Locks, ALGORITHMS / "mutex/leased_quorum/locks.model"),
    ("settled-quorums", settled_quorums.SettledQuorums, ALGORITHMS / "mutex/quorum/settled_quorums.model"),
]

WIDTH = 120


class Exporter:
    """Makes S-expressions of formulas, and collects the static symbols that occur in them."""

    def __init__(self, relations):
        self.relations = relations
        self.static = {}

    def term(self, term, scope=()):
        """The expression of a term. `scope` has the names of the bound variables, the innermost last."""
        if is_quantifier(term):
            names = list(scope)
            for place in range(term.num_vars()):
                names.append(fresh(term.var_name(place), names))
            bound = names[len(scope):]
            variables = [[name, str(term.var_sort(place))] for place, name in enumerate(bound)]
            return ["forall" if term.is_forall() else "exists", variables, self.term(term.body(), names)]
        if is_var(term):
            return scope[-1 - get_var_index(term)]
        if is_true(term) or is_false(term):
            return "true" if is_true(term) else "false"
        parts = [self.term(part, scope) for part in term.children()]
        for test, name in ((is_and, "and"), (is_or, "or"), (is_not, "not"), (is_implies, "implies"), (is_eq, "="),
                           (is_distinct, "distinct")):
            if test(term):
                return [name, *parts]
        declaration = term.decl()
        if declaration.kind() != Z3_OP_UNINTERPRETED:
            raise ValueError(f"a model must not contain {declaration.name()}")
        if not parts:
            return declaration.name().removeprefix("parameter_")
        if declaration.name() not in self.relations:
            self.static[declaration.name()] = declaration
        return [declaration.name(), *parts]


def fresh(name, others):
    """The name, or one with a number that no other variable in scope has."""
    number, chosen = 1, name
    while chosen in others:
        number += 1
        chosen = f"{name}{number}"
    return chosen


def export(title, system):
    """The lines of the file of a model."""
    s, exporter = system.state(), Exporter(system.relations)
    actions = []
    for name, method in system.actions().items():
        parameters = parameters_of(method)
        step, parts = method(s, *parameters.values()), []
        for guard in step.guards:
            parts.append(["guard", exporter.term(guard)])
        for relation, columns in system.relations.items():
            after = getattr(step.after, relation)
            if after is not getattr(s, relation):
                row = {f"column_{place}": sort for place, sort in enumerate(columns)}
                formula = after(*[Const(column, sort) for column, sort in row.items()])
                parts.append(["change", relation, typed(row), exporter.term(formula)])
        typed_parameters = typed({parameter: constant.sort() for parameter, constant in parameters.items()})
        actions.append(["action", name, typed_parameters, *parts])
    formulas = [["axiom", exporter.term(formula)] for formula in system.axioms()]
    formulas += [["initial", exporter.term(formula)] for formula in system.initial(s)]
    properties = [[kind, f'"{name}"', exporter.term(formula)]
                  for kind, pairs in (("invariant", system.invariants(s)), ("safety", system.safety(s))) for name, formula in pairs]
    static = []
    for name, declaration in sorted(exporter.static.items()):
        columns = [str(declaration.domain(place)) for place in range(declaration.arity())]
        is_relation = declaration.range() == BoolSort()
        static.append(["static", name, columns] if is_relation else ["function", name, columns, str(declaration.range())])
    relations = [["relation", name, [str(sort) for sort in sorts]] for name, sorts in system.relations.items()]
    header = ["; Generated from the proofs by `cargo xtask prove --models`. Do not edit.", f"; {title}"]
    return header + [line for part in [*static, *relations, *formulas, *actions, *properties] for line in lines(part)]


def typed(variables):
    return [[name, str(sort)] for name, sort in variables.items()]


def flat(expression):
    return expression if isinstance(expression, str) else f"({' '.join(map(flat, expression))})"


def lines(expression, indent=""):
    """The lines of an expression. One that is too long has its parts on lines of their own."""
    text = indent + flat(expression)
    if len(text) <= WIDTH or isinstance(expression, str):
        return [text]
    # The leading words stay on the first line.
    words = []
    for part in expression:
        if not isinstance(part, str):
            break
        words.append(part)
    rest = [line for part in expression[len(words):] for line in lines(part, indent + "  ")]
    return [f"{indent}({' '.join(words)}", *rest[:-1], f"{rest[-1]})"]


def main():
    parser = argparse.ArgumentParser(description="Compares the files of trace validation with the models. UPDATE=1 writes them.")
    parse(parser)
    passed = True
    for title, system, path in MODELS:
        text = "".join(f"{line}\n" for line in export(title, system()))
        if os.environ.get("UPDATE") == "1":
            path.write_text(text)
        present = path.read_text() if path.exists() else ""
        print(f"{title}: {'as' if present == text else 'NOT AS'} in {path.name}")
        for line in list(difflib.unified_diff(present.splitlines(), text.splitlines(), "committed", "model", lineterm="", n=1))[:20]:
            print(f"  {line}")
        passed = passed and present == text
    if not passed:
        sys.exit("error: a model has changed; `UPDATE=1 cargo xtask prove --models` writes its file")


if __name__ == "__main__":
    main()
