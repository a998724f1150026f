"""The faults that can be switched on, as data (shared/switches.py)."""

import switches
from switches import Fault

# Places: `call` around any call, `watch` as a watch is read, `list` as a list is, `pod` in the life
# of a pod. A fault of calls strikes the methods that are named: "create pods", "watch pods".
FAULTS = {
    "latency": Fault("call", {"ms": 100}, "waits before the work"),
    "refused": Fault("call", {"code": 500, "text": "an error on the server"},
                     "answers this status with this message, and does no work"),
    "too_many": Fault("call", {"retry_after_s": 1},
                      "answers 429 with Retry-After, and does no work"),
    "reset_request": Fault("call", {}, "resets the connection, and does no work"),
    "lost_answer": Fault("call", {"how": "close"},
                         "does the work and closes without an answer; `half`: resets in the "
                         "middle of it; `hang`: keeps the connection and is silent"),
    "hang": Fault("call", {}, "never answers, and does no work"),
    "nonsense": Fault("call", {"text": "<html>502</html>"}, "does the work and answers this text"),
    "old_etcd": Fault("watch", {}, "a watch that begins with what there is answers one ERROR 500"),
    "watch_expired": Fault("watch", {}, "a watch answers one ERROR 410, whatever its version"),
    "watch_gone": Fault("watch", {}, "a watch is refused by 410"),
    "watch_cut": Fault("watch", {"events": 10, "how": "end"},
                       "a watch ends after so many events; `reset`: by a reset; `middle`: in the "
                       "middle of one; `garbage`: behind a line that is no JSON"),
    "watch_marked": Fault("watch", {}, "a watch ends behind a bookmark"),
    "watch_silent": Fault("watch", {"events": 0},
                          "a watch says nothing more after so many events, bookmarks neither"),
    "watch_slow": Fault("watch", {"ms": 100}, "each event is told so much later"),
    "events_doubled": Fault("watch", {}, "an event is told twice"),
    "bad_event": Fault("watch", {"what": "deep"},
                       "in the place of an event a line that is `deep`, `huge` (20 MB), not "
                       "`utf8`, or has a member `twice`"),
    "continue_expired": Fault("list", {}, "a page that goes on is refused by 410"),
    "finalizer_kept": Fault("pod", {}, "a pod gets a finalizer of somebody else's"),
}


class Faults(switches.Faults):
    def __init__(self):
        super().__init__(FAULTS)
