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
  const agents = roll.agents.filter((one) => one.panel !== null);
  const seats = seatsOf(agents, roll.queues);
  const panels = [...new Set(seats.map((seat) => seat.panel))];
  const others = roll.agents.filter((one) => one.panel === null);
  return html`
    <div class="headline"><h1>Agents</h1><span class="muted" role="status">${many(agents.length, 'agent')} alive, ${many(others.length, 'coordinator')}</span></div>
    ${error && html`<${Problem} error=${error} />`}
    <div class="board">
      <div class="stack">
        ${panels.map((name) => html`<${Panel} key=${name} name=${name} seats=${seats.filter((seat) => seat.panel === name)} />`)}
        ${panels.length === 0 && html`<div class="card nothing">No agent answers. Start some with parley up or parley agent.</div>`}
      </div>
      <div class="stack">
        <${Dead} dead=${roll.dead} total=${roll.dead_total} />
        <${Others} agents=${others} />
      </div>
    </div>`;
}

// A persona has a seat if it is alive or if its queue is there; both is as it should be.
function seatsOf(agents, queues) {
  const seats = new Map();
  for (const one of agents) {
    const key = `${one.panel}-${one.persona}`;
    const seat = seats.get(key) ?? { panel: one.panel, persona: one.persona, replicas: [], queue: null };
    seat.replicas.push(one);
    seats.set(key, seat);
  }
  for (const queue of queues) {
    const seat = seats.get(queue.name);
    if (seat) seat.queue = queue;
    else seats.set(queue.name, { panel: 'Queues that nobody serves', persona: queue.name, replicas: [], queue });
  }
  return [...seats.values()];
}

function Panel({ name, seats }) {
  const voice = voices(seats.map((seat) => seat.persona));
  return html`
    <${Card} title=${name} about=${many(seats.length, 'persona')}>
      <div class="scroll"><table>
        <thead><tr><th scope="col">Persona</th><th scope="col">Alive</th><th scope="col">Brain</th><th scope="col" class="number">Turns</th>
          <th scope="col" class="number">Waiting</th><th scope="col" class="number">In flight</th><th scope="col" class="number">Failures</th><th scope="col" class="number">Again</th></tr></thead>
        <tbody>${seats.map((seat) => html`<${Seat} key=${seat.persona} seat=${seat} voice=${voice} />`)}</tbody>
      </table></div>
    </${Card}>`;
}

function Seat({ seat, voice }) {
  const { persona, replicas, queue } = seat;
  const failures = total(replicas, 'failures');
  return html`
    <tr><th scope="row"><span class="name row"><${Avatar} name=${persona} voice=${voice(persona)} />${persona}</span></th>
      <td>${replicas.length ? html`<${Chip} label=${many(replicas.length, 'replica')} as="good" mark="●" />` : html`<${Chip} label="nobody" as="bad" mark="✗" />`}</td>
      <td class="muted small">${[...new Set(replicas.map((one) => one.labels.brain))].join(', ')}</td>
      <td class="number">${count(total(replicas, 'turns'))}</td>
      <td class="number">${queue ? count(queue.pending) : '–'}</td><td class="number">${queue ? count(queue.in_flight) : count(total(replicas, 'in_flight'))}</td>
      <td class="number">${failures > 0 ? html`<span class="change yes">${count(failures)}</span>` : 0}</td><td class="number">${queue ? count(queue.redelivered) : '–'}</td></tr>`;
}

const total = (replicas, figure) => replicas.reduce((sum, one) => sum + (one.figures[figure] ?? 0), 0);

const figures = (one) => Object.entries(one.figures).map(([name, value]) => `${name.replaceAll('_', ' ')} ${count(value)}`).join(', ');

const Others = ({ agents }) => html`
  <${Card} title="Coordinators" about=${many(agents.length, 'process', 'processes')}>
    <div class="scroll"><table><thead><tr><th scope="col">Role</th><th scope="col">Id</th><th scope="col">Version</th><th scope="col">Figures</th></tr></thead>
      <tbody>${agents.map((one) => html`<tr key=${one.id}><th scope="row">${one.role}</th><td class="mono">${one.id.slice(0, 12)}</td><td>${one.version}</td><td class="muted small">${figures(one)}</td></tr>`)}</tbody></table></div>
  </${Card}>`;

function Dead({ dead, total: all }) {
  const about = all > dead.length ? `the newest ${count(dead.length)} of ${count(all)}` : 'asks that nobody could answer';
  return html`
    <${Card} title="Dead letters" about=${about}>
      ${dead.length === 0 ? html`<p class="muted">None.</p>` : html`<ul class="stack">${[...dead].reverse().map((one) => html`<${Letter} key=${one.number} letter=${one} />`)}</ul>`}
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
