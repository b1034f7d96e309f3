// Curves over the rounds, drawn by uPlot; the same figures stand in a table for whoever prefers it.
import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { Card } from './parts.js';

const HEIGHT = 150;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 4], [12, 4], [4, 4]];
const LIMIT_DASH = [4, 5];

export function Charts({ charts, voices }) {
  if (charts.length === 0) return null;
  return html`
    <${Card} title="By round" label="Charts">
      <div class="charts">${charts.map((chart) => html`<${Chart} key=${chart.title} chart=${chart} voices=${voices} />`)}</div>
    </${Card}>`;
}

function Chart({ chart, voices }) {
  const place = useRef(null);
  const [theme, setTheme] = useState(0);
  const looks = chart.series.map((one, at) => lookOf(one, at, voices));
  const shape = JSON.stringify(chart);
  useEffect(() => {
    const turned = () => setTheme((n) => n + 1);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('parley-theme', turned);
    dark.addEventListener('change', turned);
    return () => {
      removeEventListener('parley-theme', turned);
      dark.removeEventListener('change', turned);
    };
  }, []);
  useEffect(() => {
    const box = place.current;
    const plot = draw(box, chart, looks);
    const sized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }));
    sized.observe(box);
    return () => {
      sized.disconnect();
      plot.destroy();
    };
  }, [shape, theme]);
  return html`
    <figure class="chart" aria-label=${chart.title}>
      <header><h3>${chart.title}</h3><span class="muted small">${chart.about}</span></header>
      <div class="canvas" ref=${place} aria-hidden="true"></div>
      <div class="legend-line">${chart.series.map((one, at) => html`
        <span key=${one.name}><svg viewBox="0 0 22 8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4"
          stroke=${`var(${looks[at].variable})`} stroke-width=${one.limit ? 1.5 : 2.5} stroke-dasharray=${looks[at].dash.join(' ')} /></svg>
          ${one.name} ${last(one.values)}</span>`)}</div>
      <details><summary>As a table</summary><div class="scroll"><table>
        <thead><tr><th scope="col"><span class="unseen">Series</span></th>${chart.columns.map((column) => html`<th scope="col" class="number">${column}</th>`)}</tr></thead>
        <tbody>${chart.series.map((one) => html`<tr key=${one.name}><th scope="row">${one.name}</th>
          ${one.values.map((value) => html`<td class="number">${figure(value)}</td>`)}</tr>`)}</tbody>
      </table></div></details>
    </figure>`;
}

function lookOf(series, at, voices) {
  if (series.limit) return { variable: '--muted', dash: LIMIT_DASH };
  const voice = voices.indexOf(series.name);
  return { variable: `--persona-${(voice < 0 ? at : voice) % 8}`, dash: DASHES[(voice < 0 ? at : voice) % 8] };
}

function draw(box, chart, looks) {
  const colour = (variable) => resolved(box, `var(${variable})`);
  const axis = {
    stroke: colour('--muted'), font: '11px sans-serif', gap: 4,
    grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false },
  };
  const all = chart.series.flatMap((one) => one.values).filter((value) => value !== null);
  const top = chart.top ?? Math.max(1, ...all) * 1.15;
  return new uPlot(
    {
      width: Math.max(120, box.clientWidth), height: HEIGHT, legend: { show: false }, cursor: { show: false }, padding: [8, 14, 0, 0],
      scales: { x: { time: false, range: (_, low, high) => [low - 0.15, high + 0.15] }, y: { range: [0, top * 1.04] } },
      axes: [
        { ...axis, size: 26, splits: () => chart.columns.map((_, at) => at), values: (_, splits) => labels(chart.columns, splits, box.clientWidth), grid: { show: false } },
        { ...axis, size: 34, splits: chart.top === null ? undefined : () => [0, 0.25, 0.5, 0.75, 1], values: (_, splits) => splits.map(figure) },
      ],
      series: [{}, ...chart.series.map((one, at) => ({
        label: one.name, stroke: colour(looks[at].variable), width: one.limit ? 1.25 : 2, dash: looks[at].dash, spanGaps: true,
        points: { show: !one.limit, size: 6, fill: colour('--surface') },
      }))],
    },
    [chart.columns.map((_, at) => at), ...chart.series.map((one) => one.values)],
    box,
  );
}

// Where there is little room only every second or third round is named.
function labels(columns, splits, width) {
  const every = Math.ceil((columns.length * 62) / Math.max(1, width - 50));
  return splits.map((at) => (at % every === 0 ? columns[at].replace('iteration ', '') : ''));
}

function resolved(box, value) {
  box.style.color = value;
  return getComputedStyle(box).color;
}
const figure = (value) => (value === null || value === undefined ? '–' : Number.isInteger(value) ? String(value) : value.toFixed(2));
const last = (values) => figure(values[values.length - 1]);
