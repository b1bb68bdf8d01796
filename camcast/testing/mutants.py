"""Mutants of a plug: its source with one small mistake each, to see whether a contract finds it.

A contract that lets many mutants of a good plug pass promises little. The mistakes are drawn by a
seed from all that the operators below can make of the source, and not chosen::

    for mutant in draw(Path("newscast.py").read_text(), 40, seed=1):
        ...  # write mutant.source in place of the plug, and run its tests

`camcast.testing.mutation_score` does both. Mutated are the bodies of functions, and the numbers
that a module defines; docstrings, annotations, and the classes of messages and options stay as they
are. No operator moves a comparison by its boundary (``<`` to ``<=``): times are floats, whose
boundaries no test meets.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, Final, TypeVar

from attrs import frozen

_OPPOSITE: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
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
_CONFUSED: Final = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}

T = TypeVar("T")

_Change = tuple[str, Callable[[Any], None]]
"""A mistake for people, and the function that makes it in a node."""


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
        (number, change) for number, node in enumerate(_mutable(tree)) for change in _changes(node)
    ]
    Random(seed).shuffle(places)
    drawn: dict[str, Mutant] = {ast.unparse(tree): Mutant(0, "none", source)}
    for number, (mistake, change) in places:
        if len(drawn) > count:
            break
        mutated = copy.deepcopy(tree)
        node: Any = list(_mutable(mutated))[number]
        before = ast.unparse(node).partition("\n")[0].strip()
        change(node)
        made = ast.unparse(ast.fix_missing_locations(mutated))
        drawn.setdefault(made, Mutant(_line(node), f"{mistake}: {before}", made))
    return sorted(list(drawn.values())[1:], key=lambda mutant: mutant.line)


def _line(node: ast.AST) -> int:
    """Return the line of a node, or of the first node in it that has one."""
    return next(line for one in ast.walk(node) if (line := getattr(one, "lineno", 0)))


def _mutable(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that are mutated, in a fixed order."""
    for statement in tree.body:
        match statement:
            case ast.Assign(value=ast.Constant(value=int() | float())):
                yield statement.value
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for statement in node.body:
                    yield from ast.walk(statement)
            case ast.Lambda():
                yield from ast.walk(node.body)


def _changes(node: ast.AST) -> Iterator[_Change]:
    """Yield the mistakes that can be made in a node."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Continue():
            yield "left out", _leave_out
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign():
            yield "left out", _leave_out
        case ast.Delete():
            yield "left out", _leave_out
        case ast.Return(value=ast.expr()):
            yield "nothing returned", _set(value=ast.Constant(None))
        case ast.If() | ast.IfExp():
            yield "always", _set(test=ast.Constant(True))
            yield "never", _set(test=ast.Constant(False))
        case ast.For():
            yield "the first only", _set(iter=_first(node.iter))
        case ast.ExceptHandler(type=ast.Tuple(elts=kinds)):
            for kind, rest in _without_one(kinds):
                yield f"{ast.unparse(kind)} passes", _set(type=ast.Tuple(rest, ast.Load()))
        case ast.comprehension(ifs=[_]):
            yield "for all", _set(ifs=[])
    if isinstance(node, ast.expr | ast.Slice):
        yield from _changes_of_value(node)


def _changes_of_value(node: ast.expr | ast.Slice) -> Iterator[_Change]:
    """Yield the mistakes that can be made in an expression."""
    match node:
        case ast.Compare(ops=[operator]):
            yield "the opposite comparison", _set(ops=[_OPPOSITE[type(operator)]()])
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "and for or, or for and", _set(op=other)
            for value, rest in _without_one(values):
                made = ast.BoolOp(operator, rest) if len(rest) > 1 else rest[0]
                yield f"without {ast.unparse(value)}", _become(made)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "without its sign", _become(operand)
        case ast.Constant(value=bool() as truth):
            yield f"{not truth} for {truth}", _set(value=not truth)
        case ast.Constant(value=int() | float() as number):
            yield f"{10 * number + 1} for {number}", _set(value=10 * number + 1)
        case ast.BinOp(op=ast.Add()):
            yield "minus for plus", _set(op=ast.Sub())
        case ast.BinOp(op=ast.Sub()):
            yield "plus for minus", _set(op=ast.Add())
        case ast.Slice(lower=lower, upper=upper):
            if upper is not None:
                yield "no bound", _set(upper=None)
            if lower is not None:
                yield "from the start", _set(lower=None)
        case ast.Tuple(elts=values) | ast.List(elts=values):
            for value, rest in _without_one(values):
                if isinstance(value, ast.Starred):
                    yield f"without {ast.unparse(value)}", _set(elts=rest)
        case ast.Call():
            yield from _changes_of_call(node)


def _changes_of_call(node: ast.Call) -> Iterator[_Change]:
    match node.func:
        case ast.Name(id=name) if name in _CONFUSED:
            other = ast.Call(ast.Name(_CONFUSED[name], ast.Load()), node.args, [])
            yield f"{_CONFUSED[name]} for {name}", _become(other)
    for argument, keywords in _without_one(node.keywords):
        yield f"without {argument.arg or 'the last'}=", _set(keywords=keywords)
    if len(node.args) > 1:
        *first, one, last = node.args
        yield f"without {ast.unparse(last)}", _set(args=[*first, one])
        yield f"{ast.unparse(last)} before {ast.unparse(one)}", _set(args=[*first, last, one])


def _without_one(values: Sequence[T]) -> Iterator[tuple[T, list[T]]]:
    """Yield each value with the other ones, if there are any."""
    for at, value in enumerate(values):
        if rest := [*values[:at], *values[at + 1 :]]:
            yield value, rest


def _first(values: ast.expr) -> ast.expr:
    return ast.Subscript(
        ast.Call(ast.Name("list", ast.Load()), [values], []),
        ast.Slice(upper=ast.Constant(1)),
        ast.Load(),
    )


def _leave_out(node: Any) -> None:
    node.__class__ = ast.Pass  # whose fields are ignored


def _set(**fields: Any) -> Callable[[Any], None]:
    return partial(_put, fields)


def _become(other: ast.expr) -> Callable[[Any], None]:
    return partial(_replace, other)


def _put(fields: dict[str, Any], node: Any) -> None:
    for name, value in fields.items():
        setattr(node, name, value)


def _replace(other: ast.expr, node: Any) -> None:
    line = node.lineno
    node.__class__, node.__dict__ = type(other), {**vars(other), "lineno": line}
