#!/usr/bin/env python3
"""Everything a developer runs here. It needs python3 (3.11 or newer) and pip, nothing else.

    python3 dev.py demo     two agents talk to each other, for people to watch
    python3 dev.py test     every test; `test unit faults -- -k name` picks suites, pytest options
    python3 dev.py check    ruff, mypy --strict, import-linter
    python3 dev.py docs     build the documentation into site/; warnings are errors
    python3 dev.py ci       check, test, docs, lowest and newest: what must pass before a merge
    python3 dev.py bench    measure, beside the raw limits of this machine
    python3 dev.py lowest   unit and conformance tests with the lowest dependencies allowed
    python3 dev.py newest   the same with the newest
    python3 dev.py build    every wheel and source archive, into dist/
    python3 dev.py lock     write constraints.txt anew, from the newest dependencies

The first run makes `.venv` and installs the workspace into it. Later runs skip that, unless a
`pyproject.toml` or `constraints.txt` changed.
"""

# An older Python must be able to read this file, so that it can say why it stops.
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - see above
    sys.exit("dev.py needs Python 3.11 or newer, and this is %d.%d." % sys.version_info[:2])  # noqa: UP031

from devtools.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], __doc__ or ""))
