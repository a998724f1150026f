/** A field for each input, by its type in the language: int, [string], datetime, {k: v}, … */
import { html } from "./html.js";
import { Field, Typed } from "./parts.js";

const NUMBERS = ["int", "float", "number"];
const WORDS = ["string", "datetime", "duration", "file", "folder", "directory"];

const HINTS = { datetime: "2026-08-20T12:00:00Z", duration: "1h30m", file: "a path or an address" };

function shown(input) {
  const value = input.default;
  if (value === undefined || value === null) {
    return "";
  }
  return typeof value === "string" && WORDS.includes(input.type) ? value : JSON.stringify(value);
}

export function InputFields({ inputs }) {
  if (inputs.length === 0) {
    return html`<p class="faint">It takes no inputs.</p>`;
  }
  return inputs.map((input) => html`<${InputField} key=${input.name} input=${input} />`);
}

function InputField({ input }) {
  const { name, type } = input;
  const isNeeded = !input.has_default;
  const note = `${type}${isNeeded ? ", needed" : ""}${input.description ? `: ${input.description}` : ""}`;
  if (type === "bool") {
    return html`<label class="check"><input type="checkbox" name=${name} defaultChecked=${input.default === true} /> ${name}</label>`;
  }
  if (NUMBERS.includes(type) || WORDS.includes(type)) {
    return html`<${Field} label=${name} note=${note}>
      <${Typed} name=${name} value=${shown(input)} required=${isNeeded} placeholder=${HINTS[type] ?? ""}
        inputmode=${NUMBERS.includes(type) ? "decimal" : "text"} /></${Field}>`;
  }
  return html`<${Field} label=${name} note="${note} as JSON">
    <${Typed} tag="textarea" name=${name} rows="3" required=${isNeeded} spellcheck="false" value=${shown(input)} /></${Field}>`;
}

function valueOf(input, text) {
  if (WORDS.includes(input.type)) {
    return text;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${input.name}: '${text}' is not a value of the type ${input.type}, written as JSON`);
  }
}

/** {name: value} of what was filled in; an empty field that has a default is left out. */
export function readInputs(inputs, form) {
  const values = {};
  for (const input of inputs) {
    if (input.type === "bool") {
      values[input.name] = form.get(input.name) !== null;
    } else if (form.get(input.name) !== "" || (input.type === "string" && !input.has_default)) {
      values[input.name] = valueOf(input, form.get(input.name));
    }
  }
  return values;
}
