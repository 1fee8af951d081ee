// "What decided here?": each suspect is switched off in turn, and what comes out stands side by side. `offers` is what the
// block offers programs.
window.clbookSuspects ??= ({ part, setup }, offers) => {
  const { phrase, entry } = window.clbookTasks, { made } = window.clbookBlock, { suspects, says } = setup, [first] = says;
  const FELL = 0.2; // of a share, from which on a suspect is said to be needed
  const host = part(".clbook-suspects"), button = part(".clbook-decide"), told = host.querySelector("p");
  const table = host.querySelector("table"), body = table.tBodies[0];
  const number = (run, [name, , ...how]) => phrase(run, [name, "", ...how]); // without the words before it
  const kept = (value) => ({ true: "on", false: "off" }[value] ?? String(value)); // as the block keeps it
  const same = (settings, others) => Object.entries(others).every(([name, value]) => kept(settings[name]) === kept(value));

  // A run and its line in the table; null where something else has been asked of the block meanwhile.
  async function trained(settings, words, place) {
    told.textContent = `Training ${words} \u2026`;
    const run = await offers.run(settings, place === 0); // what is switched off for the reader reaches none of their goals
    if (run.steps.at(-1) !== settings.steps || !same(offers.settings(), settings)) return null;
    line(words, says.map((each) => number(run, each)), place);
    return run;
  }
  function line(words, cells, place) {
    const row = body.insertRow(place);
    row.append(made("th", { scope: "row", textContent: words }));
    for (const text of cells) row.insertCell().textContent = text;
    row.lastChild.colSpan = 1 + says.length - cells.length;
  }
  async function decided() { // in words
    const now = offers.settings(), needed = [];
    for (const [name, off] of Object.entries(suspects)) {
      if (same(now, off)) { line(`without ${name}`, ["is off already"], -1); continue; }
      const run = await trained({ ...now, ...off }, `without ${name}`, -1);
      if (!run) return "Stopped.";
      needed.push({ name, run });
    }
    const whole = await trained(now, "as it stands", 0); // and so the block ends as it stood
    if (!whole) return "Stopped.";
    const those = needed.filter(({ run }) => entry(whole, first[0]) - entry(run, first[0]) >= FELL);
    const found = `As it stands the ${first[1].trim()} is ${number(whole, first)}.`;
    if (!those.length) return `${found} No single suspect decides: switch off one that is on, and ask again.`;
    const without = those.map(({ name, run }) => `without ${name} it is ${number(run, first)}`).join(", ");
    return `${found} It takes ${those.map(({ name }) => name).join(" and ")}: ${without}.`;
  }
  // What was found is true of its settings and data alone: it goes with the first change of either.
  const figure = host.closest("figure"), words = told.textContent;
  let judged = {}; // the settings that it is true of
  for (const kind of ["input", "click"]) figure.addEventListener(kind, ({ target }) => setTimeout(() => {
    const changed = target.closest("canvas") || !same(offers.settings(), judged);
    if (button.disabled || table.hidden || !changed) return;
    table.hidden = true;
    told.textContent = words;
  }));
  button.addEventListener("click", async () => {
    button.disabled = true;
    table.hidden = false;
    body.replaceChildren();
    told.textContent = await decided();
    judged = offers.settings();
    button.disabled = false;
  });
};
