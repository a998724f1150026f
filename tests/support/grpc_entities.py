"""What integration/test_api_entities.py asks with gRPC's own library, in a Python that has it:

    python grpc_entities.py ADDRESS FUNCTION [JSON]

prints what the function gives as JSON. Entities are put together with Flyte's own library.
"""

import concurrent.futures
import json
import sys
import time

import grpc
from flyteidl.admin import common_pb2, description_entity_pb2, launch_plan_pb2, project_pb2
from flyteidl.admin import schedule_pb2, task_pb2, workflow_pb2
from flyteidl.core import identifier_pb2, interface_pb2, literals_pb2, tasks_pb2, types_pb2
from flyteidl.core import workflow_pb2 as core_workflow
from flyteidl.service import admin_pb2_grpc, dataproxy_pb2, dataproxy_pb2_grpc
from google.rpc import status_pb2

from grpc_calls import open_channel, outcome_of

PROJECT, DOMAIN = "flytesnacks", "development"
INTEGER = types_pb2.LiteralType(simple=types_pb2.INTEGER)
KINDS = {"task": identifier_pb2.TASK, "workflow": identifier_pb2.WORKFLOW,
         "plan": identifier_pb2.LAUNCH_PLAN}


def id_of(kind, name, version="v1", project=PROJECT, domain=DOMAIN):
    return identifier_pb2.Identifier(resource_type=KINDS[kind], project=project, domain=domain,
                                     name=name, version=version)


def variables(**types):
    return interface_pb2.VariableMap(variables={
        name: interface_pb2.Variable(type=value) for name, value in types.items()})


def interface(inputs, outputs):
    return interface_pb2.TypedInterface(inputs=variables(**inputs), outputs=variables(**outputs))


def task_spec(command="true", **more):
    template = tasks_pb2.TaskTemplate(
        type="python-task", interface=interface({"a": INTEGER}, {"o0": INTEGER}),
        container=tasks_pb2.Container(image="none", args=["sh", "-c", command]))
    return task_pb2.TaskSpec(template=template, **more)


def promise(node, var):
    return literals_pb2.BindingData(promise=types_pb2.OutputReference(node_id=node, var=var))


def node(id, task, after=(), version="v1", bound=("", "a")):
    return core_workflow.Node(
        id=id, metadata=core_workflow.NodeMetadata(name=task), upstream_node_ids=list(after),
        inputs=[literals_pb2.Binding(var="a", binding=promise(*bound))],
        task_node=core_workflow.TaskNode(reference_id=id_of("task", task, version)))


def workflow_spec(nodes, last, **more):
    template = core_workflow.WorkflowTemplate(
        interface=interface({"a": INTEGER}, {"o0": INTEGER}), nodes=nodes,
        outputs=[literals_pb2.Binding(var="o0", binding=promise(last, "o0"))])
    return workflow_pb2.WorkflowSpec(template=template, **more)


def literal(value):
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(
        primitive=literals_pb2.Primitive(integer=value)))


def plan_spec(workflow, cron=None, version="v1", **fixed):
    spec = launch_plan_pb2.LaunchPlanSpec(workflow_id=id_of("workflow", workflow, version))
    for name, value in fixed.items():
        spec.fixed_inputs.literals[name].CopyFrom(literal(value))
    if cron:
        spec.entity_metadata.schedule.CopyFrom(schedule_pb2.Schedule(
            cron_schedule=schedule_pb2.CronSchedule(schedule=cron)))
    return spec


class Client:
    def __init__(self, channel):
        self.admin = admin_pb2_grpc.AdminServiceStub(channel)
        self.proxy = dataproxy_pb2_grpc.DataProxyServiceStub(channel)

    def task(self, name, version="v1", **more):
        return self.admin.CreateTask(task_pb2.TaskCreateRequest(
            id=id_of("task", name, version), spec=task_spec(**more)))

    def workflow(self, name, spec, version="v1"):
        return self.admin.CreateWorkflow(workflow_pb2.WorkflowCreateRequest(
            id=id_of("workflow", name, version), spec=spec))

    def plan(self, name, spec, version="v1"):
        return self.admin.CreateLaunchPlan(launch_plan_pb2.LaunchPlanCreateRequest(
            id=id_of("plan", name, version), spec=spec))

    def activate(self, name, version="v1", state=launch_plan_pb2.ACTIVE):
        return self.admin.UpdateLaunchPlan(launch_plan_pb2.LaunchPlanUpdateRequest(
            id=id_of("plan", name, version), state=state))

    def get(self, kind, name, version="v1"):
        call = {"task": self.admin.GetTask, "workflow": self.admin.GetWorkflow,
                "plan": self.admin.GetLaunchPlan}[kind]
        return call(common_pb2.ObjectGetRequest(id=id_of(kind, name, version)))

    def active(self, name):
        return self.admin.GetActiveLaunchPlan(launch_plan_pb2.ActiveLaunchPlanRequest(
            id=common_pb2.NamedEntityIdentifier(project=PROJECT, domain=DOMAIN, name=name)))


def with_client(function):
    def called(address, *arguments):
        with open_channel(address) as channel:
            return function(Client(channel), *arguments)
    called.__name__ = function.__name__
    return called


def main_spec(after=("n1", "n0")):
    return workflow_spec([node("n0", "double"), node("n1", "double"),
                          node("n2", "double", after)], "n2")


@with_client
def register(client):
    """A task, a workflow and two launch plans."""
    client.task("double", description=description_entity_pb2.DescriptionEntity(
        short_description="Doubles."))
    client.workflow("main", main_spec())
    client.plan("main", plan_spec("main"))
    client.plan("nightly", plan_spec("main", "0 3 * * *", a=5))


@with_client
def look(client):
    """What there is, shortly."""
    task = client.get("task", "double")
    workflow = client.get("workflow", "main").closure.compiled_workflow
    main, nightly = client.get("plan", "main"), client.get("plan", "nightly")
    return {
        "task": [task.id.name, list(task.closure.compiled_task.template.container.args),
                 task.short_description],
        "nodes": [each.id for each in workflow.primary.template.nodes],
        "tasks": [each.template.id.name for each in workflow.tasks],
        "main": [sorted(main.closure.expected_inputs.parameters), main.closure.state],
        "nightly": [sorted(nightly.closure.expected_inputs.parameters), nightly.closure.state],
        "required": main.closure.expected_inputs.parameters["a"].required,
        "outputs": sorted(main.closure.expected_outputs.variables),
    }


@with_client
def again(client):
    """The outcomes of what is the same, and of what is not."""
    outcomes = [
        outcome_of(lambda: client.task("double", description=None)),
        outcome_of(lambda: client.workflow("main", main_spec(("n0", "n1")))),
        outcome_of(lambda: client.plan("main", plan_spec("main"))),
        outcome_of(lambda: client.task("double", command="false")),
        outcome_of(lambda: client.workflow("main", main_spec(("n0",)))),
        outcome_of(lambda: client.plan("nightly", plan_spec("main", "0 4 * * *", a=6))),
    ]
    client.task("double", "v2", command="false")
    return outcomes


@with_client
def reasons(client):
    """What stands beside the words when a workflow is there already."""
    found = []
    for after in (("n0", "n1"), ("n0",)):
        try:
            client.workflow("main", main_spec(after))
        except grpc.RpcError as error:
            packed = dict(error.trailing_metadata())["grpc-status-details-bin"]
            status = status_pb2.Status.FromString(packed)
            reason = workflow_pb2.CreateWorkflowFailureReason()
            found.append([status.code, status.message == error.details(),
                          status.details[0].Unpack(reason), reason.WhichOneof("reason"),
                          getattr(reason, reason.WhichOneof("reason")).id.name])
    return found


@with_client
def wrong(client):
    """The outcomes of what cannot be registered or is not there."""
    nameless = task_pb2.TaskCreateRequest(id=id_of("task", ""), spec=task_spec())
    mistyped = task_spec()
    mistyped.template.interface.inputs.variables["a"].type.simple = types_pb2.STRING
    client.admin.CreateTask(task_pb2.TaskCreateRequest(id=id_of("task", "text"), spec=mistyped))
    cycle = workflow_spec([node("n0", "double", ["n1"]), node("n1", "double", ["n0"])], "n0")
    lost = task_spec()
    lost.template.container.args[:] = [
        "pyflyte-fast-execute", "--additional-distribution", "/etc/passwd", "--", "true"]
    calls = {
        "no id": lambda: client.admin.CreateTask(task_pb2.TaskCreateRequest(spec=task_spec())),
        "no name": lambda: client.admin.CreateTask(nameless),
        "no spec": lambda: client.admin.CreateTask(task_pb2.TaskCreateRequest(
            id=id_of("task", "x"))),
        "long name": lambda: client.task("x" * 1025),
        "no task": lambda: client.workflow("w", workflow_spec([node("n0", "gone")], "n0")),
        "no workflow": lambda: client.plan("p", plan_spec("gone")),
        "type": lambda: client.workflow("w", workflow_spec([node("n0", "text")], "n0")),
        "cycle": lambda: client.workflow("w", cycle),
        "no input": lambda: client.plan("p", plan_spec("main", b=1)),
        "code": lambda: client.admin.CreateTask(task_pb2.TaskCreateRequest(
            id=id_of("task", "lost"), spec=lost)),
        "get": lambda: client.get("task", "double", "v9"),
        "get none": lambda: client.admin.GetTask(common_pb2.ObjectGetRequest()),
        "active": lambda: client.active("main"),
        "activate": lambda: client.activate("gone"),
        "state": lambda: client.activate("main", state=7),
        "filter": lambda: listed(client, filters="eq(color,red)"),
        "filters": lambda: listed(client, filters="eq(name)"),
        "sort": lambda: listed(client, sort_by=common_pb2.Sort(key="color")),
        "token": lambda: listed(client, token="x"),
        "project": lambda: client.admin.GetProject(project_pb2.ProjectGetRequest(id="none")),
        "digest": lambda: client.proxy.CreateUploadLocation(
            dataproxy_pb2.CreateUploadLocationRequest(project="p", domain="d", content_md5=b"1")),
        "upload": lambda: client.proxy.CreateUploadLocation(
            dataproxy_pb2.CreateUploadLocationRequest(project="p", domain="d")),
    }
    return {name: outcome_of(call) for name, call in calls.items()}


def listed(client, name="", **more):
    more.setdefault("limit", 100)
    return client.admin.ListTasks(common_pb2.ResourceListRequest(
        id=common_pb2.NamedEntityIdentifier(project=PROJECT, domain=DOMAIN, name=name), **more))


def names_of(page):
    return [f"{each.id.name}:{each.id.version}" for each in page.tasks]


@with_client
def pages(client):
    """Lists of tasks by each order, page by page, while others are added; and by filters."""
    for number in range(7):
        client.task(f"t{number}", f"v{number % 3}")
        time.sleep(0.002)  # times of creation differ
    found = {}
    for key, direction in (("created_at", 0), ("created_at", 1), ("name", 1), ("version", 0)):
        seen, token, added = [], "", 0
        while True:
            page = listed(client, limit=3, token=token, filters="ne(name,new)",
                          sort_by=common_pb2.Sort(key=key, direction=direction))
            seen += names_of(page)
            token = page.token
            if not token:
                break
            added += 1
            client.task("new", f"{key}-{direction}-{added}")
        found[f"{key} {direction}"] = seen
    found["second"] = names_of(listed(client, limit=3, token="3", sort_by=common_pb2.Sort(
        key="name", direction=1), filters="ne(name,new)"))
    found["version"] = sorted(names_of(listed(client, filters="eq(task.version,v1)")))
    found["among"] = sorted(names_of(listed(client, filters="value_in(name,t1;t2)+ne(version,v2)")))
    found["latest"] = names_of(listed(client, "new", limit=1, sort_by=common_pb2.Sort(
        key="created_at")))
    return found


@with_client
def ids(client):
    """Names, page by page; and what is said of one."""
    seen, token = [], ""
    while True:
        page = client.admin.ListTaskIds(common_pb2.NamedEntityIdentifierListRequest(
            project=PROJECT, domain=DOMAIN, limit=3, token=token))
        seen += [each.name for each in page.entities]
        token = page.token
        if not token:
            break
    id = common_pb2.NamedEntityIdentifier(project=PROJECT, domain=DOMAIN, name="t1")
    client.admin.UpdateNamedEntity(common_pb2.NamedEntityUpdateRequest(
        resource_type=identifier_pb2.TASK, id=id, metadata=common_pb2.NamedEntityMetadata(
            description="old", state=common_pb2.NAMED_ENTITY_ARCHIVED)))
    named = client.admin.GetNamedEntity(common_pb2.NamedEntityGetRequest(
        resource_type=identifier_pb2.TASK, id=id)).metadata
    active = client.admin.ListNamedEntities(common_pb2.NamedEntityListRequest(
        resource_type=identifier_pb2.TASK, project=PROJECT, domain=DOMAIN, limit=100,
        filters="ne(state,1)", sort_by=common_pb2.Sort(key="name", direction=0)))
    return [seen, [named.description, named.state], [each.id.name for each in active.entities]]


@with_client
def schedule(client, name, version, state):
    client.activate(name, version, state)
    outcome = outcome_of(lambda: client.active(name))
    active = client.admin.ListActiveLaunchPlans(launch_plan_pb2.ActiveLaunchPlanListRequest(
        project=PROJECT, domain=DOMAIN, limit=10))
    return [outcome[0] == "OK" and client.active(name).id.version,
            [each.id.name for each in active.launch_plans]]


@with_client
def second_nightly(client):
    client.plan("nightly", plan_spec("main", "0 5 * * *", a=5), "v2")


@with_client
def projects(client):
    before = [each.id for each in client.admin.ListProjects(
        project_pb2.ProjectListRequest()).projects]
    made = project_pb2.Project(id="made", name="Made", description="by hand")
    outcomes = [outcome_of(lambda: client.admin.RegisterProject(
        project_pb2.ProjectRegisterRequest(project=made))) for _ in range(2)]
    made.state = project_pb2.Project.ARCHIVED
    client.admin.UpdateProject(made)
    after = [each.id for each in client.admin.ListProjects(
        project_pb2.ProjectListRequest(limit=10)).projects]
    archived = [each.name for each in client.admin.ListProjects(
        project_pb2.ProjectListRequest(filters="eq(state,1)")).projects]
    domains = [each.id for each in client.admin.GetDomains(
        project_pb2.GetDomainRequest()).domains]
    return [before, outcomes, after, archived, domains]


@with_client
def location(client, digits, more):
    """Where something may be put."""
    given = client.proxy.CreateUploadLocation(dataproxy_pb2.CreateUploadLocationRequest(
        project=PROJECT, domain=DOMAIN, content_md5=bytes.fromhex(digits), **more))
    return [given.signed_url, given.native_url, given.expires_at.seconds]


@with_client
def single(client):
    """The workflow and the plan of a single task."""
    client.task("some.module.task_one")
    workflow = client.get("workflow", ".flytegen.some.module.task_one").closure.compiled_workflow
    plan = client.get("plan", ".flytegen.some.module.task_one")
    nodes = {each.id: each for each in workflow.primary.template.nodes}
    return [list(nodes), [each.template.id.name for each in workflow.tasks],
            [each.var for each in nodes["end-node"].inputs], plan.spec.workflow_id.name,
            sorted(plan.closure.expected_inputs.parameters),
            outcome_of(lambda: client.get("plan", ".flytegen.gone")),
            outcome_of(lambda: client.workflow("launches", launching("some.module.task_one")))]


def launching(task):
    launch = node("n0", "")
    launch.workflow_node.launchplan_ref.CopyFrom(id_of("plan", f".flytegen.{task}"))
    return workflow_spec([launch], "n0")


@with_client
def named_task(client, name):
    client.task(name)


@with_client
def until_killed(client, prefix):
    """Registers by eight at once until the engine is gone; what was acknowledged."""
    kept = []

    def register_some(worker):
        for number in range(100000):
            name = f"{prefix}-{worker}-{number}"
            try:
                client.task(name)
            except grpc.RpcError as error:
                return error.code().name
            kept.append(name)
            if worker == 0 and number == 0:
                print("begun", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return [sorted(set(pool.map(register_some, range(8)))), kept]


@with_client
def are_there(client, names):
    """Those of some tasks that are not there."""
    return [name for name in names if outcome_of(lambda: client.get("task", name))[0] != "OK"]


@with_client
def has_task(client, name):
    return outcome_of(lambda: client.get("task", name))


@with_client
def share(client, count):
    """How long the calls of a registration take, in seconds: all tasks, then one by one."""
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: client.task(f"many{number}"), range(count)))
    tasks = time.monotonic()
    for number in range(count):
        client.workflow(f"flow{number}", workflow_spec([node("n0", f"many{number}")], "n0"))
        client.plan(f"flow{number}", plan_spec(f"flow{number}"))
    end = time.monotonic()
    for number in range(count):
        client.admin.GetTask(common_pb2.ObjectGetRequest(id=id_of("task", f"many{number}")))
    return [tasks - begin, end - tasks, time.monotonic() - end]


if __name__ == "__main__":
    address, name, *rest = sys.argv[1:]
    print(json.dumps(globals()[name](address, *json.loads(rest[0] if rest else "[]"))))
