"use strict";
// Uploads by the tus protocol: a file is dropped or chosen, sent in parts that the server keeps, and goes on where it
// stopped after a cut, also in another visit of the page. The finished upload becomes a checkpoint, program or data set,
// which is chosen in the form.
(() => {
  const ROUTES = { checkpoint: "checkpoints", program: "programs", dataset: "datasets", inputs: "datasets" };
  const SELECTS = { checkpoint: "checkpoint", program: "architecture", dataset: "dataset", inputs: "calibrate.inputs" };
  const PART_BYTES = 16 * 1024 * 1024;
  const RETRIES = [0, 500, 1000, 2000, 4000, 8000, 15000];
  const base = document.querySelector(".brand").getAttribute("href").replace(/\/$/, "");

  const size = (bytes) => {
    const units = ["bytes", "kB", "MB", "GB", "TB"];
    let power = 0;
    while (bytes >= 1000 && power < units.length - 1) { bytes /= 1000; power += 1; }
    return `${power ? bytes.toPrecision(3) : bytes} ${units[power]}`;
  };

  async function problemOf(response) {
    try {
      return (await response.json()).detail;
    } catch {
      return `the server answered ${response.status}.`;
    }
  }

  // Turn a finished upload into an object, and choose it in the form.
  async function finish(kind, url, file) {
    const response = await fetch(`${base}/v1/${ROUTES[kind]}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ upload: url.split("/").pop(), filename: file.name }),
    });
    if (!response.ok) throw new Error(await problemOf(response));
    const made = await response.json();
    const select = document.getElementById(`field-${SELECTS[kind]}`);
    const option = new Option(`${file.name}, ${size(file.size)}`, made.id, true, true);
    (select.querySelector("optgroup") || select).append(option);
    select.dispatchEvent(new Event("input", { bubbles: true }));
    select.dispatchEvent(new Event("change", { bubbles: true }));
    return made;
  }

  function begin(box, file) {
    const kind = box.dataset.upload;
    const state = box.querySelector(".upload-state");
    const bar = document.createElement("progress");
    const text = document.createElement("span");
    const stop = document.createElement("button");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", `Upload of ${file.name}`);
    stop.type = "button";
    stop.className = "quiet";
    stop.textContent = "Stop";
    state.classList.remove("bad");
    state.replaceChildren(bar, text, " ", stop);
    text.textContent = `Sending ${file.name} …`;
    const failed = (reason) => {
      state.classList.add("bad");
      state.replaceChildren(`${file.name}: ${reason} `);
      const again = document.createElement("button");
      again.type = "button";
      again.className = "quiet";
      again.textContent = "Go on";
      again.addEventListener("click", () => begin(box, file));
      state.append(again);
    };
    const upload = new tus.Upload(file, {
      endpoint: `${base}/v1/uploads`,
      chunkSize: PART_BYTES,
      retryDelays: RETRIES,
      metadata: { filename: file.name, purpose: ROUTES[kind].slice(0, -1) },
      removeFingerprintOnSuccess: true,
      onProgress: (sent, total) => {
        bar.value = total ? sent / total : 1;
        text.textContent = `${size(sent)} of ${size(total)}`;
      },
      onError: (error) => {
        const answer = error.originalResponse && error.originalResponse.getBody();
        let detail = "the connection was lost. What was sent is kept.";
        try { detail = JSON.parse(answer).detail; } catch { /* no answer of the server */ }
        failed(detail);
      },
      onSuccess: async () => {
        stop.remove();
        text.textContent = "Reading the file …";
        try {
          const made = await finish(kind, upload.url, file);
          const warnings = (made.warnings || []).map(({ tensor, detail }) =>
            ` Warning: ${tensor ? `tensor ${tensor}: ` : ""}${detail}`);
          state.replaceChildren(`${file.name} is uploaded and chosen.`, ...warnings);
        } catch (error) {
          failed(error.message);
        }
      },
    });
    stop.addEventListener("click", async () => {
      await upload.abort();
      failed("the upload was stopped. What was sent is kept.");
    });
    upload.findPreviousUploads().then((previous) => {
      if (previous.length) upload.resumeFromPreviousUpload(previous[0]);
      upload.start();
    });
  }

  for (const box of document.querySelectorAll("[data-upload]")) {
    const input = box.querySelector("input");
    input.addEventListener("change", () => { if (input.files.length) begin(box, input.files[0]); });
    box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
    box.addEventListener("dragleave", () => box.classList.remove("over"));
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      box.classList.remove("over");
      if (event.dataTransfer.files.length) begin(box, event.dataTransfer.files[0]);
    });
  }
})();
