// The bar at the bottom: moves through the facts of a debate, and shares the moment.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { clock, spoken } from './words.js';

const STEP_MS = 650;
const TOAST_MS = 2500;

export function Replay({ moments, look, link }) {
  const [playing, setPlaying] = useState(false);
  const [toast, setToast] = useState('');
  const { at, total, isLive, view, row } = moments;
  const over = row && row.status !== 'open';
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setTimeout(() => {
      if (at >= total) setPlaying(false);
      else look(at + 1);
    }, STEP_MS);
    return () => clearTimeout(timer);
  }, [playing, at, total]);
  const play = () => {
    if (!playing && at >= total) look(1);
    setPlaying(!playing);
  };
  const move = (to) => {
    setPlaying(false);
    look(to);
  };
  const copy = async () => {
    const address = link(at);
    try {
      await navigator.clipboard.writeText(address);
      setToast('The link to this moment is copied.');
    } catch {
      history.replaceState(null, '', address);
      setToast('The link to this moment is in the address bar.');
    }
    setTimeout(() => setToast(''), TOAST_MS);
  };
  const fact = moments.facts[at - 1];
  return html`
    <section class="replay" aria-label="Replay">
      <button class="button bare icon" type="button" onClick=${() => move(at - 1)} disabled=${at <= 1} aria-label="One fact back"><span aria-hidden="true">‹</span></button>
      <button class="button icon" type="button" onClick=${play} aria-label=${playing ? 'Pause' : 'Play'}><span aria-hidden="true">${playing ? '❙❙' : '▶'}</span></button>
      <button class="button bare icon" type="button" onClick=${() => move(at + 1)} disabled=${at >= total} aria-label="One fact on"><span aria-hidden="true">›</span></button>
      <div class="track">
        <${Ticks} facts=${moments.facts} total=${total} />
        <input type="range" min="1" max=${Math.max(1, total)} value=${at} aria-label="Moment of the debate"
          aria-valuetext=${`fact ${at} of ${total}: ${view.moment}`} style=${{ '--filled': `${total > 1 ? ((at - 1) / (total - 1)) * 100 : 100}%` }}
          onInput=${(event) => move(Number(event.target.value))} />
      </div>
      <div class="where"><b>fact ${at} of ${total}</b><span class="unseen">, </span><br />${fact ? `${clock(fact.time)} · ${spoken(fact.fact.type)}` : '…'}</div>
      ${isLive && !view.closed_at && moments.link === 'lost'
        ? html`<span class="chip tone-warn state">reconnecting…</span>`
        : isLive
        ? html`<span class="chip tone-good state">${view.closed_at ? 'the end' : html`<i class="pulse tone-good" aria-hidden="true"></i><span>live</span>`}</span>`
        : html`<button class="button tiny" type="button" onClick=${() => move(null)}>${over ? 'To the end' : 'Follow live'}</button>`}
      <button class="button" type="button" onClick=${copy}>Share moment</button>
      <div role="status" aria-live="polite">${toast && html`<div class="toast">${toast}</div>`}</div>
    </section>`;
}

function Ticks({ facts, total }) {
  const found = facts.filter((one) => one && (one.fact.type === 'asked' || one.fact.type === 'terminated'));
  const place = (one) => `calc(8px + (100% - 16px) * ${total > 1 ? one.ordinal / (total - 1) : 0})`;
  return html`<div class="ticks" aria-hidden="true">
    ${found.map((one) => html`<i key=${one.ordinal} class=${one.fact.type === 'terminated' ? 'key' : ''} style=${{ left: place(one) }}></i>`)}</div>`;
}
