// A link to one ask: its form, and nothing else.
import { html, render, useEffect, useState } from './vendor/htm-preact.js';
import { call } from './api.js';
import { Problem } from './parts.js';
import { SeatForm } from './seat_form.js';

const link = () => ({ 'Parley-Link': location.hash.slice(1) });

function Seat() {
  const [ask, setAsk] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    call('/seat', { headers: link() }).then(setAsk, setError);
  }, []);
  const send = (values, by) =>
    call('/seat', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...link() },
      body: JSON.stringify({ values, by }),
    });
  const image = () => fetch('/seat/image', { headers: link() }).then((response) => response.blob());
  return html`
    <header class="bar"><span class="brand"><img src="/static/icon.svg" alt="" />Parley</span></header>
    <main id="main">
      ${error && html`<${Problem} error=${error} />`}
      ${ask && html`<${SeatForm} ask=${ask} send=${send} image=${image} named=${true} />`}
      ${!ask && !error && html`<p class="muted">One moment…</p>`}
    </main>`;
}

render(html`<${Seat} />`, document.getElementById('app'));
