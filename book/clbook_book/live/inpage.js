// The block that trains in the page: sliders, a worker that runs the traced step, and one canvas, which shows the start
// before a reader trains and follows each change of a setting. No library, no request.
window.clbookHere ??= (() => {
  const { write, join } = window.clbookAddress; // of address.js
  const { fits, short, refusal, check } = window.clbookSettings; // of settings.js
  const tasks = window.clbookTasks; // of tasks.js
  const shared = window.clbookShared; // what all workers begin with: stands before this script
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const LETTERS = "12px DejaVu Sans, Verdana, sans-serif";
  const LIGHT = { INK: "#1b1f24", MUTED: "#5b6470", GRID: "#dde1e6", GROUND: "#ffffff" };
  const DARK = { INK: "#e6e9ed", MUTED: "#a9b1bb", GRID: "#3d444d", GROUND: "#121212" };
  let { INK, MUTED, GRID, GROUND } = LIGHT; // of the page that is drawn on: the picture has no ground of its own
  const PINS = 3; // pictures beside each other, the running one included
  const HEAD = 20, EDGE = 8; // pixels: of a line above a run, and left free at both ends of it

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

  // Axes: `frame` has x, y, w, h in pixels; limits [left, right, bottom, top]; log: whether [x, y] go by ratios.
  function stage(g, frame, limits, { log = [false, false], xlabel = "", ylabel = "", title = "", bare = false, places }) {
    const [left, right, bottom, top] = limits, [fx, fy] = log.map((yes) => yes ? Math.log : (v) => v);
    const toX = (v) => frame.x + frame.w * (fx(v) - fx(left)) / (fx(right) - fx(left));
    const toY = (v) => frame.y + frame.h * (fy(top) - fy(v)) / (fy(top) - fy(bottom));
    const powers = (low, high) => [...Array(31).keys()].map((k) => 10 ** (k - 20)).filter((v) => v >= low && v <= high);
    const few = (all) => all.filter((_, k) => k % Math.ceil(all.length / 6) === 0);
    g.font = LETTERS; g.lineWidth = 1; g.textAlign = "center"; g.textBaseline = "top";
    const xs = places ?? (log[0] ? powers(left, right) : ticks(left, right, 4));
    for (const v of bare ? [] : xs) {
      g.strokeStyle = GRID; g.beginPath(); g.moveTo(toX(v), frame.y); g.lineTo(toX(v), frame.y + frame.h); g.stroke();
      g.fillStyle = MUTED; g.fillText(said(v), toX(v), frame.y + frame.h + 4);
    }
    g.textAlign = "right"; g.textBaseline = "middle";
    const inside = log[1] ? few(powers(bottom, top)) : [];
    const ys = inside.length > 1 ? inside : ticks(bottom, top, 4).filter((v) => v > 0 || !log[1]);
    for (const v of bare ? [] : ys) {
      g.strokeStyle = GRID; g.beginPath(); g.moveTo(frame.x, toY(v)); g.lineTo(frame.x + frame.w, toY(v)); g.stroke();
      g.fillStyle = MUTED; g.fillText(v && Math.abs(v) < 1e-4 ? v.toExponential(0).replace("-", "\u2212") : said(v), frame.x - 4, toY(v));
    }
    g.fillStyle = INK; g.textAlign = "center"; g.textBaseline = "bottom";
    g.fillText(title, frame.x + frame.w / 2, frame.y - 5);
    g.textBaseline = "top"; g.fillText(xlabel, frame.x + frame.w / 2, frame.y + frame.h + 19);
    g.save(); g.translate(frame.x - 42, frame.y + frame.h / 2); g.rotate(-Math.PI / 2); g.textBaseline = "middle";
    g.fillText(ylabel, 0, 0); g.restore();
    return [toX, toY];
  }

  const extent = (values, log = false) => {
    let low = Infinity, high = -Infinity;
    for (const v of values) if (Number.isFinite(v) && (v > 0 || !log)) { if (v < low) low = v; if (v > high) high = v; }
    if (low > high) return log ? [0.1, 10] : [0, 1];
    if (log) return [low / 1.5, high * 1.5];
    const pad = 0.06 * Math.max(high - low, 1e-9);
    return [low - pad, high + pad];
  };
  // The same, of numbers that come while it trains: round ends, so that a picture changes its scale seldom.
  function roomy(values) {
    const [low, high] = extent(values), step = (high - low) / 4, unit = 2 ** Math.ceil(Math.log2(step));
    return [Math.floor(low / unit) * unit, Math.ceil(high / unit) * unit];
  }
  const when = (at) => at === null ? "not separable so far" : `separable from iteration ${at}`;
  const upright = (at, toX, g, frame) => {
    g.strokeStyle = INK; g.lineWidth = 1.4; g.beginPath();
    g.moveTo(toX(at + 1), frame.y); g.lineTo(toX(at + 1), frame.y + frame.h); g.stroke();
  };
  function within(g, frame, drawing) { // nothing of it outside of the axes
    g.save(); g.beginPath(); g.rect(frame.x, frame.y, frame.w, frame.h); g.clip();
    drawing();
    g.restore(); g.globalAlpha = 1;
  }
  function stroke(g, places) { // through all places that are numbers
    let on = false;
    g.beginPath();
    for (const [x, y] of places) {
      if (Number.isFinite(y)) g[on ? "lineTo" : "moveTo"](x, y);
      on = Number.isFinite(y);
    }
    g.stroke();
  }

  function dot(g, x, y, radius, colour, alpha = 0.8) {
    g.fillStyle = colour; g.globalAlpha = alpha;
    g.beginPath(); g.arc(x, y, radius, 0, 2 * Math.PI); g.fill();
    g.globalAlpha = 1;
  }
  function outlined(g, text, x, y, colour) { // to be read on lines and points
    g.fillStyle = colour; g.strokeStyle = GROUND; g.lineWidth = 3; g.globalAlpha = 1;
    for (const draw of ["strokeText", "fillText"]) g[draw](text, x, y);
  }
  function numbered(g, places, colours) { // the number of each point beside it; of two in one place on either side
    g.font = LETTERS;
    places.forEach(([x, y], i) => {
      const second = places.slice(0, i).some(([a, b]) => Math.hypot(a - x, b - y) < 12), side = second ? -1 : 1;
      g.textAlign = second ? "right" : "left"; g.textBaseline = second ? "top" : "bottom";
      outlined(g, String(i), x + 3 * side, y - 2 * side, colours(i));
    });
  }

  // How each kind of panel is drawn. A run as it stands: {rows: [{t, row}], labels, recorded: {name: shape}, steps, at}; a panel
  // is as live/panels.py says.
  const kinds = {
    paths(g, frame, run, panel, colours) {
      const name = panel.of[0], [, n] = run.recorded[name], rows = run.rows;
      const all = rows.flatMap(({ row }) => Array.from(row[name]));
      const title = run.at === undefined || rows.length < 2 ? panel.title : when(run.at);
      const [toX, toY] = stage(g, frame, [1, run.steps + 1, ...roomy(all)],
        { log: [true, false], xlabel: "iteration", ylabel: "embedding", title });
      within(g, frame, () => {
        for (let i = 0; i < n; i++) {
          g.strokeStyle = colours[run.labels[i] % colours.length]; g.globalAlpha = run.labels[i] ? 0.45 : 0.75;
          stroke(g, rows.map(({ t, row }) => [toX(t + 1), toY(row[name][i])])); // t + 1: an axis by ratios has no 0
          dot(g, toX(rows.at(-1).t + 1), toY(rows.at(-1).row[name][i]), 2.5, g.strokeStyle);
        }
        g.globalAlpha = 1;
        if (run.at !== null && run.at !== undefined) upright(run.at, toX, g, frame);
      });
    },

    points(g, frame, run, panel, colours) {
      const [name, views] = panel.of, [n, d] = run.recorded[name].slice(-2), { t, row: last } = run.rows.at(-1);
      const row = { ...run.rows[0].row, ...last }; // what is held stands in the first row alone
      const place = d === 3 ? turned(panel.eye) : (v, i) => [v[i * d], v[i * d + 1], 1];
      const lift = (i) => panel.ball && d === 2 ? 1 + 0.25 * (0.618 * i % 1) : 1; // a band, in which each can be seen
      const at = (v, i) => { const [x, y, depth] = place(v, i); return [lift(i % n) * x, lift(i % n) * y, depth]; };
      const of = (row, which) => Array.from({ length: row[which].length / d }, (_, i) => at(row[which], i));
      const all = of(row, name), copies = views ? of(row, views) : [];
      const edge = d === 3 ? 1.15 : 1.4, reach = (axis) => roomy(run.rows.flatMap((one) => panel.of.flatMap((which) => of(one.row, which).map((p) => p[axis]))));
      const [xs, ys] = panel.ball ? [[-edge, edge], [-edge, edge]] : [reach(0), reach(1)];
      const scale = Math.max((xs[1] - xs[0]) / frame.w, (ys[1] - ys[0]) / frame.h);
      const around = ([low, high], size) => [(low + high - scale * size) / 2, (low + high + scale * size) / 2];
      const title = run.held.includes(name) ? panel.title : `${panel.title ? panel.title + ", " : ""}iteration ${t}`;
      const words = panel.ball ? { bare: true, title } : { xlabel: "coordinate 1", ylabel: "coordinate 2", title };
      const [toX, toY] = stage(g, frame, [...around(xs, frame.w), ...around(ys, frame.h)], words);
      if (panel.ball) { g.strokeStyle = MUTED; g.beginPath(); g.arc(toX(0), toY(0), toX(1) - toX(0), 0, 2 * Math.PI); g.stroke(); }
      within(g, frame, () => {
        const kinds = panel.colour ? row[panel.colour] : run.labels, own = (i) => colours[kinds[i] % colours.length];
        all.forEach(([x, y, depth], i) => {
          dot(g, toX(x), toY(y), 3, own(i), depth < 0 ? 0.25 : 0.8);
          g.strokeStyle = own(i); g.globalAlpha = 0.6;
          stroke(g, copies.filter((_, k) => k % n === i).map(([x, y]) => [toX(x), toY(y)]));
        });
        if (panel.numbers) numbered(g, all.map(([x, y]) => [toX(x), toY(y)]), own);
      });
    },

    // The data of the start, at one scale in both directions; numbers lie on a line, apart in height so that all are seen.
    data(g, frame, run, panel, colours) {
      const values = run.rows[0].row[panel.of[0]], d = run.recorded[panel.of[0]].at(-1);
      const all = Array.from({ length: values.length / d }, (_, i) => d === 2 ? [values[2 * i], values[2 * i + 1]] : [values[i], (0.618 * i) % 1 - 0.5]);
      const given = panel.limits, [low, high] = given && values.every((v) => v >= given[0] && v <= given[1]) ? given : roomy([...values, ...given ?? []]);
      const scale = (high - low) / Math.min(frame.w, frame.h), around = (size) => [(low + high - scale * size) / 2, (low + high + scale * size) / 2];
      const [toX, toY] = stage(g, frame, [...around(frame.w), ...(d === 2 ? around(frame.h) : [-2, 2])], { title: panel.title, bare: true });
      g.strokeStyle = GRID; g.strokeRect(frame.x, frame.y, frame.w, frame.h);
      const own = (i) => colours[run.labels[i % run.labels.length] % colours.length];
      within(g, frame, () => {
        all.forEach(([x, y], i) => dot(g, toX(x), toY(y), 3, own(i)));
        if (panel.numbers) numbered(g, all.map(([x, y]) => [toX(x), toY(y)]), own);
      });
    },

    curves(g, frame, run, panel, colours) {
      const lines = panel.of.flatMap((name) => Array.from({ length: run.recorded[name].at(-1) }, (_, j) =>
        run.rows.map(({ t, row }) => [t + 1, row[name][j]])));
      const values = lines.flat().map(([, v]) => v);
      const given = panel.limits ?? [], kept = given.length && values.every((v) => !(v < given[0] || v > given[1]));
      const axis = kept ? given : panel.log ? extent([...values, ...given], true) : roomy([...values, ...given]);
      const [toX, toY] = stage(g, frame, [1, run.steps + 1, ...axis],
        { log: [true, panel.log], xlabel: panel.xlabel, title: panel.title || panel.names.join(", ") });
      const named = lines.length > 1 && lines.length === panel.names.length; // one line for each name: it stands at its end
      const dashes = named ? [[], [7, 5], [2, 3]] : [[]], taken = []; // lines that lie on each other are told apart
      within(g, frame, () => lines.forEach((line, k) => {
        g.strokeStyle = colours[k % colours.length]; g.lineWidth = 1.6;
        g.setLineDash(dashes[k % dashes.length]);
        stroke(g, line.map(([x, v]) => [toX(x), panel.log && v <= 0 ? NaN : toY(v)]));
        g.setLineDash([]);
        dot(g, toX(line.at(-1)[0]), toY(line.at(-1)[1]), 2.5, g.strokeStyle);
      }));
      if (!named) return;
      // A name stands above the end of its line, of lines that fall below it, where there is room; from the highest line
      // downwards, or from the lowest one upwards, so that names follow each other as the lines do.
      const falls = lines.every((line) => line[0][1] >= line.at(-1)[1]);
      const ends = lines.map((line, k) => ({ name: panel.names[k], colour: colours[k % colours.length], x: toX(line.at(-1)[0]),
        y: toY(line.at(-1)[1]) })).filter(({ y }) => Number.isFinite(y)).sort((a, b) => falls ? b.y - a.y : a.y - b.y);
      const free = (y) => taken.every((other) => Math.abs(other - y) >= 13); // no name stands on another one
      const fits = (y) => y > frame.y && y + 13 < frame.y + frame.h && free(y);
      within(g, frame, () => ends.forEach((end) => {
        const [above, below] = [end.y - 16, end.y + 3], sides = falls ? [below, above] : [above, below];
        let y = sides.find(fits) ?? sides[1];
        while (!free(y)) y += falls ? -1 : 1;
        taken.push(y);
        const right = end.x > frame.x + frame.w / 2;
        g.textAlign = right ? "right" : "left"; g.textBaseline = "top";
        outlined(g, end.name, end.x + (right ? -3 : 3), y, end.colour);
      }));
    },

    bars(g, frame, run, panel, colours) {
      const { row, t } = run.rows.at(-1), values = row[panel.of[0]], floor = panel.log ? 1e-12 : 0;
      const [low, high] = panel.limits ?? extent(values, panel.log);
      const places = Array.from(values, (_, i) => i + 1).filter((i) => values.length < 10 || i % 2);
      const [toX, toY] = stage(g, frame, [0.4, values.length + 0.6, panel.log ? low : Math.min(low, 0), high],
        { log: [false, panel.log], xlabel: panel.xlabel, title: `${panel.title || panel.names[0]}, iteration ${t}`, places });
      within(g, frame, () => values.forEach((v, i) => {
        g.fillStyle = panel.colour ? colours[row[panel.colour][i] % colours.length] : INK;
        const top = toY(Math.max(v, floor)), foot = panel.log ? frame.y + frame.h : toY(0);
        g.fillRect(toX(i + 0.7), Math.min(top, foot), toX(i + 1.3) - toX(i + 0.7), Math.abs(foot - top));
      }));
      g.font = LETTERS.replace("12", "10"); g.textAlign = "center"; g.textBaseline = "bottom";
      const room = toX(2) - toX(1) >= 22; // of a number above its bar
      const digits = panel.log ? 20 : Math.max(0, 3 - Math.ceil(Math.log10(high))), few = (v) => Number(v.toPrecision(2)).toFixed(digits);
      if (room) values.forEach((v, i) => outlined(g, String(Number(few(v))).replace("-", "\u2212"), toX(i + 1),
        Math.max(Math.min(toY(Math.max(v, floor)), frame.y + frame.h), frame.y + 12) - 1, INK));
    },
  };

  // Points in space as they are seen from afar: [right, up, towards the reader]. eye: how far the reader has gone around
  // the third axis, and up, as angles.
  const EYE = { around: 0.6, up: 0.35 };
  function turned({ around, up }) {
    const [c, s, level, rise] = [Math.cos(around), Math.sin(around), Math.cos(up), Math.sin(up)];
    return (v, i) => {
      const [x, y, z] = [v[3 * i], v[3 * i + 1], v[3 * i + 2]];
      const towards = x * c + y * s, right = y * c - x * s;
      return [right, z * level - towards * rise, towards * level + z * rise];
    };
  }

  // The name of a run, a list of words, as many of them as there is room for.
  function head(g, words, { x, y, w }) {
    g.font = `bold ${LETTERS}`; g.fillStyle = INK; g.textAlign = "left"; g.textBaseline = "top";
    const written = (k) => words.slice(0, k).join(", ") + (k < words.length ? `, ${words.length - k} more` : "");
    let k = words.length;
    while (k > 1 && g.measureText(written(k)).width > w - 2 * EDGE) k -= 1;
    g.fillText(written(k), x + EDGE, y + 4);
  }

  // The numbers in question, in one line; a share has a bar beside it.
  function meters(g, says, row, { x, y, w }) {
    const bar = w > 400 ? 60 : 24, texts = says.map((each) => tasks.phrase(row, each));
    g.font = LETTERS; g.textAlign = "left"; g.textBaseline = "top";
    let at = x + EDGE;
    says.forEach(([name, , , kind], k) => {
      g.fillStyle = INK; g.fillText(texts[k], at, y + 4);
      at += g.measureText(texts[k]).width + 6;
      if (kind === "%") {
        g.fillStyle = GRID; g.fillRect(at, y + 7, bar, 7);
        g.fillStyle = INK; g.fillRect(at, y + 7, bar * Math.max(0, Math.min(1, tasks.entry(row, name))), 7);
        at += bar;
      }
      at += 14;
    });
  }

  function draw(g, box, run, panel, colours) {
    const [left, below] = panel.ball || panel.kind === "data" ? [10, 10] : [56, 40]; // room for numbers and words along the axes
    const frame = { x: box.x + left, y: box.y + 26, w: box.w - left - (left === 10 ? 10 : 20), h: box.h - 26 - below };
    const paths = panel.kind === "points" && run.recorded[panel.of[0]].at(-1) === 1;
    kinds[paths ? "paths" : panel.kind](g, frame, run, panel, colours);
  }

  // Where all of it stands: of each run its name, the numbers in question and its panels, in pixels. Panels stand side by
  // side; on a phone two by two, with curves and bars below each other. Where one panel is all, runs stand side by side.
  function layout(panels, count, width, { named, says }) {
    const narrow = width < 480, rows = [];
    const wide = ({ kind }) => kind === "curves" || kind === "bars";
    for (const panel of panels) {
      const last = rows.at(-1), joins = !narrow || (last?.length === 1 && !wide(last[0]) && !wide(panel));
      if (last && joins) last.push(panel); else rows.push([panel]);
    }
    const usual = narrow ? (row) => row.length > 1 ? Math.max(190, width / 2 + 16) : 190 : () => count === 1 && panels.length === 1 ? 330 : 260;
    const tall = (row) => Math.max(usual(row), ...row.map(({ height }) => Math.min(height ?? 0, width))); // some ask for more
    const heads = (named ? HEAD : 0) + (says && (narrow || !named) ? HEAD : 0), each = heads + rows.reduce((sum, row) => sum + tall(row), 0);
    const beside = !narrow && panels.length === 1, places = [];
    for (let i = 0; i < count; i++) {
      const w = beside ? width / count : width, x = beside ? i * w : 0, boxes = [];
      let y = beside ? 0 : i * each;
      const half = named && says && !narrow ? w / 2 : 0; // name and numbers share a line
      const name = named && { x, y, w: half || w }, meter = says && { x: x + half, y: y + (named && narrow ? HEAD : 0), w: w - half };
      y += heads;
      for (const row of rows) {
        const shares = row.reduce((sum, { span }) => sum + span, 0), h = tall(row);
        let left = x;
        for (const { span } of row) { boxes.push({ x: left, y, w: w * span / shares, h }); left += w * span / shares; }
        y += h;
      }
      places.push({ name, meter, boxes });
    }
    return { height: beside ? each : each * count, places };
  }
  function bright(colour) { // of letters: then what they stand on is dark
    const [r = 0, g = 0, b = 0] = colour.match(/[\d.]+/g)?.map(Number) ?? []; // "" of a figure that has been taken away
    return 0.3 * r + 0.6 * g + 0.1 * b > 128;
  }

  // When a run of so many steps is recorded, as training.loop.recorded_times: a geometric series, the first and the last.
  function timesOf(steps) {
    const found = new Set([0, steps]);
    for (let t = 1; t < steps; t *= 1.12) found.add(roundEven(t));
    return [...found].sort((a, b) => a - b);
  }
  function roundEven(x) { // Python's round
    const low = Math.floor(x), part = x - low;
    return part > 0.5 || (part === 0.5 && low % 2) ? low + 1 : low;
  }

  function here(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const part = (name) => figure.querySelector(name);
    const setup = JSON.parse(part(".clbook-here-setup").textContent);
    const canvas = part("canvas"), still = part("img"), status = part(".clbook-status"), knobs = part(".clbook-knobs");
    const progress = part("progress");
    const buttons = Object.fromEntries([...figure.querySelectorAll("[data-do]")].map((b) => [b.dataset.do, b]));
    // The settings that the step reads, and what says which run it is and how long.
    const every = [...setup.knobs, ...setup.more], APART = ["seed", "steps"];
    const holder = (name) => APART.includes(name) ? now : now.settings;
    const start = { settings: Object.fromEntries(every.filter((k) => !APART.includes(k.name)).map((k) => [k.name, k.value])), seed: setup.seed,
      steps: setup.steps, shape: setup.shapes.map((s) => s.start) };
    let now = structuredClone(start), worker = null, tried = false, current = null, pinned = [], waiting = [];
    let training = false, starting = false, wanted = null, note = ""; // wanted: the run that has been asked for, and has not begun
    let trained = false; // from then on each change trains; before, it shows another start
    // tried: whether a worker has been asked for; one that could not be had is not asked for again at rest.
    const gone = new MutationObserver(() => { if (!figure.isConnected) leave(); }); // looks as long as there is a worker
    let number = 0; // which run the worker is asked for: an answer to an earlier one may still be on its way

    // The worker, whose text is what all blocks of the page share and this one's programs. It begins with a step that
    // nobody sees: once the browser has compiled that, Train answers at once.
    function work() {
      if (worker) return worker;
      tried = true;
      const made = setup.programs.map(({ spec }, k) => `() => new Program(shape${k}_setup(), shape${k}_step(), ${JSON.stringify(spec)})`);
      const text = [shared, part(".clbook-here-code").textContent, `const programs = [${made}];`].join("\n");
      try {
        worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      } catch { return broken(); }
      worker.onmessage = hear;
      worker.onerror = ({ target }) => { if (target === worker) broken(); };
      worker.postMessage({ warm: shapeNumber() });
      gone.observe(document, { childList: true, subtree: true });
      return worker;
    }
    function end() {
      worker?.terminate();
      worker = null;
      gone.disconnect();
    }
    function leave() { // a notebook has taken the figure away
      if (training) actions.train(); // Stop
      end();
    }
    function broken() { // a browser without workers, or one that has given up
      end();
      coming = [];
      halted();
      wanted = null;
      starting = false;
      picture();
      say("This browser cannot train here.");
      return null;
    }
    const rowsNow = () => (wanted ?? current)?.rows ?? [];
    function halted() {
      training = false;
      progress.hidden = true;
      buttons.train.textContent = "Train";
      waiting.forEach((hand) => hand(rowsNow()));
      waiting = [];
    }
    // The names of what is drawn and said of a run, first what moves; and of what stands still.
    const drawn = (recorded) => [...new Set([...setup.panels.flatMap(({ of, colour }) => [...of, colour]).reverse(),
      ...setup.says.map(([name]) => name.split("[")[0]), "separable_at"])].filter((name) => name in recorded);
    const shapeNumber = () => setup.shapes.reduce((k, s, i) => k * s.values.length + now.shape[i], 0);
    const told = () => every.filter((k) => setup.knobs.includes(k) || k.name === "seed" || holder(k.name)[k.name] !== k.value);
    const about = () => [...setup.shapes.map((shape, i) => `${short(shape)} ${shape.values[now.shape[i]]}`),
      ...told().map((knob) => `${short(knob)} ${said(holder(knob.name)[knob.name])}`)].join(", ");
    function say(text) { if (status.textContent !== text) status.textContent = text; }

    // Ask the worker for a run with the settings of now; at the times [0] it is the start alone. It takes the place of the
    // one in the picture once something of it is there.
    function begin(times) {
      if (!work()) return false;
      const shape = shapeNumber(), { recorded, held, labels } = setup.programs[shape];
      wanted = { rows: [], labels, recorded: { ...recorded, ...held }, held: Object.keys(held), steps: now.steps, about: about(), asked: structuredClone(now) };
      number += 1;
      worker.postMessage({ number, shape, settings: now.settings, seed: now.seed, times, drawn: drawn(recorded), held: wanted.held });
      return true;
    }
    function preview() { starting = begin([0]); }
    function train(words = "") { // words: what the status says before all else
      const { times } = setup.programs[shapeNumber()];
      starting = false;
      if (!begin(now.steps === start.steps ? times : timesOf(now.steps))) return;
      training = trained = true;
      note = words;
      buttons.train.textContent = "Stop";
      progress.hidden = false;
      touch();
    }
    function stop() {
      coming = [];
      if (!training) return;
      worker.postMessage({ stop: true });
      halted();
    }

    function hear({ data }) {
      if (!(training || starting) || data.number !== number) return;
      current = wanted ?? current;
      wanted = null;
      current.rows.push(...data.rows);
      const last = current.rows.at(-1);
      if (last?.row.separable_at) current.at = last.row.separable_at[0] < 0 ? null : last.row.separable_at[0];
      if (data.over) picture(); // the end stands there when the words say so
      else if (!reduced.matches) paint();
      if (starting) { starting = false; return; }
      progress.value = data.t / current.steps;
      const found = outcome(current);
      if (!data.over) return say(`${note}iteration ${data.t} of ${current.steps}${found}`);
      const name = pinned.length ? `${apart([...pinned, current]).at(-1).join(", ")}: ` : "";
      say(data.finite ? `${note}${name}${data.t} iterations in ${(data.wall / 1000).toFixed(2)} s${found}.${data.t ? achieved() : ""}`
        : `The run diverged at iteration ${data.t}: try a smaller learning rate.`);
      halted();
      if (coming.length) { keep(); next(); } else if (asking) answer();
    }

    // What came out so far, in words: first what the text asks about.
    function outcome(run) {
      const words = run.at === undefined ? [] : [when(run.at)], row = run.rows.at(-1)?.row;
      words.push(...setup.says.map((each) => tasks.phrase(row, each)));
      for (const { kind, of, names } of setup.says.length ? [] : setup.panels)
        if (kind === "curves") of.forEach((name, k) => {
          if (row && row[name].length === 1) words.push(`${names[k]} ${said(Math.abs(row[name][0]) < 1e-9 ? 0 : row[name][0])}`);
        });
      return words.map((text) => `, ${text}`).join("");
    }

    // --- goals ---
    const mine = `${tasks.page}#${setup.name}`, board = tasks.board(figure, setup.name, setup.goals);
    function achieved() { // by the run that has just ended; said in words
      const { asked: { settings, shape, seed, steps }, rows } = current;
      const chosen = Object.fromEntries(setup.shapes.map(({ name, values }, i) => [name, values[shape[i]]]));
      return board(rows.at(-1).row, { ...settings, seed, steps, ...chosen });
    }

    // --- the prediction: what its runs show is covered until a reader has chosen ---
    const { ask } = setup, chips = [...figure.querySelectorAll(".clbook-ask button")];
    let open = Boolean(ask), asking = false, guess = null; // asking: the runs that answer are on their way
    const ready = () => open ? "Choose an answer, and it trains. Until then each change shows another start."
      : "Press Train. Until then each change shows another start; after that it trains at once.";
    function settle(k) {
      open = false;
      guess = k;
      part(".clbook-skip")?.remove();
      chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === k)));
    }
    function choose(k) {
      if (open) tasks.keep(tasks.PREDICTIONS, mine, k);
      settle(k);
      stop();
      pinned = [];
      asking = true;
      part(".clbook-reply").textContent = "";
      coming = ask.shows.length ? ask.shows.map((values) => runOf(Object.entries(values))) : [structuredClone(now)];
      next();
    }
    function answer() {
      asking = false;
      chips[ask.right].classList.add("clbook-right");
      const right = guess === ask.right, told = right ? "" : ` The answer is \u201c${ask.choices[ask.right]}\u201d: ${ask.replies[ask.right]}`;
      part(".clbook-reply").textContent = `${right ? "Right." : "Not so."} ${ask.replies[guess]}${told}`;
    }
    function pose() {
      const before = tasks.kept(tasks.PREDICTIONS), skip = Object.assign(document.createElement("button"), { type: "button", textContent: "Skip", className: "clbook-skip" });
      chips.forEach((chip, k) => { chip.disabled = false; chip.addEventListener("click", () => choose(k)); });
      chips.at(-1).after(skip);
      skip.addEventListener("click", () => { settle(null); say(ready()); buttons.train.focus(); });
      if (Number.isInteger(before[mine]) && ask.choices[before[mine]]) { settle(before[mine]); answer(); }
      else if (before["skip all"]) settle(null);
    }

    let asked = 0; // a picture for each frame of the screen, however fast the worker is
    function paint() { asked ||= requestAnimationFrame(() => { asked = 0; picture(); }); }
    function picture() {
      const runs = [...pinned, current].filter((run) => run?.rows.length);
      canvas.hidden = !runs.length;
      still.hidden = !canvas.hidden;
      if (canvas.hidden) return;
      ({ INK, MUTED, GRID, GROUND } = bright(getComputedStyle(figure).color) ? DARK : LIGHT);
      const zoom = devicePixelRatio || 1, width = canvas.clientWidth || 700, { panels, says } = setup;
      const names = runs.length > 1 ? apart(runs) : [];
      const { height, places } = layout(panels, runs.length, width, { named: names.length > 0, says: says.length > 0 });
      if (canvas.width !== Math.round(width * zoom) || canvas.height !== Math.round(height * zoom)) {
        canvas.width = Math.round(width * zoom); canvas.height = Math.round(height * zoom);
      }
      turning(runs.some(inSpace));
      const g = canvas.getContext("2d");
      g.setTransform(zoom, 0, 0, zoom, 0, 0);
      g.clearRect(0, 0, width, height);
      runs.forEach((run, i) => {
        const { name, meter, boxes } = places[i];
        if (name) head(g, names[i], name);
        if (meter) meters(g, says, run.rows.at(-1).row, meter);
        panels.forEach((panel, j) => guests[j] ? guests[j].draw(g, boxes[j], run) : draw(g, boxes[j], run, { ...panel, eye }, setup.colours));
      });
      const words = runs.map((run, i) => `${names[i] ? `${names[i].join(", ")}, of ` : ""}${run.about}: iteration ${run.rows.at(-1).t}${outcome(run)}`);
      canvas.setAttribute("aria-label", `${trained ? "In training" : "Before training"}. ${words.join("; ")}.`);
    }

    // --- points in space are turned ---
    const eye = { ...EYE };
    const inSpace = (run) => setup.panels.some(({ kind, of }) => kind === "points" && run.recorded[of[0]].at(-1) === 3);
    function turning(may) { // whether the picture can be turned, and says so
      if (may === (canvas.tabIndex === 0)) return;
      canvas.tabIndex = may ? 0 : -1;
      canvas.setAttribute("role", may ? "application" : "img");
      canvas.classList.toggle("clbook-turns", may);
      canvas.title = may ? "Drag, or press the arrow keys, to turn the sphere" : "";
    }
    function turn(around, up) {
      eye.around += around;
      eye.up = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, eye.up + up));
      picture();
    }
    let held = null; // where the pointer is, while it turns
    canvas.addEventListener("pointerdown", (event) => {
      if (canvas.tabIndex !== 0) return;
      held = event;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      turn((held.clientX - event.clientX) / 100, (event.clientY - held.clientY) / 100);
      held = event;
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { held = null; });
    const TURNS = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    canvas.addEventListener("keydown", (event) => {
      if (canvas.tabIndex !== 0 || !(TURNS[event.key] || event.key === "Home")) return;
      event.preventDefault();
      if (event.key === "Home") Object.assign(eye, EYE);
      turn(...TURNS[event.key] ?? [0, 0]);
      const degrees = (angle) => Math.round(angle * 180 / Math.PI);
      say(`Seen from ${(degrees(eye.around) % 360 + 360) % 360}\u00b0 around, ${said(degrees(eye.up))}\u00b0 up.`);
    });

    // --- what a reader sets ---
    function change() {
      if (trained) return train();
      preview();
      touch();
      say(ready()); // and no longer what was not allowed
    }
    const called = (name) => short([...every, ...setup.shapes].find((one) => one.name === name));
    // Let a run have a setting: a number, or the value that a button shows; RangeError for one that is not allowed.
    function take(run, name, value) {
      const i = setup.shapes.findIndex((shape) => shape.name === name);
      if (i < 0) {
        check(every, name, value, setup.shapes.map((shape) => shape.name));
        (APART.includes(name) ? run : run.settings)[name] = value;
        return;
      }
      const { values } = setup.shapes[i], k = values.indexOf(String(value === true ? "on" : value === false ? "off" : value));
      if (k < 0) throw new RangeError(`${called(name)} = ${value} is not allowed: it must be one of ${values.join(", ")}`);
      run.shape[i] = k;
    }
    const refused = new Map(); // {name of a setting: what stands in its box, and is not allowed}
    function slider(knob, host) {
      const label = document.createElement("label"), f = knob.log ? Math.log : (v) => v, inverse = knob.log ? Math.exp : (v) => v;
      const places = knob.whole && !knob.log ? knob.high - knob.low : 1000; // a key moves by one of them
      label.title = knob.about;
      label.innerHTML = `<span></span><input type="range" min="0" max="${places}" autocomplete="off"><input type="text" inputmode="decimal" autocomplete="off">`;
      label.firstChild.textContent = knob.label;
      const [range, box] = label.querySelectorAll("input"), span = f(knob.high) - f(knob.low);
      range.setAttribute("aria-label", knob.label);
      box.setAttribute("aria-label", `${knob.label}, typed`);
      const show = () => {
        const value = holder(knob.name)[knob.name];
        range.value = places * (f(Math.max(value, knob.low)) - f(knob.low)) / span;
        range.setAttribute("aria-valuetext", said(value));
        if (document.activeElement !== box) box.value = said(value).replace("\u2212", "-");
        box.removeAttribute("aria-invalid");
        refused.delete(knob.name);
      };
      range.addEventListener("input", () => {
        const value = inverse(f(knob.low) + span * range.value / places);
        const rounded = knob.whole ? Math.round(value) : Number(value.toPrecision(3));
        holder(knob.name)[knob.name] = Math.min(knob.high, Math.max(knob.low, rounded));
        show();
        change();
      });
      box.addEventListener("change", () => {
        const value = Number(box.value.replace(",", "."));
        if (!box.value.trim() || !fits(knob, value)) {
          stop(); // a run would write over what is said here
          box.setAttribute("aria-invalid", "true");
          refused.set(knob.name, box.value);
          return say(refusal(knob, box.value));
        }
        holder(knob.name)[knob.name] = value;
        show();
        change();
      });
      host.append(label);
      return show;
    }
    function choice(shape, i) {
      const row = document.createElement("div"), own = document.createElement("div");
      row.className = "clbook-row"; own.className = "clbook-choices";
      row.setAttribute("role", "group"); row.setAttribute("aria-label", shape.label);
      row.append(Object.assign(document.createElement("span"), { textContent: shape.label }), own);
      const all = shape.values.map((value, k) => {
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: value });
        button.addEventListener("click", () => { now.shape[i] = k; refresh(); change(); });
        own.append(button);
        return button;
      });
      knobs.append(row);
      return () => all.forEach((button, k) => button.setAttribute("aria-pressed", String(now.shape[i] === k)));
    }
    const shows = [...setup.shapes.map(choice), ...setup.knobs.map((knob) => slider(knob, knobs)),
      ...setup.more.map((knob) => slider(knob, part(".clbook-more")))];
    function refresh() { shows.forEach((show) => show()); guests.forEach((guest) => guest?.changed()); }

    // A kind of panel of a file of its own: it draws in its box, and may stand below the picture and change settings.
    const set = (values) => { Object.assign(now.settings, values); refresh(); change(); };
    const guests = setup.panels.map((panel) => window.clbookPanels?.[panel.kind]?.(panel, { figure, now: () => now, set, paint }));

    // --- what an address keeps: all settings, the seed, and those of the pinned runs ---
    let coming = []; // what it asks to train and has not begun; all but the last are pinned
    const me = { figure, touched: false, address, follow };
    function touch() { me.touched = true; if (!coming.length) write(); }
    function valuesOf(run) {
      const found = new URLSearchParams(setup.shapes.map(({ name, values }, i) => [name, values[run.shape[i]]]));
      for (const [name, value] of Object.entries({ ...run.settings, seed: run.seed, steps: run.steps })) found.set(name, value);
      return found;
    }
    // What tells each of several runs from the others, in the words of their settings; of runs that are alike, the seed.
    function apart(runs) {
      const values = runs.map(({ asked }) => valuesOf(asked));
      const differ = [...values[0].keys()].filter((name) => new Set(values.map((own) => own.get(name))).size > 1);
      return values.map((own) => (differ.length ? differ : ["seed"]).map((name) => `${called(name)} ${own.get(name)}`));
    }
    function address() {
      const own = valuesOf(now), pins = pinned.map(({ asked }) => valuesOf(asked));
      if (!current && String(pins.at(-1)) === String(own)) pins.pop(); // nothing has been changed since it was pinned
      for (const pin of pins) own.append("pin", pin);
      return `${encodeURIComponent(setup.name)}:${own}`;
    }
    function runOf(values) { // a run; what is not allowed is left out
      const run = structuredClone(start);
      for (const [name, text] of values) {
        const number = text.trim() ? Number(text) : NaN;
        try { take(run, name, every.some((knob) => knob.name === name) ? number : text); } catch { /* left out */ }
      }
      return run;
    }
    function follow(values) {
      figure.dispatchEvent(new Event("clbook-asked", { bubbles: true })); // what covers it until a reader has guessed
      if (open) settle(null);
      stop();
      const pins = values.getAll("pin").slice(0, PINS - 1).map((text) => runOf(new URLSearchParams(text)));
      pinned = [];
      coming = [...pins, runOf(values)];
      next();
    }
    function next() { now = coming.shift(); refresh(); train(); }
    function keep() { // beside the next one
      pinned = [...pinned, current].slice(1 - PINS);
      current = null;
    }
    // Whoever does something here has a mind of his own.
    for (const kind of ["click", "input", "change"])
      figure.addEventListener(kind, ({ target }) => { if (target.closest("button, input")) coming = []; }, true);

    const actions = {
      train() {
        if (training) { stop(); return say(`Stopped at iteration ${rowsNow().at(-1)?.t ?? 0}.`); }
        if (open) { chips[0].focus(); return say("First your guess: choose one of the answers above, or Skip."); }
        // A typed value that is not allowed gives way to the one that is trained, which is said.
        const words = [...refused].map(([name, typed]) => `${called(name)} stays ${said(holder(name)[name])}, as ${typed} is not allowed: `);
        refresh();
        train(words.join(""));
      },
      seed() { now.seed = Math.floor(Math.random() * 10000); refresh(); change(); },
      pin() {
        if (!trained || !current?.rows.length) return say("Train first: what stands in the picture is pinned.");
        stop(); keep(); picture(); touch(); say("Pinned. The next run stands beside it.");
      },
      reset() {
        stop(); now = structuredClone(start); pinned = []; trained = false; refresh(); say(ready()); preview();
        me.touched = false; write();
      },
    };
    for (const [name, button] of Object.entries(buttons)) { button.disabled = false; button.addEventListener("click", actions[name]); }
    figure.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys
    // The worker is there before Train is pressed: it begins once the page has come to rest.
    const idle = window.requestIdleCallback ?? ((begin) => setTimeout(begin, 200));
    const rest = () => idle(() => { if (figure.isConnected && !tried) preview(); });
    if (document.readyState === "complete") rest();
    else addEventListener("load", rest);
    new ResizeObserver(paint).observe(canvas.parentNode);
    new MutationObserver(paint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    refresh();
    if (ask) pose();
    say(ready());

    // What programs may ask: `window.clbook.explorers[name].run({eps: 0.17, seed: 3})`.
    ((window.clbook ??= {}).explorers ??= {})[setup.name] = {
      async run(given = {}) {
        const asked = structuredClone(start);
        for (const [name, value] of Object.entries(given)) take(asked, name, value);
        if (open) settle(null);
        stop();
        now = asked;
        refresh();
        const done = new Promise((resolve) => waiting.push(resolve));
        train();
        const rows = await done, last = rows.at(-1);
        const found = { steps: rows.map(({ t }) => t), ...last?.row }; // nothing, where it was stopped at once
        for (const guest of guests) Object.assign(found, guest?.found(rows));
        for (const key of Object.keys(found)) if (key.endsWith("_at")) found[key] = found[key][0] < 0 ? null : found[key][0];
        return found;
      },
      cancel: stop,
    };
    const given = join(setup.name, me);
    if (given) follow(given);
  }
  return here;
})();
