// A fact as it stands in the log.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { call } from './api.js';
import { Dialog } from './parts.js';
import { spoken } from './words.js';

const TOKENS = /("(?:\\.|[^"\\])*"\s*:)|("(?:\\.|[^"\\])*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;
const LOOKS = ['json-key', 'json-text', 'json-number', 'json-word'];

export function Fact({ path, facts, ordinal, show }) {
  const [fetched, setFetched] = useState(null);
  const fact = facts[ordinal] ?? (fetched?.ordinal === ordinal ? fetched : null);
  useEffect(() => {
    if (fact) return;
    call(`${path}/facts?after=${ordinal - 1}`).then((found) => setFetched(found.facts[0] ?? null), () => {});
  }, [ordinal]);
  const copy = () => navigator.clipboard?.writeText(JSON.stringify(fact.fact, null, 2));
  return html`
    <${Dialog} label=${`Fact ${ordinal}`} onClose=${() => show(null)}>
      <header>
        <h2>Fact ${ordinal}${fact && html`<span class="muted">: ${spoken(fact.fact.type)}</span>`}</h2>
        ${fact && html`<span class="muted small">${fact.time} · sequence ${fact.sequence}</span>`}
        <span class="end">
          <button class="button tiny" type="button" disabled=${ordinal === 0} onClick=${() => show(ordinal - 1)}>Previous</button>
          <button class="button tiny" type="button" disabled=${ordinal >= facts.length - 1} onClick=${() => show(ordinal + 1)}>Next</button>
          <button class="button tiny" type="button" onClick=${copy} disabled=${!fact}>Copy</button>
          <form method="dialog" style=${{ display: 'contents' }}><button class="button tiny main" type="submit">Close</button></form>
        </span>
      </header>
      <pre tabindex="0">${fact ? coloured(JSON.stringify(fact.fact, null, 2)) : 'Loading…'}</pre>
    </${Dialog}>`;
}

// Pieces of text, each in its colour; nothing here is ever read as markup.
function coloured(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(TOKENS)) {
    parts.push(text.slice(at, found.index));
    const kind = found.slice(1).findIndex((one) => one !== undefined);
    parts.push(html`<span class=${LOOKS[kind]}>${found[0]}</span>`);
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
