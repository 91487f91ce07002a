// Reads a bundle of cnet (docs/bundle-format.md): the tensors of the network by name. Nothing but this folder is needed.

import { Bytes, readMembers } from "./archive.mjs";
import { decodeCompact } from "./compact.mjs";
import { unpackPlanes } from "./entropy.mjs";
import { isFloat, product, roundTo, unpackBits, widen, WIDTHS } from "./numbers.mjs";

const BLOCK_BYTES = 2 ** 24;

/** A map from names to {dtype, shape, data}: numbers of floating-point types (float32, or float64), else bytes. */
export function readBundle(file) {
  const members = readMembers(file);
  const manifest = JSON.parse(new TextDecoder().decode(members.get("manifest").data));
  if (manifest.format !== "cnet-bundle" || manifest.version !== 1) throw new Error("this is no bundle of version 1");
  const tensors = manifest.members ? separateTensors(manifest.tensors) : joinedTensors(manifest);
  const shapes = tensors.filter((tensor) => tensor.role === "compressible").map((tensor) => tensor.shape);
  const parts = manifest.members ? separateParts(manifest, members) : joinedParts(manifest, members, tensors);
  const { vector, kept, wide } = decodeWeights(manifest, parts, shapes);
  reconstruct(manifest.reconstruction, parts, { vector, kept, wide, shapes });
  fill(tensors, vector, parts.other);
  for (const [first, ...copies] of manifest.tied ?? []) for (const copy of copies) tensors[copy].data = tensors[first].data;
  return new Map(withProducts(tensors, manifest.products ?? []).map((tensor) => [tensor.name, tensor]));
}

function separateTensors({ names, dtypes, shapes, roles }) {
  return names.map((name, index) => ({ name, dtype: dtypes[index], shape: shapes[index], role: roles[index] }));
}

function joinedTensors({ kinds, tensors }) {
  const numbered = [];
  for (const [role, byType] of Object.entries(kinds)) {
    for (const [dtype, shapes] of Object.entries(byType)) for (const shape of shapes) numbered.push({ role, dtype, shape });
  }
  let before = [];
  return tensors.map((entry) => {
    const shared = entry.length === 3 ? before.slice(0, entry[1]) : [];
    const name = [...shared, entry.at(-1)].join(".");
    before = name.split(".");
    return { name, ...numbered[entry[0]] };
  });
}

function separateParts(manifest, members) {
  const parts = { other: members.get("other")?.data ?? new Uint8Array() };
  for (const name of ["mask", "labels", "centroids"]) if (members.has(name)) parts[name] = members.get(name);
  return parts;
}

function joinedParts(manifest, members, tensors) {
  const rest = new Bytes(members.get("data").data), parts = {};
  manifest.sizes.forEach((size, index) => (parts[["mask", "labels", "centroids"][index]] = rest.take(size)));
  const blocks = (manifest.others ?? []).map((size) => rest.take(size));
  parts.other = unpackOthers(blocks, tensors, manifest.packing?.kind ?? "planes");
  return parts;
}

/** The bytes of all other tensors in the joined layout. */
function unpackOthers(blocks, tensors, packing) {
  const found = [];
  let room = 0;
  const counts = [];
  for (const { role, dtype, shape } of tensors) {
    if (role !== "other") continue;
    for (let left = product(shape); left > 0; ) {
      if (room < WIDTHS[dtype]) {
        counts.push([]);
        room = BLOCK_BYTES;
      }
      const count = Math.min(left, Math.floor(room / WIDTHS[dtype]));
      counts.at(-1).push({ dtype, count });
      left -= count;
      room -= count * WIDTHS[dtype];
    }
  }
  counts.forEach((arrays, number) => found.push(...unpackBlock(new Bytes(blocks[number]), arrays, packing)));
  const joined = new Uint8Array(found.reduce((total, part) => total + part.length, 0));
  found.reduce((at, part) => (joined.set(part, at), at + part.length), 0);
  return joined;
}

function unpackBlock(rest, arrays, packing) {
  const narrowed = packing === "float16" ? unpackBits(rest.take(Math.ceil(arrays.length / 8)), arrays.length) : [];
  const stored = arrays.map(({ dtype, count }, index) => ({ dtype: narrowed[index] ? "float16" : dtype, count }));
  const groups = new Map();
  for (const dtype of new Set(stored.map((each) => each.dtype))) {
    const count = stored.reduce((total, each) => total + (each.dtype === dtype ? each.count : 0), 0);
    groups.set(dtype, new Bytes(unpackPlanes(rest.take(rest.varint()), count, WIDTHS[dtype])));
  }
  return stored.map(({ dtype, count }, index) => {
    const bytes = groups.get(dtype).take(count * WIDTHS[dtype]);
    if (!narrowed[index]) return bytes;
    const wide = arrays[index].dtype === "float64" ? Float64Array : Float32Array;
    return new Uint8Array(wide.from(widen(bytes, "float16")).buffer);
  });
}

/** w_net before `reconstruction`, which of its weights are kept, and whether centroids are float64. */
function decodeWeights(manifest, parts, shapes) {
  const valuesType = manifest.header?.values;
  if (manifest.encoder === "compact") {
    const streams = { mask: parts.mask, labels: parts.labels };
    if (!valuesType) streams.centroids = withoutFactors(manifest.reconstruction, parts, parts.centroids);
    const valuesOf = (bytes, count) => widen(unpackPlanes(bytes, count, WIDTHS[valuesType]), valuesType);
    const { vector, kept, books } = decodeCompact(streams, shapes, valuesOf);
    return { vector, kept, wide: books?.some((book) => book.wide) ?? false };
  }
  const weights = shapes.reduce((total, shape) => total + product(shape), 0);
  const numbers = (member) => numbersOf(member.data, member.descr);
  const centroids = parts.centroids ? withoutFactors(manifest.reconstruction, parts, numbers(parts.centroids)) : null;
  const found = { npz: readNpz, huffman: readHuffman }[manifest.encoder]?.(manifest, parts, shapes, weights, centroids);
  if (!found) throw new Error(`the encoder ${manifest.encoder} is not known`);
  const [kept, labels] = found;
  let next = 0;
  const vector = Float64Array.from(kept, (bit) => (bit ? (centroids ? centroids[labels[next++]] : labels[next++]) : 0));
  return { vector, kept, wide: centroids instanceof Float64Array };
}

/** Centroids without the factors at their end, which go to `parts.factors`. */
function withoutFactors(reconstruction, parts, centroids) {
  if (reconstruction?.length === undefined) return centroids;
  const end = centroids.length - reconstruction.length;
  parts.factors = centroids.subarray(end);
  return centroids.subarray(0, end);
}

/** The numbers of an .npy member of a NumPy type such as <f4, |u1 or <u2. */
function numbersOf(data, descr) {
  const bytes = data.slice().buffer;
  const types = { "|u1": Uint8Array, "<u2": Uint16Array, "<f4": Float32Array, "<f8": Float64Array };
  if (descr === "<f2") return widen(data, "float16");
  return new types[descr](bytes);
}

function readNpz(manifest, parts, shapes, weights) {
  const kept = unpackBits(parts.mask.data, weights);
  const values = manifest.header?.values;
  return [kept, values ? widen(parts.labels.data, values) : numbersOf(parts.labels.data, parts.labels.descr)];
}

function readHuffman(manifest, parts, shapes, weights, centroids) {
  const { kept: counts, runs } = manifest.header;
  const full = shapes.map((shape) => (shape.length === 2 ? 31 : 255));
  const rows = readRows(parts.mask.data, runs, full.map((symbol) => symbol + 1));
  const kept = new Uint8Array(weights);
  let start = 0;
  rows.forEach((row, tensor) => {
    let position = start - 1;
    for (const symbol of row) {
      position += symbol === full[tensor] ? symbol : symbol + 1;
      if (symbol !== full[tensor]) kept[position] = 1;
    }
    start += product(shapes[tensor]);
  });
  if (!centroids) return [kept, numbersOf(parts.labels.data, parts.labels.descr)];
  return [kept, readRows(parts.labels.data, counts, counts.map(() => centroids.length)).flat()];
}

/** Rows of symbols: first the code lengths of each row's table, then all codes. */
function readRows(content, counts, alphabets) {
  const rest = new Bytes(content);
  const tables = alphabets.map((size) => rest.take(size));
  const codes = rest.take(rest.left);
  let at = 0;
  return tables.map((lengths, row) => {
    const symbols = new Map();
    let code = 0;
    for (let length = 1; length <= 20; length++) {
      lengths.forEach((each, symbol) => each === length && symbols.set(`${length} ${code++}`, symbol));
      code *= 2;
    }
    return Array.from({ length: counts[row] }, () => {
      for (let length = 1, value = 0; length <= 20; length++, at++) {
        value = 2 * value + ((codes[at >> 3] >> (7 - (at & 7))) & 1);
        const symbol = symbols.get(`${length} ${value}`);
        if (symbol !== undefined) {
          at++;
          return symbol;
        }
      }
      throw new Error("a Huffman code is not known");
    });
  });
}

/** What the position of a weight does to it, in place. */
function reconstruct(entry, parts, { vector, kept, wide, shapes }) {
  if (!entry) return;
  const round = wide ? (value) => value : Math.fround;
  if (entry.kind === "dither") {
    const unit = entry.step / 2 ** 25;
    kept.forEach((bit, index) => bit && (vector[index] = round(vector[index] - (2 * mixed(entry.seed, index) + 1 - 2 ** 24) * unit)));
    return;
  }
  if (entry.kind === "axis_scales") {
    scaleAxes(parts.factors, vector, shapes.filter(product), wide);
    return;
  }
  const sizes = shapes.filter((shape) => product(shape)).flatMap((shape) => {
    const rows = entry.kind === "scales" ? (shape[0] ?? 1) : 1;
    return new Array(rows).fill(product(shape) / rows);
  });
  const numbers = factorNumbers(parts.factors, sizes.length, wide);
  let at = 0;
  sizes.forEach((size, part) => {
    for (const stop = at + size; at < stop; at++) vector[at] = round(vector[at] * numbers[part]);
  });
}

/** Factors of each tensor, of its rows and of its columns: (row * column) * tensor, all in the type of the centroids. */
function scaleAxes(factors, vector, shapes, wide) {
  const round = wide ? (value) => value : Math.fround;
  const axes = shapes.map((shape) => (shape.length > 1 ? shape.slice(0, 2) : [0, 0]));
  const count = axes.reduce((sum, [rows, columns]) => sum + 1 + rows + columns, 0);
  const numbers = factorNumbers(factors, count, wide);
  let [at, next] = [0, 0];
  shapes.forEach((shape, index) => {
    const [rows, columns] = axes[index];
    const own = numbers[next++];
    const ofRows = rows ? numbers.subarray(next, next + rows) : [1];
    const ofColumns = rows ? numbers.subarray(next + rows, next + rows + columns) : [1];
    next += rows + columns;
    const entries = product(shape) / ofRows.length / ofColumns.length;
    for (const row of ofRows)
      for (const column of ofColumns) {
        const factor = round(round(row * column) * own);
        for (const stop = at + entries; at < stop; at++) vector[at] = round(vector[at] * factor);
      }
  });
}

function factorNumbers(factors, count, wide) {
  const type = wide ? "float64" : "float32";
  return factors instanceof Uint8Array ? widen(unpackPlanes(factors, count, WIDTHS[type]), type) : factors;
}

/** The upper 24 bits of output `index` of SplitMix64. */
function mixed(seed, index) {
  const wrap = (number) => BigInt.asUintN(64, number);
  let state = wrap(BigInt(index + 1) * 0x9e3779b97f4a7c15n + BigInt(seed));
  state = wrap((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
  state = wrap((state ^ (state >> 27n)) * 0x94d049bb133111ebn);
  return Number((state ^ (state >> 31n)) >> 40n);
}

/** Give each tensor its numbers or bytes. */
function fill(tensors, vector, other) {
  const rest = new Bytes(other);
  let start = 0;
  for (const tensor of tensors) {
    const size = product(tensor.shape);
    if (tensor.role === "compressible") {
      const numbers = tensor.dtype === "float64" ? Float64Array : Float32Array;
      tensor.data = numbers.from(vector.subarray(start, (start += size)), (value) => roundTo(value, tensor.dtype));
    } else if (tensor.role === "other") {
      const bytes = rest.take(size * WIDTHS[tensor.dtype]);
      tensor.data = isFloat(tensor.dtype) ? widen(bytes, tensor.dtype) : bytes;
    }
  }
}

/** All tensors, with products in place of their two factors. */
function withProducts(tensors, products) {
  const byLeft = new Map(products.map((entry) => [entry.left, entry])), rights = new Set(products.map((entry) => entry.right));
  return tensors.flatMap((tensor, index) => {
    if (rights.has(index)) return [];
    const entry = byLeft.get(index);
    return [entry ? multiply(entry, tensor, tensors[entry.right]) : tensor];
  });
}

function multiply({ name, dtype }, left, right) {
  const [rows, rank] = left.shape, columns = product(right.shape.slice(1));
  const numbers = dtype === "float64" ? Float64Array : Float32Array;
  const data = numbers.from({ length: rows * columns }, (_, index) => {
    const [row, column] = [Math.floor(index / columns), index % columns];
    let sum = left.data[row * rank] * right.data[column];
    for (let each = 1; each < rank; each++) sum += left.data[row * rank + each] * right.data[each * columns + column];
    return roundTo(sum, dtype);
  });
  return { name, dtype, shape: [rows, ...right.shape.slice(1)], data };
}
