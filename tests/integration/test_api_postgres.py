#!/usr/bin/env python3
"""A store in PostgreSQL behind `troupe serve --http` whose server is away, or can only be read: who
calls is told so in words and in time, and all goes on when it is back.
"""

import unittest

import postgres
from flyte_clients import ClientTest
from program import LIMIT_S, wait_until
from test_api_executions import FLOWS, WHERE, plan_id


class ServerTest(postgres.PostgresTest, ClientTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir(mode=0o700)
        (self.store / "database").write_text(self.locator() + "\n")
        (self.store / "database").chmod(0o600)
        self.troupe("store", "init", "-q", str(self.store))
        self.package(FLOWS)
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        self.assertEqual(self.create("one"), ["OK", ""])
        wait_until(lambda: self.phase("one") == "SUCCEEDED", "it has ended")

    def create(self, name):
        return self.ask("outcomes", calls=[["CreateExecution", dict(WHERE, name=name, spec={
            "launch_plan": plan_id("flows.empty")})]])[0]

    def get(self):
        return self.ask("outcomes", calls=[["GetExecution", {"id": dict(WHERE, name="one")}]])[0]

    def phase(self, name):
        answer, = self.ask("answers", calls=[["GetExecution", {"id": dict(WHERE, name=name)}]])
        return answer["closure"]["phase"]

    def goes_on(self, name):
        wait_until(lambda: self.create(name)[0] in ("OK", "ALREADY_EXISTS"), "it goes on",
                   4 * LIMIT_S)
        wait_until(lambda: self.phase(name) == "SUCCEEDED", "it has ended")

    def check_refused(self, outcome, *words):
        code, said = outcome
        self.assertEqual(code, "UNAVAILABLE", said)
        for each in words:
            self.assertIn(each, said)

    def test_a_server_that_is_away_and_recovers(self):
        self.server.kill()
        self.check_refused(self.get(), "the store cannot be read now: ")
        self.check_refused(self.create("two"))
        self.server.start()  # it recovers first
        self.goes_on("three")

    def test_a_server_that_can_only_be_read(self):
        """It has become a standby: what is there is told, and nothing is begun."""
        self.server.halt()
        signal = self.server.data / "standby.signal"
        signal.touch()
        self.server.start()
        wait_until(lambda: self.get()[0] == "OK", "it is read", 4 * LIMIT_S)
        self.check_refused(self.create("two"))
        self.server.run("SELECT pg_promote()")
        self.goes_on("three")


if __name__ == "__main__":
    unittest.main()
