// Colours come from the style, so that a canvas has those of the rest of the page, light or dark.

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

// colour resolves a custom property of the style, such as "--sent", to one that a canvas takes; alpha is optional.
export function colour(name, alpha) {
  probe.style.color = `var(${name})`;
  const plain = getComputedStyle(probe).color;
  return alpha === undefined ? plain : plain.replace(/rgba?\((\d+), (\d+), (\d+).*/, `rgba($1, $2, $3, ${alpha})`);
}

// channels are red, green and blue of a custom property.
export function channels(name) {
  return colour(name).match(/\d+/g).slice(0, 3).map(Number);
}

// rem is the size of the page's font, px.
export function rem() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}

// onLook calls f when the page begins to look different: light, dark, or on paper. It returns a function that ends this.
export function onLook(f) {
  const root = document.documentElement.classList;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = () => (root.add("paper"), f());
  const printed = () => (root.remove("paper"), f());
  dark.addEventListener("change", f);
  addEventListener("beforeprint", print);
  addEventListener("afterprint", printed);
  return () => {
    dark.removeEventListener("change", f);
    removeEventListener("beforeprint", print);
    removeEventListener("afterprint", printed);
  };
}
