// The static explorer: sliders over frames that the page already holds. No library, no request, no fixed ids.
window.clbookExplorer ??= (() => {
  const { unpack, arranged, drawSvg, between, drawCsv, nearest } = window.clbookFrames; // of frames.js
  const { decoded, write, join, find, behavior } = window.clbookAddress; // of address.js
  const { settingOf, drawn } = window.clbookNamed; // of named.js
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const narrow = matchMedia("(max-width: 34rem)");
  const DURATION = 5000; // milliseconds that the play button takes from the first recorded time to the last
  const HEAD = 80; // CSS pixels of a phone's screen that the bar at its top and a frame around a picture take
  const LEAST = 140; // CSS pixels that the controls below a picture keep: a slider or a row of cells, and the buttons
  const LOW = 230; // CSS pixels: of lower controls the sentence below the cells scrolls, too, so that cells are seen
  const WIDE = 850; // CSS pixels: letters of a wider picture would be smaller than 9 of them beside the contents

  // --- knobs: one way to read and move a slider, a row of buttons, or cells ---
  // axis: the setting's name, or "frame". start: where it stands at first. index: where it stands now.
  // last: how far it goes. tell(text, ended): say its value beside it and to a screen reader; ended: the run's end is seen.
  function knob(part) {
    const inputs = part.matches("input") ? [part] : [...part.querySelectorAll("input")];
    const slider = part.matches("input") && part;
    return {
      axis: part.dataset.axis, start: +part.dataset.start, inputs, slider,
      get index() { return slider ? +slider.value : inputs.findIndex((input) => input.checked); },
      set index(k) { if (slider) slider.value = k; else if (inputs[k]) inputs[k].checked = true; },
      get last() { return slider ? +slider.max : inputs.length - 1; },
      set last(k) { slider.max = k; },
      tell(text) {
        if (!slider) return;
        slider.setAttribute("aria-valuetext", text);
        slider.closest("label").querySelector("output").value = text;
      },
    };
  }

  // Cells, one a run, as two knobs: their rows and their columns. Arrow keys move in both directions.
  // A cell says its setting alone until the end of its run has been shown: the text asks for a guess first. `all` shows all.
  function cellKnobs(pad, [[row, rows], [column, columns]], all) {
    const inputs = [...pad.querySelectorAll("input")], n = columns.length; // row by row, n in each
    const at = () => inputs.findIndex((input) => input.checked);
    const whole = inputs.map((input) => input.getAttribute("aria-label"));
    function reveal(k, yes = true) {
      inputs[k].setAttribute("aria-label", yes ? whole[k] : whole[k].split(": ")[0]);
      inputs[k].parentNode.classList.toggle("clbook-unseen", !yes);
    }
    inputs.forEach((_, k) => reveal(k, false));
    all.addEventListener("click", () => {
      inputs.forEach((_, k) => reveal(k));
      pad.querySelector("output").value = whole[at()];
    });
    pad.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [];
      if (down === undefined) return;
      event.preventDefault();
      const i = Math.floor(at() / n) + down, j = at() % n + right;
      if (i < 0 || i >= rows.length || j < 0 || j >= n) return;
      inputs[i * n + j].focus();
      inputs[i * n + j].click();
    });
    return [{
      axis: row, start: +pad.dataset.row, inputs,
      get index() { return Math.floor(at() / n); },
      set index(k) { inputs[k * n + at() % n].checked = true; },
      tell() {},
    }, {
      axis: column, start: +pad.dataset.column, inputs: [],
      get index() { return at() % n; },
      set index(k) { inputs[at() - at() % n + k].checked = true; },
      tell(_, ended) {
        if (ended) reveal(at());
        pad.querySelector("output").value = inputs[at()].getAttribute("aria-label");
      },
    }];
  }

  // ?only=name or ?only=name:eps=1&frame=3, also with # before the colon's part: one explorer alone.
  const only = decoded(location.search).match(/^\?only=([^:#&]+)(?:(?:#[^:]+)?:(.*))?$/);

  // What the text says of an explorer: for each link to one of its settings the values and the sentence around it, which
  // several may share: its number, and which of the settings of the sentence it is.
  function guided(explorer) {
    const links = [...document.querySelectorAll("a[href^='#']")].filter((link) => settingOf(link)?.[0] === explorer), steps = [];
    links.forEach((link) => link.toggleAttribute("data-named", true));
    for (const link of links) {
      const sentence = sentenceOf(link), before = steps.at(-1), same = before?.sentence.textContent === sentence.textContent;
      const around = same ? { ...before, place: before.place + 1 } : { sentence, number: (before?.number ?? 0) + 1, place: 0 };
      steps.push({ ...around, values: settingOf(link)[1] });
    }
    links.forEach((link) => link.toggleAttribute("data-named", false));
    return steps;
  }
  function sentenceOf(link) { // a copy of the sentence in which a link stands, with its formulas and without its links; those named are spans
    const block = link.closest("p, li, td") ?? link.parentNode;
    const range = document.createRange(), walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const ends = [], stop = /[.?!]\)?(?=\s+[A-Z(]|\s*$)/g; // places after which a sentence may begin
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      if (text.parentElement.closest("mjx-container, a")) continue;
      for (const found of text.data.matchAll(stop)) ends.push([text, found.index + found[0].length]);
    }
    range.selectNodeContents(block);
    for (const [text, place] of ends) {
      const before = link.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_PRECEDING;
      if (before) range.setStart(text, place);
      else { range.setEnd(text, place); break; }
    }
    const copy = document.createElement("span");
    copy.append(range.cloneContents());
    copy.querySelectorAll("[id]").forEach((each) => each.removeAttribute("id"));
    copy.querySelectorAll("[data-named]").forEach((each) => becomes(each, "span"));
    copy.querySelectorAll("a").forEach((each) => each.replaceWith(...each.childNodes));
    if (copy.firstChild.nodeType === Node.TEXT_NODE) copy.firstChild.data = copy.firstChild.data.replace(/^\s*\(\d\)\s+/, ""); // the number of a step in the text
    return copy;
  }

  function becomes(named, tag) {
    const made = document.createElement(tag);
    made.toggleAttribute("data-named", true);
    made.append(...named.childNodes);
    named.replaceWith(made);
  }

  function explorer(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const part = (name) => figure.querySelector(name);
    const { axes, times, ...setup } = JSON.parse(part(".clbook-setup").textContent);
    const img = part("img"), stage = part(".clbook-stage"), bench = part(".clbook-bench"), play = part("[data-do=play]");
    const readout = part(".clbook-readout"), dot = part(".clbook-dot");
    // A picture that is wider than the text by far reaches over the column of the contents, which the book's theme folds then.
    figure.classList.toggle("full-width", parseFloat(img.style.getPropertyValue("--clbook-width")) > WIDE);
    const pad = part(".clbook-pad");
    const knobs = [...(pad ? cellKnobs(pad, axes, part("[data-do=all]")) : []), ...[...figure.querySelectorAll("[data-axis]")].map(knob)];
    const clock = knobs.find((each) => each.axis === "frame");
    const settings = knobs.filter((each) => each !== clock);
    let name = setup.name; // a page may have the same explorer twice
    for (let k = 2; find(name)?.figure.isConnected; k++) name = `${setup.name}-${k}`;
    settings.filter((each) => !each.slider).forEach((each) => {
      each.inputs.forEach((input) => { input.name = `${name}-${each.axis}`; });
      each.index = each.start;
    });

    let unpacked = null; // a promise of the frames, once a reader asks for one
    let shown = null, placed = null, url = null; // the frame in sight, where its parts stand, the address of its image
    let tall = 0; // how high the picture may be on a phone to be seen together with the controls; 0 is not known yet
    let turn = 0; // counts what was asked for: only the newest is drawn
    let run = runOf(); // the number of the run: knobs count through the grid, the last one fastest
    let ticking = 0, origin = null; // of Play: the next tick's timer, and when the first frame would have been
    const ready = () => (unpacked ??= unpack(part(".clbook-frames").textContent).catch((error) => {
      readout.hidden = false;
      readout.textContent = "This browser cannot unpack the pictures.";
      throw error;
    }));
    function runOf() { return settings.reduce((at, each, i) => at * axes[i][1].length + each.index, 0); }
    const index = () => clock ? clock.index : 0;

    function say() { // every slider tells its value
      const ended = !clock || index() === clock.last;
      settings.forEach((each, i) => each.tell(axes[i][1][each.index], ended));
      if (clock) clock.tell(String(times[run][index()]));
    }

    function moved() { // another run has its own recorded times: stay at the end, or at the nearest time
      const before = times[run], at = index();
      run = runOf();
      if (clock && before !== times[run]) {
        const last = times[run].length - 1, gap = (k) => Math.abs(times[run][k] - before[at]);
        clock.last = last;
        clock.index = at === before.length - 1 ? last : times[run].reduce((best, _, k) => gap(k) < gap(best) ? k : best, 0);
      }
    }

    // Frames stand one run after another.
    const frameOf = (data, at = index()) => data.frames[times.slice(0, run).reduce((n, t) => n + t.length, 0) + at];

    async function show(share = 0) { // draw what the knobs say, and with `share` a part of the way to the next recorded time
      say();
      const mine = ++turn;
      const data = await ready();
      if (mine !== turn) return; // the reader has moved on
      const room = narrow.matches && stage.clientWidth - parseFloat(getComputedStyle(stage).paddingLeft) * 2;
      tall ||= bench.offsetHeight && innerHeight - bench.offsetHeight - HEAD;
      shown = frameOf(data);
      placed = arranged(data, shown, room, tall || undefined);
      figure.classList.toggle("clbook-stacked", placed.tiles.length > 1);
      img.style.setProperty("--clbook-width", placed.width + "px");
      stage.tabIndex = room && placed.width > room + 1 ? 0 : -1; // what scrolls can be reached by keyboard
      const old = url, drawn = share ? between(shown, frameOf(data, index() + 1), share) : shown;
      url = URL.createObjectURL(new Blob([drawSvg(data, drawn, placed)], { type: "image/svg+xml" }));
      img.addEventListener("load", () => old && URL.revokeObjectURL(old), { once: true });
      img.src = url;
      img.alt = shown.alt;
      quiet();
    }

    // What the address, and links to it, may ask of this explorer.
    const me = {
      figure, stage, touched: false,
      title: figure.getAttribute("aria-label"),
      picture: () => [img, img.alt],
      steps: (field) => axes.find(([axis]) => axis === field)?.[1],
      called: (field) => (part(`[data-axis="${field}"]`) ?? pad).getAttribute("aria-label"),
      shut: () => shut(),
      address: () => name + ":" + new URLSearchParams([...settings.map((each, i) => [axes[i][0], axes[i][1][each.index]]),
        ...(clock ? [["frame", index()]] : [])]),
      follow(values) { // values that are not on the grid are left out; without a time it is the run's end
        me.touched = true;
        figure.dataset.asked = "yes"; // a page that covers it until the reader has guessed uncovers it
        figure.dispatchEvent(new Event("clbook-asked", { bubbles: true }));
        stop();
        settings.forEach((each, i) => {
          const given = values.get(axes[i][0]);
          const at = axes[i][1].findIndex((v) => v === given || (given && Number(v) === Number(given)));
          if (at >= 0) each.index = at;
        });
        moved();
        if (clock) clock.index = /^\d+$/.test(values.get("frame")) ? values.get("frame") : clock.last;
        return show();
      },
    };

    function touched(share) { me.touched = true; write(); return show(share); }
    function stop() {
      clearTimeout(ticking);
      ticking = 0;
      if (play) play.textContent = reduced.matches ? "Step" : "Play";
    }
    function step() { // to the next recorded time, from the last one to the first
      clock.index = index() < clock.last ? index() + 1 : 0;
      return touched();
    }
    async function tick() { // to where the time since `origin` says: a slow drawing leaves times out
      const at = Math.min((performance.now() - origin) / DURATION * clock.last, clock.last);
      clock.index = Math.floor(at);
      await touched(at % 1);
      if (!ticking) return;
      if (at < clock.last) ticking = setTimeout(tick, 40); else stop();
    }

    function start() { // Play, from the time shown, or from the beginning where that is the end
      play.textContent = "Pause";
      const mine = (ticking = setTimeout(async () => {
        await ready(); // its time begins when there is something to draw
        if (ticking !== mine) return;
        origin = performance.now() - (index() < clock.last ? index() / clock.last * DURATION : 0);
        tick();
      }, 0));
    }
    // Another setting was chosen. A run that nobody has played yet, or that is playing, plays from its beginning; where
    // motion is unwanted it is shown at its end. Any other is seen at about the same time as the one before.
    function chosen() {
      const anew = clock && (ticking || index() === 0);
      stop();
      if (anew) clock.index = 0;
      moved();
      if (!anew) return touched();
      if (reduced.matches) { clock.index = clock.last; return touched(); }
      return touched().then(() => { if (index() === 0 && !ticking) start(); });
    }

    // What the buttons do, by their data-do.
    const actions = {
      play() {
        if (ticking) return stop();
        if (reduced.matches) return step();
        start();
      },
      end() { stop(); clock.index = clock.last; return touched(); },
      guide() {
        if (!guide.hidden) return shut();
        const shown = open(0);
        guide.querySelector("[data-guide=next]").focus({ preventScroll: true });
        return shown;
      },
      async embed() {
        const address = location.href.split(/[?#]/)[0] + "?only=" + me.address();
        const code = `<iframe src="${address.replace(/&/g, "&amp;")}" title="${me.title.replace(/"/g, "&quot;")}" width="780" height="620"></iframe>`;
        note.hidden = false;
        note.value = code;
        note.focus();
        note.select();
        let copied = false;
        try { await navigator.clipboard.writeText(code); copied = true; } catch { copied = document.execCommand("copy"); }
        told.textContent = (copied ? "Copied. The code shows this explorer alone, with this setting." : "Copy the marked code.")
          + (location.protocol === "file:" ? " It names the file on this computer: put the book's address on the web in its place." : "");
      },
      reset() {
        stop();
        settings.forEach((each) => { each.index = each.start; });
        moved();
        if (clock) clock.index = 0;
        me.touched = false;
        write();
        return show();
      },
      async svg() {
        const data = await ready();
        // Who finds the file reads in it what it shows, where it is from, and what may be done with it.
        const source = new Option(`${document.title}. ${provenance()}. CC BY 4.0`).innerHTML;
        save(drawSvg(data, frameOf(data)).replace("</title>", () => `</title><desc>${source}</desc>`), "svg", "image/svg+xml");
      },
      async csv() {
        const data = await ready();
        save(drawCsv(frameOf(data), provenance(),
          clock && [setup.time, String(times[run][index()])]), "csv", "text/csv");
      },
    };
    // The version, the explorer and all settings of what is shown.
    function provenance() {
      const now = { ...setup.settings };
      settings.forEach((each, i) => { now[axes[i][0]] = axes[i][1][each.index]; });
      const all = Object.entries(now).map(([field, value]) => `${field} = ${value}`).join(", ");
      return `clbook ${setup.version}, ${setup.name}: ${all}`.replace(/\s+/g, " ");
    }
    function save(text, ending, type) {
      const link = document.createElement("a"), at = clock ? `_${setup.time}=${times[run][index()]}` : "";
      link.href = URL.createObjectURL(new Blob([text], { type }));
      link.download = name + settings.map((each, i) => `_${axes[i][0]}=${axes[i][1][each.index]}`).join("") + `${at}.${ending}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    // --- Guide me: the settings that the text names for this explorer, one after another, with their sentences ---
    const guide = part(".clbook-guide"), note = part(".clbook-code"), told = part(".clbook-told");
    let steps = [], at = 0;
    function open(k) {
      if (guide.hidden) steps = guided(me);
      guide.hidden = false;
      part("[data-do=guide]").setAttribute("aria-expanded", "true");
      at = k;
      const words = guide.querySelector(".clbook-sentence");
      const tell = (where, { number, sentence }) => where.replaceChildren(`${number} of ${steps.at(-1).number}. `, sentence);
      const trial = words.cloneNode(); // nothing of it is announced
      trial.removeAttribute("aria-live");
      trial.style.minHeight = "";
      words.after(trial);
      const heights = steps.map((step) => { tell(trial, { ...step, sentence: step.sentence.cloneNode(true) }); return trial.offsetHeight; });
      trial.remove();
      words.style.minHeight = `${Math.max(...heights)}px`; // what is clicked stays in its place
      const { sentence, place } = steps[at]; // of a sentence that stands there already only what is strong moves on
      if (sentence.parentNode !== words) tell(words, steps[at]);
      sentence.querySelectorAll("[data-named]").forEach((each, j) => {
        if ((j === place) !== each.matches("strong")) becomes(each, j === place ? "strong" : "span");
      });
      guide.querySelector("[data-guide=back]").disabled = at === 0;
      guide.querySelector("[data-guide=next]").textContent = at === steps.length - 1 ? "Done" : "Next";
      return me.follow(steps[at].values).then(() => img.decode()).catch(() => {}).then(() => { // the picture has its size then
        write();
        stage.style.scrollMarginBottom = `${guide.offsetHeight + 16}px`; // picture and guide are seen together
        const fits = stage.offsetHeight + guide.offsetHeight + 16 <= innerHeight;
        stage.scrollIntoView({ block: fits || k ? "nearest" : "start", behavior: behavior() }); // of a higher one the upper part
      });
    }
    function shut() {
      guide.hidden = true;
      part("[data-do=guide]").setAttribute("aria-expanded", "false");
    }
    guide.querySelector("[data-guide=back]").addEventListener("click", () => open(Math.max(at - 1, 0)));
    guide.querySelector("[data-guide=next]").addEventListener("click", () => {
      if (at < steps.length - 1) return open(at + 1);
      shut();
      part("[data-do=guide]").focus({ preventScroll: true });
    });
    document.addEventListener("DOMContentLoaded", () => { part("[data-do=guide]").hidden = !guided(me).length; });

    // The script is there: the note about it goes, and controls can be used.
    part(".clbook-off").remove();
    document.querySelector(".clbook-explorer .clbook-live").hidden = false; // said once in a page, below the first one
    knobs.forEach((each) => each.inputs.forEach((input) => {
      input.disabled = false;
      input.addEventListener("input", () => { if (each !== clock) return chosen(); stop(); touched(); });
    }));
    figure.querySelectorAll("button").forEach((button) => {
      button.disabled = false;
      button.addEventListener("click", () => actions[button.dataset.do]?.());
    });
    if (pad || clock) say();
    if (play) { stop(); reduced.addEventListener("change", stop); }
    figure.addEventListener("keydown", (event) => {
      event.stopPropagation(); // JupyterLab would take the arrow keys
      const slides = event.target.matches?.("input[type=range]"); // these have the two keys themselves
      if (!clock || slides || !["Home", "End"].includes(event.key)) return;
      event.preventDefault();
      stop();
      clock.index = event.key === "End" ? clock.last : 0;
      touched();
    });

    function quiet() { readout.hidden = dot.hidden = true; }
    async function hover(event) { // name the datum nearest to the pointer, and ring it
      const data = await ready();
      shown ??= frameOf(data);
      placed ??= arranged(data, shown);
      const seen = img.getBoundingClientRect(), zoom = placed.width / seen.width;
      const x = (event.clientX - seen.left) * zoom, y = (event.clientY - seen.top) * zoom;
      const tile = placed.tiles.findLast((t) => y >= t.y && x >= t.x) ?? placed.tiles[0];
      const found = nearest(shown, tile.part[0] + (x - tile.x) / tile.scale, tile.part[1] + (y - tile.y) / tile.scale);
      if (!found) return quiet();
      const corner = stage.getBoundingClientRect();
      const left = (tile.x + (found.px - tile.part[0]) * tile.scale) / zoom + seen.left - corner.left + stage.scrollLeft;
      const top = (tile.y + (found.py - tile.part[1]) * tile.scale) / zoom + seen.top - corner.top;
      readout.hidden = dot.hidden = false;
      readout.textContent = found.text;
      dot.style.cssText = `top:${top}px;left:${left}px`;
      readout.style.cssText = `top:${top}px;left:${left}px;`
        + `transform:translate(${left - stage.scrollLeft < stage.clientWidth / 2 ? "14px" : "calc(-100% - 14px)"}, -50%)`;
    }
    img.addEventListener("load", () => drawn(me));
    img.addEventListener("pointermove", hover);
    img.addEventListener("pointerdown", hover);
    img.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") quiet(); });

    const given = join(name, me);
    if (given) me.follow(given);
    if (only?.[1] === name) { // this one alone, for slides and other pages
      if (only[2]) me.follow(new URLSearchParams(only[2]));
      document.documentElement.classList.add("clbook-only");
      figure.classList.add("clbook-alone");
      document.addEventListener("DOMContentLoaded", () => document.body.append(figure));
    }
    // A picture is seen whole together with its first control: what is more than it leaves of the screen scrolls.
    new ResizeObserver(() => {
      const left = innerHeight - HEAD - img.offsetHeight;
      bench.style.setProperty("--clbook-left", left < LEAST ? "100vh" : `${left}px`);
      bench.classList.toggle("clbook-low", left >= LEAST && left < LOW);
    }).observe(img);
    narrow.addEventListener("change", () => { tall = 0; bench.style.removeProperty("--clbook-left"); show(); });
    new IntersectionObserver((seen, watch) => { // on a phone the start is drawn anew, in parts, once it comes near
      if (!seen.some((each) => each.isIntersecting)) return;
      watch.disconnect();
      if (narrow.matches && !shown) show();
    }, { rootMargin: "400px" }).observe(figure);
  }
  return explorer;
})();
