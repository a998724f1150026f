"""The faults that can be switched on, as data (shared/switches.py)."""

import switches
from switches import Fault

# Places: `call` around any call, `submit` within a submission, `publish` as an event enters its
# stream, `stream` as a stream is read, `view` as the status of jobs is read.
FAULTS = {
    "latency": Fault("call", {"ms": 100}, "waits before the work"),
    "refused": Fault("call", {"code": "Unavailable",
                              "text": "upstream connect error or disconnect/reset before headers"},
                     "answers an error of this gRPC code with this text, and does no work"),
    "too_many": Fault("call", {"retry_after_s": None},
                      "answers 429, with Retry-After where it is given, and does no work"),
    "reset_request": Fault("call", {"bytes": 0},
                           "resets the connection after so many bytes of the body, does no work"),
    "lost_answer": Fault("call", {"how": "close"},
                         "does the work and closes without an answer; `half`: resets in the "
                         "middle of it; `hang`: keeps the connection and is silent"),
    "hang": Fault("call", {}, "never answers, and does no work"),
    "nonsense": Fault("call", {"what": "text"},
                      "does the work and answers `text` that is no JSON, `types` that are wrong, "
                      "an `empty` body, or a `huge` one of 64 MiB"),
    "dedup_off": Fault("submit", {}, "knows no client id: every item is a new job"),
    "dedup_hole_a": Fault("submit", {}, "jobs are published, their client ids are not kept"),
    "dedup_hole_b": Fault("submit", {"ms": 50},
                          "waits between looking client ids up and keeping them, so that two "
                          "requests at once both miss"),
    "dedup_hole_c": Fault("submit", {}, "looking client ids up fails, and is gone over"),
    "partial_submit": Fault("submit", {"share": 0.5},
                            "publishes a share of a request, keeps no client ids, answers 500"),
    "item_error": Fault("submit", {"text": "the job cannot be scheduled"},
                        "an item gets an error in its place instead of a job"),
    "events_lost": Fault("publish", {}, "an event never enters its stream"),
    "events_doubled": Fault("publish", {}, "an event enters its stream twice"),
    "events_reordered": Fault("publish", {"ms": 200},
                              "an event enters its stream late, behind those that follow it"),
    "events_wrapped": Fault("publish", {},
                            "the kind of an event stands below `Events`, as Go writes a oneof "
                            "that does not write itself"),
    "event_lag": Fault("stream", {"s": 5}, "events are seen so many seconds late"),
    "stream_missing": Fault("stream", {}, "a stream that is opened is not found"),
    "stream_cut": Fault("stream", {"lines": 10, "how": "end"},
                        "a stream ends after so many lines; `error`: with an error behind the "
                        "last; `reset`: by a reset; `middle`: in the middle of a line; "
                        "`garbage`: behind a line that is no JSON"),
    "stream_silent": Fault("stream", {"lines": 0},
                           "a stream says nothing more after so many lines, and stays open"),
    "lookout_lag": Fault("view", {"s": 60}, "status is so many seconds behind; UNKNOWN at first"),
    "strange_state": Fault("view", {"state": 99}, "the status of a job is a value of no state, while it is on"),
}


class Faults(switches.Faults):
    def __init__(self):
        super().__init__(FAULTS)
