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
from .machine import Watch, description, noise
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
NOISY, CROWDED = 2.5, 0.1


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
        restless, watch = noise(), Watch.start()
        try:
            figure = FIGURES[name](plan)
        except ChildFailed as e:
            failed.append(name)
            print(f"\n{name}: COULD NOT BE MEASURED: {e}", flush=True)
            continue
        others, took = watch.others(), time.monotonic() - watch.wall
        restless = max(restless, noise())
        print(f"\n{figure.text()}\n  {_mood(restless, others)}, {took:.0f} s", flush=True)
        results.append({**figure.as_dict(), "noise": restless, "others": others})
    if arguments.json:
        found = {"machine": description(), "quick": plan.quick, "figures": results}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    _verdict(results, failed)
    return 1 if failed else 0


def _mood(restless: float, others: float | None) -> str:
    crowded = others is not None and others > CROWDED
    warning = ": too restless, repeat it" if restless > NOISY or crowded else ""
    share = "" if others is None else f", others used {others:.0%} of the machine"
    return f"noise {restless:.2f}{share}{warning}"


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
