/** Components are functions that return html`…`; this is where their tools come from. */
export { html } from "htm/preact";
export { render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
