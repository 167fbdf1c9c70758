"use strict";
// What the parts of the page share. They are one script; nothing is loaded.
const data = JSON.parse(document.getElementById("data").textContent);

function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  // Text is only ever put in as text.
  node.append(...children);
  return node;
}

function span(ns) {
  const abs = Math.abs(ns);
  const digits = (value, unit) => `${value.toPrecision(3)} ${unit}`;
  if (abs < 999.5) return `${Math.round(ns)} ns`;
  if (abs < 999.5e3) return digits(ns / 1e3, "µs");
  if (abs < 999.5e6) return digits(ns / 1e6, "ms");
  return abs < 999.5e9 ? digits(ns / 1e9, "s") : `${Math.round(ns / 1e9)} s`;
}

const count = (n) => n.toLocaleString("en-US").replaceAll(",", "\u202f");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

const main = make("main");
document.body.append(main);
