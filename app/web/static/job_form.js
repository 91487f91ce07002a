"use strict";
// The settings of a new job follow the preset, the data and the parts that are chosen. An answer of the server that
// comes after the form was changed again would undo that change: it is dropped, and the settings are asked for again.
(() => {
  const contents = () => new URLSearchParams(new FormData(document.getElementById("job"))).toString();
  const asked = new WeakMap();
  const isOfSettings = (event) => event.target.id === "settings";

  document.addEventListener("htmx:before:request", (event) => {
    if (isOfSettings(event)) asked.set(event.detail.ctx, contents());
  });
  document.addEventListener("htmx:after:request", (event) => {
    if (!isOfSettings(event) || asked.get(event.detail.ctx) === contents()) return;
    event.preventDefault();
    htmx.trigger(event.target, "refresh");
  });
})();
