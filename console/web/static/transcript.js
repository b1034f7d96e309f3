// What was said, in the order of the log; whoever speaks at this moment comes last.
import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { Avatar, Card, Chip, Share } from './parts.js';
import { capital, clock, many, share, span, spoken, tone } from './words.js';

const SPEECH = new Set(['turn', 'failed', 'late', 'missed']);
const NEAR_END_PX = 220;
const LONG_SPEECH = 1000;
const CUT_SPEECH = 800;

export function Transcript({ view, partials, live, voice, open }) {
  const end = useRef(null);
  const count = view.transcript.length + partials.length;
  // A reader who is at the end stays there; one who reads above is left in peace.
  useEffect(() => {
    if (!live || view.closed_at) return;
    const below = end.current.getBoundingClientRect().top - innerHeight;
    if (below > 0 && below < NEAR_END_PX) end.current.scrollIntoView({ block: 'end', behavior: 'smooth' });
  }, [count]);
  return html`
    <${Card} title="Transcript" about=${many(view.transcript.length, 'fact')}>
      <div class="transcript" role="log" aria-label="Transcript" aria-live=${live ? 'polite' : 'off'}>
        ${grouped(view).map(([entry, heading]) => html`
          <${Line} key=${entry.ordinal} entry=${entry} heading=${heading} voice=${voice} open=${open} />`)}
        ${partials.map((said) => html`
          <div class="speech" key=${`${said.step}/${said.persona}`} data-partial=${said.persona}>
            <${Avatar} name=${said.persona} voice=${voice(said.persona)} />
            <div><div class="top"><b>${said.persona}</b><span class="muted small">is speaking${said.attempt > 1 ? `, attempt ${said.attempt}` : ''}</span></div>
              <p class="text partial">${said.text}</p></div>
          </div>`)}
      </div>
      <div ref=${end}></div>
    </${Card}>`;
}

// A heading stands where a new part begins.
function grouped(view) {
  let last = '';
  return view.transcript.map((entry) => {
    if (entry.kind !== 'step') return [entry, null];
    const heading = entry.part === last ? null : entry.part;
    last = entry.part;
    return [entry, heading];
  });
}

function Line({ entry, heading, voice, open }) {
  const declared = entry.declaration;
  return html`
    <div data-ordinal=${entry.ordinal} id=${`fact-${entry.ordinal}`}>
      ${declared && html`<${DeclaredLine} declared=${declared} />`}
      ${SPEECH.has(entry.kind)
        ? html`<${Speech} entry=${entry} voice=${voice} open=${open} />`
        : html`<${Event} entry=${entry} heading=${heading} open=${open} />`}
    </div>`;
}

const DeclaredLine = ({ declared }) => html`
  <div class="declared-line">
    <${Chip} label=${declared.status} as=${declared.status === 'terminate' ? 'warn' : 'calm'} mark=${declared.status === 'terminate' ? '■' : '▸'} />
    <span>${declared.justification}</span>
  </div>`;

const KIND_WORDS = { missed: 'no answer', late: 'too late, counts for nothing', failed: '' };

function Change({ entry }) {
  const { verdict, confidence } = entry.before;
  if (verdict !== entry.verdict) return html`<span class="change yes">⇄ was ${spoken(verdict)} ${share(confidence)}</span>`;
  const shift = (entry.confidence - confidence).toFixed(2);
  return html`<span class="change">${Number(shift) ? `${shift > 0 ? '+' : ''}${shift}` : 'unchanged'}</span>`;
}

function Speech({ entry, voice, open }) {
  const quiet = entry.kind !== 'turn';
  return html`
    <article class=${`speech ${quiet ? 'quiet' : ''}`}>
      <${Avatar} name=${entry.persona} voice=${voice(entry.persona)} />
      <div>
        <div class="top">
          <b>${entry.persona}</b>
          ${entry.verdict && html`<${Chip} label=${entry.verdict} />`}
          ${entry.confidence !== null && html`<${Share} value=${entry.confidence} as=${tone(entry.verdict)} />`}
          ${entry.before && html`<${Change} entry=${entry} />`}
          ${entry.headline && html`<span class="muted small">${entry.headline}</span>`}
          ${entry.note && html`<span class="muted small">${entry.note}</span>`}
          ${KIND_WORDS[entry.kind] && html`<span class="small">${KIND_WORDS[entry.kind]}</span>`}
          <span class="end">
            ${entry.tokens > 0 && html`<span class="muted small nowrap">${many(entry.tokens, 'token')}</span>`}
            ${entry.seconds > 0 && html`<span class="muted small nowrap took">${span(entry.seconds * 1000)}</span>`}
            <${Ordinal} entry=${entry} open=${open} />
          </span>
        </div>
        ${entry.text && html`<${Said} text=${entry.text} />`}
        ${!entry.text && entry.points.length === 1 ? html`<p class="text">${entry.points[0]}</p>` : html`<${Grounds} said=${entry.points} />`}
        <${Grounds} said=${entry.arguments} />
      </div>
    </article>`;
}

const Grounds = ({ said }) => said.length > 0 && html`<ul class="points">${said.map((one) => html`<li>${one}</li>`)}</ul>`;

// A long speech is cut until somebody wants all of it.
function Said({ text }) {
  const [whole, setWhole] = useState(false);
  if (whole || text.length <= LONG_SPEECH) return html`<p class="text">${text}</p>`;
  return html`<p class="text">${text.slice(0, CUT_SPEECH)}… <button class="button tiny" type="button" onClick=${() => setWhole(true)}>Show all</button></p>`;
}

function Event({ entry, heading, open }) {
  if (entry.kind === 'step') {
    return heading && html`
      <div class="divider"><div><span>${sentence(heading)}</span></div>
        ${entry.points.length > 0 && html`<ul>${entry.points.map((point) => html`<li>${point}</li>`)}</ul>`}</div>`;
  }
  if (!entry.headline) return null;
  const last = entry.kind === 'terminated' || entry.kind === 'closed' || entry.kind === 'decided';
  return html`
    <div class=${`event ${last ? 'end-of-debate' : ''}`}>
      <div class="told"><span>${sentence(entry.headline)}</span>
        ${entry.points.length > 0 && (entry.kind === 'decided'
          ? html`<details><summary>why</summary><${Points} points=${entry.points} /></details>`
          : html`<${Points} points=${entry.points} />`)}</div>
      <span class="end"><span class="muted small nowrap">${clock(entry.time)}</span><${Ordinal} entry=${entry} open=${open} /></span>
    </div>`;
}

const Points = ({ points }) => html`<ul class="muted small">${points.map((point) => html`<li>${point}</li>`)}</ul>`;

const Ordinal = ({ entry, open }) => html`
  <button class="ordinal" type="button" onClick=${() => open(entry.ordinal)}
    aria-label=${`Fact ${entry.ordinal} as JSON`} title=${`${entry.time}: open as JSON`}>#${entry.ordinal}</button>`;

const sentence = (text) => capital(spoken(text));
