// Talking to the server: JSON calls, and streams that come back by themselves.

class Refused extends Error {
  constructor(status, message, mistakes = []) {
    super(message);
    this.status = status;
    this.mistakes = mistakes;
  }
}

export const signIn = new EventTarget();

export async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: 'same-origin', ...options });
  } catch {
    throw new Refused(0, 'The server cannot be reached.');
  }
  if (response.status === 401) signIn.dispatchEvent(new Event('needed'));
  const body = await response.text();
  const said = parse(body);
  if (!response.ok) {
    throw new Refused(response.status, said?.error ?? `The server answered ${response.status}.`, said?.mistakes);
  }
  return said;
}

export const post = (path, content) =>
  call(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(content),
  });

export const postForm = (path, form) => call(path, { method: 'POST', body: form });

export const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== '' && value != null);
  return given.length ? `?${new URLSearchParams(given)}` : '';
};

// Sent to the window with every event of a stream.
export const HEARD = 'parley-heard';

// Calls `look` at once, and again for as often as it is asked to, but not before `apart` has passed.
export function spaced(look, apart) {
  let timer = 0;
  let due = false;
  const run = () => {
    due = false;
    timer = setTimeout(() => {
      timer = 0;
      if (due) run();
    }, apart);
    look();
  };
  return {
    again() {
      due = true;
      if (!timer) run();
    },
    stop() {
      clearTimeout(timer);
      timer = -1;
    },
  };
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;

// Follows a stream of events until it is closed. After a break it goes on behind the last event
// that had an id. `on` maps names of events to functions; `wire` hears 'on', 'lost' and 'ended'.
export function follow(path, on, wire) {
  let source = null;
  let last = null;
  let wait = FIRST_WAIT_MS;
  let timer = 0;
  let closed = false;

  const close = () => {
    closed = true;
    clearTimeout(timer);
    source?.close();
  };
  const open = () => {
    source = new EventSource(last === null ? path : withCursor(path, last));
    source.onopen = () => {
      wait = FIRST_WAIT_MS;
      wire('on');
    };
    source.onerror = () => {
      source.close();
      if (closed) return;
      wire('lost');
      timer = setTimeout(open, wait);
      wait = Math.min(LONGEST_WAIT_MS, wait * 2);
    };
    for (const [name, hear] of Object.entries(on)) {
      source.addEventListener(name, (event) => {
        if (event.lastEventId) last = event.lastEventId;
        hear(parse(event.data));
        dispatchEvent(new Event(HEARD));
      });
    }
    source.addEventListener('end', () => {
      close();
      wire('ended');
    });
  };
  open();
  return close;
}

const withCursor = (path, last) => `${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(last)}`;

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
