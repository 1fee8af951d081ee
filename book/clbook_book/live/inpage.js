// The block that trains in the page: sliders, a worker that runs the traced step, and one canvas, which shows the start
// before a reader trains and follows each change of a setting. No library, no request.
window.clbookHere ??= (() => {
  const { write, join } = window.clbookAddress, { drawn: copied } = window.clbookNamed; // of address.js and named.js
  const { fits, scale, short, refusal, check } = window.clbookSettings; // of settings.js
  const tasks = window.clbookTasks; // of tasks.js
  const shared = window.clbookShared; // what all workers begin with: stands before this script
  const { EYE, said, ticks, when, sized, head, meters, draw, layout } = window.clbookDrawing; // of drawing.js
  const { reduced, begun, made, makers, opened, redrawn, pressed, pointed, keyed, saved } = window.clbookBlock; // of block.js
  const PINS = 3; // pictures beside each other, the running one included

  function here(figure) {
    const block = begun(figure);
    if (!block) return;
    const { part, all, setup, say } = block;
    const canvas = part("canvas"), still = part("img"), knobs = part(".clbook-knobs");
    const progress = part("progress"), button = part("[data-do=train]");
    // What a reader sets: shapes, by the words on their buttons; numbers; and among these the seed, and how long a run is.
    const { shapes } = setup, numbers = [...setup.knobs, ...setup.more], every = [...shapes, ...numbers];
    const start = Object.fromEntries(every.map(({ name, value }) => [name, value]));
    Object.assign(start, { seed: setup.seed, steps: setup.steps });
    for (const { more } of setup.panels) if (more?.key) start[more.key] = ""; // a text, of a panel of its own
    let now = { ...start }, worker = null, tried = false, current = null, pinned = [], waiting = [];
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
      const text = [shared, part(".clbook-here-code").textContent, `const programs = ${makers(setup)};`].join("\n");
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
      button.textContent = "Train";
      copied(me); // with what has been said last
      waiting.forEach((hand) => hand(rowsNow()));
      waiting = [];
    }
    // The names of what is drawn and said of a run, first what moves; and of what stands still.
    const drawn = (recorded) => [...new Set([...setup.panels.flatMap(({ of, colour }) => [...of, colour]).reverse(),
      ...setup.says.map(([name]) => name.split("[")[0]), "separable_at"])].filter((name) => name in recorded);
    const shapeNumber = () => shapes.reduce((k, { name, values }) => k * values.length + values.indexOf(now[name]), 0);
    const told = ({ name }) => typeof now[name] === "number" ? said(now[name]) : now[name];
    const about = () => every.filter((one) => !setup.more.includes(one) || one.name === "seed" || now[one.name] !== one.value)
      .map((one) => `${short(one)} ${told(one)}`).join(", ");

    // Ask the worker for a run with the settings of now; at the times [0] it is the start alone. It takes the place of the
    // one in the picture once something of it is there.
    function begin(times, counts = true) { // counts: whether its goals are the reader's to reach
      if (!work()) return false;
      const shape = shapeNumber(), { recorded, held, labels } = setup.programs[shape];
      wanted = { rows: [], labels, recorded: { ...recorded, ...held }, held: Object.keys(held), steps: now.steps, about: about(),
        asked: { ...now }, counts };
      number += 1;
      const { seed, ...settings } = now;
      const put = Object.assign({}, ...guests.map((guest) => guest?.puts?.()));
      worker.postMessage({ number, shape, settings, seed, times, drawn: drawn(recorded), held: wanted.held, put });
      return true;
    }
    function preview() { starting = begin([0]); }
    function train(words = "", counts = true) { // words: what the status says before all else
      const { times } = setup.programs[shapeNumber()], others = [...setup.times.filter((t) => t < now.steps), now.steps];
      starting = false;
      if (!begin(now.steps === start.steps ? times : others, counts)) return;
      training = trained = true;
      if (!asking) reply?.classList.add("clbook-earlier"); // it is about other runs than what is trained now
      note = words;
      button.textContent = "Stop";
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
      for (const { row } of data.rows) if (inOnePlace(row)) row.collapsed = true;
      const last = current.rows.at(-1);
      if (last?.row.separable_at) current.at = last.row.separable_at[0] < 0 ? null : last.row.separable_at[0];
      if (data.over) picture(); // the end stands there when the words say so
      else if (data.rows.length && !reduced.matches) paint();
      if (starting) { starting = false; return; }
      progress.value = data.t / current.steps;
      const found = outcome(current);
      if (!data.over) return say(`${note}iteration ${data.t} of ${current.steps}${found}`);
      const name = pinned.length ? `${apart([...pinned, current]).at(-1).join(", ")}: ` : "";
      const ended = `${note}${name}${data.t} iterations in ${(data.wall / 1000).toFixed(2)} s${found}.`;
      if (data.finite) say(ended + (data.t && current.counts ? board(last.row, current.asked) : ""));
      else say(`No number is left at iteration ${data.t}: the run diverged, or all has shrunk to nothing. Try a smaller learning rate, or less decay.`);
      halted();
      if (coming.length) { keep(); next(); } else if (asking) answer();
    }

    // Whether all points of a panel have come to one place, beside how far apart they began.
    function inOnePlace(row) {
      const reach = (values, d) => Math.max(...Array.from({ length: d }, (_, axis) => {
        const along = values.filter((_, i) => i % d === axis);
        return Math.max(...along) - Math.min(...along);
      }));
      return setup.panels.some(({ kind, of: [name] }) => {
        if (kind !== "points" || !row[name]) return false; // what is held stands in the first row alone
        const [first, now] = [current.rows[0].row, row].map((one) => reach(one[name], current.recorded[name].at(-1)));
        return now < 1e-6 * first;
      });
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

    // --- the prediction: what its runs show is covered until a reader has chosen ---
    const { ask } = setup, chips = all(".clbook-ask button"), reply = part(".clbook-reply");
    let open = Boolean(ask), asking = false, guess = null; // asking: the runs that answer are on their way
    const ready = () => open ? "Choose an answer, and it trains. Until then each change shows another start."
      : "Press Train. Until then each change shows another start; after that it trains at once.";
    function settle(k) {
      open = false;
      guess = k;
      part(".clbook-skip")?.remove();
      pressed(chips, (_, i) => i === k);
    }
    function choose(k) {
      if (open) tasks.keep(tasks.PREDICTIONS, mine, k);
      settle(k);
      stop();
      pinned = [];
      asking = true;
      reply.textContent = "";
      reply.classList.remove("clbook-earlier");
      coming = ask.shows.length ? ask.shows.map((values) => runOf(Object.entries(values))) : [{ ...now }];
      next();
    }
    function answer() {
      asking = false;
      chips[ask.right].classList.add("clbook-right");
      const { choices, replies } = ask, truth = ` The answer is \u201c${choices[ask.right]}\u201d: ${replies[ask.right]}`;
      reply.textContent = guess === ask.right ? `Right. ${replies[guess]}` : `Not so. ${replies[guess]}${truth}`;
    }
    function pose() {
      const before = tasks.kept(tasks.PREDICTIONS);
      chips.forEach((chip, k) => chip.addEventListener("click", () => choose(k)));
      chips.at(-1).after(made("button", { type: "button", textContent: "Skip", className: "clbook-skip",
        onclick() { settle(null); say(ready()); button.focus(); } }));
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
      const width = canvas.clientWidth || 700, { panels, says } = setup, names = runs.length > 1 ? apart(runs) : [];
      const { height, places } = layout(panels, runs.length, width, { named: names.length > 0, says: says.length });
      turning(runs.some(inSpace));
      const { g } = sized(canvas, width, height);
      runs.forEach((run, i) => {
        const { name, meter, boxes } = places[i];
        if (name) head(g, names[i], name);
        if (meter) meters(g, says, run.rows.at(-1).row, meter);
        panels.forEach((panel, j) => guests[j] ? guests[j].draw(g, boxes[j], run, i === runs.length - 1)
          : draw(g, boxes[j], run, { ...panel, eye }, setup.colours));
      });
      const named = (i) => names[i] ? `${names[i].join(", ")}, of ` : "";
      const words = runs.map((run, i) => `${named(i)}${run.about}: iteration ${run.rows.at(-1).t}${outcome(run)}`);
      copied(me);
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
    pointed(canvas, {
      press: () => canvas.tabIndex === 0,
      drag([x, y], [fromX, fromY]) { turn((fromX - x) / 100, (y - fromY) / 100); return true; },
    });
    function looked(around, up) { // by a key
      if (canvas.tabIndex !== 0) return false;
      turn(0.1 * around, 0.1 * up);
      const degrees = (angle) => Math.round(angle * 180 / Math.PI);
      say(`Seen from ${(degrees(eye.around) % 360 + 360) % 360}\u00b0 around, ${said(degrees(eye.up))}\u00b0 up.`);
      return true;
    }
    keyed(canvas, { arrow: looked, Home() { Object.assign(eye, EYE); return looked(0, 0); } });

    // --- what a reader sets ---
    function change() {
      if (trained) return train();
      preview();
      touch();
      say(ready()); // and no longer what was not allowed
    }
    function give(values) { Object.assign(now, values); refresh(); change(); }
    const called = (name) => short(every.find((one) => one.name === name));
    // Let a run have a setting: a number, or the value that a button shows; RangeError for one that is not allowed.
    function take(run, name, value) {
      const shape = shapes.find((one) => one.name === name), text = { true: "on", false: "off" }[value] ?? String(value);
      if (guests.some((guest) => guest?.key === name && guest.takes(value))) run[name] = value;
      else if (!shape) check(numbers, name, value, shapes.map((one) => one.name));
      else if (!shape.values.includes(text))
        throw new RangeError(`${called(name)} = ${value} is not allowed: it must be one of ${shape.values.join(", ")}`);
      run[name] = shape ? text : value;
    }
    const refused = new Map(); // {name of a setting: what stands in its box, and is not allowed}
    function slider(knob, host) {
      const { f, inverse } = scale(knob), span = f(knob.high) - f(knob.low);
      const places = knob.whole && !knob.log ? knob.high - knob.low : 1000; // a key moves by one of them
      const range = made("input", { type: "range", min: 0, max: places, autocomplete: "off", ariaLabel: knob.label });
      const box = made("input", { type: "text", inputMode: "decimal", autocomplete: "off", ariaLabel: `${knob.label}, typed` });
      const label = made("label", { title: knob.about });
      label.append(made("span", { textContent: knob.label }), range, box);
      const show = () => {
        const value = now[knob.name];
        range.value = places * (f(Math.max(value, knob.low)) - f(knob.low)) / span;
        range.setAttribute("aria-valuetext", said(value));
        if (document.activeElement !== box) box.value = said(value).replace("\u2212", "-");
        box.removeAttribute("aria-invalid");
        refused.delete(knob.name);
      };
      range.addEventListener("input", () => {
        const value = inverse(f(knob.low) + span * range.value / places);
        const rounded = knob.whole ? Math.round(value) : Number(value.toPrecision(3));
        now[knob.name] = Math.min(knob.high, Math.max(knob.low, rounded));
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
        now[knob.name] = value;
        show();
        change();
      });
      host.append(label);
      return show;
    }
    function choice({ name, label, values }) {
      const row = made("div", { className: "clbook-row", role: "group", ariaLabel: label });
      const own = made("div", { className: "clbook-choices" });
      const buttons = values.map((value) => made("button", { type: "button", textContent: value,
        onclick: () => give({ [name]: value }) }));
      own.append(...buttons);
      row.append(made("span", { textContent: label }), own);
      knobs.append(row);
      return () => pressed(buttons, (_, k) => now[name] === values[k]);
    }
    const shows = [...shapes.map(choice), ...setup.knobs.map((knob) => slider(knob, knobs)),
      ...setup.more.map((knob) => slider(knob, part(".clbook-more")))];
    part("details").hidden = false;
    function refresh() { shows.forEach((show) => show()); guests.forEach((guest) => guest?.changed()); }

    // A kind of panel of a file of its own: it draws in its box, and may stand below the picture and change settings.
    const ours = { figure, colours: setup.colours, now: () => now, set: give, paint, say };
    const guests = setup.panels.map((panel) => window.clbookPanels?.[panel.kind]?.(panel, ours));

    // --- what an address keeps: all settings, the seed, and those of the pinned runs ---
    let coming = []; // what it asks to train and has not begun; all but the last are pinned
    const me = { figure, stage: canvas.parentNode, title: figure.getAttribute("aria-label"), touched: false, address, follow, steps, called,
      picture: () => [canvas.hidden ? still : canvas, canvas.ariaLabel], says: () => part(".clbook-status").textContent };
    // The values that a number of the text may be dragged to: round ones of a slider, and the one that is written.
    function steps(name, written) {
      const knob = numbers.find((one) => one.name === name), shape = shapes.find((one) => one.name === name);
      if (!knob) return shape?.values;
      const { low, high, whole } = knob, { f, inverse, even } = scale(knob), COUNT = 80, step = (f(high) - f(low)) / COUNT;
      const all = even ? ticks(low, high, COUNT)
        : Array.from({ length: COUNT + 1 }, (_, k) => Number(inverse(f(low) + step * k).toPrecision(2)));
      return [...new Set([...all.map((v) => whole ? Math.round(v) : Number(v.toPrecision(6))).filter((v) => fits(knob, v)), written])].sort((a, b) => a - b);
    }
    function touch() { me.touched = true; if (!coming.length) write(); }
    // What tells each of several runs from the others, in the words of their settings; of runs that are alike, the seed.
    function apart(runs) {
      const differ = every.map(({ name }) => name).filter((name) => new Set(runs.map(({ asked }) => asked[name])).size > 1);
      return runs.map(({ asked }) => (differ.length ? differ : ["seed"]).map((name) => `${called(name)} ${asked[name]}`));
    }
    function address() {
      const own = new URLSearchParams(now), pins = pinned.map(({ asked }) => String(new URLSearchParams(asked)));
      if (!current && pins.at(-1) === String(own)) pins.pop(); // nothing has been changed since it was pinned
      for (const pin of pins) own.append("pin", pin);
      return `${encodeURIComponent(setup.name)}:${own}`;
    }
    function runOf(values) { // a run; what is not allowed is left out
      const run = { ...start };
      for (const [name, text] of values) {
        const number = text.trim() ? Number(text) : NaN;
        try { take(run, name, numbers.some((knob) => knob.name === name) ? number : text); } catch { /* left out */ }
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
        const stays = ([name, typed]) => `${called(name)} stays ${said(now[name])}, as ${typed} is not allowed: `;
        const words = [...refused].map(stays).join("");
        refresh();
        train(words);
      },
      seed() { give({ seed: Math.floor(Math.random() * 10000) }); },
      pin() {
        if (!trained || !current?.rows.length) return say("Train first: what stands in the picture is pinned.");
        stop(); keep(); picture(); touch(); say("Pinned. The next run stands beside it.");
      },
      png() {
        if (canvas.hidden) return say("Train first. The picture that stands here till then can be saved as any picture of a page.");
        const about = `${me.title}. ${canvas.ariaLabel} ${decodeURIComponent(me.address())}`;
        return saved(canvas, setup.name, { Description: about, Copyright: `${document.title}. CC BY 4.0` });
      },
      reset() {
        stop(); now = { ...start }; pinned = []; trained = false; refresh(); say(ready()); preview();
        me.touched = false; write();
      },
    };
    // The worker is there before Train is pressed: it begins once the page has come to rest.
    const idle = window.requestIdleCallback ?? ((begin) => setTimeout(begin, 200));
    const rest = () => idle(() => { if (figure.isConnected && !tried) preview(); });
    if (document.readyState === "complete") rest();
    else addEventListener("load", rest);
    redrawn(canvas.parentNode, paint);
    refresh();
    if (ask) pose();
    say(ready());

    // What programs may ask: `window.clbook.explorers[name].run({eps: 0.17, seed: 3})`.
    const offers = {
      settings: () => ({ ...now }),
      async run(given = {}, counts = true) {
        const asked = { ...start };
        for (const [name, value] of Object.entries(given)) take(asked, name, value);
        if (open) settle(null);
        stop();
        now = asked;
        refresh();
        const done = new Promise((resolve) => waiting.push(resolve));
        train("", counts);
        const rows = await done, last = rows.at(-1);
        const found = { steps: rows.map(({ t }) => t), ...last?.row }; // nothing, where it was stopped at once
        if (last) found.goals = tasks.met(setup.goals, last.row, asked);
        for (const guest of guests) Object.assign(found, guest?.found?.(rows));
        for (const key of Object.keys(found)) if (key.endsWith("_at")) found[key] = found[key][0] < 0 ? null : found[key][0];
        return found;
      },
      cancel: stop,
    };
    opened(block, actions, offers);
    if (part(".clbook-suspects")) window.clbookSuspects(block, offers);
    const given = join(setup.name, me);
    if (given) follow(given);
  }
  return here;
})();
