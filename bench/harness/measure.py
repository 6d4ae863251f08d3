"""Runs programs and tells what they took. Rounds in which everybody has a turn, in an order drawn anew each time."""

import json
import os
import random
import statistics
import subprocess
import sys
import time

SEED = 20261117
#: No single run takes longer than this many seconds.
LIMIT = 120


def say(text):
    """A line of progress."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


class Failed(Exception):
    """A run that did not give what it should; the text says why."""


def process(command, env, cwd, mark=None):
    """One run of a whole program: wall and CPU microseconds, children included. Its output must bear the mark."""
    out = subprocess.PIPE if mark else subprocess.DEVNULL
    started = time.perf_counter()
    child = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
    text = child.stdout.read().decode(errors="replace") if mark else ""
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise Failed(f"exit code {child.returncode}")
    if mark and mark not in text:
        raise Failed(f"`{mark}` is not in its output")
    return {"wall": wall * 1e6, "cpu": (usage.ru_utime + usage.ru_stime) * 1e6}


def peak(command, env, cwd):
    """The most memory the program held, in kilobytes, in a run of its own. What the system counts for an ended process
    includes what we held when we started it, so it is looked at while it runs."""
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(command, env=env, cwd=cwd, stdin=quiet, stdout=quiet, stderr=quiet)
    most = 0
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status") as status:
                line = next((line for line in status if line.startswith("VmHWM:")), None)
            if line:
                most = max(most, int(line.split()[1]))
        except OSError:
            pass
    return most or None


def one_core():
    """Puts what is started on one core: waking the other one costs more than any client does, and is chance."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def driver(command, env, cwd, is_pinned=False):
    """One run of a program that measures by itself and prints one line of JSON."""
    pin = one_core if is_pinned else None
    try:
        done = subprocess.run(
            command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, preexec_fn=pin
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no end after {LIMIT} s") from error
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    if done.returncode != 0 or not lines:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Failed(next((line.strip() for line in words if "rror" in line), f"exit code {done.returncode}")[:160])
    return json.loads(lines[-1])


def rounds(title, contenders, n_rounds):
    """Everybody has a turn in each round. `contenders` is a list of names and functions that give figures.

    Gives for each name the list of its figures, and for each that failed the reason. One failure ends a contender.
    """
    order = random.Random(f"{SEED} {title}")
    runs, failed = {name: [] for name, _ in contenders}, {}
    load = os.getloadavg()[0]
    for turn in range(n_rounds):
        left = [(name, run) for name, run in contenders if name not in failed]
        order.shuffle(left)
        for name, run in left:
            try:
                runs[name].append(run())
            except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
                failed[name] = str(error) or type(error).__name__
                say(f"{title}: {name} failed: {failed[name]}")
        say(f"{title}: round {turn + 1} of {n_rounds}")
    done = {name: all_runs for name, all_runs in runs.items() if name not in failed}
    return {"runs": done, "failed": failed, "rounds": n_rounds, "load": [round(load, 1), round(os.getloadavg()[0], 1)]}


def middle(runs, key):
    """Median and inner half of one figure, or nothing if it was not taken."""
    values = sorted(run[key] for run in runs if run.get(key) is not None)
    if not values:
        return None
    if len(values) < 3:
        return {"median": statistics.median(values), "low": values[0], "high": values[-1]}
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high}
