"""Label selectors: `a=b,c in (d,e),!f`, and what they match."""

import re

from status import Refusal

SET = re.compile(r"\s*(?P<key>[^\s,=!()]+)\s+(?P<how>in|notin)\s+\((?P<values>[^)]*)\)\s*(?:,|$)")
EQUAL = re.compile(r"\s*(?P<key>[^\s,=!()]+)\s*(?P<how>==|=|!=)\s*(?P<values>[^\s,()]*)\s*(?:,|$)")
THERE = re.compile(r"\s*(?P<not>!?)\s*(?P<key>[^\s,=!()]+)\s*(?:,|$)")


class Selector:
    """A test of labels; without a text it takes all."""

    def __init__(self, text):
        self.rules = []
        at = 0
        while at < len(text or ""):
            rule = SET.match(text, at) or EQUAL.match(text, at)
            there = None if rule else THERE.match(text, at)
            if rule:
                values = {value.strip() for value in rule["values"].split(",")}
                self.rules.append((rule["key"], rule["how"] in ("in", "=", "=="), values))
            elif there:
                self.rules.append((there["key"], not there["not"], None))
            else:
                raise Refusal(400, f"unable to parse requirement: {text[at:]}")
            at = (rule or there).end()

    def takes(self, item):
        labels = item["metadata"].get("labels") or {}
        for key, is_wanted, values in self.rules:
            has = key in labels if values is None else labels.get(key) in values
            if has != is_wanted:
                return False
        return True
