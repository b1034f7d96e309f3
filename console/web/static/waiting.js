// What waits for people: the asks, and a form for each.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { call, follow, post, spaced } from './api.js';
import { Problem } from './parts.js';
import { SeatForm } from './seat_form.js';
import { date, many, spoken } from './words.js';

// While debates go on they are not read more often.
const APART_MS = 2000;
const keyOf = (ask) => `${ask.panel}/${ask.debate}/${ask.step}/${ask.persona}`;

// The first ask of the debate that is `wanted` is open from the start.
export function Waiting({ wanted, wire, awaited }) {
  const [asks, setAsks] = useState(null);
  const [open, setOpen] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let first = Boolean(wanted);
    const look = async () => {
      try {
        const found = (await call('/asks')).asks;
        setAsks(found);
        awaited(found.length);
        if (first) setOpen(found.find((ask) => ask.debate === wanted) ?? null);
        first = false;
        setError(null);
      } catch (refused) {
        setError(refused);
        looking.again();
      }
    };
    const looking = spaced(look, APART_MS);
    looking.again();
    // The stream tells only what changes from now on: it is looked anew whenever it begins.
    const close = follow('/debates/changes', { row: looking.again }, (state) => {
      wire(state);
      if (state === 'on') looking.again();
    });
    return () => {
      close();
      looking.stop();
    };
  }, [wanted]);
  const send = (ask) => (values, by) =>
    post('/asks', { panel: ask.panel, debate: ask.debate, step: ask.step, persona: ask.persona, values, by });
  const image = async (ask) => {
    const shown = await call(`/debates/${ask.debate}/facts?panel=${ask.panel}`);
    const sha256 = shown.facts[0]?.fact?.input?.blobs?.image?.sha256;
    return (await fetch(`/debates/${ask.debate}/blobs/${sha256}?panel=${ask.panel}`)).blob();
  };
  return html`
    <div class="headline"><h1>Waiting for you</h1>
      <span class="muted" role="status">${asks ? many(asks.length, 'ask') : 'loading…'}</span></div>
    ${error && html`<${Problem} error=${error} />`}
    ${asks?.length === 0 && !open && html`<div class="listing nothing">Nobody waits for a person at this moment.</div>`}
    <ul class="waiting">
      ${(asks ?? []).map((ask) => html`
        <li key=${keyOf(ask)} class="card">
          <div class="what"><b>${ask.title || ask.panel}</b>
            <span>${(ask.topic || ask.text).slice(0, 120)}${(ask.topic || ask.text).length > 120 ? '…' : ''}</span>
            <span class="muted small">for ${ask.role || ask.persona} · ${spoken(ask.step)} of <a href=${`#/debates/${ask.debate}`}>${ask.debate}</a> · until ${date(ask.deadline)}</span></div>
          <button class="button main" type="button" aria-label=${`Answer for ${ask.persona} in ${ask.debate}`} onClick=${() => setOpen(ask)}>Answer</button>
        </li>`)}
    </ul>
    ${open && html`<${SeatForm} key=${keyOf(open)} ask=${open} send=${send(open)} image=${() => image(open)} named=${true} />`}`;
}
