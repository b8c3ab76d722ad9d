// The live page begins here.
const main = document.createElement("main");
document.body.append(main);
const listing = await (await fetch("/api/v1/runs")).json();
for (const entry of listing.runs) {
  const line = document.createElement("p");
  line.textContent = `${entry.run}: ${entry.phase}`;
  main.append(line);
}
