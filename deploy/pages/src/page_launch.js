/** Begins an execution: a definition is read, one of its workflows chosen, its inputs filled in. */
import { html, useEffect, useRef, useState } from "./html.js";
import { newKey, post } from "./api.js";
import { go } from "./router.js";
import { Field, ProblemBox } from "./parts.js";
import { InputFields, readInputs } from "./input_fields.js";

const KEPT = "troupe-definition";

const EXAMPLE = `troupe: 1
tasks:
  greet:
    inputs: {name: string}
    outputs: {text: string}
    run: [sh, -c, 'printf "{\\"text\\": \\"hello %s\\"}" "$1"', sh, "{{.inputs.name}}"]
    stdout: outputs
workflows:
  main:
    inputs: {name: {type: string, default: Ada}}
    nodes: {greet: {task: greet, with: {name: $name}}}
    outputs: {text: $greet.text}
`;

function Definition({ text, setText, read, problem, isBusy }) {
  const take = async (event) => setText(await event.target.files[0].text());
  return html`<section class="card">
    <h2>Definition</h2>
    <p class="faint">Paste one, choose a file, or begin with <button type="button" class="link" onClick=${() => setText(EXAMPLE)}>an example</button>.
      Paths in it are below the store.</p>
    <label><span class="unseen">Definition</span>
      <textarea class="code" rows="16" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <footer>
      <label class="file">Choose a file<input type="file" accept=".yaml,.yml,.json" onChange=${take} /></label>
      <button class="first" onClick=${read} disabled=${isBusy || text.trim() === ""}>Read it</button>
    </footer>
  </section>`;
}

function Inputs({ workflows, chosen, choose, submit, problem, isBusy }) {
  const workflow = workflows.find((one) => one.name === chosen) ?? workflows[0];
  return html`<form class="card" onSubmit=${(event) => submit(event, workflow)}>
    <h2>Launch</h2>
    <${Field} label="Workflow">
      <select name="workflow" value=${workflow.name} onChange=${(event) => choose(event.target.value)}>
        ${workflows.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}
      </select></${Field}>
    ${workflow.description && html`<p>${workflow.description}</p>`}
    <fieldset key=${workflow.name}><legend>Inputs</legend><${InputFields} inputs=${workflow.inputs} /></fieldset>
    <${Field} label="Name" note="else one is made"><input name=".name" autocomplete="off" /></${Field}>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <footer><button type="submit" class="first" disabled=${isBusy}>Launch</button></footer>
  </form>`;
}

export function Launch() {
  const [text, setText] = useState(sessionStorage.getItem(KEPT) ?? "");
  const [workflows, setWorkflows] = useState([]);
  const [chosen, choose] = useState(null);
  const [state, setState] = useState({ isBusy: false, problem: null, of: null });
  const key = useRef(null);
  useEffect(() => void (document.title = "Launch · Troupe"), []);
  useEffect(() => sessionStorage.setItem(KEPT, text), [text]);
  const attempt = async (of, work) => {
    setState({ isBusy: true, problem: null, of });
    try {
      await work();
      setState({ isBusy: false, problem: null, of });
    } catch (problem) {
      setState({ isBusy: false, problem, of });
    }
  };
  const change = (changed) => (setText(changed), setWorkflows([]));
  const read = () =>
    attempt("definition", async () => {
      const held = (await post("/inspect", { definition: text })).filter((one) => one.kind === "workflow");
      key.current = newKey();
      setWorkflows(held.reverse());
    });
  const submit = (event, workflow) => {
    event.preventDefault();
    const form = new FormData(event.target);
    attempt("inputs", async () => {
      const name = form.get(".name").trim();
      const body = { definition: text, workflow: workflow.name, input: readInputs(workflow.inputs, form), ...(name ? { name } : {}) };
      const begun = await post("/executions", body, name ? null : key.current);
      const [execution, domain = "development", project = "default"] = begun.execution.split("/").reverse();
      go(`/executions/${[project, domain, execution].map(encodeURIComponent).join("/")}`);
    });
  };
  return html`<h1>Launch</h1>
    <div class="columns">
      <${Definition} text=${text} setText=${change} read=${read} isBusy=${state.isBusy}
        problem=${state.of === "definition" ? state.problem : null} />
      ${workflows.length > 0
        ? html`<${Inputs} workflows=${workflows} chosen=${chosen} choose=${choose} submit=${submit} isBusy=${state.isBusy}
            problem=${state.of === "inputs" ? state.problem : null} />`
        : html`<div class="empty">Its workflows, with a field for each input, appear here.</div>`}
    </div>`;
}
