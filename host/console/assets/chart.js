// Charts from tables: what a table says is drawn as stacked steps, in the colours of the theme. The table stays.
/* global uPlot */

function colour(name) {
  // The browser resolves light-dark() on an element, not in a custom property.
  const probe = document.createElement("i");
  probe.className = name;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function series(table) {
  const rows = [...table.tBodies[0].rows];
  const names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
  const times = rows.map((row) => Number(row.cells[0].dataset.at));
  const values = names.map((_, at) => rows.map((row) => Number(row.cells[at + 1].dataset.micro) / 1e6));
  // Stacked: each line is its own value on top of those before it.
  const stacked = values.map((_, at) => times.map((_, i) => values.slice(0, at + 1).reduce((sum, one) => sum + one[i], 0)));
  // The last hour or day ends where a next one would begin.
  const step = times.length > 1 ? times[1] - times[0] : 3600;
  times.push(times[times.length - 1] + step);
  for (const row of [...values, ...stacked]) row.push(row[row.length - 1]);
  return { names, times, values, stacked, step };
}

function draw(table, target) {
  const { names, times, values, stacked, step } = series(table);
  const [text, line] = [colour("ink-muted"), colour("ink-line")];
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const day = step >= 86400;
  const stamp = (at) => new Date(at * 1000).toISOString().slice(...(day ? [0, 10] : [11, 16]));
  // A step begins at its time and lasts until the next one, so what is under the pointer is the last one that has begun.
  const begun = (_, __, closest, at) =>
    Math.min(times[closest] > at ? Math.max(closest - 1, 0) : closest, times.length - 2);
  const order = names.map((_, at) => names.length - 1 - at);
  target.replaceChildren();
  return new uPlot(
    {
      width: target.clientWidth,
      height: 240,
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
      legend: { live: true },
      cursor: { dataIdx: begun },
      scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [
        { ...axis, values: (_, all) => all.map(stamp) },
        { ...axis, size: 64, values: (_, all) => all.map((value) => String(value)) },
      ],
      series: [
        { label: "UTC", value: (_, at) => (at == null ? "" : stamp(at)) },
        ...order.map((at) => ({
          label: names[at],
          stroke: colour(`ink-${at + 1}`),
          fill: colour(`ink-${at + 1}`),
          width: 1,
          paths: uPlot.paths.stepped({ align: 1 }),
          points: { show: false },
          value: (_, __, ___, i) => (i == null ? "" : String(values[at][i])),
        })),
      ],
    },
    [times, ...order.map((at) => stacked[at])],
    target,
  );
}

export function show(table) {
  const target = document.getElementById(table.dataset.chart);
  let chart = draw(table, target);
  const again = () => {
    chart.destroy();
    chart = draw(table, target);
  };
  let width = target.clientWidth;
  const fit = () => {
    if (target.clientWidth !== width) {
      width = target.clientWidth;
      chart.setSize({ width, height: 240 });
    }
  };
  // In the next frame: browsers report it as an error of the page when sizes change while they are observed.
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(target);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

const table = document.querySelector("table[data-chart]");
if (table && document.getElementById(table.dataset.chart)) show(table);
