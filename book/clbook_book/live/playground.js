// Points that a reader moves, adds and takes away, and their embedding while it trains. The step is the traced one of the
// package; what is written here is what a reader may do to the points.
window.clbookPlay ??= (() => {
  const { fixed, sized, plane } = clbookDrawing, { check } = clbookSettings, { board, met } = clbookTasks;
  const { reduced, moved, shown, pressed } = clbookBlock;
  const A_FRAME = 2, AT_ONCE = 40; // steps for each picture, and where motion is reduced
  const percent = (v) => `${Math.round(100 * v)} %`;

  function play(figure) {
    const block = moved(figure);
    if (!block) return;
    const { part, all, setup, ways, say } = block, { room, middle, span } = setup;
    const data = part(".clbook-data"), embedding = part(".clbook-embedding"), train = part("[data-do=train]");
    const achieved = board(figure, setup.name, setup.goals);
    let way = 0, seed = setup.seed, going = false, asked = 0, ends = 0, waiting = [];
    let points = null; // {x, label, there} as the reader has made them
    let view = null, reach = 1; // how the data and the embedding are seen
    const run = () => ways[way];
    const used = (how) => { if (!going) say(how); }; // while it trains, the line tells how far it is
    const hand = clbookHand(data, { points: () => points, view: () => view, tools: all("[data-tool]"), used,
      classes: setup.classes, middle, span, say, changed, show });
    const { present } = hand;

    // --- the run ---
    function drawnPoints() { // those that the program itself begins with
      ways[0].start({}, seed);
      const state = ways[0].one.inputs;
      return { x: state["state.x"].slice(), label: state["state.label"].slice(), there: state["state.there"].slice() };
    }
    function restart(words = "") {
      going = false;
      train.textContent = "Train";
      run().start({}, seed);
      run().put(points);
      ends = setup.steps;
      reach = 0;
      look();
      say(`${words}Press Train.`);
    }
    // Where all stand now: a step of length 0.
    function look() {
      const rate = run().one.inputs["state.lr"][0];
      run().put({ lr: [0] });
      run().one.step(true);
      run().put({ lr: [rate] });
      show();
    }
    function changed() { // the points; while it trains, the next picture shows it
      run().put(points);
      if (going) show(); else look();
    }
    const measured = () => `loss ${fixed(run().recorded.loss[0])}, same colour ${percent(run().recorded.neighbours[0])}`;

    function go() {
      going = true;
      if (run().t >= ends) ends = run().t + setup.steps;
      train.textContent = "Pause";
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
      train.textContent = "Train";
      look();
      const set = { network: way ? "off" : "on" }, reached = word === "After" ? achieved(run().recorded, set) : "";
      const goals = met(setup.goals, run().recorded, set);
      say(run().recorded.z.every(Number.isFinite) ? `${word} ${run().t} steps ${setup.ways[way]}: ${measured()}.${reached}`
        : "The run diverged. Press Reset.");
      const found = Object.entries(run().recorded).map(([key, values]) => [key, Array.from(values)]);
      waiting.forEach((done) => done({ t: run().t, ...Object.fromEntries(found), goals }));
      waiting = [];
    }

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
      const colours = `same colour ${percent(before[1])} \u2192 ${percent(neighbours[0])}`;
      say(`Shuffled: loss ${fixed(before[0])} \u2192 ${fixed(loss[0])}, ${colours}.`);
    }

    // --- pictures ---
    function show() {
      const left = sized(data), { z, loss, neighbours } = run().recorded;
      view = plane(left, ...middle.map((v) => [v - span / 2, v + span / 2]));
      hand.draw(left, view, points.x, setup.colours);
      const far = Math.max(setup.least, ...present().flatMap((i) => [Math.abs(z[2 * i]), Math.abs(z[2 * i + 1])]));
      if (far > reach || far < 0.4 * reach) reach = far * 1.12; // it follows, and does not breathe
      const right = sized(embedding);
      hand.draw(right, plane(right, [-1.08 * reach, 1.08 * reach]), z, setup.colours);
      part(".clbook-loss").textContent = fixed(loss[0]);
      part(".clbook-neighbours").textContent = percent(neighbours[0]);
      part("meter").value = neighbours[0];
      const words = `${present().length} points, step ${run().t}, ${setup.ways[way]}: ${measured()}`;
      if (!going) embedding.setAttribute("aria-label", `The embedding. ${words}.`);
    }

    // --- buttons ---
    function use(number) {
      way = number;
      pressed(all("[data-way]"), (_, k) => k === way);
    }
    function choose(number) {
      const on = going;
      use(number);
      restart(`Back at the start, ${setup.ways[way]}. `);
      if (on) go();
    }
    const actions = {
      train() { if (going) halt("Paused after"); else go(); },
      shuffle,
      again() { restart("Back at the start, with your points. "); },
      reset() {
        points = drawnPoints();
        use(0);
        hand.begin();
        restart();
      },
    };

    // What programs may ask: `window.clbook.explorers[name].run({network: false, seed: 3})` trains on the points that stand
    // there, or on `points` {x, label, there}; `points()` gives them.
    const offers = {
      async run({ network = true, points: own = points, ...given } = {}) {
        if (typeof network !== "boolean")
          throw new RangeError(`network = ${network} is not allowed: network must be true or false`);
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
    shown(block, { actions, choose, show, offers });
  }
  return play;
})();
