// "What decided here?": each suspect is switched off in turn, and what comes out stands side by side. `offers` is what the
// block offers programs.
window.clbookSuspects ??= ({ part, setup }, offers) => {
  const { phrase, entry } = window.clbookTasks, { suspects, says } = setup, [first] = says;
  const FELL = 0.2; // of a share, from which on the suspect is said to matter
  const host = part(".clbook-suspects"), button = host.querySelector("button"), told = host.querySelector("p");
  const table = host.querySelector("table"), rows = [["nothing", {}], ...Object.entries(suspects)];
  const words = (name) => name === "nothing" ? "as it stands" : `without ${name}`;
  const bare = ([name, , ...how]) => [name, "", ...how]; // a phrase without the words before it
  const off = (value) => ({ true: "on", false: "off" }[value] ?? String(value)); // as the block keeps it

  async function ask() {
    const now = offers.settings(), found = [];
    button.disabled = true;
    table.hidden = false;
    table.tBodies[0].replaceChildren();
    for (const [name, changes] of [...rows.slice(1), rows[0]]) { // it ends as it stood
      const has = name === "nothing" || Object.entries(changes).some(([key, value]) => off(now[key]) !== off(value));
      told.textContent = `Training ${words(name)} \u2026`;
      const run = has ? await offers.run({ ...now, ...changes }) : null;
      if (run && run.steps.at(-1) !== now.steps) { told.textContent = "Stopped."; button.disabled = false; return; }
      found.push({ name, run });
      const line = table.tBodies[0].insertRow(name === "nothing" ? 0 : -1);
      line.append(Object.assign(document.createElement("th"), { scope: "row", textContent: words(name) }));
      for (const each of run ? says : []) line.insertCell().textContent = phrase(run, bare(each));
      if (!run) Object.assign(line.insertCell(), { textContent: "is off already", colSpan: says.length });
    }
    const whole = found.pop().run, share = (run) => entry(run, first[0]), percent = (run) => phrase(run, bare(first));
    const fell = found.filter(({ run }) => run && share(whole) - share(run) >= FELL);
    const decided = fell.map(({ name, run }) => `without ${name} it is ${percent(run)}`).join(", ");
    told.textContent = `${says[0][1].trim()} ${percent(whole)} as it stands. ${fell.length ? `It takes ${fell.map(({ name }) => name).join(" and ")}: ${decided}.`
      : "No single suspect decides: switch off one that is on, and ask again."}`;
    button.disabled = false;
  }
  button.addEventListener("click", ask);
};
