// The static explorer: sliders over frames that the page already holds. No library, no request, no fixed ids.
window.clbookExplorer ??= (() => {
  const explorers = new Map();
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const PAUSE = 140; // milliseconds between two frames of the play button
  const WAIT = 200; // milliseconds until a moved slider is in the address: browsers limit how often it may change

  // --- the frames, as clbook/explore/vector.py packs them ---
  const sums = (steps) => { let s = 0; return steps.map((v) => (s += v)); };
  const ragged = ([lengths, values]) => {
    const flat = sums(values);
    let at = 0;
    return sums(lengths).map((n) => flat.slice(at, (at += n)));
  };

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = await new Response(stream).json();
    const paths = [];
    sums(data.gaps).forEach((gap, i) => {
      const before = gap ? paths[i - gap] : "";
      paths.push(before.slice(0, before.length - data.cuts[i]) + data.suffixes[i]);
    });
    const [clips, lines, styles, points, series, images] = data.ops.map(sums);
    const [x, y, lists] = [data.x, data.y, data.lists].map(ragged);
    const ops = clips.map((clip, i) => ({
      clips: lists[clip], paths: lists[lines[i]], styles: lists[styles[i]].map((k) => data.styles[k]),
      x: x[points[i]], y: y[points[i]], series: data.series[series[i]], image: data.images[images[i]],
    }));
    const frames = data.frames.map(([steps, axes, alt]) => (
      { ops: sums(steps).map((k) => ops[k]), axes: data.axes[axes], alt }));
    return { frames, paths, units: data.units, width: data.size[0], height: data.size[1] };
  }

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

  function drawSvg(data, frame) {
    const clips = new Set(), reused = new Set(), body = [];
    for (const op of frame.ops) {
      for (const k of op.clips) { clips.add(k); body.push(`<g clip-path="url(#c${k})">`); }
      if (op.image) {
        body.push(`<image x="${op.x[0]}" y="${op.y[0]}" width="${op.x[1]}" height="${op.y[1]}" `
          + `preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,${op.image}"/>`);
      } else {
        const again = op.paths.length === 1 && op.x.length > 1;
        if (again) reused.add(op.paths[0]);
        const oneStyle = op.styles.length === 1;
        if (oneStyle) body.push(`<g ${op.styles[0]}>`);
        op.x.forEach((x, i) => {
          const style = oneStyle ? "" : op.styles[i];
          body.push(again ? `<use href="#p${op.paths[0]}" x="${x}" y="${op.y[i]}" ${style}/>`
            : `<path transform="translate(${x} ${op.y[i]})" d="${data.paths[op.paths[i]]}" ${style}/>`);
        });
        if (oneStyle) body.push("</g>");
      }
      body.push("</g>".repeat(op.clips.length));
    }
    const scale = 96 / 72 / data.units; // a canvas unit in CSS pixels
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${data.width * scale}" height="${data.height * scale}" `
      + `viewBox="0 0 ${data.width} ${data.height}"><title>${escaped(frame.alt)}</title><defs>`
      + [...clips].map((k) => `<clipPath id="c${k}"><path d="${data.paths[k]}"/></clipPath>`).join("")
      + [...reused].map((k) => `<path id="p${k}" d="${data.paths[k]}"/>`).join("") + `</defs>${body.join("")}</svg>`;
  }

  // --- from the canvas back to data coordinates ---
  function readings([x0, y0, x1, y1, left, right, bottom, top, xLog, yLog], step) {
    const along = (low, high, log, length) => {
      const span = log ? Math.log(high / low) : high - low;
      const digits = Math.ceil(-Math.log10(Math.abs(span * step / length)));
      return (part) => Number(log ? (low * Math.exp(part * span)).toPrecision(Math.min(Math.max(digits, 1), 15))
        : (low + part * span).toFixed(Math.min(Math.max(digits, 0), 20)));
    };
    const x = along(left, right, xLog, x1 - x0), y = along(bottom, top, yLog, y1 - y0);
    return (px, py) => [x((px - x0) / (x1 - x0)), y((y1 - py) / (y1 - y0))];
  }

  function drawCsv(data, frame) {
    const rows = ["series,axes,x,y"];
    const quoted = (text) => /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    for (const { series, x, y, paths } of frame.ops) {
      if (!series || !frame.axes[series[0]]) continue;
      const [axes, name, isLine] = series;
      const read = readings(frame.axes[axes], 1);
      const add = (label, px, py) => rows.push([quoted(label), axes, ...read(px, py)].join(","));
      x.forEach((x0, i) => {
        const path = isLine ? data.paths[paths[i % paths.length]] : "";
        if (!isLine) add(name, x0, y[i]);
        else if (!/[cqz]/.test(path)) {
          const steps = path.match(/-?\d+/g).map(Number);
          let px = x0, py = y[i];
          for (let k = 0; k < steps.length; k += 2) {
            px += steps[k]; py += steps[k + 1];
            add(x.length > 1 ? `${name} ${i + 1}` : name, px, py);
          }
        }
      });
    }
    return rows.join("\n") + "\n";
  }

  // --- the address: #name:eps=1&tau=0.01&frame=12;other:... ---
  const parseHash = () => new Map(location.hash.slice(1).split(";").map((part) => part.match(/^([^:]+):(.*)$/))
    .filter((m) => m && explorers.has(decodeURIComponent(m[1])))
    .map((m) => [decodeURIComponent(m[1]), new URLSearchParams(m[2])]));

  let writing = 0;
  function writeHash() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      const parts = [...explorers.values()].filter((e) => e.touched).map((e) => e.address());
      if (!parts.length && !parseHash().size) return;
      history.replaceState(history.state, "", parts.length ? "#" + parts.join(";") : location.pathname + location.search);
    }, WAIT);
  }

  addEventListener("hashchange", () => parseHash().forEach((values, name) => explorers.get(name).follow(values)));
  addEventListener("load", () => explorers.get([...parseHash().keys()][0])?.figure.scrollIntoView({ block: "center" }));

  function explorer(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const part = (name) => figure.querySelector(name);
    const { axes, times, ...setup } = JSON.parse(part(".clbook-setup").textContent);
    const img = part("img"), readout = part(".clbook-readout"), play = part("[data-do=play]");
    const inputs = [...figure.querySelectorAll("input")];
    const scrub = inputs.find((input) => input.dataset.axis === "frame");
    const sliders = inputs.filter((input) => input !== scrub);
    const start = inputs.map((input) => input.value);
    let name = setup.name;
    for (let k = 2; explorers.get(name)?.figure.isConnected; k++) name = `${setup.name}-${k}`;

    let unpacked = null, shown = null, url = null, turn = 0, run = runOf(), ticking = 0;
    const ready = () => (unpacked ??= unpack(part(".clbook-frames").textContent).catch((error) => {
      readout.hidden = false;
      readout.textContent = "This browser cannot unpack the pictures.";
      throw error;
    }));
    function runOf() { return sliders.reduce((at, input, i) => at * axes[i][1].length + +input.value, 0); }
    const index = () => scrub ? +scrub.value : 0;

    function say() { // every slider tells its value
      sliders.forEach((input, i) => tell(input, axes[i][1][input.value]));
      if (scrub) tell(scrub, String(times[run][index()]));
    }
    function tell(input, text) {
      input.setAttribute("aria-valuetext", text);
      input.nextElementSibling.value = text;
    }

    function moved() { // another run has its own recorded times: stay at the end, or at the nearest time
      const before = times[run], at = index();
      run = runOf();
      if (scrub && before !== times[run]) {
        const last = times[run].length - 1, gap = (k) => Math.abs(times[run][k] - before[at]);
        scrub.max = last;
        scrub.value = at === before.length - 1 ? last : times[run].reduce((best, _, k) => gap(k) < gap(best) ? k : best, 0);
      }
    }

    const frameOf = (data) => data.frames[times.slice(0, run).reduce((n, t) => n + t.length, 0) + index()];

    async function show() {
      say();
      const mine = ++turn;
      const data = await ready();
      if (mine !== turn) return;
      shown = frameOf(data);
      const old = url;
      url = URL.createObjectURL(new Blob([drawSvg(data, shown)], { type: "image/svg+xml" }));
      img.addEventListener("load", () => old && URL.revokeObjectURL(old), { once: true });
      img.src = url;
      img.alt = shown.alt;
    }

    const me = {
      figure, touched: false,
      address: () => name + ":" + new URLSearchParams([...sliders.map((input, i) => [axes[i][0], axes[i][1][input.value]]),
        ...(scrub ? [["frame", index()]] : [])]),
      follow(values) { // values that are not on the grid are left out
        me.touched = true;
        stop();
        sliders.forEach((input, i) => {
          const given = values.get(axes[i][0]);
          const at = axes[i][1].findIndex((v) => v === given || (given && Number(v) === Number(given)));
          if (at >= 0) input.value = at;
        });
        moved();
        if (scrub && /^\d+$/.test(values.get("frame"))) scrub.value = values.get("frame");
        return show();
      },
    };

    function touched() { me.touched = true; writeHash(); return show(); }
    function stop() {
      clearTimeout(ticking);
      ticking = 0;
      if (play) play.textContent = reduced.matches ? "Step" : "Play";
    }
    function step() { // to the next recorded time, from the last one to the first
      scrub.value = index() < +scrub.max ? index() + 1 : 0;
      return touched();
    }
    async function tick() {
      await step();
      if (!ticking) return;
      if (index() < +scrub.max) ticking = setTimeout(tick, PAUSE); else stop();
    }

    const actions = {
      play() {
        if (ticking) return stop();
        if (reduced.matches) return step();
        play.textContent = "Pause";
        ticking = setTimeout(tick, 0);
      },
      reset() {
        stop();
        sliders.forEach((input) => { input.value = start[inputs.indexOf(input)]; });
        moved();
        if (scrub) scrub.value = scrub.max;
        me.touched = false;
        writeHash();
        return show();
      },
      async svg() { const data = await ready(); save(drawSvg(data, frameOf(data)), "svg", "image/svg+xml"); },
      async csv() { const data = await ready(); save(drawCsv(data, frameOf(data)), "csv", "text/csv"); },
    };
    function save(text, ending, type) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type }));
      link.download = `${me.address().replace(/[:&]/g, "_")}.${ending}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    part(".clbook-off").remove();
    inputs.forEach((input) => {
      input.disabled = false;
      input.addEventListener("input", () => { stop(); if (input !== scrub) moved(); touched(); });
    });
    figure.querySelectorAll("button").forEach((button) => {
      button.disabled = false;
      button.addEventListener("click", () => actions[button.dataset.do]());
    });
    if (play) { stop(); reduced.addEventListener("change", stop); }
    figure.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys

    async function hover(event) {
      const data = await ready();
      shown ??= frameOf(data);
      const box = img.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * data.width;
      const y = (event.clientY - box.top) / box.height * data.height;
      const inside = shown.axes.filter((a) => a && x >= a[0] && x <= a[2] && y >= a[1] && y <= a[3]).pop();
      readout.hidden = !inside;
      if (!inside) return;
      const [dx, dy] = readings(inside, data.width / box.width)(x, y);
      readout.textContent = `${dx}, ${dy}`.replace(/-/g, "\u2212");
      const stage = readout.parentNode, corner = stage.getBoundingClientRect();
      const left = event.clientX - corner.left + stage.scrollLeft;
      readout.style.cssText = `top:${event.clientY - corner.top}px;left:${left}px;`
        + `transform:translate(${x < data.width / 2 ? "14px" : "calc(-100% - 14px)"}, -50%)`;
    }
    img.addEventListener("pointermove", hover);
    img.addEventListener("pointerdown", hover);
    img.addEventListener("pointerleave", () => { readout.hidden = true; });

    explorers.set(name, me);
    const given = parseHash().get(name);
    if (given) me.follow(given);
  }
  return explorer;
})();
