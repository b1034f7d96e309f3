// The form of one ask: what is debated, what others said, and a field for each thing asked for.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { Chip, Problem } from './parts.js';
import { date, share, spoken } from './words.js';

// `send(values, by)` writes the turn; `image()` gives the address of what is debated.
export function SeatForm({ ask, send, image, named }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [done, setDone] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const form = new FormData(event.target);
    const values = Object.fromEntries(ask.fields.map((one) => [one.name, form.get(`field ${one.name}`)]).filter(([, value]) => value));
    try {
      await send(values, String(form.get('by') ?? ''));
      setDone(true);
    } catch (refused) {
      setError(refused);
    }
    setBusy(false);
  };
  return html`
    <section class="card start" aria-label=${`${ask.persona} in ${ask.step} of ${ask.debate}`}>
      <header><h2>${ask.title || ask.panel}</h2>
        <span class="muted">${ask.role || ask.persona} · ${spoken(ask.step)} · until ${date(ask.deadline)}${ask.waits ? '' : ' · the others go on'}</span></header>
      ${ask.topic && ask.topic !== ask.text && html`<p><b>${ask.topic}</b></p>`}
      <p class="asked">${ask.text}</p>
      ${ask.has_image && html`<${Picture} image=${image} />`}
      ${ask.voices.map((one) => html`
        <article class="voice" key=${one.who}>
          <b>${one.who}</b> <${Chip} label=${one.says} as="neutral" /> ${one.confidence != null && html`<span class="muted">${share(one.confidence)}</span>`}
          <p>${one.text}</p>
          ${one.points.length > 0 && html`<ul>${one.points.map((point) => html`<li>${point}</li>`)}</ul>`}
        </article>`)}
      ${done
        ? html`<p role="status">Thank you. Your turn stands in the log.</p>`
        : html`<form onSubmit=${submit}>
            ${ask.fields.map((one) => html`<${Field} key=${one.name} field=${one} />`)}
            ${named && html`<label class="field"><span>Your name (optional)</span><input type="text" name="by" maxlength="200" /></label>`}
            ${error && html`<${Problem} error=${error} />`}
            <div class="row"><button class="button main" type="submit" disabled=${busy}>${busy ? 'Sending…' : 'Speak'}</button>
              <span class="muted small">A turn is written once and cannot be taken back.</span></div>
          </form>`}
    </section>`;
}

function Picture({ image }) {
  const [address, setAddress] = useState(null);
  useEffect(() => {
    let made = null;
    image().then((blob) => {
      made = URL.createObjectURL(blob);
      setAddress(made);
    }).catch(() => {});
    return () => made && URL.revokeObjectURL(made);
  }, []);
  return address && html`<img class="debated" src=${address} alt="What is debated" />`;
}

function Field({ field }) {
  const name = `field ${field.name}`;
  const help = field.help && html`<span class="help muted small">${field.help}</span>`;
  if (field.kind === 'choice') {
    return html`
      <fieldset class="choices" aria-label=${field.label}>
        ${field.choices.map((one) => html`
          <label class="choice" key=${one.value}>
            <input type="radio" name=${name} value=${one.value} defaultChecked=${field.value === one.value} required=${field.required} />
            <b>${one.value}</b><span>${one.means}</span>
          </label>`)}
      </fieldset>`;
  }
  if (field.kind === 'share') {
    return html`<label class="field"><span>${field.label}</span>
      <input type="number" name=${name} min="0" max="1" step="0.01" defaultValue=${field.value ?? ''} required=${field.required} />${help}</label>`;
  }
  return html`<label class="field"><span>${field.label}</span>
    <textarea name=${name} rows=${field.kind === 'text' ? 4 : 3} required=${field.required} defaultValue=${field.value ?? ''}></textarea>${help}</label>`;
}
