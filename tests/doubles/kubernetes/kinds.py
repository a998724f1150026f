"""The kinds of resources that there are. More are added as data: by --crd, or through control."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Kind:
    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self):
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"


PODS = Kind("", "v1", "pods", "Pod")
JOBS = Kind("batch", "v1", "jobs", "Job")
TEMPLATES = Kind("", "v1", "podtemplates", "PodTemplate")


def kind_of(text):
    """GROUP/VERSION/PLURAL/KIND, as --crd has it."""
    parts = text.split("/")
    if len(parts) != 4 or not all(parts):
        raise ValueError(f"a kind is GROUP/VERSION/PLURAL/KIND, and not {text}")
    return Kind(*parts)
