// The rows of the list: loaded page by page, kept up to date by a stream of changed rows.
import { call, follow, query } from './api.js';

const PAGE = 200;

export class Listing {
  constructor(filter, changed, wire) {
    this.filter = filter;
    this.rows = [];
    this.total = 0;
    this.error = null;
    this.loaded = false;
    this.next = null;
    this.loading = null;
    this.places = new Map();
    this.pending = new Map();
    this.changed = changed;
    this.asked = 0;
    this.closed = false;
    this.load();
    this.close_ = follow('/debates/changes', { row: (row) => this.take(row) }, (state) => this.heard(state, wire));
  }

  close() {
    this.closed = true;
    this.close_();
  }

  // The stream tells only what changes from now on: the list is read anew whenever it begins.
  heard(state, wire) {
    wire(state);
    if (state === 'on') this.load();
  }

  async load() {
    await this.fetch(null, (page) => {
      this.rows = page.debates;
      this.index();
    });
  }

  more() {
    if (this.next !== null && !this.loading) {
      this.fetch(this.next, (page) => {
        const fresh = page.debates.filter((row) => !this.places.has(keyOf(row)));
        this.rows = this.rows.concat(fresh);
        this.index();
      });
    }
    return this.loading;
  }

  fetch(before, use) {
    this.asked += 1;
    const mine = this.asked;
    const asked = (async () => {
      try {
        const page = await call(`/debates${query({ ...this.filter, limit: PAGE, before })}`);
        if (this.closed || mine !== this.asked) return;
        use(page);
        this.total = page.total;
        this.next = page.next;
        this.error = null;
      } catch (error) {
        if (mine !== this.asked) return;
        this.error = error;
      }
      this.loaded = true;
      this.loading = null;
      this.changed();
    })();
    this.loading = asked;
    return asked;
  }

  index() {
    this.places = new Map(this.rows.map((row, at) => [keyOf(row), at]));
  }

  take(row) {
    if (this.pending.size === 0) requestAnimationFrame(() => this.settle());
    this.pending.set(keyOf(row), row);
  }

  // Changed rows replace what they were; new ones that fit come first.
  settle() {
    const fresh = [];
    let moved = false;
    for (const [key, row] of this.pending) {
      const place = this.places.get(key);
      if (place === undefined) {
        if (this.loaded && fits(row, this.filter) && this.isNew(row)) fresh.push(row);
      } else if (fits(row, this.filter)) {
        this.rows[place] = row;
      } else {
        this.rows[place] = null;
        moved = true;
        this.total -= 1;
      }
    }
    this.pending.clear();
    if (moved) this.rows = this.rows.filter(Boolean);
    if (fresh.length) {
      fresh.sort((a, b) => (a.submitted_at < b.submitted_at ? 1 : -1));
      this.rows = [...fresh, ...this.rows];
      this.total += fresh.length;
    }
    if (moved || fresh.length) this.index();
    this.changed();
  }

  isNew(row) {
    return this.rows.length === 0 || row.submitted_at >= this.rows[0].submitted_at;
  }
}

export const keyOf = (row) => `${row.panel}/${row.id}`;

function fits(row, { panel, state, reason, text }) {
  if (panel && row.panel !== panel) return false;
  if (reason && row.reason !== reason) return false;
  if (state === 'closed' ? row.status === 'open' : state && row.status !== state) return false;
  const wanted = text?.trim().toLowerCase();
  return !wanted || row.topic.toLowerCase().includes(wanted) || row.id.toLowerCase().includes(wanted);
}
