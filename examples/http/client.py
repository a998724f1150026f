"""A client of Troupe's API: begins a workflow, and stays until it has ended.

    python3 client.py http://127.0.0.1:30080 flow.yaml '{"size": 10}'
"""
import json
import sys
import urllib.request

url, path, inputs = sys.argv[1:]
base = f"{url}/api/troupe/v1/executions"
asked = {"definition": open(path).read(), "input": json.loads(inputs)}
request = urllib.request.Request(base, json.dumps(asked).encode(), {
    "content-type": "application/json", "idempotency-key": f"client of {path} {inputs}"})
name = json.load(urllib.request.urlopen(request))["execution"]
stream = urllib.request.urlopen(urllib.request.Request(
    f"{base}/default/development/{name}", headers={"accept": "text/event-stream"}))
for line in stream:
    if line.startswith(b"data: "):
        now = json.loads(line[6:])
        print(name, now["phase"], flush=True)
        if now["ended_at"]:
            sys.exit(now["phase"] != "succeeded")
