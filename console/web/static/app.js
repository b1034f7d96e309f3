// The frame of the page: which view, the theme, signing in.
import { html, render, useEffect, useState } from './vendor/htm-preact.js';
import { Agents } from './agents.js';
import { HEARD, call, post, signIn, spaced } from './api.js';
import { Debate } from './debate.js';
import { Debates } from './list.js';
import { Dialog, Problem } from './parts.js';
import { Waiting } from './waiting.js';

// Whether a person is awaited is looked at when something happens, not more often than this.
const AWAITED_MS = 30_000;
const TITLES = { agents: 'Agents', waiting: 'Waiting for you' };

function route() {
  const [path, search = ''] = decoded(location.hash.slice(1)).split('?');
  const query = Object.fromEntries(new URLSearchParams(search));
  const [view, id] = path.split('/').filter(Boolean);
  return { view: view in TITLES ? view : id ? 'debate' : 'debates', id, query };
}

function decoded(hash) {
  try {
    return decodeURI(hash);
  } catch {
    return hash;
  }
}

function App() {
  const [at, setAt] = useState(route);
  const [wire, setWire] = useState('');
  const [locked, setLocked] = useState(false);
  const [awaited, setAwaited] = useState(0);
  useEffect(() => {
    const moved = () => {
      if (location.hash === '#main') return;
      setAt((before) => {
        const now = route();
        if (before.view !== now.view || before.id !== now.id) {
          setWire('');
          scrollTo(0, 0);
          requestAnimationFrame(() => document.getElementById('main')?.focus({ preventScroll: true }));
        }
        return now;
      });
    };
    const lock = () => setLocked(true);
    addEventListener('hashchange', moved);
    signIn.addEventListener('needed', lock);
    return () => {
      removeEventListener('hashchange', moved);
      signIn.removeEventListener('needed', lock);
    };
  }, []);
  useEffect(() => {
    // The list of what waits tells by itself.
    if (at.view === 'waiting') return undefined;
    const look = () => document.hidden || call('/asks').then((found) => setAwaited(found.asks.length), () => {});
    const looking = spaced(look, AWAITED_MS);
    looking.again();
    addEventListener(HEARD, looking.again);
    document.addEventListener('visibilitychange', looking.again);
    return () => {
      looking.stop();
      removeEventListener(HEARD, looking.again);
      document.removeEventListener('visibilitychange', looking.again);
    };
  }, [at.view]);
  useEffect(() => {
    document.title = at.view === 'debate' ? `${at.id} · Parley` : `${TITLES[at.view] ?? 'Debates'} · Parley`;
  }, [at.view, at.id]);
  return html`
    <header class="bar">
      <a class="brand" href="#/debates" aria-label="Parley"><img src="/static/icon.svg" alt="" /><span>Parley</span></a>
      <nav aria-label="Views">
        <a href="#/debates" aria-current=${at.view in TITLES ? undefined : 'page'}>Debates</a>
        <a href="#/waiting" aria-current=${at.view === 'waiting' ? 'page' : undefined}>Waiting${awaited > 0 && html`<span class="badge">${awaited}</span>`}</a>
        <a href="#/agents" aria-current=${at.view === 'agents' ? 'page' : undefined}>Agents</a>
      </nav>
      <div class="end"><${Wire} state=${wire} /><${Theme} /></div>
    </header>
    <main id="main" tabindex="-1">
      ${at.view === 'agents' && html`<${Agents} wire=${setWire} />`}
      ${at.view === 'waiting' && html`<${Waiting} wanted=${at.query.debate} wire=${setWire} awaited=${setAwaited} />`}
      ${at.view === 'debates' && html`<${Debates} query=${at.query} wire=${setWire} />`}
      ${at.view === 'debate' && html`<${Debate} key=${at.id} id=${at.id} query=${at.query} wire=${setWire} />`}
    </main>
    ${locked && html`<${SignIn} />`}`;
}

const WIRES = { on: ['on', 'live'], lost: ['off', 'reconnecting…'], ended: ['', 'complete'], missing: ['off', 'not found'] };

function Wire({ state }) {
  const [look, words] = WIRES[state] ?? ['', 'connecting…'];
  return html`<span class=${`wire ${look}`} role="status" title=${words}><span>${words}</span></span>`;
}

function Theme() {
  const dark = () => matchMedia('(prefers-color-scheme: dark)').matches;
  const [chosen, setChosen] = useState(document.documentElement.dataset.theme ?? '');
  const now = chosen || (dark() ? 'dark' : 'light');
  const turn = () => {
    const next = now === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    localStorage.setItem('parley-theme', next);
    setChosen(next);
    dispatchEvent(new Event('parley-theme'));
  };
  return html`
    <button class="button bare icon" type="button" onClick=${turn}
      aria-label=${now === 'dark' ? 'Use the light theme' : 'Use the dark theme'}>
      <span aria-hidden="true">${now === 'dark' ? '☀' : '☾'}</span>
    </button>`;
}

function SignIn() {
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    const token = new FormData(event.target).get('token');
    try {
      await post('/session', { token });
      location.reload();
    } catch (refused) {
      setError(refused);
    }
  };
  return html`
    <${Dialog} label="Sign in" onClose=${() => {}}>
      <header><h2>This server asks for a token</h2></header>
      <form onSubmit=${submit}>
        <label class="field"><span>Token</span>
          <input type="password" name="token" autocomplete="current-password" required /></label>
        ${error && html`<${Problem} error=${error} />`}
        <div><button class="button main" type="submit">Sign in</button></div>
      </form>
    </${Dialog}>`;
}

render(html`<${App} />`, document.getElementById('app'));
