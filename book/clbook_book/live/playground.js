// Points that a reader moves, adds and takes away, and their embedding while it trains. The step is the traced one of the
// package; what is written here are pictures, pointer and keys.
window.clbookPlay ??= (() => {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const { fitted, seen, mark, ring, holding, begun, opened } = clbookPlane, { check } = clbookSettings, { board } = clbookTasks;
  const GRID = "#dde1e6", NEAR = 14, FINGER = 24, APART = 11; // pixels
  const A_FRAME = 2, AT_ONCE = 40; // steps for each picture, and where motion is reduced
  const KEPT = 4; // points that cannot be taken away
  const said = (v) => (Math.abs(v) < 0.005 ? 0 : v).toFixed(2).replace("-", "\u2212");
  const percent = (v) => `${Math.round(100 * v)} %`;

  function play(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const block = begun(figure), { part, all, setup, ways, say } = block;
    const data = part(".clbook-data"), embedding = part(".clbook-embedding");
    const room = setup.room, achieved = board(figure, setup.name, setup.goals);
    let way = 0, seed = setup.seed, tool = "point", chosen = 0, over = -1, going = false, asked = 0, ends = 0, waiting = [];
    let points = null; // {x, label, there} as the reader has made them
    let view = null, reach = 1; // how the data and the embedding are seen
    const run = () => ways[way];
    const present = () => [...points.there.keys()].filter((i) => points.there[i]);
    const name = (i) => setup.classes[points.label[i]];

    // --- the run ---
    function drawnPoints() { // those that the program itself begins with
      ways[0].start({}, seed);
      const state = ways[0].one.inputs;
      return { x: state["state.x"].slice(), label: state["state.label"].slice(), there: state["state.there"].slice() };
    }
    function restart() {
      going = false;
      run().start({}, seed);
      run().put(points);
      ends = setup.steps;
      reach = 0;
      look();
    }
    // Where all stand now: a step of length 0.
    function look() {
      const rate = run().one.inputs["state.lr"][0];
      run().put({ lr: [0] });
      run().one.step(true);
      run().put({ lr: [rate] });
      show();
    }
    function changed() { run().put(points); if (!going) look(); }
    const measured = () => `loss ${said(run().recorded.loss[0])}, same colour ${percent(run().recorded.neighbours[0])}`;

    function go() {
      going = true;
      if (run().t >= ends) ends = run().t + setup.steps;
      part("[data-do=train]").textContent = "Pause";
      say(`Training ${setup.ways[way]} \u2026`);
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(frame);
    }
    function frame() {
      if (!going) return;
      for (let k = reduced.matches ? AT_ONCE : A_FRAME; k > 0 && run().t < ends; k--) run().step(true);
      if (run().t >= ends) return halt("After");
      if (!reduced.matches) show();
      asked = requestAnimationFrame(frame);
    }
    function halt(word) {
      going = false;
      part("[data-do=train]").textContent = "Train";
      look();
      const reached = word === "After" ? achieved(run().recorded, { network: way ? "off" : "on" }) : "";
      say(run().recorded.z.every(Number.isFinite) ? `${word} ${run().t} steps ${setup.ways[way]}: ${measured()}.${reached}`
        : "The run diverged. Press Reset.");
      waiting.forEach((done) => done(result()));
      waiting = [];
    }
    const result = () => {
      const found = { t: run().t };
      for (const [key, values] of Object.entries(run().recorded)) found[key] = Array.from(values);
      return found;
    };

    // Each point takes the place of another one; a step of length 0 shows it.
    function shuffle() {
      if (going) look(); // what is compared is the loss where all stand now
      const before = [run().recorded.loss[0], run().recorded.neighbours[0]];
      const who = present(), order = Int32Array.from({ length: room }, (_, i) => i), dealt = who.slice();
      for (let k = dealt.length - 1; k > 0; k--) {
        const other = Math.floor(Math.random() * (k + 1));
        [dealt[k], dealt[other]] = [dealt[other], dealt[k]];
      }
      who.forEach((i, k) => { order[i] = dealt[k]; });
      run().put({ order });
      look();
      const { loss, neighbours } = run().recorded;
      say(`Shuffled: loss ${said(before[0])} \u2192 ${said(loss[0])}, same colour ${percent(before[1])} \u2192 ${percent(neighbours[0])}.`);
    }

    // --- pictures ---
    function dots(g, place, values) {
      for (const i of present()) {
        const x = place.toX(values[2 * i]), y = place.toY(values[2 * i + 1]);
        mark(g, x, y, points.label[i], setup.colours[points.label[i]], 0.85);
        if (i === over || (i === chosen && document.activeElement === data)) ring(g, x, y);
      }
    }
    function cross(g, place, { w, h }) {
      g.strokeStyle = GRID; g.lineWidth = 1; g.beginPath();
      g.moveTo(0, place.toY(0)); g.lineTo(w, place.toY(0)); g.moveTo(place.toX(0), 0); g.lineTo(place.toX(0), h);
      g.stroke();
    }
    function show() {
      const left = fitted(data), right = fitted(embedding), { z, loss, neighbours } = run().recorded;
      view = seen(left, setup.span, setup.middle);
      cross(left.g, view, left); dots(left.g, view, points.x);
      let far = setup.least;
      for (const i of present()) far = Math.max(far, Math.abs(z[2 * i]), Math.abs(z[2 * i + 1]));
      if (far > reach || far < 0.4 * reach) reach = far * 1.12; // it follows, and does not breathe
      const place = seen(right, 2 * reach * 1.08, [0, 0]);
      cross(right.g, place, right); dots(right.g, place, z);
      part(".clbook-loss").textContent = said(loss[0]);
      part(".clbook-neighbours").textContent = percent(neighbours[0]);
      part("meter").value = neighbours[0];
      const words = `${present().length} points, step ${run().t}, ${setup.ways[way]}: ${measured()}`;
      if (!going) embedding.setAttribute("aria-label", `The embedding. ${words}.`);
    }

    // --- what a reader changes ---
    const bounded = (v, k) => Math.max(setup.middle[k] - setup.span, Math.min(setup.middle[k] + setup.span, v));
    function move(who, dx, dy) {
      for (const i of who) {
        points.x[2 * i] = bounded(points.x[2 * i] + dx, 0);
        points.x[2 * i + 1] = bounded(points.x[2 * i + 1] + dy, 1);
      }
    }
    const clump = (i) => present().filter((j) => points.label[j] === points.label[i]);
    function add(x, y, label) {
      const free = points.there.indexOf(0);
      if (free < 0) { say(`There is room for ${room} points: take some away first.`); return false; }
      points.x.set([bounded(x, 0), bounded(y, 1)], 2 * free);
      points.label[free] = label;
      points.there[free] = 1;
      chosen = free;
      return true;
    }
    function away(i) {
      if (present().length <= KEPT) { say(`The last ${KEPT} points stay.`); return false; }
      points.there[i] = 0;
      if (chosen === i) chosen = present()[0];
      return true;
    }
    function nearest(px, py, { pointerType }) {
      let found = -1, least = (pointerType === "touch" ? FINGER : NEAR) ** 2;
      for (const i of present()) {
        const d = (view.toX(points.x[2 * i]) - px) ** 2 + (view.toY(points.x[2 * i + 1]) - py) ** 2;
        if (d < least) { least = d; found = i; }
      }
      return found;
    }
    const told = (i) => `Point ${present().indexOf(i) + 1} of ${present().length}, ${name(i)}, at ${said(points.x[2 * i])}, ${said(points.x[2 * i + 1])}.`;

    let grip = null; // {who, x, y} while the pointer is down
    const at = (event) => { const box = data.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    data.addEventListener("pointerdown", (event) => {
      const [x, y] = at(event), i = nearest(x, y, event);
      data.focus({ preventScroll: true });
      data.setPointerCapture(event.pointerId);
      if (i >= 0) chosen = i;
      grip = { x, y, who: i < 0 ? [] : tool === "clump" ? clump(i) : [i] };
      if (tool.startsWith("paint")) { add(view.ofX(x), view.ofY(y), Number(tool.at(-1))); changed(); }
      if (tool === "delete" && i >= 0) { away(i); changed(); }
      show();
    });
    data.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (!grip) {
        const i = nearest(x, y, event);
        if (i !== over) { over = i; show(); }
        return;
      }
      const far = Math.hypot(x - grip.x, y - grip.y) >= APART;
      if (tool === "delete") {
        const i = nearest(x, y, event);
        if (i >= 0 && away(i)) changed();
      } else if (tool.startsWith("paint")) {
        if (!far) return;
        add(view.ofX(x), view.ofY(y), Number(tool.at(-1)));
        changed();
      } else if (grip.who.length) {
        move(grip.who, view.ofX(x) - view.ofX(grip.x), view.ofY(y) - view.ofY(grip.y));
        changed();
      }
      Object.assign(grip, { x, y });
    });
    for (const kind of ["pointerup", "pointercancel"]) data.addEventListener(kind, () => {
      if (grip?.who.length && (tool === "point" || tool === "clump")) say(told(chosen));
      grip = null;
    });
    holding(data, () => grip?.who.length || /paint|delete/.test(tool));
    data.addEventListener("pointerleave", () => { if (over >= 0) { over = -1; show(); } });
    for (const kind of ["focus", "blur"]) data.addEventListener(kind, () => show());

    const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    data.addEventListener("keydown", (event) => {
      const { key } = event, who = present(), here = who.indexOf(chosen);
      if (ARROWS[key]) move(event.shiftKey ? clump(chosen) : [chosen], ...ARROWS[key].map((v) => v * setup.span / 40));
      else if (key === "PageDown") chosen = who[(here + 1) % who.length];
      else if (key === "PageUp") chosen = who[(here + who.length - 1) % who.length];
      else if (key === "Enter") { if (!add(points.x[2 * chosen] + setup.span / 20, points.x[2 * chosen + 1], points.label[chosen])) return; }
      else if (key === "Delete" || key === "Backspace") { if (!away(chosen)) return event.preventDefault(); }
      else return;
      event.preventDefault();
      changed();
      show();
      say(told(chosen));
    });
    figure.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys

    function press(attribute, value) {
      for (const button of all(`[data-${attribute}]`)) button.setAttribute("aria-pressed", String(button.dataset[attribute] === value));
    }
    function choose(number) {
      const on = going;
      way = number;
      press("way", String(number));
      restart();
      if (on) go();
      else { part("[data-do=train]").textContent = "Train"; say(`Back at the start, ${setup.ways[way]}. Press Train.`); }
    }
    const actions = {
      train() { if (going) halt("Paused after"); else go(); },
      shuffle,
      again() { restart(); part("[data-do=train]").textContent = "Train"; say("Back at the start, with your points. Press Train."); },
      reset() {
        [points, chosen, way, tool] = [drawnPoints(), 0, 0, "point"];
        press("way", "0");
        press("tool", tool);
        restart();
        part("[data-do=train]").textContent = "Train";
        say("Press Train.");
      },
    };
    const painted = (label) => `Draw in the data: ${setup.classes[label]}s are added.`;
    const HOW = { point: "Drag a point of the data.", clump: "Drag a point: its whole clump comes along.", paint0: painted(0),
      paint1: painted(1), delete: "Draw in the data: points there are taken away." };
    for (const button of all("[data-tool]")) button.addEventListener("click", () => {
      tool = button.dataset.tool;
      press("tool", tool);
      if (!going) say(HOW[tool]); // while it trains, the line tells how far it is
    });

    // What programs may ask: `window.clbook.explorers[name].run({network: false, seed: 3})` trains on the points that stand
    // there, or on `points` {x, label, there}; `points()` gives them.
    const offers = {
      async run({ network = true, points: own = points, ...given } = {}) {
        if (typeof network !== "boolean") throw new RangeError(`network = ${network} is not allowed: network must be true or false`);
        for (const [name, value] of Object.entries(given)) check(setup.knobs, name, value, ["network", "points"]);
        points = { x: Float32Array.from(own.x), label: Int32Array.from(own.label), there: Float32Array.from(own.there) };
        seed = given.seed ?? setup.seed;
        choose(network ? 0 : 1);
        ends = given.steps ?? setup.steps;
        const done = new Promise((resolve) => waiting.push(resolve));
        if (!going) go();
        return done;
      },
      cancel() { if (going) halt("Paused after"); },
      points: () => ({ x: Array.from(points.x), label: Array.from(points.label), there: Array.from(points.there) }),
    };
    opened(block, { actions, choose, show, offers });
  }
  return play;
})();
