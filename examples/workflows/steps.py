"""The tasks of the example workflows.

A process task finds its inputs as JSON in the file $TROUPE_INPUTS and writes its outputs as JSON to
$TROUPE_OUTPUTS. It fails with an exit status, or with {"code", "message", "recoverable"} in
$TROUPE_ERROR.
"""
import json
import os
import sys


def greet(name):
    return {"greeting": f"Hello, {name}!"}


def to_list(size):
    return {"items": list(range(size))}


def square(a):
    return {"b": a * a}


def total(b):
    return {"sum": sum(b)}


def halve(numbers):
    if len(numbers) <= 2:
        return {"sum": sum(numbers)}
    middle = len(numbers) // 2
    return {
        "nodes": {
            "left": {"dynamic": "halve", "with": {"numbers": numbers[:middle]}},
            "right": {"dynamic": "halve", "with": {"numbers": numbers[middle:]}},
            "both": {"task": "total", "with": {"b": ["$left.sum", "$right.sum"]}},
        },
        "outputs": {"sum": "$both.sum"},
    }


def discount(amount, percent):
    return {"amount": amount * (100 - percent) // 100}


def report(amount):
    return {"text": f"to pay: {amount}"}


def word_count(text):
    return {"count": len(text.split())}


def largest(counts):
    return {"count": max(counts)}


def flaky(failures):
    attempt = int(os.environ["TROUPE_ATTEMPT"])
    if attempt < failures:
        return fail("Busy", f"attempt {attempt} found the service busy")
    return {"attempts": attempt + 1}


def prime(n, verbose):
    if verbose:
        print(f"looking at {n}")
    return {"is_prime": n > 1 and all(n % i for i in range(2, int(n**0.5) + 1))}


def half(n):
    if n % 2:
        return fail("Odd", f"{n} has no half", recoverable=False)
    return {"half": n // 2}


def notify(text, err):
    print(text if err is None else f"{text}: {err['node']}: {err['message']}")
    return {}


def fail_if(fail, halves, extra):
    if fail:
        sys.exit("asked to fail")
    return {"count": sum(one is not None for one in [*halves, extra])}


def split(text, parts):
    words = text.split()
    names = [f"part{i}.txt" for i in range(parts)]
    for i, name in enumerate(names):
        with open(name, "w") as file:
            file.write(" ".join(words[i::parts]))
    return {"parts": names}


def upper(part):
    with open(part) as source, open("upper.txt", "w") as target:
        target.write(source.read().upper())
    return {"part": "upper.txt"}


def join(parts):
    os.mkdir("all")
    with open("all/text.txt", "w") as target:
        for part in parts:
            with open(part) as source:
                target.write(source.read() + "\n")
    return {"text": "all/text.txt", "folder": "all"}


def say(text, version):
    print(f"{version} is {text}")
    return {"version": version}


def day_of(day, title):
    return {"text": f"{title} report of {day[:10]}"}


def grid(rates, depths):
    points = [(rate, depth) for rate in rates for depth in depths]
    return {"rates": [rate for rate, _ in points], "depths": [depth for _, depth in points]}


def train(rate, depth):
    return {"trial": {"rate": rate, "depth": depth, "loss": (rate - 0.2) ** 2 + abs(depth - 4)}}


def best(trials):
    return {"best": min(trials, key=lambda trial: trial["loss"])}


def customers(count, unknown):
    step = count // unknown
    return {"ids": [-i if i % step == 0 else i for i in range(1, count + 1)]}


def count_calls(answers, errors):
    failed = [error for error in errors if error is not None]
    return {"answered": len(answers) - answers.count(None), "failed": len(failed),
            "first": failed[0]}


def extract(day):
    if os.environ["PASSWORD"] != "open sesame":
        return fail("Denied", "the source knows another password", recoverable=False)
    with open("orders.csv", "w") as file:
        file.write(f"{day[:10]},book,3\n{day[:10]},lamp,x\n{day[:10]},pen,12\n")
    return {"orders": "orders.csv"}


def transform(orders):
    with open(orders) as source:
        rows = [line.split(",") for line in source.read().splitlines()]
    good = [row for row in rows if row[2].isdigit()]
    with open("clean.csv", "w") as target:
        target.writelines(",".join(row) + "\n" for row in good)
    return {"orders": "clean.csv", "dropped": len(rows) - len(good)}


def load(orders, table):
    with open(os.environ["CERTIFICATE"]) as certificate, open(orders) as source:
        print(f"{table}: signed by {certificate.read().strip()}")
        return {"rows": len(source.readlines())}


def drop(table, err):
    print(f"{table} is dropped after {'a success' if err is None else err['message']}")
    return {}


def fail(code, message, recoverable=True):
    with open(os.environ["TROUPE_ERROR"], "w") as file:
        json.dump({"code": code, "message": message, "recoverable": recoverable}, file)


if __name__ == "__main__":
    with open(os.environ["TROUPE_INPUTS"]) as inputs_file:
        inputs = json.load(inputs_file)
    outputs = globals()[sys.argv[1]](**inputs)
    if outputs is not None:
        with open(os.environ["TROUPE_OUTPUTS"], "w") as outputs_file:
            json.dump(outputs, outputs_file)
