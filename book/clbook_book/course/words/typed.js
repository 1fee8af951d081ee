// Words that a reader types. `nearest`: those nearest to any word of the chapter's run, from a list. `own`: a text of the
// reader's own, ten words of which a coin splits; what trains is the traced program of the package (halves.py).
window.clbookTyped ??= (() => {
  const { begun, makers, opened } = clbookBlock;
  const MOST = 200000; // words of a text that are read
  const SLICE = 25; // milliseconds of training between two pictures
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const inflated = (text) => new Response(new Blob([bytes(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const element = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text, className: kind ?? "" });

  // A table: a row of heads, then rows of cells, each a text or {word, far (0 to 1), twin}.
  function table(into, heads, rows) {
    const row = (cells, name) => {
      const made = element("tr", "");
      for (const cell of cells) {
        const { word = cell, far, twin } = cell, one = element(name, word, twin ? "clbook-twin" : "");
        if (far !== undefined) {
          const bar = one.appendChild(element("i", ""));
          bar.style.setProperty("--far", `${100 * Math.min(1, far)}%`);
        }
        made.append(one);
      }
      return made;
    };
    into.replaceChildren(row(heads, "th"), ...rows.map((cells) => row(cells, "td")));
  }

  async function nearest(figure) {
    const block = begun(figure);
    if (!block) return;
    const { part, setup, say } = block, { words, times, listed, name } = setup;
    const raw = new Uint8Array(await inflated(part(".clbook-packed").textContent)), count = raw.length / 3;
    const input = part("input"), number = new Map(words.map((word, k) => [word, k]));
    const twin = (k) => /[₁₂]$/.test(words[k]) ? words[k].slice(0, -1) + (words[k].endsWith("₁") ? "₂" : "₁") : null;
    const found = (word) => [word, word + "₁"].find((each) => number.has(each));
    function ofRank(k, time, rank) {
      const at = (time * listed + rank) * words.length + k, word = words[raw[at] | raw[count + at] << 8];
      return { word, far: raw[2 * count + at] / 100, twin: word === twin(k) };
    }
    function look(word) {
      const known = found(word.trim().toLowerCase());
      input.setAttribute("aria-invalid", String(!known));
      if (!known) return say(`“${word}” is none of the run's ${words.length} symbols: try another word.`);
      const k = number.get(known), ranks = [...Array(listed).keys()];
      table(part(".clbook-lists"), times.map((step) => step ? `step ${step}` : "start"),
        ranks.map((rank) => times.map((_, time) => ofRank(k, time, rank))));
      const last = ofRank(k, times.length - 1, 0);
      say(`Nearest to ${known} at the end: ${last.word}${last.twin ? ", its other half" : ""}.`);
      clbookAddress.write();
      return { symbol: known, nearest: ranks.map((rank) => ofRank(k, times.length - 1, rank).word) };
    }
    part("datalist").replaceChildren(...words.slice(0, 1000).map((word) => Object.assign(element("option", ""), { value: word })));
    const member = { figure, stage: part(".clbook-lists"), title: figure.getAttribute("aria-label"), touched: false,
      says: () => part(".clbook-status").textContent, address: () => `${name}:word=${encodeURIComponent(input.value)}`, follow };
    function follow(values) {
      input.value = values.get("word") ?? setup.word;
      member.touched = true;
      look(input.value);
    }
    input.addEventListener("input", () => { member.touched = true; look(input.value); });
    input.disabled = false;
    opened(block, {}, { look });
    const asked = clbookAddress.join(name, member);
    if (asked) follow(asked);
    else look(setup.word);
  }

  // As `counted` of halves.py: the words of a text, which are split, and p(symbol, context).
  function counted(text, rolled, [most, halves, letters, near]) {
    const tokens = (text.toLowerCase().match(/\p{L}+(?:['’-]\p{L}+)*/gu) ?? []).slice(0, MOST), often = new Map();
    for (const word of tokens) often.set(word, (often.get(word) ?? 0) + 1);
    const words = [...often.keys()].sort((a, b) => often.get(b) - often.get(a)).slice(0, most); // a stable sort
    const number = new Map(words.map((word, k) => [word, k]));
    const split = words.map((_, k) => k).filter((k) => words[k].length >= letters).slice(0, halves);
    const half = new Map(split.map((k, j) => [k, most + j]));
    const contexts = tokens.map((word) => number.get(word) ?? -1);
    const symbols = contexts.map((k) => half.has(k) && rolled() < 0.5 ? half.get(k) : k);
    const joint = new Float32Array((most + halves) * most);
    let pairs = 0;
    symbols.forEach((symbol, i) => {
      if (symbol < 0) return;
      for (let j = Math.max(0, i - near); j <= i + near && j < tokens.length; j++) {
        if (j === i || contexts[j] < 0) continue;
        joint[symbol * most + contexts[j]] += 1;
        pairs += 1;
      }
    });
    const seen = (symbol) => symbols.filter((each) => each === symbol).length;
    return { tokens: tokens.length, words, split, joint: joint.map((v) => v / Math.max(1, pairs)), seen };
  }

  // [number, cosine] of the rows of z (rows of d) nearest to row k, of those that `lives` has.
  function closest(z, d, k, lives, many) {
    const length = (i) => Math.hypot(...z.subarray(i * d, i * d + d)), own = length(k), found = [];
    for (const i of lives) {
      if (i === k) continue;
      let product = 0;
      for (let j = 0; j < d; j++) product += z[k * d + j] * z[i * d + j];
      found.push([i, product / (own * length(i))]);
    }
    return found.sort((a, b) => b[1] - a[1]).slice(0, many);
  }

  async function own(figure) {
    const block = begun(figure);
    if (!block) return;
    const first = new TextDecoder().decode(await inflated(block.part(".clbook-packed").textContent)); // the text that stands there
    const { part, setup, say } = block, [most, halves] = setup.sizes, area = part("textarea"), input = part("[name=word]");
    const code = `${part(".clbook-own-code").textContent}\nreturn { ways: ${makers(setup)}, Generator };`;
    const { ways: [make], Generator } = new Function(code)(), run = make();
    let seed = setup.seed, running = 0, text = null; // text: what `counted` gave of that whose vectors are recorded
    const half = (k) => k < most ? text.split.indexOf(k) : k - most; // which split word it is of; -1 for none
    const called = (k) => { const j = half(k); return j < 0 ? text.words[k] : text.words[text.split[j]] + (k < most ? "₁" : "₂"); };
    const lives = () => [...text.words.keys(), ...text.split.map((_, j) => most + j)];
    const look = (k, many) => {
      const z = run.recorded.z, found = closest(z, z.length / (most + halves), k, lives(), many);
      return found.map(([i, cosine]) => ({ word: called(i), far: (1 - cosine) / 1.5, twin: half(i) >= 0 && half(i) === half(k), i }));
    };
    function ended() {
      const rows = text.split.map((k, j) => [[k, most + j], [most + j, k]].map(([one, other]) => ({ one, other, first: look(one, 3) })));
      const met = rows.filter((sides) => sides.every(({ other, first }) => first[0].i === other)).length;
      table(part(".clbook-lists"), ["half", "occurs", "nearest", "second", "third"],
        rows.flat().map(({ one, first }) => [called(one), String(text.seen(one)), ...first]));
      const loss = run.recorded.loss[0].toFixed(2).replace("-", "−");
      say(`${met} of ${rows.length} pairs of halves are each other's nearest. ${text.tokens.toLocaleString("en")} words read, loss ${loss}.`);
      part(".clbook-knobs").hidden = false;
      ask();
      return { met, split: rows.length, tokens: text.tokens, loss: run.recorded.loss[0] };
    }
    function ask() {
      const word = input.value.trim().toLowerCase(), k = text?.words.indexOf(word) ?? -1;
      if (word) input.setAttribute("aria-invalid", String(k < 0));
      const rows = k < 0 ? [] : [k, ...(half(k) < 0 ? [] : [most + half(k)])].map((i) => [called(i), ...look(i, 4)]);
      if (rows.length) table(part(".clbook-asked"), ["word", "nearest", "second", "third", "fourth"], rows);
      else part(".clbook-asked").replaceChildren();
    }
    // A promise of what `ended` gives; undefined where it was stopped.
    function train() {
      const mine = ++running, generator = new Generator(100 * seed + setup.coin), one = new Float32Array(1);
      const given = counted(area.value, () => { generator.rand(one); return one[0]; }, setup.sizes);
      part("[data-do=stop]").disabled = given.split.length < 2;
      if (given.split.length < 2) {
        say("This text has too few long words to split: paste a longer one.");
        return Promise.resolve(undefined);
      }
      text = given;
      run.start({}, seed);
      run.put({ joint: text.joint });
      return new Promise((done) => {
        function slice() {
          if (mine !== running || !figure.isConnected) return done(undefined);
          run.step(true); // a word that is typed now is looked up in this text's vectors
          for (const until = performance.now() + SLICE; performance.now() < until && run.t < setup.steps;) run.step(false);
          part("progress").value = run.t / setup.steps;
          if (run.t < setup.steps) {
            say(`Step ${run.t} of ${setup.steps}.`);
            return setTimeout(slice);
          }
          run.one.step(true);
          part("[data-do=stop]").disabled = true;
          done(ended());
        }
        slice();
      });
    }
    function put(given) { area.value = given; return train(); }
    const actions = {
      train,
      first: () => put(first),
      page: () => put(figure.closest("article, .jp-Notebook")?.innerText ?? ""),
      toss() { seed = (seed + 1) % 10000; return train(); },
      stop() { running += 1; part("[data-do=stop]").disabled = true; say(`Stopped at step ${run.t}.`); },
    };
    part("[type=file]").addEventListener("change", async ({ target }) => {
      if (target.files[0]) put(await target.files[0].text());
    });
    input.addEventListener("input", ask);
    area.value = first;
    for (const one of [area, part("[type=file]")]) one.disabled = false;
    opened(block, actions, {
      run: ({ text: given, seed: other = seed } = {}) => { area.value = given ?? area.value; seed = other; return train(); },
      cancel: actions.stop, counted: () => text,
    });
    part("[data-do=stop]").disabled = true;
    say("Press Split and train: your coin splits the ten most frequent long words.");
  }
  return { nearest, own };
})();
