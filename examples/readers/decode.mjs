// node decode.mjs BUNDLE: each tensor as a line of name, element type, shape and the bytes of its numbers in hex, between
// tabs. Numbers of floating-point types are float32 (float64 where the tensor is), little-endian.

import { readFileSync } from "node:fs";
import { readBundle } from "./bundle.mjs";

for (const { name, dtype, shape, data } of readBundle(new Uint8Array(readFileSync(process.argv[2]))).values()) {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  console.log([name, dtype, shape.join("x"), bytes.toString("hex")].join("\t"));
}
