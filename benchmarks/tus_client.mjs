// Upload a file by tus-js-client: node tus_client.mjs FOLDER ENDPOINT FILE
// FOLDER has node_modules with tus-js-client. The last line of the output is the URL of the upload.
import { createReadStream, statSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, endpoint, path] = process.argv.slice(2);
const require = createRequire(`${pathToFileURL(folder).href}/`);
const tus = require("tus-js-client");

const upload = new tus.Upload(createReadStream(path), {
  endpoint,
  uploadSize: statSync(path).size,
  chunkSize: 32 * 2 ** 20,
  retryDelays: [0, 500, 1000, 2000, 4000, 8000],
  metadata: { filename: "model.safetensors", purpose: "checkpoint" },
  onError: (error) => {
    console.error(String(error));
    process.exit(1);
  },
  onSuccess: () => console.log(upload.url),
});
upload.start();
