// The axes of a deliberation by iteration, how far it has come, and what is still to choose from.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { call } from './api.js';
import { Card, Chip, Share } from './parts.js';
import { many, share } from './words.js';

// Where it would take a screen or two, what is said of the options is folded.
const NARROW = '(max-width: 640px)';

export function DeliberationHero({ view, path }) {
  return html`
    <${Question} path=${path} />
    ${view.iterations.length > 0 && html`<${Axes} view=${view} />`}`;
}

// A question in free words has no file, and nothing to show here.
function Question({ path }) {
  const [asked, setAsked] = useState(null);
  useEffect(() => {
    let gone = false;
    call(`${path}/question`).then((found) => gone || setAsked(found), () => {});
    return () => { gone = true; };
  }, [path]);
  if (!asked) return null;
  const about = (option) => asked.evidence.filter((one) => one.option === option.id);
  return html`
    <${Card} title="The question" about=${`${many(asked.options.length, 'option')}, ${many(asked.criteria.length, 'criterion', 'criteria')}`}>
      <dl class="options">${asked.options.map((option) => html`
        <dt key=${option.id}>${option.text || option.id}</dt>
        <dd><details open=${!matchMedia(NARROW).matches}><summary>${many(about(option).length, 'statement')}</summary><ul>${about(option).map((one) => html`
          <li><${Chip} label=${one.for == null ? 'against' : 'for'} as=${one.for == null ? 'bad' : 'good'} />
            <b>${one.criterion}</b> ${share(one.for ?? one.against)} <span class="muted">${one.text}</span></li>`)}</ul></details></dd>`)}</dl>
      <p class="facts-line small">weights ${asked.criteria.map((one) => html`<span key=${one.name}>${one.name} <b>${share(one.weight)}</b></span>`)}</p>
    </${Card}>`;
}

export function DeliberationSide({ view }) {
  return html`
    ${view.candidates.length > 0 && html`<${Candidates} view=${view} />`}
    ${view.dissent.length > 0 && html`
      <${Card} title="Dissent"><ul class="stack">${view.dissent.map((one) => html`
        <li key=${one.agent}><b>${one.agent}</b> holds <b>${one.position}</b>${one.reason && html`<p class="muted small">${one.reason}</p>`}</li>`)}</ul></${Card}>`}
    ${view.warnings.map((warning) => html`<p class="notice calm">${warning}</p>`)}`;
}

function Axes({ view }) {
  const last = view.iterations[view.iterations.length - 1];
  const tracked = last.d_current !== null;
  return html`
    <${Card} title=${tracked ? 'Axes by iteration' : 'Iterations'} about=${`${view.theta}, ${view.regime}`}
      end=${tracked && html`<${Dimension} now=${last.d_current} least=${last.d_min} />`}>
      <ol class="axes">${view.iterations.map((one) => html`
        <li key=${one.iteration}><span class="step">${one.iteration}</span>
          <div class="stack">
            ${tracked && html`<div class="names">
              ${one.new_axes.map((axis) => html`<span class=${`axis ${axis.forced ? 'forced' : ''}`} key=${axis.name} title=${axis.difference}>${axis.name} <small>${axis.forced ? '⚑ forced' : axis.raised_by.join(', ')}</small></span>`)}
              ${one.new_axes.length === 0 && html`<span class="muted">nothing new</span>`}</div>`}
            <div class="facts-line small">
              ${tracked && html`<span>orthogonality <b>${share(one.orthogonality)}</b>${saturated(one, view) && ' (saturated)'}</span><span>D <b>${one.d_current}</b> of ${one.d_min}</span>`}
              ${one.change !== null && html`<span>change <b>${share(one.change)}</b></span>`}
              ${one.confidence !== null && html`<span>confidence <b>${share(one.confidence)}</b></span>`}
              ${one.sensitivity && html`<span>sensitivity <b>${one.sensitivity}</b></span>`}
            </div>
          </div></li>`)}</ol>
    </${Card}>`;
}

const saturated = (one, view) => one.orthogonality !== null && one.orthogonality < view.orthogonality_epsilon;

function Dimension({ now, least }) {
  const steps = Math.max(now, least);
  return html`<span class="row small"><span>D ${now} of D_min ${least} ${now >= least ? '✓' : ''}</span>
    <span class="dimension" aria-hidden="true">${Array.from({ length: Math.min(steps, 16) }, (_, at) => html`<i class=${at < now ? 'full' : ''}></i>`)}</span></span>`;
}

function Candidates({ view }) {
  const why = new Map(view.rejected.map((one) => [one.id, one.reason]));
  return html`
    <${Card} title="Candidates" about=${many(view.candidates.length, 'candidate')}>
      <div class="scroll"><table><thead><tr><th scope="col">Candidate</th><th scope="col">Score</th><th scope="col">Why not</th></tr></thead>
        <tbody>${view.candidates.map((one, at) => html`<tr key=${one.id}><th scope="row">${one.id} ${at === 0 && html`<${Chip} label="leads" as="good" />`}</th>
          <td><${Share} value=${one.score} as=${at === 0 ? 'good' : 'calm'} /></td><td class="muted small">${why.get(one.id) ?? one.reason}</td></tr>`)}</tbody></table></div>
    </${Card}>`;
}
