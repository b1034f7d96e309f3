// Small parts that several views are made of.
import { html, useEffect, useRef } from './vendor/htm-preact.js';
import { glyph, initials, share, spoken, tone } from './words.js';

export const Chip = ({ label, as, mark }) => html`
  <span class=${`chip tone-${as ?? tone(label)}`}>
    ${(mark ?? glyph(label)) && html`<span class="glyph" aria-hidden="true">${mark ?? glyph(label)}</span>`}
    <span>${spoken(label)}</span>
  </span>`;

export const Meter = ({ value, as, limit }) => html`
  <span class=${`meter ${as ? `tone-${as}` : ''} ${limit == null ? '' : 'mark'}`} aria-hidden="true">
    <i style=${{ width: `${Math.round(Math.min(1, Math.max(0, value ?? 0)) * 100)}%` }}></i>
    ${limit != null && html`<b style=${{ left: `${Math.min(1, limit) * 100}%` }}></b>`}
  </span>`;

export const Share = ({ value, as }) => html`
  <span class="share"><${Meter} value=${value} as=${as} /><span>${share(value)}</span></span>`;

export const Avatar = ({ name, voice }) => html`
  <span class=${`avatar ${voice}`} aria-hidden="true">${initials(name)}</span>`;

export const Problem = ({ error }) => html`
  <div class="notice" role="alert">
    ${error.message}
    ${error.mistakes?.length > 0 && html`<ul>${error.mistakes.map((one) => html`<li>${one}</li>`)}</ul>`}
  </div>`;

export const Card = ({ title, about, end, children, label }) => html`
  <section class="card" aria-label=${label ?? title}>
    <header><h2>${title}</h2>${about && html`<span class="muted">${about}</span>`}
      ${end && html`<span class="end">${end}</span>`}</header>
    ${children}
  </section>`;

export function Dialog({ label, onClose, children }) {
  const ref = useRef(null);
  useEffect(() => {
    ref.current.showModal();
  }, []);
  return html`
    <dialog ref=${ref} aria-label=${label} onClose=${onClose}
      onClick=${(event) => event.target === ref.current && ref.current.close()}>${children}</dialog>`;
}
