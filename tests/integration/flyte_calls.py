"""The calls of Flyte's clients as tables, with requests about the workflows of
test_api_executions.py: what changes something, what reads it, and what takes it away again.
"""

from test_api_executions import WHERE, plan_id

PAGE = {"limit": 100, "sort_by": {"key": "created_at"}}


def id_of(kind, name):
    return dict(WHERE, resource_type=kind, name=name, version="v1")


def run_id(name):
    return {"id": dict(WHERE, name=name)}


def created(name, plan):
    """As flytectl begins one: the principal is always the same."""
    return dict(WHERE, name=name, spec={
        "launch_plan": plan_id(plan), "metadata": {"principal": "sdk", "mode": "MANUAL"}})


def attributes(**place):
    return dict(place, matching_attributes={
        "cluster_resource_attributes": {"attributes": {"a": "b"}}})


TEMPLATE = {"type": "python-task", "container": {"image": "none", "args": ["true"]},
            "interface": {"inputs": {}, "outputs": {}}}
FLOW = {"interface": {"inputs": {}, "outputs": {}}, "nodes": [
    {"id": "n0", "metadata": {"name": "n0"},
     "task_node": {"reference_id": id_of("TASK", "go.task")}}]}
NODE = {"id": {"node_id": "n0", "execution_id": dict(WHERE, name="first")}}
ATTEMPT = {"node_execution_id": NODE["id"], "task_id": id_of("TASK", "flows.double"),
           "retry_attempt": 0}
LISTED = {"Task": "TASK", "Workflow": "WORKFLOW", "LaunchPlan": "LAUNCH_PLAN"}
OF_PROJECT = {"project": "p", "resource_type": "CLUSTER_RESOURCE"}
OF_DOMAIN = dict(OF_PROJECT, domain="development")
OF_WORKFLOW = dict(OF_DOMAIN, workflow="w")

# What changes something, in its order: the call, its request, and its code.
CHANGES = [
    ("CreateTask", {"id": id_of("TASK", "go.task"), "spec": {"template": TEMPLATE}}, "OK"),
    ("CreateTask", {"id": id_of("TASK", "go.task"), "spec": {"template": TEMPLATE}},
     "AlreadyExists"),
    ("CreateWorkflow", {"id": id_of("WORKFLOW", "go.flow"), "spec": {"template": FLOW}}, "OK"),
    ("CreateLaunchPlan", {"id": id_of("LAUNCH_PLAN", "go.flow"), "spec": {
        "workflow_id": id_of("WORKFLOW", "go.flow")}}, "OK"),
    ("UpdateLaunchPlan", {"id": id_of("LAUNCH_PLAN", "go.flow"), "state": "ACTIVE"}, "OK"),
    ("UpdateNamedEntity", {"resource_type": "WORKFLOW", "id": dict(WHERE, name="go.flow"),
                           "metadata": {"description": "By Go."}}, "OK"),
    ("RegisterProject", {"project": {"id": "gone", "name": "By Go"}}, "OK"),
    ("UpdateProject", {"id": "gone", "name": "By Go", "state": "ARCHIVED"}, "OK"),
    ("CreateExecution", created("first", "flows.twice"), "OK"),
    ("CreateExecution", created("first", "flows.twice"), "AlreadyExists"),
    ("CreateExecution", created("gates", "flows.gates"), "OK"),
    ("CreateExecution", created("bad name", "flows.gates"), "InvalidArgument"),
    ("CreateExecution", created("none", "flows.gone"), "NotFound"),
    ("TerminateExecution", run_id("gates"), "OK"),
    ("RelaunchExecution", dict(run_id("first"), name="again"), "OK"),
    ("RecoverExecution", dict(run_id("gates"), name="recovered"), "OK"),
    ("TerminateExecution", run_id("recovered"), "OK"),
    ("UpdateExecution", dict(run_id("first"), state="EXECUTION_ARCHIVED"), "OK"),
    ("GetExecution", run_id("gone"), "NotFound"),
    ("UpdateProjectAttributes", {"attributes": attributes(project="p")}, "OK"),
    ("UpdateProjectDomainAttributes",
     {"attributes": attributes(project="p", domain="development")}, "OK"),
    ("UpdateWorkflowAttributes",
     {"attributes": attributes(project="p", domain="development", workflow="w")}, "OK"),
]

# What is read: the call and its request.
READS = [
    ("GetVersion", {}), ("GetDomains", {}), ("ListProjects", {"limit": 100}),
    ("GetProject", {"id": "gone"}),
    ("GetOAuth2Metadata", {}), ("GetPublicClientConfig", {}), ("UserInfo", {}),
    ("GetTask", {"id": id_of("TASK", "go.task")}),
    ("GetWorkflow", {"id": id_of("WORKFLOW", "flows.main")}),
    ("GetLaunchPlan", {"id": id_of("LAUNCH_PLAN", "flows.five")}),
    ("GetActiveLaunchPlan", {"id": dict(WHERE, name="go.flow")}),
    ("ListActiveLaunchPlans", dict(WHERE, **PAGE)),
    *((f"List{kind}s", dict(PAGE, id=WHERE)) for kind in LISTED),
    *((f"List{kind}s", dict(PAGE, id=dict(WHERE, name="flows.main"))) for kind in LISTED),
    *((f"List{kind}Ids", dict(WHERE, limit=100)) for kind in LISTED),
    ("ListNamedEntities", dict(WHERE, resource_type="WORKFLOW", limit=100)),
    ("GetNamedEntity", {"resource_type": "WORKFLOW", "id": dict(WHERE, name="go.flow")}),
    ("ListExecutions", dict(PAGE, id=WHERE)),
    ("ListExecutions", dict(PAGE, id=WHERE, filters="value_in(phase,SUCCEEDED;ABORTED)+"
                                                    "ne(state,1)")),
    ("GetExecution", run_id("first")), ("GetExecutionData", run_id("first")),
    ("ListNodeExecutions", dict(PAGE, workflow_execution_id=dict(WHERE, name="first"))),
    *((call, request) for node in ("start-node", "n0", "end-node") for call, request in (
        ("GetNodeExecutionData", {"id": {"node_id": node,
                                         "execution_id": dict(WHERE, name="first")}}),
        ("ListTaskExecutions", dict(PAGE, node_execution_id={
            "node_id": node, "execution_id": dict(WHERE, name="first")})))),
    ("GetNodeExecution", NODE), ("GetTaskExecution", {"id": ATTEMPT}),
    ("GetTaskExecutionData", {"id": ATTEMPT}),
    ("GetExecutionMetrics", dict(run_id("first"), depth=-1)),
    ("GetDescriptionEntity", {"id": id_of("TASK", "go.task")}),
    ("ListDescriptionEntities", {"resource_type": "TASK", "id": WHERE, "limit": 100}),
    ("ListSignals", {"workflow_execution_id": dict(WHERE, name="gates"), "limit": 100}),
    ("GetData", {"flyte_url": "flyte://v1/default/development/first/n0/o"}),
    ("GetProjectAttributes", OF_PROJECT), ("GetProjectDomainAttributes", OF_DOMAIN),
    ("GetWorkflowAttributes", OF_WORKFLOW),
    ("ListMatchableAttributes", {"resource_type": "CLUSTER_RESOURCE"}),
]

ENDS = [("DeleteProjectAttributes", OF_PROJECT), ("DeleteProjectDomainAttributes", OF_DOMAIN),
        ("DeleteWorkflowAttributes", OF_WORKFLOW)]
