// What every block that trains begins with: its parts, its buttons, what it says; and how a reader takes hold of a canvas.
window.clbookBlock ??= (() => {
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");

  // The parts of a block, what it was given and how it says something; undefined where it has begun already.
  function begun(figure) {
    if (figure.dataset.ready) return undefined;
    figure.dataset.ready = "yes";
    const part = (name) => figure.querySelector(name), all = (name) => [...figure.querySelectorAll(name)];
    const setup = JSON.parse(part("[type='application/json']").textContent), status = part(".clbook-status");
    const say = (text) => { if (status.textContent !== text) status.textContent = text; };
    figure.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys
    return { figure, part, all, setup, say };
  }
  const made = (tag, has) => Object.assign(document.createElement(tag), has);
  // JavaScript of a list of functions, which make the programs (of live/program.js) of a block.
  const makers = ({ programs }) => `[${programs.map(({ spec }, k) =>
    `() => new Program(shape${k}_setup(), shape${k}_step(), ${JSON.stringify(spec)})`)}]`;
  // A block whose points a reader moves: its programs are made in the page itself, as `ways`.
  function moved(figure) {
    const block = begun(figure);
    if (!block) return undefined;
    const code = `${block.part(".clbook-here-code").textContent}\nreturn ${makers(block.setup)};`;
    return { ...block, ways: new Function(code)().map((make) => make()) };
  }
  // The block can be used: buttons do what `actions` say by their data-do. `offers` is for programs.
  function opened({ all, setup }, actions, offers) {
    for (const button of all("button")) button.disabled = false;
    for (const button of all("[data-do]")) button.addEventListener("click", actions[button.dataset.do]);
    ((window.clbook ??= {}).explorers ??= {})[setup.name] = offers;
  }
  // Of a moved one: buttons with data-way choose a program, and its pictures stand in the place of the still one.
  function shown(block, { actions, choose, show, offers }) {
    for (const button of block.all("[data-way]")) button.addEventListener("click", () => choose(Number(button.dataset.way)));
    opened(block, actions, offers);
    block.part("img").hidden = true;
    block.part(".clbook-pair").hidden = false;
    actions.reset();
    redrawn(block.part(".clbook-pair"), show);
  }
  function redrawn(where, draw) { // at another size of the element `where`, and in the other theme
    new ResizeObserver(() => draw()).observe(where);
    new MutationObserver(() => draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }
  const pressed = (buttons, which) => // the buttons of which one is chosen, each with its number
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(which(button, k))));

  // The pointer on a canvas, at [x, y] from its corner: `press(at, event)` says whether it takes hold of something; then
  // `drag(at, from, event)`, which says whether it goes on from here, and `drop`; else `hover(at, event)`. A finger
  // scrolls the page, unless it has taken hold and `holds` says that it keeps to that.
  function pointed(canvas, { press = () => false, drag, drop = () => {}, hover = () => {}, holds = () => false }) {
    let from = null;
    const place = ({ clientX, clientY }) => {
      const box = canvas.getBoundingClientRect();
      return [clientX - box.left, clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      const at = place(event);
      from = press(at, event) ? at : null;
      if (from) canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = place(event);
      if (!from) hover(at, event);
      else if (drag(at, from, event)) from = at;
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => {
      if (from) drop();
      from = null;
    });
    canvas.addEventListener("touchstart", (event) => { if (from && holds()) event.preventDefault(); }, { passive: false });
  }
  // Keys on a canvas: `arrow(right, up, event)`, `page(1 or -1)` of Page Down and Page Up, others by their name. What
  // gives false has had no use for the key.
  function keyed(canvas, { arrow, page, ...others }) {
    const acts = { ...others, PageDown: page && (() => page(1)), PageUp: page && (() => page(-1)) };
    for (const [key, way] of Object.entries(ARROWS)) acts[key] = (event) => arrow(...way, event);
    canvas.addEventListener("keydown", (event) => {
      const act = acts[event.key];
      if (act && act(event) !== false) event.preventDefault();
    });
  }
  // Which of the points `who`, at `values` in a plane, is near enough to be meant by a pointer at [x, y]; -1 for none.
  function nearest(who, values, { toX, toY }, [x, y], { pointerType }) {
    let found = -1, least = pointerType === "touch" ? 24 : 15; // pixels
    for (const i of who) {
      const far = Math.hypot(toX(values[2 * i]) - x, toY(values[2 * i + 1]) - y);
      if (far < least) { least = far; found = i; }
    }
    return found;
  }
  // Save a canvas as a PNG file on the page's ground. What it shows, where it is from and what may be done with it stand in
  // the file: `words` {keyword: text}, each a chunk iTXt before the picture's own, which begin at byte 33.
  async function saved(canvas, name, words) {
    const whole = made("canvas", { width: canvas.width, height: canvas.height }), g = whole.getContext("2d");
    g.fillStyle = getComputedStyle(document.body).backgroundColor;
    g.fillRect(0, 0, whole.width, whole.height);
    g.drawImage(canvas, 0, 0);
    const png = await new Promise((give) => whole.toBlob(give));
    const chunks = Object.entries(words).map(([key, text]) => chunk(`iTXt${key}\0\0\0\0\0${text}`));
    const href = URL.createObjectURL(new Blob([png.slice(0, 33), ...chunks, png.slice(33)], { type: "image/png" }));
    made("a", { href, download: `${name}.png` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }
  function chunk(text) { // of a PNG: how long the content is, the content behind its kind, and the CRC-32 of both
    const content = new TextEncoder().encode(text), view = new DataView(new ArrayBuffer(content.length + 8));
    view.setUint32(0, content.length - 4);
    new Uint8Array(view.buffer).set(content, 4);
    let rest = -1;
    for (const byte of content) {
      rest ^= byte;
      for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
    }
    view.setInt32(content.length + 4, ~rest);
    return view.buffer;
  }
  return { reduced, begun, made, makers, moved, opened, shown, redrawn, pressed, pointed, keyed, nearest, saved };
})();
