// A debate as it is followed: its facts as they come, and the view of the moment that is looked at.
import { call, follow, query } from './api.js';

const MOST_KEPT = 80;
const BREATH_MS = 100;
// A server that takes long to answer is asked less often.
const PATIENCE = 2;
// After a failure that may pass.
const PAUSE_MS = 1000;
// How often a debate may be missing before nobody looks for it any more.
const MOST_MISSED = 4;

export class Moments {
  constructor(id, panel, changed, wire) {
    this.path = `/debates/${encodeURIComponent(id)}`;
    this.panel = panel;
    this.changed = changed;
    this.wire = wire;
    this.facts = [];
    this.partials = new Map();
    this.view = null;
    this.row = null;
    this.error = null;
    // The number of facts that is looked at; null follows the debate.
    this.pin = null;
    this.kept = new Map();
    this.busy = false;
    this.again = false;
    this.closed = false;
    this.stop = () => {};
    // What the stream last said of itself: 'on', 'lost', 'ended' or 'missing'.
    this.link = '';
    this.missed = 0;
  }

  open(pin) {
    this.pin = pin === null ? null : Math.max(1, pin);
    this.refresh();
    this.stop = follow(
      `${this.path}/events${query({ panel: this.panel })}`,
      { fact: (fact) => this.hear(fact), partial: (said) => this.hearPartial(said) },
      (state) => {
        this.tell(state);
        if (state === 'on' && this.error) this.refresh();
      },
    );
  }

  tell(state) {
    this.link = state;
    this.wire(state);
    this.changed();
  }

  close() {
    this.closed = true;
    this.stop();
  }

  get total() {
    return Math.max(this.view?.facts ?? 0, this.facts.length);
  }

  get at() {
    return this.pin ?? this.total;
  }

  get isLive() {
    return this.pin === null;
  }

  look(pin) {
    this.pin = pin === null || pin >= this.total ? null : Math.max(1, pin);
    const kept = this.kept.get(this.pin);
    if (kept) {
      this.view = kept;
      this.changed();
    } else {
      this.changed();
      this.refresh();
    }
  }

  hear(fact) {
    if (this.facts[fact.ordinal]) return;
    this.facts[fact.ordinal] = fact;
    if (fact.fact.type === 'turn') this.partials.delete(`${fact.fact.step}/${fact.fact.persona}`);
    if (fact.fact.type === 'terminated' || fact.fact.type === 'closed') this.partials.clear();
    if (this.isLive && fact.ordinal >= (this.view?.at ?? 0)) this.refresh();
    else this.changed();
  }

  hearPartial(said) {
    const key = `${said.step}/${said.persona}`;
    const spoken = this.facts.some((one) => one?.fact.type === 'turn' && one.fact.step === said.step && one.fact.persona === said.persona);
    if (spoken || (this.partials.get(key)?.attempt ?? 0) > said.attempt) return;
    this.partials.set(key, said);
    this.changed();
  }

  // One request at a time; whatever happens meanwhile leads to one more.
  async refresh() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    const wanted = this.pin;
    const before = this.view?.at;
    const asked = performance.now();
    try {
      const found = await call(`${this.path}${query({ panel: this.panel, at: wanted })}`);
      if (this.closed) return;
      this.row = found.row;
      this.error = null;
      this.keep(found.view);
      if (wanted === this.pin) this.view = found.view;
      else this.again = true;
    } catch (error) {
      // A link may name a moment that the debate has not come to.
      if (error.status === 400 && wanted !== null) {
        this.pin = null;
        this.again = true;
      } else {
        this.error = error;
      }
    }
    this.changed();
    const missing = this.error?.status === 404 && !this.view;
    // A debate that was submitted a moment ago may not be listed yet.
    if (missing && ++this.missed >= MOST_MISSED && !this.closed) {
      this.stop();
      this.tell('missing');
      return;
    }
    const passing = missing || (this.error !== null && (this.error.status === 0 || this.error.status >= 500));
    setTimeout(() => {
      this.busy = false;
      const behind = this.isLive && !this.error && this.view?.at !== before && this.facts.length > (this.view?.at ?? 0);
      if (!this.closed && (this.again || behind || passing)) {
        this.again = false;
        this.refresh();
      }
    }, passing ? PAUSE_MS : Math.max(BREATH_MS, PATIENCE * (performance.now() - asked)));
  }

  // What the first facts amount to never changes, so that a moment seen once is not asked for again.
  keep(view) {
    this.kept.set(view.at, view);
    if (this.kept.size > MOST_KEPT) this.kept.delete(this.kept.keys().next().value);
  }
}
