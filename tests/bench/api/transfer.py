"""How fast curl puts a file to a URL, or gets one: for the port that is measured and its yardstick.
"""

import base64
import hashlib
import subprocess

MB = 1e6
GIB = 1 << 30
ROUNDS = 5  # of which the median counts


def size_of(n):
    """Of the file, for a benchmark of size `n`: a GiB at a million."""
    return n * GIB // 1000000


def digest_of(size):
    """The MD5 of such a file, as flytekit gives it."""
    digest, piece = hashlib.md5(), bytes(1 << 20)
    for at in range(0, size, len(piece)):
        digest.update(piece[:size - at])
    return base64.b64encode(digest.digest()).decode()


def transfer(url, size, folder, is_upload):
    """In MB/s; the file holds nothing but zeros, and takes no room."""
    file = folder / "large"
    with file.open("wb") as made:
        made.truncate(size)
    words = ["-T", file, "-H", "Expect:"] if is_upload else []
    done = subprocess.run(["curl", "-s", "-S", "--fail", "-o", "/dev/null", "-w",
                           "%{time_total} %{size_upload} %{size_download}", *words, url],
                          check=True, capture_output=True, text=True)
    seconds, sent, got = done.stdout.split()
    if int(sent if is_upload else got) != size:
        raise RuntimeError(f"{url}: {done.stdout}")
    return size / MB / float(seconds)
