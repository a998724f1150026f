"""The containers of a pod as processes, as a kubelet runs them.

Init containers run one after the other, and the first that fails fails the pod. Those among them
that restart always are native sidecars: they are begun and left running, and told to end when all
other containers have. The rest runs at once; when the last has ended, the pod has, and failed if one
of them did. A container's last words are the end of what it printed (FallbackToLogsOnError).
"""

import dataclasses

from states import now, status_of, terminated

WORDS_BYTES = 2048


@dataclasses.dataclass
class Run:
    id: str
    spec: dict
    is_sidecar: bool = False
    process: object = None
    code: int = None
    has_begun: bool = False


class Containers:
    def __init__(self, executor, pod_id, spec, environment_of, on_change, on_end):
        self.executor = executor
        self.environment_of = environment_of
        self.on_change = on_change
        self.on_end = on_end
        self.inits = [Run(f"{pod_id}-init-{container['name']}", container,
                          container.get("restartPolicy") == "Always")
                      for container in spec.get("initContainers") or []]
        self.mains = [Run(f"{pod_id}-{container['name']}", container)
                      for container in spec["containers"]]
        self.left = list(self.inits)
        self.is_over = False

    @property
    def runs(self):
        return self.inits + self.mains

    def run_of(self, name):
        return next(run for run in self.runs if run.spec["name"] == name)

    def begin(self):
        """The next init container; behind the last one all others."""
        while self.left:
            run = self.left.pop(0)
            self.start(run)
            if not run.is_sidecar:
                return
        for run in self.mains:
            self.start(run)

    def start(self, run):
        run.has_begun = True
        self.executor.start(run, run.spec, self.environment_of(run.spec), self.ended)

    def ended(self, run, code):
        run.code = code
        if self.is_over or run.is_sidecar and any(main.code is None for main in self.mains):
            return
        if run in self.inits and not run.is_sidecar:
            if code == 0:
                self.begin()
            else:
                self.finish("Failed")
        elif any(main.code is None for main in self.mains):
            self.on_change(self.statuses())
        elif any(init.is_sidecar and init.code is None for init in self.inits):
            self.ask_to_end()
        else:
            self.finish("Failed" if any(main.code for main in self.mains) else "Succeeded")

    def finish(self, phase):
        self.is_over = True
        self.on_end({"phase": phase, **self.statuses()})

    def ask_to_end(self):
        for run in self.runs:
            if run.process is not None:
                run.process.send_signal(15)

    def stop(self):
        self.is_over = True
        for run in self.runs:
            if run.process is not None:
                self.executor.stop(run)

    # What the status says.

    def state_of(self, run):
        if run.code is not None:
            reason = "Completed" if run.code == 0 else "Error"
            return terminated(run.code, reason, self.last_words(run) if run.code else "")
        if run.has_begun:
            return {"running": {"startedAt": now()}}
        return {"waiting": {"reason": "PodInitializing"}}

    def last_words(self, run):
        path = self.executor.log_path(run)
        policy = run.spec.get("terminationMessagePolicy", "File")
        text = path.read_bytes() if path.exists() and policy == "FallbackToLogsOnError" else b""
        return text[-WORDS_BYTES:].decode(errors="replace")

    def statuses(self):
        def of(runs):
            return [status_of(run.spec, self.state_of(run), run.code is None and run.has_begun)
                    for run in runs]
        inits = {"initContainerStatuses": of(self.inits)} if self.inits else {}
        return {**inits, "containerStatuses": of(self.mains)}
