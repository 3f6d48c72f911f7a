"""How fast a backlog reaches its agent: pushed, attached to verbs, and read in pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from prism_signals import Prism

from .bulk import multiply
from .figures import Figure, Ratio, Row
from .home import Home, temporary_home
from .plan import Plan
from .recorded import CONTENT, RECIPIENT, raw_connection
from .roles import Cue, role
from .samples import SECOND, now
from .strategies import LOG, STRATEGY_MAP, SURFACE

PAGE, READ_PAGE = 20, 100
_RAW_UPDATE = "UPDATE signal_delivery SET state = ?, lease_token = ? WHERE signal_id = ?"


def measure(plan: Plan) -> Figure:
    """Drain a backlog in each way, each from a store of its own."""
    backlog = plan.scaled(10_000, 200)
    pushing = {"agent_surface": SURFACE, "strategy_map": STRATEGY_MAP}
    patience = plan.scaled(300, 30)
    rates: dict[str, float] = {}
    for way, settings in (("push", pushing), ("answers", {}), ("pages", {})):
        with temporary_home() as home:
            fill(home, backlog)
            with role(drainer, home.environ(RECIPIENT, **settings), way=way) as child:
                rates[way] = backlog / child.play(backlog, patience) * SECOND
    for way, batch in (("raw push", 1), ("raw answers", PAGE), ("raw pages", READ_PAGE)):
        with temporary_home() as home:
            fill(home, backlog)
            with role(raw_drainer, home.environ(), path=str(home.store), batch=batch) as child:
                rates[way] = backlog / child.play(backlog, patience) * SECOND
    return Figure(
        "drain",
        f"{backlog:,} signals that waited, until the last is with the agent",
        [
            Row("pushed one by one", rates["push"], "/s"),
            Row("raw: claim and settle each, committed", rates["raw push"], "/s"),
            Row(f"attached to prism_ack_signals, {PAGE} each, acked", rates["answers"], "/s"),
            Row(f"raw: the same, {PAGE} in a commit", rates["raw answers"], "/s"),
            Row(f"prism_read_signals, {READ_PAGE} a page", rates["pages"], "/s"),
            Row(f"raw: the same, {READ_PAGE} in a commit", rates["raw pages"], "/s"),
        ],
        [
            Ratio(f"{way} / raw", rates[way] / rates[f"raw {way}"])
            for way in ("push", "answers", "pages")
        ],
    )


def fill(home: Home, backlog: int) -> None:
    """Let so many signals wait for the recipient."""
    with role(first_signal, home.environ("Lola")) as child:
        original = child.play("send")
    multiply(home, [original], backlog - 1)


async def first_signal(cue: Cue) -> None:
    """Role: send one signal; gives its id."""
    async with Prism.open() as prism:
        async for _ in cue.awaited_rounds():
            sent = await prism.outside().signal(RECIPIENT, "inform", CONTENT)
            cue.answer(sent["signal_id"])


async def drainer(cue: Cue, way: str) -> None:
    """Role: an agent that comes back to a backlog; gives how long it took to get it all."""
    async with Prism.open() as prism, prism.host() as agent:
        async for backlog in cue.awaited_rounds():
            before, got = now(), 0
            answer = await agent.start()
            if way == "push":
                await LOG.wait_for(backlog)
                got = len(LOG.arrivals)
            elif way == "answers":
                while shown := answer.get("pending_signals"):
                    got += len(shown)
                    answer = await agent.ack_signals([s["signal_id"] for s in shown])
            else:
                got, cursor = len(answer.get("pending_signals", ())), None
                while True:
                    page = await agent.read_signals(limit=READ_PAGE, cursor=cursor)
                    got += len(page["signals"])
                    if (cursor := page["next"]) is None:
                        break
            took = now() - before
            if got < backlog:
                raise RuntimeError(f"{way}: only {got} of {backlog} came")
            cue.answer(took)


def raw_drainer(cue: Cue, path: str, batch: int) -> None:
    """Role: claim and settle the backlog with plain statements, two commits per batch."""
    for backlog in cue.rounds():
        with closing(raw_connection(Path(path))) as connection:
            connection.execute("PRAGMA synchronous = NORMAL")  # as leases and settlements are
            before = now()
            waiting = connection.execute("SELECT signal_id FROM signal_delivery ORDER BY seq")
            ids = [row[0] for row in waiting.fetchall()]
            for n in range(0, backlog, batch):
                for state in ("leased", "delivered"):
                    rows = [(state, str(n), sid) for sid in ids[n : n + batch]]
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany(_RAW_UPDATE, rows)
                    connection.execute("COMMIT")
            cue.answer(now() - before)
