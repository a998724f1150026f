"""What the container of a job finds in its environment."""

from rules import GANG_CARDINALITY, GANG_ID


def environment_of(job, container, secrets):
    """What the container asks for, beside what Armada gives to every pod; `secrets` are those of
    Kubernetes, by GROUP/KEY."""
    environment = {"ARMADA_JOB_ID": job.id, "ARMADA_QUEUE": job.queue,
                   "ARMADA_JOB_SET_ID": job.job_set}
    if GANG_ID in job.annotations:
        environment["ARMADA_GANG_ID"] = job.annotations[GANG_ID]
        environment["ARMADA_GANG_CARDINALITY"] = job.annotations.get(GANG_CARDINALITY, "")
    for variable in container.get("env") or []:
        reference = variable.get("valueFrom", {}).get("secretKeyRef", {})
        secret = secrets.get(f"{reference.get('name')}/{reference.get('key')}", "")
        environment[variable["name"]] = variable.get("value", secret)
    return environment
