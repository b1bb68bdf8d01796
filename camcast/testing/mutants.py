"""Mutants of a plug: its source with one small mistake each, to see whether a contract finds it.

A contract that lets many mutants of a good plug pass promises little. The mistakes are drawn by a
seed from all that the operators below can make of the source, and not chosen::

    for mutant in draw(Path("newscast.py").read_text(), 40, seed=1):
        ...  # write mutant.source in place of the plug, and run its tests

Docstrings, annotations and the bodies of messages stay as they are.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from attrs import frozen

_SWAPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@frozen
class Mutant:
    """A source with one mistake."""

    line: int
    mistake: str
    """The mistake, for people."""
    source: str


def draw(source: str, count: int, seed: int) -> list[Mutant]:
    """Draw up to `count` different mutants of a source, in the order of their lines."""
    tree = ast.parse(source)
    places = [
        (number, change) for number, node in enumerate(_inner(tree)) for change in _changes(node)
    ]
    Random(seed).shuffle(places)
    drawn: dict[str, Mutant] = {}
    for number, change in places:
        if len(drawn) == count:
            break
        mutated = copy.deepcopy(tree)
        node = list(_inner(mutated))[number]
        before = ast.unparse(node).partition("\n")[0]
        mistake = change(node)
        made = ast.unparse(ast.fix_missing_locations(mutated))
        line: int = getattr(node, "lineno", 0)
        drawn.setdefault(made, Mutant(line, f"{mistake}: {before}", made))
    return sorted(drawn.values(), key=lambda mutant: mutant.line)


def _inner(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of the bodies of functions, which alone are mutated, in a fixed order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                yield from ast.walk(statement)


def _changes(node: ast.AST) -> Iterator[Callable[[ast.AST], str]]:
    """Yield what can be made of a node: functions that change it and say what they did."""
    match node:
        case ast.Compare():
            yield _other_comparison
        case ast.BoolOp():
            yield _and_for_or
        case ast.If() | ast.IfExp():
            yield _negated
        case ast.Expr(value=ast.Call()) | ast.Expr(value=ast.Await()):
            yield _left_out
        case ast.Assign() | ast.AugAssign() if isinstance(_target(node), ast.Attribute):
            yield _left_out
        case ast.Constant(value=bool()):
            yield _other_constant
        case ast.Constant(value=int() | float()):
            yield _other_constant
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield _minus_for_plus
        case ast.Slice(upper=ast.expr()):
            yield _no_bound
        case ast.Return(value=ast.expr()):
            yield _nothing_returned


def _target(node: ast.AST) -> ast.AST | None:
    return node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)


def _other_comparison(node: ast.AST) -> str:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _SWAPPED[type(node.ops[0])]()
    return "the opposite comparison"


def _and_for_or(node: ast.AST) -> str:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return "and for or"


def _negated(node: ast.AST) -> str:
    assert isinstance(node, ast.If | ast.IfExp)
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return "the opposite condition"


def _left_out(node: ast.AST) -> str:
    node.__class__ = ast.Pass  # whose fields are ignored
    return "left out"


def _other_constant(node: ast.AST) -> str:
    assert isinstance(node, ast.Constant)
    value = node.value
    assert isinstance(value, int | float)
    node.value = (not value) if isinstance(value, bool) else 10 * value + 1
    return f"{node.value} for {value}"


def _minus_for_plus(node: ast.AST) -> str:
    assert isinstance(node, ast.BinOp)
    node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    return "plus for minus, or minus for plus"


def _no_bound(node: ast.AST) -> str:
    assert isinstance(node, ast.Slice)
    node.upper = None
    return "no bound"


def _nothing_returned(node: ast.AST) -> str:
    assert isinstance(node, ast.Return)
    node.value = ast.Constant(None)
    return "nothing returned"
