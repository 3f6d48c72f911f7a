"""`python -m benchmarks [NAME …] [--quick] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from . import channel, drain, history, latency, startup, steps, throughput, toolcall
from .children import ChildFailed
from .figures import Figure
from .machine import description, load, noise
from .plan import Plan

FIGURES: dict[str, Callable[[Plan], Figure]] = {
    "latency": latency.measure,
    "channel": channel.measure,
    "throughput": throughput.measure,
    "drain": drain.measure,
    "toolcall": toolcall.measure,
    "start": startup.measure_start,
    "idle": startup.measure_idle,
    "history": history.measure,
    "steps": steps.measure,
}
NOISY = 2.0


def main(argv: Sequence[str]) -> int:
    """Measure what is named, or everything; 1 where something could not be measured."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that children end too
    plan = Plan(arguments.quick)
    print(description(), flush=True)
    if plan.quick:
        print("--quick: this shows that everything works; the numbers mean little", flush=True)
    results: list[dict[str, object]] = []
    failed: list[str] = []
    for name in arguments.names or FIGURES:
        restless, started = noise(), time.monotonic()
        try:
            figure = FIGURES[name](plan)
        except ChildFailed as e:
            failed.append(name)
            print(f"\n{name}: COULD NOT BE MEASURED: {e}", flush=True)
            continue
        restless = max(restless, noise())
        print(f"\n{figure.text()}")
        warning = " (too noisy: repeat it)" if restless > NOISY else ""
        took = time.monotonic() - started
        print(f"  noise {restless:.2f}{warning}, load {load()}, {took:.0f} s", flush=True)
        results.append({**figure.as_dict(), "noise": restless})
    if arguments.json:
        found = {"machine": description(), "quick": plan.quick, "figures": results}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    _verdict(results, failed)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dev.py bench", description="Measure beside the raw limits of this machine."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        choices=[*FIGURES, []],
        help=f"what to measure: {', '.join(FIGURES)}; default: everything",
    )
    parser.add_argument("--quick", action="store_true", help="a smoke test, under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    return parser


def _verdict(results: Sequence[dict[str, object]], failed: Sequence[str]) -> None:
    aims = [aim for r in results for aim in r["aims"]]  # type: ignore[attr-defined]
    met = sum(aim["met"] for aim in aims)
    print(f"\n{met} of {len(aims)} aims met" + (f"; failed: {', '.join(failed)}" if failed else ""))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
