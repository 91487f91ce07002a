"use strict";
// What every page does with scripts: buttons that copy, and explanations that appear on hover and focus.
// Without scripts the explanations open on a click, and nothing else is missing.
(() => {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and press Ctrl+C";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  });

  // The log of a running job stays at its end, unless the reader has scrolled up.
  const log = () => document.getElementById("log");
  let following = true;
  document.addEventListener("scroll", (event) => {
    if (event.target === log()) following = event.target.scrollTop + event.target.clientHeight > event.target.scrollHeight - 40;
  }, true);
  const follow = () => { if (log() && following) log().scrollTop = log().scrollHeight; };
  document.addEventListener("htmx:after:swap", follow);
  follow();

  const hintOf = (target) => {
    const term = target instanceof Element ? target.closest(".term") : null;
    return term ? [term, document.getElementById(term.getAttribute("popovertarget"))] : null;
  };
  const open = (event) => {
    const found = hintOf(event.target);
    if (found && found[1] && !found[1].matches(":popover-open")) found[1].showPopover({ source: found[0] });
  };
  const close = (event) => {
    const found = hintOf(event.target);
    if (found && found[1] && found[1].matches(":popover-open") && found[0] !== document.activeElement) found[1].hidePopover();
  };
  document.addEventListener("mouseover", open);
  document.addEventListener("focusin", open);
  document.addEventListener("mouseout", close);
  document.addEventListener("focusout", (event) => {
    const found = hintOf(event.target);
    if (found && found[1] && found[1].matches(":popover-open")) found[1].hidePopover();
  });
})();
