"use strict";
// Asks for the numbers of all runs now and then, and for the report of the chosen one when it has more draws.
(() => {
  const EVERY = 1500;
  const by = (id) => document.getElementById(id);
  const body = document.querySelector("#runs tbody"), main = document.querySelector("main");
  let chosen = document.body.dataset.number === "" ? null : Number(document.body.dataset.number);
  let seen = null, view = null;

  const whole = (value) => (value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en"));
  const fixed = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));
  const duration = (seconds) => {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 100) return `${seconds.toFixed(0)} s`;
    if (seconds < 6000) return `${(seconds / 60).toFixed(0)} min`;
    return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} days`;
  };
  const say = (text) => { by("note").hidden = !text; by("note").textContent = text || ""; };

  // Names and reasons come from directories: they are set as text, never as markup.
  const row = (run) => {
    const line = document.createElement("tr");
    line.className = run.number === chosen ? "chosen" : "";
    const head = document.createElement("th"), link = document.createElement("a");
    head.scope = "row";
    link.href = `/run/${Number(run.number)}`;
    link.textContent = run.name;
    head.append(link);
    line.append(head);
    const separations = run.expected === null || run.expected === undefined ? "–" : `${whole(run.separations)} (expected ${fixed(run.expected, 1)})`;
    const cells = run.draws === undefined ? [["state", run.state], ["draws", "–"], ["updates/s", "–"], ["left", "–"], ["acceptance", "–"], ["R-hat", "–"], ["ESS", "–"], ["separations", "–"]] : [
      ["state", run.state], ["draws", `${whole(run.draws)} of ${whole(run.target)}`], ["updates/s", whole(run.rate)], ["left", run.state === "complete" ? "–" : duration(run.left)],
      ["acceptance", fixed(run.acceptance, 2)], ["R-hat", fixed(run.rhat, 3)], ["ESS", whole(run.ess)], ["separations", separations],
    ];
    for (const [name, text] of cells) {
      const cell = document.createElement("td");
      cell.dataset.name = name;
      cell.textContent = text;
      if (name === "state") cell.classList.add(["running", "complete", "stopped"].includes(text) ? text : "damaged");
      if ((name === "R-hat" && run.rhat > 1.01) || (name === "ESS" && run.ess !== null && run.ess < 400)) cell.classList.add("far");
      line.append(cell);
    }
    return line;
  };

  const ask = async (address) => {
    const answer = await fetch(address, { cache: "no-store" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  };

  const refresh = async () => {
    const runs = await ask("/runs.json");
    by("pulse").textContent = `looked at ${new Date().toLocaleTimeString()}`;
    if (!runs.length) { say("There is no run here yet."); return; }
    if (chosen === null) chosen = runs[0].number;
    body.replaceChildren(...runs.map(row));
    const run = runs.find((one) => one.number === chosen);
    if (!run || run.reason) { say(run ? run.reason : "This run is gone."); seen = null; return; }
    if (!run.draws) { say(`${run.name} has no draws yet.`); return; }
    say(null);
    document.title = `${run.name}: ${run.state} · Lockstep watch`;
    if (seen === run.draws) return;
    const report = await ask(`/run/${chosen}.json`);
    if (report.reason) { say(report.reason); return; }
    by("title").textContent = run.name;
    by("lead").innerHTML = report.lead;  // the pieces of a report are HTML, in which names are escaped
    for (const id of ["findings", "table", "facts"]) by(id).innerHTML = report[id];
    main.hidden = false;
    view = drawReport(report.data, view);
    seen = report.data.draws === run.draws ? run.draws : null;
    document.body.dataset.draws = report.data.draws;
  };

  const loop = async () => {
    try { await refresh(); } catch (error) { say(`lockstep watch does not answer (${error.message}); it may have ended. What is below is as it was.`); }
    setTimeout(loop, EVERY);
  };
  loop();
})();
