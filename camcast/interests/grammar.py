"""The grammar of interests: parses a text into terms, or names the column of the error.

::

    interest    =  conjunction { "or" conjunction }
    conjunction =  factor { "and" factor }
    factor      =  TOPIC  |  comparison  |  "(" interest ")"
    comparison  =  NAME ( "<" | "<=" | ">" | ">=" ) NUMBER
                |  NAME ( "==" | "!=" ) ( NUMBER | TEXT )
                |  NAME "in" "(" NUMBER { "," NUMBER } ")"
                |  NAME "in" "(" TEXT { "," TEXT } ")"

A TOPIC is written as everywhere, a NAME like a name in Python, and a TEXT as in JSON; so is a
NUMBER, except that it may begin with zeros. There is no "not": docs/choosing.md says why.
"""

from __future__ import annotations

import re
from math import isinf
from typing import Final, NamedTuple

from typing_extensions import override

from camcast.interests.term import NAME, TOPICS_MAX, WORDS, Draft, Term, common
from camcast.interests.values import DIGITS_MAX, Literal, Values, compared, listed, plain
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.topics import ROOT, Topic, TopicError

TEXT_MAX: Final = 65_536  # chosen: characters; some thousand topics
TERMS_MAX: Final = 1024  # chosen: what parentheses may be multiplied out to, in some 10 ms
_DEPTH_MAX: Final = 32  # chosen: parentheses within each other; nobody reads more

_TOKEN: Final = re.compile(
    rf"""\s*(?:
        (?P<number>-?[0-9](?:[eE][+-]|[\w.])*)
      | (?P<topic>\.[\w+.-]*)
      | (?P<name>{NAME})
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<operator>[<>!=]=|[<>])
      | (?P<mark>[(),])
      | (?P<end>\Z)
      | (?P<wrong>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class InterestError(CamcastError, ValueError):
    """A text is not an interest; `column` (from 1) is where it fails, as the message shows."""

    def __init__(self, text: str, column: int, message: str) -> None:
        super().__init__(text, column, message)
        self.text, self.column, self.message = text, column, message

    @override
    def __str__(self) -> str:
        # Show the line that holds the column, cut to the width of a terminal.
        begin = self.text.rfind("\n", 0, self.column - 1) + 1
        line, at = self.text[begin:].split("\n", 1)[0], self.column - 1 - begin
        if len(line) > _SHOWN:
            cut = max(0, at - _SHOWN // 2)
            line, at = line[cut : cut + _SHOWN], at - cut
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
        return f"column {self.column}: {self.message}\n  {shown}\n  {' ' * at}^"


_SHOWN: Final = 72  # chosen: characters of the line, so that it fits a terminal of 80


class _Token(NamedTuple):
    kind: str
    text: str
    at: int
    """The index of its first character in the text."""

    @override
    def __str__(self) -> str:
        if self.kind == "end":
            return "nothing"
        return repr(self.text if len(self.text) <= DIGITS_MAX else self.text[:DIGITS_MAX] + "…")


def parse_terms(text: str, multiplied_max: int = TERMS_MAX) -> list[Term]:
    """Return the terms whose disjunction is the interest of a text; raises `InterestError`.

    Parentheses may be multiplied out to at most `multiplied_max` terms.
    """
    if len(text) > TEXT_MAX:
        raise InterestError(text, TEXT_MAX + 1, f"an interest has at most {TEXT_MAX:,} characters")
    return [Term.of(draft) for draft in _Parser(text, multiplied_max).whole()]


class _Parser:
    """A recursive-descent parser that reads one token ahead."""

    def __init__(self, text: str, multiplied_max: int) -> None:
        self._text = text
        self._multiplied_max = multiplied_max
        self._depth = 0
        self._token = self._read(0)

    def whole(self) -> list[Draft]:
        terms = self._interest()
        if self._token.kind != "end":
            raise self._error(f"expected and, or, or the end, found {self._token}")
        return terms

    def _interest(self) -> list[Draft]:
        terms = self._conjunction()
        while self._took("or"):
            terms += self._conjunction()
        return terms

    def _conjunction(self) -> list[Draft]:
        terms = self._factor()
        while self._took("and"):
            begin = self._token
            factor = self._factor()
            if len(terms) * len(factor) > self._multiplied_max:
                raise self._error(
                    f"multiplied out, these are more than {self._multiplied_max:,} alternatives",
                    begin,
                )
            pairs = (common(one, other) for one in terms for other in factor)
            terms = [term for term in pairs if term is not None]
            if not terms:
                raise self._error("no event can match both this and what stands before it", begin)
            if any(len(topics) > TOPICS_MAX for topics, _ in terms):
                raise self._error(f"an event is of at most {TOPICS_MAX} topics at a time", begin)
        return terms

    def _factor(self) -> list[Draft]:
        token = self._token
        if self._took("("):
            self._depth += 1
            if self._depth > _DEPTH_MAX:
                raise self._error(f"more than {_DEPTH_MAX} parentheses within each other", token)
            terms = self._interest()
            self._expect(")")
            self._depth -= 1
            return terms
        if token.kind == "topic":
            self._advance()
            try:
                return [((Topic.parse(token.text),), {})]
            except TopicError as error:
                raise self._error(str(error), token) from error
        if token.kind == "name" and token.text not in WORDS:
            self._advance()
            return [((ROOT,), {token.text: self._comparison(token)})]
        if token.text == "not":
            raise self._error("there is no not: write the opposite comparison, such as != for ==")
        if token.kind in ("number", "text"):
            raise self._error("an attribute's name stands on the left, as in mag >= 5")
        raise self._error(f"expected a topic, an attribute's name or '(', found {token}")

    def _comparison(self, name: _Token) -> Values:
        operator = self._token
        if self._took("in"):
            return self._list()
        if operator.kind != "operator":
            hint = "; equality is ==" if operator.text == "=" else ""
            raise self._error(
                f"expected a comparison after {name}, such as >= or in, found {operator}{hint}"
            )
        self._advance()
        begin = self._token
        literal = self._literal()
        if isinstance(literal, str) and operator.text not in ("==", "!="):
            raise self._error(
                f"a text is compared by == and != only, not by {operator.text}", begin
            )
        return compared(operator.text, literal)

    def _list(self) -> Values:
        self._expect("(")
        literals: list[Literal] = []
        while not literals or self._took(","):
            begin = self._token
            literals.append(self._literal())
            if isinstance(literals[-1], str) != isinstance(literals[0], str):
                raise self._error("a list has either numbers or texts", begin)
        self._expect(")")
        return listed(literals)

    def _literal(self) -> Literal:
        token = self._token
        if token.kind == "number":
            self._advance()
            return self._number(token)
        if token.kind == "text":
            self._advance()
            return self._string(token)
        hint = ""
        if re.fullmatch(r"\.\d+", token.text):
            hint = f"; write 0{token.text}"
        elif token.kind == "name" or token.text == "'":
            hint = '; a text stands in double quotes, "so"'
        raise self._error(f"expected a number or a text, found {token}{hint}")

    def _number(self, token: _Token) -> int | float:
        if len(token.text) > DIGITS_MAX:
            raise self._error(f"a number has at most {DIGITS_MAX} characters", token)
        form = _NUMBER.fullmatch(token.text)
        if form is None:
            raise self._error(f"{token} is no number", token)
        number = float(token.text) if form[1] or form[2] else int(token.text)
        if isinf(number):
            raise self._error(f"{token.text} is too large for a number", token)
        return plain(number)

    def _string(self, token: _Token) -> str:
        import json  # when used: a process whose interests have no text needs no parser of JSON

        try:
            text: str = json.loads(token.text)
        except json.JSONDecodeError as error:
            raise self._error(f"in a text: {error.msg}", token, error.pos) from error
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise self._error("half a surrogate pair is no character", token)
        return text

    # -- tokens ------------------------------------------------------------------------------

    def _took(self, wanted: str) -> bool:
        """Advance if this word or mark comes next; say whether it did."""
        found = self._token.text == wanted and self._token.kind in ("name", "mark")
        if found:
            self._advance()
        return found

    def _expect(self, mark: str) -> None:
        if not self._took(mark):
            raise self._error(f"expected {mark!r}, found {self._token}")

    def _advance(self) -> None:
        self._token = self._read(self._token.at + len(self._token.text))

    def _read(self, at: int) -> _Token:
        match = _TOKEN.match(self._text, at)
        assert match is not None
        assert match.lastgroup is not None
        token = _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
        if token.text == '"':
            raise self._error("this text has no end: the closing quote is missing", token)
        return token

    def _error(self, message: str, token: _Token | None = None, further: int = 0) -> InterestError:
        at = (self._token if token is None else token).at + further
        return InterestError(self._text, at + 1, message)
