"use strict";
// The curves of a training, drawn as its epochs arrive. They take the place of the figures that the server drew, and
// show the numbers below the pointer. A new point of the job refreshes the table of points.
(() => {
  const box = document.getElementById("curves");
  if (!box || typeof uPlot === "undefined") return;
  const NAMES = { loss: "Training loss", train_accuracy: "Training accuracy (%)", compressibility: "L1/L2 of the weights" };
  const NOT_DRAWN = new Set(["phase", "epoch", "epochs", "lambda"]);
  const epochs = [];
  const plots = new Map();
  let due = false;

  const colour = (name) => getComputedStyle(document.querySelector(".site")).getPropertyValue(name).trim();
  const options = (key) => ({
    width: Math.max(box.clientWidth > 700 ? box.clientWidth / Math.min(3, keys().length) - 30 : box.clientWidth - 20, 240),
    height: 230,
    title: NAMES[key] || key.replaceAll("_", " "),
    scales: { x: { time: false } },
    legend: { live: true },
    axes: [
      { stroke: colour("--quiet"), grid: { stroke: colour("--line") }, label: "Epoch, over all phases", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], size: 36, labelSize: 20 },
      { stroke: colour("--quiet"), grid: { stroke: colour("--line") }, size: 60 },
    ],
    series: [
      { label: "Epoch", value: (_, value) => (value === null ? "–" : `${value} (${epochs[value - 1]?.phase ?? ""})`) },
      { label: "Value", stroke: colour("--accent"), width: 2, value: (_, value) => (value === null ? "–" : value.toPrecision(4)) },
    ],
    hooks: { draw: [markPhases] },
  });

  function keys() {
    const found = new Set(epochs.flatMap((row) => Object.keys(row)));
    return [...Object.keys(NAMES).filter((key) => found.has(key)), ...[...found].filter((key) => !(key in NAMES) && !NOT_DRAWN.has(key)).sort()];
  }

  function markPhases(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour("--quiet");
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = 1;
    ctx.setLineDash([2, 4]);
    epochs.forEach((row, index) => {
      if (index === 0 || row.phase === epochs[index - 1].phase) return;
      const x = Math.round(plot.valToPos(index + 0.5, "x", true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    });
    ctx.restore();
  }

  function draw() {
    due = false;
    if (!epochs.length) return;
    box.closest("section").hidden = false;
    const x = epochs.map((_, index) => index + 1);
    for (const key of keys()) {
      const data = [x, epochs.map((row) => (typeof row[key] === "number" ? row[key] : null))];
      if (plots.has(key)) { plots.get(key).setData(data); continue; }
      if (!plots.size) box.replaceChildren();
      const frame = document.createElement("div");
      frame.setAttribute("role", "img");
      frame.setAttribute("aria-label", `${options(key).title} over the epochs`);
      box.append(frame);
      plots.set(key, new uPlot(options(key), data, frame));
    }
  }

  function later() {
    if (due) return;
    due = true;
    requestAnimationFrame(draw);
  }

  function redraw() {
    for (const plot of plots.values()) plot.destroy();
    plots.clear();
    box.replaceChildren();
    later();
  }

  const source = new EventSource(box.dataset.events);
  source.addEventListener("metric", (event) => {
    epochs.push(JSON.parse(event.data).metric);
    later();
  });
  source.addEventListener("point", () => {
    const points = document.getElementById("points");
    if (points && points.hasAttribute("hx-get")) points.dispatchEvent(new CustomEvent("new-point"));
  });
  source.addEventListener("status", (event) => {
    if (["succeeded", "failed", "cancelled", "timed_out"].includes(JSON.parse(event.data).status)) source.close();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = box.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) < 20) return;
    width = box.clientWidth;
    redraw();
  }).observe(box);
})();
