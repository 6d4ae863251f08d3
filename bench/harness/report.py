"""Tables, plots and goals from what was measured; and the page they stand on."""

import json
import os
import platform
from pathlib import Path

from . import peers
from .cases import FIGURES
from .measure import middle
from .plot import bars, number

DOCS = peers.ROOT / "docs"
PAGE = DOCS / "performance.md"
PLOTS = DOCS / "performance"
RESULTS = PLOTS / "results.json"
TEMPLATE = peers.ROOT / "bench" / "performance.md"
GOALS = peers.ROOT / "bench" / "goals.json"
#: A smaller difference is none.
SAME = 1.3
#: Load average for each core from which on others use the machine too.
BUSY = 2
#: Figures that hardly change when others use the machine.
STEADY = ("cpu", "cpu_us", "rss", "grown", "times", "idle", "peak")


def raw(figure):
    """The key of a figure in what was measured."""
    return "cpu" if figure == "cpu_us" else figure


def record(case, measured):
    """What is kept of a case: enough for the page without measuring again."""
    kinds = {name: kind for name, kind, _ in case.who}
    rows = {}
    for name, runs in measured["runs"].items():
        figures = {figure: middle(runs, raw(figure)) for figure in case.figures}
        rows[name] = {"kind": kinds[name], "figures": {key: value for key, value in figures.items() if value}}
    keep = {key: measured[key] for key in ("failed", "rounds", "load")}
    return {"title": case.title, "figures": case.figures, "plot": case.plot, "rows": rows, **keep}


def load():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cases": {}}


def save(results):
    PLOTS.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def machine():
    cpu = next((line.split(":")[1].strip() for line in read("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = next((int(line.split()[1]) // 1_000_000 for line in read("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return f"{os.cpu_count()} cores ({cpu}), {memory} GB, {platform.system()} {'.'.join(platform.release().split('.')[:2])}"


def read(path):
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def shown(figure, value):
    label, divisor = FIGURES[figure]
    middle_value, low, high = (number(value[key] / divisor) for key in ("median", "low", "high"))
    return middle_value if low == high else f"{middle_value} [{low}–{high}]"


def table(name, case):
    """One case as Markdown, the plot before it."""
    lines = [f"![{case['title']}](performance/{name.replace('/', '-')}.svg)", ""]
    labels = [FIGURES[figure][0] for figure in case["figures"]]
    lines += ["| | " + " | ".join(labels) + " |", "|---|" + "---|" * len(labels)]
    for row, entry in case["rows"].items():
        figures = entry["figures"]
        cells = [shown(figure, figures[figure]) if figure in figures else "–" for figure in case["figures"]]
        word = f"**{row}**" if entry["kind"] == "ours" else row
        lines.append(f"| {word} | " + " | ".join(cells) + " |")
    low, high = case["load"]
    note = f"{case['rounds']} rounds; load average {low} before and {high} after."
    for row, why in case["failed"].items():
        note += f" Not measured: {row} ({why})."
    return "\n".join([*lines, "", note])


def draw(name, case):
    label, divisor = FIGURES[case["plot"]]
    rows = []
    for row, entry in case["rows"].items():
        value = entry["figures"].get(case["plot"])
        if value:
            rows.append((row, entry["kind"], {key: amount / divisor for key, amount in value.items()}))
    if rows:
        (PLOTS / f"{name.replace('/', '-')}.svg").write_text(bars(case["title"].replace("`", ""), label, rows))


def part(results, name):
    """All cases of a part."""
    cases = [(key, case) for key, case in results["cases"].items() if key.split("/")[0] == name]
    if not cases:
        return "*Not measured yet on this machine: `bench/run " + name + "`.*"
    texts = []
    for key, case in cases:
        draw(key, case)
        texts.append(f"### {case['title']}\n\n{table(key, case)}")
    return "\n\n".join(texts)


def ratio(results, goal):
    """Ours to the best of the others, or nothing if one of them was not measured."""
    case = results["cases"].get(goal["case"])
    figure = goal["figure"]
    value = lambda name: case["rows"].get(name, {}).get("figures", {}).get(figure, {}).get("median") if case else None
    ours = value(goal["ours"])
    if ours is None:
        return None
    if "against" not in goal:
        return ours / goal.get("unit", 1)
    others = [amount for amount in map(value, goal["against"]) if amount is not None]
    if not others:
        return None
    return ours / (min(others) if "at_most" in goal else max(others))


def verdicts(results):
    """Each goal with what came out and one of `met`, `same`, `busy`, `short`, `unknown`.

    `same` is beyond the bound by less than what can be told apart here. `busy` is beyond it while others used the machine:
    times then say who got a turn, and only CPU time and memory are judged.
    """
    out = []
    for goal in json.loads(GOALS.read_text()):
        measured = ratio(results, goal)
        if measured is None:
            out.append((goal, None, "unknown"))
            continue
        beyond = measured / goal["at_most"] if "at_most" in goal else goal["at_least"] / max(measured, 1e-9)
        verdict = "met" if beyond <= 1 else "same" if beyond < SAME else "short"
        is_busy = max(results["cases"][goal["case"]]["load"]) > BUSY * (os.cpu_count() or 1)
        if verdict == "short" and is_busy and goal["figure"] not in STEADY:
            verdict = "busy"
        out.append((goal, measured, verdict))
    return out


WORDS = {"met": "met", "same": "within what can be told apart", "busy": "beyond the bound, on a busy machine", "short": "**falls short**", "unknown": "not measured"}


def bound(goal):
    return f"at most {goal['at_most']:g}" if "at_most" in goal else f"at least {goal['at_least']:g}"


def goals(results):
    lines = ["| # | goal | wanted | measured | |", "|---|---|---|---|---|"]
    reasons, counts = {}, {}
    for goal, measured, verdict in verdicts(results):
        came = "–" if measured is None else number(measured)
        lines.append(f"| {goal['number']} | {goal['what']} | {bound(goal)} | {came} | {WORDS[verdict]} |")
        counts[verdict] = counts.get(verdict, 0) + 1
        if verdict == "short":
            # One reason may be that of several goals.
            reasons.setdefault(goal.get("shortfall", "not explained yet"), []).append(f"{goal['number']}, {goal['what']}")
    several = {"short": "fall short"}
    word = lambda verdict: several[verdict] if verdict in several and counts[verdict] > 1 else WORDS[verdict].strip("*")
    told = ", ".join(f"{counts[verdict]} {word(verdict)}" for verdict in WORDS if verdict in counts)
    notes = [f"- {'; '.join(goals)}: {reason}" for reason, goals in reasons.items()]
    why = ["", "What falls short, and why:", "", *notes] if notes else []
    return "\n".join([*lines, "", f"In all: {told}.", *why])


def facts(results):
    versions = ", ".join(f"{name} {version}" for name, version in results.get("versions", {}).items())
    absent = {**peers.ABSENT, **results.get("missing", {})}
    lines = [
        f"- Taken {results.get('date', 'never')} on {results.get('machine', '?')}.",
        f"- Switchboard: profile {results.get('ours', {}).get('profile', '?')}, {results.get('ours', {}).get('megabytes', '?')} MB.",
        f"- Beside it: {versions}.",
        "- Not there: " + "; ".join(f"{name} ({why})" for name, why in absent.items()) + ".",
    ]
    return "\n".join(lines)


def write(results):
    """The page: the text of the template, with tables in the place of its marks."""
    PLOTS.mkdir(parents=True, exist_ok=True)
    text = TEMPLATE.read_text()
    for line in text.splitlines():
        if line.startswith("<!-- ") and line.endswith(" -->"):
            name = line.removeprefix("<!-- ").removesuffix(" -->").strip()
            made = {"facts": facts, "goals": goals}.get(name, lambda all_of_it: part(all_of_it, name))(results)
            text = text.replace(line, made)
    PAGE.write_text(text)
