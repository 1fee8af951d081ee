// The block that trains in the page: sliders, a worker that runs the traced step, and a canvas. No library, no request.
window.clbookHere ??= (() => {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const INK = "#1b1f24", MUTED = "#5b6470", GRID = "#dde1e6", LETTERS = "12px DejaVu Sans, Verdana, sans-serif";
  const PINS = 3; // pictures beside each other, the running one included

  // --- a plot on a canvas ---
  // Round numbers between low and high, about `count` of them.
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step / 1e6 ? 0 : v);
    return found;
  }
  const said = (v) => String(Number(v.toPrecision(4))).replace("-", "\u2212");

  // One panel: `frame` has x, y, w, h in pixels; limits [left, right, bottom, top]; log: whether x goes by ratios.
  function panel(g, frame, limits, { log = false, xlabel, ylabel, title }) {
    const [left, right, bottom, top] = limits, f = log ? Math.log : (v) => v;
    const toX = (v) => frame.x + frame.w * (f(v) - f(left)) / (f(right) - f(left));
    const toY = (v) => frame.y + frame.h * (top - v) / (top - bottom);
    g.font = LETTERS; g.lineWidth = 1; g.textAlign = "center"; g.textBaseline = "top";
    const xs = log ? [...Array(7).keys()].map((k) => 10 ** k).filter((v) => v <= right) : ticks(left, right, 4);
    for (const v of xs) {
      g.strokeStyle = GRID; g.beginPath(); g.moveTo(toX(v), frame.y); g.lineTo(toX(v), frame.y + frame.h); g.stroke();
      g.fillStyle = MUTED; g.fillText(said(v), toX(v), frame.y + frame.h + 4);
    }
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const v of ticks(bottom, top, 4)) {
      g.strokeStyle = GRID; g.beginPath(); g.moveTo(frame.x, toY(v)); g.lineTo(frame.x + frame.w, toY(v)); g.stroke();
      g.fillStyle = MUTED; g.fillText(said(v), frame.x - 4, toY(v));
    }
    g.fillStyle = INK; g.textAlign = "center"; g.textBaseline = "bottom";
    g.fillText(title, frame.x + frame.w / 2, frame.y - 5);
    g.textBaseline = "top"; g.fillText(xlabel, frame.x + frame.w / 2, frame.y + frame.h + 19);
    g.save(); g.translate(frame.x - 42, frame.y + frame.h / 2); g.rotate(-Math.PI / 2); g.textBaseline = "middle";
    g.fillText(ylabel, 0, 0); g.restore();
    return [toX, toY];
  }

  const extent = (values) => {
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    const pad = 0.06 * Math.max(high - low, 1e-9);
    return [low - pad, high + pad];
  };
  const when = (at) => at === null ? "not separable so far" : `separable from iteration ${at}`;

  // A run as it stands: {rows: [{t, row}], labels, shape: [1, n, d], steps, at, words}.
  function draw(g, box, run, colours) {
    const [, n, d] = run.shape, rows = run.rows;
    if (!rows.length) return;
    const frame = { x: box.x + 56, y: box.y + 26, w: box.w - 78, h: box.h - 66 };
    if (d === 1) {
      const all = rows.flatMap(({ row }) => Array.from(row.z));
      const title = `${run.words}${run.at === undefined ? "" : when(run.at)}`;
      const [toX, toY] = panel(g, frame, [1, run.steps + 1, ...extent(all)],
        { log: true, xlabel: "iteration + 1", ylabel: "embedding", title });
      g.save(); g.beginPath(); g.rect(frame.x, frame.y, frame.w, frame.h); g.clip();
      for (let i = 0; i < n; i++) {
        g.strokeStyle = colours[run.labels[i]]; g.globalAlpha = run.labels[i] ? 0.45 : 0.75; g.beginPath();
        rows.forEach(({ t, row }, k) => g[k ? "lineTo" : "moveTo"](toX(t + 1), toY(row.z[i])));
        g.stroke();
      }
      g.globalAlpha = 1;
      if (run.at !== null && run.at !== undefined) {
        g.strokeStyle = "#111"; g.lineWidth = 1.4; g.beginPath();
        g.moveTo(toX(run.at + 1), frame.y); g.lineTo(toX(run.at + 1), frame.y + frame.h); g.stroke();
      }
      g.restore();
      return;
    }
    const { t, row } = rows[rows.length - 1], z = row.z;
    const xs = extent(Array.from({ length: n }, (_, i) => z[i * d])), ys = extent(Array.from({ length: n }, (_, i) => z[i * d + 1]));
    const scale = Math.max((xs[1] - xs[0]) / frame.w, (ys[1] - ys[0]) / frame.h);
    const around = ([low, high], size) => [(low + high - scale * size) / 2, (low + high + scale * size) / 2];
    const [toX, toY] = panel(g, frame, [...around(xs, frame.w), ...around(ys, frame.h)],
      { xlabel: "coordinate 1", ylabel: "coordinate 2", title: `${run.words}iteration ${t}` });
    for (let i = 0; i < n; i++) {
      g.fillStyle = colours[run.labels[i]]; g.globalAlpha = 0.8; g.beginPath();
      g.arc(toX(z[i * d]), toY(z[i * d + 1]), 3, 0, 2 * Math.PI); g.fill();
    }
    g.globalAlpha = 1;
  }

  function here(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const part = (name) => figure.querySelector(name);
    const setup = JSON.parse(part(".clbook-here-setup").textContent);
    const canvas = part("canvas"), still = part("img"), status = part(".clbook-status"), knobs = part(".clbook-knobs");
    const buttons = Object.fromEntries([...figure.querySelectorAll("[data-do]")].map((b) => [b.dataset.do, b]));
    const start = { settings: Object.fromEntries(setup.knobs.map((k) => [k.name, k.value])), seed: setup.seed,
      steps: setup.steps, shape: setup.shapes.map((s) => s.start) };
    let now = structuredClone(start), worker = null, current = null, pinned = [], waiting = [], training = false;

    // The worker's text: what all blocks of the page share, and this one's programs.
    function work() {
      if (worker) return worker;
      const shared = document.querySelector(".clbook-here-shared").textContent;
      const made = setup.programs.map(({ spec }, k) => `() => new Program(shape${k}_setup(), shape${k}_step(), ${JSON.stringify(spec)})`);
      const text = [shared, part(".clbook-here-code").textContent, `const programs = [${made}];`].join("\n");
      worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.onmessage = hear;
      worker.onerror = () => say("This browser cannot train here.");
      return worker;
    }
    const shapeNumber = () => setup.shapes.reduce((k, s, i) => k * s.values.length + now.shape[i], 0);
    const about = () => [...setup.knobs.map((k) => `${k.name} = ${said(now.settings[k.name])}`), `seed = ${now.seed}`].join(", ");
    function say(text) { if (status.textContent !== text) status.textContent = text; }

    function train() {
      const number = shapeNumber(), { recorded, labels } = setup.programs[number];
      current = { rows: [], labels, shape: recorded.z, steps: now.steps, words: "", about: about() };
      training = true;
      buttons.train.textContent = "Stop";
      work().postMessage({ shape: number, settings: now.settings, seed: now.seed, steps: now.steps });
    }
    function stop() {
      if (!training) return;
      training = false;
      worker.postMessage({ stop: true });
      buttons.train.textContent = "Train";
      settle(current);
    }
    function settle(run) { waiting.forEach((done) => done(run)); waiting = []; }

    function hear({ data }) {
      if (!training) return;
      current.rows.push(...data.rows);
      const last = current.rows[current.rows.length - 1];
      if (last?.row.separable_at) current.at = last.row.separable_at[0] < 0 ? null : last.row.separable_at[0];
      if (data.over || !reduced.matches) paint();
      const found = current.at === undefined ? "" : `, ${when(current.at)}`;
      if (!data.over) return say(`iteration ${data.t} of ${current.steps}${found}`);
      training = false;
      buttons.train.textContent = "Train";
      say(data.finite ? `${data.t} iterations in ${(data.wall / 1000).toFixed(2)} s${found}.`
        : `The run diverged at iteration ${data.t}: try a smaller learning rate.`);
      settle(current);
    }

    let asked = 0; // a picture for each frame of the screen, however fast the worker is
    function paint() { asked ||= requestAnimationFrame(() => { asked = 0; picture(); }); }
    function picture() {
      const runs = [...pinned, current].filter(Boolean);
      canvas.hidden = !runs.length;
      still.hidden = !canvas.hidden;
      if (canvas.hidden) return;
      const zoom = devicePixelRatio || 1;
      const width = canvas.clientWidth || 700, stacked = width < 480;
      const height = stacked ? 260 * Math.max(runs.length, 1) : 330;
      if (canvas.width !== Math.round(width * zoom) || canvas.height !== Math.round(height * zoom)) {
        canvas.width = Math.round(width * zoom); canvas.height = Math.round(height * zoom);
      }
      const g = canvas.getContext("2d");
      g.setTransform(zoom, 0, 0, zoom, 0, 0);
      g.fillStyle = "#fff"; g.fillRect(0, 0, width, height);
      runs.forEach((run, k) => {
        const box = stacked ? { x: 0, y: 260 * k, w: width, h: 260 }
          : { x: k * width / runs.length, y: 0, w: width / runs.length, h: height };
        draw(g, box, run, setup.colours);
      });
      const words = runs.map((run) => `${run.about}: ${run.rows.at(-1) ? `iteration ${run.rows.at(-1).t}` : "not begun"}`
        + (run.at === undefined ? "" : `, ${when(run.at)}`));
      canvas.setAttribute("aria-label", `Embedding during training. ${words.join("; ")}.`);
    }

    // --- what a reader sets ---
    const again = () => { if (training || current) train(); };
    function slider(knob) {
      const label = document.createElement("label"), f = knob.log ? Math.log : (v) => v, inverse = knob.log ? Math.exp : (v) => v;
      label.title = knob.about;
      label.innerHTML = `<span></span><input type="range" min="0" max="1000" autocomplete="off"><input type="text" inputmode="decimal" autocomplete="off">`;
      label.firstChild.textContent = knob.label;
      const [range, box] = label.querySelectorAll("input"), span = f(knob.high) - f(knob.low);
      range.setAttribute("aria-label", knob.label);
      box.setAttribute("aria-label", `${knob.label}, typed`);
      const show = () => {
        const value = now.settings[knob.name];
        range.value = 1000 * (f(Math.max(value, knob.low)) - f(knob.low)) / span;
        range.setAttribute("aria-valuetext", said(value));
        if (document.activeElement !== box) box.value = said(value).replace("\u2212", "-");
        box.removeAttribute("aria-invalid");
      };
      range.addEventListener("input", () => {
        now.settings[knob.name] = Number(inverse(f(knob.low) + span * range.value / 1000).toPrecision(3));
        show();
        train();
      });
      box.addEventListener("change", () => {
        const value = Number(box.value.replace(",", "."));
        const low = knob.zero ? 0 : Math.min(knob.low, value > 0 ? value : knob.low);
        if (!(box.value.trim() && value >= low && value <= knob.high)) {
          box.setAttribute("aria-invalid", "true");
          return say(`${knob.name} = ${box.value} is not allowed: ${knob.about}`);
        }
        now.settings[knob.name] = value;
        show();
        again();
      });
      knobs.append(label);
      return show;
    }
    function choice(shape, i) {
      const row = document.createElement("div"), own = document.createElement("div");
      row.className = "clbook-row"; own.className = "clbook-choices";
      row.setAttribute("role", "group"); row.setAttribute("aria-label", shape.label);
      row.append(Object.assign(document.createElement("span"), { textContent: shape.label }), own);
      const all = shape.values.map((value, k) => {
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: value });
        button.addEventListener("click", () => { now.shape[i] = k; refresh(); again(); });
        own.append(button);
        return button;
      });
      knobs.append(row);
      return () => all.forEach((button, k) => button.setAttribute("aria-pressed", String(now.shape[i] === k)));
    }
    const shows = [...setup.shapes.map(choice), ...setup.knobs.map(slider)];
    function refresh() { shows.forEach((show) => show()); }

    const actions = {
      train() { if (training) { stop(); say(`Stopped at iteration ${current.rows.at(-1)?.t ?? 0}.`); } else train(); },
      seed() { now.seed = Math.floor(Math.random() * 10000); train(); },
      pin() {
        if (!current?.rows.length) return say("Train first: what stands in the picture is pinned.");
        pinned = [...pinned, { ...current, words: `seed ${now.seed}: ` }].slice(1 - PINS);
        current = null; stop(); picture(); say("Pinned. The next run stands beside it.");
      },
      reset() { stop(); now = structuredClone(start); pinned = []; current = null; refresh(); picture(); say("Press Train."); },
    };
    for (const [name, button] of Object.entries(buttons)) { button.disabled = false; button.addEventListener("click", actions[name]); }
    figure.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys
    new ResizeObserver(() => paint()).observe(canvas.parentNode);
    refresh();
    say("Press Train.");

    // What programs may ask: `window.clbook.explorers[name].run({eps: 0.17, seed: 3})`.
    const all = ((window.clbook ??= {}).explorers ??= {});
    all[setup.name] = {
      async run({ seed = setup.seed, steps = setup.steps, ...rest } = {}) {
        stop();
        now = structuredClone(start);
        for (const [name, value] of Object.entries(rest)) {
          const i = setup.shapes.findIndex((shape) => shape.name === name);
          if (i >= 0) now.shape[i] = setup.shapes[i].values.indexOf(String(value === true ? "on" : value === false ? "off" : value));
          else if (name in now.settings) now.settings[name] = value;
          else throw new RangeError(`${name} is not allowed: it must be one of ${[...Object.keys(now.settings), ...setup.shapes.map((s) => s.name)].join(", ")}`);
        }
        if (now.shape.includes(-1)) throw new RangeError("a shape is not allowed: it must be one of the buttons");
        Object.assign(now, { seed, steps });
        refresh();
        const done = new Promise((resolve) => waiting.push(resolve));
        train();
        const { rows } = await done, last = rows.at(-1);
        const found = { steps: rows.map(({ t }) => t), ...last.row };
        for (const key of Object.keys(found)) if (key.endsWith("_at")) found[key] = found[key][0] < 0 ? null : found[key][0];
        return found;
      },
      cancel: stop,
    };
  }
  return here;
})();
