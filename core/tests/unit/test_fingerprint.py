"""Fingerprints: a process is told from every other, also from a later one with its number."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from prism_signals import ancestors, boot_id, lives, of_process, of_this_process


def test_this_process_lives() -> None:
    own = of_this_process()
    assert own.pid == os.getpid()
    assert own.boot_id == boot_id() != ""
    assert lives(own)


def test_a_later_process_with_the_same_number_is_another() -> None:
    assert lives(replace(of_this_process(), started="1")) is False


def test_another_machine_cannot_be_told() -> None:
    assert lives(replace(of_this_process(), boot_id="elsewhere")) is None
    assert lives(replace(of_this_process(), started="")) is None


def test_an_ended_child_is_dead_even_before_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        print_of_child = of_process(child.pid)
        assert print_of_child is not None
        assert lives(print_of_child)
        assert os.getpid() in ancestors(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
        assert lives(print_of_child) is False


def test_no_process_has_no_fingerprint() -> None:
    assert of_process(2**22 + 1) is None
    assert list(ancestors(2**22 + 1)) == []
