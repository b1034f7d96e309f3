// An image, what can be made visible in it, and what each agent measured.
import { html, useState } from './vendor/htm-preact.js';
import { Card } from './parts.js';
import { glyph, share, spoken, tone } from './words.js';

// Larger images are analysed in a crop around their centre, of this many pixels.
const ANALYSED_PIXELS = 2_000_000;
// These show no place in the image: they stand beside it, not over it.
const NO_PLACE = new Set(['spectrum']);

export const VerdictHero = ({ view, path }) => view.image && html`<${Evidence} view=${view} path=${path} />`;

export const VerdictSide = ({ view }) =>
  view.evidence.some((one) => Object.keys(one.belief).length) && html`<${Beliefs} view=${view} />`;

function Evidence({ view, path }) {
  const [name, setName] = useState('');
  const [opacity, setOpacity] = useState(70);
  const [boxes, setBoxes] = useState(true);
  const [size, setSize] = useState(null);
  const [state, setState] = useState('');
  const map = view.maps.find((one) => one.name === name);
  const choose = (next) => {
    setName(next);
    setState(next ? 'loading' : '');
  };
  const alone = NO_PLACE.has(name);
  const drawn = (style) => html`<img class=${alone ? '' : 'over'} key=${map.name} src=${`${path}/maps/${map.name}.png`} alt=${`${map.title}: ${map.caption}`}
    style=${style} onLoad=${() => setState('')} onError=${() => setState('missing')} />`;
  return html`
    <${Card} title="The image" about=${map ? map.title : size ? `${size.width} × ${size.height} pixels` : ''}>
      <div class="stack">
        <div class=${alone ? 'picture beside' : 'picture'}><div class="layers">
          <img src=${`${path}/blobs/${view.image.sha256}`} alt="The image under debate" onLoad=${(event) => setSize({ width: event.target.naturalWidth, height: event.target.naturalHeight })} />
          ${map && !alone && drawn({ opacity: opacity / 100, ...placed(size) })}
          ${boxes && size && view.regions.length > 0 && html`<${Boxes} regions=${view.regions} size=${size} />`}
        </div>${alone && map && drawn({})}</div>
        <div class="row">
          <div class="segments tight" role="radiogroup" aria-label="Evidence map">
            <label><input type="radio" name="map" checked=${name === ''} onChange=${() => choose('')} />Image</label>
            ${view.maps.map((one) => html`<label key=${one.name}><input type="radio" name="map" checked=${name === one.name} onChange=${() => choose(one.name)} />${short(one.title)}</label>`)}
          </div>
          ${view.regions.length > 0 && html`<label class="row small"><input type="checkbox" checked=${boxes} onChange=${(event) => setBoxes(event.target.checked)} />suspect region</label>`}
        </div>
        ${map && !alone && html`
          <label class="slider"><span>image</span>
            <input type="range" min="0" max="100" value=${opacity} aria-label="How much of the map covers the image" style=${{ '--filled': `${opacity}%` }}
              onInput=${(event) => setOpacity(Number(event.target.value))} /><span>${map.title.toLowerCase()}</span></label>`}
        ${map && html`
          <p class="muted small" role="status">${state === 'loading' ? 'Being computed…' : state === 'missing' ? 'This map cannot be drawn here.' : map.caption}</p>`}
        ${view.regions.length > 0 && html`<p class="muted small">Suspect: ${view.regions.map((one) => `${one.width} × ${one.height} at (${one.x}, ${one.y}), ${share(one.score)}`).join('; ')}. Found by ${view.regions_about}.</p>`}
      </div>
    </${Card}>`;
}

const short = (title) => ({ 'Suspect regions': 'Regions', 'Noise residual': 'Noise', 'Frequency spectrum': 'Spectrum' })[title] ?? title;

function placed(size) {
  const all = size ? size.width * size.height : 0;
  if (all <= ANALYSED_PIXELS) return {};
  const part = Math.sqrt(ANALYSED_PIXELS / all) * 100;
  const edge = `${(100 - part) / 2}%`;
  return { left: edge, top: edge, width: `${part}%`, height: `${part}%` };
}

const Boxes = ({ regions, size }) => html`
  <svg viewBox=${`0 0 ${size.width} ${size.height}`} preserveAspectRatio="none" aria-hidden="true">
    ${regions.map((one, at) => html`
      <g key=${at}><rect class="box" x=${one.x} y=${one.y} width=${one.width} height=${one.height} />
        <rect class="box inner" x=${one.x} y=${one.y} width=${one.width} height=${one.height} /></g>`)}
  </svg>`;

// A narrow part has room for its sign and number only.
const worded = (name, value) => {
  if (value > 0.36) return `${glyph(name)} ${spoken(name)} ${share(value)}`;
  return value > 0.11 ? `${glyph(name)} ${share(value)}` : '';
};

function Beliefs({ view }) {
  return html`
    <${Card} title="What each agent measured" about="its own evidence, before anybody was heard">
      <ul class="beliefs">${view.evidence.map((one) => html`
        <li key=${one.agent}><b>${one.agent}</b>
          <div><div class="stacked" role="img" aria-label=${Object.entries(one.belief).map(([name, value]) => `${spoken(name)} ${share(value)}`).join(', ')}>
            ${Object.entries(one.belief).map(([name, value]) => html`<i key=${name} class=${`tone-${tone(name)}`} style=${{ width: `${value * 100}%` }} title=${`${spoken(name)} ${share(value)}`}>${worded(name, value)}</i>`)}</div>
            ${one.measurements.length > 0 && html`<details><summary>${one.measurements.length} measurements${one.trust === null ? '' : `, trust ${share(one.trust)}`}</summary>
              <div class="scroll"><table><thead><tr><th scope="col">Measurement</th><th scope="col" class="number">Value</th><th scope="col">Meaning</th></tr></thead>
                <tbody>${one.measurements.map((figure) => html`<tr key=${figure.name}><th scope="row">${figure.name}</th><td class="number nowrap">${share(figure.value)} ${figure.unit}</td><td class="muted small">${figure.meaning}</td></tr>`)}</tbody></table></div></details>`}
          </div></li>`)}</ul>
    </${Card}>`;
}
