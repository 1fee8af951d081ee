// On the page that lists all goals: which of them this browser has reached, as tasks.js keeps it.
(() => {
  const list = document.currentScript.previousElementSibling, count = list.previousElementSibling;
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem("clbook-goals")) ?? {}; } catch { /* it is refused: the list stands as it is */ }
  const goals = [...list.querySelectorAll("[data-block] > li")];
  const reached = goals.filter((goal) => {
    const run = kept[goal.parentNode.dataset.block]?.[goal.textContent.trim()];
    goal.classList.toggle("clbook-reached", run !== undefined);
    goal.append(run === undefined ? " (open)" : ` (reached in run ${run})`);
    return run !== undefined;
  });
  function bar(before, reached, all, about) {
    before.before(Object.assign(document.createElement("progress"), { max: all, value: reached, ariaLabel: `goals reached ${about}` }));
  }
  for (const block of list.querySelectorAll("[data-block]")) {
    const folded = block.parentNode, reached = block.querySelectorAll(".clbook-reached").length, all = block.children.length;
    bar(folded, reached, all, `in: ${folded.previousElementSibling.textContent}`);
    folded.firstChild.textContent = `${reached} of ${all} goals`;
  }
  bar(list, reached.length, goals.length, "in all");
  count.textContent = `You have reached ${reached.length} of ${goals.length} goals, in this browser; nothing of it is sent anywhere.`;
})();
