// Who is there, what waits for them, and what nobody could do.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { call, post } from './api.js';
import { Avatar, Card, Chip, Problem } from './parts.js';
import { age, count, many, voices } from './words.js';

const EVERY_MS = 2000;

export function Agents({ wire }) {
  const [roll, setRoll] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async () => {
      try {
        const found = await call('/agents');
        if (gone) return;
        setRoll(found);
        setError(null);
        wire('on');
      } catch (refused) {
        if (gone) return;
        setError(refused);
        wire('lost');
      }
      timer = setTimeout(ask, EVERY_MS);
    };
    ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  if (!roll) return error ? html`<${Problem} error=${error} />` : html`<p class="muted">The agents are being called…</p>`;
  const panels = Map.groupBy ? Map.groupBy(roll.agents, (one) => one.panel ?? '') : grouped(roll.agents);
  const seated = [...panels.keys()].filter(Boolean);
  return html`
    <div class="headline"><h1>Agents</h1><span class="muted" role="status">${many(roll.agents.length, 'process', 'processes')} answered</span></div>
    ${error && html`<${Problem} error=${error} />`}
    <div class="board">
      <div class="panels">
        ${seated.map((name) => html`<${Panel} key=${name} name=${name} agents=${panels.get(name)} queues=${roll.queues} />`)}
        ${seated.length === 0 && html`<div class="card nothing">No agent answers. Start some with parley up or parley agent.</div>`}
        ${panels.get('')?.length > 0 && html`<${Others} agents=${panels.get('')} />`}
      </div>
      <div class="panels">
        <${Queues} queues=${roll.queues} />
        <${Dead} dead=${roll.dead} />
      </div>
    </div>`;
}

function grouped(agents) {
  const found = new Map();
  for (const one of agents) found.set(one.panel ?? '', [...(found.get(one.panel ?? '') ?? []), one]);
  return found;
}

function Panel({ name, agents, queues }) {
  const personas = [...new Set(agents.map((one) => one.persona))];
  const voice = voices(personas);
  const depth = (persona) => queues.find((one) => one.name === `${name}-${persona}`);
  return html`
    <${Card} title=${name} about=${many(personas.length, 'persona')}>
      <ul class="seats">${personas.map((persona) => {
        const replicas = agents.filter((one) => one.persona === persona);
        const queue = depth(persona);
        return html`<li class="seat" key=${persona}><${Avatar} name=${persona} voice=${voice(persona)} />
          <div><div class="name">${persona}<${Chip} label=${many(replicas.length, 'replica')} as="good" mark="●" /></div>
            <div class="muted small">${replicas[0].labels.brain ?? ''}</div>
            <div class="muted small">${figures(replicas)}${queue ? ` · ${queue.pending} waiting, ${queue.in_flight} in flight` : ''}</div>
          </div></li>`;
      })}</ul>
    </${Card}>`;
}

const KNOWN = { requests: 'asks', asked: 'asks', turns: 'turns', failures: 'failures', errors: 'failures', failed: 'failures' };

function figures(replicas) {
  const sums = new Map();
  for (const one of replicas) {
    for (const [name, value] of Object.entries(one.figures)) sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return [...sums].map(([name, value]) => `${KNOWN[name] ?? name.replaceAll('_', ' ')} ${Number.isInteger(value) ? count(value) : value.toFixed(2)}`).join(', ');
}

const Others = ({ agents }) => html`
  <${Card} title="Coordinators" about=${many(agents.length, 'process', 'processes')}>
    <div class="scroll"><table><thead><tr><th scope="col">Role</th><th scope="col">Id</th><th scope="col">Version</th><th scope="col">Figures</th></tr></thead>
      <tbody>${agents.map((one) => html`<tr key=${one.id}><th scope="row">${one.role}</th><td class="mono">${one.id.slice(0, 12)}</td><td>${one.version}</td><td class="muted small">${figures([one])}</td></tr>`)}</tbody></table></div>
  </${Card}>`;

const Queues = ({ queues }) => html`
  <${Card} title="Queues" about="what waits to be answered">
    ${queues.length === 0 ? html`<p class="muted">No queue is known.</p>` : html`
    <div class="scroll"><table><thead><tr><th scope="col">Queue</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">In flight</th><th scope="col" class="number">Again</th></tr></thead>
      <tbody>${queues.map((one) => html`<tr key=${one.name}><th scope="row">${one.name}</th><td class="number">${count(one.pending)}</td><td class="number">${count(one.in_flight)}</td><td class="number">${count(one.redelivered)}</td></tr>`)}</tbody></table></div>`}
  </${Card}>`;

function Dead({ dead }) {
  return html`
    <${Card} title="Dead letters" about="asks that nobody could answer">
      ${dead.length === 0 ? html`<p class="muted">None.</p>` : html`<ul class="stack">${dead.map((one) => html`<${Letter} key=${one.number} letter=${one} />`)}</ul>`}
    </${Card}>`;
}

function Letter({ letter }) {
  const [state, setState] = useState('');
  const redrive = async () => {
    setState('asking…');
    try {
      setState((await post(`/dead-letters/${letter.number}/redrive`, {})).result.replaceAll('_', ' '));
    } catch (refused) {
      setState(refused.message);
    }
  };
  return html`
    <li class="row"><span><b>${letter.persona ?? letter.queue ?? 'a record'}</b>
      ${letter.debate_id && html` in <a href=${`#/debates/${letter.debate_id}`}>${letter.debate_id}</a>`} ${letter.step && html`<span class="muted">${letter.step}</span>`}
      <div class="muted small">${letter.reason}, ${many(letter.attempts, 'attempt')}, ${age(letter.time)} ago</div></span>
      <span class="end row"><span class="small muted" role="status">${state}</span>
        <button class="button tiny" type="button" onClick=${redrive} aria-label=${`Redrive dead letter ${letter.number}`}>Redrive</button></span></li>`;
}
