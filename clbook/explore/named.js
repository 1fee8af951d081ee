// Settings that the text names: a link #name:eps=0.3&tau=0.1 sets a block of the page where the sentence stands, and a
// number in it that is one of these values is dragged, or moved by the arrow keys.
window.clbookNamed ??= (() => {
  const { parted, write, find, behavior } = window.clbookAddress; // of address.js
  const settingOf = (link) => { // [block, values] of a link to a setting; null for any other link
    const [name, values] = parted(link.getAttribute("href").slice(1)), found = find(name);
    return found ? [found, values] : null;
  };
  // The sentence keeps its place, and where the block cannot be seen whole, a small copy of its picture stands beside it.
  function set(link) {
    const [found, values] = settingOf(link);
    return Promise.resolve(found.follow(values)).then(() => { write(); mini.show(found, link); });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || !settingOf(link)) return;
    event.preventDefault();
    set(link);
  });

  // The small copy: the picture, what the block says of it, a way to the block and back to the sentence.
  const mini = (() => {
    let box = null, of = null, from = null, back = null;
    const made = (tag, has) => Object.assign(document.createElement(tag), has);
    const button = (words, about, onclick) => made("button", { type: "button", textContent: words, title: about, onclick });
    const close = () => { box?.remove(); box = of = null; };
    const inSight = ({ stage }) => {
      const seen = stage.getBoundingClientRect();
      return seen.top >= 0 && seen.bottom <= innerHeight;
    };
    function lead() { // to the block, with a way back to the sentence
      const { figure } = of, sentence = from;
      of.shut?.(); // an open guide would stand over the way back
      close();
      back?.remove();
      figure.scrollIntoView({ block: figure.offsetHeight < innerHeight ? "center" : "start", behavior: behavior() });
      back = button("Back to the sentence", "to the setting in the text that you chose", () => {
        back.remove();
        sentence.scrollIntoView({ block: "center", behavior: behavior() });
        sentence.focus({ preventScroll: true });
      });
      back.className = "clbook-back";
      figure.querySelector(".clbook-buttons").append(back);
      back.focus({ preventScroll: true });
    }
    function draw() { // what is drawn there is drawn here
      const { picture } = of, [copy, words] = box.children;
      words.textContent = of.says?.() ?? "";
      copy.hidden = !picture; // a table: what it says is enough
      if (!picture) return;
      const [source, alt] = picture();
      copy.setAttribute("role", "img");
      copy.setAttribute("aria-label", alt);
      copy.classList.toggle("clbook-paper", source.matches("img"));
      const sharp = source.matches("img") ? devicePixelRatio : 1;
      [copy.width, copy.height] = [sharp * (source.naturalWidth ?? source.width), sharp * (source.naturalHeight ?? source.height)];
      if (copy.width) copy.getContext("2d").drawImage(source, 0, 0, copy.width, copy.height);
    }
    return {
      show(block, link) {
        const same = of === block && from === link;
        if (!same) close();
        from = link;
        if (same || inSight(block)) return;
        of = block;
        box = made("div", { className: "clbook-mini" });
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", `The picture of: ${block.title}`);
        const row = made("div"), done = () => { close(); link.focus({ preventScroll: true }); };
        row.append(button("Go there", "show it, with its controls", lead), button("Close", "close this small picture", done));
        box.append(made("canvas"), made("p"), row);
        draw();
        box.classList.toggle("clbook-mini-top", link.getBoundingClientRect().bottom > innerHeight / 2); // it hides no sentence that is being read
        link.closest("article, main, body").append(box);
        box.addEventListener("keydown", (key) => { if (key.key === "Escape") done(); });
      },
      drawn(block) {
        if (block !== of) return;
        if (inSight(of)) close(); else draw();
      },
      seen() { if (of && inSight(of)) close(); },
    };
  })();
  addEventListener("scroll", () => mini.seen(), { passive: true });

  // A number that is dragged. When the reader goes on, the sentence says again what was written.
  const NUMBER = /\d+(?:\.\d+)?/, PIXELS = 9; // of a step
  function scrub(link) {
    const [block, values] = settingOf(link), text = link.firstChild, written = text.data, [number] = written.match(NUMBER) ?? [];
    const field = [...values.keys()].find((key) => number && Number(values.get(key)) === Number(number));
    const steps = (field && block.steps(field, Number(number))) ?? [], start = steps.findIndex((v) => Number(v) === Number(number));
    if (start < 0 || steps.length < 2) return;
    let at = start, from = null, moved = false;
    function go(to) {
      to = Math.max(0, Math.min(steps.length - 1, to));
      if (to === at) return;
      at = to;
      values.set(field, steps[at]);
      link.setAttribute("href", `${link.hash.split(":")[0]}:${values}`);
      show();
      set(link);
    }
    function show() {
      text.data = at === start ? written : written.replace(NUMBER, String(steps[at]));
      link.classList.toggle("clbook-moved", at !== start);
      link.setAttribute("aria-valuenow", told(at));
      link.setAttribute("aria-valuetext", text.data);
    }
    const rising = steps.every((v, k) => !k || Number(v) > Number(steps[k - 1])), told = (k) => rising ? steps[k] : k; // they may be words
    const slider = { role: "slider", "aria-label": block.called(field), "aria-valuemin": told(0), "aria-valuemax": told(steps.length - 1) };
    for (const [key, value] of Object.entries(slider)) link.setAttribute(key, value);
    Object.assign(link, { className: `${link.className} clbook-scrub`, draggable: false, title: "Drag it, or press the arrow keys" });
    show();
    link.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX, at };
      moved = false;
      link.setPointerCapture(event.pointerId);
      link.focus({ preventScroll: true });
    });
    link.addEventListener("pointermove", ({ clientX }) => {
      if (!from) return;
      moved ||= Math.abs(clientX - from.x) > PIXELS;
      if (moved) go(from.at + Math.round((clientX - from.x) / PIXELS));
    });
    for (const kind of ["pointerup", "pointercancel"]) link.addEventListener(kind, () => { from = null; });
    link.addEventListener("click", (event) => { if (moved) { event.preventDefault(); event.stopPropagation(); } });
    link.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      go(at + by);
    });
    link.addEventListener("blur", () => { // the block stays as it is
      at = start;
      values.set(field, steps[at]);
      link.setAttribute("href", `${link.hash.split(":")[0]}:${values}`);
      show();
    });
  }
  document.addEventListener("DOMContentLoaded", () => {
    for (const link of document.querySelectorAll("a[href^='#']"))
      if (link.childNodes.length === 1 && link.firstChild.nodeType === Node.TEXT_NODE && settingOf(link)) scrub(link);
  });
  return { settingOf, drawn: mini.drawn };
})();
