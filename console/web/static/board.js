// Where everybody stands, what was declared, what it cost.
import { html } from './vendor/htm-preact.js';
import { Avatar, Card, Chip, Meter, Share } from './parts.js';
import { capital, count, many, money, share, span, spoken, tone } from './words.js';

const LONG_LABEL = 40;
const WIDE_COLUMNS = 4;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LONG_RATIONALE = 260;

export function Outcome({ view }) {
  const outcome = view.outcome;
  if (!outcome) {
    const waits = view.waiting.length ? `waiting for ${view.waiting.join(', ')}` : '';
    return html`
      <section class=${`card outcome tone-${view.status ? tone(view.status) : 'accent'}`} aria-label="Where it stands">
        <div class="row"><span class=${`label ${view.moment.length > LONG_LABEL ? 'long' : ''}`}>${capital(spoken(view.moment))}</span><span class="muted">${waits}</span>
          ${view.personas.some((one) => one.mark === 'awaited') && html`<a class="button main end" href=${`#/waiting?debate=${view.id}`}>Answer</a>`}</div>
        ${view.reason && html`<p class="muted">Over by ${because(view)}.</p>`}
        ${view.errors.length > 0 && html`<${Missed} errors=${view.errors} />`}
      </section>`;
  }
  return html`
    <section class=${`card outcome tone-${outcome.tone ?? tone(outcome.label)}`} aria-label="Outcome">
      <div class="row">
        <span class=${`label ${outcome.label.length > LONG_LABEL ? 'long' : ''}`}>${capital(spoken(outcome.label))}</span>
        ${outcome.confidence !== null && html`<${Share} value=${outcome.confidence} as=${outcome.tone ?? tone(outcome.label)} />`}
        <span class="end muted small">${view.reason && because(view)}</span>
      </div>
      ${outcome.report && html`<p class="report">${outcome.report}</p>`}
      ${outcome.quotes.length > 0 && html`<ul class="small muted" aria-label="Key evidence">${outcome.quotes.map((quote) => html`<li>“${quote}”</li>`)}</ul>`}
      ${outcome.rationale && html`<${Rationale} text=${outcome.rationale} />`}
      <div class="notes">${outcome.notes.map((note) => html`<span class="chip">${note}</span>`)}</div>
      ${view.errors.length > 0 && html`<${Missed} errors=${view.errors} />`}
    </section>`;
}

const because = (view) => [spoken(view.reason), view.reason_words].filter(Boolean).join(': ');

// The first sentence says it; the others are there for whoever wants them.
function Rationale({ text }) {
  const cut = text.length > LONG_RATIONALE ? text.indexOf('. ', 40) + 1 : 0;
  if (cut <= 0 || cut > LONG_RATIONALE) return html`<p>${text}</p>`;
  return html`<p>${text.slice(0, cut)}</p><details><summary>The whole rationale</summary><p>${text.slice(cut).trim()}</p></details>`;
}

const Missed = ({ errors }) => html`
  <details><summary>${many(errors.length, 'turn was', 'turns were')} missed or failed</summary>
    <ul class="small muted">${errors.map((error) => html`<li>${error}</li>`)}</ul></details>`;

export function Matrix({ view, voice }) {
  const { columns, rows } = view.matrix;
  if (columns.length === 0) return null;
  const keys = lettered(view.matrix);
  const roles = new Map(view.personas.map((seat) => [seat.name, [seat.role, seat.speciality].filter(Boolean).join(': ')]));
  const read = (ordinal) => {
    const line = document.getElementById(`fact-${ordinal}`);
    line?.scrollIntoView({ block: 'center', behavior: 'smooth' });
    const speech = line?.querySelector('.speech');
    speech?.classList.add('now');
    setTimeout(() => speech?.classList.remove('now'), 1600);
  };
  return html`
    <${Card} title="Who stood where" about=${view.matrix.about}>
      <div class="scroll"><table class=${`matrix ${keys ? 'dense' : ''}`}>
        <thead><tr><th class="who" scope="col"><span class="unseen">Persona</span></th>
          ${columns.map((column) => html`<th key=${column} scope="col">${keys ? brief(column) : column}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`
          <tr key=${row.persona}>
            <th class="who" scope="row"><span class="name" title=${roles.get(row.persona)}><${Avatar} name=${row.persona} voice=${voice(row.persona)} />${row.persona}</span></th>
            ${row.cells.map((cell, at) => html`<td key=${at}><${Cell} cell=${cell} read=${read} keys=${keys} /></td>`)}
          </tr>`)}</tbody>
      </table></div>
      ${keys && html`<ul class="keys">${[...keys].map(([words, key]) => html`<li key=${key}><span class=${`key tone-${tone(words)}`}>${key}</span>${spoken(words)}</li>`)}</ul>`}
    </${Card}>`;
}

// Many rounds leave no room for words: each verdict gets a letter, which is explained below.
function lettered({ columns, rows }) {
  if (columns.length <= WIDE_COLUMNS) return null;
  const words = new Set(rows.flatMap((row) => row.cells.map((cell) => cell.verdict)).filter(Boolean));
  return new Map([...words].map((one, at) => [one, LETTERS[at % LETTERS.length]]));
}
const brief = (column) => html`${column.replace(/^(round|iteration) /, '')}<span class="unseen"> ${column}</span>`;

const MARKS = { thinking: '… thinking', awaited: '… awaited', missed: '✗ missed', failed: '✗ failed', 'not asked': 'not asked' };

function Cell({ cell, read, keys }) {
  const mark = MARKS[cell.mark];
  if (!cell.verdict) return html`<div class="cell blank">${mark ?? 'silent'}</div>`;
  return html`
    <button type="button" class=${`cell tone-${tone(cell.verdict)} ${cell.changed ? 'changed' : ''}`}
      disabled=${cell.ordinal === null} onClick=${() => read(cell.ordinal)}>
      <span class="said">${keys ? html`<span aria-hidden="true">${keys.get(cell.verdict)}</span><span class="unseen">${spoken(cell.verdict)}</span>` : spoken(cell.verdict)}</span>
      ${cell.confidence !== null && html`<span class="sure"><${Meter} value=${cell.confidence} as=${tone(cell.verdict)} />${share(cell.confidence)}</span>`}
      ${cell.changed && html`<span class="flag">⇄<span class=${keys ? 'unseen' : ''}> changed</span></span>`}
      ${mark && html`<span class="flag">${mark}</span>`}
    </button>`;
}

export function Declarations({ view, open }) {
  const all = view.transcript.map((entry) => entry.declaration).filter(Boolean);
  if (all.length === 0) return null;
  const last = all[all.length - 1];
  return html`
    <${Card} title="Why it ${last.status === 'terminate' ? 'ended' : 'goes on'}" label="Declarations" about=${`${many(all.length, 'declaration')}, newest first`}>
      <div class="stack">
        <${Declaration} declared=${last} open=${open} />
        ${all.slice(0, -1).reverse().map((declared) => html`
          <details key=${declared.ordinal}><summary>after ${iteration(declared)}: ${declared.status}, ${declared.rule_words}</summary>
            <${Declaration} declared=${declared} open=${open} /></details>`)}
      </div>
    </${Card}>`;
}

const iteration = (declared) => (declared.iteration ? `round ${declared.iteration}` : 'the opening');

const OPS = { '<=': '≤', '>=': '≥', '==': '=', '!=': '≠' };

function Declaration({ declared, open }) {
  const ends = declared.status === 'terminate';
  return html`
    <div class=${`declaration tone-${ends ? 'warn' : 'calm'}`}>
      <div class="top">
        <${Chip} label=${declared.status} as=${ends ? 'warn' : 'calm'} mark=${ends ? '■' : '▸'} />
        <b>${declared.rule === declared.status ? declared.rule_words : spoken(declared.rule)}</b><span class="muted small">after ${iteration(declared)}</span>
        <button class="ordinal end" type="button" onClick=${() => open(declared.ordinal)} aria-label=${`Fact ${declared.ordinal} as JSON`}>#${declared.ordinal}</button>
      </div>
      ${declared.checks.length > 0 && html`
        <div class="scroll"><table class="checks">
          <thead><tr><th scope="col">Check</th><th scope="col" class="number">Value</th><th scope="col"><span class="unseen">Comparison</span></th>
            <th scope="col">Threshold</th><th scope="col">Met</th></tr></thead>
          <tbody>${declared.checks.map((check) => html`
            <tr key=${check.name} class=${check.held ? 'decisive' : ''}>
              <th scope="row">${check.name}</th>
              <td class="number">${check.value}</td><td class="sign">${OPS[check.op] ?? check.op}</td><td>${check.threshold}</td>
              <td class="met">${check.held === null ? '–' : check.held ? '✓ yes' : '✗ no'}</td>
            </tr>`)}</tbody></table></div>`}
      <p>${declared.justification}</p>
    </div>`;
}

export function Costs({ view, voice }) {
  const { personas, calls, input_tokens: read, output_tokens: written, cost, saved_calls: saved } = view.costs;
  if (personas.length === 0) return null;
  const longest = Math.max(...personas.map((one) => one.seconds), 0.001);
  const models = calls > 0;
  return html`
    <${Card} title="Cost" about=${models ? `${many(calls, 'model call')}, ${count(read + written)} tokens, ${money(cost)}` : 'no model was asked'}>
      <div class="scroll"><table>
        <thead><tr><th scope="col">Persona</th><th scope="col" class="number">Turns</th>
          ${models && html`<th scope="col" class="number">Tokens</th><th scope="col" class="number">Cost</th>`}
          <th scope="col">Time</th><th scope="col">Brain</th></tr></thead>
        <tbody>${personas.map((one) => html`
          <tr key=${one.persona}><th scope="row">${one.persona}</th><td class="number">${one.turns}</td>
            ${models && html`<td class="number">${count(one.input_tokens + one.output_tokens)}</td><td class="number">${money(one.cost)}</td>`}
            <td><span class="share"><span class=${`meter ${voice(one.persona)}`} aria-hidden="true"><i style=${{ width: `${(one.seconds / longest) * 100}%`, background: 'var(--voice)' }}></i></span><span class="nowrap">${span(one.seconds * 1000)}</span></span></td>
            <td class="muted small">${one.brain}</td></tr>`)}</tbody>
      </table></div>
      ${saved > 0 && html`<p class="small muted">Ending early saved ${many(saved, 'turn')}.</p>`}
    </${Card}>`;
}

