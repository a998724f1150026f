/** The frame around all pages: where one goes from, who one is, and which page is shown. */
import { html, render, useEffect, useState } from "./html.js";
import { token } from "./api.js";
import { useAnswer } from "./live.js";
import { Link, match, useLocation } from "./router.js";
import { Login } from "./login.js";
import { Executions } from "./page_executions.js";
import { Execution } from "./page_execution.js";
import { Gates } from "./page_gates.js";
import { Plans } from "./page_plans.js";
import { Plan } from "./page_plan.js";
import { Choose, Compare } from "./page_compare.js";
import { Resources } from "./page_resources.js";
import { Launch } from "./page_launch.js";
import { Actors } from "./page_actors.js";
import { Inbox } from "./page_inbox.js";
import { Messages } from "./page_messages.js";

/** The first pattern that suits has the page; links of Flyte's clients lead to executions, too. */
const ROUTES = [
  ["", Executions],
  ["/executions", Executions],
  ["/executions/:project/:domain/:name", Execution],
  ["/executions/:project/:domain/:name/compare", Choose],
  ["/executions/:project/:domain/:name/compare/:other", Compare],
  ["/projects/:project/domains/:domain/executions/:name", Execution],
  ["/gates", Gates],
  ["/plans", Plans],
  ["/plans/:project/:domain/:plan", Plan],
  ["/launch", Launch],
  ["/resources", Resources],
  ["/actors", Actors],
  ["/actors/inbox", Inbox],
  ["/messages", Messages],
];

const PLACES = [
  ["/executions", "Executions"],
  ["/gates", "Inbox"],
  ["/plans", "Launch plans"],
  ["/launch", "Launch"],
  ["/resources", "Resources"],
  ["/actors", "Actors"],
  ["/messages", "Messages"],
];

function pageOf(path) {
  for (const [pattern, page] of ROUTES) {
    const words = match(pattern, path);
    if (words) {
      return { page, words };
    }
  }
  return null;
}

function useTheme() {
  const [theme, set] = useState(localStorage.getItem("troupe-theme") ?? "auto");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("troupe-theme", theme);
  }, [theme]);
  return [theme, set];
}

const GATES_MS = 5000;

const NEXT_THEME = { auto: "light", light: "dark", dark: "auto" };

function Head({ path, gates }) {
  const [theme, setTheme] = useTheme();
  useEffect(() => document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [path]);
  const isIn = (to) => path.startsWith(to) || (to === "/executions" && path === "/");
  return html`<header class="head">
    <a class="skip" href="#main">Skip to the content</a>
    <${Link} to="/executions" class="brand"><img src="/console/icon.svg" alt="" width="20" height="20" />Troupe</${Link}>
    <nav aria-label="Pages">
      ${PLACES.map(
        ([to, label]) => html`<${Link} key=${to} to=${to} aria-current=${isIn(to) ? "page" : null}>
          ${label}${to === "/gates" && gates > 0 && html`<span class="badge">${gates}<span class="unseen"> open</span></span>`}
        </${Link}>`,
      )}
    </nav>
    <div class="side">
      <button class="link" onClick=${() => setTheme(NEXT_THEME[theme])} aria-label="Colours: ${theme}. Change">
        <span aria-hidden="true">◐</span> ${theme}
      </button>
      ${token.get() &&
      html`<button class="link" onClick=${() => (token.forget(), location.reload())}>Sign out</button>`}
    </div>
  </header>`;
}

function App() {
  const place = useLocation();
  const [known, setToken] = useState(token.get());
  const gates = useAnswer("/gates?limit=100", `${known} ${place.path}`, GATES_MS);
  const found = pageOf(place.path);
  useEffect(() => {
    document.title = "Troupe";
    scrollTo(0, 0);
  }, [place.path]);
  if (gates.problem?.status === 401) {
    return html`<${Login} problem=${gates.problem} done=${setToken} />`;
  }
  return html`
    <${Head} path=${place.path} gates=${gates.data?.length ?? 0} />
    <main id="main" tabindex="-1">
      ${found
        ? html`<${found.page} key=${place.path} place=${place} words=${found.words} />`
        : html`<div class="empty"><h1>There is no such page</h1><${Link} to="/executions">All executions</${Link}></div>`}
    </main>
  `;
}

render(html`<${App} />`, document.getElementById("app"));
