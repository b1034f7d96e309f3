// The form that starts a debate: what it asks for depends on the panel.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { post, postForm } from './api.js';
import { Problem } from './parts.js';

const LANGUAGES = new Intl.DisplayNames(['en'], { type: 'language' });
const withImage = (panel) => panel.input === 'image' || panel.input === 'both';

export function Start({ panels }) {
  const [chosen, setChosen] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const panel = panels.find((one) => one.name === chosen) ?? panels[0];
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const row = await send(panel, new FormData(event.target));
      location.hash = `#/debates/${row.id}`;
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  if (!panel) return html`<section class="card start"><p class="muted">The panels are being asked for…</p></section>`;
  return html`
    <section class="card start" aria-label="New debate">
      <form onSubmit=${submit}>
        <fieldset class="choices" aria-label="Panel">
          ${panels.map((one) => html`
            <label class="choice" key=${one.name}>
              <input type="radio" name="panel" value=${one.name} checked=${one.name === panel.name}
                onChange=${() => setChosen(one.name)} />
              <b>${one.name}</b><span>${one.title}</span>
            </label>`)}
        </fieldset>
        <${Material} key=${panel.name} panel=${panel} />
        <details><summary>Settings</summary><div class="more"><${Settings} panel=${panel} /></div></details>
        ${error && html`<${Problem} error=${error} />`}
        <div class="row">
          <button class="button main" type="submit" disabled=${busy}>${busy ? 'Starting…' : 'Start the debate'}</button>
          <span class="muted small">${panel.personas.map((one) => one.role || one.name).join(' · ')}</span>
        </div>
      </form>
    </section>`;
}

function Material({ panel }) {
  const [text, setText] = useState('');
  if (withImage(panel)) return html`<${Picture} needed=${panel.input === 'image'} />`;
  const question = panel.input === 'question';
  return html`
    <label class="field"><span>${question ? 'The question, with options, criteria and evidence; plain words are enough where a model answers' : `The text: ${panel.title}`}</span>
      <textarea name=${question ? 'question' : 'text'} rows=${question ? 8 : 3} required value=${text}
        placeholder=${panel.example ?? ''}
        onInput=${(event) => setText(event.target.value)}></textarea></label>
    ${panel.example && html`<div><button class="button tiny" type="button" onClick=${() => setText(panel.example)}>Fill in an example</button></div>`}`;
}

function Picture({ needed }) {
  const [over, setOver] = useState(false);
  const [seen, setSeen] = useState(null);
  useEffect(() => () => seen && URL.revokeObjectURL(seen), [seen]);
  const look = (event) => setSeen(event.target.files[0] ? URL.createObjectURL(event.target.files[0]) : null);
  return html`
    <label class=${`drop ${over ? 'over' : ''}`} onDragOver=${() => setOver(true)} onDragLeave=${() => setOver(false)} onDrop=${() => setOver(false)}>
      ${seen && html`<img src=${seen} alt="The chosen image" height="72" />`}
      <span class="field"><span>The image (JPEG, PNG or WEBP, up to 20 MB)</span>
        <input type="file" name="image" accept="image/jpeg,image/png,image/webp" required=${needed} onChange=${look} /></span>
    </label>
    ${needed
      ? html`<label class="field"><span>A caption for the list (optional)</span><input type="text" name="text" maxlength="200" /></label>`
      : html`<label class="field"><span>The text</span><textarea name="text" rows="3"></textarea></label>`}`;
}

function Settings({ panel }) {
  return html`
    <label class="field"><span>Topic, for lists (optional)</span><input type="text" name="topic" maxlength="200" /></label>
    ${panel.presets.length > 0 && html`
      <label class="field"><span>Preset</span><select name="preset"><option value="">default</option>
        ${panel.presets.filter((one) => one !== 'default').map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`}
    ${panel.regimes.length > 0 && html`
      <label class="field"><span>Regime</span><select name="regime"><option value="">as the panel says</option>
        ${panel.regimes.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`}
    ${panel.languages.length > 0 && html`
      <label class="field"><span>Language</span><select name="lang"><option value="">recognise it</option>
        ${panel.languages.map((one) => html`<option value=${one}>${LANGUAGES.of(one)}</option>`)}</select></label>`}
    <label class="field"><span>Parameters (name=value, separated by spaces)</span>
      <input type="text" name="set" placeholder=${panel.parameter} /></label>`;
}

function send(panel, form) {
  const sets = String(form.get('set') ?? '').split(/\s+/).filter(Boolean);
  form.delete('set');
  if (withImage(panel)) {
    for (const one of sets) form.append('set', one);
    return postForm('/debates', form);
  }
  const content = Object.fromEntries([...form].filter(([, value]) => value !== ''));
  if (sets.length) content.set = sets;
  // Free words are a text; a structured question is YAML or JSON with a line that says so.
  if (content.question && !/^\s*["{]?question["']?\s*:/m.test(content.question)) {
    content.text = content.question;
    delete content.question;
  }
  return post('/debates', content);
}
