"use strict";
// Begins at the entry of each graph, says in a line at the bottom what the box with the keyboard's focus is, and opens what a link
// leads into. The page is complete without.
const say = document.getElementById("say");
for (const box of document.querySelectorAll("a.box")) {
  box.addEventListener("focus", () => { say.textContent = box.querySelector("title").textContent; });
  box.addEventListener("blur", () => { say.textContent = ""; });
}
const centre = (scroll) => {
  const entry = scroll.querySelector(".end");
  if (entry) scroll.scrollLeft = entry.getBBox().x - scroll.clientWidth / 2;
};
for (const scroll of document.querySelectorAll(".scroll")) centre(scroll);
for (const part of document.querySelectorAll("details.figure"))
  part.addEventListener("toggle", () => centre(part.querySelector(".scroll")));
const reveal = () => {
  const part = document.getElementById(location.hash.slice(1));
  for (let at = part; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (part) part.scrollIntoView({ block: "center", inline: "center" });
};
addEventListener("hashchange", reveal);
reveal();
