"""Takes the turns of a benchmark: ours and its yardsticks in one run, several rounds, medians.

A machine is noisy and changes its speed within minutes, so only figures taken beside each other can
be compared. A round runs every program at every size once; each round begins with another program,
so that none always has the cold or the busy moment. Results are held per program and figure until
all rounds are done; then ours are printed to stdout as JSON lines with the yardsticks' medians in
them, and the yardsticks in detail to stderr. `run` beside this file is what a person calls.

What our program prints: a JSON object per line and figure, with the keys of OUR_KEYS and, where
there are some, `floor` and `goal`, which are printed again. What a yardstick prints: a line per figure, FIGURE VALUE UNIT WORKERS RSS_BYTES.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
from collections import namedtuple

OUR_KEYS = ("figure", "n", "value", "unit", "workers", "durability", "rss_bytes")
BOUND_KEYS = ("floor", "goal")
SIZES = 3
DECADE = 10
PROGRAM_SECONDS_MAX = 600

# A setting of a peer, as its table's row says. `command` has places for what changes by turn.
Setting = namedtuple("Setting", "peer setting package workloads command")
# What identifies a series of values of ours; the values of all rounds have one median.
OurKey = namedtuple("OurKey", "size figure n unit workers durability")
PeerKey = namedtuple("PeerKey", "size figure peer setting unit")
Reading = namedtuple("Reading", "value rss_bytes")


class BenchError(Exception):
    """A run that cannot go on; the text is for whoever started it."""


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def sizes_below(largest):
    """Three sizes a decade apart, ascending; fewer where a decade below would be no whole unit."""
    sizes = [largest // DECADE**step for step in range(SIZES)]
    return sorted(size for size in set(sizes) if size > 0)


def read_settings(path):
    """The rows of a table of yardsticks; a row that is not one is named with its line."""
    settings = []
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            fields = [field.strip() for field in line.split("|")]
            if len(fields) != len(Setting._fields) or not all(fields):
                raise BenchError(f"{path}:{number}: expected {' | '.join(Setting._fields)}")
            settings.append(Setting(*fields)._replace(workloads=fields[3].split(",")))
    return settings


def run_program(command):
    """Runs a program to its end and returns its lines; what it says on stderr passes through."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False,
            timeout=PROGRAM_SECONDS_MAX)
    except FileNotFoundError as error:
        raise BenchError(f"there is no program {command[0]}") from error
    except PermissionError as error:
        raise BenchError(f"{command[0]} cannot be executed") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(
            f"`{' '.join(command)}` did not end within {PROGRAM_SECONDS_MAX} s") from error
    if done.returncode != 0:
        raise BenchError(f"`{' '.join(command)}` ended with status {done.returncode}")
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if not lines:
        raise BenchError(f"`{' '.join(command)}` printed no figure")
    return lines


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def read_our_line(line, size):
    """One line of our program as (OurKey, Reading)."""
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise BenchError(f"our program printed what is not JSON: {line}") from error
    missing = [key for key in OUR_KEYS if not isinstance(entry, dict) or key not in entry]
    if missing:
        raise BenchError(f"our program's line lacks {', '.join(missing)}: {line}")
    if not is_number(entry["value"]) or not is_number(entry["rss_bytes"]):
        raise BenchError(f"value and rss_bytes are numbers: {line}")
    key = OurKey(size, *(entry[name] for name in OurKey._fields[1:]))
    return key, Reading(entry["value"], entry["rss_bytes"])


def read_peer_line(line, size, setting):
    """One line of a yardstick as (PeerKey, Reading)."""
    try:
        figure, value, unit, _workers, rss_bytes = line.split()
        reading = Reading(float(value), int(rss_bytes))
    except ValueError as error:
        raise BenchError(f"{setting.peer} printed what is no figure: {line}") from error
    return PeerKey(size, figure, setting.peer, setting.setting, unit), reading


class Turns:
    """All programs of one benchmark, and the readings of all rounds so far."""

    def __init__(self, arguments, settings):
        self.arguments = arguments
        self.settings = settings
        self.ours = {}
        self.bounds = {}  # by figure: its floor and its goal
        self.peers = {}

    def run_ours(self, size):
        command = [self.arguments.program, "--size", str(size),
                   "--milliseconds", str(self.arguments.milliseconds)]
        for line in run_program(command):
            key, reading = read_our_line(line, size)
            self.ours.setdefault(key, []).append(reading)
            entry = json.loads(line)
            self.bounds[key.figure] = {name: entry[name] for name in BOUND_KEYS if name in entry}

    def run_peer(self, setting, size):
        for workload in setting.workloads:
            places = {"build": self.arguments.yardsticks_build, "workload": workload,
                      "bench": pathlib.Path(__file__).resolve().parent,
                      "size": size, "milliseconds": self.arguments.milliseconds}
            command = [word.format(**places) for word in setting.command.split()]
            for line in run_program(command):
                key, reading = read_peer_line(line, size, setting)
                self.peers.setdefault(key, []).append(reading)

    def run_round(self, number):
        """Every program once at every size, beginning with another one in each round."""
        programs = [None] + self.settings
        first = number % len(programs)
        for size in sizes_below(self.arguments.size):
            for setting in programs[first:] + programs[:first]:
                if setting is None:
                    self.run_ours(size)
                else:
                    self.run_peer(setting, size)

    def run_rounds(self):
        """As many rounds as are wanted and the time allows, at least one."""
        started = time.monotonic()
        longest = 0.0
        for number in range(self.arguments.rounds):
            round_started = time.monotonic()
            if number > 0 and round_started - started + longest > self.arguments.seconds:
                say(f"{number} of {self.arguments.rounds} rounds fit into the time")
                return
            self.run_round(number)
            longest = max(longest, time.monotonic() - round_started)
            say(f"round {number + 1} of {self.arguments.rounds}: "
                f"{time.monotonic() - round_started:.1f} s")


def rounded(value):
    """Four digits are more than any of this repeats within."""
    return int(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")


def median_of(readings):
    return statistics.median(reading.value for reading in readings)


def best_of_peers(peers, size, figure, unit):
    """The best median among each peer's settings: the lowest, of rates the highest."""
    better = max if unit == "1/s" else min
    best = {}
    for key, readings in peers.items():
        if (key.size, key.figure, key.unit) == (size, figure, unit):
            median = median_of(readings)
            best[key.peer] = better(median, best.get(key.peer, median))
    return {peer: rounded(value) for peer, value in best.items()}


def print_ours(turns, out):
    """The result: a JSON object per line and figure, smaller sizes first."""
    for key, readings in sorted(turns.ours.items(), key=lambda item: item[0].size):
        entry = {
            "bench": turns.arguments.benchmark,
            "figure": key.figure,
            "n": key.n,
            "value": rounded(median_of(readings)),
            "unit": key.unit,
            "workers": key.workers,
            "durability": key.durability,
            "rss_bytes": max(reading.rss_bytes for reading in readings),
            "yardstick": best_of_peers(turns.peers, key.size, key.figure, key.unit),
            "commit": turns.arguments.commit,
            **turns.bounds[key.figure],
        }
        print(json.dumps(entry, separators=(",", ":")), file=out)


def print_peers(turns, out):
    """The yardsticks in detail, as rows of a table in the form that README.md keeps."""
    if not turns.peers:
        return
    print("\n| size | figure | yardstick | setting | median | lowest to highest | peak MB |\n"
          "| --- | --- | --- | --- | --- | --- | --- |", file=out)
    for key in sorted(turns.peers):
        readings = turns.peers[key]
        values = [reading.value for reading in readings]
        peak = max(reading.rss_bytes for reading in readings) / 1e6
        print(f"| {key.size} | {key.figure} | {key.peer} | {key.setting} "
              f"| {rounded(median_of(readings))} {key.unit} "
              f"| {rounded(min(values))} to {rounded(max(values))} | {peak:.0f} |", file=out)


def parse_arguments(words):
    parser = argparse.ArgumentParser(description="Called by tests/bench/run.")
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--yardsticks", help="table of the peers' settings")
    parser.add_argument("--yardsticks-build", help="folder of the peers' programs")
    return parser.parse_args(words)


def main():
    arguments = parse_arguments(sys.argv[1:])
    try:
        settings = read_settings(arguments.yardsticks) if arguments.yardsticks else []
        turns = Turns(arguments, settings)
        turns.run_rounds()
    except BenchError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    print_peers(turns, sys.stderr)
    print_ours(turns, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
