// How things are called and counted, in one place.

const TONES = {
  completed: 'good', applied: 'good', APPLY: 'good', adopted: 'good',
  failed: 'bad', SKIP: 'warn', cancelled: 'warn', 'not adopted': 'warn', open: 'accent',
};
const GLYPHS = { completed: '✓', failed: '✗', cancelled: '⊘' };
// A sign for each tone, for those who do not see colours.
const SIGNS = { good: '✓', bad: '✗', warn: '!', calm: '?', accent: '◆', violet: '±' };
const OTHERS = ['accent', 'violet', 'warn', 'good', 'bad', 'calm'];
let labels = new Map();

// The words that the verdicts of the debate on show are made of, with their tones.
export function useLabels(given) {
  labels = new Map(given.map((one) => [one.name, one]));
}

// A position in free words gets a tone by its words, the same for everybody who looks at it.
export function tone(label) {
  if (label == null) return 'calm';
  if (labels.has(label)) return labels.get(label).tone;
  if (label in TONES) return TONES[label];
  const sum = [...String(label)].reduce((total, sign) => (total * 31 + sign.codePointAt(0)) % 1_000_003, 7);
  return OTHERS[sum % OTHERS.length];
}
export function glyph(label) {
  const known = labels.get(label);
  return known ? known.sign || SIGNS[known.tone] : GLYPHS[label] ?? '';
}
export const spoken = (name) => String(name ?? '').replaceAll('_', ' ');
export const capital = (text) => String(text ?? '').replace(/^./, (first) => first.toUpperCase());
export const share = (value) => (value == null ? '–' : value.toFixed(2));

const NUMBERS = new Intl.NumberFormat('en');
export const count = (value) => NUMBERS.format(value ?? 0);
export const short = (value) => {
  if (value < 1000) return String(value);
  return value < 1e6 ? `${(value / 1e3).toFixed(value < 1e4 ? 1 : 0)}k` : `${(value / 1e6).toFixed(1)}M`;
};
export const money = (value) => (value ? (value < 0.01 ? value.toFixed(4) : value.toFixed(2)) : '0');
export const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 ? one : more}`;

export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}
export function age(iso) {
  const s = Math.max(0, Date.now() - Date.parse(iso)) / 1000;
  return s < 1 ? 'now' : span(s < 60 ? Math.round(s) * 1000 : s * 1000).replace('.0', '');
}
export const clock = (iso) =>
  new Date(iso).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
export const date = (iso) => new Date(iso).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short', hour12: false });

// Personas keep their colour wherever they appear in a debate.
export const voices = (names) => {
  const places = new Map(names.map((name, at) => [name, at % 8]));
  return (name) => `voice-${places.get(name) ?? 7}`;
};
export const initials = (name) => {
  const parts = String(name).split(/[-_ ]+/).filter(Boolean);
  if (String(name).length <= 3) return String(name).toUpperCase();
  return (parts.length > 1 ? parts[0][0] + parts[1][0] : String(name).slice(0, 2)).toUpperCase();
};
