"use strict";
// Uploads by the tus protocol: a file is dropped or chosen, sent in parts that the server keeps, and goes on where it
// stopped after a cut, also in another visit of the page. The finished upload becomes a checkpoint, program or data set,
// which is chosen in the form.
(() => {
  const ROUTES = { checkpoint: "checkpoints", program: "programs", dataset: "datasets", inputs: "datasets" };
  const SELECTS = { checkpoint: "checkpoint", program: "architecture", dataset: "dataset", inputs: "calibrate.inputs" };
  const PART_BYTES = 16 * 1024 * 1024;
  // Answers that say what is wrong with the file itself: sending it again cannot help.
  const REFUSALS = new Set([400, 413, 415, 422]);
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
    if (!response.ok) throw Object.assign(new Error(await problemOf(response)), { status: response.status });
    const made = await response.json();
    const select = document.getElementById(`field-${SELECTS[kind]}`);
    const moment = (made.created_at || "").replace("T", " ").slice(0, 19);
    const option = new Option([file.name, size(file.size), moment].filter(Boolean).join(", "), made.id, true, true);
    option.dataset.content = `${made.sha256} ${file.name}`;
    for (const older of [...select.options]) if (older.dataset.content === option.dataset.content) older.remove();
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
    const button = (words, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.className = "quiet";
      made.textContent = words;
      made.addEventListener("click", act);
      return made;
    };
    const failed = (reason, status) => {
      const input = box.querySelector("input");
      const refused = REFUSALS.has(status);
      if (refused) input.value = ""; // so that the file can be chosen again once it is mended
      state.classList.add("bad");
      state.replaceChildren(`${file.name}: ${reason} `);
      state.append(refused ? button("Choose another file", () => input.click()) : button("Go on", () => begin(box, file)));
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
        failed(detail, error.originalResponse ? error.originalResponse.getStatus() : 0);
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
          failed(error.message, error.status);
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
