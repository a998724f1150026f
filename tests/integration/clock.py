"""A wall clock that a test sets. libfaketime answers for the wall clock alone, by a file that the
test writes; it is the clock of the program under test, not of this machine."""

import pathlib
import unittest

from program import IS_SANITIZED

LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@unittest.skipIf(IS_SANITIZED, "sanitizers want to be the first library")
@unittest.skipUnless(LIBRARIES, "there is no libfaketime")
class Clock:
    def setUp(self):
        super().setUp()
        self.set_clock(0)

    def environment(self):
        return super().environment() | {
            "LD_PRELOAD": str(LIBRARIES[-1]), "FAKETIME_TIMESTAMP_FILE": str(self.folder / "clock"),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set_clock(self, ahead_s):
        """From now on the wall clock is so many seconds ahead of the machine's."""
        self.write("clock.new", f"{ahead_s:+d}\n").rename(self.folder / "clock")
