// What a block asks of its reader, as live/tasks.py says it: numbers in words, goals, and what this browser keeps of them
// and of the predictions of the pages (predict.js).
window.clbookTasks ??= (() => {
  const SIGNS = { "==": (a, b) => a === b, "!=": (a, b) => a !== b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b,
    ">": (a, b) => a > b, "<": (a, b) => a < b };
  const PREDICTIONS = "clbook-predictions", GOALS = "clbook-goals";
  const page = location.pathname.split("/").slice(-2).join("/").replace(/\.html$/, "");

  // The number that `name` stands for, loss or means[1]; null for a time that has not come.
  function entry(row, name) {
    const [, key, place] = name.match(/^(\w+)(?:\[(\d+)\])?$/), found = row[key]?.[place ?? 0];
    return found === undefined || (key.endsWith("_at") && found < 0) ? null : found;
  }
  const rounded = { "%": (v, digits) => `${(100 * v).toFixed(digits)} %`, f: (v, digits) => v.toFixed(digits),
    g: (v, digits) => String(Number(v.toPrecision(digits))) };
  function phrase(row, [name, before, digits, kind, after]) { // of "same colour {:.0%}"
    const value = entry(row, name);
    if (row.collapsed && !name.startsWith("loss")) return `${before}\u2013${after} (collapsed)`; // 0 over 0 is no success
    if (value === null || !Number.isFinite(value)) return `${before}\u2013${after}`;
    const words = rounded[kind](value, digits);
    return before + (/[1-9]/.test(words) ? words.replace("-", "\u2212") : words.replace("-", "")) + after; // and no "-0.00"
  }
  function reached({ conditions }, row, settings) { // at the end of a run
    return conditions.every(([name, sign, value]) => {
      const own = name.split("[")[0] in row ? entry(row, name) : settings[name];
      return own !== null && SIGNS[sign](typeof value === "string" ? String(own) : Number(own), value);
    });
  }

  const met = (goals, row, settings) => goals.filter((goal) => reached(goal, row, settings)).map(({ words }) => words);

  // What is kept, in this browser alone; one that keeps nothing for a file forgets it with the page.
  function kept(store) {
    try { return JSON.parse(localStorage.getItem(store)) ?? {}; } catch { return {}; }
  }
  function keep(store, name, value) { // null: no longer
    const all = { ...kept(store), [name]: value };
    if (value === null) delete all[name];
    try { localStorage.setItem(store, JSON.stringify(all)); } catch { /* it is refused */ }
  }

  // The goals of a block, as they stand in its list. Of a run that has ended the function that comes back marks what it
  // has reached, and says so in words.
  function board(figure, name, goals) {
    const mine = `${page}#${name}`, items = [...figure.querySelectorAll(".clbook-goals li")];
    const done = kept(GOALS)[mine] ?? {}; // {words of a goal: the number of the run that reached it}
    let runs = 0;
    function mark() {
      items.forEach((item, k) => {
        const at = done[goals[k].words];
        item.classList.toggle("clbook-reached", at !== undefined);
        item.querySelector("em").textContent = at === undefined ? "(open)" : `(reached in run ${at})`;
      });
    }
    mark();
    return (row, settings) => {
      runs += 1;
      const found = met(goals, row, settings).filter((words) => !(words in done));
      for (const words of found) done[words] = runs;
      if (found.length) keep(GOALS, mine, done);
      mark();
      return found.map((words) => ` You have reached a goal: ${words}.`).join("");
    };
  }
  return { PREDICTIONS, page, entry, phrase, kept, keep, met, board };
})();
