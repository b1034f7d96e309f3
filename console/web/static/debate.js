// One debate: what is said, where everybody stands, why it goes on or ended; at any moment of it.
import { html, useEffect, useReducer, useRef, useState } from './vendor/htm-preact.js';
import { AbsaHero, AbsaSide } from './absa.js';
import { Costs, Declarations, Matrix, Outcome } from './board.js';
import { Charts } from './charts.js';
import { DeliberationHero, DeliberationSide } from './deliberation.js';
import { Fact } from './fact.js';
import { VerdictHero, VerdictSide } from './verdicts.js';
import { Cancel } from './list.js';
import { Moments } from './moments.js';
import { Card, Chip, Problem } from './parts.js';
import { Replay } from './replay.js';
import { Transcript } from './transcript.js';
import { date, span, useLabels, voices } from './words.js';

// What stands above the transcript, and beside it, where a protocol has more than the plain form.
const HEROES = { verdicts: VerdictHero, absa: AbsaHero, deliberation: DeliberationHero };
const SIDES = { verdicts: VerdictSide, absa: AbsaSide, deliberation: DeliberationSide };
const Nothing = () => null;
// Heroes that show what is debated.
const SHOWN = new Set([AbsaHero, DeliberationHero]);
const LONG_TEXT = 600;
const DIFF = /^(diff --git |@@ |--- )/m;
const LONG_TOPIC = 90;

export function Debate({ id, query, wire }) {
  const [, redraw] = useReducer((n) => n + 1, 0);
  const [opened, setOpened] = useState(null);
  const store = useRef(null);
  const pin = /^\d+$/.test(query.at ?? '') ? Number(query.at) : null;

  useEffect(() => {
    const moments = new Moments(id, query.panel, redraw, wire);
    store.current = moments;
    moments.open(pin);
    redraw();
    return () => moments.close();
  }, [id, query.panel]);
  useEffect(() => {
    const moments = store.current;
    if (moments?.view && moments.pin !== pin) moments.look(pin);
  }, [query.at]);

  const moments = store.current;
  const view = moments?.view;
  if (!view) {
    return moments?.error
      ? html`<div class="stack"><${Problem} error=${moments.error} /><p><a class="button" href="#/debates">All debates</a></p></div>`
      : html`<p class="muted">Loading…</p>`;
  }

  const look = (at) => {
    moments.look(at);
    history.replaceState(null, '', link(id, query.panel, moments.pin));
  };
  useLabels(view.labels);
  const voice = voices(view.personas.map((seat) => seat.name));
  const Hero = HEROES[view.protocol] ?? Nothing;
  const Side = SIDES[view.protocol] ?? Nothing;
  return html`
    <${Head} id=${id} moments=${moments} view=${view} />
    ${moments.error && html`<${Problem} error=${moments.error} />`}
    <${Outcome} view=${view} live=${moments.isLive} />
    <div class="board">
      <div class="stack">
        ${SHOWN.has(Hero) || html`<${About} view=${view} />`}
        <${Hero} view=${view} path=${moments.path} />
        <${Transcript} view=${view} partials=${moments.isLive ? [...moments.partials.values()] : []}
          live=${moments.isLive} voice=${voice} open=${setOpened} />
      </div>
      <div class="stack">
        <${Matrix} view=${view} voice=${voice} />
        <${Declarations} view=${view} open=${setOpened} />
        <${Charts} charts=${view.charts} voices=${view.personas.map((seat) => seat.name)} />
        <${Side} view=${view} />
        <${Costs} view=${view} voice=${voice} />
      </div>
    </div>
    <${Replay} moments=${moments} look=${look} link=${(at) => new URL(link(id, query.panel, at), location.href).href} />
    ${opened !== null && html`<${Fact} path=${moments.path} facts=${moments.facts} ordinal=${opened} show=${setOpened} />`}`;
}

// What is debated, as it was written, where the heading does not say all of it.
function About({ view }) {
  const [whole, setWhole] = useState(false);
  if (!view.text || (view.text === view.topic && view.text.length <= LONG_TOPIC && !view.text.includes('\n'))) return null;
  const cut = !whole && view.text.length > LONG_TEXT;
  return html`
    <${Card} title="What is debated" about=${view.title}>
      <p class=${`asked ${DIFF.test(view.text) ? 'mono' : ''}`}>${cut ? `${view.text.slice(0, LONG_TEXT)}…` : view.text}</p>
      ${cut && html`<button class="button tiny" type="button" onClick=${() => setWhole(true)}>Show all</button>`}
    </${Card}>`;
}

function link(id, panel, at) {
  const values = new URLSearchParams();
  if (panel) values.set('panel', panel);
  if (at !== null) values.set('at', at);
  const search = values.toString();
  return `#/debates/${id}${search ? `?${search}` : ''}`;
}

// While nothing happens, time goes on.
function useEverySecond(wanted) {
  const [, tick] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    if (!wanted) return undefined;
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [wanted]);
}

function Head({ id, moments, view }) {
  const row = moments.row;
  const waiting = !view.closed_at && moments.isLive;
  useEverySecond(waiting);
  const ended = waiting ? Math.max(Date.now(), Date.parse(view.moment_at)) : Date.parse(view.closed_at ?? view.moment_at);
  const topic = view.topic || '(no topic)';
  const open = row?.status === 'open';
  return html`
    <div class="debate-head">
      <div class="row"><span class="crumbs"><a href="#/debates">Debates</a> / <a href=${`#/debates?panel=${view.panel}`}>${view.panel}</a> / <span class="mono">${id}</span></span>
        <span class="row end">
          <a class="button tiny" href=${`${moments.path}/export`} download=${`${id}.jsonl`}>Export</a>
          ${open && html`<${Cancel} row=${row} />`}
        </span></div>
      <h1 class=${topic.length > LONG_TOPIC ? 'long' : ''} title=${topic.length > LONG_TOPIC ? topic : undefined}>${topic}</h1>
      <div class="facts-line">
        ${view.status ? html`<${Chip} label=${view.status} />` : html`<span class="chip tone-accent"><i class="pulse" aria-hidden="true"></i><span>${view.phase}</span></span>`}
        <span>${date(view.submitted_at)}</span>
        <span>${view.closed_at ? 'took' : 'for'} <b>${span(ended - Date.parse(view.submitted_at))}</b></span>
        ${view.tags.map((tag) => html`<span key=${tag} class="chip"><span>${tag}</span></span>`)}
        ${view.setting.map(([name, value]) => html`<span key=${name}>${name} <b>${value}</b></span>`)}
      </div>
    </div>`;
}
