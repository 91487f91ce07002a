// Zip archives, .npy members and deflate streams, without any package: it also runs in a browser.

/** A cursor over bytes that reads little-endian numbers and variable-length integers. */
export class Bytes {
  constructor(content) {
    this.content = content;
    this.at = 0;
  }
  get left() {
    return this.content.length - this.at;
  }
  take(count) {
    if (count > this.left) throw new Error(`${count} bytes are needed, and ${this.left} are left`);
    this.at += count;
    return this.content.subarray(this.at - count, this.at);
  }
  byte() {
    return this.take(1)[0];
  }
  varint() {
    let number = 0, scale = 1;
    for (;;) {
      const byte = this.byte();
      number += (byte & 0x7f) * scale;
      if (byte < 0x80) return number;
      scale *= 128;
    }
  }
}

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The members of a bundle's zip archive: a map from names to {descr, count, data}. */
export function readMembers(file) {
  const records = view(file);
  let end = file.length - 22;
  while (end >= 0 && records.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("this is no zip archive");
  const members = new Map();
  let at = records.getUint32(end + 16, true);
  for (let left = records.getUint16(end + 10, true); left > 0; left--) {
    const method = records.getUint16(at + 10, true);
    const [packed, size] = [records.getUint32(at + 20, true), records.getUint32(at + 24, true)];
    const nameLength = records.getUint16(at + 28, true);
    const name = new TextDecoder().decode(file.subarray(at + 46, at + 46 + nameLength));
    const local = records.getUint32(at + 42, true);
    const start = local + 30 + records.getUint16(local + 26, true) + records.getUint16(local + 28, true);
    const content = file.subarray(start, start + packed);
    members.set(name.replace(/\.npy$/, ""), readNpy(method === 8 ? inflateRaw(content, size) : content));
    at += 46 + nameLength + records.getUint16(at + 30, true) + records.getUint16(at + 32, true);
  }
  return members;
}

/** A .npy file of version 1.0 and one dimension. */
function readNpy(content) {
  const length = view(content).getUint16(8, true);
  const header = new TextDecoder().decode(content.subarray(10, 10 + length));
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(header)[1];
  const count = Number(/'shape'\s*:\s*\((\d+)/.exec(header)[1]);
  return { descr, count, data: content.subarray(10 + length) };
}

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** `size` bytes of a raw deflate stream (RFC 1951). */
export function inflateRaw(content, size) {
  const out = new Uint8Array(size);
  let written = 0, at = 0, buffer = 0, held = 0;
  const bits = (count) => {
    while (held < count) {
      buffer |= content[at++] << held;
      held += 8;
    }
    const found = buffer & ((1 << count) - 1);
    buffer >>>= count;
    held -= count;
    return found;
  };
  const symbol = (code) => {
    let value = 0, first = 0, index = 0;
    for (let length = 1; length <= 15; length++) {
      value |= bits(1);
      const count = code.counts[length];
      if (value - first < count) return code.symbols[index + value - first];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new Error("a deflate stream is damaged");
  };
  for (let last = 0; !last; ) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      buffer = held = 0; // whole bytes that were read ahead do not occur: at most 7 bits are held
      const length = content[at] | (content[at + 1] << 8);
      out.set(content.subarray(at + 4, at + 4 + length), written);
      written += length;
      at += 4 + length;
      continue;
    }
    const [literals, distances] = kind === 1 ? fixedCodes() : readCodes(bits, symbol);
    for (let value = symbol(literals); value !== 256; value = symbol(literals)) {
      if (value < 256) {
        out[written++] = value;
        continue;
      }
      const length = LENGTH_BASE[value - 257] + bits(LENGTH_BITS[value - 257]);
      const code = symbol(distances);
      const from = written - (DISTANCE_BASE[code] + bits(DISTANCE_BITS[code]));
      for (let index = 0; index < length; index++) out[written++] = out[from + index];
    }
  }
  if (written !== size) throw new Error(`a deflate stream has ${written} bytes in place of ${size}`);
  return out;
}

/** `size` bytes of a zlib stream (RFC 1950); its checksum is not compared. */
export const inflateZlib = (content, size) => inflateRaw(content.subarray(2), size);

function codeOf(lengths) {
  const counts = new Uint16Array(16), symbols = [];
  for (let length = 1; length <= 15; length++) {
    lengths.forEach((each, value) => {
      if (each === length) {
        symbols.push(value);
        counts[length]++;
      }
    });
  }
  return { counts, symbols };
}

function fixedCodes() {
  const literals = Array.from({ length: 288 }, (_, value) => (value < 144 ? 8 : value < 256 ? 9 : value < 280 ? 7 : 8));
  return [codeOf(literals), codeOf(new Array(30).fill(5))];
}

function readCodes(bits, symbol) {
  const [literals, distances, codes] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
  const own = new Array(19).fill(0);
  for (let index = 0; index < codes; index++) own[CODE_ORDER[index]] = bits(3);
  const code = codeOf(own), lengths = [];
  while (lengths.length < literals + distances) {
    const value = symbol(code);
    if (value < 16) lengths.push(value);
    else {
      const repeated = value === 16 ? lengths.at(-1) : 0;
      let count = value === 16 ? 3 + bits(2) : value === 17 ? 3 + bits(3) : 11 + bits(7);
      while (count--) lengths.push(repeated);
    }
  }
  return [codeOf(lengths.slice(0, literals)), codeOf(lengths.slice(literals))];
}
