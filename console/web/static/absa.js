// A sentence before and after, and every decision in between.
import { html } from './vendor/htm-preact.js';
import { Card, Chip, Meter } from './parts.js';
import { glyph, share, spoken, tone } from './words.js';

export const AbsaHero = ({ view }) => html`<${Sentences} view=${view} />`;

export function AbsaSide({ view }) {
  return html`
    ${view.edits.length > 0 && html`<${Edits} edits=${view.edits} />`}
    ${(view.gate.length > 0 || view.adoption) && html`<${Gate} view=${view} />`}
    ${view.moderator && html`<${Moderator} moderator=${view.moderator} />`}`;
}

function Sentences({ view }) {
  return html`
    <${Card} title="The sentence" about=${`language ${view.language}`}>
      <div class="two">
        ${view.doubt && html`<p class="notice calm">${view.doubt}</p>`}
        ${view.before
          ? html`<div><span class="tag">before the debate</span><${Sentence} read=${view.before} language=${view.language} /></div>`
          : html`<p class="sentence" lang=${view.language}>${view.text}</p>`}
        ${view.after && html`<div><span class="tag">after</span><${Sentence} read=${view.after} language=${view.language} /></div>`}
        ${view.after && html`<${Opinions} before=${view.before} after=${view.after} />`}
      </div>
    </${Card}>`;
}

const Sentence = ({ read, language }) => html`
  <p class="sentence" lang=${language}>${read.pieces.map((piece) => (piece.polarities.length
    ? html`<mark class=${`tone-${tone(piece.polarities[0])}`}>${piece.text}<sup aria-hidden="true">${piece.polarities.map(glyph).join('')}</sup><span class="unseen"> (${piece.polarities.join(', ')})</span></mark>`
    : piece.text))}</p>`;

function Opinions({ before, after }) {
  const was = new Map((before?.opinions ?? []).map((one) => [one.aspect, one]));
  return html`
    <div class="scroll"><table>
      <thead><tr><th scope="col">Aspect</th><th scope="col">Before</th><th scope="col">After</th><th scope="col">Evidence</th></tr></thead>
      <tbody>${after.opinions.map((one) => {
        const old = was.get(one.aspect);
        const moved = old?.polarity !== one.polarity;
        return html`<tr key=${one.aspect}><th scope="row">${one.aspect}</th>
          <td>${old ? html`<${Opinion} one=${old} />` : html`<span class="muted">absent</span>`}</td>
          <td><${Opinion} one=${one} />${moved && html` <span class="change yes">⇄ changed</span>`}</td>
          <td class="muted small">${one.evidence}</td></tr>`;
      })}</tbody></table></div>`;
}

const Opinion = ({ one }) => html`<span class="arrow"><${Chip} label=${one.polarity ?? 'unknown'} /><span class="muted small">${share(one.confidence)}</span></span>`;

const Edits = ({ edits }) => html`
  <${Card} title="Proposed edits" about="in the order they were made">
    <div class="scroll"><table>
      <thead><tr><th scope="col">By</th><th scope="col">Edit</th><th scope="col">Aspect</th><th scope="col">Change</th><th scope="col">Evidence</th><th scope="col" class="number">Sure</th></tr></thead>
      <tbody>${edits.map((edit, at) => html`
        <tr key=${at}><th scope="row" title=${edit.author}>${edit.persona}</th><td>${spoken(edit.op)}</td><td>${edit.aspect}</td>
          <td><span class="arrow">${edit.before && html`<${Chip} label=${edit.before} />`}${edit.after && html`<span aria-hidden="true">→</span><span class="unseen">becomes</span><${Chip} label=${edit.after} />`}</span></td>
          <td class="muted small">${edit.evidence && `“${edit.evidence}”`}</td><td class="number">${share(edit.confidence)}</td></tr>`)}</tbody>
    </table></div>
  </${Card}>`;

function Gate({ view }) {
  const { min_total: total, min_margin: margin, ev_threshold: needed } = view.thresholds;
  return html`
    <${Card} title="The override gate" about=${`total ≥ ${total}, margin ≥ ${margin}, profile ${view.thresholds.profile_id}`}>
      ${view.gate.length === 0 ? html`<p class="muted">No aspect came before the gate.</p>` : html`
      <div class="scroll"><table>
        <thead><tr><th scope="col">Aspect</th><th scope="col">Decision</th><th scope="col">Reason</th><th scope="col">Total / ${total}</th><th scope="col">Margin / ${margin}</th></tr></thead>
        <tbody>${view.gate.map((one) => html`
          <tr key=${one.aspect}><th scope="row">${one.aspect}</th>
            <td><span class="arrow"><${Chip} label=${one.decision} mark=${one.decision === 'APPLY' ? '✓' : '–'} />${one.target && html`<${Chip} label=${one.target} />`}</span></td>
            <td>${one.reason}${one.evidence && html`<div class="muted small">evidence: ${one.evidence}</div>`}</td>
            <td><${Against} value=${one.total} limit=${total} /></td><td><${Against} value=${one.margin} limit=${margin} /></td></tr>`)}</tbody>
      </table></div>`}
      ${view.adoption && html`
        <p class="row"><b>Adoption</b><${Chip} label=${view.adoption.decision} mark=${view.adoption.decision === 'adopted' ? '✓' : '–'} />
          <span>${view.adoption.reason}</span><span class="muted small">evidence value ${share(view.adoption.score)} against ${share(needed)}:
          ${Object.entries(view.adoption.components).map(([name, value]) => ` ${spoken(name)} ${share(value)}`).join(',')}</span></p>`}
      ${view.corrections.length > 0 && html`
        <details><summary>What the reviews corrected</summary><ul class="small">
          ${view.corrections.map((one, at) => html`<li key=${at}>${one}</li>`)}</ul></details>`}
    </${Card}>`;
}

const Against = ({ value, limit }) => html`
  <span class="share"><${Meter} value=${value / Math.max(limit * 1.5, value, 0.001)} as=${value >= limit ? 'good' : 'warn'}
    limit=${limit / Math.max(limit * 1.5, value, 0.001)} /><span class="nowrap">${share(value)} ${value >= limit ? '✓' : '✗'}</span></span>`;

const Moderator = ({ moderator }) => html`
  <${Card} title="The moderator" about=${`${moderator.label}, confidence ${share(moderator.confidence)}, from ${moderator.stage}`}>
    <ol class="rules">${moderator.rules.map((rule) => html`
      <li key=${rule.name} class=${rule.fired ? '' : 'idle'}>
        <span aria-hidden="true">${rule.fired ? '●' : '○'}</span><b>${rule.name}</b>
        <span>${rule.about}${rule.fired ? html`: <b>${rule.said}</b>` : html`<span class="unseen"> (did not fire)</span>`}</span></li>`)}</ol>
    ${moderator.notes.map((note) => html`<p class="muted small">${note}</p>`)}
  </${Card}>`;
