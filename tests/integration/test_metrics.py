#!/usr/bin/env python3
"""`troupe metrics --prometheus`: what is counted is what has happened; the page, the dashboard and
the alerts name what is there, and promtool takes all of it."""

import json
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import yaml

from program import LIMIT_S, ROOT, ProgramTest, wait_until

PAGE = ROOT / "deploy/METRICS.md"
ALERTS = ROOT / "deploy/package/alerts.yaml"
DASHBOARD = ROOT / "deploy/package/dashboard.json"

SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"(?:,|$)')
NAME = re.compile(r"\btroupe_[a-z_]+\b")
HISTOGRAM_ENDS = ("_bucket", "_sum", "_count")

# A map, one element of which fails at first; a task from the cache; one that fails for good.
WORK = """troupe: 1
tasks:
  flaky:
    inputs: {n: int}
    outputs: {n: int}
    retries: 1
    run: [sh, -c, '[ {{.inputs.n}} != 2 -o -e FOLDER/tried ] || { touch FOLDER/tried; exit 1; }; \
echo "{\\"n\\": {{.inputs.n}}}" >"$TROUPE_OUTPUTS"']
  cached:
    inputs: {n: int}
    outputs: {n: int}
    cache: {version: "1"}
    run: [sh, -c, 'echo "{\\"n\\": {{.inputs.n}}}" >"$TROUPE_OUTPUTS"']
  wrong: {run: [sh, -c, 'exit 3']}
  held: {run: [sh, -c, 'touch FOLDER/begun; while [ ! -e FOLDER/go ]; do sleep 0.01; done']}
workflows:
  good:
    nodes:
      all: {map: flaky, with: {n: [1, 2, 3]}}
      once: {task: cached, with: {n: 5}}
  bad: {nodes: {it: {task: wrong}}}
  waits: {nodes: {it: {task: held}, other: {task: held, after: [it]}}}
"""

# For each alert: series that make it fire, and series that do not.
MINUTES = 180
ALERT_SERIES = {
    "TroupeEngineDown": ({}, {"troupe_build_info": "1+0x{n}"}),
    "TroupeCannotWrite": ({"troupe_journal_waiting": "1+0x{n}"},
                          {"troupe_journal_waiting": "0+0x{n}"}),
    "TroupeCommitHangs": ({"troupe_journal_commit_age_seconds": "31+60x{n}"},
                          {"troupe_journal_commit_age_seconds": "29+0x{n}"}),
    "TroupeCommitsSlow": (
        {'troupe_journal_commit_seconds_bucket{le="1"}': "0+0x{n}",
         'troupe_journal_commit_seconds_bucket{le="+Inf"}': "0+60x{n}"},
        {'troupe_journal_commit_seconds_bucket{le="0.01"}': "0+60x{n}",
         'troupe_journal_commit_seconds_bucket{le="+Inf"}': "0+60x{n}"}),
    "TroupeDiskFillsUp": ({"troupe_store_free_bytes": "100000000000-300000000x{n}"},
                          {"troupe_store_free_bytes": "100000000000+0x{n}"}),
    "TroupeMemoryNearLimit": ({"troupe_memory_needed_bytes": "91+0x{n}",
                               "troupe_memory_limit_bytes": "100+0x{n}"},
                              {"troupe_memory_needed_bytes": "91+0x{n}",
                               "troupe_memory_limit_bytes": "0+0x{n}"}),
    "TroupeFilesNearLimit": ({"troupe_open_files": "95+0x{n}",
                              "troupe_open_files_limit": "100+0x{n}"},
                             {"troupe_open_files": "5+0x{n}",
                              "troupe_open_files_limit": "100+0x{n}"}),
    "TroupeActorQuarantined": ({"troupe_quarantines_total": "0x150 1+0x30"},
                               {"troupe_quarantines_total": "1+0x{n}"}),
    "TroupeExecutionsFail": (
        {'troupe_executions_ended_total{workflow="w",phase="failed"}': "0+1x{n}",
         'troupe_executions_ended_total{workflow="w",phase="succeeded"}': "0+0x{n}"},
        {'troupe_executions_ended_total{workflow="w",phase="failed"}': "0+1x{n}",
         'troupe_executions_ended_total{workflow="w",phase="succeeded"}': "0+5x{n}"}),
    "TroupeAttemptsWaitLong": (
        {'troupe_attempt_wait_seconds_bucket{le="3600"}': "0+0x{n}",
         'troupe_attempt_wait_seconds_bucket{le="+Inf"}': "0+1x{n}"},
        {'troupe_attempt_wait_seconds_bucket{le="60"}': "0+1x{n}",
         'troupe_attempt_wait_seconds_bucket{le="+Inf"}': "0+1x{n}"}),
    "TroupeScheduleMissed": ({'troupe_schedule_times_total{outcome="missed"}': "0+1x{n}"},
                             {'troupe_schedule_times_total{outcome="started"}': "0+1x{n}"}),
    "TroupeScheduleLate": (
        {'troupe_schedule_delay_seconds_bucket{le="60"}': "0+0x{n}",
         'troupe_schedule_delay_seconds_bucket{le="300"}': "0+1x{n}",
         'troupe_schedule_delay_seconds_bucket{le="+Inf"}': "0+1x{n}"},
        {'troupe_schedule_delay_seconds_bucket{le="60"}': "0+1x{n}",
         'troupe_schedule_delay_seconds_bucket{le="+Inf"}': "0+1x{n}"}),
    "TroupeBackendNotCalled": ({'troupe_backend_circuit{state="closed"}': "0+0x{n}"},
                               {'troupe_backend_circuit{state="closed"}': "1+0x{n}",
                                'troupe_backend_circuit{state="open"}': "0+0x{n}"}),
    "TroupeUnknownOutcomes": ({"troupe_backend_unknown_outcomes_total": "0+1x{n}"},
                              {"troupe_backend_unknown_outcomes_total": "7+0x{n}"}),
    "TroupeJobsUnended": ({"troupe_backend_jobs_unended": "1+0x{n}"},
                          {"troupe_backend_jobs_unended": "0+0x{n}"}),
}


def base(name):
    """The family of a sample's name."""
    end = next((end for end in HISTOGRAM_ENDS if name.endswith(end)), "")
    return name.removesuffix(end)


class Samples:
    """What an engine has printed: values by name and labels, and the type of each family."""

    def __init__(self, text):
        self.text = text
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        self.values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, labels, value = SAMPLE.match(line).groups()
                self.values[name, tuple(LABEL.findall(labels or ""))] = float(value)

    def value(self, name, **labels):
        """The sum of the samples that have these labels."""
        wanted = set(labels.items())
        found = [value for (other, items), value in self.values.items()
                 if other == name and wanted <= set(items)]
        return sum(found) if found else None

    def families(self):
        """Names as they stand in pages and queries."""
        return set(self.types)


class MetricsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", WORK.replace("FOLDER", str(self.folder)))

    def serve(self, *words):
        engine = self.start("serve", *words)
        engine.wait_for("serves")
        return engine

    def samples(self):
        return Samples(self.troupe("metrics", "--prometheus")[0])

    def promtool(self, *words, stdin=None, status=0):
        done = subprocess.run(["promtool", *map(str, words)], input=stdin, text=True,
                              capture_output=True, timeout=LIMIT_S, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr


class CountsTest(MetricsTest):
    def test_what_has_happened_is_counted(self):
        self.serve()
        self.troupe("submit", "--wait", "flow.yaml", "good")
        self.troupe("submit", "--wait", "flow.yaml", "good")
        self.troupe("submit", "--wait", "flow.yaml", "bad", status=1)
        shown = self.samples()
        good = {"project": "default", "domain": "development", "workflow": "good"}
        bad = good | {"workflow": "bad"}
        ended = "troupe_executions_ended_total"
        self.assertEqual(shown.value("troupe_executions_started_total", **good), 2)
        self.assertEqual(shown.value(ended, phase="succeeded", **good), 2)
        self.assertIsNone(shown.value(ended, phase="failed", **good))
        self.assertEqual(shown.value(ended, phase="failed", **bad), 1)
        self.assertEqual(shown.value("troupe_execution_duration_seconds_count", **good), 2)
        # Three elements twice and a retry, and the one task that was not cached.
        ended = "troupe_attempts_ended_total"
        self.assertEqual(shown.value("troupe_attempts_started_total", **good), 8)
        self.assertEqual(shown.value(ended, phase="succeeded", **good), 7)
        self.assertEqual(shown.value(ended, phase="failed_may_be_retried", **good), 1)
        self.assertEqual(shown.value(ended, phase="failed", **bad), 1)
        for time in ("wait", "run"):
            name = f"troupe_attempt_{time}_seconds_count"
            self.assertEqual(shown.value(name), 9, time)
        self.assertEqual(shown.value("troupe_cache_results_total", status="populated"), 1)
        self.assertEqual(shown.value("troupe_cache_results_total", status="hit"), 1)
        self.assertIsNone(shown.value("troupe_executions"))
        self.assertEqual(shown.value("troupe_attempts"), 0)
        self.assertGreater(shown.value("troupe_journal_commit_seconds_count"), 0)
        self.assertGreater(shown.value("troupe_commit_log_bytes_limit"), 0)

    def test_what_is_under_way_is_shown_over_a_restart(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            engine = self.serve("--jobs", "1")
            if number == signal.SIGKILL:
                for name in ("first", "second"):
                    self.troupe("submit", "flow.yaml", "waits", "--name", name)
                self.await_file("begun")
            self.expect_under_way()
            engine.signal(number)
            engine.end()
        self.serve("--jobs", "1")
        self.expect_under_way()
        self.troupe("pause", "second")
        self.assertEqual(self.samples().value("troupe_executions_paused"), 1)
        self.start("resume", "second")
        self.write("go", "")
        wait_until(lambda: self.samples().value("troupe_executions") is None, "all have ended")
        shown = self.samples()
        self.assertEqual(shown.value("troupe_executions_ended_total", workflow="waits"), 2)
        self.assertEqual(shown.value("troupe_attempts"), 0)
        self.assertEqual(shown.value("troupe_processes_running"), 0)
        # They began in an earlier engine.
        self.assertIsNone(shown.value("troupe_executions_started_total", workflow="waits"))

    def expect_under_way(self):
        def is_seen():
            shown = self.samples()
            return (shown.value("troupe_executions", workflow="waits", phase="running") == 2
                    and shown.value("troupe_attempts", phase="running") == 1
                    and shown.value("troupe_attempts", phase="queued") == 1
                    and shown.value("troupe_process_slots") == 1
                    and shown.value("troupe_processes_running") == 1
                    and shown.value("troupe_processes_waiting") == 1)
        wait_until(is_seen, "one runs and one waits")

    def test_many_workflows_share_one_set_of_samples(self):
        self.serve()
        count = 70
        lines = "".join(f"  w{i}: {{nodes: {{it: {{sleep: 1ms}}}}}}\n" for i in range(count))
        self.write("many.yaml", f"troupe: 1\nworkflows:\n{lines}")
        for i in range(count):
            self.troupe("submit", "--wait", "-q", "many.yaml", f"w{i}")
        shown = self.samples()
        name = "troupe_executions_ended_total"
        workflows = {dict(labels)["workflow"] for other, labels in shown.values if other == name}
        self.assertEqual(len(workflows), 65)
        self.assertEqual(shown.value(name, project="other", workflow="other"), count - 64)
        self.assertEqual(shown.value(name), count)

    def test_the_command(self):
        self.store.mkdir()
        _, stderr = self.troupe("metrics", "--prometheus", status=4)
        self.assertIn("no engine runs on", stderr)
        self.serve()
        _, stderr = self.troupe("metrics", "--prometheus", "-o", "json", status=2)
        self.assertIn("--prometheus is a form of its own: leave -o out", stderr)


class PageTest(MetricsTest):
    """Page, dashboard and alerts against what an engine with an endpoint prints."""

    def shown(self):
        self.store.mkdir(mode=0o700)
        (self.store / "settings.yaml").write_text(
            "plugins: {armada: {endpoint: 'http://127.0.0.1:9', queue: q, image: i}}\n")
        self.serve()
        self.troupe("submit", "--wait", "flow.yaml", "good")
        return self.samples()

    def test_each_metric_stands_on_the_page_and_is_there(self):
        named = {base(name) for name in NAME.findall(PAGE.read_text())
                 if not name.endswith("_")}
        self.assertEqual(named, self.shown().families())

    def test_promtool_takes_the_text(self):
        self.promtool("check", "metrics", stdin=self.shown().text)
        # And it would see what is wrong.
        self.promtool("check", "metrics", stdin="troupe_x{ 1\n", status=1)

    def test_dashboard_and_alerts_name_what_is_there(self):
        families = self.shown().families()
        for path in (ALERTS, DASHBOARD):
            named = {base(name) for name in NAME.findall(path.read_text())}
            self.assertLessEqual(named, families, path)
            self.assertGreater(len(named), 10)


class RulesTest(MetricsTest):
    def setUp(self):
        super().setUp()
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed")

    def test_promtool_takes_the_alerts(self):
        self.assertIn(f"{len(ALERT_SERIES)} rules found", self.promtool("check", "rules", ALERTS))

    def test_promtool_takes_each_query_of_the_dashboard(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
        self.assertGreater(len(queries), 20)
        rules = [{"record": f"query_{i}", "expr": re.sub(r"\$\w+", "x", query)}
                 for i, query in enumerate(queries)]
        path = self.write("queries.yaml", json.dumps({"groups": [{"name": "q", "rules": rules}]}))
        self.promtool("check", "rules", path)

    def test_each_alert_fires_when_it_should(self):
        names = [rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"]
                 for rule in group["rules"]]
        self.assertEqual(sorted(names), sorted(ALERT_SERIES))
        for name in names:
            for series, fires in zip(ALERT_SERIES[name], (True, False)):
                with self.subTest(name=name, fires=fires):
                    self.check_alert(name, series, fires)

    def check_alert(self, name, series, fires):
        """promtool compares all that fires, so the rules are cut down to the one."""
        groups = yaml.safe_load(ALERTS.read_text())["groups"]
        rules = [rule for group in groups for rule in group["rules"] if rule["alert"] == name]
        rules[0].pop("annotations")
        rules[0].pop("labels")
        inputs = [{"series": key, "values": value.format(n=MINUTES)}
                  for key, value in series.items()]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            def write(file, content):
                with open(f"{folder}/{file}", "w", encoding="utf-8") as out:
                    json.dump(content, out)
                return f"{folder}/{file}"
            rule_file = write("rules.yaml", {"groups": [{"name": "one", "rules": rules}]})
            expression = {"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or '
                                  "vector(0)", "eval_time": f"{MINUTES - 5}m",
                          "exp_samples": [{"labels": "{}", "value": 1 if fires else 0}]}
            test = write("test.yaml", {
                "rule_files": [rule_file], "evaluation_interval": "1m",
                "tests": [{"interval": "1m", "input_series": inputs,
                           "promql_expr_test": [expression]}]})
            self.promtool("test", "rules", test)


if __name__ == "__main__":
    unittest.main()
