/* A route is what the page shows, in the part of its address after #:

   #/                        the list of runs
   #/run/NAME[/VIEW]         a run; VIEW is labels or fleet
   #/archive/NAME[/VIEW]     an archive
   #/endpoints               the budgets of endpoints
   #/compare?base=S&other=S  two of them; S is run:NAME or archive:NAME  */
export function parse(hash) {
  const [path, query] = hash.replace(/^#/, "").split("?");
  const [, kind, name, view] = path.split("/").map(decoded);
  if (kind === "compare") {
    const q = new URLSearchParams(query);
    return { kind, base: q.get("base") ?? "", other: q.get("other") ?? "", force: q.get("force") === "1" };
  }
  if ((kind === "run" || kind === "archive") && name) {
    return { kind, name, view: ["labels", "fleet"].includes(view) ? view : "run" };
  }
  return { kind: kind === "endpoints" ? kind : "runs" };
}

// link is the address of a run's or an archive's view.
export function link(kind, name, view) {
  return `#/${kind}/${encodeURIComponent(name)}` + (view && view !== "run" ? "/" + view : "");
}

// endpointsLink is the address of the budgets of endpoints.
export const endpointsLink = "#/endpoints";

// compareLink is the address of a comparison; force = also if the sides should not be compared.
export function compareLink(base, other, force) {
  const q = new URLSearchParams({ base, other });
  if (force) q.set("force", "1");
  return "#/compare?" + q;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
