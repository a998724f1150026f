/** Asks for a token, where the API needs one. */
import { html, useState } from "./html.js";
import { get, token } from "./api.js";
import { Field, ProblemBox } from "./parts.js";

export function Login({ done }) {
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("token").trim();
    token.set(text);
    try {
      await get("/gates?limit=1");
    } catch (caught) {
      if (caught.status === 401 || caught.status === 0) {
        token.forget();
        setProblem(caught);
        return;
      }
    }
    done(text);
  };
  return html`<main class="login">
    <form class="card" onSubmit=${submit}>
      <h1><img src="/console/icon.svg" alt="" width="28" height="28" /> Troupe</h1>
      <p>This engine answers only who it knows. Give the secret of a client, or a token that it got.</p>
      <${Field} label="Token"><input name="token" type="password" required autocomplete="off" autofocus /></${Field}>
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      <button type="submit" class="first">Sign in</button>
      <p class="faint">It is kept in this tab until the tab is closed.</p>
    </form>
  </main>`;
}
