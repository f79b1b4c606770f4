"""What every error is: a sentence made from its docstring, advice, a stable code and an exit status."""

from __future__ import annotations

import errno
from typing import ClassVar

# Trouble of this process or machine, not of a file: to go on without the file would lose it in silence.
OUR_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class CairnError(Exception):
    """Something went wrong inside Cairn.

    This is a bug in Cairn, not in your repository; please report it with the command you ran.
    """

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        sentence, advice = _paragraphs(type(self))
        self.sentence = sentence.format(**fields)
        self.advice = advice.format(**fields)
        super().__init__(self.sentence)


def _paragraphs(error: type[CairnError]) -> tuple[str, str]:
    # Folding all white space undoes the indentation too; `inspect.cleandoc` would cost more to import than we do.
    sentence, _, advice = (error.__doc__ or "").partition("\n\n")
    return " ".join(sentence.split()), " ".join(advice.split())
