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
