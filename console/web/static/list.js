// The debates: a list that stays up to date, filters, and a form to start one.
import { html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from './vendor/htm-preact.js';
import { call, post, query } from './api.js';
import { Listing, keyOf } from './listing.js';
import { Chip, Problem } from './parts.js';
import { Start } from './start.js';
import { age, count, many, short, spoken, span } from './words.js';

const STATES = [['', 'All'], ['open', 'Open'], ['completed', 'Completed'], ['failed', 'Failed'], ['cancelled', 'Cancelled']];
// What ends debates of any panel; each panel names its own reasons.
const REASONS = ['quorum_lost', 'budget_exhausted', 'cancelled', 'debate_disabled'];
const TYPING_MS = 250;
const SPARE_ROWS = 10;
const NARROW = '(max-width: 640px)';

export function Debates({ query: asked, wire }) {
  const [filter, setFilter] = useState(() => ({ panel: '', state: '', reason: '', text: '', ...asked }));
  const [panels, setPanels] = useState([]);
  const [starting, setStarting] = useState(false);
  const [, redraw] = useReducer((n) => n + 1, 0);
  const listing = useRef(null);
  const key = JSON.stringify(filter);

  useEffect(() => {
    call('/panels').then((found) => setPanels(found.panels), () => {});
    const ticking = setInterval(redraw, 5000);
    return () => clearInterval(ticking);
  }, []);
  useEffect(() => {
    history.replaceState(null, '', `#/debates${query(filter)}`);
    const opened = new Listing(filter, redraw, wire);
    listing.current = opened;
    redraw();
    return () => opened.close();
  }, [key]);

  const list = listing.current;
  return html`
    <div class="headline">
      <h1>Debates</h1>
      <span class="muted" role="status">${list?.loaded ? many(list.total, 'debate') : 'loading…'}</span>
      <button class="button main end" type="button" aria-expanded=${starting} onClick=${() => setStarting(!starting)}>
        ${starting ? 'Close the form' : 'New debate'}
      </button>
    </div>
    ${starting && html`<${Start} panels=${panels} />`}
    <${Filters} filter=${filter} panels=${panels} change=${(part) => setFilter({ ...filter, ...part })} />
    ${list?.error && html`<${Problem} error=${list.error} />`}
    ${list && html`<${Rows} list=${list} rows=${list.rows} total=${list.total} filtered=${key} />`}`;
}

function Filters({ filter, panels, change }) {
  const typing = useRef(0);
  const typed = (event) => {
    const text = event.target.value;
    clearTimeout(typing.current);
    typing.current = setTimeout(() => change({ text }), TYPING_MS);
  };
  const names = panels.map((panel) => panel.name);
  if (filter.panel && !names.includes(filter.panel)) names.push(filter.panel);
  const reasons = [...new Set([...panels.flatMap((panel) => panel.reasons), ...REASONS, ...(filter.reason ? [filter.reason] : [])])];
  return html`
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label class="field wide"><span>Search topic or id</span>
        <input type="search" value=${filter.text} onInput=${typed} placeholder="e.g. lease, photo.jpg" /></label>
      <fieldset class="field wide" style=${{ border: 0 }}>
        <span class="legend" id="state-legend">State</span>
        <div class="segments" role="radiogroup" aria-labelledby="state-legend">
          ${STATES.map(([value, words]) => html`
            <label key=${value}><input type="radio" name="state" value=${value} checked=${filter.state === value}
              onChange=${() => change({ state: value })} />${words}</label>`)}
        </div>
      </fieldset>
      <label class="field"><span>Panel</span>
        <select value=${filter.panel} onChange=${(event) => change({ panel: event.target.value })}>
          <option value="">All panels</option>
          ${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select></label>
      <label class="field"><span>Ended because of</span>
        <select value=${filter.reason} onChange=${(event) => change({ reason: event.target.value })}>
          <option value="">Any reason</option>
          ${reasons.map((reason) => html`<option key=${reason} value=${reason}>${spoken(reason)}</option>`)}
        </select></label>
    </form>`;
}

const HEADS = [
  ['State', 'c-state'], ['Topic', ''], ['Panel', 'c-panel'], ['Phase', 'c-round'], ['Outcome', 'verdict'],
  ['Tokens', 'c-tokens number'], ['Age', 'c-age number'], ['', 'act'],
];

// Only the rows in sight are in the document; the others are space.
function Rows({ list, rows, total, filtered }) {
  const body = useRef(null);
  const height = useRowHeight();
  const [[from, to], setRange] = useState([0, 40]);
  useLayoutEffect(() => {
    const look = () => {
      if (!body.current) return;
      const top = body.current.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(-top / height) - SPARE_ROWS);
      const last = Math.ceil((innerHeight - top) / height) + SPARE_ROWS;
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
      if (last > list.rows.length && list.next !== null) list.more();
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [list, height, rows.length, filtered]);
  if (list.loaded && total === 0) {
    return html`<div class="listing nothing">Nothing here yet. ${' '}
      ${Object.values(list.filter).some(Boolean) ? 'No debate fits the filter.' : 'Start a debate, or submit one with parley submit.'}</div>`;
  }
  const shown = [];
  for (let at = from; at < Math.min(to, total); at += 1) shown.push(at);
  return html`
    <div class="listing" role="table" aria-label="Debates" aria-rowcount=${total + 1}>
      <div role="rowgroup"><div class="tops" role="row" aria-rowindex="1">
        ${HEADS.map(([words, look]) => html`<span key=${look} role="columnheader" class=${look}>${words || html`<span class="unseen">Actions</span>`}</span>`)}
      </div></div>
      <div class="body" role="rowgroup" ref=${body} style=${{ height: `${total * height}px` }}>
        ${shown.map((at) => (rows[at]
          ? html`<${Row} key=${keyOf(rows[at])} row=${rows[at]} at=${at} top=${at * height} />`
          : html`<div key=${`ghost-${at}`} class="item ghost" style=${{ top: `${at * height}px` }}><span></span><span></span></div>`))}
      </div>
    </div>`;
}

function useRowHeight() {
  const narrow = useMemo(() => matchMedia(NARROW), []);
  const [height, setHeight] = useState(narrow.matches ? 84 : 58);
  useEffect(() => {
    const turned = () => setHeight(narrow.matches ? 84 : 58);
    narrow.addEventListener('change', turned);
    return () => narrow.removeEventListener('change', turned);
  }, []);
  return height;
}

function Row({ row, at, top }) {
  const open = row.status === 'open';
  const took = row.closed_at ? span(Date.parse(row.closed_at) - Date.parse(row.submitted_at)) : '';
  return html`
    <div class="item" role="row" aria-rowindex=${at + 2} style=${{ top: `${top}px` }} data-id=${row.id}>
      <span class="c-state" role="cell">${open
        ? html`<span class="chip tone-accent"><i class="pulse" aria-hidden="true"></i><span>open</span></span>`
        : html`<${Chip} label=${row.status} />`}</span>
      <span class="what" role="cell">
        <a href=${`#/debates/${row.id}`}>${row.topic || '(no topic)'}</a>
        <span class="small">${row.id}${took && ` · took ${took}`}</span>
      </span>
      <span class="c-panel muted" role="cell">${row.panel}</span>
      <span class="c-round muted" role="cell">${moment(row)}</span>
      <span class="verdict" role="cell">
        ${row.verdict && html`<${Chip} label=${row.verdict} as=${row.tone ?? 'calm'} />`}
        ${row.reason && html`<span class="small muted">${spoken(row.reason)}</span>`}
      </span>
      <span class="c-tokens number muted" role="cell" title=${`${count(row.tokens)} tokens, ${row.calls} model calls`}>${row.tokens ? short(row.tokens) : '–'}</span>
      <span class="c-age number muted nowrap" role="cell">${age(row.submitted_at)}</span>
      <span class="act" role="cell">${open && html`<${Cancel} row=${row} />`}</span>
    </div>`;
}

const moment = (row) => {
  if (row.phase === 'closed' && row.round != null) return many(row.round, 'round');
  if (row.phase !== 'running' || row.round == null) return row.phase;
  return row.round === 0 ? 'opening' : `round ${row.round}`;
};

export function Cancel({ row, look = 'tiny' }) {
  const [state, setState] = useState('');
  const cancel = async () => {
    if (state !== 'sure') {
      setState('sure');
      setTimeout(() => setState((now) => (now === 'sure' ? '' : now)), 4000);
      return;
    }
    setState('busy');
    try {
      await post(`/debates/${row.id}/cancel${query({ panel: row.panel })}`, { why: 'cancelled on the page' });
      setState('done');
    } catch (error) {
      setState(error.message);
    }
  };
  const words = { '': 'Cancel', sure: 'Really?', busy: '…', done: 'Asked' }[state];
  return html`
    <button class=${`button ${look} danger`} type="button" disabled=${state === 'busy' || state === 'done'} onClick=${cancel}
      aria-label=${`${words ?? 'Cancel'} ${row.id}`} title=${words ? 'Cancel this debate' : state}>${words ?? 'Refused'}</button>`;
}
