// Points of the plane that a reader moves, paints and takes away: on the front page, and as a panel of a block.
window.clbookHand ??= (() => {
  const { fixed, cross, dot, ring } = clbookDrawing, { pressed, pointed, keyed, nearest } = clbookBlock;
  const APART = 11; // pixels between points that are painted
  const KEPT = 4; // points that cannot be taken away
  const HOW = { point: "Drag a point of the data.", cluster: "Drag a point: its whole cluster comes along.",
    delete: "Draw in the data: points there are taken away." };

  // What the pointer and the keys do on an element: `points()` {x, label, there} and `view()`, the plane in which they
  // are, are the block's, and so are the buttons `tools`, of which one is chosen: `used` hears how. `changed` hears of other
  // points, `show` of another mark.
  return (on, { points, view, tools, used, classes, middle, span, say, changed, show }) => {
    let chosen = 0, over = -1, taken = [], tool = ""; // taken: the points that the pointer takes along
    const present = ({ there } = points()) => [...there.keys()].filter((i) => there[i]);
    function draw(picture, place, values, colours, all = points()) {
      const marked = all === points() ? [over, document.activeElement === on ? chosen : -1] : [];
      cross(picture.g, place, picture);
      for (const i of present(all)) {
        const at = [place.toX(values[2 * i]), place.toY(values[2 * i + 1])];
        dot(picture.g, ...at, 4.5, colours[all.label[i]], 0.85, all.label[i]);
        if (marked.includes(i)) ring(picture.g, ...at);
      }
    }
    const bounded = (v, k) => Math.max(middle[k] - span, Math.min(middle[k] + span, v));
    function move(who, ...by) {
      const { x } = points();
      for (const i of who) by.forEach((v, k) => { x[2 * i + k] = bounded(x[2 * i + k] + v, k); });
    }
    const cluster = (i) => present().filter((j) => points().label[j] === points().label[i]);
    function add(x, y, label) {
      const all = points(), free = all.there.indexOf(0);
      if (free < 0) { say(`There is room for ${all.there.length} points: take some away first.`); return false; }
      all.x.set([bounded(x, 0), bounded(y, 1)], 2 * free);
      all.label[free] = label;
      all.there[free] = 1;
      chosen = free;
      return true;
    }
    function away(i) {
      if (i < 0) return false;
      if (present().length <= KEPT) { say(`The last ${KEPT} points stay.`); return false; }
      points().there[i] = 0;
      if (chosen === i) chosen = present()[0];
      return true;
    }
    function told() {
      const { x, label } = points(), who = present();
      const name = `Point ${who.indexOf(chosen) + 1} of ${who.length}, ${classes[label[chosen]]}`;
      say(`${name}, at ${fixed(x[2 * chosen])}, ${fixed(x[2 * chosen + 1])}.`);
    }
    const at = (spot, event) => nearest(present(), points().x, view(), spot, event);
    const paints = () => tool.startsWith("paint"), deletes = () => tool === "delete";
    const paint = ([x, y]) => add(view().ofX(x), view().ofY(y), Number(tool.at(-1)));
    const drawn = (spot, event) => paints() ? paint(spot) : deletes() && away(at(spot, event));

    pointed(on, {
      press(spot, event) {
        const i = at(spot, event);
        on.focus({ preventScroll: true });
        if (i >= 0) chosen = i;
        taken = i < 0 ? [] : { point: [i], cluster: cluster(i) }[tool] ?? [];
        if (drawn(spot, event)) changed(); else show();
        return true;
      },
      drag(spot, from, event) {
        if (paints() && Math.hypot(spot[0] - from[0], spot[1] - from[1]) < APART) return false;
        if (taken.length) move(taken, view().ofX(spot[0]) - view().ofX(from[0]), view().ofY(spot[1]) - view().ofY(from[1]));
        if (taken.length || drawn(spot, event)) changed();
        return true;
      },
      drop() { if (taken.length) told(); },
      hover(spot, event) {
        const i = at(spot, event);
        if (i !== over) { over = i; show(); }
      },
      holds: () => taken.length || paints() || deletes(),
    });
    on.addEventListener("pointerleave", () => { if (over >= 0) { over = -1; show(); } });
    for (const kind of ["focus", "blur"]) on.addEventListener(kind, () => show());

    const then = (act) => (...given) => { if (act(...given) !== false) { changed(); told(); } };
    const erase = then(() => away(chosen));
    keyed(on, {
      arrow: then((right, up, { shiftKey }) =>
        move(shiftKey ? cluster(chosen) : [chosen], right * span / 40, up * span / 40)),
      page(step) {
        const who = present();
        chosen = who.at((who.indexOf(chosen) + step) % who.length);
        show();
        told();
      },
      Enter: then(() => add(points().x[2 * chosen] + span / 20, points().x[2 * chosen + 1], points().label[chosen])),
      Delete: erase,
      Backspace: erase,
    });
    function use(name) {
      tool = name;
      pressed(tools, ({ dataset }) => dataset.tool === tool);
    }
    for (const button of tools) button.addEventListener("click", () => {
      use(button.dataset.tool);
      used(HOW[tool] ?? `Draw in the data: ${classes[tool.at(-1)]}s are added.`);
    });
    const begin = () => { chosen = 0; use("point"); };
    begin();
    return { present, draw, begin };
  };
})();

// The panel: data that a reader may change. They are kept as a text, a setting of the name `key`: of each point its class,
// 2 for nobody, and its place in hundredths above the lowest one, as two digits of base 36 for each coordinate.
(window.clbookPanels ??= {}).hand ??= (panel, { figure, colours, now, set, paint, say }) => {
  const { key, room, classes, tools, drops } = panel.more, SPAN = 3.2, SEEN = [-2.1, 2.1], POINT = /([012])(\w\w)(\w\w)/g;
  const { plane, stage, within } = clbookDrawing, { made } = clbookBlock, canvas = figure.querySelector(".clbook-canvas");
  let points = null, view = null, text = "", before = ""; // text: what `points` are, "" for the program's own
  const on = made("div", { tabIndex: 0, className: "clbook-hand", role: "application", ariaLabel: "The data. Page Up and Page Down "
    + "choose a point, arrows move it, with Shift its whole cluster, Enter adds one beside it, Delete takes it away." }); // over the panel
  const row = made("div", { className: "clbook-choices clbook-tools" });
  row.innerHTML = `<span>Pointer:</span>${Object.entries(tools).map(([name, words]) => `<button type="button" data-tool="${name}">`
    + `${words}</button>`).join("")}<button type="button">undo all</button>`;
  canvas.append(on);
  canvas.after(row);
  row.lastChild.addEventListener("click", () => set({ [key]: "" }));

  const hundredths = (v) => Math.round(100 * (v + SPAN)), place = (k) => k / 100 - SPAN;
  const written = () => Array.from({ length: points.there.lastIndexOf(1) + 1 }, (_, i) => (points.there[i] ? points.label[i] : 2)
    + [0, 1].map((k) => hundredths(points.x[2 * i + k]).toString(36).padStart(2, "0")).join("")).join("");
  function read() { // the text, as the points that are trained
    points = { x: new Float32Array(2 * room), label: new Int32Array(room), there: new Float32Array(room) };
    [...text.matchAll(POINT)].slice(0, room).forEach(([, label, ...at], i) => {
      points.x.set(at.map((v) => place(parseInt(v, 36))), 2 * i);
      [points.label[i], points.there[i]] = [label % 2, Number(label < 2)];
    });
  }
  const hand = clbookHand(on, { points: () => points, view: () => view, classes, middle: [0, 0], span: SPAN, say,
    tools: [...row.querySelectorAll("[data-tool]")], used: say, changed() { text = written(); read(); set({ [key]: text }); }, show: paint });

  function draw(g, { x, y, w, h }, run, last) { // of the last run what the reader has done since, too
    const frame = { x: x + 10, y: y + 26, w: w - 20, h: h - 36 }, { row } = run.rows[0];
    if (last && !text) points = { x: row.x.slice(), label: row.label.slice(), there: row.there.slice() };
    if (last) Object.assign(on.style, Object.fromEntries(["left", "top", "width", "height"].map((side, k) =>
      [side, `${Object.values(frame)[k]}px`])));
    view = plane({ ...frame, x: 0, y: 0 }, SEEN);
    stage(g, frame, view.limits, { title: panel.title, bare: true });
    within(g, frame, () => {
      g.translate(frame.x, frame.y); // the view begins at the corner of what a reader takes hold of
      hand.draw({ g, w: frame.w, h: frame.h }, view, last ? points.x : row.x, colours, last ? points : row);
    });
    g.strokeStyle = getComputedStyle(figure).color; g.globalAlpha = 0.3; g.lineWidth = 1;
    g.strokeRect(frame.x, frame.y, frame.w, frame.h); g.globalAlpha = 1;
  }
  function changed() { // settings: other data than those that the reader has changed take their place
    const settings = now(), since = drops.map((name) => settings[name]).join();
    if (before !== since && settings[key] === text) settings[key] = "";
    before = since;
    if (settings[key] !== text) { text = settings[key]; if (text) read(); }
  }
  return { key, draw, changed, takes: (own) => typeof own === "string" && !own.replace(POINT, ""), puts: () => text ? points : {} };
};
