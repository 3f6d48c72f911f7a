"""What holds for every test of the workspace."""

from __future__ import annotations

import os

from hypothesis import settings

# A run must not depend on the agent or the shell that started it.
for _name in [n for n in os.environ if n.startswith("PRISM_")]:
    del os.environ[_name]

# The deadline of a test is pytest's; one for each example would only measure a busy machine.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
